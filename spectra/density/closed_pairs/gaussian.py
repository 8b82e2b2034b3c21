r"""Gaussians times polynomials in z^2, and Gaussians times cosines.

With y = w^2/(4a) the density of a Gaussian times a polynomial is (DLMF 10.22.51)

.. math:: k(z) = e^{-a z^2} \sum_j c_j z^{2j}, \qquad
          \mu(w) = (4\pi a)^{-d/2} e^{-y} \sum_j c_j\,j!\,a^{-j} L_j^{(d/2-1)}(y).

Its parameter is a > 0; its coefficient is the polynomial.  A Gaussian times a cosine is a term of a
spectral mixture (Wilson and Adams 2013).  Its radial densities in dimensions 1 and 3 are, with
:math:`G(u) = (4\pi a)^{-1/2} e^{-u^2/(4a)}`,

.. math:: k(z) = c\,e^{-a z^2}\cos(bz), \quad \rho_1(w) = c\,(G(w-b) + G(w+b)), \quad
          \rho_3(w) = \frac{c\,w}{2a}\left((w-b)G(w-b) + (w+b)G(w+b)\right).

Its parameters are a > 0 and b > 0.
"""

from __future__ import annotations

import numpy as np
import sympy
from mpmath import mp
from numpy.polynomial.polynomial import polyval
from scipy.special import gammaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import (
    TAILS,
    ClosedPair,
    FamilyKernel,
    Summand,
    TermValues,
    W,
    canonical,
    positive_rate,
    to_mpf,
)
from spectra.formula.parsing import Z

__all__ = [
    "gaussian",
    "gaussian_formula",
    "gaussian_wave",
    "gaussian_wave_formula",
    "laguerre_sum",
    "read_gaussian",
    "read_gaussian_wave",
]

# A coefficient below this share of the largest, among numbers of 50 digits, is an exact zero.
_ZERO = 1e-40
# At this y - mode, exp(-y) underflows and the polynomial does not yet overflow.
_LARGEST_OFFSET = 1e10


def laguerre_sum(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> list[sympy.Expr]:
    """The sum over j of c_j j! a^-j L_j^(d/2-1)(y), as its coefficients of 1, y, y^2, ..."""
    c, h = sympy.Poly(polynomial, Z).all_coeffs()[::-2], sympy.Rational(dim, 2)
    scaled = [c_j / rate**j for j, c_j in enumerate(c)]
    rows = (
        (scaled[j] * sympy.binomial(j, i) * sympy.rf(h + i, j - i) for j in range(i, len(c)))
        for i in range(len(c))
    )
    return [(-1) ** i * sympy.Add(*row) for i, row in enumerate(rows)]


def read_gaussian(s: Summand, dim: int) -> list[FamilyKernel] | None:
    """Read c z^(2j) exp(-a z^2)."""
    is_even = s.power.is_integer and s.power >= 0 and s.power % 2 == 0
    if s.factors or s.linear != 0 or not s.quadratic.is_positive or not is_even:
        return None
    return [((s.quadratic,), s.coefficient * Z**s.power)]


def gaussian(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> ClosedPair:
    """The density of a Gaussian times a polynomial in z^2."""
    a, half = to_mpf(rate), mp.mpf(dim) / 2
    # w^(d-1) exp(-y) is largest at y = mode for d > 1; w and y are measured from there.
    mode = sympy.Rational(max(dim - 1, 1), 2)
    centre = float(2 * mp.sqrt(a * to_mpf(mode)))
    front = mp.log(2) - mp.loggamma(half) - mp.mpf(centre) ** 2 / (4 * a)
    front += (dim - 1) * mp.log(centre) - half * mp.log(4 * a)
    in_y, formula = laguerre_sum(dim, rate, polynomial), gaussian_formula(dim, rate, polynomial)
    # The polynomial in y - mode; sympy composes polynomials exactly if coefficients are rational.
    in_y = [q if q.is_Rational else sympy.Rational(q.evalf(mp.dps)) for q in in_y]
    in_offset = sympy.Poly(in_y[::-1], Z).compose(sympy.Poly(Z + mode, Z)).all_coeffs()[::-1]
    in_y, in_offset = ([to_mpf(q) for q in series] for series in (in_y, in_offset))
    first = next(i for i, q in enumerate(in_y) if abs(q) > _ZERO * max(map(abs, in_y)))
    scale, degree = max(map(abs, in_offset)), len(in_offset) - 1
    series = np.array([float(q / scale) for q in in_offset])
    quarter = float(1 / (4 * a))
    low, high = float(2 * mp.sqrt(a)) * np.sqrt(gammaincinv([dim / 2, dim / 2 + degree], TAILS))

    def values(w: FloatArray) -> TermValues:
        offset = (w - centre) * (w + centre) * quarter  # y - mode
        # log(w / centre), to relative accuracy in the bulk.
        x = (w - centre) / centre
        log = np.where(np.abs(x) < 0.5, np.log1p(np.maximum(x, -0.5)), np.log(w / centre))
        terms = (dim - 1.0) * log, -offset
        if degree == 0:
            return terms, series[0], 1.0, 0.0
        t = np.minimum(offset, _LARGEST_OFFSET)
        # The sum of absolute terms at |t| + 1 is not small at t = 0 or where the polynomial is 0.
        size = polyval(np.abs(t) + 1.0, np.abs(series))
        return terms, polyval(t, series), size, 4.0 * degree + 0.25 * dim

    return ClosedPair(
        gaussian, dim, (rate,), polynomial, formula, float(front + mp.log(scale)), values,
        origin_exponent=dim - 1.0 + 2.0 * first,
        bulk=(low, high),
        has_one_sign=degree == 0,
    )  # fmt: skip


def gaussian_formula(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> sympy.Expr:
    """mu(w) of a Gaussian times a polynomial in z^2, whose parameters may be symbols."""
    in_y, y = laguerre_sum(dim, rate, polynomial), W**2 / (4 * rate)
    front = (4 * sympy.pi * rate) ** -sympy.Rational(dim, 2) * sympy.exp(-y)
    return front * sympy.Poly(in_y[::-1], Z).eval(y)


def read_gaussian_wave(s: Summand, dim: int) -> list[FamilyKernel] | None:
    """Read c exp(-a z^2) cos(b z), for dim = 1 and 3."""
    is_gaussian = s.linear == 0 and s.power == 0 and s.quadratic.is_positive
    if dim not in (1, 3) or len(s.factors) != 1 or not is_gaussian:
        return None
    (wave,) = s.factors
    frequency = positive_rate(wave.args[0]) if isinstance(wave, sympy.cos) else None
    if frequency is None:
        return None
    return [((canonical(s.quadratic), canonical(frequency)), s.coefficient)]


def gaussian_wave(dim: int, rate: sympy.Expr, frequency: sympy.Expr, c: sympy.Expr) -> ClosedPair:
    """The density of a Gaussian times a cosine."""
    a, b, value = to_mpf(rate), to_mpf(frequency), to_mpf(c)
    front = mp.log(abs(value)) - mp.log(4 * mp.pi * a) / 2 - (mp.log(2 * a) if dim == 3 else 0)
    centre, width, quarter = float(b), float(mp.sqrt(2 * a)), float(1 / (4 * a))
    sign = float(mp.sign(value))
    formula = gaussian_wave_formula(dim, rate, frequency, c)

    def values(w: FloatArray) -> TermValues:
        u, ratio = w - centre, np.exp(-4.0 * quarter * centre * w)  # G(w + b) / G(w - b)
        exponent = quarter * u * u  # G(w - b) is proportional to exp(-exponent)
        # Rounding of b and w counts if the Gaussian is far narrower than b.
        roundings = 3.0 * exponent + quarter * np.abs(u) * w
        if dim == 1:
            return (-exponent,), sign * (1.0 + ratio), 1.0 + ratio, roundings
        second = (w + centre) * ratio
        size = np.abs(u) + width + second
        return (-exponent, np.log(w)), sign * (u + second), size, roundings + 0.25 * w / size

    return ClosedPair(
        gaussian_wave, dim, (rate, frequency), c, formula, float(front), values,
        origin_exponent=dim - 1.0,
        bulk=(max(centre - 3.0 * width, 0.0125 * width), centre + 3.0 * width),
        # Panels begin at a break, so they do not miss a narrow Gaussian there.
        breaks=((centre, 0.0),) if centre > 4.0 * width else (),
        has_one_sign=dim == 1,
    )  # fmt: skip


def gaussian_wave_formula(
    dim: int, rate: sympy.Expr, frequency: sympy.Expr, c: sympy.Expr
) -> sympy.Expr:
    """mu(w) of a Gaussian times a cosine, whose parameters may be symbols."""
    minus, plus = (
        sympy.exp(-((W + u) ** 2) / (4 * rate)) / sympy.sqrt(4 * sympy.pi * rate)
        for u in (-frequency, frequency)
    )
    if dim == 3:
        total = (W - frequency) * minus + (W + frequency) * plus
        return c * total / (8 * sympy.pi * rate * W)
    return c * (minus + plus) / 2
