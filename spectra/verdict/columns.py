r"""Kernels of groups of columns and of the l1 distance: finite mass and positive definiteness.

A kernel of groups is a sum of products of factors, each a kernel of one group of columns.  It has
finite mass if every factor has, in the dimension of its group, since sums and convolutions of
finite measures are finite.  It has infinite mass if one factor k(D_g) has, where D_g is the
difference in the columns of its group g, if the term of k(D_g) uses no column twice, and if each
other term that uses a column of g has only factors of finite mass.  Proof: fix the other columns at
a difference where the rest of the term is not 0.  The kernel is then c k(D_g) plus terms of finite
mass, c != 0, but fixing columns keeps a finite mass finite.

For the l1 distance, sums of truncated distances :math:`(\tau - z)_+` and exponentials have finite
mass for every number of columns (proof in docs/l1.md).  With a truncated distance they are not
positive definite in d >= 2: at :math:`w_1 = w_2 = w`, the density of
:math:`\sum_i c_i (\tau_i - z)_+` in two columns is, for large w, close to
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

#: Pairs of a factor and the Verdict on it (not imported: verdict.py imports this file).
ByGroup = tuple[tuple[Factor, Any], ...]
#: Status, reasons, and the verdicts on radial kernels from which they follow.
Answer = tuple[Status, tuple[str, ...], ByGroup]
#: The function ``existence`` of a kernel and a dimension, which returns a Verdict.
Existence = Callable[[Kernel, int], Any]

#: A bound of the rounding error of k(0), relative to the sum of its absolute terms.
_ROUNDING = 2.0**-40


def decide_groups(kernel: GroupedKernel, dim: int | None, existence: Existence) -> Answer:
    """Decide from the verdict on each factor in the dimension of its group."""
    if dim is not None:
        kernel.check_dim(dim)
    problems = {(f.kernel, len(f.columns)) for f in kernel.factors}
    verdicts = {problem: existence(*problem) for problem in problems}
    by_group = tuple((f, verdicts[f.kernel, len(f.columns)]) for f in kernel.factors)
    status, reason = _combine_groups(kernel, dict(by_group))
    reasons = tuple(
        f"columns {list(f.columns)}, d = {len(f.columns)}: {v.kernel}, {v.status.value}. "
        + (v.reasons[0] if v.reasons else "")
        for f, v in by_group
    )
    return status, (reason, *reasons), by_group


def _combine_groups(kernel: GroupedKernel, verdicts: dict[Factor, Any]) -> tuple[Status, str]:
    def are_finite(factors: Iterable[Factor]) -> bool:
        return all(verdicts[f].status is Status.FINITE for f in factors)

    if are_finite(verdicts):
        reason = "The measure of every group is finite, and so are their convolutions and sums."
        return Status.FINITE, reason
    for term in kernel.terms:
        _, factors = term
        others = [other for other in kernel.terms if other is not term]
        for factor in factors:
            shared = [t for t in others if set(factor.columns) & _columns(t)]
            cannot_cancel = _is_disjoint(term) and all(are_finite(fs) for _, fs in shared)
            if verdicts[factor].status is Status.INFINITE and cannot_cancel:
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
    """Decide by the factors: sums and products of positive definite kernels are so."""
    weights = [weight for weight, _ in kernel.terms]
    answers = {factor: verdict.positive_definite.answer for factor, verdict in by_group}
    if min(weights, default=0.0) >= 0.0 and all(answers.values()):
        return Definiteness(
            True,
            "Products and sums (weights >= 0) of positive definite kernels are positive definite.",
        )
    at_zero = [w * prod(f.kernel.at_zero for f in factors) for w, factors in kernel.terms]
    if sum(at_zero) < -_ROUNDING * sum(map(abs, at_zero)):
        return Definiteness(False, f"k(0) = {kernel.at_zero:.6g} is below 0.")
    if len(kernel.terms) == 1 and _is_disjoint(kernel.terms[0]):
        weight, factors = kernel.terms[0]
        is_positive_at_zero = min(weight, *(f.kernel.at_zero for f in factors)) > 0.0
        for factor in factors:
            if answers[factor] is False and is_positive_at_zero:
                return Definiteness(
                    False,
                    f"Where all other columns agree it is a multiple of {factor}, which is not "
                    "positive definite.",
                )
    return Definiteness(None, "A weight is below 0, or a factor is not proved positive definite.")


def _columns(term: Term) -> set[int]:
    _, factors = term
    return {c for factor in factors for c in factor.columns}


def _is_disjoint(term: Term) -> bool:
    """Whether no column is in two factors."""
    _, factors = term
    return len(_columns(term)) == sum(len(factor.columns) for factor in factors)


def decide_l1(kernel: L1Kernel, dim: int | None, existence: Existence) -> Answer:
    """Decide on f(|x - y|_1) from the terms of f, or from the verdict on f(|x - y|) on the line."""
    if dim != 1 and kernel.terms is not None:
        reason = "It is a sum of truncated distances and exponentials, of finite mass in every d."
        return Status.FINITE, (reason,), ()
    on_line = existence(kernel.profile, 1)
    by_group = ((Factor(kernel.profile, (0,), (1.0,)), on_line),)
    if dim == 1:
        return on_line.status, on_line.reasons, by_group
    if on_line.status is Status.INFINITE:
        reason = "If all columns but one agree, it is f on the line, whose mass is infinite."
        return Status.INFINITE, (reason, *on_line.reasons), by_group
    return Status.UNDECIDED, (kernel.no_route_message(),), by_group


def definiteness_of_l1(kernel: L1Kernel, dim: int | None, by_group: ByGroup) -> Definiteness:
    """Decide positive definiteness on R^dim; without ``dim``, in every dimension."""
    if by_group:
        ((_, on_line),) = by_group
        definiteness: Definiteness = on_line.positive_definite
        if dim == 1 or definiteness.answer is False:
            return definiteness
        return Definiteness(None, "No rule decides it in several columns.")
    truncated, exponentials = kernel.numeric_terms()
    if truncated:
        return Definiteness(False, "It has a kink at a positive distance and d > 1.")
    if all(c >= 0.0 for c, _ in exponentials):
        return Definiteness(True, "It is a mixture of products of exponentials exp(-t |x_i|).")
    return Definiteness(None, "Exponentials with weights of both signs: no rule decides it.")
