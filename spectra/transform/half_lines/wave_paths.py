r"""Each wave of a kernel on a ray of its own, on which it decays.

Beyond a corner R, with y = w z and f a wave of frequency b,

.. math:: \int_R^\infty 2\Re[e^{ibz} f]\,y^{d/2} J_n(y)\,dy = \Re\int_R^{\infty e^{i\theta}}
          y^{d/2} \{ e^{i(w+b)z} f \tilde H_1 + e^{i(w-b)z} \bar f \tilde H_1 \}\,dy

for w > b, with :math:`\tilde H = H e^{\mp iy}`, and with :math:`e^{i(b-w)z} f \tilde H_2` in the
place of the second summand for w < b: all decay upwards, however close w is to b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import jv, jve

from spectra.numeric import FloatArray
from spectra.transform.half_lines.path_sums import (
    BESSEL_ROUNDING,
    DEPTH,
    PHASE,
    TINY,
    Radii,
    Sum,
    adaptive,
    doubling,
)
from spectra.transform.half_lines.quarter_plane import QuarterPlane
from spectra.transform.half_lines.waves import Wave, scaled_hankel

__all__ = ["by_waves", "first_corner"]

ComplexArray = NDArray[Any]
Terms = Callable[[ComplexArray], tuple[ComplexArray, FloatArray]]

# The first panel of a ray is this share of the corner.
_FIRST = 0.25
# A wave of more than this many times the radius carries J as it is.
_MUCH_FASTER = 2.0
# A kernel that decays fast is followed along a ray to these multiples of its reach.
_REACHES = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])


def first_corner(kernel: QuarterPlane, order: float, w: FloatArray, factor: float) -> float:
    """Where the waves part: about ``factor`` turns of each, and turning points of J, from 0."""
    slowest = min(wave.frequency for wave in kernel.waves if wave.frequency > 0.0)
    turn = (order + 1.5) / max(float(w.max()), 0.5 * slowest)
    corner = factor * max(turn, 1.0 / slowest)
    return min(corner, kernel.reach) if kernel.decays_fast else corner


def by_waves(
    kernel: QuarterPlane,
    dim: int,
    radii: Radii,
    *,
    log_front: float,
    corner: float,
    angle: float,
) -> list[Sum] | None:
    """The integrals of all waves from the corner on; None where a ray does not serve.

    ``log_front`` is the logarithm of a factor of all of them.
    """
    if kernel.decays_fast and corner >= kernel.reach:
        return []
    sums: list[Sum] = []
    for wave in kernel.waves:
        found = _Ray(kernel, dim, radii, log_front, corner, angle).of(wave)
        if found is None:
            return None
        sums += found
    return sums


class _Ray:
    """The rays of one wave."""

    def __init__(
        self,
        kernel: QuarterPlane,
        dim: int,
        radii: Radii,
        log_front: float,
        corner: float,
        angle: float,
    ) -> None:
        self.kernel = kernel
        self.log_front = log_front
        self.dim, self.order = dim, 0.5 * dim - 1.0
        self.radii, self.w = radii, radii.w[:, None]
        self.corner, self.angle = corner, angle

    def of(self, wave: Wave) -> list[Sum] | None:
        b = wave.frequency
        low, high = float(self.w.min()), float(self.w.max())
        if b == 0.0:
            return self._still(wave, low, high)
        if b >= _MUCH_FASTER * high:
            parts = [self._integrated(lambda z: self._carried(wave, z), b - high, b + high)]
        else:
            apart = self.radii.beyond(b)
            one_sided = bool(np.all(apart > 0.0) or np.all(apart < 0.0))
            if not (one_sided or self.kernel.decays_fast):
                return None
            near, far = float(np.abs(apart).min()), float(np.abs(apart).max())
            parts = [
                self._integrated(lambda z: self._sum_of_both(wave, z), low + b, high + b),
                self._integrated(lambda z: self._difference(wave, apart, z), near, far),
            ]
        return None if None in parts else [p for p in parts if p is not None]

    def _still(self, wave: Wave, low: float, high: float) -> list[Sum] | None:
        """A part without waves: J up to the turning point, H beyond."""
        turn = (self.order + 1.5) / high
        parts: list[Sum | None] = []
        if turn > self.corner:
            edges = doubling(self.corner, turn, _FIRST * self.corner, PHASE / high)
            if edges is None:
                return None

            def on_the_axis(z: FloatArray) -> tuple[ComplexArray, FloatArray]:
                k = wave.value(z + 0j)
                return self._front(z + 0j) * jv(self.order, self.w * z) * k, self._weight(z, k)

            parts.append(adaptive(on_the_axis, edges))
            self.corner = turn

        def upwards(z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
            k = wave.value(z)
            y = self.w * z
            return self._front(z) * np.exp(1j * y) * scaled_hankel(self.order, y) * k, (
                self._weight(z, k)
            )

        parts.append(self._integrated(upwards, low, high))
        return None if None in parts else [p for p in parts if p is not None]

    def _carried(self, wave: Wave, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
        k = 2.0 * wave.value(z)
        y = self.w * z
        both = np.exp(1j * wave.frequency * z + np.abs(y.imag))
        return self._front(z) * jve(self.order, y) * both * k, self._weight(z, k)

    def _sum_of_both(self, wave: Wave, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
        k = wave.value(z)
        phase = np.exp(1j * (self.w + wave.frequency) * z)
        return self._front(z) * scaled_hankel(self.order, self.w * z) * phase * k, (
            self._weight(z, k)
        )

    def _difference(
        self, wave: Wave, apart: FloatArray, z: ComplexArray
    ) -> tuple[ComplexArray, FloatArray]:
        y = self.w * z
        above = wave.conjugate(z) if np.any(apart >= 0.0) else None
        below = wave.value(z) if np.any(apart < 0.0) else None
        out = np.empty(y.shape, dtype=complex)
        up = apart >= 0.0
        if above is not None:
            out[up] = scaled_hankel(self.order, y[up]) * above
        if below is not None:
            out[~up] = np.conj(scaled_hankel(self.order, np.conj(y[~up]))) * below
        phase = np.exp(1j * np.abs(apart)[:, None] * z)
        return self._front(z) * out * phase, self._weight(z, wave.value(z))

    def _front(self, z: ComplexArray) -> ComplexArray:
        """y^(d/2), with the factor of all."""
        return np.asarray(np.exp(self.log_front + 0.5 * self.dim * np.log(self.w * z)))

    def _weight(self, z: ComplexArray | FloatArray, k: ComplexArray) -> FloatArray:
        log = np.abs(np.log(np.abs(k) + TINY)) + 0.5 * self.dim * np.abs(np.log(np.abs(self.w * z)))
        return np.asarray(BESSEL_ROUNDING + DEPTH + self.dim + log)

    def _integrated(self, terms: Terms, slowest: float, fastest: float) -> Sum | None:
        """From the corner upwards; the phase turns at rates between these."""
        if not self.kernel.closes(self.angle, slowest, by_waves=True):
            return None
        direction = complex(np.cos(self.angle), np.sin(self.angle))
        length = self._length(direction, slowest)
        edges = None
        if length is not None:
            edges = doubling(0.0, length, _FIRST * self.corner, PHASE / fastest)
        if edges is None:
            return None

        def along(r: FloatArray) -> tuple[ComplexArray, FloatArray]:
            values, weight = terms(self.corner + direction * r)
            return values * direction, weight

        found = adaptive(along, edges)
        if found is None:
            return None
        # What lies beyond falls at least as fast as 1/z^2 from there.
        end = edges[-1:]
        beyond = np.abs(along(end)[0][:, 0]) * float(end[0])
        return Sum(found.value, found.size, found.error + beyond)

    def _length(self, direction: complex, slowest: float) -> float | None:
        """Where exp(i slowest z) f has fallen to nothing along the ray."""
        length = np.inf
        if slowest > 0.0 and direction.imag > 0.0:
            length = DEPTH / (slowest * direction.imag)
        if self.kernel.decays_fast:
            r = self.kernel.reach * _REACHES
            log = np.log(self.kernel.size(self.corner + direction * r) + TINY)
            gone = np.flatnonzero(log - slowest * direction.imag * r < self._first_log - DEPTH)
            if gone.size:
                length = min(length, float(r[gone[0]]))
        return float(length) if np.isfinite(length) else None

    @property
    def _first_log(self) -> float:
        return float(np.log(self.kernel.size(np.array([self.corner + 0j]))[0] + TINY))
