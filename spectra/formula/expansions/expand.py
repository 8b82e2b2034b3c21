"""Asymptotic expansions of formulas at zero, at a radius from either side, and at infinity.

Expansions are computed recursively: for each function f that a formula may contain, a rule maps
the :class:`~spectra.formula.expansions.expansion.Expansion` of g to the one of f(g), or raises
:class:`~spectra.formula.expansions.exact_numbers.ExpansionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import count
from operator import add, mul

import sympy
from sympy import S

from spectra.formula.callables import Opaque
from spectra.formula.expansions.elementary import arcsine, arctangent, cosine, exp, limit, log, sine
from spectra.formula.expansions.exact_numbers import ExpansionError, as_float, is_zero, sign
from spectra.formula.expansions.expansion import ZERO, Expansion, Series, pfq_coefficients
from spectra.formula.expansions.special_functions import (
    bessel_at_infinity,
    bessel_at_zero,
    bessel_k_at_zero,
    expand_hyper,
)
from spectra.formula.parsing import Z

__all__ = ["expand_at"]

#: A function that expands a subexpression.
Expand = Callable[[sympy.Expr], Expansion]

_X = sympy.Symbol("x")
# The largest number of Taylor coefficients of a special function, whose derivatives get long.
_MAX_DERIVATIVES = 12


def expand_at(expr: sympy.Expr, point: sympy.Expr, side: int, window: int) -> Expansion:
    """Expand a formula without cases at z = point + side t, or z = 1/t at infinity, for t -> 0+.

    ``side`` is 1 or -1.  The remainder of a product is O(t^window) relative to its leading term.
    """
    zero = Expansion((), window)
    start, power, c = (S.Zero, -S.One, 1) if point is sympy.oo else (point, S.One, side)
    variable_term = Series.collect([((power, S.Zero), sympy.Integer(c))])
    expanded = {Z: zero.constant(start) + zero.with_parts([(ZERO, variable_term)])}

    def expand(node: sympy.Expr) -> Expansion:
        if node not in expanded:
            is_constant = not node.free_symbols
            expanded[node] = zero.constant(node) if is_constant else _expand_node(node, expand)
        return expanded[node]

    return expand(expr)


def _expand_node(node: sympy.Expr, expand: Expand) -> Expansion:
    if node.is_Add:
        return reduce(add, map(expand, node.args))
    if node.is_Mul:
        return reduce(mul, map(expand, node.args))
    if node.is_Pow:
        base, exponent = node.args
        if exponent.free_symbols:
            return exp(expand(exponent) * log(expand(base)))
        return expand(base) ** exponent
    if isinstance(node, Opaque):
        raise ExpansionError(f"the callable {node.func.__name__} has no formula to expand")
    return _RULES.get(node.func, _taylor)(node, expand)


def _trigonometric(node: sympy.Expr, expand: Expand) -> Expansion:
    """The sine, cosine or tangent."""
    x = node.args[0]
    if node.func == sympy.tan:
        return expand(sympy.sin(x) / sympy.cos(x))
    g = expand(x)
    value = limit(g)
    if value is None:
        plus, minus = exp(g * sympy.I), exp(g * -sympy.I)
        return ((plus + minus) if node.func == sympy.cos else (minus - plus) * sympy.I) / 2
    slope, delta = node.func(_X).diff(_X).subs(_X, value), g - value
    return cosine(delta) * node.func(value) + sine(delta) * slope


def _hyperbolic(node: sympy.Expr, expand: Expand) -> Expansion:
    """The hyperbolic sine, cosine or tangent."""
    x = node.args[0]
    if node.func == sympy.tanh:
        return expand(sympy.sinh(x) / sympy.cosh(x))
    g = expand(x)
    plus, minus = exp(g), exp(-g)
    return (plus - minus if node.func == sympy.sinh else plus + minus) / 2


def _erf(node: sympy.Expr, expand: Expand) -> Expansion:
    """erf(g) by its power series for g -> 0, DLMF 7.6.1, and by erfc for g -> +-infinity."""
    g = expand(node.args[0])
    value = limit(g)
    if value is None:
        s = _sign_at_infinity(g)
        return (-_erfc_at_infinity(g * s) + 1) * s
    if not is_zero(value):
        return _taylor(node, expand)
    coefficients = pfq_coefficients((S.Half,), (3 * S.Half,), S.NegativeOne)
    return g * (g * g).compose(coefficients) * 2 / sympy.sqrt(sympy.pi)


def _erfc(node: sympy.Expr, expand: Expand) -> Expansion:
    g = expand(node.args[0])
    if limit(g) is None and _sign_at_infinity(g) > 0:
        return _erfc_at_infinity(g)
    return -expand(sympy.erf(node.args[0])) + 1


def _erfc_at_infinity(g: Expansion) -> Expansion:
    """erfc(g) ~ exp(-g^2)/(g sqrt(pi)) sum over k of (-1)^k (1/2)_k g^(-2k), DLMF 7.12.1."""
    square = g * g
    coefficients = pfq_coefficients((S.Half, S.One), (), S.NegativeOne)
    return exp(-square) / g * (square**-1).compose(coefficients) / sympy.sqrt(sympy.pi)


def _bessel(node: sympy.Expr, expand: Expand) -> Expansion:
    order, g = node.args[0], expand(node.args[1])
    value = limit(g)
    if value is None:
        _refuse_minus_infinity(node, g)
        return bessel_at_infinity(node.func, order, g)
    if not is_zero(value):
        return _taylor(node, expand)
    if node.func == sympy.besselk:
        return bessel_k_at_zero(order, g)
    return bessel_at_zero(node.func, order, g)


def _expint(node: sympy.Expr, expand: Expand) -> Expansion:
    """E_s(g) by DLMF 8.19.10 (8.19.8 for s = 1, 2, ...) at 0, and by 8.20.2 at infinity."""
    s, g = node.args[0], expand(node.args[1])
    value = limit(g)
    if value is None:
        _refuse_minus_infinity(node, g)
        coefficients = pfq_coefficients((s, S.One), (), S.NegativeOne)
        return exp(-g) / g * (g**-1).compose(coefficients)
    if not is_zero(value):
        return _taylor(node, expand)
    # For s = 1, 2, ... the term k = s - 1 of the series is replaced by one with a logarithm.
    replaced = s - 1 if s.is_Integer and s > 0 else None
    power = g ** (s - 1)
    if replaced is None:
        singular = power * sympy.gamma(1 - s)
    else:
        singular = (-log(g) + (sympy.harmonic(replaced) - sympy.EulerGamma)) * power
        singular = singular * (S.NegativeOne**replaced / sympy.factorial(replaced))
    regular = (
        S.Zero if k == replaced else (-1) ** k / sympy.factorial(k) / (s - 1 - k) for k in count()
    )
    return singular + g.compose(regular)


def _gamma(node: sympy.Expr, expand: Expand) -> Expansion:
    """Stirling's series at infinity, DLMF 5.11.1; a Taylor series elsewhere."""
    g = expand(node.args[0])
    if limit(g) is not None:
        return _taylor(node, expand)
    _refuse_minus_infinity(node, g)
    coefficients = (sympy.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in count(1))
    inverse = g**-1
    series = (inverse * inverse).compose(coefficients) * inverse
    return exp((g - S.Half) * log(g) - g + sympy.log(2 * sympy.pi) / 2 + series)


def _hyper(node: sympy.Expr, expand: Expand) -> Expansion:
    g = expand(node.argument)
    expansion = expand_hyper(node, g, limit(g))
    return _taylor(node, expand) if expansion is None else expansion


def _taylor(node: sympy.Expr, expand: Expand) -> Expansion:
    """The Taylor series of a function in its last argument, at the finite limit of the argument."""
    g = expand(node.args[-1])
    value = limit(g)
    if value is None:
        raise ExpansionError(f"{node.func.__name__} of an unbounded argument cannot be expanded")
    function = node.func(*node.args[:-1], _X)

    def coefficients() -> Iterator[sympy.Expr]:
        derivative = function
        for k in range(_MAX_DERIVATIVES):
            c = derivative.subs(_X, value) / sympy.factorial(k)
            if c.has(sympy.oo, sympy.zoo, sympy.nan):
                raise ExpansionError(f"{node.func.__name__} has no Taylor series at {value}")
            # A value of K_nu is slow, and would be evaluated again in every product.
            yield as_float(c) if k and node.func == sympy.besselk else c
            derivative = sympy.diff(derivative, _X)
        raise ExpansionError(f"more than {_MAX_DERIVATIVES} derivatives of {node.func} are needed")

    return (g - value).compose(coefficients())


def _sign_at_infinity(g: Expansion) -> int:
    """The sign of an expansion that tends to infinity or minus infinity."""
    return sign(g.as_series().terms[0][1])


def _refuse_minus_infinity(node: sympy.Expr, g: Expansion) -> None:
    if _sign_at_infinity(g) < 0:
        raise ExpansionError(f"{node.func.__name__} cannot be expanded at -infinity")


_RULES: dict[object, Callable[[sympy.Expr, Expand], Expansion]] = {
    sympy.exp: lambda node, expand: exp(expand(node.args[0])),
    sympy.log: lambda node, expand: log(expand(node.args[0])),
    **dict.fromkeys((sympy.sin, sympy.cos, sympy.tan), _trigonometric),
    **dict.fromkeys((sympy.sinh, sympy.cosh, sympy.tanh), _hyperbolic),
    sympy.asin: lambda node, expand: arcsine(expand(node.args[0])),
    sympy.acos: lambda node, expand: -arcsine(expand(node.args[0])) + sympy.pi / 2,
    sympy.atan: lambda node, expand: arctangent(expand(node.args[0])),
    sympy.erf: _erf,
    sympy.erfc: _erfc,
    **dict.fromkeys((sympy.besselj, sympy.besseli, sympy.besselk), _bessel),
    sympy.gamma: _gamma,
    sympy.expint: _expint,
    sympy.hyper: _hyper,
}
