"""Limits of asymptotic expansions, and elementary functions of them."""

from __future__ import annotations

import sympy
from sympy import S

from spectra.formula.expansions.exact_numbers import (
    ExpansionError,
    MoreTermsNeeded,
    exponential,
    is_zero,
    sign,
)
from spectra.formula.expansions.expansion import (
    CONSTANT,
    ZERO,
    Expansion,
    Order,
    Series,
    Term,
    compare,
    pfq_coefficients,
)

__all__ = ["arcsine", "arctangent", "cosine", "exp", "limit", "log", "sine"]

_HALF, _THREE_HALVES = S.Half, sympy.Rational(3, 2)
#: The order of L = log(1/t).
_LOGARITHM: Order = (S.Zero, S.NegativeOne)


def log(g: Expansion) -> Expansion:
    """log g = log c - a L + phi + log(1 + delta) of g = c t^a exp(phi) (1 + delta), c > 0."""
    phase, (a, minus_q), c, delta = g.factor_leading_term()
    if minus_q != 0:
        raise ExpansionError("the logarithm of a logarithm cannot be expanded")
    if sign(c) <= 0 or not is_zero(sympy.im(c)):
        raise ExpansionError("the logarithm of a number that is not positive is not real")
    leading = [(CONSTANT, sympy.log(c)), (_LOGARITHM, -a), *phase.terms]
    series = delta * delta.compose(pfq_coefficients((1, 1), (2,), S.NegativeOne))
    return g.with_parts([(ZERO, Series.collect(leading))]) + series


def exp(g: Expansion) -> Expansion:
    """exp g = c t^a exp(phi) exp(delta) of g = log c - a L + phi + delta with delta -> 0."""
    series = g.without_exponential
    if series.remainder is not None and compare(series.remainder, CONSTANT) <= 0:
        raise MoreTermsNeeded("more terms are needed in an exponential")
    phase: list[Term] = []
    small: list[Term] = []
    a, c = S.Zero, S.One
    for order, x in series.terms:
        if order == CONSTANT:
            c = exponential(x)
        elif order == _LOGARITHM:
            if not is_zero(sympy.im(x)):
                raise ExpansionError("an oscillation in the logarithm of z cannot be expanded")
            a = -x
        elif order[0] == 0 and -1 < order[1] < 0:
            raise ExpansionError("exp of a fractional power of a logarithm cannot be expanded")
        elif compare(order, CONSTANT) < 0:
            phase.append((order, x))
        else:
            small.append((order, x))
    others = [(p, s) for p, s in g.parts if p != ZERO]
    if g.grows:
        return _doubly_exponential(g)
    delta = g.with_parts([(ZERO, Series.collect(small, series.remainder)), *others])
    if not delta.tends_to_zero():
        raise ExpansionError("exp of an oscillating or exponential argument cannot be expanded")
    leading = g.with_parts([(Series(tuple(phase)), Series.collect([((a, S.Zero), c)]))])
    return leading * delta.compose(pfq_coefficients((), ()))


def _doubly_exponential(g: Expansion) -> Expansion:
    """exp g of a g that falls like -exp(phi): smaller than every power of t."""
    phase, _, c, _ = g.factor_leading_term()
    if not (sign(c) < 0 and all(is_zero(sympy.im(x)) for _, x in phase.terms)):
        raise ExpansionError("exp of an exponential argument cannot be expanded")
    return g.flat_remainder()


def limit(g: Expansion) -> sympy.Expr | None:
    """The finite limit of g; None if g is unbounded."""
    series = g.as_series()
    if series.terms and compare(series.terms[0][0], CONSTANT) < 0:
        return None
    if series.remainder is not None and compare(series.remainder, CONSTANT) <= 0:
        raise MoreTermsNeeded("more terms are needed to find a limit")
    if series.terms and series.terms[0][0] == CONSTANT:
        return series.terms[0][1]
    return S.Zero


def cosine(g: Expansion) -> Expansion:
    """cos g for g -> 0."""
    return (g * g).compose(pfq_coefficients((), (_HALF,), -_HALF / 2))


def sine(g: Expansion) -> Expansion:
    """sin g for g -> 0."""
    return g * (g * g).compose(pfq_coefficients((), (_THREE_HALVES,), -_HALF / 2))


def arcsine(g: Expansion) -> Expansion:
    """asin g for g -> v in [-1, 1]: asin v + asin(g sqrt(1 - v^2) - v sqrt(1 - g^2)).

    At v = 1 and v = -1 it is v (pi/2 - 2 asin(sqrt((1 - g v)/2))).
    """
    v = limit(g)
    if v is None:
        raise ExpansionError("the arcsine of an unbounded argument is not real")
    if v in (1, -1):
        return (arcsine(((-g * v + 1) / 2) ** _HALF) * -2 + sympy.pi / 2) * v
    x = g * sympy.sqrt(1 - v**2) - (-(g * g) + 1) ** _HALF * v
    series = (x * x).compose(pfq_coefficients((_HALF, _HALF), (_THREE_HALVES,)))
    return x * series + sympy.asin(v)


def arctangent(g: Expansion) -> Expansion:
    """atan g = atan v + atan((g - v)/(1 + g v)) for g -> v, or +-pi/2 - atan(1/g) at infinity."""
    v = limit(g)
    if v is None:
        return -arctangent(g**-1) + sympy.pi / 2 * sign(g.as_series().terms[0][1])
    x = (g - v) / (g * v + 1)
    coefficients = pfq_coefficients((_HALF, 1), (_THREE_HALVES,), S.NegativeOne)
    return x * (x * x).compose(coefficients) + sympy.atan(v)
