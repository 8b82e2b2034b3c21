r"""Variograms: half the mean squared increments of a random field f.

.. math:: \gamma(|x - y|) = \tfrac12 E (f(x) - f(y))^2

A function is a variogram iff it is 0 at 0 and conditionally negative definite.  A covariance k has
the variogram k(0) - k.  Unbounded variograms, such as |x - y|, have no stationary covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from numpy.typing import ArrayLike, NDArray

from spectra.base.numbers import checked_dim
from spectra.derivation import derive
from spectra.errors import FormulaError, ParameterError
from spectra.formula import Z, exact_parameter
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue, kernel_from_text, parse_name
from spectra.table import SpectralTable
from spectra.variograms.decision import decide, mean_at_infinity
from spectra.variograms.region import fit_on_region
from spectra.verdict import Definiteness

__all__ = ["Variogram", "variogram"]


@dataclass(frozen=True)
class Variogram:
    """A function gamma(z) of the distance; use :func:`variogram` to make one.

    Attributes
    ----------
    minus_gamma : Kernel
        -gamma as a radial kernel; its value at z = 0 is 0.
    covariance : Kernel or None
        k = sill - gamma, if gamma without its waves c cos(b z) has a finite limit, the sill; else
        None.
    label : str

    Examples
    --------
    >>> power = variogram("z**(3/2)")
    >>> power([0.0, 4.0]), power.sill
    (array([0., 8.]), None)
    >>> power.definiteness(3).answer, variogram("z**3").definiteness(1).answer
    (True, False)
    >>> exponential = variogram("1 - exp(-z)")
    >>> exponential.sill, str(exponential.covariance)
    (1.0, 'exp(-z)')
    """

    minus_gamma: Kernel
    covariance: Kernel | None
    label: str

    def __repr__(self) -> str:
        return f"Variogram({self.label})"

    def __str__(self) -> str:
        return self.label

    def __call__(self, z: ArrayLike) -> NDArray[Any]:
        """Values gamma(z) at distances z >= 0; an array of the shape of z."""
        if self.covariance is not None:
            return self.covariance.at_zero - self.covariance(z)
        return 0.0 - self.minus_gamma(z)

    @cached_property
    def sill(self) -> float | None:
        """The limit of gamma at infinity, without waves c cos(b z); None if there is none."""
        return None if self.covariance is None else self.covariance.at_zero

    def definiteness(self, dim: int) -> Definiteness:
        """Whether gamma is conditionally negative definite, and so a variogram, on R^dim.

        The answer is True (proved), False (refuted) or None (not known).  By Schoenberg's theorem
        Bernstein functions of z^2 are variograms in every dimension; a gamma with a sill is one iff
        sill - gamma is positive definite.
        """
        return decide(self.minus_gamma, self.covariance, checked_dim(dim))

    def on_region(self, radius: float, dim: int, *, tol: float) -> SpectralTable:
        r"""A stationary covariance with the variogram gamma on distances up to a radius R.

        .. math:: |k(0) - k(z) - \gamma(z)| \le tol \cdot \gamma(z), \qquad 0 \le z \le R,

        so that small increments are kept, too, and a field is as rough as gamma.  For powers and
        their sums with covariances, k is in closed form; for other variograms it has the high
        frequencies of the leading power at 0, and a linear programme finds the rest.

        Parameters
        ----------
        radius : float
            R, the largest distance in the region.
        dim : int
        tol : float
            Largest error of the variogram, relative to gamma; if a linear programme is solved, on
            a grid with eight distances per shortest wavelength.

        Returns
        -------
        SpectralTable
            For :class:`rf.GaussianField`.  Its ``bias`` is the largest error of the variogram.  The
            field has a random level of large variance, which cancels in its increments.  If gamma
            has a sill, the table is that of the covariance sill - gamma, on all of R^dim.

        Raises
        ------
        ParameterError
            If gamma is refuted as a variogram on R^dim.
        AccuracyError
            If no such measure was found, or gamma does not start with a power of z at 0.

        References
        ----------
        T. Gneiting, Z. Sasvari and M. Schlather, "Analogies and correspondences between variograms
        and covariance functions", Adv. Appl. Probab. 33 (2001) 617, doi:10.1239/aap/1005091356.

        Examples
        --------
        >>> brownian = variogram("z").on_region(radius=1.0, dim=1, tol=0.01)
        >>> ((brownian.k_zero - brownian.expected_kernel([1e-4, 1e-2])) / [1e-4, 1e-2]).round(6)
        array([1., 1.])
        """
        definiteness = self.definiteness(dim)
        if definiteness.answer is False:
            raise ParameterError(f"{self} is no variogram on R^{dim}: {definiteness.reason}")
        if definiteness.answer and self.covariance is not None:
            return derive(self.covariance, dim)
        return fit_on_region(self.minus_gamma, radius, checked_dim(dim), tol=tol, name=str(self))


def variogram(
    gamma: str | sympy.Expr | Kernel, *, reach: float | None = None, **parameters: Any
) -> Variogram:
    """Make a variogram from a formula in z = |x - y|, or from a covariance.

    Parameters
    ----------
    gamma : str, sympy expression or Kernel
        A formula in z with gamma(0) = 0; or a covariance k, as a kernel or as a name in the
        catalogue such as "matern(nu=5/2)", for the variogram k(0) - k(z).
    reach : float, optional
        Distance beyond which gamma is constant.
    **parameters
        Values of the names in the formula.

    Returns
    -------
    Variogram

    Raises
    ------
    FormulaError
        If the formula cannot be read, or gamma(0) is not 0.
    ParameterError
        If the kernel is defined on the unit sphere.

    Examples
    --------
    >>> variogram("3*z/2 - z**3/2", reach=1)([0.5, 2.0])
    array([0.6875, 1.    ])
    >>> variogram("s*log(1 + z**2)", s=2).definiteness(7).answer
    True
    >>> variogram("spherical").definiteness(4).answer
    False
    """
    if isinstance(gamma, str) and reach is None and parse_name(gamma)[0] in catalogue:
        gamma = kernel_from_text(gamma, parameters=parameters)
    if isinstance(gamma, Kernel):
        if gamma.is_zonal:
            raise ParameterError(f"{gamma} is defined on the unit sphere: give a radial kernel.")
        return Variogram(gamma - gamma.at_zero, gamma, f"k(0) - k, k = {gamma}")
    formula = radial(gamma, **parameters)
    if formula.at_zero != 0.0:
        raise FormulaError(
            f"gamma(0) = {formula.at_zero:.6g} in {formula}: a variogram is 0 at 0. A nugget is "
            "independent noise: omit it here and add noise to the values."
        )
    expr = sum((piece.expr for piece in formula.pieces), sympy.Integer(0))
    if reach is None:
        sill = mean_at_infinity(expr)
        covariance = None if sill is None else radial(sill - expr)
        return Variogram(-formula, covariance, str(gamma))
    end = exact_parameter("reach", reach)
    if not end.is_positive:
        raise ParameterError(f"reach = {reach}: give a positive distance.")
    covariance = radial(expr.subs(Z, end) - expr, support=end)
    return Variogram(covariance - covariance.at_zero, covariance, f"{gamma} up to z = {end}")
