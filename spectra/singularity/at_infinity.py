"""What a kernel does at infinity: its limit, its waves and chirps, and what they ask of d."""

from __future__ import annotations

from dataclasses import replace

import sympy

from spectra.singularity.branches import is_periodic
from spectra.singularity.expansion import expand_at, has_oscillation
from spectra.singularity.germs import (
    FLAT,
    ONE,
    ZERO,
    Germ,
    MoreTermsNeeded,
    Phase,
    Series,
    Size,
    compare,
    is_zero,
    sign,
)
from spectra.singularity.places import Ending, Gap, Requirement, Singularity, unbounded
from spectra.singularity.verification import verify

__all__ = ["at_infinity", "if_periodic"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)


def at_infinity(expr: sympy.Expr, window: int) -> Ending:
    """Requirements and gaps at infinity, from an expansion of so many powers."""
    if expr == 0:
        return Ending(limit=_NIL)
    germ = expand_at(expr, sympy.oo, 1, window)
    verify(expr, germ, sympy.oo, 1)
    requirements: list[Requirement] = []
    gaps: list[Gap] = []
    seen: list[Singularity] = []
    limit: sympy.Expr | None = _NIL
    oscillates = has_oscillation(germ)
    germ = _with_frequencies_joined(germ)
    speed = max([_ONE, *(_degree(phase) for phase, _ in germ.parts if phase.growth == 0)])
    for phase, series in germ.parts:
        if phase.growth < 0:
            continue
        if phase.growth > 0:
            if series.terms:
                return unbounded(sympy.oo)
            gaps.append(
                Gap(
                    "A growing part of the kernel at infinity may cancel",
                    location=sympy.oo,
                    narrow=True,
                )
            )
            continue
        frequency = _frequency(phase)
        for size, c in series.terms:
            if phase == ZERO and size == ONE:
                limit = c
                continue
            if frequency is not None and sign(frequency) < 0:  # the conjugate of another
                break
            ending = _at_infinity_term(size, c, phase, frequency)
            requirements += ending.requirements
            gaps += ending.gaps
            seen += ending.singularities
            break
        order = series.order
        if order is None or order == FLAT:
            continue
        if compare(order, ONE) <= 0:
            raise MoreTermsNeeded("more terms are needed at infinity")
        if oscillates:
            # A remainder O(z^-A) whose derivatives grow like those of exp(i z^p), p >= 1, is a
            # transform of an L1 function if A > dp/2.
            reason = f"The kernel is known at infinity up to z^(-{order[0]})"
            gaps.append(Gap(reason, 2 * order[0] / speed, sympy.oo, narrow=True))
    if any(s.frequency != 0 and s.exponent == 0 for s in seen):
        limit = None
    return Ending(tuple(requirements), tuple(gaps), tuple(seen), limit)


def _with_frequencies_joined(germ: Germ) -> Germ:
    """Add the parts of frequencies that are equal though they do not look it: they may cancel."""
    joined: list[tuple[Phase, Series]] = []
    for phase, series in germ.parts:
        w = _frequency(phase)
        for i, (known, _) in enumerate(joined):
            v = _frequency(known)
            if w is not None and v is not None and is_zero(w - v):
                joined[i] = (known, joined[i][1] + series)
                break
        else:
            joined.append((phase, series))
    return Germ.of(joined)


def _degree(phase: Phase) -> sympy.Expr:
    """The p of a phase that grows like z^p; 0 where there is none, or a logarithm beside it."""
    if not phase.terms or phase.terms[0][0][1] != 0:
        return _NIL
    return -phase.terms[0][0][0]


def _frequency(phase: Phase) -> sympy.Expr | None:
    """The w of exp(i w z), or None where the phase is another."""
    if phase == ZERO:
        return _NIL
    if len(phase.terms) == 1 and phase.terms[0][0] == (sympy.Integer(-1), _NIL):
        w = sympy.expand(phase.terms[0][1] / sympy.I)
        return w if is_zero(sympy.im(w)) else None
    return None


def _at_infinity_term(
    size: Size, c: sympy.Expr, phase: Phase, frequency: sympy.Expr | None
) -> Ending:
    beta, q = size[0], -size[1]
    if compare(size, ONE) < 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q, frequency=frequency or _NIL)
        return unbounded(sympy.oo, at)
    if frequency is None:
        return _chirp(size, c, phase)
    if frequency == 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q)
        return Ending((), (), (at,))
    angle = sympy.arg(c)
    at = Singularity(sympy.oo, beta, _NIL, 2 * sympy.Abs(c), q, frequency, angle)
    bound = 2 * beta + 1
    turned = c * (sympy.cos(beta * sympy.pi / 2) + sympy.I * sympy.sin(beta * sympy.pi / 2))
    aligned = q == 0 and is_zero(sympy.im(sympy.expand(turned)))
    reason = (
        f"At infinity the kernel has the wave {at.term}: its spectrum is singular on the sphere "
        f"|w| = {frequency}, and integrable there for d < {bound}."
    )
    if bound.is_Integer:
        whole = "is" if aligned else "is not"
        reason += f" In d = {bound} its phase {whole} that of a finite measure on the sphere."
    gaps = (Gap(f"A logarithmic wave in d = {bound}", bound, sympy.oo),) if q < 0 else ()
    closed = bool((aligned or q < 0) and bound.is_Integer)
    return Ending((Requirement(bound, closed, reason, at),), gaps, (at,))


def _chirp(size: Size, c: sympy.Expr, phase: Phase) -> Ending:
    r"""z^(-a) log^q(z) cos(b z^p + ...), p != 1: finite exactly for d < 2a/p.

    The wave of radius z has the frequency w ~ z^(p-1), and by stationary phase a shell of it the
    mass :math:`z^{-a} z^{(d-1)/2} w^{(d-1)/2} |\varphi''|^{1/2} dz = z^{-a + dp/2 - 1} dz`.
    """
    a, q, p = size[0], -size[1], _degree(phase)
    if p in (0, 1):
        gap = Gap("The kernel oscillates at infinity like no power of z", location=sympy.oo)
        return Ending((_no_limit(),) if compare(size, ONE) == 0 else (), (gap,))
    rate = phase.terms[0][1] / sympy.I
    if sign(rate) < 0:  # the conjugate of another
        return Ending()
    at = Singularity(
        sympy.oo, a, _NIL, 2 * sympy.Abs(c), q, sympy.expand(rate), sympy.arg(c), degree=p
    )
    bound = max(2 * a / p, _NIL)
    reason = (
        f"At infinity the kernel has the chirp {at.term}: its spectrum is integrable exactly for d "
        f"{'<=' if q < -1 else '<'} {bound}."
    )
    return Ending((Requirement(bound, bool(q < -1), reason, at),), (), (at,))


def if_periodic(expr: sympy.Expr, known: Ending) -> Ending:
    """Add that a periodic kernel has no limit at infinity, where it is visibly periodic."""
    if not is_periodic(expr):
        return known
    return replace(known, requirements=(*known.requirements, _no_limit()))


def _no_limit() -> Requirement:
    reason = "The kernel has no limit at infinity, which every finite mass gives it for d >= 2."
    return Requirement(sympy.Integer(1), True, reason)
