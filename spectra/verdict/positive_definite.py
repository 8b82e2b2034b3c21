"""Decide whether a kernel is positive definite on R^d: proved, refuted, or neither."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy
from scipy.integrate import quad_vec

from spectra.base.accuracy import NOISE
from spectra.base.limits import seconds_left, stage, time_limit
from spectra.definiteness import Proof, proved_on_space
from spectra.errors import AccuracyError, FormulaError, NoRouteError, TimeLimitError, UndecidedError
from spectra.formula.expansions.exact_numbers import sign
from spectra.formula.expansions.expansion import compare
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.periodic import is_periodic
from spectra.singularities.results import LocalAnalysis
from spectra.verdict.composite import definiteness_of_composite
from spectra.verdict.status import D, Definiteness, Status

__all__ = ["definiteness"]

#: Comparison of |k(z)| with k(0): steps in z, and as many in z^(1/8); an upper bound of z.
_STEPS, _LARGEST_DISTANCE = 60, 1e3
#: An excess of |k| over k(0) of up to this, relative to 1 + |k(0)|, counts as rounding.
_ROUNDING = 1e-12
#: Fourier coefficients of a periodic kernel that are computed.
_COEFFICIENTS = 32
_ZERO = sympy.Integer(0)


def definiteness(verdict: Any) -> Definiteness:
    """Decide on the kernel of a Verdict in its dimension; without one, in every dimension."""
    kernel, dim = verdict.kernel, verdict.dim
    if isinstance(kernel, CompositeKernel):
        return definiteness_of_composite(kernel, dim, verdict.by_group)
    analysis: LocalAnalysis | None = verdict.analysis
    if analysis is None:  # a kernel that is given by its measure
        positive = kernel.table.negative_mass == 0.0
        text = "a positive measure" if positive else "a measure with parts of both signs"
        return Definiteness(positive or None, f"It is given by {text}.")
    if verdict.condition == sympy.false:
        text = "A continuous positive definite kernel has finite mass; this one has it for no d."
        return Definiteness(False, text, 0)
    proof = _prove_in_time(kernel, analysis)
    if proof is not None:
        largest, reason, is_exact = _make_exact(proof, verdict.condition, analysis)
        if is_exact or (dim is not None and dim <= largest):
            answer = largest == math.inf if dim is None else dim <= largest
            return Definiteness(answer, reason, largest if is_exact else None)
    else:
        refutation = _find_larger_value(kernel, analysis.origin.limit)
        if refutation is None and (tail := _explain_negative_tail(analysis, 1)) is not None:
            refutation = f"Even for d = 1 it is not. {tail}"
        if refutation is not None:
            return Definiteness(False, refutation, 0)
    if verdict.status is Status.INFINITE:
        text = "A continuous positive definite kernel has the finite mass k(0), this one has not."
        return Definiteness(False, text)
    if dim is None:
        if verdict.condition in (None, sympy.true):
            return Definiteness(None, "No rule that holds in every dimension decides it.")
        text = "It is not for every d, because its mass is not finite for every d."
        return Definiteness(False, text)
    tail = _explain_negative_tail(analysis, dim)
    if tail is not None:
        return Definiteness(False, tail)
    if verdict.status is Status.UNDECIDED:
        return Definiteness(None, "No rule decides it, and its mass is not known to be finite.")
    return _decide_by_masses(verdict)


def _prove_in_time(kernel: Kernel, analysis: LocalAnalysis) -> Proof | None:
    """The strongest proof; by the quick rules if the others take half of the time left."""
    left = seconds_left()
    limit = time_limit(None if left is None else max(0.5 * left, 0.01))
    try:
        with limit, stage("proving positive definiteness"):
            return proved_on_space(kernel, analysis)
    except TimeLimitError:
        return proved_on_space(kernel, analysis, quick=True)


def _make_exact(proof: Proof, condition: sympy.Basic | None, analysis: LocalAnalysis) -> Proof:
    """Mark a proof as exact if infinite mass or a negative tail excludes the next dimension."""
    largest_dim, reason, is_exact = proof
    if is_exact or largest_dim == math.inf:
        return largest_dim, reason, True
    dim = int(largest_dim) + 1
    if condition is not None and condition.subs(D, dim) == sympy.false:
        return largest_dim, f"{reason} In d = {dim} its mass is infinite.", True
    tail = _explain_negative_tail(analysis, dim)
    if tail is None:
        return proof
    return largest_dim, f"{reason} In d = {dim} it is not: {tail}", True


def _find_larger_value(kernel: Kernel, at_zero: sympy.Expr | None) -> str | None:
    """Describe a z with |k(z)| > k(0), which refutes definiteness; None if none is found."""
    if not kernel.pieces or at_zero is None:
        return None
    fractions = np.arange(1, _STEPS) / _STEPS
    z = np.concatenate([fractions, fractions**8]) * min(kernel.support, _LARGEST_DISTANCE)
    k_zero = float(at_zero)
    try:
        excess = np.nan_to_num(np.abs(kernel(z)) - k_zero, nan=-1.0, posinf=np.inf)
    except (AccuracyError, FormulaError):
        return None
    i = int(np.argmax(excess))
    if not excess[i] > _ROUNDING * (1.0 + abs(k_zero)):
        return None
    return f"|k({z[i]:.6g})| exceeds k(0) = {k_zero:.6g} by {excess[i]:.3g}."


def _explain_negative_tail(analysis: LocalAnalysis, dim: int) -> str | None:
    """Explain why the spectrum is negative at some large w; None if this is not known.

    A term |z - R|^s, R > 0, adds a wave of decay w^(-s - 1 - (d-1)/2), and a term c z^s at 0 a tail
    of decay w^(-s - d) with the sign of c / gamma(-s/2).
    """
    at_radii = [s for _, point in analysis.radii for s in point.singularities]
    at_zero = analysis.origin.singularities
    if (
        any(p.gaps for p in analysis.points)
        or any(s.degree > 1 for s in analysis.infinity.singularities)  # chirps act at all large w
        or any(s.log_power != 0 or not s.coefficient.is_number for s in (*at_radii, *at_zero))
    ):
        return None
    if at_radii:
        strongest = min(at_radii, key=lambda s: s.exponent)
        equivalent = strongest.exponent - sympy.Rational(dim - 1, 2)  # exponent at 0 of equal decay
        exponent = at_zero[0].exponent if at_zero else analysis.origin.regular_below
        order = compare((equivalent, _ZERO), (exponent, _ZERO))
        if order < 0:
            return f"At large w its spectrum oscillates in sign, because of {strongest}."
        if order == 0:
            return None
    if not at_zero:
        return None
    term = at_zero[0]
    if sign(term.coefficient) * sign(1 / sympy.gamma(-term.exponent / 2)) < 0:
        return f"At large w its spectrum is negative, because of {term}."
    return None


def _decide_by_masses(verdict: Any) -> Definiteness:
    """Decide by a negative mass that is above its error, or 0 by formula; else leave it open."""
    text = _find_negative_coefficient(verdict)
    if text is not None:
        return Definiteness(False, text, 0)
    try:
        negative = verdict.measure.negative_mass
    except (NoRouteError, UndecidedError, AccuracyError) as error:
        return Definiteness(None, f"No rule decides it, and its masses are not known: {error}")
    if negative.mid > negative.rad:
        text = f"Its spectrum has the negative mass {negative.mid:.6g} in d = {verdict.dim}."
        return Definiteness(False, text, 0 if verdict.dim == 1 else None)
    if negative.mid == negative.rad == 0.0 and verdict.measure.density.route == "lookup":
        text = "Its spectrum is a sum of nonnegative functions in closed form"
        return Definiteness(True, f"{text} in d = {verdict.dim}.")
    if (reason := _prove_by_mean(verdict)) is not None:
        return Definiteness(True, reason)
    return Definiteness(None, "No negative part of its spectrum was found, which is no proof.")


def _prove_by_mean(verdict: Any) -> str | None:
    """Prove k = g - c, c > 0, if g is proved positive definite and its mean is at least c."""
    first, *others = verdict.kernel.pieces
    constant, rest = first.expr.as_independent(Z, as_Add=True)
    if others or first.support is not sympy.oo or not constant.is_negative:
        return None
    positive = Kernel((Piece(sympy.oo, rest),))
    proof = _prove_in_time(positive, analyse(positive))
    mean = next((a for a in verdict.measure.atoms if a.radius == 0.0), None)
    if proof is None or proof[0] < verdict.dim or mean is None or mean.mass < mean.error:
        return None
    return f"{rest}: {proof[1]} Its mean exceeds {-constant} by {mean.mass:.6g}."


def _find_negative_coefficient(verdict: Any) -> str | None:
    """Describe a negative Fourier coefficient of a periodic kernel; None if none is found."""
    analysis, kernel = verdict.analysis, verdict.kernel
    if analysis.exprs or len(kernel.pieces) != 1 or not is_periodic(kernel.pieces[0].expr):
        return None
    rate = float(analysis.infinity.singularities[0].frequency)
    n, period = np.arange(_COEFFICIENTS), 2.0 * np.pi / rate
    kinks = [r for r in (float(r) for r, _ in analysis.radii) if r < period]
    found, error = quad_vec(
        lambda z: kernel(z) * np.cos(n * rate * z) / period, 0.0, period, points=kinks, norm="max"
    )
    if found.min() >= -NOISE * error:
        return None
    return f"Its Fourier coefficient {np.argmin(found)} is {found.min():.3g}."
