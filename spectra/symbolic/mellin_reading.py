"""Read sympy's Mellin transforms as Gamma products: sines and rational factors become such too."""

from __future__ import annotations

import sympy

from spectra.density.gamma_sums import GammaProduct, LinearArgument

__all__ = ["read_mellin"]

_ONE = sympy.Integer(1)
_HALF = sympy.Rational(1, 2)


def read_mellin(expr: sympy.Expr, s: sympy.Symbol) -> list[GammaProduct] | None:
    """The summands of M(s) as Gamma products, or None if one is of another kind.

    Poles of Gamma functions that rise with s are taken to lie left of the strip, the others right
    of it; whoever uses the result checks it.
    """
    found = []
    for term in sympy.Add.make_args(sympy.expand_mul(expr)):
        product = _product(term, s)
        if product is None:
            return None
        found.append(product)
    return found


def _product(term: sympy.Expr, s: sympy.Symbol) -> GammaProduct | None:
    coefficient, scale = _ONE, _ONE
    above: list[LinearArgument] = []
    below: list[LinearArgument] = []
    for factor in sympy.Mul.make_args(term):
        if not factor.has(s):
            coefficient *= factor
            continue
        base, power = factor.as_base_exp()
        if not base.has(s):
            linear = _linear(power, s)
            if linear is None or not base.is_positive:
                return None
            coefficient *= base ** linear[0]
            scale *= base ** -linear[1]
            continue
        if not power.is_Integer:
            return None
        up, down = (above, below) if power > 0 else (below, above)
        read = _factor(base, s)
        if read is None:
            return None
        front, mine, theirs, turn = read
        if turn != 0 and (power != 1 or scale.has(sympy.I)):
            return None
        coefficient *= front**power
        scale *= sympy.exp(-sympy.I * turn)
        up += mine * abs(int(power))
        down += theirs * abs(int(power))
    if not all(a.is_Rational and b.is_Rational for a, b in (*above, *below)):
        return None
    return GammaProduct(coefficient, sympy.simplify(scale), tuple(above), tuple(below))


def _factor(
    base: sympy.Expr, s: sympy.Symbol
) -> tuple[sympy.Expr, list[LinearArgument], list[LinearArgument], sympy.Expr] | None:
    """Constant, Gamma functions above and below, and the angle t of a factor cos(t s)."""
    zero = sympy.Integer(0)
    if isinstance(base, sympy.gamma):
        linear = _linear(base.args[0], s)
        return None if linear is None else (_ONE, [linear], [], zero)
    if isinstance(base, sympy.sin | sympy.cos):
        linear = _linear(base.args[0], s)
        if linear is None:
            return None
        offset, slope = (x / sympy.pi for x in linear)
        if not (offset.is_Rational and slope.is_Rational):
            is_turn = isinstance(base, sympy.cos) and linear[0] == 0
            return (_ONE, [], [], linear[1]) if is_turn else None
        if isinstance(base, sympy.cos):
            offset += _HALF
        # sin(pi y) = pi / (Gamma(y) Gamma(1 - y)), DLMF 5.5.3
        return sympy.pi, [], [(offset, slope), (1 - offset, -slope)], zero
    linear = _linear(base, s)
    if linear is None or not all(x.is_Rational for x in linear):
        return None
    offset, slope = linear[0] / linear[1], _ONE
    # a + b s = b Gamma(s + a/b + 1) / Gamma(s + a/b)
    return linear[1], [(offset + 1, slope)], [(offset, slope)], zero


def _linear(expr: sympy.Expr, s: sympy.Symbol) -> LinearArgument | None:
    """offset and slope of a linear expression in s."""
    slope = sympy.diff(expr, s)
    offset = sympy.expand(expr - slope * s)
    return None if slope.has(s) or offset.has(s) or slope == 0 else (offset, slope)
