"""What the page shows of a kernel of groups of columns: each group, and what they make together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import cast, final

import numpy as np

from rf.explore.answers.radial import YES, RadialAnswers, definite_line
from rf.explore.columns import distances, errors_of_groups
from rf.explore.estimates import columns_panel, table_panel
from rf.explore.panel import Grid, Panel, Refusal, answered
from spectra.base.arrays import FloatArray
from spectra.base.numbers import bound_text
from spectra.derivation import derive
from spectra.errors import SpectraError
from spectra.kernels import Factor, GroupedKernel, Kernel
from spectra.table import GroupedTable, L1Table
from spectra.verdict import existence
from spectra.verdict.composed import GroupedVerdict

__all__ = ["GroupedAnswers", "masses_of"]


# Groups that a heading names: sums over all columns have as many as there are columns.
_GROUPS = 6


@final
class GroupedAnswers:
    """The panels of a kernel of groups of columns; a kernel of several groups is shown once.

    Parameters
    ----------
    kernel : GroupedKernel
    dim : int
        The number of columns.
    reach_of : callable
        The largest distance that is shown of a radial kernel.

    Examples
    --------
    >>> from spectra import radial
    >>> kernel = radial("exp(-z**2/2)").on([0, 1]) * radial("exp(-z)").on([2])
    >>> answers = GroupedAnswers(kernel, 3, lambda radial: 4.0)
    >>> [title for title, _ in answers.density().pieces]
    ['exp(-z**2/2) of the columns [0, 1]', 'exp(-z) of the columns [2]']
    """

    def __init__(
        self, kernel: GroupedKernel, dim: int, reach_of: Callable[[Kernel], float]
    ) -> None:
        self._kernel, self._dim, self._reach_of = kernel, kernel.checked(dim), reach_of

    @cached_property
    def _verdict(self) -> GroupedVerdict:
        return existence(self._kernel, dim=self._dim)

    @cached_property
    def _table(self) -> GroupedTable:
        return derive(self._kernel, self._dim)

    @cached_property
    def _laws(self) -> dict[str, RadialAnswers]:
        """The radial kernels, each once for groups of one size, by their headings."""
        groups: dict[tuple[Kernel, int], list[Factor]] = {}
        for factor in self._kernel.factors:
            groups.setdefault((cast("Kernel", factor.kernel), len(factor.columns)), []).append(
                factor
            )
        return {
            f"{kernel} of {_columns_of(factors)}": (
                RadialAnswers(kernel, size, self._reach_of(kernel), f"-{number}")
            )
            for number, ((kernel, size), factors) in enumerate(groups.items())
        }

    def _pieces(self, asked: Callable[[RadialAnswers], Panel]) -> tuple[tuple[str, Panel], ...]:
        return tuple(
            (title, answered(lambda law=law: asked(law)))  # type: ignore[misc]
            for title, law in self._laws.items()
        )

    @cached_property
    def _step(self) -> FloatArray:
        """What every column moves by at once: its length, the first where it has several."""
        step = np.zeros(self._dim)
        for factor in reversed(self._kernel.factors):
            step[list(factor.columns)] = factor.lengths
        return step

    @cached_property
    def _reach(self) -> float:
        """The largest multiple of the step that is shown: there no group is nearer than its own."""
        reaches = [
            self._reach_of(cast("Kernel", factor.kernel))
            / float(np.linalg.norm(self._step[list(factor.columns)] / factor.lengths))
            for factor in self._kernel.factors
        ]
        return max(reaches, default=1.0)

    def kernel(self) -> Panel:
        """The value at 0, and the kernel of each group."""
        return Panel(
            facts=(
                ("k(0)", f"{self._kernel.at_zero:.6g}"),
                ("is", str(self._kernel)),
                ("columns without a say", _unseen(self._kernel, self._dim)),
            ),
            pieces=self._pieces(RadialAnswers.kernel),
        )

    def verdict(self) -> Panel:
        """The answer, that of each group, and how the one follows from the others."""
        verdict = self._verdict
        rows = tuple(
            (
                str(list(factor.columns)),
                str(factor.kernel),
                str(len(factor.columns)),
                of_group.status.value,
                YES[of_group.positive_definite.answer],
            )
            for factor, of_group in verdict.by_group
        )
        head = ("columns", "kernel", "d", "mass", "positive definite")
        return Panel(
            lines=(str(verdict).split("\n")[0], verdict.reasons[0], definite_line(verdict)),
            tables=(Grid("The verdict by group", head, rows, is_open=True),),
            pieces=self._pieces(RadialAnswers.verdict),
        )

    def density(self) -> Panel:
        """The masses of the products, and the density of each group."""
        found = Panel(
            lines=("A frequency of a product is the sum of independent ones of its groups.",),
            pieces=self._pieces(RadialAnswers.density),
        )
        try:
            table = self._table
        except SpectraError as error:
            return replace(found, refusal=Refusal.of(error))
        return replace(found, facts=masses_of(table))

    def table(self) -> Panel:
        """The table, and how far the mean of its features is from the kernel."""
        table, kernel, step = self._table, self._kernel, self._step
        return table_panel(
            table,
            lambda t: table.expected_kernel(np.multiply.outer(t, step)),
            lambda t: kernel(np.multiply.outer(t, step)),
            self._reach,
            name="table",
            where="all columns at once, in lengths",
        )

    def columns(self) -> Panel:
        """The error of every coupling within the groups."""
        differences = np.multiply.outer(distances(self._reach), self._step)
        return columns_panel(
            errors_of_groups(self._table, self._kernel, differences),
            "rows that differ in all columns at once, evenly up to "
            f"{self._reach:.3g} times the length of each",
        )


def masses_of(table: GroupedTable | L1Table) -> tuple[tuple[str, str], ...]:
    """Sums of the masses of the parts of each sign and of all, with bounds of their errors."""
    bound = "" if table.is_jordan else "at most, as parts overlap: "
    facts = []
    for name, signs in (("M₊", (1.0,)), ("M₋", (-1.0,)), ("both together", (1.0, -1.0))):
        chosen = [p for p in table.parts if p.sign in signs]
        mass, error = (sum(getattr(p, of) for p in chosen) for of in ("mass", "mass_error"))
        facts.append((name, f"{bound}{mass:.12g} ± {bound_text(error)}"))
    return tuple(facts)


def _columns_of(factors: list[Factor]) -> str:
    groups = list(dict.fromkeys(str(list(factor.columns)) for factor in factors))
    more = f" and {len(groups) - _GROUPS} groups more" if len(groups) > _GROUPS else ""
    return f"the columns {', '.join(groups[:_GROUPS])}{more}"


def _unseen(kernel: GroupedKernel, dim: int) -> str:
    rest = sorted(set(range(dim)) - set(kernel.columns))
    return ", ".join(map(str, rest)) or "none"
