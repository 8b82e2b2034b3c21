r"""The rules: for which dimensions d a singular term of the kernel allows finite mass.

===========================  ==========================  =======================================
term                         domain                      finite mass exactly for
===========================  ==========================  =======================================
``|z - R|^s``, R > 0         R^d                         d < 2s + 1
``|z - R|^s log^q|z - R|``   R^d                         d < 2s + 1; d = 2s + 1 too if q < -1
``(R - z)_+^s``              [0, R], every continuation  d < 2s + 1 (necessary), s not an integer
``|z - R|^s``, 0 < R < 2     the sphere in R^d           d < 2s + 2
at 0; at 2 on the sphere     both                        every d, if the kernel is continuous
``z^(-b) cos(w z)``          R^d                         d < 2b + 1; its phase decides d = 2b + 1
``z^(-a) cos(b z^p)``        R^d                         d < 2a/p
===========================  ==========================  =======================================

The rule for tilted kernels is in :mod:`spectra.verdict.composite`.  A rule for a point returns a
:class:`PointAnalysis` with its requirement on d, and a gap for a d that the rule cannot decide.
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from spectra.formula.expansions.expansion import CONSTANT, compare
from spectra.singularities.results import Gap, PointAnalysis, Requirement, Singularity, number_text

__all__ = [
    "antipode_rule", "chirp_rule", "dimension_bound", "infinity_gap", "no_limit_requirement",
    "radius_gap", "radius_rule", "sphere_rule", "unbounded_rule", "wave_rule",
]  # fmt: skip

_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)


def dimension_bound(exponent: sympy.Expr) -> sympy.Expr:
    """The bound 2s + 1 of d for a term |z - R|^s at R > 0, or a wave of decay z^(-s)."""
    return 2 * exponent + 1


def unbounded_rule(r: sympy.Expr, singularity: Singularity | None = None) -> PointAnalysis:
    """A kernel that is unbounded at r has finite mass in no dimension."""
    where = "as z goes to infinity" if r is sympy.oo else f"at z = {number_text(r)}"
    reason = f"The kernel is unbounded {where}; a kernel of finite mass is bounded by its mass."
    if r is sympy.oo and singularity is not None:
        reason += f" It grows like {singularity.term}."
    requirement = Requirement(_ZERO, inclusive=True, reason=reason, singularity=singularity)
    return PointAnalysis((requirement,), (), (singularity,) if singularity is not None else ())


def radius_rule(singularity: Singularity, *, at_end: bool) -> PointAnalysis:
    """A term at R > 0 on R^d; if ``at_end``, at the end of [0, R], for every continuation."""
    exponent, location = singularity.exponent, singularity.location
    if compare((exponent, -singularity.log_power), CONSTANT) < 0:
        return unbounded_rule(location, singularity)
    place = number_text(location)
    bound = dimension_bound(exponent)
    if at_end:
        inclusive = bool(singularity.log_power < 0)
        reason = (
            f"At z = {place} the kernel has the one-sided term {singularity.term}, which no "
            f"continuation of finite mass has for d >= {bound}."
        )
    else:
        inclusive = bool(singularity.effective_log_power < -1)
        reason = (
            f"At z = {place} the kernel has {singularity.name}; its spectrum is "
            f"integrable exactly for d {'<=' if inclusive else '<'} {bound}."
        )
    gaps: tuple[Gap, ...] = ()
    if at_end and inclusive:
        gaps = (Gap(f"whether {singularity} allows finite mass in d = {bound}", bound, location),)
    return PointAnalysis(
        (Requirement(bound, inclusive, reason, singularity),), gaps, (singularity,)
    )


def radius_gap(exponent: sympy.Expr, r: sympy.Expr) -> Gap:
    """The gap if the expansion at a radius shows no singularity below an exponent."""
    reason = f"No singularity of exponent below {exponent} was found at z = {number_text(r)}"
    return Gap(reason, dimension_bound(exponent), r, improvable=True)


def sphere_rule(point: PointAnalysis) -> PointAnalysis:
    """Change the analysis at 0 < R < 2 on R^d into that on the sphere: the rule of R^(d-1)."""

    def with_larger_bound(r: Requirement) -> Requirement:
        if r.dim_bound == 0 or r.singularity is None:
            return r
        at, bound = r.singularity, r.dim_bound + 1
        place = number_text(at.location)
        reason = (
            f"On the sphere the kernel has {at.name} at z = {place}; its Gegenbauer "
            f"series converges absolutely exactly for d {'<=' if r.inclusive else '<'} {bound}."
        )
        return replace(r, dim_bound=bound, reason=reason)

    gaps = tuple(replace(g, from_dim=g.from_dim + 1) for g in point.gaps)
    requirements = tuple(map(with_larger_bound, point.requirements))
    return replace(point, requirements=requirements, gaps=gaps)


def antipode_rule(point: PointAnalysis) -> PointAnalysis:
    """The rule at z = 2 on the sphere, which is a single point: it requires only continuity."""
    gaps = () if point.singularities else point.gaps  # a term shows whether it is continuous
    return PointAnalysis(
        tuple(r for r in point.requirements if r.dim_bound == 0),
        tuple(g for g in gaps if g.from_dim <= _ONE),
        point.singularities,
    )


def wave_rule(wave: Singularity, *, has_sphere_phase: bool) -> PointAnalysis:
    """A wave at infinity; its phase may be that of a measure on the sphere |w| = frequency."""
    bound = dimension_bound(wave.exponent)
    reason = (
        f"At infinity the kernel has the wave {wave.term}: its spectrum is singular on the sphere "
        f"|w| = {wave.frequency}, and integrable there for d < {bound}."
    )
    if bound.is_Integer:
        verb = "is" if has_sphere_phase else "is not"
        reason += f" In d = {bound} its phase {verb} that of a finite measure on the sphere."
    is_logarithmic = bool(wave.log_power < 0)
    gap = Gap(f"whether {wave} allows finite mass in d = {bound}", bound, sympy.oo)
    gaps = (gap,) if is_logarithmic else ()
    inclusive = bool((has_sphere_phase or is_logarithmic) and bound.is_Integer)
    return PointAnalysis((Requirement(bound, inclusive, reason, wave),), gaps, (wave,))


def chirp_rule(chirp: Singularity) -> PointAnalysis:
    r"""A chirp z^(-a) log^q(z) cos(b z^p + ...), p != 1: finite mass exactly for d < 2a/p.

    At radius z the phase :math:`\varphi = b z^p` has the frequency :math:`w = \varphi' \sim
    z^{p-1}`.  By stationary phase, the interval dz contributes to the mass
    :math:`z^{-a} z^{(d-1)/2} w^{(d-1)/2} |\varphi''|^{1/2} dz \sim z^{-a + dp/2 - 1} dz`.
    """
    bound = max(2 * chirp.exponent / chirp.degree, _ZERO)
    inclusive = bool(chirp.log_power < -1)
    reason = (
        f"At infinity the kernel has the chirp {chirp.term}: its spectrum is integrable exactly "
        f"for d {'<=' if inclusive else '<'} {bound}."
    )
    requirement = Requirement(bound, inclusive, reason, chirp)
    return PointAnalysis(requirements=(requirement,), singularities=(chirp,))


def infinity_gap(exponent: sympy.Expr, degree: sympy.Expr) -> Gap:
    """The gap of an expansion at infinity with the remainder O(z^-A), A = ``exponent``.

    The remainder oscillates like exp(i z^p), p = ``degree`` >= 1, and so do its derivatives; its
    spectrum is integrable for d < 2A/p.
    """
    reason = f"The kernel is known at infinity up to z^(-{exponent})"
    return Gap(reason, 2 * exponent / degree, sympy.oo, improvable=True)


def no_limit_requirement() -> Requirement:
    """A kernel without a limit at infinity can have finite mass for d = 1 only."""
    reason = "The kernel has no limit at infinity; every kernel of finite mass has one for d >= 2."
    return Requirement(_ONE, inclusive=True, reason=reason)
