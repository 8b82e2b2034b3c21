r"""Hankel integrals of analytic kernels along paths on which they do not cancel.

With y = w z and n = d/2 - 1,

.. math:: \rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} \frac1w
          \Re\int k(y/w)\, y^{d/2} H_n(y)\,dy

along every path from the real axis to infinity on which the kernel is analytic, with J in the
place of H on the real axis itself.  On the imaginary axis H is K up to a factor, and what is left
of the kernel is the odd function Im k(it): no size of k, however large, cancels there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hankel1e, jv

from spectra.numeric import FloatArray
from spectra.transform.half_lines.path_sums import (
    BESSEL_ROUNDING,
    DEPTH,
    PHASE,
    TINY,
    Contour,
    Integral,
    Radii,
    Sum,
    doubling,
    nodes,
    summed,
)
from spectra.transform.half_lines.quarter_plane import QuarterPlane
from spectra.transform.half_lines.wave_paths import by_waves, first_corner
from spectra.transform.smooth_pairs.bessel_k import log_scaled_bessel_k

__all__ = ["Hankel"]

ComplexArray = NDArray[np.complex128]

# Below this share of its corner a path on the real axis has no weight.
_LEAST = 1e-18
_MOST_PANELS = 2000
_UNDERFLOW = 1e-280
# Arcs are looked at in so many places, and must be below this; by so many heights a ray that is
# followed further is as close to the real axis as its angle lets it be.
_ARC_POINTS, _CLOSED, _FAR_HEIGHTS = 65, 1e-10, 8.0


@dataclass(frozen=True, eq=False)
class Hankel:
    """The integrals of one kernel in one dimension.

    Attributes
    ----------
    kernel : QuarterPlane
        The kernel.
    dim : int
        Dimension d >= 1.
    """

    kernel: QuarterPlane
    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", self.kernel.in_dimension(self.dim))

    @property
    def order(self) -> float:
        """n = d/2 - 1."""
        return 0.5 * self.dim - 1.0

    @cached_property
    def _log_front(self) -> float:
        """Logarithm of 2^(1-d/2)/Gamma(d/2)."""
        return float((1.0 - 0.5 * self.dim) * np.log(2.0) - gammaln(0.5 * self.dim))

    def __call__(self, radii: Radii, contour: Contour) -> Integral | None:
        """The integral at radii close to one another; None where the path does not serve."""
        with np.errstate(all="ignore"):
            if contour.by_waves:
                parts = self._by_waves(radii, contour)
            else:
                parts = self._parts(radii.w, contour)
        if parts is None:
            return None
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        found = (total.value, total.error, total.size)
        if not all(np.all(np.isfinite(x)) for x in found):
            return None
        # What underflows keeps neither digits nor a bound.
        if np.any(total.size < _UNDERFLOW):
            return None
        return Integral(*found)

    def _parts(self, w: FloatArray, contour: Contour) -> list[Sum] | None:
        low, high = float(w.min()), float(w.max())
        widest = self._widest(high)
        # The waves of the kernel slow the decay of H on the way up.
        falling = low - self.kernel.frequency
        if falling <= 0.0 and not (np.isinf(contour.corner) or self.kernel.decays_fast):
            return None
        if not self._closes(contour.angle, low, falling):
            return None
        parts: list[Sum] = []
        if contour.height > 0.0:
            if not self.kernel.is_even:
                odd = self._on_the_imaginary_axis(w, contour.height)
                if odd is None:
                    return None
                parts.append(odd)
            start = 1j * contour.height
            gap = self.kernel.rise(contour.angle) - contour.height
            first = 0.25 * min(contour.height, gap, 1.0 / high)
        else:
            end = contour.corner / high
            if self.kernel.decays_fast:
                end = min(end, self.kernel.reach)
            below = self._on_the_real_axis(w, end, widest)
            if below is None:
                return None
            parts.append(below)
            if self.kernel.decays_fast and end == self.kernel.reach:
                return parts
            start, first = complex(end), 0.25 * end
        length = self.kernel.reach if self.kernel.decays_fast else np.inf
        if contour.angle > 0.0 and falling > 0.0:
            length = min(length, DEPTH / (falling * float(np.sin(contour.angle))))
        ray = doubling(0.0, length, first, widest)
        if ray is None or not self._ends_closed(start, contour.angle, length, low):
            return None
        parts.append(self._on_a_ray(w, start, contour.angle, ray))
        return parts

    def _ends_closed(self, start: complex, angle: float, length: float, low: float) -> bool:
        """Whether the integrand is negligible from the end of a ray on, and up to the real axis.

        A ray that begins high up may end while a sector in which the kernel grows still lies
        between it and the axis, and then its integral is another one, however small.
        """
        if not self.kernel.decays_fast:
            return True
        direction = complex(np.cos(angle), np.sin(angle))
        far = max(length, self.kernel.reach, _FAR_HEIGHTS * abs(start))
        end = start + far * direction
        onwards = start + direction * np.linspace(length, far, _ARC_POINTS)
        arc = abs(end) * np.exp(1j * np.linspace(0.0, np.angle(end), _ARC_POINTS))
        places = np.concatenate([onwards, arc])
        size = np.log(self.kernel.size(places) + TINY) - low * np.imag(places)
        return bool(np.all(np.isfinite(size)) and size.max() < np.log(_CLOSED))

    def _closes(self, angle: float, low: float, falling: float) -> bool:
        if self.kernel.closes(angle, low):
            return True
        # Where the kernel overflows, each of its waves may still be known to fall.
        served = bool(self.kernel.waves) and falling > 0.0
        return served and self.kernel.closes(angle, falling, by_waves=True)

    def _by_waves(self, radii: Radii, contour: Contour) -> list[Sum] | None:
        w = radii.w
        corner = first_corner(self.kernel, self.order, w, contour.corner)
        below = self._on_the_real_axis(w, corner, self._widest(float(w.max())))
        beyond = by_waves(
            self.kernel,
            self.dim,
            radii,
            log_front=self._log_front,
            corner=corner,
            angle=contour.angle,
        )
        return None if below is None or beyond is None else [below, *beyond]

    def _widest(self, high: float) -> float:
        """The widest panel on which the kernel and a wave of frequency ``high`` are resolved."""
        rate = high + self.kernel.frequency
        if self.kernel.decays_fast:
            rate += 1.0 / self.kernel.scale
        return PHASE / rate

    def _on_the_real_axis(self, w: FloatArray, end: float, widest: float) -> Sum | None:
        """The integral of k J from 0 to an end."""
        # k z^(d-1) is negligible below this share of the end, or of the scale of the kernel.
        least = 0.1 * min(end, self.kernel.scale) * _LEAST ** (1.0 / self.dim)
        edges = doubling(0.0, end, least, widest)
        if edges is None:
            return None
        z, half = nodes(edges)
        k = self.kernel.value(z)
        y = w[:, None] * z
        front = np.exp(self._log_front + 0.5 * self.dim * np.log(y))
        terms = front * jv(self.order, y) * k
        return summed(terms, self._rounding(y, k), half)

    def _on_a_ray(self, w: FloatArray, start: complex, angle: float, edges: FloatArray) -> Sum:
        r, half = nodes(edges)
        direction = complex(np.cos(angle), np.sin(angle))
        z = start + direction * r
        k = self.kernel.value(z)
        y = w[:, None] * z
        front = np.exp(self._log_front + 0.5 * self.dim * np.log(y) + 1j * y)
        terms = front * hankel1e(self.order, y) * (k * direction)
        found = summed(terms, self._rounding(y, k), half)
        # What the path leaves out beyond its end falls at least as fast as 1/z^2 from there.
        last = np.abs(terms[:, -1]) * float(r[-1])
        return Sum(found.value, found.size, found.error + last)

    def _on_the_imaginary_axis(self, w: FloatArray, height: float) -> Sum | None:
        odd = self.kernel.odd
        low, high = float(w.min()), float(w.max())
        first = odd.panel(odd.least * min(1.0 / high, self.kernel.scale))
        depth = (DEPTH + 4.0 * self.order + 4.0 * np.sqrt(self.order + 1.0)) / max(
            low - self.kernel.frequency, TINY
        )
        last = odd.panel(min(height * (1.0 - 1e-9), depth)) + 1
        if not 0 < last - first <= _MOST_PANELS:
            return None
        edges = np.array([odd.edge(i) for i in range(first, last + 1)])
        # A kernel that overflows does so in the last panel: those before it need no values then.
        if not np.all(np.isfinite(odd.values(last - 1))):
            return None
        g = np.concatenate([odd.values(i) for i in range(first, last)])
        t, half = nodes(edges)
        y = w[:, None] * t
        if self.dim == 1:
            log = 0.5 * np.log(0.5 * np.pi) - y
            _log_front = self._log_front
        else:
            # y^(d/2) K_n(y) 2^(1-d/2)/Gamma(d/2) = y [(y/2)^n K_n(y)] / Gamma(d/2)
            log = np.log(y) + log_scaled_bessel_k(self.order, y)
            _log_front = float(-gammaln(0.5 * self.dim))
            if self.order >= 1.0:
                _log_front += float(gammaln(self.order)) - np.log(2.0)
        terms = (-2.0 / np.pi) * np.exp(_log_front + log) * g
        weight = BESSEL_ROUNDING + np.abs(log) + np.abs(np.log(np.abs(g) + TINY))
        return summed(terms, weight + self._error_of_k(y), half)

    def _error_of_k(self, y: FloatArray) -> FloatArray:
        """The steepness of K in y, whose argument is rounded."""
        return np.asarray(y + self.order)

    def _rounding(self, y: ComplexArray | FloatArray, k: ComplexArray | FloatArray) -> FloatArray:
        """Relative error of the terms, in units of rounding."""
        log = np.abs(np.log(np.abs(k) + TINY))
        size = np.abs(y)
        return np.asarray(
            BESSEL_ROUNDING + size + self.dim * (1.0 + 0.5 * np.abs(np.log(size))) + log
        )
