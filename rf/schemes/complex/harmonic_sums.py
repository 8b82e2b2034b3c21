r"""Sums of values of a radial kernel along an axis: the moments of a modulated measure.

A selection f of a modulation has the Fourier series :math:`f(x) = \sum_n f_n e^{i n t x}`, and for
a radial law with the kernel :math:`\tilde k`

.. math:: E\bigl[f(e \cdot w)\, e^{i w \cdot D}\bigr] = \sum_n f_n\, \tilde k(|D + n t e|),

so that no integral over R^d is needed.  Numpy and scipy only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from rf.schemes.complex.selection import Modulation, Selection
from spectra.base.arrays import ComplexArray, FloatArray, IntArray
from spectra.errors import AccuracyError
from spectra.table import RadialLaw
from spectra.table.radial_interpolant import interpolated

__all__ = ["MOMENT_ERROR", "HarmonicSums"]

# Harmonics are added until what is left is below these shares of the mass: moments need only be
# right to what an experiment can see.
_MASS_ERROR = 1e-12
MOMENT_ERROR = 1e-8
# Up to this many values of a radial kernel are integrated one by one.
_FEW = 256
_FIRST_HARMONICS = 16
# Values for a mass are integrated one by one, those for a moment are tabulated.
_LAST_OF_A_MASS = 1 << 10
# A wave of a law with a tail of waves takes milliseconds; the error says what fewer harmonics leave
# out.
_LAST_WITH_A_TAIL = 1 << 6
_LAST_HARMONICS = 1 << 14
# Pairs of (difference, harmonic) of one block.
_BLOCK = 1 << 18


@final
@dataclass(frozen=True, eq=False)
class HarmonicSums:
    """Sums of k~(|D + n t e|) over harmonics n of a modulation.

    ``gaussian``: standard deviation of a coordinate where the law is that of a Gaussian, else 0.
    """

    law: RadialLaw
    dim: int
    modulation: Modulation
    gaussian: float

    def kernel(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean plane wave of the law and its error bound."""
        if self.gaussian > 0.0:
            return np.exp(-0.5 * (self.gaussian * z) ** 2), np.full(z.shape, 4e-16)
        return self.law.plane_wave_enclosure(self.dim, z)

    def mass(self, selection: Selection) -> tuple[float, float]:
        """E f(e.w) and a bound of its error."""
        most = _LAST_OF_A_MASS if self.law.tail is None else _LAST_WITH_A_TAIL
        count, _ = self._harmonics(_MASS_ERROR, most)
        orders = np.arange(-count, count + 1)
        series = self.modulation.fourier(selection, count)
        wave, bound = (
            np.concatenate([half[:0:-1], half])
            for half in _harmonics_of(self.law, self.dim, self.modulation.unit, count)
        )
        size = np.abs(series)
        # Harmonics fall like n^-2, and what is left out is bounded by that and the last waves.
        fall = float(np.max(size * orders.astype(float) ** 2))
        left_out = 2.0 * fall / count * float(np.abs(wave[: count // 2]).max())
        rounding = 1e-15 * float(size.sum())
        return float(series.real @ wave), float(size @ bound) + left_out + rounding

    def series(self, selection: Selection, differences: FloatArray) -> ComplexArray:
        """E[f(e.w) exp(i w.D)] at differences D, shape (n, d)."""
        count = self.count(differences)
        return self.sum(
            differences, np.arange(-count, count + 1), self.modulation.fourier(selection, count)
        )

    def count(self, differences: FloatArray) -> int:
        """Harmonics that reach the same distances from all D."""
        count = self._needed(differences)
        if count is None:
            raise AccuracyError(
                f"A shift of {self.modulation.unit:.3g} is so small beside the kernel's length, or "
                "the differences, that the moments of its Jordan or polar parts would take more "
                f"than {_LAST_HARMONICS} harmonics. Take SpectralFeatures, which weighs "
                "draws of the radial law."
            )
        return count

    def reaches(self, differences: FloatArray) -> bool:
        """Whether :meth:`count` has an answer."""
        return self._needed(differences) is not None

    def _needed(self, differences: FloatArray) -> int | None:
        reach = float(np.abs(differences @ self.modulation.axis).max(initial=0.0))
        more = np.ceil(reach / self.modulation.unit)
        count, enough = self._of_moments
        return int(count + more) if enough and more <= _LAST_HARMONICS else None

    @cached_property
    def _of_moments(self) -> tuple[int, bool]:
        return self._harmonics(MOMENT_ERROR, _LAST_HARMONICS)

    def _harmonics(self, tolerance: float, most: int) -> tuple[int, bool]:
        """Harmonics after which a series is below the tolerance, and whether ``most`` do."""
        count = _FIRST_HARMONICS
        while True:
            orders = np.arange(count // 2, count + 1, max(1, count // 32))
            wave, bound = self.kernel(np.asarray(orders * self.modulation.unit))
            # Harmonics of a function with kinks fall like n^-2, so their tail is near 1 / count.
            if np.all(np.abs(wave) <= np.maximum(tolerance * count, bound)):
                return count, True
            if count >= most:
                return count, False
            count *= 2

    def sum(
        self, differences: FloatArray, steps: IntArray, coefficients: ComplexArray
    ) -> ComplexArray:
        """Sum over steps of coefficient * k~(|D + step unit e|)."""
        D = np.asarray(differences, dtype=float)
        along = D @ self.modulation.axis
        across = D - np.multiply.outer(along, self.modulation.axis)
        square = np.sum(across * across, axis=1)
        out = np.empty(len(D), dtype=complex)
        rows = max(1, _BLOCK // len(steps))
        for start in range(0, len(D), rows):
            block = slice(start, start + rows)
            x = np.add.outer(along[block], steps * self.modulation.unit)
            z = np.sqrt(x * x + square[block, None])
            out[block] = self._many(z.ravel()).reshape(z.shape) @ coefficients
        return out

    def _many(self, z: FloatArray) -> FloatArray:
        """Values of the radial kernel; many of them through a table in the distance."""
        if self.gaussian > 0.0 or z.size <= _FEW:
            return self.kernel(z)[0]
        # A power of two, so that a few tables serve all calls.
        reach = 2.0 ** np.ceil(np.log2(z.max()))
        return _tabulated(self.law, self.dim, float(reach))(z)


@lru_cache(maxsize=32)
def _harmonics_of(
    law: RadialLaw, dim: int, unit: float, count: int
) -> tuple[FloatArray, FloatArray]:
    """k~(n unit) for n = 0 ... count with error bounds, which all parts of a measure share."""
    return law.plane_wave_enclosure(dim, np.arange(count + 1.0) * unit)


@lru_cache(maxsize=32)
def _tabulated(law: RadialLaw, dim: int, z_max: float) -> Callable[[FloatArray], FloatArray]:
    def function(z: FloatArray) -> FloatArray:
        return law.expected_plane_wave(dim, z)

    return interpolated(function, z_max, MOMENT_ERROR)
