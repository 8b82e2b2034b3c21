"""Read a formula on a ball: polynomials, roots that vanish at its ends, and their integrals."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from spectra.density.ball.ball_form import MAX_DEGREE, BallForm, Factor, Monomials
from spectra.formula.reader.parsing import Z

__all__ = ["ball_form"]

_ZERO, _HALF = sympy.Integer(0), sympy.Rational(1, 2)


def ball_form(expr: sympy.Expr, support: sympy.Expr) -> BallForm | None:
    """Read the piece ``expr`` in Z on z <= support, or return None where it is of another class.

    Examples
    --------
    >>> form = ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2))
    >>> form.edge_exponents
    (1/2,)
    >>> ball_form(sympy.sqrt(Z) * (1 - Z**2 / 4), sympy.Integer(2)).edge_exponents
    (1,)
    >>> ball_form(sympy.exp(-Z), sympy.Integer(1)) is None
    True
    """
    if not support.is_finite or expr.free_symbols - {Z}:
        return None
    x = sympy.Dummy("x", positive=True)
    known: dict[Factor, sympy.Dummy] = {}
    try:
        reduced = _reduce(expr.subs(Z, support * x), x, known)
        poly = sympy.Poly(reduced, x, *known.values())
    except sympy.PolynomialError:
        return None
    if poly.total_degree() > MAX_DEGREE:
        return None
    collected: dict[Factor, dict[int, sympy.Expr]] = {}
    for (m, *powers), c in poly.terms():
        found = _factor(list(zip(powers, known, strict=True)))
        if found is None or c.free_symbols:
            return None
        factor, more = found
        target = collected.setdefault(factor, {})
        for j, b in more:
            target[m + j] = target.get(m + j, _ZERO) + c * b
    parts = tuple(
        (factor, kept)
        for factor, monomials in collected.items()
        if (kept := _nonzero(monomials.items()))
    )
    return BallForm(support, parts) if parts else None


def _factor(
    known: list[tuple[int, Factor]],
) -> tuple[Factor, list[tuple[int, sympy.Integer]]] | None:
    """A product of roots or one integral as a factor times a polynomial, None for any other."""
    roots = [(k, f) for k, f in known if k and not f.is_integral]
    integrals = [(k, f) for k, f in known if k and f.is_integral]
    if integrals:
        ((k, integral), *others) = integrals
        return None if roots or others or k > 1 else (integral, [(0, sympy.Integer(1))])
    shift = sum((k * r.shift for k, r in roots), _ZERO)
    lines, rims = (sum((k * r.power for k, r in roots if r.order == o), _ZERO) for o in (1, 2))
    whole, steps = sympy.floor(shift), 0 if not lines.is_Integer else int(lines)
    shift, lines = shift - whole, lines - steps
    squares = int(sympy.floor(rims))
    rims -= squares
    if lines != 0 and rims != 0:
        return None
    polynomial = sympy.Poly((1 - Z) ** steps * (1 - Z**2) ** squares * Z**whole, Z)
    factor = Factor(lines, 1, shift) if lines != 0 else Factor(rims, 2, shift)
    return factor, [(j, b) for (j,), b in polynomial.terms()]


def _nonzero(monomials: Iterable[tuple[int, sympy.Expr]]) -> Monomials:
    expanded = ((m, sympy.expand(c)) for m, c in sorted(monomials))
    return tuple((m, c) for m, c in expanded if c != 0 and c.equals(0) is not True)


def _reduce(expr: sympy.Expr, x: sympy.Symbol, known: dict[Factor, sympy.Dummy]) -> sympy.Expr:
    """Write roots, arcsines and other integrals of roots through symbols of their own."""

    def symbol(factor: Factor) -> sympy.Symbol:
        return known.setdefault(factor, sympy.Dummy("factor"))

    def integral(node: sympy.hyper) -> sympy.Expr:
        """x 2F1(1/2, -p; 3/2; x^2) is the integral of (1 - t^2)^p up to x."""
        power = _HALF - sum(node.ap)
        is_known = len(node.ap) == 2 and _HALF in node.ap and tuple(node.bq) == (3 * _HALF,)
        is_known = is_known and power.is_Rational and not power.is_Integer and power > -1
        if not is_known or sympy.expand(node.argument) != x**2:
            raise sympy.PolynomialError
        return symbol(Factor(power, is_integral=True)) / x

    def root(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        constant, factors = sympy.factor_list(sympy.expand(base), x)
        multiplicity = dict(factors)
        at_zero = multiplicity.pop(x, 0)
        upper, lower = multiplicity.pop(x - 1, 0), multiplicity.pop(x + 1, 0)
        constant = constant * (-1) ** upper
        if multiplicity or lower not in (0, upper) or not constant.is_positive:
            raise sympy.PolynomialError
        power, rim = at_zero * exponent, upper * exponent
        if rim < 0 or max(power, rim) > MAX_DEGREE:
            raise sympy.PolynomialError
        whole = sympy.floor(power)
        value = constant**exponent * x**whole
        if lower or rim.is_Integer:
            value *= (1 - x ** (2 if lower else 1)) ** sympy.floor(rim)
            rim -= sympy.floor(rim)
        for left in (Factor(_ZERO, 2, power - whole), Factor(rim, 2 if lower else 1)):
            if not left.is_one:
                value *= symbol(left)
        return value

    expr = expr.replace(sympy.acos, lambda a: sympy.pi / 2 - sympy.asin(a))
    expr = expr.replace(sympy.asin, lambda a: a * sympy.hyper((_HALF, _HALF), (3 * _HALF,), a**2))
    expr = expr.replace(lambda e: isinstance(e, sympy.hyper) and e.has(x), integral)
    return expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.base.has(x),
        lambda e: root(e.base, e.exp),
    )
