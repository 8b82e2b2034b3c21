"""Read a formula on a ball as a sum of powers of z, R - z and R^2 - z^2, and their integrals."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from spectra.density.ball.ball_form import MAX_DEGREE, BallFactor, BallForm, Monomials
from spectra.formula.parsing import Z

__all__ = ["read_ball_form"]

_ZERO, _HALF = sympy.Integer(0), sympy.Rational(1, 2)


def read_ball_form(expr: sympy.Expr, support: sympy.Expr) -> BallForm | None:
    """Write ``expr`` in Z on z <= support as a :class:`BallForm`; None if that is impossible.

    Examples
    --------
    >>> form = read_ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2))
    >>> form.edge_exponents
    (1/2,)
    >>> read_ball_form(sympy.sqrt(Z) * (1 - Z**2 / 4), sympy.Integer(2)).edge_exponents
    (1,)
    >>> read_ball_form(sympy.exp(-Z), sympy.Integer(1)) is None
    True
    """
    if not support.is_finite:
        return None
    x = sympy.Dummy("x", positive=True)
    symbols: dict[BallFactor, sympy.Dummy] = {}
    try:
        replaced = _replace(expr.subs(Z, support * x), x, symbols)
        poly = sympy.Poly(replaced, x, *symbols.values())
    except sympy.PolynomialError:
        return None
    if poly.total_degree() > MAX_DEGREE:
        return None
    collected: dict[BallFactor, dict[int, sympy.Expr]] = {}
    for (m, *powers), c in poly.terms():
        product = _multiply_factors(list(zip(powers, symbols, strict=True)))
        if product is None or c.has(x):
            return None
        factor, monomials = product
        collected_monomials = collected.setdefault(factor, {})
        for j, b in monomials:
            collected_monomials[m + j] = collected_monomials.get(m + j, _ZERO) + c * b
    parts = tuple(
        (factor, kept)
        for factor, coefficients in collected.items()
        if (kept := _drop_zeros(coefficients.items()))
    )
    return BallForm(support, parts) if parts else None


def _multiply_factors(powers: list[tuple[int, BallFactor]]) -> tuple[BallFactor, Monomials] | None:
    """A product of powers of factors as one factor times a polynomial; None if there is none."""
    roots = [(k, f) for k, f in powers if k and not f.is_integral]
    integrals = [(k, f) for k, f in powers if k and f.is_integral]
    if integrals:
        ((k, integral), *others) = integrals
        return None if roots or others or k > 1 else (integral, ((0, sympy.Integer(1)),))
    # The product is x^shift (1 - x)^p (1 - x^2)^q; integer powers go into the polynomial.
    shift = sum((k * f.shift for k, f in roots), _ZERO)
    p, q = (sum((k * f.power for k, f in roots if f.order == order), _ZERO) for order in (1, 2))
    integer_shift, integer_q = int(sympy.floor(shift)), int(sympy.floor(q))
    integer_p = int(p) if p.is_Integer else 0
    shift, p, q = shift - integer_shift, p - integer_p, q - integer_q
    if p != 0 and q != 0:
        return None
    polynomial = sympy.Poly((1 - Z) ** integer_p * (1 - Z**2) ** integer_q * Z**integer_shift, Z)
    factor = BallFactor(p, 1, shift) if p != 0 else BallFactor(q, 2, shift)
    return factor, tuple((j, b) for (j,), b in polynomial.terms())


def _drop_zeros(monomials: Iterable[tuple[int, sympy.Expr]]) -> Monomials:
    """The monomials whose coefficients are not zero, by ascending power."""
    expanded = ((m, sympy.expand(c)) for m, c in sorted(monomials))
    return tuple((m, c) for m, c in expanded if c != 0 and c.equals(0) is not True)


def _replace(
    expr: sympy.Expr, x: sympy.Symbol, symbols: dict[BallFactor, sympy.Dummy]
) -> sympy.Expr:
    """Replace roots, arcsines and other integrals of roots by the symbols of factors."""

    def symbol(factor: BallFactor) -> sympy.Symbol:
        return symbols.setdefault(factor, sympy.Dummy("factor"))

    def integral(node: sympy.hyper) -> sympy.Expr:
        """2F1(1/2, -p; 3/2; x^2), which is 1/x times the integral of (1 - t^2)^p from 0 to x."""
        power = _HALF - sum(node.ap)
        is_known = len(node.ap) == 2 and _HALF in node.ap and tuple(node.bq) == (3 * _HALF,)
        is_known = is_known and power.is_Rational and not power.is_Integer and power > -1
        if not is_known or sympy.expand(node.argument) != x**2:
            raise sympy.PolynomialError
        return symbol(BallFactor(power, is_integral=True)) / x

    def root(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        """A power of a base c x^m (1 - x)^n or c x^m (1 - x^2)^n."""
        constant, factors = sympy.factor_list(sympy.expand(base), x)
        multiplicity = dict(factors)
        at_zero = multiplicity.pop(x, 0)
        at_one, at_minus_one = multiplicity.pop(x - 1, 0), multiplicity.pop(x + 1, 0)
        constant = constant * (-1) ** at_one
        if multiplicity or at_minus_one not in (0, at_one) or not constant.is_positive:
            raise sympy.PolynomialError
        power, edge_power = at_zero * exponent, at_one * exponent
        if edge_power < 0 or max(power, edge_power) > MAX_DEGREE:
            raise sympy.PolynomialError
        order, integer = 2 if at_minus_one else 1, sympy.floor(power)
        value = constant**exponent * x**integer
        if order == 2 or edge_power.is_Integer:
            value *= (1 - x**order) ** sympy.floor(edge_power)
            edge_power -= sympy.floor(edge_power)
        for factor in (BallFactor(_ZERO, 2, power - integer), BallFactor(edge_power, order)):
            if not factor.is_one:
                value *= symbol(factor)
        return value

    expr = expr.replace(sympy.acos, lambda a: sympy.pi / 2 - sympy.asin(a))
    expr = expr.replace(sympy.asin, lambda a: a * sympy.hyper((_HALF, _HALF), (3 * _HALF,), a**2))
    expr = expr.replace(lambda e: isinstance(e, sympy.hyper) and e.has(x), integral)
    return expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.base.has(x),
        lambda e: root(e.base, e.exp),
    )
