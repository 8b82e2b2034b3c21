"""A radial density that is known by its values, as a component of equal cost at every radius.

The values are kept as Chebyshev series on panels of the radius or its logarithm, each times a power
of w, between an exact power law towards the origin and an asymptotic series (or nothing) beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Component, OscillatingTail, Radial
from spectra.density.panels.panel import ROUNDING, Panel

__all__ = ["Panelled"]

# Points on a panel through which a density passes zero, and on one where it keeps its size: a panel
# has twenty Legendre nodes, and so fewer zeros than that (chosen).
_ROUGH_POINTS, _STEADY_POINTS = 12, 4
_NUMBERS = ("linear", "middle", "half", "level", "slope", "error", "top", "steady")


@dataclass(frozen=True, eq=False)
class Panelled(Component):
    """A component made of panels, a power law below them, and an ending beyond.

    Attributes
    ----------
    panels : tuple of Panel
        Consecutive panels, ascending.
    origin_log_share : float
        Below the panels the density is w**origin_exponent (1 + share log(w/w_0)) times its value
        at their lower end w_0; 0 but for kernels that decay like z**-d.
    origin_error : float
        Bound of the relative error of that.
    ending : Radial
        Beyond the panels.
    beginning : Radial or None
        Below the panels, where more than one power is known.
    """

    panels: tuple[Panel, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    ending: Radial
    origin_log_share: float = 0.0
    origin_error: float = 0.0
    beginning: Radial | None = None
    tail: OscillatingTail | None = None

    @cached_property
    def _edges(self) -> FloatArray:
        return np.array([*(p.low for p in self.panels), self.panels[-1].high])

    @cached_property
    def _of(self) -> dict[str, NDArray[Any]]:
        """What is a number of each panel, by its name."""
        rows = [
            (p.begin is not None, *p.middle, p.level, p.slope, p.error, p.top, p.steady)
            for p in self.panels
        ]
        return {
            name: np.array(each)
            for name, each in zip(_NUMBERS, zip(*rows, strict=True), strict=True)
        }

    @cached_property
    def _series(self) -> FloatArray:
        """Coefficients of one degree in each row."""
        terms = max(p.series.size for p in self.panels)
        return np.array(
            [np.pad(p.series, (0, terms - p.series.size)) for p in self.panels]
        ).T.copy()

    @cached_property
    def _slopes(self) -> FloatArray:
        return np.asarray(chebyshev.chebder(self._series), dtype=float)

    def _series_at(
        self, i: NDArray[np.intp], w: FloatArray, x: FloatArray, *, slope: bool = False
    ) -> FloatArray:
        """The series of panel i at w = exp(x), or its derivative by the place on the panel."""
        s = np.where(self._of["linear"][i], w, x)
        s = (s - self._of["middle"][i]) / self._of["half"][i]
        series = self._slopes if slope else self._series
        now, before, twice = np.zeros_like(s), np.zeros_like(s), 2.0 * s
        for row in series[:0:-1]:
            now, before = row[i] + twice * now - before, now
        return np.asarray(series[0, i] + s * now - before)

    def _located(self, w: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """log w, and the panel of each radius: -1 below the first, their number beyond the last."""
        x = np.log(w)
        i = np.searchsorted(self._edges, x, side="right") - 1
        if self.panels[0].begin == 0.0:
            i = np.maximum(i, 0)
        return x, np.asarray(i)

    def _by_parts(
        self,
        w: FloatArray,
        below: Callable[[FloatArray], Any],
        inside: Callable[[NDArray[np.intp], FloatArray, FloatArray], Any],
        beyond: Callable[[FloatArray], Any],
        *,
        rows: int = 1,
    ) -> list[FloatArray]:
        """Rows of what is known of radii below the panels, of those on them, and of the others."""
        w = np.asarray(w, dtype=float)
        flat = w.ravel()
        x, i = self._located(flat)
        found: FloatArray = np.empty((rows, flat.size))
        for where, part in ((i < 0, below), (i >= len(self.panels), beyond)):
            if np.any(where):
                found[:, where] = part(flat[where])
        on = (i >= 0) & (i < len(self.panels))
        found[:, on] = inside(i[on], flat[on], x[on])
        return list(found.reshape(rows, *w.shape))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        below = self._below if self.beginning is None else self.beginning.signed_log
        sign, log = self._by_parts(w, below, self._inside, self.ending.signed_log, rows=2)
        return sign, log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the largest value nearby where the density passes through zero."""

        def below(w: FloatArray) -> FloatArray:
            return self._below(w)[1]

        begin = below if self.beginning is None else self.beginning.log_envelope
        return self._by_parts(w, begin, self._envelope_inside, self.ending.log_envelope)[0]

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the logarithm."""
        below = self._error_below if self.beginning is None else self.beginning.relative_error
        return self._by_parts(w, below, self._error_inside, self.ending.relative_error)[0]

    def _power(self, i: NDArray[np.intp], x: FloatArray) -> FloatArray:
        """The logarithm of what is taken out of panel i."""
        return np.asarray(self._of["level"][i] + self._of["slope"][i] * x)

    def _inside(
        self, i: NDArray[np.intp], w: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        value = self._series_at(i, w, x)
        with np.errstate(divide="ignore"):
            return np.sign(value), np.log(np.abs(value)) + self._power(i, x)

    def _envelope_inside(self, i: NDArray[np.intp], w: FloatArray, x: FloatArray) -> FloatArray:
        log: FloatArray = np.log(self._of["top"][i]) + self._power(i, x)
        steady = np.flatnonzero(self._of["steady"][i])
        log[steady] = self._inside(i[steady], w[steady], x[steady])[1]
        return log

    def _below(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        panel = self.panels[0]
        value = panel.values(np.array([-1.0]))[0]
        log = np.log(np.abs(value)) + panel.level + panel.slope * panel.low
        far = np.log(w) - panel.low
        rise = self.origin_exponent * far + np.log(1.0 + self.origin_log_share * far)
        return np.full_like(w, np.sign(value)), log + rise

    def _error_below(self, w: FloatArray) -> FloatArray:
        first = self.relative_error(np.exp(self._edges[:1] + 1e-12))[0]
        far = np.abs(self.origin_exponent * (np.log(w) - self._edges[0]))
        return np.asarray(first + self.origin_error + 4.0 * EPS * far)

    def _error_inside(self, i: NDArray[np.intp], w: FloatArray, x: FloatArray) -> FloatArray:
        envelope = self._envelope_inside(i, w, x)
        share = np.exp(self._power(i, x) - envelope)
        # log w is known to a unit in its last place; its product with the slope is rounded to half
        # of one, and so are the sums with the level and with the logarithm of the series.
        sizes = np.abs(self._of["level"][i]) + 3.0 * np.abs(self._of["slope"][i] * x)
        sizes = 0.5 * (sizes + np.abs(envelope)) + ROUNDING
        turned = np.zeros_like(envelope)
        # Where waves turn fast in log w, its rounding is seen in the series too.
        logs = ~self._of["linear"][i]
        far, of = x[logs], i[logs]
        steepness = np.abs(self._series_at(of, w[logs], far, slope=True))
        turned[logs] = EPS * np.abs(far) * steepness / self._of["half"][of]
        return np.asarray((self._of["error"][i] + turned) * share + EPS * sizes)

    def telling_radii(self) -> FloatArray:
        """A few on every panel."""
        counts = np.where(self._of["steady"], _STEADY_POINTS, _ROUGH_POINTS)
        each = [
            np.linspace(p.low, p.high, count, endpoint=False)
            for p, count in zip(self.panels, counts, strict=True)
        ]
        return np.exp(np.concatenate(each))
