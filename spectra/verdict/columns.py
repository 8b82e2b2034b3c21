r"""Kernels of groups of columns and of the l1 distance: finite mass and positive definiteness.

A sum of products of kernels of groups has finite mass if every factor has, in the dimension of its
group, since sums and convolutions of finite measures are finite.  It has infinite mass if a factor
k(D_g) has, its term uses no column twice, and all factors of the other terms in its columns have
finite mass: fix the other columns at a difference where the rest of the term is not 0.  The kernel
is then c k(D_g) plus terms of finite mass, and fixing columns would keep a finite mass finite.

For the l1 distance, sums of truncated distances :math:`(\tau - z)_+` and exponentials have finite
mass for every number of columns (proof in docs/l1.md).  With a truncated distance they are not
positive definite in d >= 2: at :math:`w_1 = w_2 = w`, the density of
:math:`\sum_i c_i (\tau_i - z)_+` in two columns tends to
:math:`-\sum_i c_i \tau_i \cos(\tau_i w) / (2 \pi^2 w^2)`, which changes sign, and that of
exponentials falls like :math:`w^{-4}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from spectra.kernels.grouped import Factor, GroupedKernel, Term
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.verdict.status import Definiteness, Status

__all__ = ["decide_groups", "decide_l1", "definiteness_of_groups", "definiteness_of_l1"]

#: Verdicts on the kernels of groups of columns.
ByGroup = tuple[tuple[Factor, Any], ...]
#: Status, reasons, and the verdicts on radial kernels that they follow from.
Answer = tuple[Status, tuple[str, ...], ByGroup]
VerdictOf = Callable[[Kernel, int], Any]

# Rounding error of a sum of products of values at 0, relative to their sizes.
_ROUNDING = 2.0**-40


# --- groups of columns ------------------------------------------------------------------------


def decide_groups(kernel: GroupedKernel, dim: int | None, verdict_of: VerdictOf) -> Answer:
    """Decide from the verdict on each group; ``verdict_of(kernel, dim)`` computes one."""
    if dim is not None:
        kernel.check_dim(dim)
    problems = {(f.kernel, len(f.columns)) for f in kernel.factors}
    known = {key: verdict_of(*key) for key in problems}
    by_group = tuple((f, known[f.kernel, len(f.columns)]) for f in kernel.factors)
    status, why = _combine_groups(kernel, dict(by_group))
    reasons = tuple(
        f"columns {list(f.columns)}, d = {len(f.columns)}: {v.kernel}, {v.status.value}. "
        + (v.reasons[0] if v.reasons else "")
        for f, v in by_group
    )
    return status, (why, *reasons), by_group


def _combine_groups(kernel: GroupedKernel, known: dict[Factor, Any]) -> tuple[Status, str]:
    def finite(factors: Iterable[Factor]) -> bool:
        return all(known[f].status is Status.FINITE for f in factors)

    if finite(known):
        return Status.FINITE, (
            "The measure of every group is finite, and so are their convolutions and sums."
        )
    for term in kernel.terms:
        for factor in term[1]:
            columns = set(factor.columns)
            others = [t[1] for t in kernel.terms if t is not term and columns & _columns(t)]
            alone = _is_disjoint(term) and finite(f for factors in others for f in factors)
            if known[factor].status is Status.INFINITE and alone:
                return Status.INFINITE, (
                    f"If all columns but {list(factor.columns)} are fixed, the kernel is a "
                    f"multiple of {factor.kernel}, of infinite mass in d = {len(factor.columns)}, "
                    "plus terms of finite mass."
                )
    return Status.UNDECIDED, (
        "The measure of a group is not known to be finite, and the others may cancel what is "
        "infinite in it."
    )


def definiteness_of_groups(kernel: GroupedKernel, by_group: ByGroup) -> Definiteness:
    """Whether it is positive definite: sums and products of positive definite kernels are."""
    weights = [weight for weight, _ in kernel.terms]
    answers = {factor: v.positive_definite.answer for factor, v in by_group}
    if min(weights, default=0.0) >= 0.0 and all(answers.values()):
        return Definiteness(
            True, "Sums, with weights >= 0, and products of positive definite kernels are."
        )
    at_zero = [w * prod(f.kernel.at_zero for f in factors) for w, factors in kernel.terms]
    if sum(at_zero) < -_ROUNDING * sum(map(abs, at_zero)):
        return Definiteness(False, f"k(0) = {kernel.at_zero:.6g} is below 0.")
    if len(kernel.terms) == 1 and _is_disjoint(kernel.terms[0]):
        ((weight, factors),) = kernel.terms
        positive = min(weight, *(f.kernel.at_zero for f in factors)) > 0.0
        for factor in factors:
            if answers[factor] is False and positive:
                return Definiteness(
                    False,
                    f"Where all other columns agree it is a multiple of {factor}, which is not "
                    "positive definite.",
                )
    return Definiteness(None, "Some factors or weights are negative, and may cancel or not.")


def _columns(term: Term) -> set[int]:
    return {c for factor in term[1] for c in factor.columns}


def _is_disjoint(term: Term) -> bool:
    """Whether no column is in two factors."""
    return len(_columns(term)) == sum(len(factor.columns) for factor in term[1])


# --- the l1 distance --------------------------------------------------------------------------


def decide_l1(kernel: L1Kernel, dim: int | None, verdict_of: VerdictOf) -> Answer:
    """Decide from the terms of f, or from the verdict on f as a kernel of one column."""
    if dim != 1 and kernel.terms is not None:
        why = "It is a sum of truncated distances and exponentials, of finite mass in every d."
        return Status.FINITE, (why,), ()
    line = verdict_of(kernel.profile, 1)
    by_group = ((Factor(kernel.profile, (0,), (1.0,)), line),)
    if dim == 1:
        return line.status, line.reasons, by_group
    if line.status is Status.INFINITE:
        why = "If all columns but one agree, it is f on the line, whose mass is infinite."
        return Status.INFINITE, (why, *line.reasons), by_group
    return Status.UNDECIDED, (kernel.no_route_message(),), by_group


def definiteness_of_l1(kernel: L1Kernel, dim: int | None, by_group: ByGroup) -> Definiteness:
    """Whether it is positive definite on R^dim; without ``dim``, for every dimension."""
    if by_group:
        line: Definiteness = by_group[0][1].positive_definite
        if dim == 1 or line.answer is False:
            return line
        return Definiteness(None, "No rule decides it in several columns.")
    truncated, exponentials = kernel.numeric_terms()
    if truncated:
        return Definiteness(False, "It has a kink at a positive distance and d > 1.")
    if all(c >= 0.0 for c, _ in exponentials):
        return Definiteness(True, "It is a mixture of products of exponentials exp(-t |x_i|).")
    return Definiteness(None, "Exponentials with weights of both signs: no rule decides it.")
