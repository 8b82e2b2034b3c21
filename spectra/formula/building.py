"""Build sympy expressions from their parts, with limits on the size of every number."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache

import mpmath
import sympy

from spectra.errors import FormulaError
from spectra.formula.functions import ARITIES, FUNCTIONS, FUNCTIONS_WITH_ORDER, VARIABLES
from spectra.formula.wording import shorten

__all__ = ["MAX_DIGITS", "OPERATORS", "SYMPY_ERRORS", "apply_function", "check_value", "make_hyper"]

# Limits within which sympy is fast, far above the numbers in formulas of kernels: decimal
# digits of a number, exponents, and constant arguments of gamma, Bessel functions and expint.
MAX_DIGITS = 1000
_MAX_EXPONENT = _MAX_CONSTANT_ARGUMENT = 10_000
# The largest c in f(c z): 1/c is a length, which must be a double.
_MAX_FACTOR = sympy.Integer(10) ** 300
#: Errors that sympy may raise for arguments that it cannot handle.
SYMPY_ERRORS = (
    ArithmeticError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    mpmath.mp.NoConvergence,
)


def check_value(value: sympy.Expr) -> sympy.Expr:
    """Return the value unless it is infinite, undefined, complex or has too many digits."""
    if value in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        raise FormulaError("its value is infinite or undefined; rewrite this part of the formula")
    if value.has(sympy.I):
        raise FormulaError("its value is complex; kernels are real functions")
    numbers = [value]
    if value.free_symbols:  # its constant factor and its constant summand
        numbers = [value.as_coeff_Mul()[0], value.as_coeff_Add()[0]]
    if any(_digits(number) > MAX_DIGITS for number in numbers):
        raise FormulaError(f"a number has more than {MAX_DIGITS} digits; rescale the formula")
    return value


@lru_cache(maxsize=2000)
def _digits(number: sympy.Expr) -> float:
    """Decimal digits of a rational number; abs(log10(abs(x))) of an irrational number x."""
    if number.is_Rational:
        return math.log10(max(abs(int(number.p)), int(number.q)))
    if number.has(sympy.hyper):  # slow to evaluate, and never of extreme size
        return 0.0
    value = number.evalf(15)
    if not value.is_Float and not value.is_Rational:
        raise FormulaError("its value is not a finite real number; kernels are real functions")
    return abs(float(sympy.log(abs(value), 10).evalf(15))) if value else 0.0


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    if not exponent.free_symbols:
        number, _ = base.as_independent(*base.free_symbols, as_Add=False)
        if abs(exponent.evalf(15)) * _digits(number) > MAX_DIGITS:
            raise FormulaError(
                f"the power {shorten(exponent)} of {shorten(number)} has more than {MAX_DIGITS} "
                "digits; rescale the formula"
            )
    result = sympy.Pow(base, exponent)
    if result.is_Mul:
        # Flatten the nested product that sympy returns for some powers of numbers.
        result = result.func(*result.args)
    if result.is_Pow and result.exp.is_Rational and abs(result.exp) > _MAX_EXPONENT:
        raise FormulaError(
            f"the exponent {shorten(result.exp)} is beyond {_MAX_EXPONENT}; write it with exp"
        )
    return result


OPERATORS: dict[type[ast.operator], Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
}


def apply_function(name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
    """Apply a function, given by one of its names, to arguments."""
    function = sympy.sqrt if name == "sqrt" else FUNCTIONS[name]
    least, most = ARITIES.get(function, (1, 1))
    if not least <= len(arguments) <= most:
        bound = f"at least {least}" if len(arguments) < least else f"at most {most}"
        expected = f"{least}" if most == least else bound
        raise FormulaError(
            f"{name} takes {expected} argument{'s' * (expected != '1')}, not {len(arguments)}"
        )
    if name == "sqrt":
        return _power(arguments[0], sympy.S.Half)
    if function in FUNCTIONS_WITH_ORDER and arguments[0].has(*VARIABLES):
        raise FormulaError(
            f"the order {shorten(arguments[0])} depends on the variable; give a number"
        )
    for argument in arguments:
        number, limit = argument, _MAX_CONSTANT_ARGUMENT
        if argument.free_symbols:
            number, limit = argument.as_coeff_Mul()[0], _MAX_FACTOR
        elif function is not sympy.gamma and function not in FUNCTIONS_WITH_ORDER:
            continue  # sympy evaluates the other functions quickly at numbers of any size
        if abs(number.evalf(15)) > limit:
            raise FormulaError(
                f"the number {shorten(number)} is beyond {float(limit):g}, the largest that "
                f"{name} takes; rescale the formula"
            )
    result = function(*arguments)
    # Min(z, Max(1, 2)) is evaluated, so that the printed formula parses to an equal expression.
    return result.doit() if function in (sympy.Min, sympy.Max) else result


def make_hyper(
    upper: Sequence[sympy.Expr], lower: Sequence[sympy.Expr], argument: sympy.Expr
) -> sympy.Expr:
    """Make pFq(upper; lower; argument); its series must be infinite and must converge near 0."""
    for parameter in (*upper, *lower):
        if parameter.has(*VARIABLES):
            raise FormulaError(
                f"the parameter {shorten(parameter)} of hyper depends on the variable"
            )
    has_nonpositive_integer = any(p.is_integer and p.is_nonpositive for p in (*upper, *lower))
    if has_nonpositive_integer or not lower or len(upper) > len(lower) + 1:
        raise FormulaError(
            "hyper(a, b, x) needs a lower parameter (in b), at most one more upper parameter than "
            "lower ones, and no parameter 0, -1, -2, ...: write polynomials out, "
            "(1 - x)**(-a) for hyper([a], [], x), and exp(x) for hyper([], [], x)"
        )
    return sympy.hyper(upper, lower, argument)
