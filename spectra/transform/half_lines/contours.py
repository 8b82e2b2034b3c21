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

from spectra.quadrature import ANALYSIS, EPS, NODES, ORDER, WEIGHTS
from spectra.transform.half_lines.continuation import Continuation
from spectra.transform.smooth_pairs.bessel_k import log_scaled_bessel_k

__all__ = ["Contour", "Hankel", "Integral"]

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

# exp(-46) = 1e-20: where H or K have fallen this far a path ends.
_DEPTH = 46.0
# Twenty nodes resolve a wave of this phase to rounding.
_PHASE = 8.0
_MOST_PANELS = 2000
# Below this share of its corner a path on the real axis has no weight.
_LEAST = 1e-18
# Relative errors of the Bessel functions of scipy, in units of rounding.
_BESSEL_ROUNDING = 24.0
# Kernels are looked at up to their reach, and a little beyond.
_REACH_SHARE = 1.25
# Margin of the estimate of what a panel leaves out.
_SQUARED_MARGIN = 100.0
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Contour:
    """A path: from 0 to ``corner``/w on the real axis, or to i ``height``; then a ray.

    ``corner`` is in y; infinite for the real axis to its end, as ``height`` is for the imaginary
    one.
    """

    corner: float = 0.0
    height: float = 0.0
    angle: float = 0.0


@dataclass(frozen=True)
class Integral:
    """Values of rho, bounds of their errors, and the integrals of absolute values."""

    value: FloatArray
    error: FloatArray
    size: FloatArray


@dataclass(frozen=True, eq=False)
class _Sum:
    """Sums over the nodes of some panels: the integral, its size and its error."""

    value: FloatArray
    size: FloatArray
    error: FloatArray

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.value + other.value, self.size + other.size, self.error + other.error)


def _nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Legendre nodes of panels, in one row, and the half width of the panel of each."""
    half = 0.5 * np.diff(edges)
    x = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return x.ravel(), np.repeat(half, ORDER)


def _summed(terms: ComplexArray | FloatArray, weight: FloatArray, half: FloatArray) -> _Sum:
    """Integrate rows of values at the nodes of panels; ``weight`` is the rounding of each."""
    count = terms.shape[0]
    size = np.abs(terms)
    panels = (terms * half).reshape(count, -1, ORDER)
    # n nodes are exact to degree 2n - 1: coefficients that have fallen to the share q at degree n
    # have fallen to about q^2 at degree 2n.
    last = np.abs(panels @ ANALYSIS[-3:].T).max(axis=2)
    top = np.abs(panels).max(axis=2) + _TINY
    left_out = (last * np.minimum(_SQUARED_MARGIN * last / top, 1.0)).sum(axis=1)
    value = np.real(panels @ WEIGHTS).sum(axis=1)
    weights = np.tile(WEIGHTS, half.size // ORDER) * half
    return _Sum(value, size @ weights, left_out + EPS * ((size * weight) @ weights))


def _edges(start: float, end: float, first: float, widest: float) -> FloatArray | None:
    """Panels from start to end: the first is given, and they double up to ``widest``."""
    edges, width = [start], min(first, widest)
    while edges[-1] < end:
        if len(edges) > _MOST_PANELS:
            return None
        edges.append(edges[-1] + width)
        width = min(edges[-1] - start, widest)
    edges[-1] = end
    return np.array(edges)


@dataclass(frozen=True, eq=False)
class Hankel:
    """The integrals of one kernel in one dimension.

    Attributes
    ----------
    kernel : Continuation
        The kernel.
    dim : int
        Dimension d >= 1.
    """

    kernel: Continuation
    dim: int

    @property
    def order(self) -> float:
        """n = d/2 - 1."""
        return 0.5 * self.dim - 1.0

    @cached_property
    def _log_front(self) -> float:
        """Logarithm of 2^(1-d/2)/Gamma(d/2)."""
        return float((1.0 - 0.5 * self.dim) * np.log(2.0) - gammaln(0.5 * self.dim))

    def __call__(self, w: FloatArray, contour: Contour) -> Integral | None:
        """The integral at radii w close to one another; None where the path does not serve."""
        with np.errstate(all="ignore"):
            parts = self._parts(w, contour)
        if parts is None:
            return None
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        found = (total.value, total.error, total.size)
        if not all(np.all(np.isfinite(x)) for x in found):
            return None
        return Integral(*found)

    def _parts(self, w: FloatArray, contour: Contour) -> list[_Sum] | None:
        low, high = float(w.min()), float(w.max())
        rate = high
        if self.kernel.decays_fast:
            rate += 1.0 / self.kernel.scale
        widest = _PHASE / rate
        angle = contour.angle if np.isfinite(contour.height) else 0.5 * np.pi
        if not self.kernel.closes(angle, low):
            return None
        if np.isinf(contour.height):
            return self._on_the_imaginary_axis(w, np.inf)
        parts: list[_Sum] = []
        if contour.height > 0.0:
            if not self.kernel.is_even:
                odd = self._on_the_imaginary_axis(w, contour.height)
                if odd is None:
                    return None
                parts += odd
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
        if contour.angle > 0.0:
            length = min(length, _DEPTH / (low * float(np.sin(contour.angle))))
        ray = _edges(0.0, length, first, widest)
        if ray is None:
            return None
        parts.append(self._on_a_ray(w, start, contour.angle, ray))
        return parts

    def _on_the_real_axis(self, w: FloatArray, end: float, widest: float) -> _Sum | None:
        # k z^(d-1) is negligible below this share of the end, or of the scale of the kernel.
        least = 0.1 * min(end, self.kernel.scale) * _LEAST ** (1.0 / self.dim)
        edges = _edges(0.0, end, least, widest)
        if edges is None:
            return None
        z, half = _nodes(edges)
        k = self.kernel.value(z)
        y = w[:, None] * z
        front = np.exp(self._log_front + 0.5 * self.dim * np.log(y))
        terms = front * jv(self.order, y) * k
        return _summed(terms, self._rounding(y, k), half)

    def _on_a_ray(self, w: FloatArray, start: complex, angle: float, edges: FloatArray) -> _Sum:
        r, half = _nodes(edges)
        direction = complex(np.cos(angle), np.sin(angle))
        z = start + direction * r
        k = self.kernel.value(z)
        y = w[:, None] * z
        front = np.exp(self._log_front + 0.5 * self.dim * np.log(y) + 1j * y)
        terms = front * hankel1e(self.order, y) * (k * direction)
        found = _summed(terms, self._rounding(y, k), half)
        # What the path leaves out beyond its end falls at least as fast as 1/z^2 from there.
        last = np.abs(terms[:, -1]) * float(r[-1])
        return _Sum(found.value, found.size, found.error + last)

    def _on_the_imaginary_axis(self, w: FloatArray, height: float) -> list[_Sum] | None:
        odd = self.kernel.odd
        low, high = float(w.min()), float(w.max())
        first = odd.panel(odd.least * min(1.0 / high, self.kernel.scale))
        depth = (_DEPTH + 4.0 * self.order + 4.0 * np.sqrt(self.order + 1.0)) / low
        last = odd.panel(min(height * (1.0 - 1e-9), depth)) + 1
        if not 0 < last - first <= _MOST_PANELS:
            return None
        edges = np.array([odd.edge(i) for i in range(first, last + 1)])
        if (
            np.isinf(height)
            and self.kernel.decays_fast
            and edges[-1] > _REACH_SHARE * self.kernel.reach
        ):
            return None
        g = np.concatenate([odd.values(i) for i in range(first, last)])
        t, half = _nodes(edges)
        y = w[:, None] * t
        if self.dim == 1:
            log = 0.5 * np.log(0.5 * np.pi) - y
            log_front = self._log_front
        else:
            # y^(d/2) K_n(y) 2^(1-d/2)/Gamma(d/2) = y [(y/2)^n K_n(y)] / Gamma(d/2)
            log = np.log(y) + log_scaled_bessel_k(self.order, y)
            log_front = float(-gammaln(0.5 * self.dim))
            if self.order >= 1.0:
                log_front += float(gammaln(self.order)) - np.log(2.0)
        terms = (-2.0 / np.pi) * np.exp(log_front + log) * g
        weight = _BESSEL_ROUNDING + np.abs(log) + np.abs(np.log(np.abs(g) + _TINY))
        found = _summed(terms, weight + self._error_of_k(y), half)
        beyond = np.abs(terms[:, -1]) * float(t[-1]) if np.isinf(height) else 0.0
        return [_Sum(found.value, found.size, found.error + beyond)]

    def _error_of_k(self, y: FloatArray) -> FloatArray:
        """The steepness of K in y, whose argument is rounded."""
        return np.asarray(y + self.order)

    def _rounding(self, y: ComplexArray | FloatArray, k: ComplexArray | FloatArray) -> FloatArray:
        """Relative error of the terms, in units of rounding."""
        log = np.abs(np.log(np.abs(k) + _TINY))
        size = np.abs(y)
        return np.asarray(
            _BESSEL_ROUNDING + size + self.dim * (1.0 + 0.5 * np.abs(np.log(size))) + log
        )
