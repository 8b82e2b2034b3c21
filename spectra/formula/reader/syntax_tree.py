"""Syntax trees to expressions, refusing by name what is not in the language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from spectra.errors import FormulaError, ParameterError
from spectra.formula.functions import CONSTANTS
from spectra.formula.reader.building import (
    MAX_DIGITS,
    OPERATIONS,
    SYMPY_FAILURES,
    apply,
    hypergeometric,
    piecewise,
)
from spectra.formula.reader.syntax import place_of, syntax_tree
from spectra.formula.reader.wording import (
    CALLABLE_NAMES,
    HINTS,
    canonical_functions,
    did_you_mean,
    no_value,
    short,
)

__all__ = ["Reader"]

_REFUSED_SYNTAX: dict[type[ast.AST], str] = {
    ast.Subscript: "indexing with [...] is not part of a formula",
    ast.Lambda: "lambda is not part of a formula; if a parameter is meant, call it lam",
    ast.ListComp: "a comprehension is not part of a formula; write the terms out",
    ast.SetComp: "a comprehension is not part of a formula; write the terms out",
    ast.DictComp: "a comprehension is not part of a formula; write the terms out",
    ast.GeneratorExp: "a comprehension is not part of a formula; write the terms out",
    ast.JoinedStr: "a string is not part of a formula; leave out the quotation marks",
    ast.NamedExpr: "the walrus := is not part of a formula; write the value where it is used",
    ast.IfExp: "write Piecewise((a, condition), (b, True)) instead of a if condition else b",
    ast.Compare: "a comparison is a condition, not a number; put it into Piecewise or Heaviside",
    ast.BoolOp: "and / or make conditions, not numbers; put them into Piecewise",
    ast.Tuple: "a comma makes a list of values; a formula has one value",
    ast.List: "a list has its place only in hyper([a], [b], x)",
    ast.Starred: "a starred expression is not part of a formula",
}


class Reader:
    """Turn one syntax tree into an expression, refusing by name what is not in the language."""

    def __init__(self, symbol: sympy.Symbol, values: Mapping[str, sympy.Expr], text: str) -> None:
        self._symbol = symbol
        self._values = values
        self._text = text
        self._source = text.replace("^", "**")
        self.used: set[str] = set()

    def read(self) -> sympy.Expr:
        return self._value(syntax_tree(self._text))

    def _show(self, node: ast.AST) -> str:
        return short(ast.get_source_segment(self._source, node) or type(node).__name__)

    def _refusal(self, node: ast.AST, why: str, *, at: ast.AST | None = None) -> FormulaError:
        part, whole = self._show(node), short(self._text)
        place = "" if part in (whole, short(self._source)) else f" in {whole!r}"
        return FormulaError(
            f"cannot read {part!r}{place}: {why}", place=place_of(self._text, at or node)
        )

    def _value(self, node: ast.expr) -> sympy.Expr:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.BinOp():
                return self._chain(node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                raise self._refusal(node, self._attribute_advice(node))
        reason = _REFUSED_SYNTAX.get(type(node), "this is not part of a formula")
        raise self._refusal(node, reason)

    def _attribute_advice(self, node: ast.Attribute) -> str:
        name = node.attr
        if name in CALLABLE_NAMES:
            return (
                f"names with a dot are not accepted; write {name}(...), not {self._show(node)}(...)"
            )
        if name in CONSTANTS:
            return f"names with a dot are not accepted; write {name}"
        return f"attributes such as .{name} are not part of a formula; write plain names"

    def _number(self, node: ast.Constant) -> sympy.Expr:
        value = node.value
        if isinstance(value, bool):
            raise self._refusal(node, "True and False are conditions, not numbers; write 1 or 0")
        if isinstance(value, int):
            return sympy.Integer(value)
        if isinstance(value, float):
            return self._decimal(node)
        if isinstance(value, complex):
            raise self._refusal(
                node, "imaginary numbers have no place in a real kernel; leave it out"
            )
        if isinstance(value, str | bytes):
            raise self._refusal(
                node, "a string is not part of a formula; leave out the quotation marks"
            )
        raise self._refusal(node, "this is not a number")

    def _decimal(self, node: ast.Constant) -> sympy.Rational:
        source = (ast.get_source_segment(self._source, node) or "").replace("_", "")
        _, _, exponent = source.lower().partition("e")
        # The exponent is bounded before it becomes an integer with that many digits.
        if len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DIGITS:
            raise self._refusal(node, f"its exponent is beyond {MAX_DIGITS}; rescale the formula")
        number = Fraction(source)
        return sympy.Rational(number.numerator, number.denominator)

    def _name(self, node: ast.Name) -> sympy.Expr:
        name = node.id
        if name == self._symbol.name:
            return self._symbol
        if name in self._values:
            self.used.add(name)
            return self._values[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name == "I":
            raise self._refusal(
                node, "imaginary numbers have no place in a real kernel; leave it out"
            )
        if name in CALLABLE_NAMES:
            raise ParameterError(
                f"{name!r} is a function without its argument in {short(self._text)!r}; write "
                f"{name}(...), or pass {name}=... if it is meant as a parameter",
                place=place_of(self._text, node),
            )
        raise no_value(name, self._symbol, self._values, place=place_of(self._text, node))

    def _chain(self, node: ast.BinOp) -> sympy.Expr:
        """Read a + b - c * ... with a loop: the left spine of a long sum is deep."""
        spine: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        value = self._value(left)
        for step in reversed(spine):
            value = self._operate(step, value, self._value(step.right))
        return value

    def _operate(self, node: ast.BinOp, left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            raise self._refusal(node, "& and | join conditions: put each comparison in brackets")
        if type(node.op) not in OPERATIONS:
            raise self._refusal(node, "only + - * / ** (or ^) are operators of a formula")
        return self._guard(node, lambda: OPERATIONS[type(node.op)](left, right))

    def _guard(self, node: ast.AST, build: Callable[[], sympy.Expr]) -> sympy.Expr:
        try:
            return build()
        except FormulaError as error:
            raise self._refusal(node, str(error)) from None
        except SYMPY_FAILURES as error:
            raise self._refusal(node, f"it has no meaning here ({short(error)})") from None

    def _call(self, node: ast.Call) -> sympy.Expr:
        name = self._callee(node)
        if node.keywords:
            raise self._refusal(
                node, f"keyword arguments ({node.keywords[0].arg}=...) are not accepted"
            )
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._refusal(node, "starred arguments are not accepted")
        if name == "Piecewise":
            return self._piecewise(node)
        if name == "hyper":
            return self._hyper(node)
        arguments = [self._value(argument) for argument in node.args]
        return self._guard(node, lambda: apply(name, arguments))

    def _callee(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            raise self._refusal(function, self._attribute_advice(function))
        if not isinstance(function, ast.Name):
            raise self._refusal(
                node, "only functions can be called; a product needs its *, as in 2*(1 + z)"
            )
        name = function.id
        if name in CALLABLE_NAMES:
            return name
        if name in (self._symbol.name, *self._values, *CONSTANTS):
            raise self._refusal(
                node, f"{name} is not a function; a product needs its *, as in {name}*(...)"
            )
        advice = HINTS.get(name) or (
            f"known are {', '.join(canonical_functions())}" + did_you_mean(name, CALLABLE_NAMES)
        )
        raise self._refusal(
            node, f"{name!r} is not a function of the formula language; {advice}", at=function
        )

    def _hyper(self, node: ast.Call) -> sympy.Expr:
        if len(node.args) != 3:
            raise self._refusal(
                node, f"hyper takes 3 arguments, not {len(node.args)}: hyper([a], [b], x)"
            )
        upper, lower = (self._list(argument) for argument in node.args[:2])
        argument = self._value(node.args[2])
        return self._guard(node, lambda: hypergeometric(upper, lower, argument))

    def _list(self, node: ast.expr) -> list[sympy.Expr]:
        # sympy prints the parameters of hyper as a tuple, people write a list.
        if not isinstance(node, ast.List | ast.Tuple):
            raise self._refusal(node, "write the parameters of hyper as lists: hyper([a], [b], x)")
        return [self._value(element) for element in node.elts]

    def _piecewise(self, node: ast.Call) -> sympy.Expr:
        if not node.args:
            raise self._refusal(node, "Piecewise needs at least one pair (value, condition)")
        pairs = []
        for pair in node.args:
            if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                raise self._refusal(pair, "each argument of Piecewise is a pair (value, condition)")
            pairs.append((self._value(pair.elts[0]), self._condition(pair.elts[1])))
        return self._guard(node, lambda: piecewise(pairs))

    def _condition(self, node: ast.expr) -> sympy.Basic:
        match node:
            case ast.Constant(value=bool(value)):
                return sympy.true if value else sympy.false
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp(op=op, values=values):
                join = sympy.And if isinstance(op, ast.And) else sympy.Or
                return join(*[self._condition(value) for value in values])
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as op, left=left, right=right):
                join = sympy.And if isinstance(op, ast.BitAnd) else sympy.Or
                return join(self._condition(left), self._condition(right))
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return sympy.Not(self._condition(operand))
            case ast.Call(func=ast.Name(id="Eq" | "Ne" as name), args=[left, right], keywords=[]):
                relation = sympy.Eq if name == "Eq" else sympy.Ne
                return self._relate(node, relation, self._value(left), self._value(right))
        raise self._refusal(
            node, "this is not a condition; write a comparison such as z < 1, or True for the rest"
        )

    def _comparison(self, node: ast.Compare) -> sympy.Basic:
        sides = [self._value(side) for side in (node.left, *node.comparators)]
        parts = []
        for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            if type(op) not in _RELATIONS:
                raise self._refusal(node, "only < <= > >= == != compare")
            parts.append(self._relate(node, _RELATIONS[type(op)], left, right))
        return sympy.And(*parts)

    def _relate(self, node: ast.AST, relation: Any, left: Any, right: Any) -> sympy.Basic:
        return self._guard(node, lambda: relation(left, right))


_RELATIONS: dict[type[ast.cmpop], Any] = {
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
}
