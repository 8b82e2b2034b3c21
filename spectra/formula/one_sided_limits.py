"""The exact limits of a formula as z decreases to 0 and as z tends to a radius."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import sympy

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluate import numpy_function
from spectra.formula.expansions.cases import choose_cases, sign_near_zero
from spectra.formula.expansions.elementary import limit
from spectra.formula.expansions.exact_numbers import ExpansionError, MoreTermsNeeded
from spectra.formula.expansions.expand import expand_at
from spectra.formula.parsing import Z

__all__ = ["limit_at", "refuse_jump_at_zero", "value_at_zero"]

# Numbers of powers kept in an expansion, tried in turn until they determine the limit (arbitrary).
_WINDOWS = (1, 5, 12, 30, 64)
# Relative difference between the value and the limit at 0 above which there is a jump (arbitrary).
_JUMP = 1e-9


def value_at_zero(expr: sympy.Expr) -> sympy.Expr | None:
    """Return the exact finite limit of a formula in z as z decreases to 0.

    The limit is None if the formula is unbounded, oscillates or is undefined near 0, or if its
    asymptotic expansion at 0 cannot be computed.
    """
    if expr.has(Opaque):
        # A callable has no formula to expand; its value at 0 is used as the limit.
        at_zero = float(numpy_function(expr, Z)(0.0))
        return sympy.Float(at_zero, 17) if np.isfinite(at_zero) else None
    try:
        analytic = choose_cases(expr, sign_near_zero)
        for window in _WINDOWS:
            with suppress(MoreTermsNeeded):
                value = limit(expand_at(analytic, sympy.S.Zero, 1, window))
                return value if value is None or value.evalf(20, chop=True).is_real else None
    except ExpansionError:
        pass
    return None


def refuse_jump_at_zero(expr: sympy.Expr) -> None:
    """Raise FormulaError if a formula with cases or steps is not continuous at z = 0."""
    has_cases = expr.has(sympy.Piecewise, sympy.Heaviside)
    exact_limit = value_at_zero(expr) if has_cases else None
    if exact_limit is None:
        return
    value, limit_value = float(numpy_function(expr, Z)(0.0)), float(exact_limit)
    if np.isfinite(value) and abs(value - limit_value) > _JUMP * max(abs(value), abs(limit_value)):
        raise FormulaError(
            f"The formula {expr} is {value:.6g} at z = 0, but its limit as z tends to 0 is "
            f"{limit_value:.6g}. A kernel with a spectral measure is continuous at z = 0: write "
            "the formula without the jump, and add a nugget to the diagonal of the kernel matrix."
        )


def limit_at(expr: sympy.Expr, radius: sympy.Expr, *, both_sides: bool = True) -> float:
    """Return the limit of a formula in z at a radius; nan if there is none or none is found.

    With ``both_sides`` the limits from below and above must agree; else it is the one from below.
    """
    sides = (radius - Z, radius + Z) if both_sides else (radius - Z,)
    try:
        limits = {value_at_zero(expr.subs(Z, side)) for side in sides}
    except TypeError:  # raised by sympy for a condition that compares numbers that are not real
        return float("nan")
    first = limits.pop()
    return float("nan") if limits or first is None else float(first)
