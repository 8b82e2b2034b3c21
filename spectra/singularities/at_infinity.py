"""The behaviour of a kernel at infinity: its limit, its waves and chirps, and their rules for d."""

from __future__ import annotations

from dataclasses import replace

import sympy
from sympy import Expr

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
from spectra.singularities import rules
from spectra.singularities.periodic import is_recurrent
from spectra.singularities.results import Gap, PointAnalysis, Singularity

__all__ = ["add_recurrence", "analyse_infinity"]


def analyse_infinity(expr: Expr, window: int) -> PointAnalysis:
    """Find requirements and gaps at infinity, from an expansion of ``window`` powers of 1/z."""
    if expr == 0:
        return PointAnalysis(limit=sympy.S.Zero)
    expansion = expand_at(expr, sympy.oo, 1, window)
    oscillates = bool(expansion.waves)
    expansion = _merge_equal_frequencies(expansion)
    degree = max([sympy.S.One, *(_phase_degree(phase) for phase, _ in expansion.waves)])
    points: list[PointAnalysis] = []
    limit = sympy.S.Zero
    # A part is exp(phase) times a series; the phase is a series, too, such as i w z or -z.
    for phase, series in expansion.parts:
        if phase.growth < 0:
            continue
        if phase.growth > 0:
            if series.terms:
                return rules.unbounded_rule(sympy.oo)
            raise MoreTermsNeeded("a growing part of the kernel at infinity may cancel")
        frequency = _frequency(phase)
        for order, c in series.terms:
            if phase == ZERO and order == CONSTANT:
                limit = c
                continue
            if frequency is None or sign(frequency) >= 0:  # a negative one belongs to a conjugate
                points.append(_analyse_term(order, c, phase, frequency))
            break
        remainder = series.remainder
        if remainder is None or remainder == FLAT:
            continue
        if compare(remainder, CONSTANT) <= 0:
            raise MoreTermsNeeded("more terms are needed at infinity")
        if oscillates:
            points.append(PointAnalysis(gaps=(rules.infinity_gap(remainder[0], degree),)))
    singularities = tuple(s for point in points for s in point.singularities)
    return PointAnalysis(
        tuple(r for point in points for r in point.requirements),
        tuple(g for point in points for g in point.gaps),
        singularities,
        None if any(s.frequency != 0 and s.exponent == 0 for s in singularities) else limit,
    )


def _merge_equal_frequencies(expansion: Expansion) -> Expansion:
    """Add parts whose frequencies are equal numbers, written differently: they may cancel."""
    merged: list[tuple[Series, Series]] = []
    for phase, series in expansion.parts:
        w = _frequency(phase)
        for i, (other_phase, other_series) in enumerate(merged):
            v = _frequency(other_phase)
            if w is not None and v is not None and is_zero(w - v):
                merged[i] = (other_phase, other_series + series)
                break
        else:
            merged.append((phase, series))
    return expansion.with_parts(merged)


def _phase_degree(phase: Series) -> Expr:
    """The p of a phase that grows like z^p; 0 for no phase, and for z^p times a logarithm."""
    if not phase.terms or phase.terms[0][0][1] != 0:
        return sympy.S.Zero
    return -phase.terms[0][0][0]


def _frequency(phase: Series) -> Expr | None:
    """The w of exp(i w z), or None if the phase is not linear in z."""
    if phase == ZERO:
        return sympy.S.Zero
    if len(phase.terms) == 1 and phase.terms[0][0] == (sympy.S.NegativeOne, sympy.S.Zero):
        w = sympy.expand(phase.terms[0][1] / sympy.I)
        return w if is_zero(sympy.im(w)) else None
    return None


def _analyse_term(order: Order, c: Expr, phase: Series, frequency: Expr | None) -> PointAnalysis:
    """Apply the rules to the leading term c z^(-s) log^q(z) exp(phase)."""
    s, q = order[0], -order[1]
    if compare(order, CONSTANT) < 0:
        term = Singularity(sympy.oo, s, right=c, log_power=q, frequency=frequency or sympy.S.Zero)
        return rules.unbounded_rule(sympy.oo, term)
    if frequency is None:
        return _analyse_chirp(order, c, phase)
    if frequency == 0:
        term = Singularity(sympy.oo, s, right=c, log_power=q)
        return PointAnalysis(singularities=(term,))
    wave = Singularity(sympy.oo, s, sympy.S.Zero, 2 * sympy.Abs(c), q, frequency, sympy.arg(c))
    # The uniform measure on the sphere |w| = frequency of R^(2s+1) has c = +-|c| exp(-i pi s/2).
    rotated = c * (sympy.cos(s * sympy.pi / 2) + sympy.I * sympy.sin(s * sympy.pi / 2))
    is_aligned = q == 0 and is_zero(sympy.im(sympy.expand(rotated)))
    return rules.wave_rule(wave, has_sphere_phase=is_aligned)


def _analyse_chirp(order: Order, c: Expr, phase: Series) -> PointAnalysis:
    a, q, p = order[0], -order[1], _phase_degree(phase)
    if p in (0, 1):
        reason = "whether a wave with a phase unlike w z and z^p, p != 1, allows finite mass"
        no_limit = (rules.no_limit_requirement(),) if compare(order, CONSTANT) == 0 else ()
        return PointAnalysis(no_limit, (Gap(reason, location=sympy.oo),))
    rate = sympy.expand(phase.terms[0][1] / sympy.I)
    if sign(rate) < 0:  # the conjugate part has the positive rate
        return PointAnalysis()
    chirp = Singularity(
        sympy.oo, a, sympy.S.Zero, 2 * sympy.Abs(c), q, rate, sympy.arg(c), degree=p
    )
    return rules.chirp_rule(chirp)


def add_recurrence(expr: Expr, infinity: PointAnalysis) -> PointAnalysis:
    """Add the requirement d <= 1 if a formula visibly recurs and so has no limit at infinity.

    For d >= 2 a radial kernel of finite mass has the limit mu({0}), since the mean of a plane wave
    over the sphere of radius z tends to 0 (bounded convergence).
    """
    if not is_recurrent(expr):
        return infinity
    return replace(infinity, requirements=(*infinity.requirements, rules.no_limit_requirement()))
