r"""Positive definite functions made of others: sums, products and power series.

Sums and products of positive definite functions are positive definite (Schur), and so is
:math:`F(g) = \sum_n a_n g^n` where every :math:`a_n \ge 0` and the series converges up to g's value
at coinciding points, which bounds |g|.  What a formula is made of, its *atoms*, is known elsewhere:
u = <x, y> on the sphere, completely monotone functions and plane waves on R^d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.functions import PIECEWISE
from spectra.formula.reader.parsing import U, Z

__all__ = ["closure", "finite", "has_nonnegative_taylor_series", "in_cosine", "is_below_its_end"]

#: Derivatives taken in search of one with a visibly nonnegative Taylor series.
_MOST_DERIVATIVES = 3
#: The value of a formula at coinciding points; the largest dimension in which it is known.
Top = Callable[[sympy.Expr], sympy.Expr | None]
Known = Callable[[sympy.Expr], float]
#: Operations in a derivative beyond which the search is given up: those that help stay short.
_LONGEST_DERIVATIVE = 200
#: Names of a part of a formula: never that of the variable which the formula has itself.
_X, _Y = sympy.Symbol("x", real=True), sympy.Symbol("y", real=True)
_ONE = sympy.Integer(1)


def closure(symbol: sympy.Symbol, atom: Known, top: Top, part: Known | None = None) -> Known:
    """Make a function: the largest dimension in which a formula is visibly positive definite, or 0.

    ``atom`` knows formulas that are so of themselves, ``top`` the values at coinciding points, and
    ``part`` the dimension of what a power series is taken of, by default the function itself.
    """
    known: dict[sympy.Expr, float] = {}

    def dimension(expr: sympy.Expr) -> float:
        if expr not in known:
            known[expr] = 0.0  # a formula is no part of itself
            known[expr] = found(expr)
        return known[expr]

    def found(expr: sympy.Expr) -> float:
        if not expr.has(symbol):
            return math.inf if _is_nonnegative(expr) else 0.0
        whole = _as_series(expr, symbol, top, part or dimension)
        if whole == math.inf:
            return whole
        return max(whole, atom(expr), _by_parts(expr, symbol, top, dimension))

    return dimension


def _by_parts(expr: sympy.Expr, symbol: sympy.Symbol, top: Top, known: Known) -> float:
    """Sums and products, and the power series that are functions of the language."""
    if expr.is_Add:
        parts = {a: known(a) for a in expr.args}
        open_ones = [a for a, dim in parts.items() if not dim]
        shown = min((v for v in parts.values() if v), default=math.inf)
        if open_ones and len(open_ones) < len(parts):
            shown = min(shown, known(sympy.factor_terms(sympy.Add(*open_ones))))
        return shown if len(open_ones) < len(parts) else 0.0
    if expr.is_Mul:
        return min(known(a) for a in expr.args)
    if expr.func == sympy.exp:
        # exp(c + f + g) is a product, whose factors may be atoms though f and g are none.
        summands = [a for a in sympy.Add.make_args(expr.args[0]) if a.has(symbol)]
        if summands == [expr.args[0]]:
            return known(expr.args[0])
        return min(known(sympy.exp(a)) for a in summands)
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return known(expr.base)
    if expr.is_Pow and not expr.base.has(symbol) and sign(expr.base - 1) > 0:
        return min(known(a) for a in sympy.Add.make_args(expr.exp) if a.has(symbol))
    if expr.func in (sympy.sinh, sympy.cosh) or (
        expr.func == sympy.besseli and expr.args[0].is_Integer
    ):
        return known(expr.args[-1])
    if expr.func == sympy.asin:
        inner, radius = expr.args[0], _ONE
    elif expr.is_Pow and not expr.exp.has(symbol) and expr.exp.is_negative:
        # (c - g)^-b: a power series of positive coefficients in g / c.
        radius, rest = expr.base.as_independent(symbol, as_Add=True)
        inner = sympy.expand(-rest)
    else:
        return 0.0
    reach = top(inner)
    if reach is None or not (radius.is_positive and _is_nonnegative(radius - reach)):
        return 0.0
    return known(inner)


def _as_series(expr: sympy.Expr, symbol: sympy.Symbol, top: Top, known: Known) -> float:
    """A power series F in one part of the formula, which is positive definite itself."""
    best, name = 0.0, _X if symbol != _X else _Y
    for factor, part in _parts_in_common(expr, symbol):
        series = _as_function_of(expr, part, name / factor)
        if part == expr or series.has(symbol):
            continue
        reach, dim = top(factor * part), known(factor * part)
        if reach is not None and dim > best and has_nonnegative_taylor_series(series, name, reach):
            best = dim
    return best


def _parts_in_common(
    expr: sympy.Expr, symbol: sympy.Symbol
) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Parts of which the whole may be a function: arguments c * part, as (c, part)."""
    seen = {symbol, expr}
    for node in sympy.preorder_traversal(expr):
        if not node.args or not node.has(symbol) or node.is_Add or node.is_Mul:
            continue
        if not all(isinstance(e, sympy.Expr) for e in (node, node.args[-1])):  # of a Piecewise
            continue
        inner = node.base if node.is_Pow and not node.exp.has(symbol) else node.args[-1]
        factor, part = inner.as_independent(symbol, as_Add=False)
        for found in ((factor, part), (_ONE, inner), (_ONE, node)):
            if found[1] not in seen:
                seen.add(found[1])
                yield found


def _as_function_of(expr: sympy.Expr, part: sympy.Expr, name: sympy.Expr) -> sympy.Expr:
    """The formula with a new name for one part; exp(n g) is a power of exp(g)."""
    series = expr.xreplace({part: name, -part: -name})  # asin(-g) is written -asin(g) by sympy
    if part.func != sympy.exp:
        return series
    inner = part.args[0]
    return series.replace(
        lambda e: e.func == sympy.exp and (e.args[0] / inner).is_Integer,
        lambda e: name ** (e.args[0] / inner),
    )


def _is_nonnegative(c: sympy.Expr) -> bool:
    try:
        return sign(c) >= 0
    except (ExpansionError, TypeError):
        return False


@lru_cache(maxsize=2000)
def has_nonnegative_taylor_series(
    formula: sympy.Expr, symbol: sympy.Symbol = U, reach: sympy.Expr = _ONE
) -> bool:
    """Whether it can be proved that every Taylor coefficient at 0 is nonnegative, up to ``reach``.

    Then the kernel is positive definite on the sphere of every dimension, because the powers of
    <x, y> are and products of positive definite kernels are (Schur).  The proof goes by rules for
    sums, products and compositions, and by f(0) >= 0 with the same for f'.
    """
    if formula.has(*PIECEWISE):
        return False
    formula = formula.replace(sympy.acos, lambda g: sympy.pi / 2 - sympy.asin(g))
    return _power_series(symbol, reach)(formula) == math.inf


def _power_series(
    symbol: sympy.Symbol, reach: sympy.Expr, *, source: sympy.Expr | None = None
) -> Known:
    """Rules for power series in one variable, whose atoms are it and what derivatives show.

    Of derivatives of a ``source`` only parts are asked for that it has itself: the descent ends.
    """

    def atom(formula: sympy.Expr) -> float:
        if formula == symbol:
            return math.inf
        return 0.0 if source is not None else _by_derivatives(formula, symbol, reach, rules)

    def part(formula: sympy.Expr) -> float:
        inner = formula.as_independent(symbol, as_Add=False)[1]
        if source is not None and (source == inner or not source.has(inner)):
            return 0.0
        return math.inf if has_nonnegative_taylor_series(formula, symbol, reach) else 0.0

    rules = closure(symbol, atom, lambda e: finite(e.subs(symbol, reach)), part)
    return rules


def _by_derivatives(formula: sympy.Expr, x: sympy.Symbol, reach: sympy.Expr, rules: Known) -> float:
    """Rules show it of a derivative, and f(0) >= 0 of those before it."""
    if any(not f.args[-1].is_polynomial(x) for f in formula.atoms(sympy.Function)):
        return 0.0  # derivatives of what is nested swell, and parts of it were asked for
    source = current = _simplified(formula)
    for _ in range(_MOST_DERIVATIVES):
        if rules(current):
            return math.inf
        value = finite(current.subs(x, 0))
        if value is None or not _is_nonnegative(value):
            return 0.0
        slope = sympy.diff(current, x)
        if sympy.count_ops(slope) > _LONGEST_DERIVATIVE:
            return 0.0
        current = _simplified(slope)
        rules = _power_series(x, reach, source=source)
    return 0.0


def finite(value: sympy.Expr) -> sympy.Expr | None:
    """The value, or None for an infinite or undefined one."""
    return None if value.has(sympy.oo, sympy.zoo, sympy.nan) else value


def _simplified(expr: sympy.Expr) -> sympy.Expr:
    """Written over one denominator, so that what cancels in it is gone, and multiplied out."""
    return sympy.expand(sympy.cancel(sympy.together(expr)))


# --- formulas in z^2 = 2 - 2u ---------------------------------------------------------------


def in_cosine(expr: sympy.Expr) -> sympy.Expr:
    """A formula in z as one in u = 1 - z^2/2, on 0 <= z <= 2."""
    arc, far = sympy.acos(U) / 2, (1 + U) / 2
    expr = expr.replace(sympy.asin(Z / 2), arc).xreplace({1 - Z**2 / 4: far, 1 - Z**2 / 2: U})
    expr = expr.subs(Z, sympy.sqrt(2) * sympy.sqrt(1 - U))

    def joined(product: sympy.Expr) -> sympy.Expr:
        powers = [p for p in product.args if p.is_Pow]
        for near in (p for p in powers if p.base == 1 - U):
            for p in (q for q in powers if q.exp == near.exp and sympy.expand(q.base - far) == 0):
                return product / (near * p) * (1 - U**2) ** p.exp * sympy.Rational(1, 2) ** p.exp
        return product

    return expr.replace(lambda e: e.is_Mul, joined)


@lru_cache(maxsize=500)
def is_below_its_end(expr: sympy.Expr) -> bool:
    """Whether c - g or c + g is shown to vanish for no |u| < 1, as g has a nonnegative series.

    Then |g(u)| <= g(|u|) < g(1), so that |c| >= g(1) suffices.
    """
    constant, rest = in_cosine(expr).as_independent(U, as_Add=True)
    if rest.has(Z) or not rest.has(U) or rest.is_polynomial(U):
        return False
    for g in (rest, -rest):
        end = finite(g.subs(U, 1))
        if end is None or not _is_nonnegative(sympy.Abs(constant) - end):
            continue
        if has_nonnegative_taylor_series(g):
            return True
    return False
