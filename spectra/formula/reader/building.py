"""Expressions put together, with every number bounded."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache

import mpmath
import sympy

from spectra.errors import FormulaError
from spectra.formula.functions import ARITIES, BY_NAME, WITH_ORDER
from spectra.formula.reader.wording import short

__all__ = ["MAX_DIGITS", "OPERATIONS", "SYMPY_FAILURES", "apply", "checked", "hypergeometric"]

# Limits that no formula of a kernel comes near, and within which sympy answers at once.
MAX_DIGITS = 1000
_MAX_EXPONENT = _LARGEST_ARGUMENT = 10_000
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


def checked(value: sympy.Expr) -> sympy.Expr:
    """Refuse what is infinite, undefined or complex, and numbers of too many digits."""
    if value in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise FormulaError("its value is infinite or undefined; rewrite the formula without it")
    if value.has(sympy.I):
        raise FormulaError("its value is complex; kernels are real functions")
    numbers = (value.as_coeff_Mul()[0], value.as_coeff_Add()[0]) if value.free_symbols else (value,)
    if any(_digits(number) > MAX_DIGITS for number in numbers):
        raise FormulaError(f"a number has more than {MAX_DIGITS} digits; rescale the formula")
    return value


@lru_cache(maxsize=2000)
def _digits(number: sympy.Expr) -> float:
    """The decimal digits of a rational number, or the size of the logarithm of another."""
    if number.is_Rational:
        return math.log10(max(abs(int(number.p)), int(number.q)))
    if number.has(sympy.hyper):  # its value may take long, and is of ordinary size
        return 0.0
    size = number.evalf(15)
    if not size.is_Float and not size.is_Rational:
        raise FormulaError("its value is not a finite real number; kernels are real functions")
    return abs(float(sympy.log(abs(size), 10).evalf(15))) if size else 0.0


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    if not exponent.free_symbols:
        number, _ = base.as_independent(*base.free_symbols, as_Add=False)
        if abs(exponent.evalf(15)) * _digits(number) > MAX_DIGITS:
            raise FormulaError(
                f"the power {short(exponent)} of {short(number)} has more than {MAX_DIGITS} "
                "digits; rescale the formula"
            )
    result = sympy.Pow(base, exponent)
    if result.is_Mul:
        # Of a power of numbers sympy leaves a product within a product.
        result = result.func(*result.args)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > _MAX_EXPONENT:
        raise FormulaError(
            f"the exponent {short(result.exp)} is beyond {_MAX_EXPONENT}; write large exponents "
            "through exp"
        )
    return result


OPERATIONS: dict[type[ast.operator], Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
}


def apply(name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """Apply a function of the language, under any of its names."""
    head = sympy.sqrt if name == "sqrt" else BY_NAME[name]
    least, most = ARITIES.get(head, (1, 1))
    if not least <= len(arguments) <= most:
        wanted = f"{least}" if most == least else f"at least {least}"
        raise FormulaError(
            f"{name} takes {wanted} argument{'s' * (wanted != '1')}, not {len(arguments)}"
        )
    if name == "sqrt":
        return _power(arguments[0], sympy.S.Half)
    if head in WITH_ORDER and arguments[0].free_symbols:
        raise FormulaError(
            f"the order {short(arguments[0])} depends on the variable; "
            "give it as a number or a parameter"
        )
    for argument in arguments:
        factor, limit = argument, _LARGEST_ARGUMENT
        if argument.free_symbols:
            factor, limit = argument.as_coeff_Mul()[0], _LARGEST_FACTOR
        elif head is not sympy.gamma and head not in WITH_ORDER:
            continue  # sympy takes numbers of any size
        if abs(factor.evalf(15)) > limit:
            raise FormulaError(
                f"the number {short(factor)} is beyond {float(limit):g}, the largest that {name} "
                "takes; rescale the formula"
            )
    # sympy leaves Max(1, 2) inside a nested Min; evaluated, it prints and reads back the same.
    return head(*arguments).doit() if head in (sympy.Min, sympy.Max) else head(*arguments)


def hypergeometric(
    upper: Sequence[sympy.Expr], lower: Sequence[sympy.Expr], argument: sympy.Expr
) -> sympy.Expr:
    """Make the function pFq where its series is infinite, defined and converges."""
    for parameter in (*upper, *lower):
        if parameter.free_symbols:
            raise FormulaError(
                f"the parameter {short(parameter)} of hyper depends on the variable; "
                "only its last argument may"
            )
    whole = any(parameter.is_integer and parameter.is_nonpositive for parameter in (*upper, *lower))
    if whole or not lower or len(upper) > len(lower) + 1:
        raise FormulaError(
            "hyper has a lower parameter at least, at most one more above than below, and none of "
            "them is 0, -1, -2, ...: write polynomials out, (1 - x)**(-a) for hyper([a], [], x), "
            "and exp(x) for hyper([], [], x)"
        )
    return sympy.hyper(upper, lower, argument)
