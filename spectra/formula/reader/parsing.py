"""Formulas from text or sympy, through a whitelist: nothing that a user types is run.

Python's grammar gives the syntax tree of text (``^`` is read as ``**``); an expression of sympy is
read from the text that sympy prints of it.  Each node is in the language or refused by name:
numbers, one variable, parameters with values, ``+ - * / **``, the functions of
:mod:`spectra.formula.functions`, ``sqrt``, ``hyper``, and ``Piecewise`` with comparisons.  Numbers
are exact, and their size is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from spectra.base.limits import staged
from spectra.errors import ParameterError
from spectra.formula.reader.parameters import exact_parameter, exact_parameters, refuse_unused
from spectra.formula.reader.text import Reader, checked_text, printed

__all__ = ["U", "Z", "parse_formula"]

#: The distance |x - y|, the variable of radial kernels.
Z = sympy.Symbol("z", nonnegative=True)
#: The inner product <x, y> on the unit sphere, the variable of zonal kernels.
U = sympy.Symbol("u", real=True)
_VARIABLES = {"z": Z, "u": U}


@staged("reading the formula", advice="write it shorter, or give a callable")
def parse_formula(
    formula: str | sympy.Expr | float,
    *,
    variable: str,
    parameters: Mapping[str, Any] | None = None,
) -> sympy.Expr:
    """Read a formula into an exact sympy expression in one variable.

    Parameters
    ----------
    formula
        Text, for example ``"(1 - z**2/a**2)**p"``, a sympy expression, or a number.  Integers and
        decimals are exact: ``0.1`` is 1/10.  Any sympy symbol with the name of the variable,
        whatever its assumptions, is the variable.
    variable
        ``"z"`` for a radial kernel (read as the nonnegative symbol :data:`Z`) or ``"u"`` for a
        zonal one (the real symbol :data:`U`).
    parameters
        A real finite value for each other name in the formula; see :func:`exact_parameter`.

    Examples
    --------
    >>> parse_formula("(1 - z^2/a**2)**p", variable="z", parameters={"a": 2, "p": 2})
    (1 - z**2/4)**2
    >>> z, a = sympy.symbols("z a")
    >>> parse_formula(sympy.exp(-a * sympy.sqrt(z**2)), variable="z", parameters={"a": 0.5})
    exp(-z/2)
    """
    if variable not in _VARIABLES:
        raise ParameterError(
            f"the variable {variable!r} is unknown; it is 'z' for radial and 'u' for zonal kernels"
        )
    symbol, values = _VARIABLES[variable], exact_parameters(parameters, variable)
    if isinstance(formula, str):
        text = checked_text(formula)
    else:
        is_sympy = isinstance(formula, sympy.Basic)
        text = printed(formula if is_sympy else exact_parameter("the formula", formula))
    reader = Reader(symbol, values, text)
    expr = reader.read()
    refuse_unused(values, reader.used, text)
    return expr
