"""The exact limit of a formula as its variable decreases to 0, or nears a radius."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import sympy

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.evaluate import numpy_function
from spectra.formula.expansions.elementary import limit
from spectra.formula.expansions.exact_numbers import ExpansionError, MoreTermsNeeded
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.kinks import resolve, sign_near_zero
from spectra.formula.reader.parsing import Z

__all__ = ["limit_at", "refuse_jump_at_zero", "value_at_zero"]

# Powers kept in an expansion, tried in turn until the limit shows.
_WINDOWS = (1, 5, 12, 30, 64)
_ZERO = sympy.Integer(0)
# A value at 0 that differs by a larger share from the limit is a jump.
_JUMP = 1e-9


def value_at_zero(expr: sympy.Expr) -> sympy.Expr | None:
    """Return the exact limit of a formula in Z as Z decreases to 0, if it is finite.

    It is that of the expansion at 0; None where it is infinite, oscillating, undefined, or not
    found.

    Examples
    --------
    >>> import sympy
    >>> value_at_zero(sympy.sin(Z) / Z), value_at_zero(sympy.exp(-Z))
    (1, 1)
    >>> print(value_at_zero(1 / Z))
    None
    """
    if expr.has(Opaque):
        # A callable has its value at 0 in doubles, and no digits to see a limit from.
        at_zero = float(numpy_function(expr, Z)(0.0))
        return sympy.Float(at_zero, 17) if np.isfinite(at_zero) else None
    try:
        smooth = resolve(expr, sign_near_zero)
        for window in _WINDOWS:
            with suppress(MoreTermsNeeded):
                value = limit(expand_at(smooth, _ZERO, 1, window))
                return value if value is None or value.evalf(20, chop=True).is_real else None
    except ExpansionError:
        pass
    return None


def refuse_jump_at_zero(expr: sympy.Expr) -> None:
    """Refuse a formula with conditions whose value at Z = 0 is not its limit there."""
    limit = value_at_zero(expr) if expr.has(sympy.Piecewise) else None
    if limit is None:
        return
    value, near = float(numpy_function(expr, Z)(0.0)), float(limit)
    if np.isfinite(value) and abs(value - near) > _JUMP * max(abs(value), abs(near)):
        raise FormulaError(
            f"The formula {expr} is {value:.6g} at z = 0 and nears {near:.6g} as z falls to 0. A "
            "kernel with a spectral measure is continuous at z = 0: write the formula without the "
            "jump, and add the nugget to the diagonal of the matrix."
        )


def limit_at(expr: sympy.Expr, radius: sympy.Expr, *, from_above: bool = True) -> float:
    """The limit of a formula in Z at a radius from below, and the same from above; nan without one.

    Examples
    --------
    >>> limit_at((Z - 1) / sympy.log(Z), sympy.Integer(1))
    1.0
    """
    sides = (radius - Z, radius + Z) if from_above else (radius - Z,)
    try:
        limits = {value_at_zero(expr.subs(Z, side)) for side in sides}
    except TypeError:  # A condition compares what is not real beside it.
        return float("nan")
    found = limits.pop()
    return float("nan") if limits or found is None else float(found)
