r"""Spectral densities of formulas on the half-line for which no closed form is known.

A formula that is analytic for z > 0 is integrated along rays of the complex plane
(:mod:`.ray_sums`).  A density is accepted if the sums on two rays agree and if it gives back the
kernel (:mod:`spectra.density.guard`): two rays beyond one pole agree, too, and both are wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy

from spectra.base.enclosures import EPS
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.guard import contradiction
from spectra.density.half_line.ends.plane_waves import split_atoms
from spectra.density.half_line.half_line_formula import HalfLineFormula, split_limit
from spectra.density.half_line.power_tail import PowerTail, power_tail
from spectra.density.half_line.ray_sums import RaySums, Samples, survey_kernel
from spectra.density.half_line.sampled_density import sampled_density
from spectra.density.half_line.slow_waves import slow_wave_density
from spectra.errors import AccuracyError, NoRouteError, SpectraError
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel

__all__ = ["half_line_density"]

# Angles of the rays.  Wide rays converge with long steps; a kernel may grow or be singular there.
_ANGLES = (1.1, 0.8, 0.55, 0.36, 0.24, 0.15, 0.09, 0.05, 0.025)
# Two rays agree to this share of the largest w rho.
_AGREE = 1e-12
# Logarithm of the largest value of a kernel, as a double.
_LARGEST = 700.0
# If the kernel becomes negligible this much later in log z on a ray than on the half-line, it grows
# on rays nearby, and the ray is tried last.
_LATER = 0.6


def half_line_density(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom]]:
    """Components and atoms of a formula on the whole half-line.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> (component,), atoms = half_line_density(1 / (1 + Z), 3)
    >>> _, log = component.signed_log(np.array([1.0]))
    >>> round(float(np.exp(log[0])), 10)
    0.240992654
    """
    limit, formula = split_limit(expr)
    atoms = []
    if limit != 0:
        mass = float(limit)
        atoms.append(Atom(0.0, mass, error=abs(mass) * EPS))
    found, rest = split_atoms(formula, dim)
    atoms += found
    if rest is None:
        return [], atoms
    if rest.slow_waves:
        return [slow_wave_density(rest, dim)], atoms
    try:
        return [_sum_on_rays(rest, dim)], atoms
    except AccuracyError as refusal:
        if not rest.waves:
            raise
        try:
            return [slow_wave_density(rest, dim)], atoms
        except SpectraError:
            raise refusal from None


def _sum_on_rays(formula: HalfLineFormula, dim: int) -> Component:
    """The density by the first two rays that agree."""
    ending = power_tail(formula.zero, dim)
    reasons: list[str] = []
    tried: list[Samples] = []
    for ray in _order_rays(formula, dim, reasons):
        ray.shift = 0.5 * (len(tried) % 2)
        try:
            samples = ray.whole(stop=ending[1] if ending else np.inf)
        except AccuracyError as refusal:
            reasons.append(str(refusal))
            continue
        for other in tried:
            apart = samples.difference(other) / samples.peak
            if not apart <= _AGREE:
                reasons.append(f"rays differ by {apart:.0e} of the largest value")
                continue
            best = min(other, samples, key=lambda s: (s.error, s.step))
            error = 2.0 * (apart * best.peak + best.error) + best.rounding
            try:
                return _check_samples(formula, replace(best, error=error), ending, dim)
            except AccuracyError as refusal:
                # Both rays lie beyond the same singularity.
                reasons.append(str(refusal))
                break
        tried.append(samples)
    raise AccuracyError(
        f"The density of {formula.expr} on R^{dim} was not found to 1e-12 of its largest value: "
        f"{'; '.join(dict.fromkeys(reasons))}. The kernel cancels, or is singular close to the "
        "half-line. Use a smaller dimension, give its values as a callable with decay=..., or "
        "design a finite measure for your range of distances (design)."
    )


def _check_samples(
    formula: HalfLineFormula, samples: Samples, ending: PowerTail | None, dim: int
) -> Component:
    """The component of samples; an AccuracyError if it is not the density of the kernel."""
    component = sampled_density(samples, formula.total, dim, formula.decay, ending)
    kernel = Kernel((Piece(sympy.oo, formula.expr),))
    if why := contradiction(SpectralDensity(kernel, dim, (component,), (), "numeric")):
        raise AccuracyError(why)
    return component


def _order_rays(formula: HalfLineFormula, dim: int, reasons: list[str]) -> list[RaySums]:
    """The rays on which the kernel decays, the cheapest first."""
    rays: list[RaySums] = []
    axis = np.inf
    for angle in _ANGLES:
        try:
            rays.append(RaySums(formula, dim, angle))
            if len(rays) == 1:
                top, axis = survey_kernel(formula, 0.0, rays[0].floor)
                if top > _LARGEST:
                    raise NoRouteError(
                        f"{formula.expr} reaches exp({top:.4g}), which is no double: divide it by "
                        "its largest value, or design a finite measure for the range of your data."
                    )
        except AccuracyError as refusal:
            reasons.append(str(refusal))
    return sorted(rays, key=lambda ray: (ray.end > axis + _LATER and axis < np.inf, ray.cost))
