r"""Signs of the densities of sums of :math:`c\, z^n e^{-tz}` at the l1 distance z.

The density of :math:`e^{-tz}` in d columns is :math:`\prod_j t / (\pi (t^2 + w_j^2))`, and each
factor z is a derivative by -t, so that the density is a rational function of :math:`u_j = w_j^2`.
Its numerator is positive if its coefficients are; a value below 0 on a diagonal
:math:`u_1 = \ldots = u_m` refutes definiteness in m columns or more.  All numbers are rational.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, reduce
from itertools import combinations_with_replacement
from math import comb, sqrt
from typing import Any

import sympy
from sympy.polys.ring_series import rs_mul, rs_pow

from spectra.formula.pieces import damped_terms

__all__ = ["decide_l1_exponentials"]

#: The rate is t + E, and the derivatives are the coefficients of powers of E.
_RING, _E, _U = sympy.ring("e, u", sympy.QQ)
#: Numbers m; values of u (relative to the square of a rate); and most coefficients examined.
_COLUMNS, _MOST_COEFFICIENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32), 2000
_POINTS = [sympy.QQ(4) ** k for k in range(-8, 13)]


@lru_cache(maxsize=200)
def decide_l1_exponentials(expr: sympy.Expr, dim: int | None) -> tuple[bool | None, str]:
    """Whether a formula of the l1 distance is positive definite on R^dim (or all R^d), and why."""
    terms, unit = _read_terms(expr)
    if not terms:
        return None, "No rule decides it in several columns."
    if all(n == 0 and c > 0 for c, n, _ in terms):
        return True, "It is a mixture of products of exponentials exp(-t |x_i|)."
    orders = {t: max(n for _, n, s in terms if s == t) for _, _, t in terms}
    factors = {t: _numerator(t, orders) for t in orders}

    def numerator(products: dict[Any, Any]) -> Counter[int]:
        """Coefficients of the powers of u, from the products of the factors of each rate."""
        found: Counter[int] = Counter()
        for c, n, t in terms:
            for (order, power), value in products[t].items():
                found[power] += c * value if order == n else 0
        return found

    for m in sorted({*_COLUMNS, min(dim or 2, _COLUMNS[-1])}):
        if dim is None or m <= dim:
            powers = {t: rs_pow(f, m, _E, orders[t] + 1) for t, f in factors.items()}
            diagonal = numerator(powers)
            negative = [u for u in _POINTS if sum(v * u**k for k, v in diagonal.items()) < 0]
            if negative:
                w = sqrt(negative[0]) * float(unit)
                return False, f"Its density in {m} columns is below 0 where all w_i = {w:.6g}."
    degree = sum(orders.values()) + len(orders)
    if dim is not None and comb(dim + degree, degree) <= _MOST_COEFFICIENTS:
        rows = {t: [f.coeff_wrt(_U, i) for i in range(degree + 1)] for t, f in factors.items()}
        for chosen in combinations_with_replacement(range(degree + 1), dim):
            products = {
                t: reduce(lambda p, q: rs_mul(p, q, _E, max(orders.values()) + 1),
                          (row[i] for i in chosen))
                for t, row in rows.items()
            }  # fmt: skip
            if numerator(products)[0] < 0:
                break
        else:
            return True, "Its density is a quotient of polynomials with coefficients >= 0."
    return None, "Its density was not found to be negative, which is no proof."


def _numerator(t: Any, orders: dict[Any, int]) -> Any:
    """(t + E)/((t + E)^2 + U) times the common denominator, up to the power of E that is used."""
    step, n = 2 * t * _E + _E**2, orders[t]
    product = (t + _E) * sum((-step) ** r * (t**2 + _U) ** (n - r) for r in range(n + 1))
    for s, k in orders.items():
        product = product * (s**2 + _U) ** (k + 1) if s != t else product
    return product


def _read_terms(expr: sympy.Expr) -> tuple[list[tuple[Any, int, Any]], sympy.Expr]:
    """Triples (c (-1)^n n!, n, t) of terms c z^n exp(-t z), and the unit of the rates t.

    They are rational, up to a common positive factor; the list is empty for other formulas.
    """
    # A constant c > 0 is an atom at the frequency 0.
    found = [t for t in damped_terms(expr) or () if t[1:] != (0, 0) or not t[0].is_positive]
    if not found or not all(rate.is_positive for _, _, rate in found):
        return [], sympy.Integer(1)
    first, order, unit = found[0]
    scale = abs(first) / unit**order
    scaled = []
    for c, n, t in found:
        weight, rate = sympy.radsimp(c / unit**n / scale), sympy.radsimp(t / unit)
        if not (weight.is_Rational and rate.is_Rational):
            return [], unit
        number = sympy.QQ.from_sympy((-1) ** n * sympy.factorial(n) * weight)
        scaled.append((number, n, sympy.QQ.from_sympy(rate)))
    return scaled, unit
