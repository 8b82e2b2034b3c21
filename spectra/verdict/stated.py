"""The local analysis of a kernel made of Python callables, from what is stated of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from spectra.errors import NoRouteError, ParameterError
from spectra.formula.opaque import Opaque, OpaqueTerm, opaque_terms
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernel import Kernel
from spectra.singularity.local import analyse
from spectra.singularity.places import (
    UNKNOWN,
    Ending,
    Gap,
    LocalAnalysis,
    Profile,
    Requirement,
    Singularity,
)
from spectra.singularity.rules import space_bound
from spectra.singularity.zeros import same_radius
from spectra.transform.callables.opaque_fit import found_edge, found_origin

__all__ = ["analysed", "refuse_callables"]

_NIL = sympy.Integer(0)


def analysed(kernel: Kernel) -> tuple[LocalAnalysis, tuple[Gap, ...], dict[str, str]]:
    """The local analysis of a kernel, its gaps of no place, and what of it is stated, by name."""
    functions = {node.func for p in kernel.pieces for node in p.expr.atoms(Opaque)}
    if not functions:
        analysis = analyse(kernel)
        return analysis, analysis.gaps, {}
    given = {
        f"{function.__name__}.{name}": _shown(value)
        for function in sorted(functions, key=str)
        for name, value in function.facts.as_dict().items()
    }
    # The analysis has a gap of its own for whatever asks more than statements answer.
    return _stated_analysis(kernel), (), given


def refuse_callables(kernel: Kernel, what: str) -> None:
    """Refuse a question that statements about a whole callable do not answer.

    Raises
    ------
    ParameterError
        Where a part of the kernel is a callable.
    """
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
    origin = _Place(_NIL)
    infinity = _Place(sympy.oo)
    radii: list[_Place] = []
    loose: list[Gap] = []

    def at(radius: sympy.Expr) -> _Place:
        place = next((p for p in radii if same_radius(p.radius, radius)), None)
        if place is None:
            place = _Place(radius)
            radii.append(place)
        return place

    for piece in kernel.pieces:
        split = opaque_terms(piece.expr, Z)
        if split is None:
            loose.append(Gap(_PRODUCT.format(piece.expr)))
            continue
        terms, rest = split
        for term in terms:
            _add_term(term, piece.support, origin, infinity, at, loose)
        if rest != 0:
            plain = analyse(Kernel((Piece(piece.support, rest),)))
            origin.endings.append(plain.origin)
            infinity.endings.append(plain.infinity)
            loose += plain.gaps
            for radius, ending in plain.radii:
                at(radius).endings.append(ending)
    return LocalAnalysis(
        Profile((), ()),
        origin.ending(gaps=tuple(loose)),
        tuple((p.radius, p.ending()) for p in sorted(radii, key=lambda p: float(p.radius))),
        infinity.ending(),
        (Gap("a callable shows no formula, so that nothing is known of a part of its range"),),
    )


_PRODUCT = (
    "{} multiplies a callable with something else: make one callable of the product and state "
    "its facts"
)


class _Place:
    """What several summands do at one place."""

    def __init__(self, radius: sympy.Expr) -> None:
        self.radius = radius
        self.endings: list[Ending] = []

    def ending(self, *, gaps: tuple[Gap, ...] = ()) -> Ending:
        """One ending; requirements of two summands at one radius may cancel, and are gaps."""
        requirements = tuple(r for e in self.endings for r in e.requirements)
        gaps = gaps + tuple(g for e in self.endings for g in e.gaps)
        shared = sum(bool(e.requirements) for e in self.endings) > 1
        if shared and self.radius not in (_NIL, sympy.oo):
            text = f"whether the singularities of several summands cancel at z = {self.radius}"
            gaps += tuple(Gap(text, r.bound, self.radius) for r in requirements)
            requirements = ()
        seen = tuple(s for e in self.endings for s in e.singularities)
        return Ending(requirements, gaps, seen)


def _add_term(
    term: OpaqueTerm,
    support: sympy.Expr,
    origin: _Place,
    infinity: _Place,
    at: Callable[[sympy.Expr], _Place],
    loose: list[Gap],
) -> None:
    facts, name = term.function.facts, term.function.__name__
    origin.endings.append(_at_origin(term))
    end = facts.support * term.scale
    if facts.breaks is None:
        text = f"whether {name} is smooth inside its support; state breaks=(), or its radii"
        loose.append(Gap(text))
    for radius, exponent in facts.breaks or ():
        if support is sympy.oo or float(radius * term.scale) < float(support):
            at(radius * term.scale).endings.append(
                _at_radius(name, radius * term.scale, exponent, "breaks={radius: exponent}")
            )
    if support is sympy.oo:
        infinity.endings.append(_at_infinity(name, facts.decay))
        return
    infinity.endings.append(Ending(limit=_NIL))
    if end is not sympy.oo and same_radius(end, support):
        hint = "edge=..." + _found(lambda: found_edge(term, support))
        at(support).endings.append(_at_radius(name, support, facts.edge, hint))
    else:
        text = f"{name} is cut at z = {support}, where its edge exponent is not stated"
        at(support).endings.append(Ending(gaps=(Gap(text, location=support),)))


def _at_origin(term: OpaqueTerm) -> Ending:
    s = term.function.facts.origin
    if s is None:
        found = _found(lambda: found_origin(term))
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
