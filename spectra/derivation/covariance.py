r"""A kernel as other libraries want a covariance: values, spectrum, and the slopes of both.

Lengths are parameters there, and gradients in them come by rescaling: with
:math:`s = \sum_j (x_j - y_j)^2 / \ell_j^2` a kernel matrix needs dk/ds alone, and the power
spectral density :math:`S(w) = (2\pi)^d \mu(w)` needs its slope in w, which is the same measure two
dimensions higher up:

.. math:: \frac{d\mu_d}{dw}(w) = -2 \pi w\, \mu_{d+2}(w)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike
from sympy.core.function import AppliedUndef

from spectra.base.numbers import FloatArray, checked_dim, real_array
from spectra.density import SpectralDensity, spectral_density
from spectra.derivation.kernel_to_table import derive
from spectra.errors import AccuracyError, ParameterError
from spectra.formula import Piece
from spectra.formula.reader import Z
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import as_kernel
from spectra.table import SpectralTable
from spectra.verdict import existence

__all__ = ["RadialCovariance", "positive_table", "radial_kernel"]


def radial_kernel(kernel: Any, *, support: float | None = None) -> Kernel:
    """The radial kernel of a formula in z, a name or an entry of the catalogue, or a kernel."""
    if isinstance(kernel, str) and support is not None:
        kernel = radial(kernel, support=support)
    found = as_kernel(kernel, "a stationary covariance")
    if found.is_zonal:
        raise ParameterError(
            f"{found!r} is not a radial kernel: a stationary covariance is a function of the "
            "distance. Make one with radial(...), a formula in z, or a name of the catalogue."
        )
    return found


@lru_cache(maxsize=64)
def positive_table(kernel: Kernel, dim: int) -> SpectralTable:
    """The table of a covariance; a kernel with negative mass is refused."""
    table: SpectralTable = derive(kernel, dim)
    negative = sum(part.mass for part in table.parts if part.sign < 0)
    if negative:
        raise ParameterError(
            f"{kernel} is no covariance in dimension {dim}: its spectral measure has the negative "
            f"mass {negative:.6g}, and other libraries would use it without a word. Ask "
            "spectra.existence(kernel, dim) for what can be done, or take a lower dimension."
        )
    return table


@final
@dataclass(frozen=True)
class RadialCovariance:
    """A radial kernel that is a covariance on R^dim, as functions of arrays.

    Examples
    --------
    >>> covariance = RadialCovariance.of("exp(-z**2/2)", 1)
    >>> covariance.power([0.0, 1.0]).round(6)
    array([2.506628, 1.520347])
    """

    kernel: Kernel
    dim: int

    @classmethod
    def of(cls, kernel: Any, dim: int) -> RadialCovariance:
        """The covariance; a ParameterError if it is not radial or not positive definite."""
        return _checked(radial_kernel(kernel), checked_dim(dim))

    def values(self, s: ArrayLike) -> FloatArray:
        """k at the squared distances s."""
        return self.kernel(np.sqrt(real_array(s, "s")))

    def squared_slope(self, s: ArrayLike) -> FloatArray:
        """dk/ds at the squared distances s; 0 at s = 0, where derivatives of s are 0."""
        s = real_array(s, "s")
        values = np.zeros_like(s)
        apart = s > 0.0
        values[apart] = self._slope(np.sqrt(s[apart]))
        return values

    @cached_property
    def _slope(self) -> Kernel:
        """k'(z)/(2z), as a kernel."""
        pieces = tuple(Piece(p.support, p.expr.diff(Z) / (2 * Z)) for p in self.kernel.pieces)
        if any(p.expr.has(sympy.Derivative, sympy.Subs, AppliedUndef) for p in pieces):
            raise ParameterError(
                f"{self.kernel} is given by its values, and has no formula to differentiate: write "
                "it as a formula, or ask for nothing that needs its slope (fix its lengths)."
            )
        return Kernel(pieces)

    def power(self, w: ArrayLike) -> FloatArray:
        """The power spectral density (2 pi)^d mu(w) at |w|.

        A ParameterError if the measure has atoms, an AccuracyError if a value is negative by more
        than its error.
        """
        w = _radii(w)
        density = self._density(0)
        values = density.density(w)
        # The measure is positive: at a double zero rounding goes below it by less than the error.
        below = w[values < 0.0]
        if below.size and np.any(-density.radial(below) > density.error(below)):
            raise AccuracyError(
                f"The spectral density of {self.kernel} in dimension {self.dim} came out as "
                f"{values.min():.3g}, below zero by more than its stated error."
            )
        return np.asarray((2.0 * np.pi) ** self.dim * np.maximum(values, 0.0))

    def power_slope(self, w: ArrayLike) -> FloatArray:
        """Its derivative in w: -w (2 pi)^(d + 1) mu of dimension d + 2."""
        w = _radii(w)
        return np.asarray(-w * (2.0 * np.pi) ** (self.dim + 1) * self._density(2).density(w))

    def _density(self, higher: int) -> SpectralDensity:
        found: SpectralDensity = spectral_density(self.kernel, self.dim + higher)
        for radius in {atom.radius for atom in found.atoms}:
            # Summands may have atoms that cancel, as the constants of 1 - sqrt(z/(1 + z)).
            at = [atom for atom in found.atoms if atom.radius == radius]
            mass = sum(atom.mass for atom in at)
            if abs(mass) > sum(atom.error for atom in at):
                raise ParameterError(
                    f"The spectral measure of {self.kernel} in dimension {self.dim} is not a "
                    f"density: it has the mass {mass:.6g} on the sphere of radius {radius:.6g}. "
                    "Nothing but its samples can be used."
                )
        return found


@lru_cache(maxsize=64)
def _checked(kernel: Kernel, dim: int) -> RadialCovariance:
    definite = existence(kernel, dim).positive_definite
    if definite is not None and definite.answer is False:
        raise ParameterError(
            f"{kernel} is not positive definite on R^{dim}, so it is no covariance there. "
            f"{definite.reason} Ask spectra.existence(kernel, dim) for lower dimensions."
        )
    return RadialCovariance(kernel, dim)


def _radii(w: ArrayLike) -> FloatArray:
    w = real_array(w, "w")
    # A density has a limit at 0, and is asked for at positive radii; its powers are doubles there.
    return np.where(w == 0.0, 1e-60, np.abs(w))
