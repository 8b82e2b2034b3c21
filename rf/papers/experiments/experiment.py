"""Experiments as tables of cells: what is computed, what was published, and what to compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from rf import DroppedPartWarning, UselessFeaturesWarning
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.measures import Compute
from spectra.errors import DataError

__all__ = ["SPECTRA", "Cell", "Experiment", "block", "run_experiment"]

#: The row of :class:`rf.SpectralFeatures` with its default options.
SPECTRA = "kernel-spectra"


@final
@dataclass(frozen=True, eq=False)
class Cell:
    """One number of a table.

    Attributes
    ----------
    group : str
        The block of the table, such as "delta-Gaussian, letter".
    method : str
        The row.
    column : str
        The column, such as "s=16".
    compute : callable or None
        Number of runs -> mean and standard deviation; None if the number is only quoted.
    published : float or None
        The number in the paper.
    counterpart : str
        The row of kernel-spectra to compare with this one, with at most as many columns.
    """

    group: str
    method: str
    column: str
    compute: Compute | None
    published: float | None = None
    counterpart: str = ""

    def key(self, runs: int) -> list[str | int]:
        """The key of the cell in a file of results."""
        return [self.group, self.method, self.column, runs]


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A table of numbers to compute, such as a published table or the values of a figure.

    Attributes
    ----------
    title : str
    source : str
        The paper and its table or figure.
    measures : str
        What the numbers are, and whether smaller or larger ones are better.
    cells : callable
        Returns the cells in the order in which they are printed.
    notes : str
        The text of the page, above the table: protocol and differences from the paper.
    axes : tuple of str
        Labels of the axes of the picture, with units.
    digits : int
        Digits after the point.
    percent_right : bool
        Whether the numbers are percentages of correctly classified rows.
    not_run : mapping
        Group -> the reason why its numbers are not computed.
    """

    title: str
    source: str
    measures: str
    cells: Callable[[], list[Cell]]
    notes: str = ""
    axes: tuple[str, str] = ("", "")
    digits: int = 4
    percent_right: bool = False
    not_run: Mapping[str, str] = field(default_factory=dict)


def block(
    group: str,
    methods: Iterable[str],
    columns: Mapping[str, Any],
    measure: Callable[[str, Any], Compute | None],
    published: Mapping[str, Sequence[float | None]] | None = None,
    counterpart: str | Mapping[str, str] = "",
) -> list[Cell]:
    """The cells of a group: ``measure(method, value)`` for each method and each column.

    Parameters
    ----------
    columns : mapping
        Label of a column -> its value, such as a number of frequencies.
    measure : callable
        Returns None for a cell that is not computed, which is left out unless it was published.
    published : mapping, optional
        Method -> published numbers, one for each column.
    counterpart : str or mapping
        The row to compare published methods with, for all of them or for each.
    """
    cells = []
    for method in methods:
        numbers = (published or {}).get(method, (None,) * len(columns))
        name = counterpart if isinstance(counterpart, str) else counterpart.get(method, "")
        for (label, value), number in zip(columns.items(), numbers, strict=True):
            compute = measure(method, value)
            if compute is not None or number is not None:
                cells.append(Cell(group, method, label, compute, number, name))
    return cells


def run_experiment(
    cells: Sequence[Cell], ledger: Ledger, *, runs: int
) -> Iterator[tuple[int, Cell, list[float] | DataError]]:
    """Compute the missing cells; yield the number of cells so far, the cell, and its numbers.

    If the data of a group are missing, the error is yielded in place of numbers.
    """
    to_compute = [cell for cell in cells if cell.compute is not None]
    missing: dict[str, DataError] = {}
    for done, cell in enumerate(to_compute, start=1):
        key = cell.key(runs)
        if key not in ledger and cell.group not in missing and cell.compute is not None:
            try:
                with warnings.catch_warnings():
                    # Few columns and parts of negligible mass are expected in these tables.
                    for ignored in (UselessFeaturesWarning, DroppedPartWarning):
                        warnings.simplefilter("ignore", ignored)
                    ledger.add(key, [float(v) for v in cell.compute(runs)])
            except DataError as error:
                missing[cell.group] = error
        yield done, cell, ledger[key] if key in ledger else missing[cell.group]
