r"""The verdict on a kernel of groups of columns: that of each group, in the dimension of the group.

A sum of products is finite where all factors are, since finite measures are convolved and added to
finite ones.  It is infinite where a factor is, in a term none of whose columns are shared, and the
other terms that see the columns of this factor are finite: hold all other columns at a difference
where the rest of the term is not 0.  A finite measure stays finite under this restriction, which
leaves c k(D_g) plus what is finite, and k is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, cast, final

from spectra.kernels.column_products import Factor, Product
from spectra.kernels.grouped import GroupedKernel
from spectra.verdict.composed.compositions import ComposedVerdict
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from spectra.kernels.kernel import Kernel
    from spectra.verdict.verdict import Verdict

__all__ = ["GroupedVerdict", "verdict_by_group"]

# Of a sum of products of values at 0, in parts of their sizes.
_ROUNDING = 2.0**-40


@final
@dataclass(frozen=True, repr=False)
class GroupedVerdict(ComposedVerdict):
    """Whether the measure of a kernel of groups of columns has finite mass, and why.

    Attributes
    ----------
    kernel : GroupedKernel
    dim : int or None
        The number of columns, where it was asked for one; the answer is that of the groups.
    status : Status
    by_group : tuple of (Factor, Verdict)
        The verdict on each kernel of a group, in the dimension of its group.
    reasons : tuple of str
        The deciding one first, then that of each group.
    """

    kernel: GroupedKernel
    dim: int | None
    status: Status
    by_group: tuple[tuple[Factor, Verdict], ...]
    reasons: tuple[str, ...]

    def _verdicts_as_data(self) -> dict[str, Any]:
        groups = [
            {"columns": list(f.columns), "lengths": list(f.lengths), **v.as_dict()}
            for f, v in self.by_group
        ]
        return {"groups": groups}

    @cached_property
    def positive_definite(self) -> Definiteness:
        """Whether it is positive definite: sums and products of positive definite kernels are."""
        weights = [term.weight for term in self.kernel.terms]
        answers = {factor: v.positive_definite.answer for factor, v in self.by_group}
        if min(weights, default=0.0) >= 0.0 and all(answers.values()):
            return Definiteness(
                True, "Sums, with weights >= 0, and products of positive definite kernels are."
            )
        at_zero = [t.weight * prod(f.kernel.at_zero for f in t.factors) for t in self.kernel.terms]
        if sum(at_zero) < -_ROUNDING * sum(map(abs, at_zero)):
            return Definiteness(False, f"k(0) = {self.kernel.at_zero:.6g} is below 0.")
        if len(self.kernel.terms) == 1 and self.kernel.terms[0].is_disjoint:
            (term,) = self.kernel.terms
            for factor in term.factors:
                rest = term.weight
                for other in term.factors:
                    rest *= 1.0 if other is factor else other.kernel.at_zero
                if answers[factor] is False and rest > 0.0:
                    return Definiteness(
                        False,
                        f"Where all other columns agree it is a positive multiple of {factor}, "
                        "which is not positive definite.",
                    )
        return Definiteness(None, "Some factors or weights are negative, and may cancel or not.")


def verdict_by_group(
    kernel: GroupedKernel, dim: int | None, ask: Callable[[Kernel, int], Verdict]
) -> GroupedVerdict:
    """Decide by the verdicts that ``ask`` gives of the groups."""
    if dim is not None:
        kernel.checked(dim)
    known: dict[tuple[Kernel, int], Verdict] = {}
    by_group = []
    for factor in kernel.factors:
        key = (cast("Kernel", factor.kernel), len(factor.columns))
        if key not in known:
            known[key] = ask(*key)
        by_group.append((factor, known[key]))
    status, why = _decided(kernel, dict(by_group))
    reasons = tuple(
        f"columns {list(f.columns)}, d = {len(f.columns)}: {v.kernel}, {v.status.value}. "
        + (v.reasons[0] if v.reasons else "")
        for f, v in by_group
    )
    return GroupedVerdict(kernel, dim, status, tuple(by_group), (why, *reasons))


def _decided(kernel: GroupedKernel, known: dict[Factor, Verdict]) -> tuple[Status, str]:
    if all(verdict.status is Status.FINITE for verdict in known.values()):
        return Status.FINITE, (
            "The measure of every group is finite, and so are their convolutions and sums."
        )
    for term in kernel.terms:
        for factor in term.factors:
            if known[factor].status is Status.INFINITE and _stands_alone(
                kernel, term, factor, known
            ):
                return Status.INFINITE, (
                    f"Where all columns but {list(factor.columns)} are held, a multiple of "
                    f"{factor.kernel} is left, beside what is finite, and it has infinite mass in "
                    f"d = {len(factor.columns)}."
                )
    return Status.UNDECIDED, (
        "The measure of a group is not known to be finite, and the others may cancel what is "
        "infinite in it."
    )


def _stands_alone(
    kernel: GroupedKernel, term: Product, factor: Factor, known: dict[Factor, Verdict]
) -> bool:
    """Whether nothing that is not finite is beside a factor when the other columns are held."""
    others = [t for t in kernel.terms if t is not term and set(t.columns) & set(factor.columns)]
    finite = all(known[f].status is Status.FINITE for t in others for f in t.factors)
    return term.is_disjoint and finite
