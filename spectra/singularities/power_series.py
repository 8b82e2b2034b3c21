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
from spectra.formula.expansions.kinks import KINKS
from spectra.formula.reader.parsing import U, Z

__all__ = ["Closure", "finite", "has_nonnegative_taylor_series", "in_cosine", "is_below_its_end"]

#: Derivatives taken in search of one with a visibly nonnegative Taylor series.
_MOST_DERIVATIVES = 3
#: Operations in a derivative beyond which the search is given up: those that help stay short.
_LONGEST_DERIVATIVE = 200
#: Names of a part of a formula: never that of the variable which the formula has itself.
_X, _Y = sympy.Symbol("x", real=True), sympy.Symbol("y", real=True)
_ONE = sympy.Integer(1)


class Closure:
    """The largest dimension in which a formula is visibly positive definite."""

    def __init__(
        self,
        symbol: sympy.Symbol,
        atom: Callable[[sympy.Expr], float],
        top: Callable[[sympy.Expr], sympy.Expr | None],
        part: Callable[[sympy.Expr], float] | None = None,
    ) -> None:
        self.symbol, self.atom, self.top, self.part = symbol, atom, top, part or self
        self._known: dict[sympy.Expr, float] = {}

    def __call__(self, expr: sympy.Expr) -> float:
        """The dimension; 0 where no rule shows it."""
        if expr not in self._known:
            self._known[expr] = 0  # a formula is no part of itself
            self._known[expr] = self._found(expr)
        return self._known[expr]

    def _found(self, expr: sympy.Expr) -> float:
        if not expr.has(self.symbol):
            return math.inf if _is_nonnegative(expr) else 0
        whole = self._as_series(expr)
        if whole == math.inf:
            return whole
        return max(whole, self.atom(expr), self._by_parts(expr))

    def by_rules(self, expr: sympy.Expr) -> float:
        """The dimension that sums, products and compositions show."""
        return self._as_series(expr) or self._by_parts(expr)

    def _by_parts(self, expr: sympy.Expr) -> float:
        """Sums and products, and the power series that are functions of the language."""
        if expr.is_Add:
            parts = {a: self(a) for a in expr.args}
            open_ones = [a for a, known in parts.items() if not known]
            shown = min((v for v in parts.values() if v), default=math.inf)
            if open_ones and len(open_ones) < len(parts):
                shown = min(shown, self(sympy.factor_terms(sympy.Add(*open_ones))))
            return shown if len(open_ones) < len(parts) else 0
        if expr.is_Mul:
            return min(self(a) for a in expr.args)
        if expr.func == sympy.exp:
            # exp(c + f + g) is a product, whose factors may be atoms though f and g are none.
            summands = [a for a in sympy.Add.make_args(expr.args[0]) if a.has(self.symbol)]
            if summands == [expr.args[0]]:
                return self(expr.args[0])
            return min(self(sympy.exp(a)) for a in summands)
        if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
            return self(expr.base)
        if expr.is_Pow and not expr.base.has(self.symbol) and sign(expr.base - 1) > 0:
            return min(self(a) for a in sympy.Add.make_args(expr.exp) if a.has(self.symbol))
        if expr.func in (sympy.sinh, sympy.cosh) or (
            expr.func == sympy.besseli and expr.args[0].is_Integer
        ):
            return self(expr.args[-1])
        if expr.func == sympy.asin:
            return self(expr.args[0]) if self._reaches(expr.args[0], _ONE) else 0
        if expr.is_Pow and not expr.exp.has(self.symbol) and expr.exp.is_negative:
            # (c - g)^-b: a power series of positive coefficients in g / c.
            constant, rest = expr.base.as_independent(self.symbol, as_Add=True)
            if constant.is_positive and self._reaches(-rest, constant):
                return self(sympy.expand(-rest))
        return 0

    def _reaches(self, inner: sympy.Expr, radius: sympy.Expr) -> bool:
        """Whether a function stays within the radius of convergence."""
        top = self.top(inner)
        return top is not None and _is_nonnegative(radius - top)

    def _as_series(self, expr: sympy.Expr) -> float:
        """A power series F in one part of the formula, which is positive definite itself."""
        best, name = 0.0, _X if self.symbol != _X else _Y
        for factor, part in _parts_in_common(expr, self.symbol):
            series = _as_function_of(expr, part, name / factor)
            if part == expr or series.has(self.symbol):
                continue
            reach, dim = self.top(factor * part), self.part(factor * part)
            if reach is None or not dim > best:
                continue
            if has_nonnegative_taylor_series(series, name, reach):
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
    if formula.has(*KINKS):
        return False
    formula = formula.replace(sympy.acos, lambda g: sympy.pi / 2 - sympy.asin(g))
    return _power_series(symbol, reach)(formula) == math.inf


def _power_series(
    symbol: sympy.Symbol, reach: sympy.Expr, *, source: sympy.Expr | None = None
) -> Closure:
    """Rules for power series in one variable, whose atoms are it and what derivatives show.

    Of derivatives of a ``source`` only parts are asked for that it has itself: the descent ends.
    """

    def atom(formula: sympy.Expr) -> float:
        if formula == symbol:
            return math.inf
        return 0 if source is not None else _by_derivatives(formula, rules, reach)

    def part(formula: sympy.Expr) -> float:
        inner = formula.as_independent(symbol, as_Add=False)[1]
        if source is not None and (source == inner or not source.has(inner)):
            return 0
        return math.inf if has_nonnegative_taylor_series(formula, symbol, reach) else 0

    rules = Closure(symbol, atom, lambda e: finite(e.subs(symbol, reach)), part)
    return rules


def _by_derivatives(formula: sympy.Expr, rules: Closure, reach: sympy.Expr) -> float:
    """Rules show it of a derivative, and f(0) >= 0 of those before it."""
    x = rules.symbol
    if any(not f.args[-1].is_polynomial(x) for f in formula.atoms(sympy.Function)):
        return 0  # derivatives of what is nested swell, and parts of it were asked for
    source = current = _simplified(formula)
    for _ in range(_MOST_DERIVATIVES):
        if rules.by_rules(current):
            return math.inf
        value = finite(current.subs(x, 0))
        if value is None or not _is_nonnegative(value):
            return 0
        slope = sympy.diff(current, x)
        if sympy.count_ops(slope) > _LONGEST_DERIVATIVE:
            return 0
        current = _simplified(slope)
        rules = _power_series(x, reach, source=source)
    return 0


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
