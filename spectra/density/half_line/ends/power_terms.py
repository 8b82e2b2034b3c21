"""What a formula does at zero and at infinity: its exact expansions there, in powers and logs."""

from __future__ import annotations

from contextlib import suppress

import sympy

from spectra.errors import NoRouteError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Expansion

__all__ = [
    "PowerTerms",
    "Term",
    "expansion_from",
    "expansion_of",
    "one_sided_expansion",
]

# Powers kept in expansions: with more of them, an expansion is accurate farther from its point.
# Fewer are tried if it grows too long, and more if it has too few terms.
_WINDOWS = (12, 5)
_WIDE_WINDOW = 24
_FEW_TERMS = 8

#: A term c t^a log(1/t)^q of a kernel, t = z at zero and t = 1/z at infinity, as (a, q, c) in exact
#: numbers.
Term = tuple[sympy.Expr, int, sympy.Expr]
#: Terms of a kernel at one end, the largest first.
PowerTerms = tuple[Term, ...]


def expansion_of(expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """Expand a formula at zero or at infinity."""
    expanded = one_sided_expansion(expr, point, plain=True)
    return expansion_from(expanded, expr, point)


def expansion_from(expanded: Expansion, expr: sympy.Expr, point: sympy.Expr) -> PowerTerms:
    """The terms of an expansion without oscillation; refusals name ``expr``."""
    if point == 0 and any(phase.terms for phase, _ in expanded.parts):
        raise NoRouteError(
            f"The formula {expr} has an essential singularity at z = 0, where the numeric route "
            "takes powers and logarithms only. Design a finite measure for your range of distances "
            "(design)."
        )
    terms = []
    for size, c in expanded.as_series().terms:
        a, q = size[0], -size[1]
        if not (q.is_Integer and q >= 0):
            raise NoRouteError(
                f"The formula {expr} has a term log(1/t)^({q}) at z = {point}, whose transform has "
                "no expansion in powers: the numeric route does not cover it. Design a finite "
                "measure for your range of distances (design)."
            )
        terms.append((a, int(q), c))
    return tuple(terms)


def one_sided_expansion(expr: sympy.Expr, point: sympy.Expr, *, plain: bool = False) -> Expansion:
    """The local expansion of a formula; ``plain`` refuses one that oscillates or grows."""
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
