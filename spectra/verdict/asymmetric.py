r"""Verdicts on asymmetric kernels: sums of shifted and tilted radial kernels.

A shift multiplies the measure by a phase and keeps its mass.  A tilt :math:`k(D) e^{\beta \cdot D}`
multiplies k by a smooth function without zeros, so that every singularity keeps its exponent, and
only the decay of k at infinity matters: a kernel that is zero beyond a radius and a sum of
Gaussians decay faster than every tilt grows.  Tilts of other kernels, whose measures have no known
formula, are undecided, and so are sums in which two summands have infinite mass.
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
    """Requirements and gaps of an asymmetric kernel, in the same form as for a radial one."""
    summands = [_analyse_tilted(radial, tilt) for radial, _, tilt in kernel.terms]
    places = tuple(place for analysis in summands for place in analysis.points)
    largest_dims = [min((r.largest_dim for p in a.points for r in p.requirements), default=sympy.oo)
            for a in summands]  # fmt: skip
    infinite = [largest for largest in largest_dims if largest < (sympy.oo if dim is None else dim)]
    if len(infinite) <= 1:
        return places
    reason = (
        f"Of its shifted or tilted summands {len(infinite)} have infinite mass, and whether they "
        "cancel"
    )
    kept = tuple(replace(place, requirements=()) for place in places)
    return (*kept, PointAnalysis(gaps=(Gap(reason, min(infinite) + 1),)))


def _analyse_tilted(radial: Kernel, tilt: Vector) -> LocalAnalysis:
    """The local analysis of a kernel, with the requirements of its tilt at infinity."""
    analysis = analyse(radial)
    if not any(tilt):
        return analysis
    if np.isfinite(radial.support) or gaussian_components(radial) is not None:
        return replace(analysis, infinity=PointAnalysis())
    reason = "Whether the kernel, which is no sum of Gaussians, decays faster than its tilt grows"
    return replace(analysis, infinity=PointAnalysis(gaps=(Gap(reason, location=sympy.oo),)))


def definiteness_of_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> Definiteness:
    """A real positive definite kernel is even: one difference D with K(D) != K(-D) refutes it."""
    d = dim or kernel.dim or 1  # single numbers stand for every coordinate, also in one dimension
    largest = max((abs(v) for _, offset, _ in kernel.terms for v in offset), default=0.0)
    for length in (0.3, 1.0, 3.0, largest + 0.5):
        for line in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            there, back = kernel([length * line, -length * line])
            if abs(there - back) > _ASYMMETRY * (abs(there) + abs(back)):
                text = f"It is not even: K(D) = {there:.6g} and K(-D) = {back:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")
