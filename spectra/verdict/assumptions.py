"""Facts that a caller states about a Python callable, or about a formula with ``assume``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from spectra.errors import ParameterError
from spectra.formula.callables import Opaque, OpaqueTerm, opaque_terms
from spectra.formula.pieces import Piece
from spectra.formula.reader.parameters import exact_parameter
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
    given = {
        f"{function.__name__}.{name}": _format_fact(value)
        for function in sorted(functions, key=str)
        for name, value in function.stated().items()
    }
    return _analyse_callables(kernel), given


def require_formula(kernel: Kernel, what: str) -> None:
    """Raise an error for a callable, if a formula is needed."""
    if any(p.expr.has(Opaque) for p in kernel.pieces):
        raise ParameterError(
            "A callable shows no formula, so that nothing is known of it on a part of its range: "
            f"{what} needs a kernel written as a formula."
        )


def _format_fact(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{r} (exponent {e})" for r, e in value) or "none"
    return "smooth" if value is sympy.oo else str(value)


def _analyse_callables(kernel: Kernel) -> LocalAnalysis:
    """The local analysis from the stated facts of callables; each missing fact is a gap."""
    found: list[tuple[sympy.Expr, PointAnalysis]] = []
    gaps: list[Gap] = []
    for piece in kernel.pieces:
        split = opaque_terms(piece.expr)
        if split is None:
            gaps.append(Gap(_PRODUCT.format(piece.expr)))
            continue
        terms, rest = split
        for term in terms:
            found += _callable_points(term, piece.support)
            if term.function.breaks is None:
                gaps.append(Gap(term.function.missing()))
        if rest != 0:
            plain = analyse(Kernel((Piece(piece.support, rest),)))
            found += [(_ZERO, plain.origin), (sympy.oo, plain.infinity), *plain.radii]
            gaps += plain.gaps
    radii = [(r, ending) for r, ending in found if r not in (_ZERO, sympy.oo)]
    bounds = [(r, e.requirements[0].bound) for r, e in radii if e.requirements]
    if len(distinct(r for r, _ in bounds)) < len(bounds):
        text = "whether the singularities of several summands at one radius cancel"
        gaps.append(Gap(text, min(bound for _, bound in bounds)))
        radii = [(r, replace(ending, requirements=())) for r, ending in radii]
    ends = [
        PointAnalysis(
            tuple(x for r, e in found if r == place for x in e.requirements),
            tuple(x for r, e in found if r == place for x in e.gaps),
            tuple(x for r, e in found if r == place for x in e.singularities),
        )
        for place in (_ZERO, sympy.oo)
    ]
    return LocalAnalysis((), ends[0], tuple(radii), ends[1], tuple(gaps))


_PRODUCT = (
    "{} multiplies a callable with something else: make one callable of the product and state "
    "its facts"
)


def _callable_points(
    term: OpaqueTerm, support: sympy.Expr
) -> Iterator[tuple[sympy.Expr, PointAnalysis]]:
    """The stated facts of one summand, or a gap, at each place."""
    function, name = term.function, term.function.__name__
    if function.origin is None:
        yield _ZERO, _gap(function.missing(), _ZERO)
    elif function.origin is not sympy.oo:
        at = Singularity(_ZERO, function.origin, right=UNKNOWN)
        yield _ZERO, PointAnalysis(singularities=(at,))
    for radius, exponent in function.breaks or ():
        r = radius * term.scale
        if support is sympy.oo or float(r) < float(support):
            hint = f"how smooth {name} is at z = {r}; state breaks={{radius: exponent}}"
            yield r, _analyse_radius(name, r, exponent, hint)
    if support is sympy.oo and function.decay is None:
        yield sympy.oo, _gap(function.missing(), sympy.oo)
    else:
        yield sympy.oo, PointAnalysis(limit=_ZERO)
    if support is sympy.oo:
        return
    end = function.support * term.scale
    if end is not sympy.oo and same_radius(end, support):
        yield support, _analyse_radius(name, support, function.edge, function.missing())
    else:
        text = f"{name} is cut at z = {support}, where its edge exponent is not stated"
        yield support, _gap(text, support)


def _gap(text: str, place: sympy.Expr) -> PointAnalysis:
    return PointAnalysis(gaps=(Gap(text, location=place),))


def _analyse_radius(
    name: str, radius: sympy.Expr, s: sympy.Expr | None, hint: str
) -> PointAnalysis:
    if s is None:
        return _gap(hint, radius)
    singularity = Singularity(radius, s, left=UNKNOWN)
    bound = dimension_bound(s)
    reason = (
        f"At z = {radius} the callable {name} has, as stated, a singularity of exponent {s}; its "
        f"spectrum is integrable exactly for d < {bound}."
    )
    return PointAnalysis((Requirement(bound, False, reason, singularity),), (), (singularity,))


# --- assumptions --------------------------------------------------------------------------------

_ASSUMPTIONS = {
    "smoothness": (
        "every singularity at a finite radius that was not found has an exponent above {}"
    ),
    "decay": (
        "up to its limit the kernel decays, with its derivatives and unoscillating, like z^(-{})"
    ),
    "origin": "up to k(0) the kernel vanishes at z = 0, with its derivatives, like z^{}",
}


def check_assumptions(assume: Mapping[str, float] | None) -> dict[str, sympy.Expr]:
    """The assumptions as exact numbers; ParameterError for an unknown name."""
    if assume is not None and not isinstance(assume, Mapping):
        raise ParameterError(
            f"assume says what you know by name, for instance assume={{'smoothness': 3}}, and a "
            f"{type(assume).__name__} was passed. The names are {', '.join(_ASSUMPTIONS)}."
        )
    stated = {}
    for name, value in (assume or {}).items():
        if name not in _ASSUMPTIONS:
            raise ParameterError(
                f"{name!r} is not something to assume; the choices are {', '.join(_ASSUMPTIONS)}."
            )
        unbounded = not isinstance(value, str) and value == sympy.oo
        number = sympy.oo if unbounded else exact_parameter(name, value)
        if not number.is_extended_positive:
            raise ParameterError(f"The assumed {name} must be a positive exponent, not {value}.")
        stated[name] = number
    return stated


def apply_assumptions(
    places: Iterable[PointAnalysis], stated: Mapping[str, sympy.Expr]
) -> tuple[tuple[PointAnalysis, ...], tuple[str, ...]]:
    """Close the gaps that an assumption covers."""

    def close(gap: Gap) -> Iterator[Gap]:
        if gap.location == 0 or gap.location is sympy.oo:
            if ("origin" if gap.location == 0 else "decay") not in stated:
                yield gap
        elif "smoothness" not in stated:
            yield gap
        elif (bound := dimension_bound(stated["smoothness"])) is not sympy.oo:
            text = f"beyond the assumed smoothness {stated['smoothness']}"
            yield Gap(text, bound, gap.location)

    closed = tuple(replace(p, gaps=tuple(g for gap in p.gaps for g in close(gap))) for p in places)
    notes = tuple(f"Assumed, not shown: {_ASSUMPTIONS[n].format(v)}." for n, v in stated.items())
    return closed, notes
