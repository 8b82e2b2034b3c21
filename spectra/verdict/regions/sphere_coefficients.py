r"""Zonal kernels on the unit sphere itself: Gegenbauer (Schoenberg) coefficients and their signs.

.. math:: k(u) = \sum_n \lambda_n N(n, d) P_n(u), \qquad
          \lambda_n = \frac{\int_0^\pi k(\cos\theta) P_n(\cos\theta) \sin^{d-2}\theta\,d\theta}
                           {\int_0^\pi \sin^{d-2}\theta\,d\theta}

with :math:`P_n(1) = 1` and N(n, d) the number of spherical harmonics of degree n in R^d.  The
kernel is positive definite on the sphere exactly where every coefficient is nonnegative
(I. J. Schoenberg, Positive definite functions on spheres, Duke Math. J. 9, 1942).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim, whole_number
from spectra.base.special.harmonics import gegenbauer_sequence, harmonic_count
from spectra.errors import AccuracyError, ParameterError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import is_zero, sign
from spectra.formula.reader.parsing import U, Z
from spectra.kernels.catalogue.reading import kernel_from_text
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii
from spectra.singularities.definiteness import proved_on_sphere

__all__ = ["SphereCoefficients", "sphere_coefficients"]

_DIGITS = 40
#: The largest degree: its integrals take some ten seconds, and the work grows with its square.
MOST_DEGREES = 200
#: Abscissae of the tanh-sinh rule reach to this, where the weight is below 10**-_DIGITS.
_REACH = 4.4
#: Levels of the rule; each halves the step.
_LEVELS = (5, 6, 7, 8)
#: Half-waves of P_n on a panel: the rule resolves them at the second of its levels.
_WAVES = 40
#: The difference of two levels at which the finer one is accepted.
_TOLERANCE = 1e-25


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
    >>> c.values.round(7).tolist(), c.nonnegative
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
    multiplicity = np.array([float(n) for n in counts])
    formula = kernel.zonal
    negative = bool(np.any(values < -error))
    proved = not negative and proved_on_sphere(kernel, dim) is not None
    polynomial = formula is not None and formula.is_polynomial(U)
    nonnegative: bool | None = None
    tail = float("inf")
    if proved:
        nonnegative = True
        with mp.workdps(_DIGITS):
            shares = mp.fsum(n * c for n, c in zip(counts, exact, strict=True))
            slack = mp.fsum(n * c for n, c in zip(counts, change, strict=True))
            left = mp.mpf(kernel.at_zero) - shares
            tail = float(max(left, 0) + slack) + np.finfo(float).eps * abs(kernel.at_zero)
    if polynomial and formula is not None and sympy.degree(formula, U) <= degree:
        tail = 0.0
        nonnegative = True if proved else _all_nonnegative(formula, dim, degree)
    if negative:
        nonnegative = False
    return SphereCoefficients(dim, values, error, multiplicity, tail, nonnegative)


def _coefficients(kernel: Kernel, dim: int, degree: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """The coefficients and their changes between the last two levels of the rule."""
    with mp.workdps(_DIGITS):
        panels = _short(_panels(kernel), degree)
        previous: list[mp.mpf] | None = None
        change: list[mp.mpf] = []
        for level in _LEVELS:
            current = _integrals(kernel, dim, degree, panels, level)
            if previous is not None:
                change = [abs(a - b) for a, b in zip(current, previous, strict=True)]
                if max(change) <= _TOLERANCE * max(abs(c) for c in (*current, mp.mpf(1))):
                    break
            previous = current
        else:
            if max(change) > mp.mpf("1e-10"):
                raise AccuracyError(
                    f"The Gegenbauer integrals of {kernel} in d = {dim} differ by "
                    f"{mp.nstr(max(change), 3)} between two rules: the formula is too rough on "
                    "the sphere, or the degree too high."
                )
        # Rounding of the sums: the integrands are bounded by |k|, whatever the degree.
        floor = mp.mpf(10) ** (4 - _DIGITS) * (1 + abs(current[0]))
        return current, [c + floor for c in change]


def _panels(kernel: Kernel) -> list[mp.mpf]:
    """Angles at which the kernel may not be smooth, from 0 to pi."""
    angles = {mp.mpf(0), +mp.pi}
    for piece in kernel.pieces:
        upper = sympy.Min(piece.support, 2)
        for r in (*branch_radii(piece.expr, upper), upper):
            if r.evalf(30) < 2:
                angles.add(2 * mp.asin(_radius(r) / 2))
    return sorted(angles)


def _short(angles: list[mp.mpf], degree: int) -> list[mp.mpf]:
    """The panels, cut into parts on each of which P_n oscillates only a few times."""
    out = angles[:1]
    for low, high in pairwise(angles):
        parts = 1 + int(degree * (high - low) / mp.pi) // _WAVES
        out += [low + (high - low) * i / parts for i in range(1, parts)]
        out.append(high)
    return out


def _radius(r: sympy.Expr) -> mp.mpf:
    return mp.inf if r is sympy.oo else mp.mpf(str(r.evalf(_DIGITS)))


def _integrals(
    kernel: Kernel, dim: int, degree: int, panels: list[mp.mpf], level: int
) -> list[mp.mpf]:
    """The coefficients by the tanh-sinh rule on each panel of the angle."""
    functions = [(_radius(p.support), mpmath_function(p.expr, Z)) for p in kernel.pieces]
    step = mp.mpf(2) ** -level
    totals = [mp.mpf(0)] * (degree + 1)
    norm = mp.sqrt(mp.pi) * mp.gammaprod([mp.mpf(dim - 1) / 2], [mp.mpf(dim) / 2])
    for low, high in pairwise(panels):
        half = (high - low) / 2
        for i in range(-int(_REACH / step), int(_REACH / step) + 1):
            x = i * step
            stretched = mp.pi / 2 * mp.sinh(x)
            edge = half / (mp.exp(abs(stretched)) * mp.cosh(stretched))  # to the nearer end
            theta = low + edge if x < 0 else high - edge
            weight = half * mp.pi / 2 * mp.cosh(x) / mp.cosh(stretched) ** 2 * step
            far = mp.sin(edge) if x > 0 and high == panels[-1] else mp.sin(theta)
            measure = weight * far ** (dim - 2) / norm
            if measure < mp.mpf(10) ** (-2 * _DIGITS):
                continue
            value = _value(functions, theta)
            if mp.isnan(value):
                with mp.workdps(3 * _DIGITS):  # an abscissa that rounding has put on the end
                    value = _value(functions, low + edge if x < 0 else high - edge)
            if mp.isnan(value):
                raise AccuracyError(f"{kernel} has no value at the angle {mp.nstr(theta, 12)}.")
            _add_polynomials(totals, dim, mp.cos(theta), measure * value)
    return totals


def _value(functions: list[tuple[mp.mpf, Callable[[mp.mpf], mp.mpf]]], angle: mp.mpf) -> mp.mpf:
    z = 2 * mp.sin(angle / 2)
    return mp.fsum(f(z) for support, f in functions if z <= support)


def _add_polynomials(totals: list[mp.mpf], dim: int, u: mp.mpf, weight: mp.mpf) -> None:
    """Add weight * P_n(u) to each total."""
    for n, value in enumerate(islice(gegenbauer_sequence(dim, u), len(totals))):
        totals[n] += weight * value


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
