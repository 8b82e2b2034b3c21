r"""Gaussians times polynomials in z^2, and Gaussians times waves.

With y = w^2/(4a) the transform of a Gaussian times a polynomial is (DLMF 10.22.51)

.. math:: k(z) = e^{-a z^2} \sum_j c_j z^{2j}, \qquad
          \mu(w) = (4\pi a)^{-d/2} e^{-y} \sum_j c_j\,j!\,a^{-j} L_j^{(d/2-1)}(y).

Its parameter is a > 0; its coefficient is the polynomial.  A Gaussian times a wave is a term of a
spectral mixture (Wilson and Adams 2013).  With :math:`G(u) = (4\pi a)^{-1/2} e^{-u^2/(4a)}`,

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
from spectra.density.closed_pairs.pair import TAILS, ClosedPair, Term, Values, W
from spectra.density.closed_pairs.summands import Summand, positive_rate, tidy, to_mpf
from spectra.formula.reader.parsing import Z

__all__ = ["gaussian", "gaussian_wave", "laguerre_sum", "read_gaussian", "read_gaussian_wave"]

# A sum of 50-digit terms that is smaller than this share of them is an exact zero.
_ZERO = 1e-40
# exp(-y) underflows at this y, and a polynomial in y does not overflow.
_LARGEST_OFFSET = 1e10


def laguerre_sum(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> list[sympy.Expr]:
    """The coefficients of the sum of Laguerre polynomials in y, ascending."""
    c, h = sympy.Poly(polynomial, Z).all_coeffs()[::-2], sympy.Rational(dim, 2)
    scaled = [c_j / rate**j for j, c_j in enumerate(c)]
    rows = (
        (scaled[j] * sympy.binomial(j, i) * sympy.rf(h + i, j - i) for j in range(i, len(c)))
        for i in range(len(c))
    )
    return [(-1) ** i * sympy.Add(*row) for i, row in enumerate(rows)]


def read_gaussian(s: Summand, dim: int) -> list[Term] | None:
    """z^(2j) exp(-a z^2)."""
    is_even = s.power.is_integer and s.power >= 0 and s.power % 2 == 0
    if s.factors or s.linear != 0 or not s.quadratic.is_positive or not is_even:
        return None
    return [((s.quadratic,), s.coefficient * Z**s.power)]


def gaussian(dim: int, rate: sympy.Expr, polynomial: sympy.Expr) -> ClosedPair:
    """That of a Gaussian times a polynomial."""
    a, half = to_mpf(rate), mp.mpf(dim) / 2
    middle = sympy.Rational(max(dim - 1, 1), 2)
    centre = float(2 * mp.sqrt(a * to_mpf(middle)))
    front = mp.log(2) - mp.loggamma(half) - mp.mpf(centre) ** 2 / (4 * a)
    front += (dim - 1) * mp.log(centre) - half * mp.log(4 * a)
    powers, y = laguerre_sum(dim, rate, polynomial), W**2 / (4 * rate)
    formula = (4 * sympy.pi * rate) ** -sympy.Rational(dim, 2) * sympy.exp(-y)
    formula *= sympy.Poly(powers[::-1], Z).eval(y)
    # Polynomials with rational coefficients are moved fast and exactly.
    powers = [q if q.is_Rational else sympy.Rational(q.evalf(mp.dps)) for q in powers]
    moved = sympy.Poly(powers[::-1], Z).compose(sympy.Poly(Z + middle, Z)).all_coeffs()[::-1]
    exact, moved = ([to_mpf(q) for q in each] for each in (powers, moved))
    first = next(i for i, q in enumerate(exact) if abs(q) > _ZERO * max(map(abs, exact)))
    scale, degree = max(map(abs, moved)), len(moved) - 1
    at_centre = np.array([float(q / scale) for q in moved])
    quarter = float(1 / (4 * a))
    low, high = float(2 * mp.sqrt(a)) * np.sqrt(gammaincinv([dim / 2, dim / 2 + degree], TAILS))

    def values(w: FloatArray) -> Values:
        offset = (w - centre) * (w + centre) * quarter
        # The logarithm is small, and exact to its last digits, in the bulk.
        x = (w - centre) / centre
        log = np.where(np.abs(x) < 0.5, np.log1p(np.maximum(x, -0.5)), np.log(w / centre))
        terms = (dim - 1.0) * log, -offset
        if degree == 0:
            return terms, at_centre[0], 1.0, 0.0
        t = np.minimum(offset, _LARGEST_OFFSET)
        # The size at one unit of y farther out is not small at a zero.
        size = polyval(np.abs(t) + 1.0, np.abs(at_centre))
        return terms, polyval(t, at_centre), size, 4.0 * degree + 0.25 * dim

    return ClosedPair(
        gaussian, dim, (rate,), polynomial, formula, float(front + mp.log(scale)), values,
        origin_exponent=dim - 1.0 + 2.0 * first,
        bulk=(low, high),
        has_one_sign=degree == 0,
    )  # fmt: skip


def read_gaussian_wave(s: Summand, dim: int) -> list[Term] | None:
    """exp(-a z^2) cos(b z) in d = 1 and 3."""
    if (
        dim not in (1, 3)
        or len(s.factors) != 1
        or s.linear != 0
        or s.power != 0
        or not s.quadratic.is_positive
    ):
        return None
    (wave,) = s.factors
    frequency = positive_rate(wave.args[0]) if isinstance(wave, sympy.cos) else None
    return None if frequency is None else [((tidy(s.quadratic), tidy(frequency)), s.coefficient)]


def gaussian_wave(dim: int, rate: sympy.Expr, frequency: sympy.Expr, c: sympy.Expr) -> ClosedPair:
    """That of a Gaussian times a cosine."""
    a, b, value = to_mpf(rate), to_mpf(frequency), to_mpf(c)
    front = mp.log(abs(value)) - mp.log(4 * mp.pi * a) / 2 - (mp.log(2 * a) if dim == 3 else 0)
    middle, width, quarter = float(b), float(mp.sqrt(2 * a)), float(1 / (4 * a))
    sign = float(mp.sign(value))
    below, above = (
        sympy.exp(-((W + u) ** 2) / (4 * rate)) / sympy.sqrt(4 * sympy.pi * rate)
        for u in (-frequency, frequency)
    )
    formula = c * (below + above) / 2
    if dim == 3:
        total = (W - frequency) * below + (W + frequency) * above
        formula = c * total / (8 * sympy.pi * rate * W)

    def values(w: FloatArray) -> Values:
        u, other = w - middle, np.exp(-4.0 * quarter * middle * w)  # G(w + b) / G(w - b)
        bell = quarter * u * u
        # b and the radius are rounded, which counts if the bell is far narrower than b.
        roundings = 3.0 * bell + quarter * np.abs(u) * w
        if dim == 1:
            return (-bell,), sign * (1.0 + other), 1.0 + other, roundings
        far = (w + middle) * other
        size = np.abs(u) + width + far
        return (-bell, np.log(w)), sign * (u + far), size, roundings + 0.25 * w / size

    return ClosedPair(
        gaussian_wave, dim, (rate, frequency), c, formula, float(front), values,
        origin_exponent=dim - 1.0,
        bulk=(max(middle - 3.0 * width, 0.0125 * width), middle + 3.0 * width),
        # A break tells where to look for a narrow bell.
        breaks=((middle, 0.0),) if middle > 4.0 * width else (),
        has_one_sign=dim == 1,
    )  # fmt: skip
