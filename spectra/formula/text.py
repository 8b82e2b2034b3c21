"""Parse text to sympy expressions through Python's syntax tree, with errors that name the cause."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from spectra.base.limits import check_time
from spectra.errors import FormulaError, ParameterError, SpectraError
from spectra.formula.building import (
    MAX_DIGITS,
    OPERATORS,
    SYMPY_ERRORS,
    apply_function,
    check_value,
    make_hyper,
)
from spectra.formula.functions import CONSTANTS, FUNCTIONS, is_supported
from spectra.formula.wording import FUNCTION_NAMES, REPLACEMENTS, did_you_mean, shorten

__all__ = ["Parser", "normalize_text", "sympy_to_text"]

# Characters of a formula and levels of nested brackets, far above those of any kernel.
_MAX_TEXT, _MAX_DEPTH = 20_000, 40
_TOO_DEEP = f"the formula is nested more than {_MAX_DEPTH} levels deep; use fewer levels"
_NO_IMAGINARY = "kernels are real functions; imaginary numbers are not allowed"
# Advice for each type of syntax node, and of constant, that a formula cannot contain.
_ADVICE: dict[type, str] = {
    ast.Lambda: "lambda is a reserved word; give a parameter another name, such as lam",
    ast.IfExp: "write Piecewise((a, condition), (b, True)) instead of a if condition else b",
    ast.Compare: "a comparison is a condition, not a number; put it into Piecewise or Heaviside",
    ast.List: "a list is allowed only in hyper([a], [b], x); to make a kernel zero beyond a "
    "radius, use support=... (--support) or Piecewise((a, z <= 1), (0, True))",
    complex: _NO_IMAGINARY,
    str: "a string is not part of a formula; leave out the quotation marks",
}
_ADVICE_FOR_NAMES = {"I": _NO_IMAGINARY} | dict.fromkeys(
    ("oo", "zoo", "inf", "Infinity", "nan", "NaN"),
    "it is not finite; kernels are finite real functions",
)
_RELATIONS: dict[type[ast.cmpop], Any] = {
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
}


def normalize_text(text: str) -> str:
    """Check the length of a formula, refuse comments, join lines, and replace ^ by **."""
    if not text.strip():
        raise FormulaError('the formula is empty; write one such as "exp(-z**2/2)"')
    if len(text) > _MAX_TEXT or "#" in text:
        raise FormulaError(
            f"a formula has no '#' and at most {_MAX_TEXT} characters, and this one has "
            f"{len(text)}; write a long kernel as a sum of kernels"
        )
    return " ".join(text.replace("^", "**").split())


def _syntax_tree(text: str) -> ast.expr:
    """Parse text to a syntax tree; raise FormulaError for syntax errors and deep nesting."""
    depths = accumulate((c in "([") - (c in ")]") for c in text)
    if max(depths, default=0) > _MAX_DEPTH:
        raise FormulaError(_TOO_DEEP)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about unusual spellings such as "1if"
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        position = error.offset - 1 if error.offset else len(text)  # offset 0: at the end
        advice = "check brackets, commas and operators; a product needs its *"
        if re.search(r"\blambda\b", text):
            advice = "lambda is a reserved word: give the parameter another name, such as lam"
        place = (text, position, position + 1)
        marked_text = SpectraError(place=place).pointer.replace("\n", "\n    ")
        raise FormulaError(
            f"the formula is not complete or not well formed ({error.msg}) at character "
            f"{position + 1}:\n    {marked_text}\n{advice}",
            place=place,
        ) from None
    except ValueError as error:
        raise FormulaError(f"cannot read the formula {shorten(text)}: {error}") from None


class Parser:
    """Convert the text of a formula in ``symbol``, with parameter values, to an expression."""

    def __init__(self, symbol: sympy.Symbol, values: Mapping[str, sympy.Expr], text: str) -> None:
        self._symbol, self._values, self._text = symbol, values, text
        self.used_parameters: set[str] = set()

    def parse(self) -> sympy.Expr:
        """Return the expression."""
        try:
            return _check_nodes(self._value(_syntax_tree(self._text)))
        except (RecursionError, MemoryError):
            raise FormulaError(_TOO_DEEP) from None

    def _source(self, node: ast.AST) -> str:
        return shorten(ast.get_source_segment(self._text, node) or type(node).__name__)

    def _position(self, node: ast.AST) -> tuple[str, int, int]:
        """The text, and start and stop of the part text[start:stop] that the node represents."""
        if not isinstance(node, ast.expr) or node.end_col_offset is None:
            return self._text, 0, len(self._text)
        source = self._text.encode()  # ast counts bytes of UTF-8, not characters
        start, stop = (len(source[:n].decode()) for n in (node.col_offset, node.end_col_offset))
        return self._text, start, stop

    def _error(self, node: ast.AST, reason: str, *, at: ast.AST | None = None) -> FormulaError:
        """The error for a node, which marks the node ``at`` (by default the same) in the text."""
        source, text = self._source(node), shorten(self._text)
        context = "" if source == text else f" in {text!r}"
        position = self._position(at or node)
        return FormulaError(f"cannot read {source!r}{context}: {reason}", place=position)

    def _build(self, node: ast.AST, build: Callable[..., Any], *arguments: Any) -> Any:
        """Return build(*arguments), checked; errors name the node."""
        try:
            value = build(*arguments)
            return check_value(value) if isinstance(value, sympy.Expr) else value
        except FormulaError as error:
            raise self._error(node, str(error)) from None
        except SYMPY_ERRORS as error:
            raise self._error(node, f"sympy cannot evaluate it ({shorten(error)})") from None

    def _value(self, node: ast.expr) -> sympy.Expr:
        check_time()
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(attr=name):
                raise self._error(node, f"names have no prefix here; write {name} instead")
        raise self._error(node, _ADVICE.get(type(node), "this is not part of a formula"))

    def _number(self, node: ast.Constant) -> sympy.Expr:
        kind = type(node.value)
        if kind is int:
            return self._build(node, sympy.Integer, node.value)
        if kind is not float:
            raise self._error(node, _ADVICE.get(kind, "this is not a number"))
        source = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        _, _, exponent = source.lower().partition("e")
        # Checked first, since 1e999999 as an exact number has a million digits.
        if len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DIGITS:
            raise self._error(node, f"its exponent is beyond {MAX_DIGITS}; rescale the formula")
        return self._build(node, sympy.Rational, source)

    def _name(self, node: ast.Name) -> sympy.Expr:
        name = node.id
        if name == self._symbol.name:
            return self._symbol
        if name in self._values:
            self.used_parameters.add(name)
            return self._values[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in _ADVICE_FOR_NAMES:
            raise self._error(node, _ADVICE_FOR_NAMES[name])
        advice = f"the variable is {self._symbol}"
        advice += did_you_mean(name, (*self._values, *CONSTANTS))
        raise ParameterError(
            f"{name!r} has no value;",
            in_python=f"pass {name}=... if it is a parameter; {advice}",
            at_shell=f"if it is a parameter, give its value with --set; {advice}",
            place=self._position(node),
        )

    def _binary(self, node: ast.BinOp) -> sympy.Expr:
        """Evaluate a + b - c + ... in a loop, since recursion is too deep for long sums."""
        operations: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            operations.append(left)
            left = left.left
        value = self._value(left)
        for operation in reversed(operations):
            right = self._value(operation.right)
            operator = type(operation.op)
            if operator not in OPERATORS:
                reason = "a formula has the operators + - * / ** (or ^), and & | in conditions"
                raise self._error(operation, reason)
            value = self._build(operation, OPERATORS[operator], value, right)
        return value

    def _call(self, node: ast.Call) -> sympy.Expr:
        name = self._function_name(node)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._error(node, "arguments are positional; write no keywords and no *")
        if name == "Piecewise":
            return self._build(node, sympy.Piecewise, *self._pairs(node))
        if name == "hyper":
            if len(node.args) != 3:
                raise self._error(
                    node, f"hyper takes 3 arguments, not {len(node.args)}: hyper([a], [b], x)"
                )
            upper, lower = (self._list(argument) for argument in node.args[:2])
            return self._build(node, make_hyper, upper, lower, self._value(node.args[2]))
        arguments = [self._value(argument) for argument in node.args]
        return self._build(node, apply_function, name, arguments)

    def _function_name(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            self._value(function)  # raises the error for a name with a dot
        name = self._source(function)
        if name in FUNCTION_NAMES:
            return name
        known = (self._symbol.name, *self._values, *CONSTANTS)
        if not isinstance(function, ast.Name) or name in known:
            reason = f"{name} is not a function; a product needs its *, as in {name}*(1 + z)"
            raise self._error(node, reason)
        names = [*{f.__name__: f for f in FUNCTIONS.values()}, "sqrt", "hyper", "Piecewise"]
        advice = REPLACEMENTS.get(name, f"the functions are {', '.join(names)}")
        reason = f"{name!r} is not a function that a formula may use; {advice}"
        raise self._error(node, reason + did_you_mean(name, FUNCTION_NAMES), at=function)

    def _list(self, node: ast.expr) -> list[sympy.Expr]:
        # A tuple is accepted too, since sympy prints the parameters of hyper as tuples.
        if not isinstance(node, ast.List | ast.Tuple):
            raise self._error(node, "write the parameters of hyper as lists: hyper([a], [b], x)")
        return [self._value(element) for element in node.elts]

    def _pairs(self, node: ast.Call) -> list[tuple[sympy.Expr, sympy.Basic]]:
        pairs = []
        for pair in node.args:
            if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                raise self._error(pair, "each argument of Piecewise is a pair (value, condition)")
            pairs.append((self._value(pair.elts[0]), self._condition(pair.elts[1])))
        return pairs

    def _condition(self, node: ast.expr) -> sympy.Basic:
        match node:
            case ast.Constant(value=bool(value)):
                return sympy.true if value else sympy.false
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp(values=parts):
                join = sympy.And if isinstance(node.op, ast.And) else sympy.Or
                return join(*map(self._condition, parts))
            case ast.BinOp(op=ast.BitAnd(), left=left, right=right):
                return sympy.And(self._condition(left), self._condition(right))
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return sympy.Or(self._condition(left), self._condition(right))
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return sympy.Not(self._condition(operand))
            case ast.Call(func=ast.Name(id="Eq" | "Ne" as name), args=[left, right], keywords=[]):
                relation = sympy.Eq if name == "Eq" else sympy.Ne
                return self._build(node, relation, self._value(left), self._value(right))
        raise self._error(
            node, "this is not a condition; write a comparison such as z < 1, or True (otherwise)"
        )

    def _comparison(self, node: ast.Compare) -> sympy.Basic:
        sides = [self._value(side) for side in (node.left, *node.comparators)]
        if not all(type(op) in _RELATIONS for op in node.ops):
            raise self._error(node, "the comparisons are < <= > >= == !=")
        parts = zip(node.ops, sides[:-1], sides[1:], strict=True)
        return sympy.And(*[self._build(node, _RELATIONS[type(op)], a, b) for op, a, b in parts])


def sympy_to_text(expr: sympy.Basic) -> str:
    """Print a sympy expression as the text of a formula."""
    if not isinstance(expr, sympy.Expr):
        raise FormulaError(
            f"{shorten(expr)} is a {type(expr).__name__}, not an expression with a value; "
            "conditions are allowed only in Piecewise"
        )
    printer = StrPrinter()
    # A Float of 53 bits is printed as the shortest decimal that rounds to it, as a float would be.
    printer._print_Float = lambda f: repr(float(f)) if f._prec == 53 else str(f)
    return normalize_text(str(printer.doprint(expr)))


def _check_nodes(expr: sympy.Expr) -> sympy.Expr:
    """Check all nodes of the expression: sympy may have simplified it to other functions."""
    for node in sympy.preorder_traversal(expr):
        if not (isinstance(node, sympy.Tuple) or is_supported(node)):
            raise FormulaError(
                f"sympy simplifies the formula to {shorten(expr)}, but {shorten(node)!r} is "
                "not a real function that a formula may use; write that part in another way"
            )
        if node.is_Pow and not node.free_symbols and node.is_real is False:
            raise FormulaError(f"{shorten(node)!r} in the formula is complex; kernels are real")
    return expr
