"""Formulas from text, through a whitelist: nothing that a user types is ever run.

Python's own grammar gives the syntax tree (``ast``, mode "eval", with ``^`` read as ``**``), and
each node of it is either in the language below or refused by name.  The language is numbers,
one variable, parameters with values, ``+ - * / **``, the functions of
:data:`~spectra.formula.functions.FUNCTIONS`, ``sqrt``, ``hyper``, and ``Piecewise`` with
comparisons.  Numbers are exact, and every number is bounded before sympy computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from spectra.base.limits import staged
from spectra.errors import FormulaError, ParameterError
from spectra.formula.reader.parameters import exact_parameter, exact_parameters, refuse_unused
from spectra.formula.reader.text import Reader, checked_text
from spectra.formula.reader.whitelist import audited, rebuilt
from spectra.formula.reader.wording import short

__all__ = ["U", "Z", "check_expression", "parse_formula"]

#: The distance |x - y|, the variable of radial kernels.
Z = sympy.Symbol("z", nonnegative=True)
#: The inner product <x, y> on the unit sphere, the variable of zonal kernels.
U = sympy.Symbol("u", real=True)
_VARIABLES = {"z": Z, "u": U}


@staged("reading the formula", advice="write it shorter, or give a callable")
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
    symbol, values = _variable(variable), exact_parameters(parameters, variable)
    reader = Reader(symbol, values, checked_text(text))
    expr = reader.read()
    refuse_unused(values, reader.used, text)
    return audited(expr, symbol)


@staged("reading the expression", advice="write it shorter, or give a callable")
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
    symbol, values = _variable(variable), exact_parameters(parameters, variable)
    if not isinstance(expr, sympy.Basic):
        expr = exact_parameter("the expression", expr)
    if not isinstance(expr, sympy.Expr):
        raise FormulaError(
            f"{short(expr)} is a {type(expr).__name__}, not an expression with a value; "
            "inside Piecewise it would be a condition"
        )
    accepted = rebuilt(expr, symbol, values)
    refuse_unused(values, {s.name for s in expr.free_symbols}, str(expr))
    return audited(accepted, symbol)


def _variable(name: str) -> sympy.Symbol:
    if name not in _VARIABLES:
        raise ParameterError(
            f"the variable {name!r} is unknown; it is 'z' for radial and 'u' for zonal kernels"
        )
    return _VARIABLES[name]
