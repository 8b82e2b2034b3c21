"""Read a formula on a ball: polynomials, roots that vanish at its ends, and arcsines."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from spectra.formula.parsing import Z
from spectra.transform.on_balls.ball import (
    MAX_DEGREE,
    ArcSine,
    BallForm,
    Factor,
    Monomials,
    RimPower,
    is_zero,
)

__all__ = ["ball_form"]

_ZERO = sympy.Integer(0)


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
    x, arc = sympy.Dummy("x", positive=True), sympy.Dummy("arc")
    roots: dict[RimPower, sympy.Dummy] = {}
    try:
        reduced = _reduce(expr.subs(Z, support * x), x, arc, roots)
        poly = sympy.Poly(reduced, x, arc, *roots.values())
    except (_ForeignFormula, sympy.PolynomialError):
        return None
    if poly.total_degree() > MAX_DEGREE:
        return None
    collected: dict[Factor, dict[int, sympy.Expr]] = {}
    for (m, arcs, *powers), c in poly.terms():
        found = _factor(list(zip(powers, roots, strict=True)), arcs)
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
    roots: list[tuple[int, RimPower]], arcs: int
) -> tuple[Factor, list[tuple[int, sympy.Integer]]] | None:
    """A product of roots and of arcsines as a factor times a polynomial, None for any other."""
    shift = sum((k * r.shift for k, r in roots), _ZERO)
    lines, rims = (sum((k * r.power for k, r in roots if r.order == o), _ZERO) for o in (1, 2))
    whole, steps = sympy.floor(shift), 0 if not lines.is_Integer else int(lines)
    shift, lines = shift - whole, lines - steps
    squares = int(sympy.floor(rims))
    rims -= squares
    if arcs > 1 or (arcs and (shift != 0 or lines != 0 or rims != 0)) or (lines != 0 and rims != 0):
        return None
    polynomial = sympy.Poly((1 - Z) ** steps * (1 - Z**2) ** squares * Z**whole, Z)
    factor: Factor = RimPower(rims, 2, shift)
    if arcs:
        factor = ArcSine()
    elif lines != 0:
        factor = RimPower(lines, 1, shift)
    return factor, [(j, b) for (j,), b in polynomial.terms()]


def _nonzero(monomials: Iterable[tuple[int, sympy.Expr]]) -> Monomials:
    return tuple((m, sympy.expand(c)) for m, c in sorted(monomials) if not is_zero(c))


class _ForeignFormula(Exception):
    """The formula has a part outside the class; never leaves this module."""


def _reduce(
    expr: sympy.Expr,
    x: sympy.Symbol,
    arc: sympy.Symbol,
    roots: dict[RimPower, sympy.Dummy],
) -> sympy.Expr:
    """Write arcsines and roots through the symbols ``arc`` and those of ``roots``."""

    def arcsine(argument: sympy.Expr) -> sympy.Expr:
        argument = sympy.expand(argument)
        for sign in (1, -1):
            if argument == sign * x:
                return sign * arc
            if argument == sign * (1 - 2 * x**2).expand():
                return sign * (sympy.pi / 2 - 2 * arc)
        raise _ForeignFormula

    def root(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
        constant, factors = sympy.factor_list(sympy.expand(base), x)
        multiplicity = dict(factors)
        at_zero = multiplicity.pop(x, 0)
        upper, lower = multiplicity.pop(x - 1, 0), multiplicity.pop(x + 1, 0)
        constant = constant * (-1) ** upper
        if multiplicity or lower not in (0, upper) or not constant.is_positive:
            raise _ForeignFormula
        power, rim = at_zero * exponent, upper * exponent
        if rim < 0 or max(power, rim) > MAX_DEGREE:
            raise _ForeignFormula
        whole = sympy.floor(power)
        value = constant**exponent * x**whole
        if lower or rim.is_Integer:
            value *= (1 - x ** (2 if lower else 1)) ** sympy.floor(rim)
            rim -= sympy.floor(rim)
        for left in (RimPower(_ZERO, 2, power - whole), RimPower(rim, 2 if lower else 1)):
            if not left.is_one:
                value *= roots.setdefault(left, sympy.Dummy("root"))
        return value

    expr = expr.replace(sympy.acos, lambda a: sympy.pi / 2 - arcsine(a))
    expr = expr.replace(sympy.asin, arcsine)
    return expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.base.has(x),
        lambda e: root(e.base, e.exp),
    )
