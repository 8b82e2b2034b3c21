"""What a kernel does at infinity: its limit, its waves and chirps, and what they ask of d."""

from __future__ import annotations

from dataclasses import replace

import sympy

from spectra.formula.expansions.exact_numbers import MoreTermsNeeded, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import (
    CONSTANT,
    FLAT,
    ZERO,
    Expansion,
    Order,
    Series,
    compare,
)
from spectra.singularities.periodic import recurs
from spectra.singularities.places import Ending, Gap, Singularity
from spectra.singularities.rules import no_limit, of_chirp, of_wave, unbounded, unseen_wave

__all__ = ["at_infinity", "if_recurring"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)


def at_infinity(expr: sympy.Expr, window: int) -> Ending:
    """Requirements and gaps at infinity, from an expansion of so many powers."""
    if expr == 0:
        return Ending(limit=_NIL)
    expanded = expand_at(expr, sympy.oo, 1, window)
    found: list[Ending] = []
    limit: sympy.Expr | None = _NIL
    oscillates = bool(expanded.waves)
    expanded = _with_frequencies_joined(expanded)
    speed = max([_ONE, *(_degree(phase) for phase, _ in expanded.waves)])
    for phase, series in expanded.parts:
        if phase.growth < 0:
            continue
        if phase.growth > 0:
            if series.terms:
                return unbounded(sympy.oo)
            raise MoreTermsNeeded("a growing part of the kernel at infinity may cancel")
        frequency = _frequency(phase)
        for size, c in series.terms:
            if phase == ZERO and size == CONSTANT:
                limit = c
                continue
            if frequency is not None and sign(frequency) < 0:  # the conjugate of another
                break
            found.append(_at_infinity_term(size, c, phase, frequency))
            break
        order = series.remainder
        if order is None or order == FLAT:
            continue
        if compare(order, CONSTANT) <= 0:
            raise MoreTermsNeeded("more terms are needed at infinity")
        if oscillates:
            found.append(Ending(gaps=(unseen_wave(order[0], speed),)))
    seen = tuple(s for e in found for s in e.singularities)
    return Ending(
        tuple(r for e in found for r in e.requirements),
        tuple(g for e in found for g in e.gaps),
        seen,
        None if any(s.frequency != 0 and s.exponent == 0 for s in seen) else limit,
    )


def _with_frequencies_joined(expanded: Expansion) -> Expansion:
    """Add the parts of frequencies that are equal though they do not look it: they may cancel."""
    joined: list[tuple[Series, Series]] = []
    for phase, series in expanded.parts:
        w = _frequency(phase)
        for i, (known, _) in enumerate(joined):
            v = _frequency(known)
            if w is not None and v is not None and is_zero(w - v):
                joined[i] = (known, joined[i][1] + series)
                break
        else:
            joined.append((phase, series))
    return expanded.with_parts(joined)


def _degree(phase: Series) -> sympy.Expr:
    """The p of a phase that grows like z^p; 0 where there is none, or a logarithm beside it."""
    if not phase.terms or phase.terms[0][0][1] != 0:
        return _NIL
    return -phase.terms[0][0][0]


def _frequency(phase: Series) -> sympy.Expr | None:
    """The w of exp(i w z), or None where the phase is another."""
    if phase == ZERO:
        return _NIL
    if len(phase.terms) == 1 and phase.terms[0][0] == (sympy.Integer(-1), _NIL):
        w = sympy.expand(phase.terms[0][1] / sympy.I)
        return w if is_zero(sympy.im(w)) else None
    return None


def _at_infinity_term(
    size: Order, c: sympy.Expr, phase: Series, frequency: sympy.Expr | None
) -> Ending:
    beta, q = size[0], -size[1]
    if compare(size, CONSTANT) < 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q, frequency=frequency or _NIL)
        return unbounded(sympy.oo, at)
    if frequency is None:
        return _chirp(size, c, phase)
    if frequency == 0:
        at = Singularity(sympy.oo, beta, right=c, log_power=q)
        return Ending((), (), (at,))
    angle = sympy.arg(c)
    at = Singularity(sympy.oo, beta, _NIL, 2 * sympy.Abs(c), q, frequency, angle)
    turned = c * (sympy.cos(beta * sympy.pi / 2) + sympy.I * sympy.sin(beta * sympy.pi / 2))
    return of_wave(at, aligned=q == 0 and is_zero(sympy.im(sympy.expand(turned))))


def _chirp(size: Order, c: sympy.Expr, phase: Series) -> Ending:
    a, q, p = size[0], -size[1], _degree(phase)
    if p in (0, 1):
        gap = Gap("The kernel oscillates at infinity like no power of z", location=sympy.oo)
        return Ending((no_limit(),) if compare(size, CONSTANT) == 0 else (), (gap,))
    rate = phase.terms[0][1] / sympy.I
    if sign(rate) < 0:  # the conjugate of another
        return Ending()
    at = Singularity(
        sympy.oo, a, _NIL, 2 * sympy.Abs(c), q, sympy.expand(rate), sympy.arg(c), degree=p
    )
    return of_chirp(at)


def if_recurring(expr: sympy.Expr, known: Ending) -> Ending:
    """Add that a kernel has no limit at infinity, where its values visibly come back.

    A finite mass gives a radial kernel in d >= 2 the limit mu({0}), since the mean of a wave over
    the sphere tends to 0 (bounded convergence).
    """
    if not recurs(expr):
        return known
    return replace(known, requirements=(*known.requirements, no_limit()))
