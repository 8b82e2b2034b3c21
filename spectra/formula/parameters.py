"""Conversion of the values of parameters to exact real numbers."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy

from spectra.errors import FormulaError, ParameterError
from spectra.formula.building import check_value
from spectra.formula.functions import CONSTANTS
from spectra.formula.text import Parser, sympy_to_text
from spectra.formula.wording import FUNCTION_NAMES, did_you_mean, shorten

__all__ = ["exact_length", "exact_parameter", "exact_parameters", "refuse_unused"]

# The shortest length, and the reciprocal of the longest: near the limits of doubles, with a margin
# for products of lengths and distances.
_SHORTEST = sympy.Rational(1, 10**300)


def exact_parameter(name: str, value: Any) -> sympy.Expr:
    """Convert the value of a parameter to an exact real sympy number.

    A float is replaced by the shortest decimal that rounds to it (its ``repr``), so that a
    parameter of 0.1 gives the same kernel as a formula that contains ``0.1``: both are 1/10.
    """
    is_real = isinstance(value, sympy.Basic) or (
        isinstance(value, numbers.Number)
        and not isinstance(value, bool | np.bool_ | complex | np.complexfloating)
    )
    if not is_real:
        raise ParameterError(
            f"the parameter {name!r} = {shorten(value)} is of type {type(value).__name__}; pass a "
            "real number: an int, float, Fraction or sympy number"
        )
    if isinstance(value, sympy.Basic) and value.free_symbols:
        others = ", ".join(sorted(str(s) for s in value.free_symbols))
        raise ParameterError(
            f"the parameter {name!r} = {shorten(value)} depends on {others}; pass a number"
        )
    try:
        if isinstance(value, numbers.Rational):
            return check_value(sympy.Rational(int(value.numerator), int(value.denominator)))
        text = sympy_to_text(value) if isinstance(value, sympy.Basic) else str(value)
        return Parser(sympy.Symbol("z"), {}, text).parse()
    except FormulaError as error:
        raise ParameterError(f"the parameter {name!r} is not accepted: {error}") from error


def exact_length(length: Any) -> sympy.Expr:
    """Convert a length scale to an exact number between 1e-300 and 1e300."""
    scale = exact_parameter("length", length)
    if not scale.is_positive:
        raise ParameterError(f"A length must be positive, and {length} is not.")
    if not _SHORTEST <= scale <= 1 / _SHORTEST:
        raise ParameterError(
            f"The length {length} is beyond the range of double precision for frequencies, "
            "1/length. Choose a unit of distance in which 1e-300 <= length <= 1e300."
        )
    return scale


def exact_parameters(parameters: Mapping[str, Any] | None, variable: str) -> dict[str, sympy.Expr]:
    """Convert all values to exact numbers, and refuse names that a formula cannot use."""
    values = {}
    for name, value in (parameters or {}).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError(
                f"the parameter name {name!r} is not valid in a formula; pass an identifier"
            )
        if name == variable or name in (*CONSTANTS, "I"):
            raise ParameterError(
                f"the parameter name {name!r} has a meaning in formulas; choose another name"
            )
        values[name] = exact_parameter(name, value)
    return values


def refuse_unused(values: Mapping[str, Any], used: set[str], formula: str) -> None:
    """Raise ParameterError if a parameter does not occur in the formula."""
    unused = sorted(set(values) - used)
    if unused:
        names = [n for n in re.findall(r"[^\W\d]\w*", formula) if n not in FUNCTION_NAMES]
        raise ParameterError(
            f"the formula {shorten(formula)} does not use {', '.join(map(repr, unused))}; "
            "leave it out, or correct its name" + did_you_mean(unused[0], names)
        )
