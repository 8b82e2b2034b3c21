"""Expressions put together with every number bounded before sympy computes it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

import mpmath
import sympy

from spectra.errors import FormulaError
from spectra.formula.functions import ARITIES, BY_NAME, LARGEST, WITH_ORDER
from spectra.formula.reader.wording import short

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "OPERATIONS",
    "SYMPY_FAILURES",
    "apply",
    "hypergeometric",
    "piecewise",
    "power",
    "sized",
]

# Limits that no formula of a kernel comes near, and within which sympy answers at once.
MAX_DEPTH = 40
MAX_DIGITS = 1000
_MAX_NUMERIC_EXPONENT = 1000
_MAX_EXPONENT = 10_000
# The largest factor of the variable in an argument: its reciprocal is a length in doubles.
_LARGEST_FACTOR = sympy.Integer(10) ** 300
# What sympy raises from inside when it cannot make sense of arguments.
SYMPY_FAILURES = (
    ArithmeticError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    mpmath.mp.NoConvergence,
)


def _digits(number: sympy.Expr) -> float:
    """The decimal digits of a rational number, or the size of the logarithm of another."""
    if number.is_Rational:
        return math.log10(max(abs(int(number.p)), int(number.q)))
    size = abs(number.evalf(15))
    if not size.is_Float and not size.is_Rational:
        raise FormulaError(f"{short(number)} is not a finite real number")
    return abs(float(sympy.log(size, 10).evalf(15))) if size else 0.0


def sized(value: sympy.Expr) -> sympy.Expr:
    """Refuse a value that carries a number of too many digits, or is infinite or undefined."""
    if value in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise FormulaError("its value is infinite or undefined; rewrite the formula without it")
    for number in (value.as_coeff_Mul()[0], value.as_coeff_Add()[0]):
        if number.is_Rational and _digits(number) > MAX_DIGITS:
            raise FormulaError(f"a number has more than {MAX_DIGITS} digits; rescale the formula")
    return value


def _real(value: sympy.Expr) -> sympy.Expr:
    """Refuse values that are complex, infinite or undefined; symbolic ones pass."""
    sized(value)
    if value.has(sympy.I):
        raise FormulaError("its value is complex; kernels are real functions")
    if value.free_symbols or value.is_Rational or value.has(sympy.hyper):
        return value
    number = value.evalf(15)
    if not number.is_Float and not number.is_Rational:
        raise FormulaError("its value is not a finite real number; kernels are real functions")
    if number and _digits(number) > MAX_DIGITS:
        raise FormulaError(f"a number is beyond 10**(+-{MAX_DIGITS}); rescale the formula")
    return value


def power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """Raise to a power of bounded size that is real."""
    if not exponent.free_symbols:
        _bound_power(base, exponent)
    result = sympy.Pow(base, exponent)
    if result.is_Mul:
        # Of a power of numbers sympy leaves a product within a product.
        result = result.func(*result.args)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > _MAX_EXPONENT:
        raise FormulaError(f"its exponent {short(result.exp)} is beyond {_MAX_EXPONENT}")
    return _real(result)


def _quotient(left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
    if right.is_zero:
        raise FormulaError("it divides by zero")
    return sized(left / right)


def _bound_power(base: sympy.Expr, exponent: sympy.Expr) -> None:
    number, _ = base.as_independent(*base.free_symbols, as_Add=False)
    limit = _MAX_EXPONENT if base.free_symbols or base in (0, 1) else _MAX_NUMERIC_EXPONENT
    size = abs(exponent if exponent.is_Rational else _real(exponent).evalf(15))
    if size > limit:
        raise FormulaError(
            f"the exponent {short(exponent)} is beyond {limit}, the largest that is computed; "
            "write large exponents through exp"
        )
    if float(size) * _digits(number) > MAX_DIGITS:
        raise FormulaError(
            f"the power would have more than {MAX_DIGITS} digits; rescale the formula"
        )


OPERATIONS: dict[type[ast.operator], Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    ast.Add: lambda left, right: sized(left + right),
    ast.Sub: lambda left, right: sized(left - right),
    ast.Mult: lambda left, right: sized(left * right),
    ast.Div: _quotient,
    ast.Pow: power,
}


def apply(name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """Apply a function of the language, under any of its names."""
    head = sympy.sqrt if name == "sqrt" else BY_NAME[name]
    least, most = ARITIES.get(head, (1, 1))
    found = len(arguments)
    if found < least or (most is not None and found > most):
        wanted = f"at least {least}" if most is None else f"{least}"
        wanted = wanted if most in (None, least) else f"{least} to {most}"
        raise FormulaError(f"{name} takes {wanted} argument{'s' * (wanted != '1')}, not {found}")
    if name == "sqrt":
        return power(arguments[0], sympy.S.Half)
    if head in WITH_ORDER and arguments[0].free_symbols:
        raise FormulaError(
            f"the order {short(arguments[0])} depends on the variable; "
            "give it as a number or a parameter"
        )
    for argument in arguments:
        limit = _LARGEST_FACTOR if argument.free_symbols else LARGEST.get(head)
        factor = argument.as_coeff_Mul()[0] if argument.free_symbols else argument
        if limit and abs(factor if factor.is_Rational else factor.evalf(15)) > limit:
            shown = "1e300" if argument.free_symbols else limit
            raise FormulaError(
                f"the number {short(factor)} is beyond {shown}, the largest that {name} takes; "
                "rescale the formula"
            )
    result = head(*arguments)
    if head in (sympy.Min, sympy.Max):
        # sympy leaves Max(1, 2) inside a nested Min; evaluated, it prints and reads back the same.
        result = result.doit()
    return _real(result)


def hypergeometric(
    upper: Sequence[sympy.Expr], lower: Sequence[sympy.Expr], argument: sympy.Expr
) -> sympy.Expr:
    """Make the function pFq where its series is defined and converges."""
    for parameter in (*upper, *lower):
        if parameter.free_symbols:
            raise FormulaError(
                f"the parameter {short(parameter)} of hyper depends on the variable; "
                "only its last argument may"
            )
    if not lower:
        raise FormulaError(
            "hyper has a lower parameter; hyper([a], [], x) is (1 - x)**(-a), and hyper([], [], x) "
            "is exp(x)"
        )
    if any(parameter.is_integer and parameter.is_nonpositive for parameter in lower):
        raise FormulaError("a lower parameter of hyper is 0, -1, -2, ...: every term divides by 0")
    polynomial = any(parameter.is_integer and parameter.is_nonpositive for parameter in upper)
    if len(upper) > len(lower) + 1 and not polynomial:
        raise FormulaError(
            f"the series of hyper diverges with {len(upper)} upper and {len(lower)} lower "
            "parameters; there may be one more above than below"
        )
    return _real(sympy.hyper(upper, lower, argument))


def piecewise(pairs: Sequence[tuple[sympy.Expr, sympy.Basic]]) -> sympy.Expr:
    """Join pairs (value, condition), of which one can be true."""
    result = sympy.Piecewise(*pairs)
    if not isinstance(result, sympy.Expr) or result is sympy.nan:
        raise FormulaError("no condition is ever true; end with (value, True)")
    return _real(result)
