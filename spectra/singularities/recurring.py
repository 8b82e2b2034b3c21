r"""Kernels whose singular radii have no end: periodic ones, and waves with kinks under a weight.

A periodic kernel of period T has a discrete spectrum on the line.  Its one-sided means over z > 0
and z < 0 agree for a finite measure (dominated convergence), so that it must be even; then the mass
is finite in d = 1 exactly where its Fourier series converges absolutely, which its singularities
within a period tell.  For d >= 2 it has no limit at infinity.

A kernel W(z) K(z), where K is a function of waves with a kink in every turn, and W decays
exponentially with its derivatives, is a sum of singular terms W(R_j) |z - R_j|^s, whose masses grow
with R_j like a power only: the sum converges absolutely exactly where each term does, d < 2s + 1.

Where W falls like z^(-a) only, and K is periodic with the Fourier coefficients c_n = O(n^(-s-1)) of
its kinks, the wave W(z) cos(nvz) has a finite mass exactly for d < 2a + 1, which grows with n like
n^((d-1)/2): about the sphere of radius nv its radial density is n^((d-1)/2) times that of
W(z) z^((d-1)/2) on the line.  The sum over n converges for d < 2s + 1, which each kink asks anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO, compare
from spectra.formula.expansions.kinks import KINKS, resolve, sign_near_zero
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii
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
from spectra.singularities.wave_formulas import is_periodic, wave_rates

__all__ = ["recurring_analysis"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
_WINDOW = 5
#: One of endless radii that have no formula of their own.
_RADIUS = sympy.Symbol("R", positive=True)
#: Where the values of a formula at z and -z are compared.
_PROBE = sympy.Rational(5, 7)
Analysis = Callable[[Kernel], LocalAnalysis]


def recurring_analysis(expr: sympy.Expr, analyse: Analysis) -> LocalAnalysis | None:
    """The local analysis of a formula on z > 0 with endless radii; None where no rule applies.

    Examples
    --------
    >>> from spectra.singularities.local import analyse
    >>> found = recurring_analysis(sympy.Abs(sympy.sin(Z)) * sympy.exp(-Z), analyse)
    >>> min(r.bound for place in found.places for r in place.requirements)
    3
    """
    if is_periodic(expr):
        return _periodic(expr, analyse)
    terms = sympy.Add.make_args(expr)
    endless = [t for t in terms if not _has_few_radii(t)]
    rest = [t for t in terms if t not in endless]
    if len(endless) != 1:
        return None
    try:
        wave, weight = _split(endless[0])
        ending = _under(weight, periodic=is_periodic(wave))
        known = None if ending is None else _least_bound(wave, analyse)
        start = resolve(expr, sign_near_zero)
    except ExpansionError:
        return None
    if ending is None or known is None:
        return None
    bound, requirements = known
    # The sum of masses converges wherever that of the waves and that of each kink does.
    plain = analyse(Kernel((Piece(sympy.oo, sympy.Add(*rest)),)))
    begun = analyse(Kernel((Piece(sympy.oo, start),)))
    gaps = () if requirements else (Gap("where the least smooth kink is", bound),)
    far = plain.infinity
    far = replace(
        far,
        requirements=far.requirements + ending.requirements + requirements,
        gaps=far.gaps + ending.gaps + gaps,
    )
    return replace(plain, profile=Profile((), ()), origin=begun.origin, infinity=far)


def _has_few_radii(term: sympy.Expr) -> bool:
    try:
        branch_radii(term, sympy.oo)
    except ExpansionError:
        return False
    return True


# --- periodic kernels -----------------------------------------------------------------------


def _period(expr: sympy.Expr) -> sympy.Expr:
    """The period of what is periodic: the least common one of its waves."""
    rates = wave_rates(expr)
    shares = [sympy.Abs(r / rates[0]) for r in rates]
    return 2 * sympy.pi / (sympy.Abs(rates[0]) * reduce(sympy.gcd, shares))


def _one_turn(expr: sympy.Expr, analyse: Analysis) -> LocalAnalysis:
    """The analysis up to two periods, without the end at which it is cut: of all its radii."""
    end = 2 * _period(expr)
    found = analyse(Kernel((Piece(end, expr),)))
    return replace(found, radii=tuple(p for p in found.radii if p[0] != end))


def _periodic(expr: sympy.Expr, analyse: Analysis) -> LocalAnalysis:
    turn = _one_turn(expr, analyse)
    reflected = expr.subs(Z, -Z)
    if reflected != expr and not is_zero((reflected - expr).subs(Z, _PROBE)):
        text = (
            "The kernel is periodic and its formula is not even: its one-sided means differ for "
            "z and -z, which those of no finite measure do."
        )
        return replace(turn, infinity=Ending((Requirement(_NIL, True, text),)))
    if reflected != expr:
        open_ = Gap("whether the periodic kernel is an even formula", location=sympy.oo)
        return replace(turn, infinity=Ending(gaps=(open_,)))
    text = (
        "The kernel is periodic: its spectrum is discrete for d = 1, and for d >= 2 every finite "
        "mass gives a kernel a limit at infinity, which this one has not."
    )
    wave = Singularity(sympy.oo, _NIL, right=UNKNOWN, frequency=2 * sympy.pi / _period(expr))
    return replace(turn, infinity=Ending((Requirement(_ONE, True, text, wave),), (), (wave,)))


# --- waves with kinks under a weight --------------------------------------------------------


def _split(product: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """What turns and what only decays: a weight vanishes at finitely many radii."""
    wave, weight = _ONE, _ONE
    for factor in sympy.Mul.make_args(product):
        if factor.has(*KINKS) or _turns(factor):
            wave = wave * factor
        else:
            weight = weight * factor
    return wave, weight


def _turns(factor: sympy.Expr) -> bool:
    phases = [p for p, _ in expand_at(factor, sympy.oo, 1, _WINDOW).parts]
    return any(not is_zero(sympy.im(c)) for p in phases for _, c in p.terms)


def _under(weight: sympy.Expr, *, periodic: bool) -> Ending | None:
    """What a smooth weight asks of d beside the kinks; None where no rule knows.

    Nothing, where it falls faster than every power, with all of its derivatives.
    """
    if not weight.has(Z) or weight.has(*KINKS) or branch_radii(weight, sympy.oo):
        return None
    expanded = expand_at(weight, sympy.oo, 1, _WINDOW)
    if all(p.growth < 0 or (p == ZERO and not s.terms) for p, s in expanded.parts):
        return Ending()
    lead = (
        expanded.plain.lead if all(p == ZERO or p.growth < 0 for p, _ in expanded.parts) else None
    )
    if not periodic or lead is None or sign(lead[0]) <= 0:
        return None
    bound = space_bound(lead[0])
    text = (
        f"At infinity the kernel has waves under a weight like z^(-({lead[0]})), which have a "
        f"finite mass for d < {bound} only."
    )
    wave = Singularity(sympy.oo, lead[0], right=UNKNOWN, frequency=UNKNOWN)
    equal = Gap("whether waves at infinity are those of spheres", bound, sympy.oo)
    return Ending((Requirement(bound, True, text, wave),), (equal,) if bound.is_Integer else ())


def _least_bound(
    wave: sympy.Expr, analyse: Analysis
) -> tuple[sympy.Expr, tuple[Requirement, ...]] | None:
    """The bound of d at every kink but finitely many better ones, and what is certain of it."""
    if is_periodic(wave):
        turn = _one_turn(wave, analyse)
        places = [e for _, e in turn.radii]
        if any(e.gaps for e in places):
            return None
        found = [r for e in places for r in e.requirements]
        least = min(found, key=lambda r: float(r.bound), default=None)
        return (
            None if least is None else (least.bound, (replace(least, reason=_text(least.bound)),))
        )
    base, power = wave.as_base_exp()
    if not (base.func in (sympy.Abs, sympy.Max, sympy.Min) and power.is_positive):
        return None
    inner = base.args[0] if base.func == sympy.Abs else sympy.Add(*base.args)
    signed = base.func == sympy.Abs and power.is_even
    if (base.func != sympy.Abs and 0 not in base.args) or signed or not _is_a_wave(inner):
        return None
    bound = space_bound(power)
    kink = Singularity(_RADIUS, power, left=UNKNOWN)
    return bound, (Requirement(bound, False, _text(bound), kink),)


def _text(bound: sympy.Expr) -> str:
    return (
        f"The kernel has kinks (z - R)^({(bound - 1) / 2}) without end, under a weight that makes "
        f"their sum converge; the spectrum of each is integrable exactly for d < {bound}."
    )


def _is_a_wave(expr: sympy.Expr) -> bool:
    """One oscillation leads at infinity: all zeros but finitely many are simple."""
    if expr.has(*KINKS) or branch_radii(expr, sympy.oo):
        return False
    expanded = expand_at(expr, sympy.oo, 1, _WINDOW)
    if len(expanded.waves) != 2 or expanded.grows:
        return False
    (one, a), (other, b) = expanded.waves
    if one != -other or not (a.terms and b.terms) or a.lead != b.lead:
        return False
    rest = expanded.part().lead
    return rest is None or compare(rest, a.terms[0][0]) > 0
