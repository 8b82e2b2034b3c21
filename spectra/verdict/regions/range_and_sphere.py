r"""The verdict on a range of distances, and on the unit sphere.

On a range: does any extension to R^d have finite mass?  Every extension has the singularities
inside the range.  At its end a one-sided term (z_max - z)^s, s not an integer, excludes every
extension if s <= (d - 1)/2, because finite differences of order r > s of a kernel of
finite mass vanish faster than h^s there.

On the sphere: does the Gegenbauer series of k(<x, y>) converge absolutely?  On the unit sphere of
R^d, of dimension d - 1, a term :math:`|z - R|^s` at 0 < R < 2 is singular on a whole sphere of
points.  It leaves :math:`N(n, d) |\lambda_n| \sim n^{(d-2)/2 - s - 1} |\cos|`, so that the sum
converges exactly for s > (d - 2)/2: the rule of R^(d-1).  At z = 0 and at the antipode z = 2 it is
singular at one point only, which leaves :math:`n^{-1-s}`: every s > 0 is allowed (G. Szego,
Orthogonal Polynomials, chapter 9; the sign at the antipode alternates).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import sympy

from spectra.errors import AccuracyError, ParameterError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.pieces import merged
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness import proved_on_sphere
from spectra.singularities.local import analyse, analyse_end
from spectra.singularities.results import Gap, LocalAnalysis, PointAnalysis
from spectra.singularities.rules import antipode_rule, sphere_rule
from spectra.singularities.zeros import same_radius
from spectra.verdict.assumptions import require_formula
from spectra.verdict.combination import combine
from spectra.verdict.regions.sphere_coefficients import SphereCoefficients, sphere_coefficients
from spectra.verdict.status import RegionVerdict, Status

__all__ = ["decide_on_sphere", "verdict_on_range", "verdict_on_sphere"]

_END = sympy.Integer(2)
_CONVERGES = "Its Gegenbauer series converges absolutely, so a decomposition exists there."

Rule = Callable[[PointAnalysis], PointAnalysis]


def _restrict_to(kernel: Kernel, analysis: LocalAnalysis, end: sympy.Expr) -> LocalAnalysis:
    """The analysis on [0, end], without the gaps beyond its end."""
    if analysis.exprs and not analysis.gaps:
        return analysis
    cut = merged((sympy.Min(piece.support, end), piece.expr) for piece in kernel.pieces)
    return analyse(Kernel(cut))


def _points_up_to(
    end: sympy.Expr,
    analysis: LocalAnalysis,
    *,
    inside: Rule = lambda ending: ending,
    at_end: Rule = lambda ending: ending,
) -> tuple[PointAnalysis, ...]:
    """Requirements and gaps on [0, end], for every continuation of the kernel."""
    places = [PointAnalysis(gaps=analysis.gaps), analysis.origin]
    for i, (r, ending) in enumerate(analysis.radii):
        if same_radius(r, end):
            try:
                places.append(at_end(analyse_end(analysis.exprs[i], r)))
            except ExpansionError as error:
                places.append(
                    PointAnalysis(gaps=(Gap(f"The kernel at z = {r}: {error}", location=r),))
                )
        elif r.evalf(30) < end.evalf(30):
            places.append(inside(ending))
    return tuple(places)


def verdict_on_range(
    kernel: Kernel, analysis: LocalAnalysis, dim: int | None, z_max: float | sympy.Expr | None
) -> RegionVerdict:
    """Decide for the distances up to ``z_max``, by default 2 for a zonal kernel."""
    require_formula(kernel, "on_domain")
    if z_max is None:
        if not kernel.is_zonal:
            raise ParameterError(
                "Give z_max, the largest distance in the data: only a kernel on the unit "
                "sphere has a range of its own, [0, 2]."
            )
        z_max = 2
    end = exact_parameter("z_max", z_max)
    if not end.is_positive:
        raise ParameterError(f"z_max is a distance and must be positive, and {z_max} is not.")
    places = _points_up_to(end, _restrict_to(kernel, analysis, end))
    finite = (
        f"Every singularity on [0, {end}] is weak enough, and the kernel can be cut off "
        "smoothly beyond."
    )
    return RegionVerdict(*combine(places, dim, finite), f"distances up to {end}", dim)


def decide_on_sphere(kernel: Kernel, analysis: LocalAnalysis, dim: int | None) -> RegionVerdict:
    """Decide by the singularities, and by a proof of positive definiteness where they do not."""
    analysis = _restrict_to(kernel, analysis, _END)
    places = _points_up_to(_END, analysis, inside=sphere_rule, at_end=antipode_rule)
    status, condition, reasons, deciding = combine(places, dim, _CONVERGES)
    if status is Status.UNDECIDED and dim is not None and proved_on_sphere(kernel, dim) is not None:
        status, reasons = Status.FINITE, (_CONVERGES,)
    if status is Status.INFINITE:
        text = "Its Gegenbauer series does not converge absolutely: none exists there."
        reasons = (text, *reasons)
    return RegionVerdict(status, condition, reasons, deciding, "the unit sphere", dim)


def verdict_on_sphere(
    kernel: Kernel, analysis: LocalAnalysis, dim: int, degree: int
) -> RegionVerdict:
    """Decide for the kernel on the unit sphere of R^dim, and compute so many coefficients."""
    decision = decide_on_sphere(kernel, analysis, dim)
    coefficients: SphereCoefficients | None = None
    texts: list[str] = []
    try:
        coefficients = sphere_coefficients(kernel, dim, degree)
    except AccuracyError as error:
        texts.append(str(error))
    definite = None if coefficients is None else coefficients.nonnegative
    if definite:
        texts.append("Every Gegenbauer coefficient is nonnegative: positive definite there.")
    elif definite is False:
        texts.append("A Gegenbauer coefficient is negative: indefinite.")
    elif (proof := proved_on_sphere(kernel, dim)) is not None:
        definite = True
        texts.append(f"Positive definite on the sphere: {proof}")
    if definite or (coefficients is not None and math.isfinite(coefficients.tail_bound)):
        # Proved without the singularities, which may have left a gap.
        decision = replace(decision, status=Status.FINITE, reasons=(_CONVERGES,))
    return replace(
        decision,
        reasons=(*texts, *decision.reasons),
        positive_definite=definite,
        coefficients=coefficients,
    )
