"""Is the kernel positive definite on R^d: proved, refuted, or neither?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy

from spectra.errors import AccuracyError, FormulaError, NoRouteError, UndecidedError
from spectra.formula.expansions.exact_numbers import sign
from spectra.formula.expansions.expansion import compare
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.singularities.definiteness import Proof, proved_on_space
from spectra.singularities.results import LocalAnalysis
from spectra.verdict.asymmetric import definiteness_of_asymmetric
from spectra.verdict.columns import definiteness_of_groups, definiteness_of_l1
from spectra.verdict.status import D, Definiteness, Status

__all__ = ["definiteness"]

#: Number of distances at which |k| is compared with k(0); the largest for unbounded support.
_PROBES, _REACH = 60, 1e3
#: Relative excess of |k| over k(0) that counts as rounding.
_MARGIN = 1e-12


def definiteness(verdict: Any) -> Definiteness:
    """Decide positive definiteness from the verdict's kernel in its dimension."""
    kernel, dim = verdict.kernel, verdict.dim
    if isinstance(kernel, AsymmetricKernel):
        return definiteness_of_asymmetric(kernel, dim)
    if isinstance(kernel, GroupedKernel):
        return definiteness_of_groups(kernel, verdict.by_group)
    if isinstance(kernel, L1Kernel):
        return definiteness_of_l1(kernel, dim, verdict.by_group)
    analysis: LocalAnalysis = verdict.analysis
    if verdict.condition == sympy.false:
        return Definiteness(
            False,
            "A continuous positive definite kernel has finite mass; this one has it for no d.",
            0,
        )
    proof = proved_on_space(kernel, analysis)
    if proof is not None:
        proof = _make_exact(proof, verdict.condition, analysis)
        largest, reason, exact = proof
        if exact or (dim is not None and dim <= largest):
            answer = largest == math.inf if dim is None else dim <= largest
            return Definiteness(answer, reason, largest if exact else None)
    else:
        refuted = _exceeds_its_value_at_zero(kernel, analysis.origin.limit)
        if refuted is None and (tail := _sign_of_tail(analysis, 1)) is not None:
            refuted = f"Even for d = 1 it is not. {tail}"
        if refuted is not None:
            return Definiteness(False, refuted, 0)
    if verdict.status is Status.INFINITE:
        return Definiteness(
            False,
            "A continuous positive definite kernel has the finite mass k(0), this one has not.",
        )
    if dim is None:
        bounded = verdict.condition not in (None, sympy.true)
        refuted = "It is not for every d, because its mass is not finite for every d."
        return Definiteness(False, refuted) if bounded else Definiteness(None, _NO_RULE)
    tail = _sign_of_tail(analysis, dim)
    if tail is not None:
        return Definiteness(False, tail)
    if verdict.status is Status.UNDECIDED:
        return Definiteness(None, "No rule decides it, and its mass is not known to be finite.")
    return _by_masses(verdict)


_NO_RULE = "No rule that holds in every dimension decides it."


def _make_exact(proof: Proof, condition: sympy.Basic | None, analysis: LocalAnalysis) -> Proof:
    """Mark a proof as exact if infinite mass or a negative tail excludes the next dimension."""
    largest, reason, exact = proof
    if exact or largest == math.inf:
        return largest, reason, True
    following = int(largest) + 1
    if condition is not None and condition.subs(D, following) == sympy.false:
        return largest, f"{reason} In d = {following} its mass is infinite.", True
    tail = _sign_of_tail(analysis, following)
    if tail is None:
        return proof
    return largest, f"{reason} In d = {following} it is not: {tail}", True


def _exceeds_its_value_at_zero(kernel: Kernel, limit: sympy.Expr | None) -> str | None:
    """A point where |k(z)| > k(0), which positive definiteness excludes."""
    if not kernel.pieces or limit is None:
        return None
    fractions = np.arange(1, _PROBES) / _PROBES
    z = np.concatenate([fractions, fractions**8]) * min(kernel.support, _REACH)
    k_zero = float(limit)
    try:
        excess = np.nan_to_num(np.abs(kernel(z)) - k_zero, nan=-1.0, posinf=np.inf)
    except (AccuracyError, FormulaError):
        return None
    i = int(np.argmax(excess))
    if not excess[i] > _MARGIN * (1.0 + abs(k_zero)):
        return None
    return f"|k({z[i]:.6g})| exceeds k(0) = {k_zero:.6g} by {excess[i]:.3g}."


def _sign_of_tail(analysis: LocalAnalysis, dim: int) -> str | None:
    """Why the spectrum is negative at some large w, in words; None if this is not known."""
    kinks = [s for _, e in analysis.radii for s in e.singularities]
    origin = analysis.origin.singularities
    if (
        any(p.gaps for p in analysis.points)
        or any(s.degree > 1 for s in analysis.infinity.singularities)  # chirps reach every w
        or any(s.log_power != 0 or not s.coefficient.is_number for s in (*kinks, *origin))
    ):
        return None
    if kinks:
        edge = min(kinks, key=lambda s: s.exponent)
        lead = edge.exponent - sympy.Rational(dim - 1, 2)
        order = compare(
            (lead, _ZERO), (origin[0].exponent if origin else analysis.origin.regular_below, _ZERO)
        )
        if order < 0:
            return f"At large w its spectrum oscillates in sign, because of {edge}."
        if order == 0:
            return None
    if origin and sign(origin[0].coefficient) * sign(1 / sympy.gamma(-origin[0].exponent / 2)) < 0:
        return f"At large w its spectrum is negative, because of {origin[0]}."
    return None


_ZERO = sympy.Integer(0)


def _by_masses(verdict: Any) -> Definiteness:
    """Refuted by a negative mass above its error; without one, nothing is proved."""
    try:
        negative = verdict.measure.negative_mass
    except (NoRouteError, UndecidedError, AccuracyError) as error:
        return Definiteness(None, f"No rule decides it, and its masses are not known: {error}")
    if negative.mid > negative.rad:
        text = f"Its spectrum has the negative mass {negative.mid:.6g} in d = {verdict.dim}."
        return Definiteness(False, text, 0 if verdict.dim == 1 else None)
    return Definiteness(None, "No negative part of its spectrum was found, which is no proof.")
