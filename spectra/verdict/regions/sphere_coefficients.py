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
from numpy.typing import NDArray

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim, whole_number
from spectra.base.special.harmonics import harmonic_count
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
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
#: Levels of the tanh-sinh rule; each halves the step.
_LEVELS = (5, 6, 7, 8)
#: Half-waves of P_n on a panel: the rule resolves them at the second of its levels.
_WAVES = 40
#: Differences of two levels at which the finer one is accepted: of coefficients and of shares.
_TOLERANCE, _TOLERANCE_OF_SHARES = 1e-25, 1e-13
#: The largest difference of the two finest levels, relative to the coefficients.
_LARGEST_CHANGE = 1e-10
#: Functions with no singularities but poles, and discs on which formulas of them are bounded.
_MEROMORPHIC = (
    *(sympy.exp, sympy.sin, sympy.cos, sympy.tan, sympy.sinh, sympy.cosh, sympy.tanh),
    *(sympy.erf, sympy.erfc),
)
_RADII, _CELLS = (1.125, 1.25, 1.5, 2.0, 3.0, 5.0), 48


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
        True where all coefficients, of every degree, are proved nonnegative; False where one is
        negative beyond its error; None otherwise.
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
        """Sum of N |lambda_n| over the degrees that are here."""
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
    is_polynomial = formula is not None and formula.is_polynomial(U)
    negative = bool(np.any(values < -error))
    proved = not negative and proved_on_sphere(kernel, dim) is not None
    nonnegative = False if negative else True if proved else None
    tail = inf if formula is None else _bound_from_discs(formula, degree)
    if proved:
        shares = mp.fsum(n * c for n, c in zip(counts, exact, strict=True))
        slack = mp.fsum(n * c for n, c in zip(counts, change, strict=True))
        left = float(max(kernel.at_zero - shares, 0) + slack)
        tail = min(tail, left + np.finfo(float).eps * abs(kernel.at_zero))
    if is_polynomial and sympy.degree(formula, U) <= degree:
        tail = 0.0
        if nonnegative is None:
            nonnegative = _all_nonnegative(formula, dim, degree)
    multiplicity = np.array([float(n) for n in counts])
    return SphereCoefficients(dim, values, error, multiplicity, tail, nonnegative)


def _bound_from_discs(formula: sympy.Expr, degree: int) -> float:
    """Bound of the shares beyond a degree, from the size of the formula on discs about u = 0.

    A bound M on |u| <= r gives M r^-j for the j-th Taylor coefficient (Cauchy), and the shares of
    u^j are nonnegative, of degree j at most, and add up to 1.
    """
    functions = all(f.func in _MEROMORPHIC for f in formula.atoms(sympy.Function))
    powers = (p for p in formula.atoms(sympy.Pow) if p.has(U))
    if not functions or any(
        not (p.exp.is_Integer or (p.base.is_positive and not p.base.has(U))) for p in powers
    ):
        return inf
    value, best = BallFunction(formula, U), inf
    for radius in _RADII:
        largest = 0.0
        middles = radius * (np.arange(0.5, _CELLS) / _CELLS * 2 - 1)
        half = flint.arb(0, radius / _CELLS)
        for x, y in product(middles, middles[middles > 0]):  # the values below are conjugate
            if np.hypot(x, y) - 2 * radius / _CELLS > radius:
                continue
            size = abs(value(flint.acb(flint.arb(x) + half, flint.arb(y) + half)))
            if not size.is_finite():
                return best
            largest = max(largest, float(size.upper()))
        best = min(best, largest * radius**-degree / (radius - 1))
    return best


def _coefficients(kernel: Kernel, dim: int, degree: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """The coefficients and their changes between the last two levels of the rule."""
    count = harmonic_count(degree, dim)
    digits = max(_DIGITS, _DIGITS_OF_SHARES + len(str(count)))
    with mp.workdps(digits + 10):
        panels = _short(_panels(kernel, dim, digits), degree)
        previous: list[mp.mpf] | None = None
        for level in _LEVELS:
            current = _integrals(kernel, dim, degree, panels, mp.mpf(2) ** -level)
            if previous is not None:
                change = [abs(a - b) for a, b in zip(current, previous, strict=True)]
                size = max(abs(c) for c in (*current, mp.mpf(1)))
                if max(change) <= size * min(_TOLERANCE, mp.mpf(_TOLERANCE_OF_SHARES) / count):
                    break
            previous = current
        if max(change) > _LARGEST_CHANGE * size:
            raise AccuracyError(
                f"The Gegenbauer integrals of {kernel} in d = {dim} differ by "
                f"{mp.nstr(max(change), 3)} between two rules: the formula is too rough on "
                "the sphere, or the degree too high."
            )
        # Rounding of the sums: the integrands are bounded by |k|, whatever the degree.
        floor = mp.mpf(10) ** (4 - digits) * (1 + abs(current[0]))
        return current, [c + floor for c in change]


def _panels(kernel: Kernel, dim: int, digits: int) -> list[mp.mpf]:
    """Angles from 0 to pi at which the kernel may not be smooth, or the weight is negligible."""
    angles = {mp.mpf(0), +mp.pi}
    width = mp.sqrt(2 * digits * mp.ln10 / (dim - 1))  # sin^(d-2) is as exp(-(d - 2) t^2/2)
    if width < 1:
        angles |= {mp.pi / 2 - width, mp.pi / 2 + width}
    for piece in kernel.pieces:
        upper = sympy.Min(piece.support, 2)
        try:
            radii = (*branch_radii(piece.expr, upper), upper)
        except ExpansionError as error:
            raise AccuracyError(f"{error}, and its coefficients cannot be integrated") from error
        inside = (r for r in radii if r.evalf(30) < 2)
        angles |= {2 * mp.asin(mp.mpf(str(r.evalf(digits))) / 2) for r in inside}
    return sorted(angles)


def _short(angles: list[mp.mpf], degree: int) -> list[mp.mpf]:
    """The panels, cut into parts on each of which P_n oscillates only a few times."""
    out = angles[:1]
    for low, high in pairwise(angles):
        parts = 1 + int(degree * (high - low) / mp.pi) // _WAVES
        out += [low + (high - low) * i / parts for i in range(1, parts)]
        out.append(high)
    return out


def _integrals(
    kernel: Kernel, dim: int, degree: int, panels: list[mp.mpf], step: mp.mpf
) -> list[mp.mpf]:
    """The coefficients by the tanh-sinh rule on each panel of the angle."""
    functions = [
        (mp.inf if p.support is sympy.oo else mp.mpf(str(p.support.evalf(mp.dps))),
         mpmath_function(p.expr, Z))
        for p in kernel.pieces
    ]  # fmt: skip
    points: list[mp.mpf] = []
    weights: list[mp.mpf] = []
    norm = mp.sqrt(mp.pi) * mp.gammaprod([mp.mpf(dim - 1) / 2], [mp.mpf(dim) / 2])
    negligible = mp.mpf(10) ** (10 - mp.dps)
    last = int(mp.asinh(mp.dps * mp.ln10 / mp.pi) / step)
    for low, high in pairwise(panels):
        half = (high - low) / 2
        for i in range(-last, last + 1):
            stretched = mp.pi / 2 * mp.sinh(i * step)
            edge = half / (mp.exp(abs(stretched)) * mp.cosh(stretched))  # to the nearer end
            theta = low + edge if i < 0 else high - edge
            weight = half * mp.pi / 2 * mp.cosh(i * step) / mp.cosh(stretched) ** 2 * step
            measure = weight * mp.sin(theta) ** (dim - 2) / norm
            if measure < negligible:
                continue
            z = 2 * mp.sin(theta / 2)
            value = mp.fsum(f(z) for support, f in functions if z <= support)
            if mp.isnan(value):
                raise AccuracyError(f"{kernel} has no value at the angle {mp.nstr(theta, 12)}.")
            points.append(mp.cos(theta))
            weights.append(measure * value)
    return _sum_polynomials(dim, degree, points, weights)


def _sum_polynomials(
    dim: int, degree: int, points: list[mp.mpf], weights: list[mp.mpf]
) -> list[mp.mpf]:
    """Sums of weight * P_n(u) up to a degree, by the recurrence of P_n in multiples of a unit."""
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


def _all_nonnegative(formula: sympy.Expr, dim: int, degree: int) -> bool | None:
    """Signs of the coefficients of a polynomial, exactly: u P_n has nonnegative ones itself."""
    vector = [sympy.Integer(0)] * (degree + 2)
    for c in sympy.Poly(formula, U).all_coeffs():  # Horner's scheme in the basis N(n,d)^0 P_n
        shifted = [sympy.Integer(0)] * (degree + 2)
        for n, x in enumerate(vector[: degree + 1]):
            if x == 0:
                continue
            up = sympy.Rational(n + dim - 2, 2 * n + dim - 2) if n else sympy.Integer(1)
            shifted[n + 1] += x * up
            if n:
                shifted[n - 1] += x * (1 - up)
        shifted[0] += c
        vector = shifted
    return all(is_zero(x) or sign(x) > 0 for x in vector)
