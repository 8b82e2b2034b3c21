"""Exact expansions of a formula in powers and logarithms, at z = 0 and at infinity."""

from __future__ import annotations

from contextlib import suppress

import sympy

from spectra.errors import NoRouteError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Expansion

__all__ = ["PowerTerms", "Term", "expand_in_powers", "expand_one_sided", "read_power_terms"]

# Exponents are kept up to 12 above the first, up to 5 if that fails, or up to 24 if there are fewer
# than _FEW_TERMS terms.  With more terms an expansion is accurate farther from its point.
_WINDOWS = (12, 5)
_WIDE_WINDOW = 24
_FEW_TERMS = 8

#: A term c t^a log(1/t)^q of a kernel as (a, q, c), in exact numbers; t = z at zero and t = 1/z at
#: infinity.
Term = tuple[sympy.Expr, int, sympy.Expr]
#: Terms of a kernel at one end, the largest first.
PowerTerms = tuple[Term, ...]


def expand_in_powers(expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """Expand a formula that neither oscillates nor grows exponentially, at 0 or infinity."""
    return read_power_terms(expand_one_sided(expr, point, plain=True), expr, point)


def read_power_terms(expansion: Expansion, expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """The terms of an expansion that does not oscillate; error messages name ``expr``."""
    if point == 0 and any(phase.terms for phase, _ in expansion.parts):
        raise NoRouteError(
            f"The formula {expr} has an essential singularity at z = 0, where the numeric route "
            "takes powers and logarithms only. Design a finite measure for your range of distances "
            "(design)."
        )
    terms = []
    for (a, minus_q), c in expansion.as_series().terms:
        q = -minus_q
        if not (q.is_Integer and q >= 0):
            raise NoRouteError(
                f"The formula {expr} has a logarithm to the power {q} at z = {point}, whose "
                "transform has no expansion in powers: the numeric route does not cover it. Design "
                "a finite measure for your range of distances (design)."
            )
        terms.append((a, int(q), c))
    return tuple(terms)


def expand_one_sided(expr: sympy.Expr, point: sympy.Expr, *, plain: bool = False) -> Expansion:
    """Expand at a point; ``plain`` refuses formulas that oscillate or grow exponentially."""
    reason = ""
    for window in _WINDOWS:
        try:
            expanded = expand_at(expr, point, 1, window)
            few = plain and 1 < len(expanded.as_series().terms) < _FEW_TERMS
        except ExpansionError as error:
            reason = str(error)
            continue
        if few:
            with suppress(ExpansionError):
                expanded = expand_at(expr, point, 1, _WIDE_WINDOW)
        return expanded
    raise NoRouteError(
        f"The formula {expr} could not be expanded at z = {point} ({reason}), and the numeric "
        "route needs its decay and its smoothness. Give its values as a callable and state what it "
        "does at both ends (docs/callables.md), or design a finite measure for your range of "
        "distances (design)."
    )
