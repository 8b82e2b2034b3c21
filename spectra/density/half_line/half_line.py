r"""Spectral densities of formulas on the half-line, if no closed form is known.

A formula that is analytic for z > 0 is integrated along rays of the complex plane
(:mod:`.ray_sums`).  If a ray has a singularity between itself and the half-line, its sums are
wrong, and those on two such rays may agree.  So a density is accepted only if the sums on two rays
agree and if it reproduces the kernel (:mod:`spectra.density.kernel_check`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import sympy

from spectra.base.accuracy import DENSITY, EPS
from spectra.base.limits import check_time
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.half_line.half_line_formula import HalfLineFormula, split_limit
from spectra.density.half_line.ray_sums import RaySums, Samples, survey_kernel
from spectra.density.half_line.sampled_density import power_tail, sampled_density
from spectra.density.half_line.wave_density import wave_density
from spectra.density.kernel_check import describe_mismatch
from spectra.density.panel_density import Powers
from spectra.errors import AccuracyError, NoRouteError, SpectraError
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel

__all__ = ["half_line_density"]

# Angles of the rays in radians.  Sums on wide rays take long steps, but kernels may grow there.
_ANGLES = (1.1, 0.8, 0.55, 0.36, 0.24, 0.15, 0.09, 0.05, 0.025)
# Two rays agree if their sums differ by at most this share of the largest w |rho|.
_AGREE = DENSITY
# Kernels with a larger log|k| are refused: the largest double is exp(709).
_LARGEST_LOG = 700.0
# A ray is tried last if the kernel becomes negligible on it at a log|z| that is larger by this much
# than on the half-line: on slightly wider rays the kernel grows.
_LATER = 0.6
# The search for singularities: the farthest log z from the scale, the largest number of boxes, the
# half width of a box in log z, and the least half width as a share of it.
_FARTHEST, _MOST_BOXES, _BOX, _SMALLEST = 12.0, 30_000, 0.25, 2.0**-8
# A rest below _NEGLIGIBLE at this z may be 0, like sin(z) cos(z) - sin(2z)/2; it is simplified.
_PLACE, _NEGLIGIBLE = sympy.Rational(17, 13), 1e-25


def half_line_density(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom]]:
    """Components and atoms of a formula on the whole half-line.

    Examples
    --------
    >>> from spectra.formula.parsing import Z
    >>> (component,), atoms = half_line_density(1 / (1 + Z), 3)
    >>> _, log = component.signed_log(np.array([1.0]))
    >>> round(float(np.exp(log[0])), 10)
    0.240992654
    """
    limit, formula = split_limit(expr)
    atoms, rest = _split_atoms(formula, dim)
    if limit != 0:
        atoms = [Atom.of(sympy.Integer(0), limit), *atoms]
    if rest is None:
        return [], atoms
    if rest.slow_waves:
        return [wave_density(rest, dim)], atoms
    try:
        return [_sum_on_rays(rest, dim)], atoms
    except AccuracyError as failure:
        if not rest.amplitudes:
            raise
        # A sum of waves may grow on every ray, while each wave decays on a ray of its own.
        try:
            return [wave_density(rest, dim)], atoms
        except SpectraError:
            raise failure from None


def _sum_on_rays(formula: HalfLineFormula, dim: int) -> Component:
    """The density by the first two rays that agree."""
    tail = power_tail(formula.expansion_at_zero, dim)
    reasons: list[str] = []
    tried: list[Samples] = []
    for ray in _order_rays(formula, dim, reasons):
        # Every second grid is shifted, so that differences show errors of interpolation, too.
        ray.shift = 0.5 * (len(tried) % 2)
        try:
            samples = ray.sample_all(stop=tail.start if tail else np.inf)
        except AccuracyError as failure:
            reasons.append(str(failure))
            continue
        for other in tried:
            difference = samples.difference(other) / samples.peak
            if not difference <= _AGREE:
                reasons.append(f"rays differ by {difference:.0e} of the largest value")
                continue
            best = min(other, samples, key=lambda s: (s.error, s.step))
            error = 2.0 * (difference * best.peak + best.error) + best.rounding
            try:
                return _check_samples(formula, replace(best, error=error), tail, dim)
            except AccuracyError as failure:
                # The rays agree but are wrong, as if both lay beyond the same singularity.
                reasons.append(str(failure))
                break
        tried.append(samples)
    raise AccuracyError(
        f"The density of {formula.expr} on R^{dim} was not found to 1e-12 of its largest value: "
        f"{'; '.join(dict.fromkeys(reasons))}. Cancellation takes too many digits, or the kernel "
        "is singular close to the half-line. Use a smaller dimension, give its values as a "
        "callable with decay=..., or design a finite measure for your range of distances (design)."
    )


def _check_samples(
    formula: HalfLineFormula, samples: Samples, tail: Powers | None, dim: int
) -> Component:
    """The component through samples; an AccuracyError if it does not reproduce the kernel."""
    component = sampled_density(samples, formula.value_at_zero, dim, formula.decay, tail)
    kernel = Kernel((Piece(sympy.oo, formula.expr),))
    if why := describe_mismatch(SpectralDensity(kernel, dim, (component,), (), "numeric")):
        raise AccuracyError(why)
    return component


def _order_rays(formula: HalfLineFormula, dim: int, reasons: list[str]) -> list[RaySums]:
    """The rays on which the kernel decays, the cheapest first; fill ``reasons`` for the others."""
    rays: list[RaySums] = []
    for angle in _ANGLES:
        try:
            rays.append(RaySums(formula, dim, angle))
        except AccuracyError as failure:
            reasons.append(str(failure))
    if not rays:
        return []
    log_max, end = survey_kernel(formula, 0.0, rays[-1].bits)
    if log_max > _LARGEST_LOG:
        raise NoRouteError(
            f"{formula.expr} reaches exp({log_max:.4g}), which exceeds the doubles: divide it by "
            "its largest value, or design a finite measure for the range of your data."
        )
    # Singularities matter up to where the kernel is negligible at the precision of the widest ray.
    _, last = survey_kernel(formula, 0.0, rays[0].bits)
    widest = _find_widest_angle(formula, min(last, formula.log_scale + _FARTHEST), reasons)
    rays = [ray for ray in rays if ray.angle <= widest]
    return sorted(rays, key=lambda ray: (ray.end > end + _LATER and end < np.inf, ray.cost))


def _find_widest_angle(formula: HalfLineFormula, end: float, reasons: list[str]) -> float:
    """The largest angle such that the kernel is analytic at smaller ones, up to log|z| = end.

    Boxes in log|z| and the angle cover the sector.  A box is divided if ball arithmetic does not
    exclude a singularity in it.  A box of the smallest size is then taken to contain one.
    """
    centres = np.arange(end - _BOX, formula.log_scale - _FARTHEST - _BOX, -2.0 * _BOX)
    tried = 0
    for inner, outer in pairwise((0.5 * _ANGLES[-1], *_ANGLES[::-1])):
        middle, half = 0.5 * (outer + inner), 0.5 * (outer - inner)
        boxes = [(float(s), _BOX, middle, half) for s in centres]
        while boxes:
            check_time()
            s, half_s, angle, half_angle = boxes.pop()
            tried += 1
            if formula.is_analytic_on(s, half_s, angle, half_angle):
                continue
            if tried > _MOST_BOXES or half_s < _SMALLEST * _BOX:
                place = f"{np.exp(s):.4g} exp({angle:.4g} i)"
                reasons.append(f"the kernel may be singular at z = {place}")
                return inner
            h, a = 0.5 * half_s, 0.5 * half_angle
            boxes += [(s + i * h, h, angle + j * a, a) for i in (-1, 1) for j in (-1, 1)]
    return _ANGLES[0]


def _split_atoms(formula: HalfLineFormula, dim: int) -> tuple[list[Atom], HalfLineFormula | None]:
    """The atoms of a kernel and the rest of its formula; None if nothing is left.

    An atom of mass m at the radius b is the summand m Omega_d(bz) of the kernel, whose wave at
    infinity decays like z^-((d-1)/2).
    """
    least = sympy.Rational(dim - 1, 2)
    atoms: list[Atom] = []
    rest = formula.expr
    for b, (a, q, c) in formula.slow_waves.items():
        if (a - least).is_negative or (a == least and q != 0):
            raise NoRouteError(
                f"The wave of frequency {b} in {formula.expr} decays like z^(-{a}), and in "
                f"d = {dim} only waves that decay faster than z^(-{least}) have a finite measure. "
                "Use a smaller dimension, or design a finite measure for your range of distances."
            )
        if a == least:
            leading, mean = _expand_mean(b, dim)
            mass = sympy.simplify(c / leading)
            value = complex(mass.evalf(30))
            if abs(value.imag) > _NEGLIGIBLE * abs(value):
                raise NoRouteError(
                    f"The wave of frequency {b} in {formula.expr} decays like z^(-{a}) without "
                    f"the phase of a plane wave in d = {dim}: its measure is infinite. Design a "
                    "finite measure for your range of distances."
                )
            atoms.append(Atom(float(b), value.real, error=abs(value.real) * 4.0 * EPS))
            rest = rest - sympy.re(mass) * mean
    if not atoms:
        return [], formula
    rest = sympy.powsimp(rest)
    if abs(rest.subs(Z, _PLACE).evalf(30)) < _NEGLIGIBLE:
        rest = sympy.simplify(rest.rewrite(sympy.exp))
    return atoms, None if rest == 0 else split_limit(rest)[1]


def _expand_mean(b: sympy.Expr, dim: int) -> tuple[sympy.Expr, sympy.Expr]:
    """The c of the leading term 2 Re[c z^-((d-1)/2) exp(ibz)] of Omega_d(bz), and Omega_d(bz).

    Omega_d(x) = Gamma(d/2) (2/x)^n J_n(x) with n = d/2 - 1, and the term is DLMF 10.17.3.
    """
    half = sympy.Rational(dim, 2)
    order = half - 1
    front = sympy.gamma(half) * (2 / b) ** order
    phase = -sympy.I * sympy.pi * (order / 2 + sympy.Rational(1, 4))
    leading = front * sympy.sqrt(2 / (sympy.pi * b)) / 2 * sympy.exp(phase)
    mean = front * sympy.expand_func(sympy.besselj(order, b * Z)) / Z**order
    if dim % 2:
        mean = sympy.expand(mean.replace(sympy.besselj, _elementary))
    return leading, mean


def _elementary(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """J of order 1/2 or -1/2 as a sine or cosine (DLMF 10.16.1), so that sums cancel exactly."""
    wave = sympy.sin(x) if order.is_positive else sympy.cos(x)
    return sympy.sqrt(2 / (sympy.pi * x)) * wave
