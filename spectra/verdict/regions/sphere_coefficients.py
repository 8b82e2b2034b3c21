r"""Zonal kernels on the unit sphere itself: Gegenbauer (Schoenberg) coefficients and their signs.

.. math:: k(u) = \sum_n \lambda_n N(n, d) P_n(u), \qquad
          \lambda_n = \frac{\int_0^\pi k(\cos\theta) P_n(\cos\theta) \sin^{d-2}\theta\,d\theta}
                           {\int_0^\pi \sin^{d-2}\theta\,d\theta}

with :math:`P_n(1) = 1` and N(n, d) the number of spherical harmonics of degree n in R^d.  The
kernel is positive definite on the sphere exactly where every coefficient is nonnegative
(I. J. Schoenberg, Positive definite functions on spheres, Duke Math. J. 9, 1942).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import inf

import flint
import numpy as np
import sympy
from mpmath import mp
from mpmath.calculus.quadrature import TanhSinh
from numpy.typing import NDArray

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim, whole_number
from spectra.base.special.harmonics import harmonic_count
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.reader.parsing import U, Z
from spectra.kernels.catalogue.reading import kernel_from_text
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii
from spectra.singularities.definiteness import proved_on_sphere

__all__ = ["SphereCoefficients", "sphere_coefficients"]

#: Digits of the coefficients, and of the shares N lambda_n.
_DIGITS, _DIGITS_OF_SHARES = 40, 24
#: The largest degree: its integrals take some ten seconds, and the work grows with its square.
MOST_DEGREES = 200
#: Levels of the tanh-sinh rule, each of which halves the step.
_MOST_LEVELS = 10
#: Differences of two levels at which the finer one is accepted: of coefficients and of shares.
_TOLERANCE, _TOLERANCE_OF_SHARES = 1e-25, 1e-13
#: The largest difference of the two finest levels, relative to the coefficients.
_LARGEST_CHANGE = 1e-10
#: Functions whose only singularities are poles; radii of discs, and cells across one, for bounds.
_MEROMORPHIC = (
    *(sympy.exp, sympy.sin, sympy.cos, sympy.tan, sympy.sinh, sympy.cosh, sympy.tanh),
    *(sympy.erf, sympy.erfc),
)
_RADII, _CELLS = (1.125, 1.25, 1.5, 2.0, 3.0, 5.0), 48
_RULE = TanhSinh(mp)


@dataclass(frozen=True)
class SphereCoefficients:
    r"""Gegenbauer coefficients of a zonal kernel on the unit sphere of R^dim.

    Attributes
    ----------
    values, error : ndarray of shape (degree + 1,)
        lambda_n, n = 0, ..., degree, and a bound of each one's error.
    multiplicity : ndarray
        N(n, dim); ``values * multiplicity`` are the shares of k(1).
    tail_bound : float
        Bound of the sum of N |lambda_n| over n > degree (``inf`` where none is known).
    nonnegative : bool or None
        True where all coefficients, of every degree, are proved nonnegative (those of a polynomial
        up to their errors); False where one is negative beyond its error; None otherwise.
    """

    dim: int
    values: NDArray[np.float64]
    error: NDArray[np.float64]
    multiplicity: NDArray[np.float64]
    tail_bound: float
    nonnegative: bool | None

    def __repr__(self) -> str:
        degree = self.values.size - 1
        return (
            f"SphereCoefficients of degrees 0 to {degree} in d = {self.dim}: mass {self.mass:.6g}, "
            f"at most {self.tail_bound:.2g} beyond; nonnegative: {self.nonnegative}"
        )

    @property
    def mass(self) -> float:
        """Sum of N |lambda_n| over the computed degrees."""
        return float(np.sum(np.abs(self.values) * self.multiplicity))


def sphere_coefficients(kernel: Kernel | str, dim: int, degree: int = 40) -> SphereCoefficients:
    """Gegenbauer coefficients of a zonal kernel up to a degree, with errors and a tail bound.

    Parameters
    ----------
    kernel : Kernel or str
        A zonal kernel, or any kernel, which is then restricted to the unit sphere (z <= 2); or
        text that names one.
    dim : int
        d >= 2, the dimension of the space around the sphere.
    degree : int
        The largest degree n.

    Raises
    ------
    ParameterError
        Where ``dim`` or ``degree`` is outside its range.
    AccuracyError
        Where the integrals do not converge.

    Examples
    --------
    >>> from spectra.kernels.kernel import zonal
    >>> c = sphere_coefficients(zonal("1 - acos(u)/pi"), dim=3, degree=3)
    >>> (c.values.round(7) + 0.0).tolist(), c.nonnegative
    ([0.5, 0.125, 0.0, 0.0078125], True)
    """
    if isinstance(kernel, str):
        kernel = kernel_from_text(kernel)
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"Gegenbauer coefficients belong to a kernel, and got {type(kernel).__name__}: make "
            "one with zonal(...), radial(...) or catalogue[name]."
        )
    dim = checked_dim(dim, least=2)
    degree = whole_number(degree, "degree", least=0)
    if degree > MOST_DEGREES:
        raise ParameterError(
            f"Gegenbauer coefficients are integrated one by one in {_DIGITS} digits, up to degree "
            f"{MOST_DEGREES}, and {degree} was asked. What lies beyond is in the tail: ask "
            "existence(kernel, dim).on_sphere()."
        )
    with stage(f"expanding on the sphere, d = {dim}", of=kernel):
        exact, change = _coefficients(kernel, dim, degree)
    counts = [harmonic_count(n, dim) for n in range(degree + 1)]
    values = np.array([float(c) for c in exact])
    error = np.array([float(c) for c in change]) + np.finfo(float).eps * np.abs(values)
    if not np.all(np.isfinite(values)):
        raise AccuracyError(
            f"The coefficients of {kernel} are beyond double precision: divide the kernel by k(1)."
        )
    formula = kernel.zonal
    nonnegative = False if np.any(values < -error) else None
    tail = inf if formula is None else _bound_from_discs(formula, degree)
    if nonnegative is None and proved_on_sphere(kernel, dim) is not None:
        nonnegative = True
        shares = mp.fsum(n * c for n, c in zip(counts, exact, strict=True))
        slack = mp.fsum(n * c for n, c in zip(counts, change, strict=True))
        left = float(max(kernel.at_zero - shares, 0) + slack)
        tail = min(tail, left + np.finfo(float).eps * abs(kernel.at_zero))
    elif nonnegative is None and tail == 0.0:  # all coefficients of a polynomial are there
        nonnegative = True
    multiplicity = np.array([float(n) for n in counts])
    return SphereCoefficients(dim, values, error, multiplicity, tail, nonnegative)


def _bound_from_discs(formula: sympy.Expr, degree: int) -> float:
    """Bound of the shares beyond a degree, from the size of the formula on discs about u = 0.

    A bound M on |u| <= r gives M r^-j for the j-th Taylor coefficient (Cauchy), and the shares of
    u^j are nonnegative, of degree j at most, and add up to 1.
    """
    if formula.is_polynomial(U) and sympy.degree(formula, U) <= degree:
        return 0.0
    functions = all(f.func in _MEROMORPHIC for f in formula.atoms(sympy.Function))
    powers = [p for p in formula.atoms(sympy.Pow) if p.has(U)]
    if not functions or not all(p.exp.is_Integer or p.base.is_positive for p in powers):
        return inf
    value, best = BallFunction(formula, U), inf
    for radius in _RADII:
        middles = radius * (np.arange(0.5, _CELLS) / _CELLS * 2 - 1)
        half = flint.arb(0, radius / _CELLS)
        cells = [
            flint.acb(flint.arb(x) + half, flint.arb(y) + half)
            for x, y in product(middles, middles[middles > 0])  # the values below are conjugate
            if np.hypot(x, y) <= radius * (1 + 2 / _CELLS)
        ]
        largest = 0.0
        for cell in cells:
            size = abs(value(cell))
            if not size.is_finite():
                return best
            largest = max(largest, float(size.upper()))
        best = min(best, largest * radius**-degree / (radius - 1))
    return best


def _coefficients(kernel: Kernel, dim: int, degree: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """The coefficients and their changes between the last two levels of the tanh-sinh rule."""
    count = harmonic_count(degree, dim)
    digits = max(_DIGITS, _DIGITS_OF_SHARES + len(str(count)))
    with mp.workdps(digits + 10):
        angles = _singular_angles(kernel, digits)
        current, whole = [mp.mpf(0)] * (degree + 1), mp.mpf(0)
        for level in range(1, _MOST_LEVELS + 1):
            points, weights, measure = _weighted_values(kernel, dim, angles, level)
            added = _sum_polynomials(dim, degree, points, weights)
            previous, current = current, [c / 2 + a for c, a in zip(current, added, strict=True)]
            # In many dimensions all mass is at the equator, between the points of coarse rules.
            whole = whole / 2 + measure
            change = [abs(a - b) + abs(1 - whole) for a, b in zip(current, previous, strict=True)]
            size = max(abs(c) for c in (*current, mp.mpf(1)))
            if max(change) <= size * min(_TOLERANCE, mp.mpf(_TOLERANCE_OF_SHARES) / count):
                break
        if max(change) > _LARGEST_CHANGE * size:
            raise AccuracyError(
                f"The Gegenbauer integrals of {kernel} in d = {dim} differ by "
                f"{mp.nstr(max(change), 3)} between two rules: the formula is too rough on "
                "the sphere, or the degree too high."
            )
        # Rounding of the sums: the integrands are bounded by |k|, whatever the degree.
        floor = mp.mpf(10) ** (4 - digits) * (1 + abs(current[0]))
        return current, [c + floor for c in change]


def _singular_angles(kernel: Kernel, digits: int) -> list[mp.mpf]:
    """Angles from 0 to pi at which the kernel may not be smooth, both ends included."""
    angles = {mp.mpf(0), +mp.pi}
    for piece in kernel.pieces:
        upper = sympy.Min(piece.support, 2)
        try:
            radii = (*branch_radii(piece.expr, upper), upper)
        except ExpansionError as error:
            raise AccuracyError(f"{error}, and its coefficients cannot be integrated") from error
        inside = (r for r in radii if r.evalf(30) < 2)
        angles |= {2 * mp.asin(mp.mpf(str(r.evalf(digits))) / 2) for r in inside}
    return sorted(angles)


def _weighted_values(
    kernel: Kernel, dim: int, angles: list[mp.mpf], level: int
) -> tuple[list[mp.mpf], list[mp.mpf], mp.mpf]:
    """The points u that a level adds, the kernel there times their weights, and their measure."""
    functions = [
        (mp.inf if p.support is sympy.oo else mp.mpf(str(p.support.evalf(mp.dps))),
         mpmath_function(p.expr, Z))
        for p in kernel.pieces
    ]  # fmt: skip
    points: list[mp.mpf] = []
    weights: list[mp.mpf] = []
    whole = mp.mpf(0)
    norm = mp.sqrt(mp.pi) * mp.gammaprod([mp.mpf(dim - 1) / 2], [mp.mpf(dim) / 2]) * 2**level
    negligible = mp.mpf(10) ** (10 - mp.dps)
    for low, high in pairwise(angles):
        for theta, weight in _RULE.get_nodes(low, high, level, mp.prec):
            measure = weight * mp.sin(theta) ** (dim - 2) / norm
            if measure < negligible:
                continue
            z = 2 * mp.sin(theta / 2)
            value = mp.fsum(f(z) for support, f in functions if z <= support)
            if mp.isnan(value):
                raise AccuracyError(f"{kernel} has no value at the angle {mp.nstr(theta, 12)}.")
            points.append(mp.cos(theta))
            weights.append(measure * value)
            whole += measure
    return points, weights, whole


def _sum_polynomials(
    dim: int, degree: int, points: list[mp.mpf], weights: list[mp.mpf]
) -> list[mp.mpf]:
    """Sums of weight * P_n(u) up to a degree, by recurrence in fixed-point arithmetic."""
    one = 2 ** (mp.prec + 10)
    u, w = (np.array([int(x * one) for x in xs], dtype=object) for xs in (points, weights))
    here, following = np.full_like(u, one), u
    sums = []
    for n in range(degree + 1):
        sums.append(mp.mpf(int(w @ here)) / one**2)
        # (n + d - 1) P_{n+2} = (2n + d) u P_{n+1} - (n + 1) P_n
        upper = ((2 * n + dim) * u * following // one - (n + 1) * here) // (n + dim - 1)
        here, following = following, upper
    return sums
