"""Spectral densities of the problems in closed form, to fifty digits, at every radius.

Nothing here is shared with the toolkit: Gamma, Bessel and hypergeometric functions of mpmath, and
the trapezoidal rule where a density is a mixture or an inverse Mellin transform.  The closed
forms that the table of problems knows are used as they stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import mpmath
import pytest
from mpmath import mp

from tests.oracles.kernels.problems import PROBLEMS

#: mu(w) on R^d, ``density(w, d)``, as in the table of problems.
Density = Callable[[Any, int], Any]

# Sums of the powers of one polynomial cancel on a ball: by w^-8 at the edge of the smoothest one.
DIGITS = 70


# --- families -------------------------------------------------------------------------------------


def _number(x: Any) -> Any:
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


def _gaussian(*coefficients: Any, rate: Any = Fraction(1, 2)) -> Density:
    """sum_j c_j z^(2j) exp(-a z^2): Laguerre polynomials times a Gaussian."""

    def density(w: Any, d: int) -> Any:
        a, half = _number(rate), mp.mpf(d) / 2
        x = w * w / (4 * a)
        total = mp.fsum(
            _number(c) * a**-j * mp.rf(half, j) * mp.hyp1f1(-j, half, x)
            for j, c in enumerate(coefficients)
        )
        return (4 * mp.pi * a) ** -half * mp.exp(-x) * total

    return density


def _matern(nu: str, length: str = "1") -> Density:
    """The multivariate t of 2 nu degrees of freedom."""

    def density(w: Any, d: int) -> Any:
        n, half = mp.mpf(nu), mp.mpf(d) / 2
        square = 2 * n / mp.mpf(length) ** 2
        front = mp.gamma(n + half) / (mp.gamma(n) * mp.pi**half)
        return front * square**n * (square + w * w) ** -(n + half)

    return density


def _rational_quadratic(alpha: str, square: str) -> Density:
    """(1 + z^2/b^2)^-alpha by the integral of its Gaussians, which is a Bessel function K."""

    def density(w: Any, d: int) -> Any:
        a, b, half = mp.mpf(alpha), mp.sqrt(mp.mpf(square)), mp.mpf(d) / 2
        front = 2 ** (1 - a) / mp.gamma(a) * b**d * (2 * mp.pi) ** -half
        return front * (b * w) ** (a - half) * mp.besselk(half - a, b * w)

    return density


def stable(power: Fraction) -> Density:
    """exp(-z^p), 0 < p < 2, by its Mellin transform Gamma(s/p)/p on the line of least growth.

    2 pi^(d/2) w^d mu(w) = 1/(2 pi i) int Gamma(1+s/p)/Gamma(1+s/2) Gamma((d-s)/2) (w/2)^s ds
    """
    flint = pytest.importorskip("flint")

    def exact(w: Any, d: int) -> Any:
        p, half = flint.fmpq(power.numerator, power.denominator), flint.fmpq(1, 2)
        log_half_w = flint.arb(float(w)).log() - flint.arb(2).log()

        def integrand(s: Any) -> Any:
            # Gamma(s/p)/Gamma(s/2) = (p/2) Gamma(1 + s/p)/Gamma(1 + s/2) has no pole at s = 0.
            logs = (1 + s / p).lgamma() - (1 + s * half).lgamma() + ((d - s) * half).lgamma()
            return logs + s * log_half_w

        def size(line: float) -> float:
            return float(integrand(flint.acb(line)).real)

        # Poles are at least 0.5 away from the line, so that the rule leaves exp(-pi / step).
        line = _least(size, 0.5 - float(power), d - 0.6)
        step, top = 0.046875, integrand(flint.acb(line))
        total, n = flint.acb(0.5), 1
        while True:
            term = (integrand(flint.acb(line, n * step)) - top).exp()
            total += term
            if float(abs(term)) < 1e-33:
                break
            n += 1
        front = mp.mpf(step) / (2 * mp.pi) * w**-d * mp.pi ** (-mp.mpf(d) / 2)
        return front * _mpf((top.exp() * total).real)

    def density(w: Any, d: int) -> Any:
        with flint.ctx.workprec(160):
            return exact(w, d)

    return density


def _mpf(ball: Any) -> Any:
    mantissa, exponent = ball.mid().man_exp()
    return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function is least, as nearly as the rule needs."""
    golden = 0.6180339887498949
    while high - low > 0.05:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if function(a) < function(b) else (a, high)
    return 0.5 * (low + high)


def shifted_inverse(w: Any, d: int) -> Any:
    """1/(1 + z), the integral of exp(-t - t z): the trapezoidal rule for t = exp(s)."""
    half, step = mp.mpf(d + 1) / 2, mp.mpf(1) / 30
    # The integrand is analytic for |Im s| < pi/2, and it falls like exp(2 s) below log w.
    first = int(mp.floor((min(mp.log(w), 0) - 55) / step))
    total = mp.mpf(0)
    for i in range(first, int(5 / step)):
        t = mp.exp(i * step)
        total += t * t * mp.exp(-t) / (t * t + w * w) ** half
    return mp.gamma(half) / mp.pi**half * step * total


def _plane_wave(m: str, radius: str, mass: str = "1") -> Density:
    """The sphere |w| = r of R^m seen in R^d: the square of w/r has a beta law; none for d >= m."""

    def density(w: Any, d: int) -> Any:
        r, rest = mp.mpf(radius), (mp.mpf(m) - d) / 2
        if w >= r or rest <= 0:
            return mp.mpf(0)
        half = mp.mpf(d) / 2
        area = 2 * mp.pi**half / mp.gamma(half)
        radial = 2 * r**-d * (1 - (w / r) ** 2) ** (rest - 1) / mp.beta(half, rest)
        return mp.mpf(mass) * radial / area

    return density


def _ball(terms: Callable[[], Sequence[tuple[Any, Any]]], radius: Any = 1) -> Density:
    """sum_m c_m (z/R)^m on z <= R: each power is a 1F2."""

    def density(w: Any, d: int) -> Any:
        r, half = _number(radius), mp.mpf(d) / 2
        front = r**d / (2 ** (d - 1) * mp.pi**half * mp.gamma(half))
        x = -((r * w) ** 2) / 4
        return front * mp.fsum(
            _number(c) / (d + m) * mp.hyp1f2(mp.mpf(d + m) / 2, half, mp.mpf(d + m + 2) / 2, x)
            for m, c in terms()
        )

    return density


def _polynomial(*coefficients: Any) -> Callable[[], Sequence[tuple[Any, Any]]]:
    return lambda: [(m, c) for m, c in enumerate(coefficients) if c != 0]


def _times_power(n: int, coefficients: Sequence[Any]) -> list[Any]:
    """The coefficients of (1 - z)^n times a polynomial, constant first."""
    return [
        sum((-1) ** (m - j) * comb(n, m - j) * c for j, c in enumerate(coefficients[: m + 1]))
        for m in range(n + len(coefficients))
    ]


def _askey(power: str, radius: str = "1") -> Density:
    """(1 - z/R)^a on z <= R, a = any power: its moments are beta functions, so a 1F2 as well."""

    def density(w: Any, d: int) -> Any:
        a, r, half = mp.mpf(power), mp.mpf(radius), mp.mpf(d) / 2
        front = 2 * r**d / (2**d * mp.pi**half * mp.gamma(half)) * mp.beta(d, a + 1)
        lower = (d + a + 1) / 2
        return front * mp.hyp1f2(
            mp.mpf(d + 1) / 2, lower, lower + mp.mpf(1) / 2, -((r * w) ** 2) / 4
        )

    return density


def _cosine_fourth() -> list[tuple[int, Any]]:
    """cos(pi z/2)^4 = 3/8 + cos(pi z)/2 + cos(2 pi z)/8 in powers of z, to the last digit."""
    out, m = [(0, mp.mpf(1))], 2
    while True:
        size = mp.pi**m / mp.factorial(m)
        if size * 2**m < mp.mpf(10) ** -DIGITS:
            return out
        out.append((m, (-1) ** (m // 2) * size * (mp.mpf(1) / 2 + mp.mpf(2) ** m / 8)))
        m += 2


def _sum(*parts: tuple[Any, Density]) -> Density:
    return lambda w, d: mp.fsum(_number(c) * f(w, d) for c, f in parts)


_WENDLAND = (  # (1 - z)^n times a polynomial
    (2, (1,)),
    (4, (1, 4)),
    (6, (1, 6, Fraction(35, 3))),
    (8, (1, 8, 25, 32)),
)

_FORMULAS: dict[str, Density] = {
    "matern_0.1": _matern("0.1"),
    "matern_1": _matern("1", "2"),
    "matern_3/2": _matern("1.5"),
    "matern_5/2_typed": _matern("2.5"),
    "matern_50": _matern("50"),
    "rational_quadratic_1/2": _rational_quadratic("0.5", "1"),
    "rational_quadratic_3": _rational_quadratic("3", "24"),
    "cauchy": _rational_quadratic("1", "1"),
    "stable_3/2": stable(Fraction(3, 2)),
    "gaussian_minus_laplace": _sum((1, _gaussian(1)), (Fraction(-3, 10), _matern("0.5"))),
    "laguerre": _gaussian(1, -1),
    "quartic_gaussian": _gaussian(1, -1, Fraction(1, 8)),
    "gaussian_minus_constant": _gaussian(1),
    "cosine": _plane_wave("1", "1"),
    "sinc": _plane_wave("3", "1"),
    "bessel_j0": _plane_wave("2", "2"),
    "j_bessel_16": _plane_wave("16", "5"),
    "j_bessel_9/2": _plane_wave("4.5", "1"),
    "sinc_minus_cosine": _plane_wave("3", "1"),
    "spherical_polynomial_3_1": _ball(_polynomial(1, 0, Fraction(-4, 9)), 2),
    "spherical_polynomial_4_10": _ball(
        lambda: [(2 * j, Fraction((-1) ** j * comb(10, j), 4**j)) for j in range(11)], 2
    ),
    "askey_1": _askey("1"),
    "askey_2": _askey("2"),
    "askey_3/2": _askey("1.5"),
    # (1 - z)^(9/2) (1 + 9z/2)
    "generalized_wendland_7/2_1": _sum(
        (Fraction(11, 2), _askey("4.5")), (Fraction(-9, 2), _askey("5.5"))
    ),
    "cosine_fourth_on_a_ball": _ball(_cosine_fourth),
    **{
        f"wendland_3{k}": _ball(_polynomial(*_times_power(n, other)), 2)
        for k, (n, other) in enumerate(_WENDLAND)
    },
    "cancelling_edge": _ball(_polynomial(-1, 2, -1)),
    "two_radii": _sum((1, _askey("2")), (Fraction(-1, 2), _askey("2", "2"))),
    "ball_and_gaussian": _sum((1, _ball(_polynomial(1, 0, -1))), (-1, _gaussian(1, rate=1))),
    "shifted_inverse": shifted_inverse,
    "zero": lambda w, d: mp.mpf(0),
    "constant": lambda w, d: mp.mpf(0),
}


@cache
def exact_radial(name: str, dim: int, w: float) -> Any:
    """rho(w) = S_{d-1} w^(d-1) mu(w) of a problem, in :data:`DIGITS` digits, away from its atoms.

    Raises
    ------
    KeyError
        For a problem without a density.
    """
    with mpmath.workdps(DIGITS):
        # Other formulas are in the table of problems.
        density = _FORMULAS.get(name) or PROBLEMS[name].density
        if density is None:
            raise KeyError(name)
        half, x = mp.mpf(dim) / 2, mp.mpf(w)
        area = 2 * mp.pi**half / mp.gamma(half)
        return +(area * x ** (dim - 1) * density(x, dim))
