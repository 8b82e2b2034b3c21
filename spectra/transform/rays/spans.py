"""Where the terms of a sum along a ray are not negligible."""

from __future__ import annotations

import numpy as np

from spectra.numeric import FloatArray
from spectra.transform.rays.hankel import hankel_waves
from spectra.transform.rays.plane import DEEP, SURVEY_BITS, Plane
from spectra.transform.rays.windows import Span

__all__ = ["Spans"]

# Terms are looked at in such steps of log z, and beside each place.
_COARSE, _BESIDE = 0.5, 1.0 / 16.0
# Sums that are longer do not end.
_ENDLESS = 400.0


class Spans:
    """Where k(z) G(wz) is not negligible, for a kernel on rays.

    Parameters
    ----------
    plane : Plane
        The kernel.
    dim : int
        Dimension.
    """

    def __init__(self, plane: Plane, dim: int) -> None:
        self.plane, self.dim = plane, dim
        self._known: dict[tuple[float, float, float], Span | None] = {}
        self._rises: dict[float, tuple[FloatArray, FloatArray]] = {}
        self._falls: dict[float, tuple[FloatArray, FloatArray]] = {}

    def over(self, places: tuple[float, ...], angle: float, depth: float) -> Span | None:
        """Where terms are above exp(-depth) of the largest one at any of some log w; None where
        they do not end."""
        keys = [(x, angle, depth) for x in places]
        for key in keys:
            if key not in self._known:
                self._known[key] = self._at(*key)
        found = [self._known[key] for key in keys]
        known = [span for span in found if span is not None]
        if len(known) < len(found):
            return None
        return Span(
            min(span.low for span in known),
            max(span.high for span in known),
            max(span.peak for span in known),
            max(span.half for span in known),
        )

    def _at(self, x: float, angle: float, depth: float) -> Span | None:
        ray = self.plane.ray(angle, SURVEY_BITS)
        waves = hankel_waves(self.dim, angle, SURVEY_BITS)

        def log_term(s: float) -> float:
            # The larger of two: a kernel may pass through zero at a place that is looked at.
            return max(ray.log_size(t) + waves.log_size(x + t) for t in (s, s + _BESIDE))

        turn = np.log(0.5 * self.dim + 0.5) - x
        places = (self.plane.reach.scale, min(turn, self.plane.reach.end + 1.0))
        # Whole multiples of the spacing, so that other blocks meet the same places.
        low = float(np.floor(min(places) / _COARSE) * _COARSE)
        high, peak, s = max(places), -np.inf, low
        while True:
            term = log_term(s)
            if not term < np.inf:
                if ray.angle == 0.0 and s > self.plane.reach.end:
                    break
                return None
            peak = max(peak, term)
            if s >= high and max(term, self._later(angle, x, s)) < peak - depth:
                break
            if s - low > _ENDLESS:
                return None
            s += _COARSE
        high = s
        while max(term := log_term(low), self._earlier(angle, x, low)) > peak - depth:
            peak, low = max(peak, term), low - _COARSE
            if high - low > 2.0 * _ENDLESS:
                return None
        half = high
        while log_term(half) < peak - 0.5 * depth:
            half -= _COARSE / 4.0
        return Span(low, high, peak, half)

    def _later(self, angle: float, x: float, s: float) -> float:
        """Logarithm of what terms beyond a place may be: a kernel may rise again.

        G grows like y^((d+1)/2) at most.
        """
        if angle not in self._rises:
            self._rises[angle] = self._rise(angle)
        places, most = self._rises[angle]
        i = int(np.searchsorted(places, s))
        if i == places.size:
            return -np.inf
        wave = hankel_waves(self.dim, angle, SURVEY_BITS).log_size(x + s)
        return wave - 0.5 * (self.dim + 1) * s + float(most[i])

    def _earlier(self, angle: float, x: float, s: float) -> float:
        """The same of terms before a place, where a kernel may be small: there G rises."""
        if angle not in self._falls:
            ray, scale = self.plane.ray(angle, SURVEY_BITS), np.floor(self.plane.reach.scale)
            places = np.arange(scale - DEEP, scale + _COARSE, _COARSE)
            sizes = np.array(
                [max(ray.log_size(float(t)) for t in (s, s + _BESIDE)) for s in places]
            )
            self._falls[angle] = places, np.maximum.accumulate(sizes)
        places, most = self._falls[angle]
        i = int(np.searchsorted(places, s)) - 1
        if i < 0:
            return -np.inf
        return hankel_waves(self.dim, angle, SURVEY_BITS).log_size(x + s) + float(most[i])

    def _rise(self, angle: float) -> tuple[FloatArray, FloatArray]:
        """The largest k z^((d+1)/2) beyond places on a ray."""
        reach = self.plane.shape(self.dim).reach
        apart = min(_COARSE, 2.0 ** (2 - self.plane.resolution))
        places = np.arange(np.floor(self.plane.reach.scale), np.log(reach) + apart, apart)
        weighted = self._log_sizes(angle, places) + 0.5 * (self.dim + 1) * places
        return places, np.maximum.accumulate(weighted[::-1])[::-1]

    def _log_sizes(self, angle: float, places: FloatArray) -> FloatArray:
        """log|k| on a ray, the larger of two beside each place."""
        ray = self.plane.ray(angle, SURVEY_BITS)
        return np.array([max(ray.log_size(float(t)) for t in (s, s + _BESIDE)) for s in places])
