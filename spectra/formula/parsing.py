"""Formulas from text, through a whitelist: nothing that a user types is ever run.

Python's own grammar gives the syntax tree (``ast``, mode "eval", with ``^`` read as ``**``), and
each node of it is either in the language below or refused by name.  The language is numbers,
one variable, parameters with values, ``+ - * / **``, the functions of
:data:`spectra.formula.evaluate.FUNCTIONS`, ``sqrt``, ``hyper``, and ``Piecewise`` with comparisons.
Numbers are exact, and every number is bounded before sympy computes it.
"""

from __future__ import annotations

import ast
import decimal
import difflib
import math
import numbers
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy

from spectra.errors import FormulaError, ParameterError
from spectra.formula.evaluate import CONSTANTS, FUNCTIONS, Function, is_supported

__all__ = ["U", "Z", "check_expression", "exact_parameter", "parse_formula"]

#: The distance |x - y|, the variable of radial kernels.
Z = sympy.Symbol("z", nonnegative=True)
#: The inner product <x, y> on the unit sphere, the variable of zonal kernels.
U = sympy.Symbol("u", real=True)

_VARIABLES = {"z": Z, "u": U}

# Limits that no formula of a kernel comes near, and within which sympy answers at once.
_MAX_TEXT = 2000
_MAX_DEPTH = 40
_MAX_NODES = 5000
_MAX_DIGITS = 1000
_MAX_NUMERIC_EXPONENT = 1000
_MAX_EXPONENT = 10_000

_BY_NAME: dict[str, Function] = {name: f for f in FUNCTIONS for name in f.names}
_BY_HEAD: dict[Any, Function] = {f.head: f for f in FUNCTIONS}
_CALLABLE_NAMES = (*_BY_NAME, "sqrt", "hyper", "Piecewise")
_IMAGINARY_NAMES = ("I", "i", "j", "1j")
_HINTS = {
    "where": "write Piecewise((a, condition), (b, True))",
    "select": "write Piecewise((a, condition), (b, True))",
    "pow": "write a**b",
    "power": "write a**b",
    "square": "write a**2",
    "cbrt": "write a**(1/3)",
    "exp2": "write 2**a",
    "expm1": "write exp(a) - 1",
    "log1p": "write log(1 + a)",
    "log2": "write log(a)/log(2)",
    "log10": "write log(a)/log(10)",
    "sinc": "write sin(a)/a, the limit at 0 is taken for you",
    "sech": "write 1/cosh(a)",
    "csch": "write 1/sinh(a)",
    "coth": "write cosh(a)/sinh(a)",
    "sec": "write 1/cos(a)",
    "csc": "write 1/sin(a)",
    "cot": "write 1/tan(a)",
    "sign": "write Piecewise((-1, a < 0), (0, a <= 0), (1, True))",
    "clip": "write Min(Max(a, low), high)",
    "factorial": "write gamma(a + 1)",
    "jv": "write besselj(order, a)",
    "iv": "write besseli(order, a)",
    "kv": "write besselk(order, a)",
}
# What sympy raises from inside when it cannot make sense of arguments.
_SYMPY_FAILURES = (
    ArithmeticError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    mpmath.mp.NoConvergence,
)


def parse_formula(
    text: str, *, variable: str, parameters: Mapping[str, Any] | None = None
) -> sympy.Expr:
    """Read the text of a kernel into an exact sympy expression in one variable.

    Parameters
    ----------
    text
        The formula, for example ``"(1 - z**2/a**2)**p"``.  Integers and decimals are exact:
        ``0.1`` is 1/10.
    variable
        ``"z"`` for a radial kernel (read as the nonnegative symbol :data:`Z`) or ``"u"`` for a
        zonal one (the real symbol :data:`U`).
    parameters
        A real finite value for each other name in the text; see :func:`exact_parameter`.

    Returns
    -------
    sympy.Expr
        The expression, free of every symbol but the variable.

    Raises
    ------
    FormulaError
        If the text is not a formula of the language; the message names the offender.
    ParameterError
        If a parameter is missing, unused, or not a real finite number.

    Examples
    --------
    >>> parse_formula("(1 - z^2/a**2)**p", variable="z", parameters={"a": 2, "p": 2})
    (1 - z**2/4)**2
    >>> parse_formula("arccos(0) * exp(-0.1*z)", variable="z")
    pi*exp(-z/10)/2
    """
    symbol, values = _variable(variable), _exact_parameters(parameters, variable)
    reader = _Reader(symbol, values, _checked_text(text))
    expr = reader.read()
    _refuse_unused(values, reader.used, text)
    return _audited(expr, symbol)


def check_expression(
    expr: sympy.Expr, *, variable: str, parameters: Mapping[str, Any] | None = None
) -> sympy.Expr:
    """Pass a sympy expression through the whitelist of :func:`parse_formula`.

    Any symbol with the variable's name, whatever its assumptions, becomes the canonical one;
    parameters are put in by name; floating-point numbers become exact by their shortest decimal.

    Parameters
    ----------
    expr
        The expression, or a plain number.
    variable, parameters
        As for :func:`parse_formula`.

    Returns
    -------
    sympy.Expr
        The expression, rebuilt, free of every symbol but the variable.

    Raises
    ------
    FormulaError
        If it has a function, number or symbol that the language lacks, which is named.
    ParameterError
        If a parameter is missing, unused, or not a real finite number.

    Examples
    --------
    >>> import sympy
    >>> z, a = sympy.symbols("z a")
    >>> check_expression(sympy.exp(-a * sympy.sqrt(z**2)), variable="z", parameters={"a": 0.5})
    exp(-z/2)
    """
    symbol, values = _variable(variable), _exact_parameters(parameters, variable)
    if not isinstance(expr, sympy.Basic):
        expr = exact_parameter("the expression", expr)
    if not isinstance(expr, sympy.Expr):
        raise FormulaError(
            f"{_short(expr)} is a {type(expr).__name__}, not an expression with a value; "
            "inside Piecewise it would be a condition"
        )
    used: set[str] = set()
    rebuilt = _rebuilt(expr, symbol, values, used)
    _refuse_unused(values, used, str(expr))
    return _audited(rebuilt, symbol)


# --- parameters -----------------------------------------------------------------------------


def exact_parameter(name: str, value: Any) -> sympy.Expr:
    """Turn the value of a parameter into an exact real sympy number.

    A float becomes the shortest decimal that rounds to it (its ``repr``): who passes ``0.1``
    means 1/10, and a formula typed with 0.1 in it then is the same kernel.

    Parameters
    ----------
    name
        For the error message.
    value
        int, float, Fraction, Decimal, a NumPy real scalar, or a real sympy number.

    Raises
    ------
    ParameterError
        If it is text, bool, complex, infinite, nan, not a number, or has over 1000 digits.

    Examples
    --------
    >>> import numpy as np
    >>> exact_parameter("a", 0.1), exact_parameter("a", np.float32(0.3))
    (1/10, 3/10)
    """
    if isinstance(value, sympy.Basic):
        return _exact_sympy_parameter(name, value)
    if isinstance(value, bool | np.bool_):
        raise _bad_parameter(name, value, "is a bool", "pass 1 or 0 if a number is meant")
    if isinstance(value, str):
        raise _bad_parameter(
            name, value, "is text", "pass a number, or write the text in the formula"
        )
    if isinstance(value, complex | np.complexfloating):
        raise _bad_parameter(name, value, "is complex", "kernels take real parameters")
    if isinstance(value, decimal.Decimal):
        if value.is_finite() and abs(value.adjusted()) > _MAX_DIGITS:
            # Refused here, before its power of ten is written out.
            raise _bad_parameter(name, value, "is out of range", "rescale it")
        value = Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise _bad_parameter(name, value, "is not finite", "pass a finite real number")
        # np.float64 is a float, and str gives both their shortest decimal.
        return _bounded_parameter(name, Fraction(str(value)))
    if isinstance(value, numbers.Integral):
        return _bounded_parameter(name, Fraction(int(value)))
    if isinstance(value, numbers.Rational):
        return _bounded_parameter(name, Fraction(int(value.numerator), int(value.denominator)))
    raise _bad_parameter(
        name, value, f"is a {type(value).__name__}", "pass an int, float, Fraction or sympy number"
    )


def _bounded_parameter(name: str, value: Fraction) -> sympy.Rational:
    # bit_length, since Python refuses to print integers of more than 4300 digits.
    if max(abs(value.numerator), value.denominator).bit_length() > _MAX_DIGITS * math.log2(10):
        raise ParameterError(
            f"the parameter {name!r} has more than {_MAX_DIGITS} digits, "
            "beyond any length or exponent of a kernel; rescale it"
        )
    return sympy.Rational(value.numerator, value.denominator)


def _exact_sympy_parameter(name: str, value: sympy.Basic) -> sympy.Expr:
    if value.free_symbols:
        others = ", ".join(sorted(str(s) for s in value.free_symbols))
        raise _bad_parameter(name, value, f"depends on {others}", "pass a number")
    if isinstance(value, sympy.Expr) and value.has(sympy.oo, sympy.zoo, sympy.nan, -sympy.oo):
        raise _bad_parameter(name, value, "is not finite", "pass a finite real number")
    if not isinstance(value, sympy.Expr):
        raise _bad_parameter(name, value, f"is a {type(value).__name__}", "pass a number")
    if value.has(sympy.I) or value.is_real is False:
        raise _bad_parameter(name, value, "is complex", "kernels take real parameters")
    try:
        return _audited(_rebuilt(value, None, {}, set()), None)
    except FormulaError as error:
        raise ParameterError(f"the parameter {name!r} is not accepted: {error}") from error


def _bad_parameter(name: str, value: object, why: str, remedy: str) -> ParameterError:
    return ParameterError(f"the parameter {name!r} = {_short(value)} {why}; {remedy}")


def _exact_parameters(parameters: Mapping[str, Any] | None, variable: str) -> dict[str, sympy.Expr]:
    values = {}
    for name, value in (parameters or {}).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError(
                f"{name!r} is not a name that a formula can use; pass an identifier"
            )
        if name == variable or name in CONSTANTS or name in _IMAGINARY_NAMES[:1]:
            raise ParameterError(
                f"the parameter {name!r} has a meaning of its own in formulas; choose another name"
            )
        values[name] = exact_parameter(name, value)
    return values


def _refuse_unused(values: Mapping[str, Any], used: set[str], formula: str) -> None:
    unused = sorted(set(values) - used)
    if unused:
        raise ParameterError(
            f"the formula {_short(formula)} does not use {', '.join(map(repr, unused))}; "
            "leave it out, or correct its name" + _did_you_mean(unused[0], _names_in(formula))
        )


def _names_in(formula: str) -> list[str]:
    return [n for n in re.findall(r"[^\W\d]\w*", formula) if n not in _CALLABLE_NAMES]


def _variable(name: str) -> sympy.Symbol:
    if name not in _VARIABLES:
        raise ParameterError(
            f"the variable {name!r} is unknown; it is 'z' for radial and 'u' for zonal kernels"
        )
    return _VARIABLES[name]


# --- text -----------------------------------------------------------------------------------


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise FormulaError(
            f"{_short(text)} is a {type(text).__name__}, not the text of a formula; "
            'pass text such as "exp(-z)"'
        )
    if not text.strip():
        raise FormulaError('the formula is empty; write one such as "exp(-z**2/2)"')
    if len(text) > _MAX_TEXT:
        raise FormulaError(
            f"the formula has {len(text)} characters, more than {_MAX_TEXT}; "
            "build long kernels by adding shorter ones"
        )
    if "#" in text:
        raise FormulaError("the formula contains '#'; comments are not part of a formula")
    return " ".join(text.split())


def _parse_syntax(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Python's advice on odd spellings ("1if") concerns code, not formulas.
            warnings.simplefilter("ignore")
            return ast.parse(text.replace("^", "**"), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(_syntax_message(text, error)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "it is nested too deep" if not isinstance(error, ValueError) else str(error)
        raise FormulaError(f"the formula {_short(text)} cannot be read: {reason}") from None


def _syntax_message(text: str, error: SyntaxError) -> str:
    # Python gives 0 for an error at the end.
    column = error.offset - 1 if error.offset else 2 * len(text)
    position, length = 0, 0  # of the same place before ^ was written as **
    while position < len(text) and length < column:
        length += 2 if text[position] == "^" else 1
        position += 1
    start = max(position - 60, 0)
    excerpt = text[start : position + 20]
    advice = "check brackets, commas and operators; a product needs its *"
    if re.search(r"\blambda\b", text):
        advice = "lambda is a reserved word: give the parameter another name, such as lam"
    return (
        f"the formula is not complete or not well formed ({error.msg}) at character "
        f"{position + 1}:\n    {_short(excerpt)}\n    {' ' * (position - start)}^\n{advice}"
    )


def _refuse_deep_tree(root: ast.expr) -> None:
    """Bound the nesting, reading chains such as a + b + c + ... as flat."""
    stack: list[tuple[ast.AST, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise FormulaError(
                f"the formula is nested more than {_MAX_DEPTH} levels deep; write it in fewer"
            )
        for child in ast.iter_child_nodes(node):
            flat = isinstance(node, ast.BinOp) and child is node.left
            stack.append((child, depth if flat else depth + 1))


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


class _Reader:
    """Turn one syntax tree into an expression, refusing by name what is not in the language."""

    def __init__(self, symbol: sympy.Symbol, values: Mapping[str, sympy.Expr], text: str) -> None:
        self._symbol = symbol
        self._values = values
        self._text = text
        self._source = text.replace("^", "**")
        self.used: set[str] = set()

    def read(self) -> sympy.Expr:
        root = _parse_syntax(self._text)
        _refuse_deep_tree(root)
        return self._value(root)

    def _show(self, node: ast.AST) -> str:
        return _short(ast.get_source_segment(self._source, node) or type(node).__name__)

    def _refusal(self, node: ast.AST, why: str) -> FormulaError:
        part, whole = self._show(node), _short(self._text)
        place = "" if part in (whole, _short(self._source)) else f" in {whole!r}"
        return FormulaError(f"cannot read {part!r}{place}: {why}")

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
        if name in _CALLABLE_NAMES:
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
        if len(exponent) > 6 or abs(int(exponent or "0")) > _MAX_DIGITS:
            raise self._refusal(node, f"its exponent is beyond {_MAX_DIGITS}; rescale the formula")
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
        if name in _CALLABLE_NAMES:
            raise ParameterError(
                f"{name!r} is a function without its argument in {_short(self._text)!r}; write "
                f"{name}(...), or pass {name}=... if it is meant as a parameter"
            )
        raise ParameterError(_no_value(name, self._symbol, self._values))

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
        if type(node.op) not in _OPERATIONS:
            raise self._refusal(node, "only + - * / ** (or ^) are operators of a formula")
        return self._guard(node, lambda: _OPERATIONS[type(node.op)](left, right))

    def _guard(self, node: ast.AST, build: Callable[[], sympy.Expr]) -> sympy.Expr:
        try:
            return build()
        except FormulaError as error:
            raise self._refusal(node, str(error)) from None
        except _SYMPY_FAILURES as error:
            raise self._refusal(node, f"it has no meaning here ({_short(error)})") from None

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
        return self._guard(node, lambda: _apply(name, arguments))

    def _callee(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            raise self._refusal(function, self._attribute_advice(function))
        if not isinstance(function, ast.Name):
            raise self._refusal(
                node, "only functions can be called; a product needs its *, as in 2*(1 + z)"
            )
        name = function.id
        if name in _CALLABLE_NAMES:
            return name
        if name in (self._symbol.name, *self._values, *CONSTANTS):
            raise self._refusal(
                node, f"{name} is not a function; a product needs its *, as in {name}*(...)"
            )
        advice = _HINTS.get(name) or (
            f"known are {', '.join(_canonical_functions())}" + _did_you_mean(name, _CALLABLE_NAMES)
        )
        raise self._refusal(node, f"{name!r} is not a function of the formula language; {advice}")

    def _hyper(self, node: ast.Call) -> sympy.Expr:
        if len(node.args) != 3:
            raise self._refusal(
                node, f"hyper takes 3 arguments, not {len(node.args)}: hyper([a], [b], x)"
            )
        upper, lower = (self._list(argument) for argument in node.args[:2])
        argument = self._value(node.args[2])
        return self._guard(node, lambda: _hyper(upper, lower, argument))

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
        return self._guard(node, lambda: _piecewise(pairs))

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


def _canonical_functions() -> list[str]:
    return [*(f.names[0] for f in FUNCTIONS), "sqrt", "hyper", "Piecewise"]


def _no_value(name: str, symbol: sympy.Symbol, values: Mapping[str, Any]) -> str:
    advice = f"pass {name}=... if it is a parameter; the variable is {symbol}"
    return f"{name!r} has no value; {advice}" + _did_you_mean(name, (*values, *CONSTANTS))


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _short(value: object, limit: int = 80) -> str:
    try:
        text = str(value)
    except ValueError:  # an integer of more than 4300 digits
        return f"a {type(value).__name__} with thousands of digits"
    text = text.encode("utf-8", "backslashreplace").decode()  # so that every message can be printed
    return text if len(text) <= limit else text[: limit - 3] + "..."


# --- building, with every number bounded before sympy computes it ------------------------------


def _rational_digits(number: sympy.Rational) -> float:
    return math.log10(max(abs(int(number.p)), int(number.q)))


def _numeric_digits(number: sympy.Expr) -> float:
    """Bound the decimal digits that exact arithmetic on a number may have to carry."""
    if number.is_Rational:
        return _rational_digits(number)
    if number.is_Mul:
        return sum(_numeric_digits(factor) for factor in number.args)
    if number.is_Pow and number.base.is_Rational and number.exp.is_Rational:
        return float(abs(number.exp)) * _rational_digits(number.base)
    return abs(_log10(number))


def _log10(number: sympy.Expr) -> float:
    size = abs(number.evalf(15))
    if not size.is_Float and not size.is_Rational:
        raise FormulaError(f"{_short(number)} is not a finite real number")
    return (
        float(mpmath.log10(mpmath.mpf(size._mpf_ if size.is_Float else int(size)))) if size else 0.0
    )


def _sized(value: sympy.Expr) -> sympy.Expr:
    """Refuse a value that carries a number of too many digits, or is infinite or undefined."""
    if value in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise FormulaError("its value is infinite or undefined; rewrite the formula without it")
    for number in (value.as_coeff_Mul()[0], value.as_coeff_Add()[0]):
        if number.is_Rational and _rational_digits(number) > _MAX_DIGITS:
            raise FormulaError(f"a number has more than {_MAX_DIGITS} digits; rescale the formula")
    return value


def _real(value: sympy.Expr) -> sympy.Expr:
    """Refuse values that are complex, infinite or undefined; symbolic ones pass."""
    _sized(value)
    if value.has(sympy.I):
        raise FormulaError("its value is complex; kernels are real functions")
    if value.free_symbols or value.is_Rational or value.has(sympy.hyper):
        return value
    if value.is_real is False or value.is_finite is False:
        raise FormulaError("its value is not a finite real number; kernels are real functions")
    number = value.evalf(15)
    if not number.is_Float and not number.is_Rational:
        raise FormulaError("its value is not a finite real number; kernels are real functions")
    if number and abs(_log10(number)) > _MAX_DIGITS:
        raise FormulaError(f"a number is beyond 10**(+-{_MAX_DIGITS}); rescale the formula")
    return value


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    if not exponent.free_symbols:
        _bound_power(base, exponent)
    if exponent.is_negative:
        _refuse_zero(base)
    result = sympy.Pow(base, exponent)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > _MAX_EXPONENT:
        raise FormulaError(f"its exponent {_short(result.exp)} is beyond {_MAX_EXPONENT}")
    return _real(result)


def _quotient(left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
    _refuse_zero(right)
    return _sized(left / right)


def _refuse_zero(divisor: sympy.Expr) -> None:
    if divisor.is_zero:
        raise FormulaError("it divides by zero")
    if divisor.free_symbols or divisor.is_Rational or divisor.has(sympy.hyper):
        return
    number = divisor.evalf(15)
    # sympy marks a value whose digits all cancelled by a precision of one bit.
    if number.is_Float and (number._prec == 1 or number == 0):
        raise FormulaError(f"{_short(divisor)} cannot be told from zero, so it does not divide")


def _bound_power(base: sympy.Expr, exponent: sympy.Expr) -> None:
    number, _ = base.as_independent(*base.free_symbols, as_Add=False)
    limit = _MAX_EXPONENT if base.free_symbols else _MAX_NUMERIC_EXPONENT
    size = abs(exponent) if exponent.is_Rational else abs(_real(exponent).evalf(15))
    if base in (sympy.S.One, sympy.S.Zero):
        limit = _MAX_EXPONENT
    if size > limit:
        raise FormulaError(
            f"the exponent {_short(exponent)} is beyond {limit}, the largest that is computed; "
            "write large exponents through exp"
        )
    if float(size) * _numeric_digits(number) > _MAX_DIGITS:
        raise FormulaError(
            f"the power would have more than {_MAX_DIGITS} digits; rescale the formula"
        )


_OPERATIONS: dict[type[ast.operator], Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    ast.Add: lambda left, right: _sized(left + right),
    ast.Sub: lambda left, right: _sized(left - right),
    ast.Mult: lambda left, right: _sized(left * right),
    ast.Div: _quotient,
    ast.Pow: _power,
}


def _bound_arguments(function: Function, arguments: Sequence[sympy.Expr]) -> None:
    for argument in arguments:
        if argument.free_symbols or function.largest is None:
            continue
        size = abs(argument if argument.is_Rational else argument.evalf(15))
        if size > function.largest:
            raise FormulaError(
                f"the number {_short(argument)} is beyond {function.largest}, "
                f"the largest that {function.names[0]} takes; rescale the formula"
            )


def _apply(name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """Apply a function of the language, under any of its names."""
    if name == "sqrt":
        _count_arguments(name, len(arguments), 1, 1)
        return _power(arguments[0], sympy.S.Half)
    function = _BY_NAME[name]
    _count_arguments(name, len(arguments), *function.arity)
    for argument in arguments[: function.fixed]:
        if argument.free_symbols:
            raise FormulaError(
                f"the order {_short(argument)} depends on the variable; "
                "give it as a number or a parameter"
            )
    _bound_arguments(function, arguments)
    result = function.head(*arguments, **_without_sign_rules(function, arguments))
    if function.head in (sympy.Min, sympy.Max):
        # sympy leaves Max(1, 2) inside a nested Min; evaluated, it prints and reads back the same.
        result = result.doit()
    result = _real(result)
    # sympy turns tan(x + pi/2) into a cotangent, which the language spells 1/tan.
    return result.replace(sympy.cot, lambda x: 1 / sympy.tan(x)) if name == "tan" else result


def _without_sign_rules(function: Function, arguments: Sequence[sympy.Expr]) -> dict[str, bool]:
    """Keep sympy from writing J_nu(z - 2) as a product of two complex factors with J_nu(2 - z)."""
    if function.head not in (sympy.besselj, sympy.besseli):
        return {}
    order, argument = arguments
    if order.is_integer or not argument.could_extract_minus_sign():
        return {}
    return {"evaluate": False}


def _count_arguments(name: str, found: int, least: int, most: int | None) -> None:
    if found < least or (most is not None and found > most):
        wanted = f"at least {least}" if most is None else f"{least}"
        wanted = wanted if most in (None, least) else f"{least} to {most}"
        raise FormulaError(f"{name} takes {wanted} argument{'s' * (wanted != '1')}, not {found}")


def _hyper(
    upper: Sequence[sympy.Expr], lower: Sequence[sympy.Expr], argument: sympy.Expr
) -> sympy.Expr:
    for parameter in (*upper, *lower):
        if parameter.free_symbols:
            raise FormulaError(
                f"the parameter {_short(parameter)} of hyper depends on the variable; "
                "only its last argument may"
            )
        if abs(parameter.evalf(15)) > _MAX_EXPONENT:
            raise FormulaError(f"the parameter {_short(parameter)} is beyond {_MAX_EXPONENT}")
    if any(parameter.is_integer and parameter.is_nonpositive for parameter in lower):
        raise FormulaError("a lower parameter of hyper is 0, -1, -2, ...: every term divides by 0")
    polynomial = any(parameter.is_integer and parameter.is_nonpositive for parameter in upper)
    if len(upper) > len(lower) + 1 and not polynomial:
        raise FormulaError(
            f"the series of hyper diverges with {len(upper)} upper and {len(lower)} lower "
            "parameters; there may be one more above than below"
        )
    if not argument.free_symbols:
        unit = len(upper) == len(lower) + 1 and not polynomial
        if (argument if unit else abs(argument)) >= (1 if unit else _MAX_EXPONENT):
            raise FormulaError(f"the series of hyper is not computed at {_short(argument)}")
    return _real(sympy.hyper(upper, lower, argument))


def _piecewise(pairs: Sequence[tuple[sympy.Expr, sympy.Basic]]) -> sympy.Expr:
    result = sympy.Piecewise(*pairs)
    if not isinstance(result, sympy.Expr) or result is sympy.nan:
        raise FormulaError("no condition is ever true; end with (value, True)")
    return _real(result)


# --- sympy expressions ------------------------------------------------------------------------


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
        if depth > 3 * _MAX_DEPTH or len(seen) > _MAX_NODES:
            raise FormulaError(
                "the expression is too large or nested too deep; write a shorter one"
            )
        stack.append((node, depth, True))
        stack.extend((argument, depth + 1, False) for argument in node.args)


def _rebuilt(
    expr: sympy.Expr,
    symbol: sympy.Symbol | None,
    values: Mapping[str, sympy.Expr],
    used: set[str],
) -> sympy.Expr:
    done: dict[sympy.Basic, Any] = {}
    for node in _children_first(expr):
        arguments = [done[argument] for argument in node.args]
        try:
            done[node] = _rebuilt_node(node, arguments, symbol, values, used)
        except FormulaError as error:
            raise FormulaError(f"cannot accept {_short(node)!r}: {error}") from None
        except ParameterError:
            raise
        except _SYMPY_FAILURES as error:
            raise FormulaError(f"cannot accept {_short(node)!r}: {_short(error)}") from None
    return done[expr]


def _rebuilt_node(
    node: sympy.Basic,
    arguments: list[Any],
    symbol: sympy.Symbol | None,
    values: Mapping[str, sympy.Expr],
    used: set[str],
) -> Any:
    if node.is_Symbol:
        return _rebuilt_symbol(node, symbol, values, used)
    if node.is_Float:
        return _exact_float(node)
    if node.is_Rational or node in (sympy.pi, sympy.E, sympy.true, sympy.false):
        return _sized(node) if node.is_Rational else node
    if isinstance(node, sympy.Tuple):
        return sympy.Tuple(*arguments)
    if node in (sympy.I, sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
        raise FormulaError("it is not a finite real number; kernels are real functions")
    if isinstance(node, sympy.Add | sympy.Mul):
        return _folded(node.func, arguments)
    if isinstance(node, sympy.Pow):
        return _power(*arguments)
    if isinstance(node, sympy.Piecewise):
        return _piecewise(arguments)
    if isinstance(node, sympy.hyper):
        return _hyper(*arguments)
    if node.func in _BY_HEAD:
        return _apply(_BY_HEAD[node.func].names[0], arguments)
    if is_supported(node):  # comparisons, And, Or, Not, and the pairs of Piecewise
        return node.func(*arguments)
    name = node.func.__name__
    advice = _HINTS.get(name, f"known are {', '.join(_canonical_functions())}")
    raise FormulaError(f"{name} is not a function of the formula language; {advice}")


def _folded(join: Any, arguments: list[Any]) -> sympy.Expr:
    value = arguments[0]
    for argument in arguments[1:]:
        value = _sized(join(value, argument))
    return value


def _rebuilt_symbol(
    node: sympy.Symbol,
    symbol: sympy.Symbol | None,
    values: Mapping[str, sympy.Expr],
    used: set[str],
) -> sympy.Expr:
    if symbol is not None and node.name == symbol.name:
        return symbol
    if node.name in values:
        used.add(node.name)
        return values[node.name]
    raise ParameterError(_no_value(node.name, symbol or sympy.Symbol("z"), values))


def _exact_float(node: sympy.Float) -> sympy.Rational:
    # At double precision by the shortest decimal, as for a parameter; beyond it by its digits.
    number = Fraction(repr(float(node)) if node._prec == 53 else str(node))
    return _sized(sympy.Rational(number.numerator, number.denominator))


def _audited(expr: sympy.Expr, symbol: sympy.Symbol | None) -> sympy.Expr:
    """Look once more at the whole: sympy may have rewritten it into what is not in the language."""
    for node in _children_first(expr):
        if isinstance(node, sympy.Tuple):
            continue
        if not is_supported(node):
            raise FormulaError(
                f"sympy reads the formula as {_short(expr)}, where {_short(node)!r} is not a real "
                "function of the formula language; write that part in another way"
            )
        if node.is_Rational:
            _sized(node)
        if node.is_Pow and not node.free_symbols and node.is_real is False:
            raise FormulaError(f"sympy reads {_short(node)!r} into it, which is complex")
        if node.is_Pow and node.exp.is_Integer and abs(node.exp) > _MAX_EXPONENT:
            raise FormulaError(f"the exponent in {_short(node)!r} is beyond {_MAX_EXPONENT}")
    others = expr.free_symbols - {symbol}
    if others:  # no path leads here; a formula with a free symbol must never leave this room
        raise FormulaError(f"{_short(expr)} still contains {_short(others)}")
    return expr
