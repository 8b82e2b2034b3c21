r"""Composite kernels: finite mass and positive definiteness, from those of their factors.

A composite kernel is a sum of products of factors, each a profile of a distance in one group of
columns.  It has finite mass if every factor has, in the dimension of its group, since sums and
convolutions of finite measures are finite, and shifts keep masses.  It has infinite mass if one
factor k(D_g) has, where D_g is the difference in the columns of its group g, if the term of k(D_g)
uses no column twice, and if each other term that uses a column of g has only factors of finite
mass.  Proof: fix the other columns at a difference where the rest of the term is not 0.  The kernel
is then c k(D_g) plus terms of finite mass, c != 0, but fixing columns keeps a finite mass finite.

A tilt multiplies by a smooth function without zeros, so that every singularity keeps its exponent,
and only the decay at infinity matters: profiles with compact support and sums of Gaussians decay
faster than every tilt grows.  For tilts of other profiles no rule is known.

For the l1 distance, sums of truncated distances :math:`(\tau - z)_+` and exponentials have finite
mass for every number of columns; with a truncated distance they are not positive definite in
d >= 2 (proofs in docs/l1.md).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import sympy

from spectra.definiteness.l1_exponentials import decide_l1_exponentials
from spectra.kernels.composite import CompositeKernel, Factor, Term
from spectra.kernels.kernel import Kernel
from spectra.kernels.metrics import L1
from spectra.kernels.profile_terms import gaussian_components, l1_components
from spectra.singularities.results import Gap, LocalAnalysis, PointAnalysis
from spectra.verdict.status import Definiteness, Status

__all__ = ["combine_factors", "definiteness_of_composite", "with_tilt"]

#: The Verdicts on the factors, each with whether it is tilted (verdict.py imports this file).
Verdicts = dict[tuple[Factor, bool], Any]

#: A bound of the rounding error of k(0), relative to the sum of its absolute terms.
_ROUNDING = 2.0**-40
#: Relative difference of K(D) and K(-D) above which the kernel is not even.
_ASYMMETRY = 1e-6


def with_tilt(profile: Kernel, analysis: LocalAnalysis) -> LocalAnalysis:
    """The local analysis of a tilted profile: its behaviour at infinity is another one."""
    if np.isfinite(profile.support) or gaussian_components(profile) is not None:
        return replace(analysis, infinity=PointAnalysis())
    reason = "whether the kernel, which is no sum of Gaussians, decays faster than its tilt grows"
    return replace(analysis, infinity=PointAnalysis(gaps=(Gap(reason, location=sympy.oo),)))


def combine_factors(
    kernel: CompositeKernel, verdicts: Verdicts
) -> tuple[Status, sympy.Basic | None, str]:
    """Status, condition on d, and reason, from the verdicts on the factors."""

    def is_finite(term: Term) -> bool:
        return all(verdicts[f, any(term.tilt)].status is Status.FINITE for f in term.factors)

    if all(map(is_finite, kernel.terms)):
        text = "The measure of every group is finite, and so are their convolutions and sums."
        return Status.FINITE, sympy.true, text
    for term in kernel.terms:
        others = [other for other in kernel.terms if other is not term]
        for factor in term.factors:
            shared = [t for t in others if _share_columns(factor, t)]
            verdict = verdicts[factor, any(term.tilt)]
            cannot_cancel = _is_disjoint(term) and all(map(is_finite, shared))
            if verdict.status is Status.INFINITE and cannot_cancel:
                own = factor.columns
                place = "those of the factor" if own is None else str(list(own))
                text = (
                    f"If all columns but {place} are fixed, the kernel is a multiple of "
                    f"{factor.profile}, of infinite mass in d = {verdict.dim}, plus terms of "
                    "finite mass."
                )
                return Status.INFINITE, sympy.false, text
    owners = [(term, verdicts[f, any(term.tilt)]) for term in kernel.terms for f in term.factors]
    limited = [(term, v.condition) for term, v in owners if v.status is not Status.FINITE]
    # Two limited factors may cancel, and so may a factor and another one of the same columns.
    condition = limited[0][1] if len(limited) == 1 and _is_disjoint(limited[0][0]) else None
    text = "The measure of a group is not known to be finite, or the others may cancel it."
    return Status.UNDECIDED, condition, text


def definiteness_of_composite(
    kernel: CompositeKernel, dim: int | None, by_group: tuple[tuple[Factor, Any], ...]
) -> Definiteness:
    """Decide by the factors: sums and products of positive definite kernels are so."""
    factor = kernel.single_factor
    if factor is not None and factor.metric == L1 and factor.columns is None:
        return _definiteness_of_l1(kernel.profile, dim, by_group)
    if not kernel.is_symmetric:
        return _refute_evenness(kernel, dim or kernel.dim or max(kernel.columns, default=0) + 1)
    weights = [term.weight for term in kernel.terms]
    answers = {factor: verdict.positive_definite.answer for factor, verdict in by_group}
    if min(weights, default=0.0) >= 0.0 and all(answers.values()):
        text = (
            "Products and sums (weights >= 0) of positive definite kernels are positive definite."
        )
        return Definiteness(True, text)
    at_zero = [t.weight * prod(f.profile.at_zero for f in t.factors) for t in kernel.terms]
    if sum(at_zero) < -_ROUNDING * sum(map(abs, at_zero)):
        return Definiteness(False, f"k(0) = {kernel.at_zero:.6g} is below 0.")
    if len(kernel.terms) == 1 and _is_disjoint(kernel.terms[0]):
        weight, factors = kernel.terms[0].weight, kernel.terms[0].factors
        is_positive_at_zero = min(weight, *(f.profile.at_zero for f in factors)) > 0.0
        for factor in factors:
            if answers[factor] is False and is_positive_at_zero:
                text = f"Where all other columns agree it is a multiple of {factor}, which is not."
                return Definiteness(False, text)
    return Definiteness(None, "A weight is below 0, or a factor is not proved positive definite.")


def _refute_evenness(kernel: CompositeKernel, d: int) -> Definiteness:
    """Refute definiteness if K(D) != K(-D) at a tested D: positive definite kernels are even."""
    largest_shift = max((abs(v) for t in kernel.terms for v in t.offset), default=0.0)
    for length in (0.3, 1.0, 3.0, largest_shift + 0.5):
        for direction in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            forward, backward = kernel([length * direction, -length * direction])
            if abs(forward - backward) > _ASYMMETRY * (abs(forward) + abs(backward)):
                text = f"It is not even: K(D) = {forward:.6g} and K(-D) = {backward:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")


def _definiteness_of_l1(
    profile: Kernel, dim: int | None, by_group: tuple[tuple[Factor, Any], ...]
) -> Definiteness:
    """Decide for a function of the l1 distance on R^dim; without ``dim``, in every dimension."""
    if by_group:
        ((_, on_line),) = by_group
        definiteness: Definiteness = on_line.positive_definite
        if dim == 1 or definiteness.answer is False:
            return definiteness
    truncated, _ = l1_components(profile) or ((), ())
    if truncated:
        return Definiteness(False, "It has a kink at a positive distance and d > 1.")
    return Definiteness(*decide_l1_exponentials(sympy.Add(*(p.expr for p in profile.pieces)), dim))


def _share_columns(factor: Factor, term: Term) -> bool:
    if factor.columns is None or any(f.columns is None for f in term.factors):
        return bool(term.factors)
    return bool(set(factor.columns) & term.columns)


def _is_disjoint(term: Term) -> bool:
    """Whether no column is in two factors."""
    if any(f.columns is None for f in term.factors):
        return len(term.factors) == 1
    return len(term.columns) == sum(len(f.columns or ()) for f in term.factors)
