r"""Positive definite functions from others: sums, products and power series.

Sums and products of positive definite functions are positive definite (Schur), and so is
:math:`F(g) = \sum_n a_n g^n` if every :math:`a_n \ge 0` and the series converges at the value of g
at coinciding points, which is the maximum of \|g\|.  The simplest parts of a formula, *base cases*,
are proved by other rules: u = <x, y> on the sphere; completely monotone functions and plane waves
on R^d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import sympy
from sympy import Expr, Symbol

from spectra.base.limits import check_time
from spectra.formula.expansions.exact_numbers import ExpansionError, sign
from spectra.formula.functions import PIECEWISE
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import U, Z
from spectra.formula.pieces import LONGEST_SUM, expanded_length

__all__ = [
    "DimensionRules", "has_no_zero_below_2", "has_nonnegative_taylor_series", "value_or_none",
]  # fmt: skip

#: The maximum of |g| for a positive definite formula g: its value at coinciding points.
MaximumOf = Callable[[Expr], Expr | None]
#: The largest dimension in which a formula is proved to be positive definite; 0 for none.
DimensionOf = Callable[[Expr], float]
#: Limits of a proof by derivatives: their number, and the operations in one.
_MOST_DERIVATIVES, _LONGEST_DERIVATIVE = 3, 200
#: The variable of a power series F: _X, or _Y if the formula F(g) is a function of _X.
_X, _Y = sympy.Symbol("x", real=True), sympy.Symbol("y", real=True)
_ONE = sympy.Integer(1)


@dataclass(frozen=True, eq=False)
class DimensionRules:
    """The largest dimension in which a formula in ``symbol`` is proved positive definite, or 0.

    ``part_dimension`` is for the argument g of a power series F(g); None applies the same rules.
    With ``may_diverge`` a series may be infinite at the maximum of its argument.
    """

    symbol: Symbol
    base_case_dimension: DimensionOf
    maximum: MaximumOf
    part_dimension: DimensionOf | None = None
    may_diverge: bool = False
    _known: dict[Expr, float] = field(default_factory=dict)

    def __call__(self, expr: Expr) -> float:
        if expr not in self._known:
            self._known[expr] = 0.0  # ends the recursion if a rule leads back to this formula
            self._known[expr] = self._apply_rules(expr)
        return self._known[expr]

    def _apply_rules(self, expr: Expr) -> float:
        check_time()
        if not expr.has(self.symbol):
            return math.inf if _is_nonnegative(expr) else 0.0
        dim = self._dimension_of_series(expr)
        if dim == math.inf:
            return dim
        return max(dim, self.base_case_dimension(expr), self._dimension_from_parts(expr))

    def _dimension_from_parts(self, expr: Expr) -> float:
        """Apply the rules for sums, products, and functions with a nonnegative power series."""
        if expr.is_Add:
            dims = {a: self(a) for a in expr.args}
            unproved = [a for a, dim in dims.items() if not dim]
            if len(unproved) == len(dims):
                return 0.0
            dim = min(v for v in dims.values() if v)
            return min(dim, self(sympy.factor_terms(sympy.Add(*unproved)))) if unproved else dim
        if expr.is_Mul:
            return min(map(self, expr.args))
        if expr.func == sympy.exp:
            # exp(c + f + g) is a product, whose factors may be base cases even if f and g are not.
            summands = self._summands(expr.args[0])
            if summands == [expr.args[0]]:
                return self(expr.args[0])
            return min(self(sympy.exp(a)) for a in summands)
        if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
            return self(expr.base)
        if expr.is_Pow and not expr.base.has(self.symbol) and sign(expr.base - 1) > 0:
            return min(map(self, self._summands(expr.exp)))
        if expr.func in (sympy.sinh, sympy.cosh) or (
            expr.func == sympy.besseli and expr.args[0].is_Integer
        ):
            return self(expr.args[-1])
        if expr.func == sympy.asin:
            inner, radius = expr.args[0], _ONE
        elif expr.is_Pow and not expr.exp.has(self.symbol) and expr.exp.is_negative:
            # (c - g)^-b is a power series in g with coefficients >= 0 and the radius c.
            radius, rest = expr.base.as_independent(self.symbol, as_Add=True)
            inner = sympy.expand(-rest)
        else:
            return 0.0
        largest = self.maximum(inner)
        if largest is None or not (radius.is_positive and _is_nonnegative(radius - largest)):
            return 0.0
        converges = self.may_diverge or expr.func == sympy.asin or sign(radius - largest) > 0
        return self(inner) if converges else 0.0

    def _summands(self, expr: Expr) -> list[Expr]:
        return [a for a in sympy.Add.make_args(expr) if a.has(self.symbol)]

    def _dimension_of_series(self, expr: Expr) -> float:
        """Write the formula as F(g), g positive definite and F a nonnegative power series."""
        best, variable = 0.0, _X if self.symbol != _X else _Y
        for factor, part in _inner_parts(expr, self.symbol):
            series = _replace_part(expr, part, variable / factor)
            if part == expr or series.has(self.symbol):
                continue
            g = factor * part
            largest, dim = self.maximum(g), (self.part_dimension or self)(g)
            is_better = largest is not None and dim > best
            if is_better and has_nonnegative_taylor_series(series, variable, largest):
                best = dim
        return best


def _inner_parts(expr: Expr, symbol: Symbol) -> Iterator[tuple[Expr, Expr]]:
    """Candidates for the g of a formula F(g): nodes and their arguments c h, as pairs (c, h)."""
    seen = {symbol, expr}
    for node in sympy.preorder_traversal(expr):
        if not node.args or not node.has(symbol) or node.is_Add or node.is_Mul:
            continue
        if not all(isinstance(e, Expr) for e in (node, node.args[-1])):
            continue  # a condition of a Piecewise
        inner = node.base if node.is_Pow and not node.exp.has(symbol) else node.args[-1]
        factor, part = inner.as_independent(symbol, as_Add=False)
        for candidate in ((factor, part), (_ONE, inner), (_ONE, node)):
            if candidate[1] not in seen:
                seen.add(candidate[1])
                yield candidate


def _replace_part(expr: Expr, part: Expr, value: Expr) -> Expr:
    """Replace one part of a formula; for exp(g), every exp(n g) by the power n of the value."""
    replaced = expr.xreplace({part: value, -part: -value})  # sympy writes asin(-g) as -asin(g)
    if part.func != sympy.exp:
        return replaced
    inner = part.args[0]
    return replaced.replace(
        lambda e: e.func == sympy.exp and (e.args[0] / inner).is_Integer,
        lambda e: value ** (e.args[0] / inner),
    )


def _is_nonnegative(c: Expr) -> bool:
    try:
        return sign(c) >= 0
    except (ExpansionError, TypeError):
        return False


@lru_cache(maxsize=2000)
def has_nonnegative_taylor_series(formula: Expr, symbol: Symbol = U, largest: Expr = _ONE) -> bool:
    """Whether all Taylor coefficients at 0 are proved >= 0 and the series converges at ``largest``.

    Such a formula in u = <x, y> is positive definite on the sphere of every dimension, because the
    powers of u are.  The proof applies the rules to the formula f, or to f' if f(0) >= 0.
    """
    if formula.has(*PIECEWISE):
        return False
    if formula.is_polynomial(symbol):
        return all(map(_is_nonnegative, sympy.Poly(formula, symbol).all_coeffs()))
    formula = formula.replace(sympy.acos, lambda g: sympy.pi / 2 - sympy.asin(g))
    return _taylor_rules(symbol, largest)(formula) == math.inf


def _taylor_rules(symbol: Symbol, largest: Expr, *, source: Expr | None = None) -> DimensionOf:
    """Make rules that return infinity if they prove a nonnegative Taylor series, and else 0.

    If the formulas are derivatives of ``source``, they may be infinite at ``largest``, and the
    argument of a series must be a proper part of ``source``, so that the recursion ends.
    """

    def base_case_dimension(formula: Expr) -> float:
        if formula == symbol:
            return math.inf
        if source is not None:
            return 0.0
        return math.inf if _is_proved_by_derivatives(formula, symbol, largest, rules) else 0.0

    def part_dimension(formula: Expr) -> float:
        inner = formula.as_independent(symbol, as_Add=False)[1]
        if source is not None and (source == inner or not source.has(inner)):
            return 0.0
        return math.inf if has_nonnegative_taylor_series(formula, symbol, largest) else 0.0

    def maximum(formula: Expr) -> Expr | None:
        return value_or_none(formula.subs(symbol, largest))

    rules = DimensionRules(
        symbol, base_case_dimension, maximum, part_dimension, may_diverge=source is not None
    )
    return rules


def _is_proved_by_derivatives(formula: Expr, x: Symbol, largest: Expr, rules: DimensionOf) -> bool:
    """Whether the rules prove some derivative, and all derivatives of lower order are >= 0 at 0.

    A series with coefficients >= 0 converges at ``largest`` if its sum is bounded below it (Abel).
    """
    if any(not f.args[-1].is_polynomial(x) for f in formula.atoms(sympy.Function)):
        return False  # derivatives of nested functions grow too long
    if expanded_length(formula) > LONGEST_SUM:
        return False
    source = current = _simplify(formula)
    for _ in range(_MOST_DERIVATIVES):
        if rules(current):
            return current == source or value_at_zero(formula.subs(x, largest - Z)) is not None
        value = value_or_none(current.subs(x, 0))
        if value is None or not _is_nonnegative(value):
            return False
        derivative = sympy.diff(current, x)
        if sympy.count_ops(derivative) > _LONGEST_DERIVATIVE:
            return False
        current = _simplify(derivative)
        rules = _taylor_rules(x, largest, source=source)
    return False


def value_or_none(value: Expr) -> Expr | None:
    """The value, or None if it is infinite or undefined."""
    return None if value.has(sympy.oo, sympy.zoo, sympy.nan) else value


def _simplify(expr: Expr) -> Expr:
    """Reduce to one fraction, cancel common factors, and expand."""
    return sympy.expand(sympy.cancel(sympy.together(expr)))


def _in_inner_product(expr: Expr) -> Expr:
    """Write a formula in z on 0 <= z <= 2 as one in u = 1 - z^2/2."""
    half_angle, half_sum = sympy.acos(U) / 2, (1 + U) / 2  # asin(z/2) and 1 - z^2/4
    replaced = {1 - Z**2 / 4: half_sum, 1 - Z**2 / 2: U}
    expr = expr.replace(sympy.asin(Z / 2), half_angle).xreplace(replaced)
    expr = expr.subs(Z, sympy.sqrt(2) * sympy.sqrt(1 - U))

    def merge_powers(product: Expr) -> Expr:
        """Write (1 - u)^p ((1 + u)/2)^p as ((1 - u^2)/2)^p."""
        powers = [p for p in product.args if p.is_Pow]
        for p in (p for p in powers if p.base == 1 - U):
            for q in powers:
                if q.exp == p.exp and sympy.expand(q.base - half_sum) == 0:
                    half = sympy.Rational(1, 2)
                    return product / (p * q) * (1 - U**2) ** q.exp * half**q.exp
        return product

    return expr.replace(lambda e: e.is_Mul, merge_powers)


@lru_cache(maxsize=500)
def has_no_zero_below_2(expr: Expr) -> bool:
    """Whether a formula in z is proved to have no zero on 0 < z < 2: |u| < 1, u = 1 - z^2/2.

    The proof is for c + g and c - g, where g has a nonnegative Taylor series in u: since
    |g(u)| <= g(|u|) < g(1), |c| >= g(1) suffices.
    """
    constant, rest = _in_inner_product(expr).as_independent(U, as_Add=True)
    if rest.has(Z) or not rest.has(U) or rest.is_polynomial(U):
        return False
    for g in (rest, -rest):
        maximum = value_or_none(g.subs(U, 1))
        is_bounded = maximum is not None and _is_nonnegative(sympy.Abs(constant) - maximum)
        if is_bounded and has_nonnegative_taylor_series(g):
            return True
    return False
