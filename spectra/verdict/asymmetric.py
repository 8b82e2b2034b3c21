r"""Verdicts on asymmetric kernels: sums of shifted and tilted radial kernels.

With the difference D = x - y, a shift k(D + r) multiplies the measure by a phase and keeps its
mass.  A tilt :math:`k(D) e^{\beta \cdot D}` multiplies k by a smooth function without zeros, so
that every singularity keeps its exponent, and only the decay of k at infinity matters: kernels with
compact support and sums of Gaussians decay faster than every tilt grows.  For tilts of other
kernels no rule is known: they are undecided, and so are sums with two terms of infinite mass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy

from spectra.kernels.asymmetric import AsymmetricKernel, Vector, gaussian_components
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.results import Gap, LocalAnalysis, PointAnalysis
from spectra.verdict.status import Definiteness

__all__ = ["analyse_asymmetric", "definiteness_of_asymmetric"]

#: Relative difference of K(D) and K(-D) above which the kernel is not even.
_ASYMMETRY = 1e-6


def analyse_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> tuple[PointAnalysis, ...]:
    """The requirements and gaps of all terms; if two have infinite mass, they may cancel."""
    analyses = [_analyse_tilted(radial, tilt) for radial, _, tilt in kernel.terms]
    points = tuple(point for analysis in analyses for point in analysis.points)
    largest_dims = [min((r.largest_dim for p in a.points for r in p.requirements), default=sympy.oo)
            for a in analyses]  # fmt: skip
    infinite = [largest for largest in largest_dims if largest < (sympy.oo if dim is None else dim)]
    if len(infinite) <= 1:
        return points
    reason = f"whether its {len(infinite)} shifted or tilted summands of infinite mass cancel"
    without_requirements = tuple(replace(point, requirements=()) for point in points)
    return (*without_requirements, PointAnalysis(gaps=(Gap(reason, min(infinite) + 1),)))


def _analyse_tilted(radial: Kernel, tilt: Vector) -> LocalAnalysis:
    """The local analysis of a kernel, with the behaviour of its tilt at infinity."""
    analysis = analyse(radial)
    if not any(tilt):
        return analysis
    if np.isfinite(radial.support) or gaussian_components(radial) is not None:
        return replace(analysis, infinity=PointAnalysis())
    reason = "whether the kernel, which is no sum of Gaussians, decays faster than its tilt grows"
    return replace(analysis, infinity=PointAnalysis(gaps=(Gap(reason, location=sympy.oo),)))


def definiteness_of_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> Definiteness:
    """Refute definiteness if K(D) != K(-D) at a tested D: positive definite kernels are even."""
    d = dim or kernel.dim or 1  # a kernel without a dimension has scalar shifts and tilts
    largest_shift = max((abs(v) for _, shift, _ in kernel.terms for v in shift), default=0.0)
    for length in (0.3, 1.0, 3.0, largest_shift + 0.5):
        for direction in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            forward, backward = kernel([length * direction, -length * direction])
            if abs(forward - backward) > _ASYMMETRY * (abs(forward) + abs(backward)):
                text = f"It is not even: K(D) = {forward:.6g} and K(-D) = {backward:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")
