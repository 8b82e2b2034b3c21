r"""The verdict on a range of distances, and on the unit sphere.

On a range: does some continuation to R^d have finite mass?  Each continuation has the singularities
inside the range.  At the end a one-sided term (z_max - z)^s, s not an integer, excludes every
continuation if s <= (d - 1)/2, because for a kernel of finite mass the finite differences of step h
and order r > s at z_max are o(h^s).

On the sphere: does the Gegenbauer series :math:`k(\langle x, y\rangle) = \sum_n \lambda_n N(n, d)
P_n` converge absolutely (``sphere_coefficients`` defines its symbols)?  A term :math:`|z - R|^s` at
0 < R < 2 is singular on a sphere of points y around x, of dimension d - 2.  It contributes to
:math:`N(n, d) \lambda_n` the power :math:`n^{(d-2)/2 - s - 1}` times a cosine in n, so that the sum
converges exactly for s > (d - 2)/2: the rule of R^(d-1).  At z = 0 and at the antipode z = 2 a term
is singular at one point only: every s > 0 is allowed, since :math:`z^s` contributes
:math:`\pm n^{-1-s}`, and :math:`(2 - z)^s` less (G. Szego, Orthogonal Polynomials, chapter 9).
"""

from __future__ import annotations

import math
from dataclasses import replace

import sympy

from spectra.definiteness import proved_on_sphere
from spectra.errors import AccuracyError, ParameterError, SpectraError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.parameters import exact_parameter
from spectra.formula.pieces import merge_pieces
from spectra.kernels.great_circle import to_angle
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import classify_at
from spectra.singularities.local import analyse, analyse_end
from spectra.singularities.results import Gap, LocalAnalysis, PointAnalysis
from spectra.singularities.rules import antipode_rule, sphere_rule
from spectra.singularities.zeros import same_radius
from spectra.verdict.assumptions import require_formula
from spectra.verdict.combination import combine
from spectra.verdict.refuted_on_sphere import refute_on_sphere
from spectra.verdict.sphere_coefficients import SphereCoefficients, sphere_coefficients
from spectra.verdict.status import RegionVerdict, Status

__all__ = ["decide_on_sphere", "verdict_on_range", "verdict_on_sphere"]

#: The distance z of two antipodes of the unit sphere.
_ANTIPODE, _ONE = sympy.Integer(2), sympy.Integer(1)
_CONVERGES = "Its Gegenbauer series converges absolutely, so a decomposition exists there."


def _restrict_to(kernel: Kernel, analysis: LocalAnalysis, end: sympy.Expr) -> LocalAnalysis:
    """The analysis on [0, end]: the given one, unless its gaps may come from larger distances."""
    if analysis.exprs and not analysis.gaps:
        return analysis
    cut = merge_pieces((sympy.Min(piece.support, end), piece.expr) for piece in kernel.pieces)
    return analyse(Kernel(cut))


def _points_up_to(
    end: sympy.Expr, analysis: LocalAnalysis, *, on_sphere: bool
) -> tuple[PointAnalysis, ...]:
    """The analyses at the points of [0, end] by the rules of the region; at the end, from below."""
    points = [PointAnalysis(gaps=analysis.gaps), analysis.origin]
    for i, (r, point) in enumerate(analysis.radii):
        if same_radius(r, end):
            try:
                if on_sphere and classify_at(to_angle(analysis.exprs[i]), sympy.pi) == "analytic":
                    continue
                if on_sphere:  # at a single point only continuity matters
                    points.append(antipode_rule(analyse_end(analysis.exprs[i], r, up_to_dim=_ONE)))
                else:
                    points.append(analyse_end(analysis.exprs[i], r))
            except ExpansionError as error:
                gap = Gap(f"The kernel at z = {r}: {error}", location=r)
                points.append(PointAnalysis(gaps=(gap,)))
        elif r.evalf(30) < end.evalf(30):
            points.append(sphere_rule(point) if on_sphere else point)
    return tuple(points)


def verdict_on_range(
    kernel: Kernel, analysis: LocalAnalysis, dim: int | None, z_max: float | sympy.Expr | None
) -> RegionVerdict:
    """Decide on the distances up to ``z_max``, by default 2 for a zonal kernel."""
    require_formula(kernel, "on_domain")
    if z_max is None:
        if not kernel.is_zonal:
            raise ParameterError(
                "Give z_max, the largest distance in the data (2 for a kernel on the sphere)."
            )
        z_max = 2
    end = exact_parameter("z_max", z_max)
    if not end.is_positive:
        raise ParameterError(f"z_max is a distance and must be positive, and {z_max} is not.")
    points = _points_up_to(end, _restrict_to(kernel, analysis, end), on_sphere=False)
    reason = f"Every singularity on [0, {end}] is weak enough; beyond it the kernel can be cut off."
    return RegionVerdict(*combine(points, dim, reason), f"distances up to {end}", dim)


def decide_on_sphere(kernel: Kernel, analysis: LocalAnalysis, dim: int | None) -> RegionVerdict:
    """Decide by the singularities; if gaps leave it open, by a proof of positive definiteness."""
    analysis = _restrict_to(kernel, analysis, _ANTIPODE)
    points = _points_up_to(_ANTIPODE, analysis, on_sphere=True)
    status, condition, reasons, deciding = combine(points, dim, _CONVERGES)
    if status is Status.UNDECIDED and dim is not None and proved_on_sphere(kernel, dim) is not None:
        status, reasons = Status.FINITE, (_CONVERGES,)
    if status is Status.INFINITE:
        text = "Its Gegenbauer series does not converge absolutely: no decomposition exists there."
        reasons = (text, *reasons)
    return RegionVerdict(status, condition, reasons, deciding, "the unit sphere", dim)


def verdict_on_sphere(
    kernel: Kernel, analysis: LocalAnalysis, dim: int, degree: int
) -> RegionVerdict:
    """Decide on the unit sphere of R^dim, with the Gegenbauer coefficients up to a degree."""
    verdict = decide_on_sphere(kernel, analysis, dim)
    coefficients: SphereCoefficients | None = None
    reasons: list[str] = []
    try:
        coefficients = sphere_coefficients(kernel, dim, degree)
    except AccuracyError as error:
        reasons.append(str(error))
    positive_definite = None if coefficients is None else coefficients.nonnegative
    if positive_definite:
        reasons.append("Every Gegenbauer coefficient is nonnegative: positive definite there.")
    elif positive_definite is None and (proof := proved_on_sphere(kernel, dim)) is not None:
        positive_definite = True
        reasons.append(f"Positive definite on the sphere: {proof}")
    elif (refutation := refute_on_sphere(kernel, dim)) is not None:
        positive_definite = False
        reasons.append(f"Indefinite on the sphere. {refutation.reason}")
    elif positive_definite is False:
        reasons.append("A Gegenbauer coefficient is negative: indefinite.")
    if positive_definite or (coefficients is not None and math.isfinite(coefficients.tail_bound)):
        # This proves convergence even if the singularities left a gap.
        if verdict.status is Status.INFINITE:
            raise SpectraError(
                f"Two proofs on {kernel} in d = {dim} contradict each other: its Gegenbauer series "
                f"converges, and {verdict.reasons[-1]} This is an error of spectra: report it."
            )
        verdict = replace(verdict, status=Status.FINITE, reasons=(_CONVERGES,))
    elif verdict.status is Status.INFINITE and positive_definite is None:
        positive_definite = False
        reasons.append("Not positive definite: the series of such a kernel converges absolutely.")
    return replace(
        verdict,
        reasons=(*reasons, *verdict.reasons),
        positive_definite=positive_definite,
        coefficients=coefficients,
    )
