r"""The verdict on the sphere itself: does the Gegenbauer series of k(<x, y>) converge absolutely?

On the unit sphere of R^d, of dimension d - 1, a term :math:`|z - R|^s` at 0 < R < 2 is singular on
a whole sphere of points.  It leaves :math:`N(n, d) |\lambda_n| \sim n^{(d-2)/2 - s - 1} |\cos|`, so
that the sum converges exactly for s > (d - 2)/2: the rule of R^(d-1).  At z = 0 and at the
antipode z = 2 it is singular at one point only, which leaves :math:`n^{-1-s}`: every s > 0 is
allowed (G. Szego, Orthogonal Polynomials, chapter 9; the sign at the antipode alternates).
"""

from __future__ import annotations

import math
from dataclasses import replace

import sympy

from spectra.errors import AccuracyError
from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness import proved_on_sphere
from spectra.singularities.places import LocalAnalysis
from spectra.singularities.rules import inside_the_sphere, only_continuous
from spectra.verdict.decision import decided
from spectra.verdict.regions.bounded_range import cut_at, places_up_to
from spectra.verdict.regions.sphere_coefficients import SphereCoefficients, sphere_coefficients
from spectra.verdict.status import RegionVerdict, Status

__all__ = ["decided_on_sphere", "verdict_on_sphere"]

_END = sympy.Integer(2)
_CONVERGES = "Its Gegenbauer series converges absolutely, so a decomposition exists there."


def decided_on_sphere(kernel: Kernel, analysis: LocalAnalysis, dim: int | None) -> RegionVerdict:
    """Decide by the singularities, and by a proof of positive definiteness where they do not."""
    analysis = cut_at(kernel, analysis, _END)
    places = places_up_to(_END, analysis, inside=inside_the_sphere, at_end=only_continuous)
    status, condition, reasons, deciding = decided(places, dim, _CONVERGES)
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
    decision = decided_on_sphere(kernel, analysis, dim)
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
