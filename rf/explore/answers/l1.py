"""What the page shows of a kernel of the l1 distance: its profile, and what its law is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np

from rf.explore.answers.grouped import GroupedAnswers, masses_of
from rf.explore.answers.radial import RadialAnswers, definite_line
from rf.explore.columns import distances, errors_of_l1
from rf.explore.estimates import columns_panel, table_panel
from rf.explore.panel import Grid, Panel
from spectra.derivation import derive
from spectra.kernels import GroupedKernel, Kernel, L1Kernel
from spectra.table import L1Table
from spectra.verdict import existence
from spectra.verdict.composed import L1Verdict

__all__ = ["L1Answers"]


@final
class L1Answers:
    """The panels of a kernel of the l1 distance; those of the kernel that it is, where it is one.

    Parameters
    ----------
    kernel : L1Kernel
    dim : int
        The number of columns.
    reach_of : callable
        The largest distance that is shown of a radial kernel.

    Examples
    --------
    >>> from spectra import l1
    >>> answers = L1Answers(l1("Max(1 - z, 0)"), 2, lambda profile: 1.1)
    >>> answers.density().tables[0].rows
    (('1', '1', '2.4', '1.4'),)
    """

    def __init__(self, kernel: L1Kernel, dim: int, reach_of: Callable[[Kernel], float]) -> None:
        self._kernel, self._dim, self._reach_of = kernel, dim, reach_of
        self._reach = reach_of(kernel.profile)
        self._step = np.full(dim, 1.0 / dim)

    @cached_property
    def _verdict(self) -> L1Verdict:
        return existence(self._kernel, dim=self._dim)

    @cached_property
    def _standing(self) -> RadialAnswers | GroupedAnswers | None:
        """The panels of the radial kernel, or of that of groups, that it is in so many columns."""
        standing = self._kernel.standing(self._dim)
        if isinstance(standing, GroupedKernel):
            return GroupedAnswers(standing, self._dim, self._reach_of)
        return None if standing is None else RadialAnswers(standing, self._dim, self._reach)

    @cached_property
    def _table(self) -> L1Table:
        table = derive(self._kernel, self._dim)
        assert isinstance(table, L1Table)  # or it would be standing
        return table

    def kernel(self) -> Panel:
        """The profile over the l1 distance."""
        found = RadialAnswers(self._kernel.profile, 1, self._reach).kernel()
        written = {"written in": "z = |x − y|₁, the sum of the distances of all columns"}
        return replace(found, facts=tuple((k, written.get(k, v)) for k, v in found.facts))

    def verdict(self) -> Panel:
        """Answer and reasons, and the verdicts that it rests on."""
        verdict = self._verdict
        lines = (str(verdict).split("\n")[0], *verdict.reasons, definite_line(verdict))
        rows = [
            (name, str(of.kernel), str(of.dim), of.status.value)
            for name, of in (("f on the line", verdict.line),)
            if of is not None
        ]
        head = ("radial kernel", "formula", "d", "mass")
        return Panel(
            lines=lines,
            tables=(Grid("Radial kernels that the verdict asks", head, tuple(rows), is_open=True),),
        )

    def density(self) -> Panel:
        """The summands of the kernel."""
        if self._standing is not None:
            return self._standing.density()
        table = self._table
        tables: tuple[Grid, ...] = ()
        if table.hats:
            masses = [f"{p.mass:.6g}" for p in table.parts[-2 * len(table.hats) :]]
            found = zip(table.hats, masses[::2], masses[1::2], strict=True)
            rows = tuple((f"{a:.6g}", f"{r:.6g}", up, down) for (a, r), up, down in found)
            head = ("weight", "radius", "M₊ drawn", "M₋ drawn")
            tables = (Grid("Truncated distances weight · (radius − z)₊", head, rows, is_open=True),)
        return Panel(
            lines=("A frequency is one of a truncated distance or of an exponential.",),
            facts=masses_of(table),
            tables=tables,
        )

    def table(self) -> Panel:
        """The table, and how far the mean of its features is from the kernel."""
        if self._standing is not None:
            return self._standing.table()
        table, kernel, step = self._table, self._kernel, self._step
        return table_panel(
            table,
            lambda z: table.expected_kernel(np.multiply.outer(z, step)),
            kernel.profile,
            self._reach,
            name="table",
            where="l1 distance z, all columns alike",
        )

    def columns(self) -> Panel:
        """The error of independent frequencies."""
        if self._standing is not None:
            return self._standing.columns()
        differences = np.multiply.outer(distances(self._reach), self._step)
        return columns_panel(
            errors_of_l1(self._table, self._kernel, differences),
            f"l1 distances spread evenly from 0 to {self._reach:.3g}, all columns alike",
        )
