"""Facts that the user states: about a Python callable, or about a formula with ``assume``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy import Expr

from spectra.errors import ParameterError
from spectra.formula.callables import Opaque, OpaqueTerm, opaque_terms
from spectra.formula.parameters import exact_parameter
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.results import (
    UNKNOWN,
    Gap,
    LocalAnalysis,
    PointAnalysis,
    Requirement,
    Singularity,
)
from spectra.singularities.rules import dimension_bound
from spectra.singularities.zeros import distinct, same_radius

__all__ = ["analyse_with_facts", "apply_assumptions", "check_assumptions", "require_formula"]

_ZERO = sympy.Integer(0)


def analyse_with_facts(kernel: Kernel) -> tuple[LocalAnalysis, dict[str, str]]:
    """The local analysis of a kernel, and the facts stated about its callables, by name."""
    functions = {node.func for p in kernel.pieces for node in p.expr.atoms(Opaque)}
    if not functions:
        return analyse(kernel), {}
    facts = {
        f"{function.__name__}.{name}": _format_fact(value)
        for function in sorted(functions, key=str)
        for name, value in function.stated_properties().items()
    }
    return _analyse_callables(kernel), facts


def require_formula(kernel: Kernel, what: str) -> None:
    """Raise ParameterError for a kernel with a callable; ``what`` names the operation."""
    if any(p.expr.has(Opaque) for p in kernel.pieces):
        raise ParameterError(
            f"{what} needs a kernel written as a formula: the facts stated about a callable are "
            "about all distances, and do not say what holds on a part of them."
        )


def _format_fact(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{r} (exponent {e})" for r, e in value) or "none"
    return "smooth" if value is sympy.oo else str(value)


def _analyse_callables(kernel: Kernel) -> LocalAnalysis:
    """The local analysis by the facts stated about callables; each missing fact is a gap."""
    found: list[tuple[Expr, PointAnalysis]] = []
    gaps: list[Gap] = []
    for piece in kernel.pieces:
        split = opaque_terms(piece.expr)
        if split is None:
            gaps.append(Gap(_PRODUCT_REASON.format(piece.expr)))
            continue
        terms, rest = split
        for term in terms:
            found += _analyse_callable(term, piece.support)
            if term.function.breaks is None:
                gaps.append(Gap(term.function.describe_missing()))
        if rest != 0:
            analysis = analyse(Kernel((Piece(piece.support, rest),)))
            found += [(_ZERO, analysis.origin), (sympy.oo, analysis.infinity), *analysis.radii]
            gaps += analysis.gaps
    radii = [(r, point) for r, point in found if r not in (_ZERO, sympy.oo)]
    bounds = [(r, point.requirements[0].dim_bound) for r, point in radii if point.requirements]
    if len(distinct(r for r, _ in bounds)) < len(bounds):
        reason = "whether the singularities of several summands at one radius cancel"
        gaps.append(Gap(reason, min(bound for _, bound in bounds)))
        radii = [(r, replace(point, requirements=())) for r, point in radii]
    origin, infinity = (
        PointAnalysis(
            tuple(x for r, point in found if r == location for x in point.requirements),
            tuple(x for r, point in found if r == location for x in point.gaps),
            tuple(x for r, point in found if r == location for x in point.singularities),
        )
        for location in (_ZERO, sympy.oo)
    )
    return LocalAnalysis((), origin, tuple(radii), infinity, tuple(gaps))


_PRODUCT_REASON = (
    "how smooth {} is, a callable times a function: state facts about one callable of the product"
)


def _analyse_callable(term: OpaqueTerm, support: Expr) -> Iterator[tuple[Expr, PointAnalysis]]:
    """Analyse one summand by the stated facts: pairs of a location and the analysis there."""
    function, name = term.function, term.function.__name__
    if function.origin is None:
        yield _ZERO, _gap(function.describe_missing(), _ZERO)
    elif function.origin is not sympy.oo:
        singularity = Singularity(_ZERO, function.origin, right=UNKNOWN)
        yield _ZERO, PointAnalysis(singularities=(singularity,))
    for radius, exponent in function.breaks or ():
        r = radius * term.scale
        if support is sympy.oo or float(r) < float(support):
            reason = f"how smooth {name} is at z = {r}; state breaks={{radius: exponent}}"
            yield r, _analyse_radius(name, r, exponent, reason)
    if support is sympy.oo and function.decay is None:
        yield sympy.oo, _gap(function.describe_missing(), sympy.oo)
    else:
        yield sympy.oo, PointAnalysis(limit=_ZERO)
    if support is sympy.oo:
        return
    end = function.support * term.scale
    if end is not sympy.oo and same_radius(end, support):
        yield support, _analyse_radius(name, support, function.edge, function.describe_missing())
    else:
        reason = f"how smooth {name} is at z = {support}, where it is cut before its own support"
        yield support, _gap(reason, support)


def _gap(reason: str, location: Expr) -> PointAnalysis:
    return PointAnalysis(gaps=(Gap(reason, location=location),))


def _analyse_radius(name: str, r: Expr, exponent: Expr | None, reason: str) -> PointAnalysis:
    """Apply the rule to the stated exponent; a gap with this reason if it is None."""
    if exponent is None:
        return _gap(reason, r)
    singularity = Singularity(r, exponent, left=UNKNOWN)
    bound = dimension_bound(exponent)
    reason = (
        f"At z = {r} the callable {name} has, as stated, a singularity of exponent {exponent}; its "
        f"spectrum is integrable exactly for d < {bound}."
    )
    requirement = Requirement(bound, inclusive=False, reason=reason, singularity=singularity)
    return PointAnalysis(requirements=(requirement,), singularities=(singularity,))


_ASSUMPTIONS = {
    "smoothness": "every singularity that was not found, at a radius, has an exponent above {}",
    "decay": "k minus its limit decays like z^(-{}), with its derivatives and without oscillation",
    "origin": "k - k(0) vanishes like z^{} at z = 0, with its derivatives",
}


def check_assumptions(assume: Mapping[str, float] | None) -> dict[str, Expr]:
    """The assumptions as exact numbers; ParameterError for an unknown name."""
    if assume is not None and not isinstance(assume, Mapping):
        raise ParameterError(
            f"assume says what you know by name, for instance assume={{'smoothness': 3}}, and a "
            f"{type(assume).__name__} was passed. The names are {', '.join(_ASSUMPTIONS)}."
        )
    assumptions = {}
    for name, value in (assume or {}).items():
        if name not in _ASSUMPTIONS:
            raise ParameterError(
                f"{name!r} is not something to assume; the choices are {', '.join(_ASSUMPTIONS)}."
            )
        is_infinite = not isinstance(value, str) and value == sympy.oo
        number = sympy.oo if is_infinite else exact_parameter(name, value)
        if not number.is_extended_positive:
            raise ParameterError(f"The assumed {name} must be a positive exponent, not {value}.")
        assumptions[name] = number
    return assumptions


def apply_assumptions(
    points: Iterable[PointAnalysis], assumptions: Mapping[str, Expr]
) -> tuple[tuple[PointAnalysis, ...], tuple[str, ...]]:
    """Close the gaps that an assumption covers; return the points, and each assumption in words."""

    def remaining(gap: Gap) -> Iterator[Gap]:
        if gap.location == 0 or gap.location is sympy.oo:
            if ("origin" if gap.location == 0 else "decay") not in assumptions:
                yield gap
        elif "smoothness" not in assumptions:
            yield gap
        elif (bound := dimension_bound(assumptions["smoothness"])) is not sympy.oo:
            reason = f"whether k is smoother than the assumed {assumptions['smoothness']}"
            yield Gap(reason, bound, gap.location)

    closed = tuple(
        replace(p, gaps=tuple(g for gap in p.gaps for g in remaining(gap))) for p in points
    )
    notes = (f"Assumed, not shown: {_ASSUMPTIONS[n].format(v)}." for n, v in assumptions.items())
    return closed, tuple(notes)
