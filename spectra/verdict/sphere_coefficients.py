r"""Gegenbauer (Schoenberg) coefficients of zonal kernels on the unit sphere, and their signs.

.. math:: k(u) = \sum_n \lambda_n N(n, d) P_n(u), \qquad
          \lambda_n = \frac{\int_0^\pi k(\cos\theta) P_n(\cos\theta) \sin^{d-2}\theta\,d\theta}
                           {\int_0^\pi \sin^{d-2}\theta\,d\theta}

with :math:`u = \langle x, y\rangle`, the Gegenbauer polynomials :math:`P_n` for R^d normalized to
:math:`P_n(1) = 1`, and N(n, d) the number of spherical harmonics of degree n in R^d.  The *shares*
N(n, d) lambda_n add up to k(1).  The kernel is positive definite on the sphere exactly if all
are nonnegative (I. J. Schoenberg, Positive definite functions on spheres, Duke Math. J. 9, 1942).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import inf

import flint
import numpy as np
import sympy
from mpmath import mp, mpf
from mpmath.calculus.quadrature import TanhSinh
from numpy.typing import NDArray

from spectra.base.harmonics import harmonic_count
from spectra.base.limits import check_time, stage
from spectra.base.numbers import checked_dim, whole_number
from spectra.definiteness import proved_on_sphere
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.ball_function import BallFunction
from spectra.formula.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.parsing import U, Z
from spectra.kernels.catalogue.reading import kernel_from_text
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import analytic_off_cuts, branch_radii

__all__ = ["SphereCoefficients", "sphere_coefficients"]

#: Least number of digits of the coefficients, and of the shares N lambda_n.
_DIGITS, _DIGITS_OF_SHARES = 40, 24
#: The largest degree: its integrals take about ten seconds, and the work grows with its square.
_LARGEST_DEGREE = 200
#: The most levels of the tanh-sinh rule, each of which halves the step; the change between the
#: last two, relative to max(1, |lambda_n|), above which the integrals are rejected.
_MOST_LEVELS, _LARGEST_CHANGE = 10, 1e-10
#: Larger values than 2 to this power have no integrals.
_LARGEST_BITS = 20_000
#: Changes between two levels at which the finer one is accepted: of coefficients, and of shares.
_TOLERANCE, _TOLERANCE_OF_SHARES = 1e-25, 1e-13
#: Radii r of the discs |u| <= r on which max |k| is computed, and square cells across a disc.
_RADII, _CELLS = (1.125, 1.25, 1.5, 2.0, 3.0, 5.0), 48
#: Cells are larger by this factor, so that rounding leaves no gaps between them.
_OVERLAP = 1 + 1e-9
_TANH_SINH = TanhSinh(mp)


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
        Bound of the sum of N |lambda_n| over n > degree (``inf`` if none is known).
    nonnegative : bool or None
        True if the coefficients of every degree are proved nonnegative (for polynomials, up to the
        errors); False if one is negative by more than its error; None otherwise.
    """

    dim: int
    values: NDArray[np.float64]
    error: NDArray[np.float64]
    multiplicity: NDArray[np.float64]
    tail_bound: float
    nonnegative: bool | None

    def __repr__(self) -> str:
        return (
            f"SphereCoefficients to degree {self.values.size - 1} in d = {self.dim}, mass "
            f"{self.mass:.6g} and at most {self.tail_bound:.2g}; nonnegative: {self.nonnegative}"
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
        A zonal kernel; any other kernel is restricted to the unit sphere (z <= 2).  Or text: a
        formula or a name of the catalogue.
    dim : int
        d >= 2 for the unit sphere in R^d.
    degree : int
        The largest degree n.

    Raises
    ------
    ParameterError
        If ``dim`` or ``degree`` is outside its range.
    AccuracyError
        If the integrals do not converge.

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
    if degree > _LARGEST_DEGREE:
        raise ParameterError(
            f"Gegenbauer coefficients are integrated one by one in {_DIGITS} digits, up to degree "
            f"{_LARGEST_DEGREE}, and {degree} was asked. Use a lower degree: tail_bound bounds the "
            "coefficients beyond it, and existence(kernel, dim).on_sphere() decides on all of them."
        )
    with stage(f"expanding on the sphere, d = {dim}", of=kernel):
        coefficients, errors = _coefficients(kernel, dim, degree)
    counts = [harmonic_count(n, dim) for n in range(degree + 1)]
    values = np.array([float(c) for c in coefficients])
    error = np.array([float(e) for e in errors]) + np.finfo(float).eps * np.abs(values)
    if not np.all(np.isfinite(values)):
        raise AccuracyError(
            f"The coefficients of {kernel} are beyond double precision: divide the kernel by k(1)."
        )
    formula = kernel.zonal
    nonnegative = False if np.any(values < -error) else None
    tail = inf if formula is None else _tail_bound_from_discs(formula, degree)
    if nonnegative is None and tail == 0.0:  # a polynomial: all its coefficients were computed
        nonnegative = True
    elif nonnegative is None and proved_on_sphere(kernel, dim) is not None:
        nonnegative = True
        # All shares are nonnegative and add up to k(1).
        shares = mp.fsum(n * c for n, c in zip(counts, coefficients, strict=True))
        shares_error = mp.fsum(n * e for n, e in zip(counts, errors, strict=True))
        remainder = float(max(kernel.at_zero - shares, 0) + shares_error)
        tail = min(tail, remainder + np.finfo(float).eps * abs(kernel.at_zero))
    multiplicity = np.array([float(n) for n in counts])
    return SphereCoefficients(dim, values, error, multiplicity, tail, nonnegative)


def _tail_bound_from_discs(formula: sympy.Expr, degree: int) -> float:
    """Bound the shares beyond a degree by the maximum of the formula on discs |u| <= r, r > 1.

    If |k| <= M on the disc, the j-th Taylor coefficient is at most M r^-j (Cauchy), and u^j has
    nonnegative shares of degrees up to j, which add up to 1.
    """
    if formula.is_polynomial(U) and sympy.degree(formula, U) <= degree:
        return 0.0
    conditions, bound = analytic_off_cuts(formula, U), inf
    if conditions is None:
        return inf
    function, *off_cuts = [BallFunction(part, U) for part in (formula, *conditions)]
    for radius in _RADII:
        maximum = _maximum_on_disc(function, off_cuts, radius)
        bound = min(bound, maximum * radius**-degree / (radius - 1))
        if maximum == inf:
            return bound
    return bound


def _maximum_on_disc(function: BallFunction, off_cuts: list[BallFunction], radius: float) -> float:
    """A bound of a formula on the disc |u| <= radius; inf unless it is proved analytic there."""
    centres = radius * (np.arange(0.5, _CELLS) / _CELLS * 2 - 1)
    half_width = flint.arb(0, radius / _CELLS * _OVERLAP)
    maximum = 0.0
    for x, y in product(centres, centres[centres > 0]):  # values at y < 0 are conjugate
        if np.hypot(x, y) > radius * (1 + 2 / _CELLS):
            continue
        cell = flint.acb(flint.arb(x) + half_width, flint.arb(y) + half_width)
        values = [part(cell) for part in off_cuts]
        size = abs(function(cell))
        if not size.is_finite() or any(v.imag.contains(0) and not v.real > 0 for v in values):
            return inf
        maximum = max(maximum, float(size.upper()))
    return maximum


def _coefficients(kernel: Kernel, dim: int, degree: int) -> tuple[list[mpf], list[mpf]]:
    """The coefficients and their changes between the last two levels of the tanh-sinh rule."""
    count = harmonic_count(degree, dim)
    digits = max(_DIGITS, _DIGITS_OF_SHARES + len(str(count)))
    with mp.workdps(digits + 10):
        angles = _singular_angles(kernel, digits)
        current, total_weight = [mpf(0)] * (degree + 1), mpf(0)
        for level in range(1, _MOST_LEVELS + 1):
            points, weighted_values, added_weight = _weighted_values(kernel, dim, angles, level)
            added = _sum_polynomials(dim, degree, points, weighted_values)
            # A level adds the points between those of the level before, and halves all weights.
            previous, current = current, [c / 2 + a for c, a in zip(current, added, strict=True)]
            # The exact total is 1.  For large d, coarse rules can miss the peak of sin^(d-2).
            total_weight = total_weight / 2 + added_weight
            missing = abs(1 - total_weight)
            change = [abs(a - b) + missing for a, b in zip(current, previous, strict=True)]
            size = max(abs(c) for c in (*current, mpf(1)))
            if max(change) <= size * min(_TOLERANCE, mpf(_TOLERANCE_OF_SHARES) / count):
                break
        if max(change) > _LARGEST_CHANGE * size:
            raise AccuracyError(
                f"Two rules for the Gegenbauer integrals of {kernel} in d = {dim} differ by "
                f"{mp.nstr(max(change), 3)}: the formula is too rough, or the degree too high."
            )
        # Since |P_n| <= 1, the rounding errors do not grow with the degree.
        rounding_error = mpf(10) ** (4 - digits) * (1 + abs(current[0]))
        return current, [c + rounding_error for c in change]


def _singular_angles(kernel: Kernel, digits: int) -> list[mpf]:
    """0, pi, and the angles theta between them at which the kernel may not be smooth."""
    angles = {mpf(0), +mp.pi}
    for piece in kernel.pieces:
        upper = sympy.Min(piece.support, 2)
        try:
            radii = (*branch_radii(piece.expr, upper), upper)
        except ExpansionError as error:
            raise AccuracyError(f"{error}, and the Gegenbauer integrals need them") from error
        inside = (r for r in radii if r.evalf(30) < 2)
        angles |= {2 * mp.asin(mpf(str(r.evalf(digits))) / 2) for r in inside}
    return sorted(angles)


def _weighted_values(
    kernel: Kernel, dim: int, angles: list[mpf], level: int
) -> tuple[list[mpf], list[mpf], mpf]:
    """The points u that a level adds, the kernel there times the weights, and the total weight."""
    functions = [
        (mp.inf if p.support is sympy.oo else mpf(str(p.support.evalf(mp.dps))),
         mpmath_function(p.expr, Z))
        for p in kernel.pieces
    ]  # fmt: skip
    points: list[mpf] = []
    weighted_values: list[mpf] = []
    total_weight = mpf(0)
    # The integral of sin^(d-2) over [0, pi], divided by the step 2^-level of the rule.
    norm = mp.sqrt(mp.pi) * mp.gammaprod([mpf(dim - 1) / 2], [mpf(dim) / 2]) * 2**level
    negligible = mpf(10) ** (10 - mp.dps)
    for low, high in pairwise(angles):
        for theta, node_weight in _TANH_SINH.get_nodes(low, high, level, mp.prec):
            check_time()
            weight = node_weight * mp.sin(theta) ** (dim - 2) / norm
            if weight < negligible:
                continue
            z = 2 * mp.sin(theta / 2)
            value = mp.fsum(f(z) for support, f in functions if z <= support)
            if mp.isnan(value) or mp.mag(value) > _LARGEST_BITS:
                raise AccuracyError(
                    f"{kernel} has no value, or one that is too large, at the angle "
                    f"{mp.nstr(theta, 12)}, so that its Gegenbauer integrals are unknown."
                )
            points.append(mp.cos(theta))
            weighted_values.append(weight * value)
            total_weight += weight
    return points, weighted_values, total_weight


def _sum_polynomials(dim: int, degree: int, points: list[mpf], values: list[mpf]) -> list[mpf]:
    """Sums of value * P_n(u) over the points u for n = 0, ..., degree."""
    one = 2 ** (mp.prec + 10)  # numbers are integers in units of 1/one, faster than mpmath's
    u, v = (np.array([int(x * one) for x in xs], dtype=object) for xs in (points, values))
    current, following = np.full_like(u, one), u  # P_n and P_{n+1}
    sums = []
    for n in range(degree + 1):
        check_time()
        sums.append(mpf(int(v @ current)) / one**2)
        # (n + d - 1) P_{n+2} = (2n + d) u P_{n+1} - (n + 1) P_n
        after = ((2 * n + dim) * u * following // one - (n + 1) * current) // (n + dim - 1)
        current, following = following, after
    return sums
