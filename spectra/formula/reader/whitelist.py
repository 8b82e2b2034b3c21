"""Sympy expressions rebuilt node by node from the language, and audited as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy

from spectra.errors import FormulaError, ParameterError
from spectra.formula.reader.building import (
    MAX_DEPTH,
    MAX_EXPONENT,
    SYMPY_FAILURES,
    apply,
    hypergeometric,
    piecewise,
    power,
    sized,
)
from spectra.formula.reader.wording import BY_HEAD, no_value, short, unknown_function
from spectra.formula.rules import is_supported

__all__ = ["audited", "rebuilt"]

_MAX_NODES = 5000


def _children_first(expr: sympy.Basic) -> Iterator[sympy.Basic]:
    """Yield each different node once, arguments before what holds them; bound the work."""
    seen: set[sympy.Basic] = set()
    stack: list[tuple[sympy.Basic, int, bool]] = [(expr, 0, False)]
    while stack:
        node, depth, ready = stack.pop()
        if ready:
            yield node
            continue
        if node in seen:
            continue
        seen.add(node)
        if depth > 3 * MAX_DEPTH or len(seen) > _MAX_NODES:
            raise FormulaError(
                "the expression is too large or nested too deep; write a shorter one"
            )
        stack.append((node, depth, True))
        stack.extend((argument, depth + 1, False) for argument in node.args)


def rebuilt(
    expr: sympy.Expr, symbol: sympy.Symbol | None, values: Mapping[str, sympy.Expr]
) -> sympy.Expr:
    """Rebuild an expression from the language, with the values of its parameters."""
    done: dict[sympy.Basic, Any] = {}
    for node in _children_first(expr):
        arguments = [done[argument] for argument in node.args]
        try:
            done[node] = _rebuilt_node(node, arguments, symbol, values)
        except FormulaError as error:
            raise FormulaError(f"cannot accept {short(node)!r}: {error}") from None
        except ParameterError:
            raise
        except SYMPY_FAILURES as error:
            raise FormulaError(f"cannot accept {short(node)!r}: {short(error)}") from None
    return done[expr]


def _rebuilt_node(
    node: sympy.Basic,
    arguments: list[Any],
    symbol: sympy.Symbol | None,
    values: Mapping[str, sympy.Expr],
) -> Any:
    if node.is_Symbol:
        if symbol is not None and node.name == symbol.name:
            return symbol
        if node.name in values:
            return values[node.name]
        raise no_value(node.name, symbol or sympy.Symbol("z"), values)
    if node.is_Float:
        # At double precision by the shortest decimal, as for a parameter; beyond it by its digits.
        number = Fraction(repr(float(node)) if node._prec == 53 else str(node))
        return sized(sympy.Rational(number.numerator, number.denominator))
    if node.is_Rational or node in (sympy.pi, sympy.E, sympy.true, sympy.false):
        return sized(node) if node.is_Rational else node
    if isinstance(node, sympy.Tuple):
        return sympy.Tuple(*arguments)
    if node in (sympy.I, sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
        raise FormulaError("it is not a finite real number; kernels are real functions")
    if isinstance(node, sympy.Add | sympy.Mul):
        return reduce(lambda left, right: sized(node.func(left, right)), arguments)
    if isinstance(node, sympy.Pow):
        return power(*arguments)
    if isinstance(node, sympy.Piecewise):
        return piecewise(arguments)
    if isinstance(node, sympy.hyper):
        return hypergeometric(*arguments)
    if node.func in BY_HEAD:
        return apply(BY_HEAD[node.func].names[0], arguments)
    if is_supported(node):  # comparisons, And, Or, Not, and the pairs of Piecewise
        return node.func(*arguments)
    name = node.func.__name__
    raise FormulaError(unknown_function(name, name))


def audited(expr: sympy.Expr, symbol: sympy.Symbol | None) -> sympy.Expr:
    """Check the whole expression: sympy may have rewritten it into something else."""
    for node in _children_first(expr):
        if isinstance(node, sympy.Tuple):
            continue
        if not is_supported(node):
            raise FormulaError(
                f"sympy reads the formula as {short(expr)}, where {short(node)!r} is not a real "
                "function of the formula language; write that part in another way"
            )
        if node.is_Rational:
            sized(node)
        if node.is_Pow and not node.free_symbols and node.is_real is False:
            raise FormulaError(f"sympy reads {short(node)!r} into it, which is complex")
        if node.is_Pow and node.exp.is_Integer and abs(node.exp) > MAX_EXPONENT:
            raise FormulaError(f"the exponent in {short(node)!r} is beyond {MAX_EXPONENT}")
    others = expr.free_symbols - {symbol}
    if others:
        raise FormulaError(f"{short(expr)} still contains {short(others)}")
    return expr
