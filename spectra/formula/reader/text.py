"""Text to expressions by Python's grammar: what is not in the language is refused by name."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

import sympy
from sympy.printing.str import StrPrinter

from spectra.errors import FormulaError, ParameterError, SpectraError
from spectra.formula.functions import BY_NAME, CONSTANTS, is_supported
from spectra.formula.reader.building import (
    MAX_DIGITS,
    OPERATIONS,
    SYMPY_FAILURES,
    apply,
    checked,
    hypergeometric,
)
from spectra.formula.reader.wording import (
    CALLABLE_NAMES,
    HINTS,
    did_you_mean,
    short,
)

__all__ = ["Reader", "checked_text", "printed"]

# No formula of a kernel is as long, or has as many brackets within brackets.
_MAX_TEXT, _MAX_DEPTH = 20_000, 40
_TOO_DEEP = f"the formula is nested more than {_MAX_DEPTH} levels deep; write it in fewer"
_NO_IMAGINARY = "imaginary numbers have no place in a real kernel; leave it out"
# Nodes, and the types of constants, that are written by mistake.
_REFUSED: dict[type, str] = {
    ast.Subscript: "indexing with [...] is not part of a formula",
    ast.Lambda: "lambda is not part of a formula; if a parameter is meant, call it lam",
    ast.IfExp: "write Piecewise((a, condition), (b, True)) instead of a if condition else b",
    ast.Compare: "a comparison is a condition, not a number; put it into Piecewise or Heaviside",
    ast.BoolOp: "and / or make conditions, not numbers; put them into Piecewise",
    ast.Tuple: "a comma makes a list of values; a formula has one value",
    ast.List: "a list has its place only in hyper([a], [b], x); the radius at which "
    "a formula ends is support=... (--support), or in Piecewise((a, z <= 1), (0, True))",
    bool: "True and False are conditions, not numbers; write 1 or 0",
    complex: _NO_IMAGINARY,
    str: "a string is not part of a formula; leave out the quotation marks",
}
_REFUSED_NAMES = {"I": _NO_IMAGINARY} | dict.fromkeys(
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


def checked_text(text: str) -> str:
    """Check that text is short and has no comments, join its lines, and write ^ as Python does."""
    if not text.strip():
        raise FormulaError('the formula is empty; write one such as "exp(-z**2/2)"')
    if len(text) > _MAX_TEXT or "#" in text:
        raise FormulaError(
            f"a formula has no '#' and at most {_MAX_TEXT} characters, and this one has "
            f"{len(text)}; build long kernels by adding shorter ones"
        )
    return " ".join(text.replace("^", "**").split())


def _syntax_tree(text: str) -> ast.expr:
    """Parse text, and refuse what is not well formed or nested too deep."""
    depths = accumulate((c in "([") - (c in ")]") for c in text)
    if max(depths, default=0) > _MAX_DEPTH:
        raise FormulaError(_TOO_DEEP)
    try:
        with warnings.catch_warnings():
            # Python's advice on odd spellings ("1if") concerns code, not formulas.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        position = error.offset - 1 if error.offset else len(text)  # 0 is an error at the end
        advice = "check brackets, commas and operators; a product needs its *"
        if re.search(r"\blambda\b", text):
            advice = "lambda is a reserved word: give the parameter another name, such as lam"
        place = (text, position, position + 1)
        pointer = SpectraError(place=place).pointer.replace("\n", "\n    ")
        raise FormulaError(
            f"the formula is not complete or not well formed ({error.msg}) at character "
            f"{position + 1}:\n    {pointer}\n{advice}",
            place=place,
        ) from None
    except ValueError as error:
        raise FormulaError(f"the formula {short(text)} cannot be read: {error}") from None


class Reader:
    """Turn text into an expression, refusing by name what is not in the language."""

    def __init__(self, symbol: sympy.Symbol, values: Mapping[str, sympy.Expr], text: str) -> None:
        self._symbol, self._values, self._text = symbol, values, text
        self.used: set[str] = set()

    def read(self) -> sympy.Expr:
        """The expression; only what the language has can be in it."""
        try:
            return _audited(self._value(_syntax_tree(self._text)))
        except (RecursionError, MemoryError):
            raise FormulaError(_TOO_DEEP) from None

    def _show(self, node: ast.AST) -> str:
        return short(ast.get_source_segment(self._text, node) or type(node).__name__)

    def _place(self, node: ast.AST) -> tuple[str, int, int]:
        """The text, and the characters [start, stop) of it that a node was read from."""
        if not isinstance(node, ast.expr) or node.end_col_offset is None:
            return self._text, 0, len(self._text)
        source = self._text.encode()  # Python counts the bytes of UTF-8
        start, stop = (len(source[:n].decode()) for n in (node.col_offset, node.end_col_offset))
        return self._text, start, stop

    def _refusal(self, node: ast.AST, why: str, *, at: ast.AST | None = None) -> FormulaError:
        part, whole = self._show(node), short(self._text)
        place = "" if part == whole else f" in {whole!r}"
        return FormulaError(f"cannot read {part!r}{place}: {why}", place=self._place(at or node))

    def _build(self, node: ast.AST, build: Callable[..., Any], *arguments: Any) -> Any:
        """Put an expression together and check it; a refusal names the node."""
        try:
            found = build(*arguments)
            return checked(found) if isinstance(found, sympy.Expr) else found
        except FormulaError as error:
            raise self._refusal(node, str(error)) from None
        except SYMPY_FAILURES as error:
            raise self._refusal(node, f"it has no meaning here ({short(error)})") from None

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
            case ast.Attribute(attr=name):
                raise self._refusal(node, f"names have no dots; write {name} if it is of a formula")
        raise self._refusal(node, _REFUSED.get(type(node), "this is not part of a formula"))

    def _number(self, node: ast.Constant) -> sympy.Expr:
        kind = type(node.value)
        if kind is int:
            return self._build(node, sympy.Integer, node.value)
        if kind is not float:
            raise self._refusal(node, _REFUSED.get(kind, "this is not a number"))
        source = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        _, _, exponent = source.lower().partition("e")
        # The exponent is bounded before it becomes an integer with that many digits.
        if len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DIGITS:
            raise self._refusal(node, f"its exponent is beyond {MAX_DIGITS}; rescale the formula")
        return self._build(node, sympy.Rational, source)

    def _name(self, node: ast.Name) -> sympy.Expr:
        name = node.id
        if name == self._symbol.name:
            return self._symbol
        if name in self._values:
            self.used.add(name)
            return self._values[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in _REFUSED_NAMES:
            raise self._refusal(node, _REFUSED_NAMES[name])
        rest = f"the variable is {self._symbol}"
        rest += did_you_mean(name, (*self._values, *CONSTANTS))
        raise ParameterError(
            f"{name!r} has no value;",
            in_python=f"pass {name}=... if it is a parameter; {rest}",
            at_shell=f"if it is a parameter, give its value with --set; {rest}",
            place=self._place(node),
        )

    def _chain(self, node: ast.BinOp) -> sympy.Expr:
        """Read a + b - c * ... with a loop: the left spine of a long sum is deep."""
        spine: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            spine.append(left)
            left = left.left
        value = self._value(left)
        for step in reversed(spine):
            right = self._value(step.right)
            if type(step.op) not in OPERATIONS:
                why = "only + - * / ** (or ^) are operators of a formula; & and | join conditions"
                raise self._refusal(step, why)
            value = self._build(step, OPERATIONS[type(step.op)], value, right)
        return value

    def _call(self, node: ast.Call) -> sympy.Expr:
        name = self._callee(node)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._refusal(node, "arguments are given by their place, without names and stars")
        if name == "Piecewise":
            return self._build(node, sympy.Piecewise, *self._pairs(node))
        if name == "hyper":
            if len(node.args) != 3:
                raise self._refusal(
                    node, f"hyper takes 3 arguments, not {len(node.args)}: hyper([a], [b], x)"
                )
            upper, lower = (self._list(argument) for argument in node.args[:2])
            return self._build(node, hypergeometric, upper, lower, self._value(node.args[2]))
        return self._build(node, apply, name, [self._value(argument) for argument in node.args])

    def _callee(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            self._value(function)  # refuses it
        name = self._show(function)
        if name in CALLABLE_NAMES:
            return name
        known = (self._symbol.name, *self._values, *CONSTANTS)
        if not isinstance(function, ast.Name) or name in known:
            why = f"{name} is not a function; a product needs its *, as in {name}*(1 + z)"
            raise self._refusal(node, why)
        names = [*{f.__name__: f for f in BY_NAME.values()}, "sqrt", "hyper", "Piecewise"]
        advice = HINTS.get(name, f"known are {', '.join(names)}")
        why = f"{name!r} is not a function of the formula language; {advice}"
        raise self._refusal(node, why + did_you_mean(name, CALLABLE_NAMES), at=function)

    def _list(self, node: ast.expr) -> list[sympy.Expr]:
        # sympy prints the parameters of hyper as a tuple, people write a list.
        if not isinstance(node, ast.List | ast.Tuple):
            raise self._refusal(node, "write the parameters of hyper as lists: hyper([a], [b], x)")
        return [self._value(element) for element in node.elts]

    def _pairs(self, node: ast.Call) -> list[tuple[sympy.Expr, sympy.Basic]]:
        pairs = []
        for pair in node.args:
            if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                raise self._refusal(pair, "each argument of Piecewise is a pair (value, condition)")
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
        raise self._refusal(
            node, "this is not a condition; write a comparison such as z < 1, or True for the rest"
        )

    def _comparison(self, node: ast.Compare) -> sympy.Basic:
        sides = [self._value(side) for side in (node.left, *node.comparators)]
        if not all(type(op) in _RELATIONS for op in node.ops):
            raise self._refusal(node, "only < <= > >= == != compare")
        parts = zip(node.ops, sides[:-1], sides[1:], strict=True)
        return sympy.And(*[self._build(node, _RELATIONS[type(op)], a, b) for op, a, b in parts])


def printed(expr: sympy.Basic) -> str:
    """The text of a sympy expression, which is read like any other text."""
    if not isinstance(expr, sympy.Expr):
        raise FormulaError(
            f"{short(expr)} is a {type(expr).__name__}, not an expression with a value; "
            "inside Piecewise it would be a condition"
        )
    printer = StrPrinter()
    # At double precision by the shortest decimal, as for a parameter; beyond it by its digits.
    printer._print_Float = lambda f: repr(float(f)) if f._prec == 53 else str(f)
    return checked_text(str(printer.doprint(expr)))


def _audited(expr: sympy.Expr) -> sympy.Expr:
    """Check the whole expression: sympy may have rewritten it into something else."""
    for node in sympy.preorder_traversal(expr):
        if not (isinstance(node, sympy.Tuple) or is_supported(node)):
            raise FormulaError(
                f"sympy reads the formula as {short(expr)}, where {short(node)!r} is not a real "
                "function of the formula language; write that part in another way"
            )
        if node.is_Pow and not node.free_symbols and node.is_real is False:
            raise FormulaError(f"sympy reads {short(node)!r} into it, which is complex")
    return expr
