"""Logarithms and exponentials of one-sided expansions, and their limits."""

from __future__ import annotations

import sympy

from spectra.formula.expansions.exact_numbers import (
    ExpansionError,
    MoreTermsNeeded,
    exponential,
    is_zero,
    sign,
)
from spectra.formula.expansions.expansion import (
    ONE,
    ZERO,
    Expansion,
    Series,
    Size,
    compare,
    hypergeometric_series,
)

__all__ = ["arcsine", "arctangent", "cosine", "exp", "limit", "log", "sine"]

_ONE = sympy.Integer(1)
_NIL = sympy.Integer(0)
_HALF = sympy.Rational(1, 2)


def log(g: Expansion) -> Expansion:
    """log g of what is positive near the place."""
    phase, (a, mq), c, delta = g.split_lead()
    if mq != 0:
        raise ExpansionError("the logarithm of a logarithm")
    if sign(c) <= 0 or not is_zero(sympy.im(c)):
        raise ExpansionError("the logarithm of a number that is not positive")
    head = [(ONE, sympy.log(c)), ((_NIL, -_ONE), -a), *phase.terms]
    series = delta * delta.compose(hypergeometric_series((_ONE, _ONE), (2,), -_ONE))
    return g.of([(ZERO, Series.of(head))]) + series


def exp(g: Expansion) -> Expansion:
    """exp(g): what does not tend to a constant goes into the exponents."""
    base = g.part()
    if base.order is not None and compare(base.order, ONE) <= 0:
        raise MoreTermsNeeded("more terms are needed in an exponential")
    phase: list[tuple[Size, sympy.Expr]] = []
    small: list[tuple[Size, sympy.Expr]] = []
    a, c = _NIL, _ONE
    for size, x in base.terms:
        if size == ONE:
            c = exponential(x)
        elif size == (_NIL, -_ONE):
            if not is_zero(sympy.im(x)):
                raise ExpansionError("an oscillation in the logarithm of z")
            a = -x
        elif size[0] == 0 and -1 < size[1] < 0:
            raise ExpansionError("the exponential of a fractional power of a logarithm")
        elif compare(size, ONE) < 0:
            phase.append((size, x))
        else:
            small.append((size, x))
    others = [(p, s) for p, s in g.parts if p != ZERO]
    if g.grows:
        return _doubly_exponential(g)
    delta = g.of([(ZERO, Series.of(small, base.order)), *others])
    if not delta.small:
        raise ExpansionError("the exponential of an oscillating or exponential argument")
    head = g.of([(Series(tuple(phase)), Series.of([((a, _NIL), c)]))])
    return head * delta.compose(hypergeometric_series((), ()))


def _doubly_exponential(g: Expansion) -> Expansion:
    """exp(g) of a g that falls like -exp(phi), which is flat."""
    lead, _, c, _ = g.split_lead()
    if not (sign(c) < 0 and all(is_zero(sympy.im(x)) for _, x in lead.terms)):
        raise ExpansionError("the exponential of an exponential argument")
    return g.flat


def limit(g: Expansion) -> sympy.Expr | None:
    """The finite limit of g, or None where it is unbounded."""
    series = g.plain
    if series.terms and compare(series.terms[0][0], ONE) < 0:
        return None
    if series.order is not None and compare(series.order, ONE) <= 0:
        raise MoreTermsNeeded("more terms are needed to see a limit")
    if series.terms and series.terms[0][0] == ONE:
        return series.terms[0][1]
    return _NIL


def cosine(g: Expansion) -> Expansion:
    """cos g of what vanishes."""
    return (g * g).compose(hypergeometric_series((), (_HALF,), -_HALF / 2))


def sine(g: Expansion) -> Expansion:
    """sin g of what vanishes."""
    return g * (g * g).compose(hypergeometric_series((), (3 * _HALF,), -_HALF / 2))


def arcsine(g: Expansion) -> Expansion:
    """asin g where g tends to a number v in [-1, 1]: asin v + asin(g cos a - v cos b)."""
    v = limit(g)
    if v is None:
        raise ExpansionError("the arcsine of an unbounded argument")
    if v in (1, -1):
        return (arcsine(((-g * v + 1) / 2) ** _HALF) * -2 + sympy.pi / 2) * v
    x = g * sympy.sqrt(1 - v**2) - (-(g * g) + 1) ** _HALF * v
    series = (x * x).compose(hypergeometric_series((_HALF, _HALF), (3 * _HALF,)))
    return x * series + sympy.asin(v)


def arctangent(g: Expansion) -> Expansion:
    """atan g: atan v + atan((g - v)/(1 + g v)) where g tends to v, and by 1/g at infinity."""
    v = limit(g)
    if v is None:
        return -arctangent(g**-1) + sympy.pi / 2 * sign(g.plain.terms[0][1])
    x = (g - v) / (g * v + 1)
    series = (x * x).compose(hypergeometric_series((_HALF, _ONE), (3 * _HALF,), -_ONE))
    return x * series + sympy.atan(v)
