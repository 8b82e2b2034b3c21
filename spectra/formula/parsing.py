"""Parse formulas from text or sympy without executing any user input.

Text is parsed by Python's ``ast`` module, with ``^`` as ``**``.  A sympy expression is printed and
its text is parsed in the same way.  A formula may contain numbers, one variable, parameters with
values, ``+ - * / **``, the functions of :mod:`spectra.formula.functions`, ``sqrt``, ``hyper``, and
``Piecewise`` with comparisons; the error for anything else names it.  Numbers are exact, and the
number of their digits is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from spectra.base.limits import staged
from spectra.errors import ParameterError
from spectra.formula.functions import VARIABLES, T, U, Z
from spectra.formula.parameters import exact_parameter, exact_parameters, refuse_unused
from spectra.formula.text import Parser, normalize_text, sympy_to_text

__all__ = ["T", "U", "Z", "parse_formula"]

_VARIABLES = {str(symbol): symbol for symbol in VARIABLES}


@staged("reading the formula", advice="write a shorter formula, or pass a callable")
def parse_formula(
    formula: str | sympy.Expr | float, *, variable: str, parameters: Mapping[str, Any] | None = None
) -> sympy.Expr:
    """Parse a formula to an exact sympy expression in one variable.

    ``formula`` is text, a sympy expression or a number.  Integers and decimals are exact: 0.1 is
    1/10.  A sympy symbol is identified by its name; its assumptions are ignored.  ``variable`` is
    "z" for a radial kernel (the nonnegative symbol :data:`Z`), "u" for a zonal kernel (the real
    symbol :data:`U`), "t" for one of the inner product (:data:`T`), or "k", "w" or "f" for a
    spectrum; ``parameters`` has finite real values of the other names.

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
            f"the variable {variable!r} is unknown; it is 'z' for radial kernels, 'u' for zonal "
            "ones, and 't' for those of the inner product"
        )
    symbol, values = _VARIABLES[variable], exact_parameters(parameters, variable)
    if isinstance(formula, str):
        text = normalize_text(formula)
    else:
        is_sympy = isinstance(formula, sympy.Basic)
        text = sympy_to_text(formula if is_sympy else exact_parameter("the formula", formula))
    parser = Parser(symbol, values, text)
    expr = parser.parse()
    refuse_unused(values, parser.used_parameters, text)
    return expr
