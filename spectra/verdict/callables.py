"""The local analysis of a kernel made of Python callables, from what is stated of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

from spectra.density.callables.fit import find_edge, find_origin
from spectra.errors import NoRouteError, ParameterError
from spectra.formula.callables import Opaque, OpaqueTerm, opaque_terms
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.places import (
    UNKNOWN,
    Ending,
    Gap,
    LocalAnalysis,
    Profile,
    Requirement,
    Singularity,
)
from spectra.singularities.rules import space_bound
from spectra.singularities.zeros import distinct, same_radius

__all__ = ["analysed", "refuse_callables"]

_NIL = sympy.Integer(0)


def analysed(kernel: Kernel) -> tuple[LocalAnalysis, dict[str, str]]:
    """The local analysis of a kernel, and what of it is stated, by name."""
    functions = {node.func for p in kernel.pieces for node in p.expr.atoms(Opaque)}
    if not functions:
        return analyse(kernel), {}
    given = {
        f"{function.__name__}.{name}": _shown(value)
        for function in sorted(functions, key=str)
        for name, value in function.stated().items()
    }
    return _stated_analysis(kernel), given


def refuse_callables(kernel: Kernel, what: str) -> None:
    """Refuse a question that statements about a whole callable do not answer."""
    if any(p.expr.has(Opaque) for p in kernel.pieces):
        raise ParameterError(
            "A callable shows no formula, so that nothing is known of it on a part of its range: "
            f"{what} needs a kernel written as a formula."
        )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{r} (exponent {e})" for r, e in value) or "none"
    return "smooth" if value is sympy.oo else str(value)


def _stated_analysis(kernel: Kernel) -> LocalAnalysis:
    """Endings from what is stated of callables; whatever is not is a gap that names it."""
    found: list[tuple[sympy.Expr, Ending]] = []
    loose: list[Gap] = []
    for piece in kernel.pieces:
        split = opaque_terms(piece.expr)
        if split is None:
            loose.append(Gap(_PRODUCT.format(piece.expr)))
            continue
        terms, rest = split
        for term in terms:
            found += _endings(term, piece.support)
            if term.function.breaks is None:
                loose.append(Gap(_INSIDE.format(term.function.__name__)))
        if rest != 0:
            plain = analyse(Kernel((Piece(piece.support, rest),)))
            found += [(_NIL, plain.origin), (sympy.oo, plain.infinity), *plain.radii]
            loose += plain.gaps
    radii = distinct(radius for radius, _ in found if radius not in (_NIL, sympy.oo))
    return LocalAnalysis(
        Profile((), ()),
        _at(_NIL, found),
        tuple((r, _at(r, found)) for r in radii),
        _at(sympy.oo, found),
        tuple(loose),
    )


_PRODUCT = (
    "{} multiplies a callable with something else: make one callable of the product and state "
    "its facts"
)
_INSIDE = "whether {} is smooth inside its support; state breaks=(), or its radii"


def _at(place: sympy.Expr, found: list[tuple[sympy.Expr, Ending]]) -> Ending:
    """What several summands do at one place; requirements of two at one radius may cancel."""
    endings = [ending for r, ending in found if same_radius(r, place)]
    requirements = tuple(r for e in endings for r in e.requirements)
    gaps = tuple(g for e in endings for g in e.gaps)
    shared = sum(bool(e.requirements) for e in endings) > 1
    if shared and place not in (_NIL, sympy.oo):
        text = f"whether the singularities of several summands cancel at z = {place}"
        gaps += tuple(Gap(text, r.bound, place) for r in requirements)
        requirements = ()
    return Ending(requirements, gaps, tuple(s for e in endings for s in e.singularities))


def _endings(term: OpaqueTerm, support: sympy.Expr) -> Iterator[tuple[sympy.Expr, Ending]]:
    """What is stated of one summand, or a gap, at each place."""
    function, name = term.function, term.function.__name__
    yield _NIL, _at_origin(term)
    for radius, exponent in function.breaks or ():
        r = radius * term.scale
        if support is sympy.oo or float(r) < float(support):
            yield r, _at_radius(name, r, exponent, "breaks={radius: exponent}")
    if support is sympy.oo:
        yield sympy.oo, _at_infinity(name, function.decay)
        return
    yield sympy.oo, Ending(limit=_NIL)
    end = function.support * term.scale
    if end is not sympy.oo and same_radius(end, support):
        hint = "edge=..." + _found(lambda: find_edge(term, support))
        yield support, _at_radius(name, support, function.edge, hint)
    else:
        text = f"{name} is cut at z = {support}, where its edge exponent is not stated"
        yield support, Ending(gaps=(Gap(text, location=support),))


def _at_origin(term: OpaqueTerm) -> Ending:
    s = term.function.origin
    if s is None:
        found = _found(lambda: find_origin(term))
        text = f"how {term.function.__name__} starts at z = 0; state origin=...{found}"
        return Ending(gaps=(Gap(text, location=_NIL),))
    if s is sympy.oo:
        return Ending()
    return Ending(singularities=(Singularity(_NIL, s, right=UNKNOWN, exact=False),))


def _at_radius(name: str, radius: sympy.Expr, s: sympy.Expr | None, hint: str) -> Ending:
    if s is None:
        text = f"how smooth {name} is at z = {radius}; state {hint}"
        return Ending(gaps=(Gap(text, location=radius),))
    seen = Singularity(radius, s, left=UNKNOWN, exact=False)
    bound = space_bound(s)
    reason = (
        f"At z = {radius} the callable {name} has, as stated, a singularity of exponent {s}; its "
        f"spectrum is integrable exactly for d < {bound}."
    )
    return Ending((Requirement(bound, False, reason, seen),), (), (seen,))


def _at_infinity(name: str, decay: str | sympy.Expr | None) -> Ending:
    if decay is None:
        text = f"what {name} does at infinity; state decay=... or support=..."
        return Ending(gaps=(Gap(text, location=sympy.oo),))
    return Ending(limit=_NIL)


def _found(look: Callable[[], sympy.Expr]) -> str:
    """What numbers show, for a reader who may then state it."""
    try:
        value = look()
    except NoRouteError:
        return ""
    return f" (its values look like {value})"
