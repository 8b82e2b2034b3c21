r"""One-sided expansions of formulas: at a radius, at zero and at infinity.

The formula is walked from its leaves, and each function of the formula language has one rule on
:class:`~spectra.formula.expansions.expansion.Expansion`.  No rule guesses: what has no such
expansion raises :class:`~spectra.formula.expansions.exact_numbers.ExpansionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import count
from operator import add, mul

import sympy

from spectra.formula.callables import Opaque
from spectra.formula.expansions.elementary import (
    arcsine,
    arctangent,
    cosine,
    exp,
    limit,
    log,
    sine,
)
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expansion import ZERO, Expansion, Series, hypergeometric_series
from spectra.formula.expansions.special_functions import (
    bessel_at_infinity,
    bessel_at_zero,
    bessel_k_at_zero,
    expand_hyper,
)
from spectra.formula.reader.parsing import Z

__all__ = ["expand_at"]

#: The expansion of a part of the formula.
Visit = Callable[[sympy.Expr], Expansion]

_HALF = sympy.Rational(1, 2)
_ONE = sympy.Integer(1)
_NIL = sympy.Integer(0)
_X = sympy.Symbol("x")
#: Derivatives of a special function at a finite point grow in length: no more are taken.
_MOST_DERIVATIVES = 12


def expand_at(expr: sympy.Expr, point: sympy.Expr, side: int, window: int) -> Expansion:
    """Expand a formula in z at ``point``, from one side, as an expansion in t -> 0+.

    Parameters
    ----------
    expr
        A formula in z without Abs, Min, Max, Heaviside and Piecewise.
    point
        A radius >= 0, or ``oo``.
    side
        1 for z = point + t, -1 for z = point - t; at infinity z = 1/t.
    window
        How many powers of t are kept, relative to the largest.

    Examples
    --------
    >>> expansion = expand_at(sympy.acos(1 - Z), sympy.Integer(0), 1, 2)
    >>> expansion.part().terms[0]
    ((1/2, 0), sqrt(2))
    """
    nothing = Expansion((), window)
    at, rate, power = (_NIL, _ONE, -_ONE) if point is sympy.oo else (point, side, _ONE)
    moving = Series.of([((power, _NIL), sympy.Integer(rate))])
    known = {Z: nothing.constant(at) + nothing.of([(ZERO, moving)])}

    def visit(node: sympy.Expr) -> Expansion:
        """Each node is expanded once."""
        if node not in known:
            known[node] = _expanded(node, visit) if node.free_symbols else nothing.constant(node)
        return known[node]

    return visit(expr)


def _expanded(node: sympy.Expr, visit: Visit) -> Expansion:
    if node.is_Add:
        return reduce(add, map(visit, node.args))
    if node.is_Mul:
        return reduce(mul, map(visit, node.args))
    if node.is_Pow:
        base, exponent = node.args
        if exponent.free_symbols:
            return exp(visit(exponent) * log(visit(base)))
        return visit(base) ** exponent
    if isinstance(node, Opaque):
        raise ExpansionError(f"the callable {node.func.__name__} shows no formula")
    return _RULES.get(node.func, _analytic)(node, visit)


# --- elementary functions --------------------------------------------------------------------


def _circular(node: sympy.Expr, visit: Visit) -> Expansion:
    """Sine, cosine, and their quotient."""
    if node.func == sympy.tan:
        return visit(sympy.sin(node.args[0]) / sympy.cos(node.args[0]))
    g = visit(node.args[0])
    value = limit(g)
    if value is None:
        plus, minus = exp(g * sympy.I), exp(g * -sympy.I)
        return ((plus + minus) if node.func == sympy.cos else (minus - plus) * sympy.I) / 2
    s, c, delta = sympy.sin(value), sympy.cos(value), g - value
    if node.func == sympy.cos:
        s, c = c, -s
    return cosine(delta) * s + sine(delta) * c


def _hyperbolic(node: sympy.Expr, visit: Visit) -> Expansion:
    """Hyperbolic sine, cosine, and their quotient."""
    x = node.args[0]
    if node.func == sympy.tanh:
        return visit(sympy.sinh(x) / sympy.cosh(x))
    g = visit(x)
    plus, minus = exp(g), exp(-g)
    return (plus - minus if node.func == sympy.sinh else plus + minus) / 2


# --- special functions -----------------------------------------------------------------------


def _erf(node: sympy.Expr, visit: Visit) -> Expansion:
    """By its series at 0, DLMF 7.6.1, and by erfc at infinity."""
    g = visit(node.args[0])
    value = limit(g)
    if value is None:
        s = sign(g.plain.terms[0][1])
        return (-_erfc_tail(g * s) + 1) * s
    if not is_zero(value):
        return _analytic(node, visit)
    series = hypergeometric_series((_HALF,), (3 * _HALF,), -_ONE)
    return g * (g * g).compose(series) * 2 / sympy.sqrt(sympy.pi)


def _erfc(node: sympy.Expr, visit: Visit) -> Expansion:
    g = visit(node.args[0])
    if limit(g) is None and sign(g.plain.terms[0][1]) > 0:
        return _erfc_tail(g)
    return -visit(sympy.erf(node.args[0])) + 1


def _bessel(node: sympy.Expr, visit: Visit) -> Expansion:
    order, g = node.args[0], visit(node.args[1])
    value = limit(g)
    if value is None:
        if sign(g.plain.terms[0][1]) < 0:
            raise ExpansionError(f"{node.func.__name__} at -infinity")
        return bessel_at_infinity(node.func, order, g)
    if not is_zero(value):
        return _analytic(node, visit)
    if node.func == sympy.besselk:
        return bessel_k_at_zero(order, g)
    return bessel_at_zero(order, g, -1 if node.func == sympy.besselj else 1)


def _expint(node: sympy.Expr, visit: Visit) -> Expansion:
    """E_s(g) by DLMF 8.19.8, 8.19.10 and 8.20.2."""
    s, g = node.args[0], visit(node.args[1])
    value = limit(g)
    if value is None:
        if sign(g.plain.terms[0][1]) < 0:
            raise ExpansionError("an exponential integral at -infinity")
        falling = hypergeometric_series((s, _ONE), (), -_ONE)
        return exp(-g) / g * (g**-1).compose(falling)
    if not is_zero(value):
        return _analytic(node, visit)
    # The order of a pole joins the logarithm where s is whole.
    order = s - 1 if s.is_Integer and s > 0 else None
    front = g ** (s - 1)
    if order is None:
        rough = front * sympy.gamma(1 - s)
    else:
        rough = (-log(g) + (sympy.harmonic(order) - sympy.EulerGamma)) * front
        rough = rough * ((-_ONE) ** order / sympy.factorial(order))
    coefficients = (
        _NIL if k == order else (-_ONE) ** k / sympy.factorial(k) / (s - 1 - k) for k in count()
    )
    return rough + g.compose(coefficients)


def _gamma(node: sympy.Expr, visit: Visit) -> Expansion:
    """Stirling's series at infinity, DLMF 5.11.1; derivatives elsewhere."""
    g = visit(node.args[0])
    if limit(g) is not None:
        return _analytic(node, visit)
    if sign(g.plain.terms[0][1]) < 0:
        raise ExpansionError("gamma at -infinity")
    coefficients = (sympy.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in count(1))
    inverse = g**-1
    tail = (inverse * inverse).compose(coefficients) * inverse
    return exp((g - _HALF) * log(g) - g + sympy.log(2 * sympy.pi) / 2 + tail)


def _hyper(node: sympy.Expr, visit: Visit) -> Expansion:
    g = visit(node.argument)
    found = expand_hyper(node, g, limit(g))
    return _analytic(node, visit) if found is None else found


def _analytic(node: sympy.Expr, visit: Visit) -> Expansion:
    """A function at a finite argument where it is analytic, by its derivatives."""
    g = visit(node.args[-1])
    value = limit(g)
    if value is None:
        raise ExpansionError(f"{node.func.__name__} of an unbounded argument")
    head = node.func(*node.args[:-1], _X)  # the last argument is the variable one

    def coefficients() -> Iterator[sympy.Expr]:
        slope = head
        for k in range(_MOST_DERIVATIVES):
            c = slope.subs(_X, value) / sympy.factorial(k)
            if c.has(sympy.oo, sympy.zoo, sympy.nan):
                raise ExpansionError(f"{node.func.__name__} at {value}")
            yield c
            slope = sympy.diff(slope, _X)
        raise ExpansionError(f"more than {_MOST_DERIVATIVES} derivatives of {node.func}")

    return (g - value).compose(coefficients())


def _erfc_tail(g: Expansion) -> Expansion:
    """erfc(g) ~ exp(-g^2)/(g sqrt(pi)) sum (-1)^k (1/2)_k g^(-2k), DLMF 7.12.1."""
    square = g * g
    falling = hypergeometric_series((_HALF, _ONE), (), -_ONE)
    return exp(-square) / g * (square**-1).compose(falling) / sympy.sqrt(sympy.pi)


_RULES: dict[object, Callable[[sympy.Expr, Visit], Expansion]] = {
    sympy.exp: lambda node, visit: exp(visit(node.args[0])),
    sympy.log: lambda node, visit: log(visit(node.args[0])),
    **dict.fromkeys((sympy.sin, sympy.cos, sympy.tan), _circular),
    **dict.fromkeys((sympy.sinh, sympy.cosh, sympy.tanh), _hyperbolic),
    sympy.asin: lambda node, visit: arcsine(visit(node.args[0])),
    sympy.acos: lambda node, visit: -arcsine(visit(node.args[0])) + sympy.pi / 2,
    sympy.atan: lambda node, visit: arctangent(visit(node.args[0])),
    sympy.erf: _erf,
    sympy.erfc: _erfc,
    **dict.fromkeys((sympy.besselj, sympy.besseli, sympy.besselk), _bessel),
    sympy.gamma: _gamma,
    sympy.expint: _expint,
    sympy.hyper: _hyper,
}
