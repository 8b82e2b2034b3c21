r"""The rules: what each kind of singularity asks of the dimension.  The facts are found elsewhere.

===========================  ==========================  =======================================
singular                     on                          finite mass exactly for
===========================  ==========================  =======================================
``|z - R|^s``, R > 0         R^d                         d < 2s + 1
``|z - R|^s log^q``          R^d                         d < 2s + 1, or = for q < -1
``(R - z)_+^s``              [0, R], however it goes on  d < 2s + 1 (necessary), s no integer
``|z - R|^s``, 0 < R < 2     the sphere in R^d           d < 2s + 2
at 0; at 2 on the sphere     both                        every d, where the kernel is continuous
``z^(-b) cos(w z)``          R^d                         d < 2b + 1, or d = that by its phase
``z^(-a) cos(b z^p)``        R^d                         d < 2a/p
===========================  ==========================  =======================================

The tilt of a kernel has a rule of its own, :mod:`spectra.verdict.asymmetric`.  A rule
gives an :class:`Ending`: a requirement, which is certain, and gaps, which say what could not be
shown.
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from spectra.formula.expansions.expansion import CONSTANT, compare
from spectra.singularities.places import Ending, Gap, Requirement, Singularity

__all__ = [
    "at_radius",
    "inside_the_sphere",
    "no_limit",
    "of_chirp",
    "of_wave",
    "only_continuous",
    "space_bound",
    "unbounded",
    "unseen",
    "unseen_wave",
]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)


def space_bound(exponent: sympy.Expr) -> sympy.Expr:
    """2s + 1: a term of exponent s at a radius, or of decay s at infinity, allows smaller d."""
    return 2 * exponent + 1


def unbounded(r: sympy.Expr, at: Singularity | None = None) -> Ending:
    """What is unbounded has finite mass in no dimension."""
    where = "as z goes to infinity" if r is sympy.oo else f"at z = {r}"
    reason = (
        f"The kernel is unbounded {where}, and a kernel with a finite spectral measure is "
        "bounded by its mass."
    )
    if r is sympy.oo and at is not None:
        reason += f" It grows like {at.term}."
    requirement = Requirement(_NIL, True, reason, at)
    return Ending((requirement,), (), (at,) if at is not None else ())


# --- at a radius ------------------------------------------------------------------------------


def at_radius(at: Singularity, *, at_end: bool) -> Ending:
    """A term at R > 0, on R^d; or at the end of the range of data, for every continuation."""
    if compare((at.exponent, -at.log_power), CONSTANT) < 0:
        return unbounded(at.location, at)
    bound = space_bound(at.exponent)
    closed = bool(at.log_power < 0 if at_end else at.effective_log_power < -1)
    gaps: tuple[Gap, ...] = ()
    if at_end:
        reason = (
            f"At z = {at.location} the kernel has the one-sided term {at.term}, which no "
            f"continuation of finite mass has for d >= {bound}."
        )
        if closed:
            gaps = (Gap(f"A logarithmic end {at} in d = {bound}", bound, at.location),)
    else:
        reason = (
            f"At z = {at.location} the kernel has the term {at.term}; its spectrum is integrable "
            f"exactly for d {'<=' if closed else '<'} {bound}."
        )
    return Ending((Requirement(bound, closed, reason, at),), gaps, (at,))


def unseen(exponent: sympy.Expr, r: sympy.Expr) -> Gap:
    """No singularity below an exponent was found at a radius: there may be one of it."""
    reason = f"No singularity of exponent below {exponent} was found at z = {r}"
    return Gap(reason, space_bound(exponent), r, narrow=True)


# --- on the sphere ----------------------------------------------------------------------------


def inside_the_sphere(ending: Ending) -> Ending:
    """A term at 0 < R < 2 for the kernel on the sphere: the rule of R^(d-1)."""

    def moved(r: Requirement) -> Requirement:
        if r.bound == 0 or r.singularity is None:
            return r
        at, bound = r.singularity, r.bound + 1
        reason = (
            f"On the sphere the kernel has the term {at.term} at z = {at.location}; its Gegenbauer "
            f"series converges absolutely exactly for d {'<=' if r.closed else '<'} {bound}."
        )
        return replace(r, bound=bound, reason=reason)

    gaps = tuple(replace(g, from_dim=g.from_dim + 1) for g in ending.gaps)
    return replace(ending, requirements=tuple(map(moved, ending.requirements)), gaps=gaps)


def only_continuous(ending: Ending) -> Ending:
    """A term at the antipode, which is one point: only what is unbounded matters."""
    unknown = not ending.singularities  # a term that tends to 0 is allowed, however slowly
    return Ending(
        tuple(r for r in ending.requirements if r.bound == 0),
        tuple(g for g in ending.gaps if unknown and g.from_dim <= _ONE and not g.narrow),
        ending.singularities,
    )


# --- at infinity ------------------------------------------------------------------------------


def of_wave(at: Singularity, *, aligned: bool) -> Ending:
    """A wave at infinity; ``aligned`` where its phase is that of a measure on the sphere |w|."""
    bound = space_bound(at.exponent)
    reason = (
        f"At infinity the kernel has the wave {at.term}: its spectrum is singular on the sphere "
        f"|w| = {at.frequency}, and integrable there for d < {bound}."
    )
    if bound.is_Integer:
        whole = "is" if aligned else "is not"
        reason += f" In d = {bound} its phase {whole} that of a finite measure on the sphere."
    logarithmic = bool(at.log_power < 0)
    gaps = (Gap(f"A logarithmic wave in d = {bound}", bound, sympy.oo),) if logarithmic else ()
    closed = bool((aligned or logarithmic) and bound.is_Integer)
    return Ending((Requirement(bound, closed, reason, at),), gaps, (at,))


def of_chirp(at: Singularity) -> Ending:
    r"""z^(-a) log^q(z) cos(b z^p + ...), p != 1: finite exactly for d < 2a/p.

    The wave of radius z has the frequency w ~ z^(p-1), and by stationary phase a shell of it the
    mass :math:`z^{-a} z^{(d-1)/2} w^{(d-1)/2} |\varphi''|^{1/2} dz = z^{-a + dp/2 - 1} dz`.
    """
    bound = max(2 * at.exponent / at.degree, _NIL)
    closed = bool(at.log_power < -1)
    reason = (
        f"At infinity the kernel has the chirp {at.term}: its spectrum is integrable exactly for d "
        f"{'<=' if closed else '<'} {bound}."
    )
    return Ending((Requirement(bound, closed, reason, at),), (), (at,))


def unseen_wave(exponent: sympy.Expr, degree: sympy.Expr) -> Gap:
    """A remainder O(z^-A) that turns like exp(i z^p) is a transform of an L1 function if A > dp/2.

    Its derivatives grow like those of the wave, p >= 1.
    """
    reason = f"The kernel is known at infinity up to z^(-{exponent})"
    return Gap(reason, 2 * exponent / degree, sympy.oo, narrow=True)


def no_limit() -> Requirement:
    """Without a limit at infinity there is finite mass on the line at most."""
    reason = "The kernel has no limit at infinity, which every finite mass gives it for d >= 2."
    return Requirement(_ONE, True, reason)
