"""Experiments: cells to compute, and tables with the published numbers in parentheses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from rf.papers.experiments.approximation import Compute
from rf.papers.experiments.ledger import Ledger
from spectra.errors import DataError

__all__ = ["Cell", "Experiment", "run_experiment", "table_lines"]


# Numbers from here on are printed without digits after the point.
_INTEGER_FROM = 1000.0


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
        Number of runs -> mean and standard deviation; None if the number is not re-computed.
    published : float or None
        The number in the paper.
    our_method : str
        The row of our method to compare with this one; its features have at most as many columns.
    """

    group: str
    method: str
    column: str
    compute: Compute | None
    published: float | None = None
    our_method: str = ""

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
    digits : int
        Digits after the point.
    notes : str
        The text of the page, above the table.
    percent_right : bool
        Whether the numbers are percentages of correctly classified rows.
    """

    title: str
    source: str
    measures: str
    cells: Callable[[], list[Cell]]
    digits: int = 4
    notes: str = ""
    percent_right: bool = False


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
                ledger.add(key, [float(v) for v in cell.compute(runs)])
            except DataError as error:
                missing[cell.group] = error
        yield done, cell, ledger[key] if key in ledger else missing[cell.group]


def table_lines(
    cells: Sequence[Cell], ledger: Ledger, *, runs: int, digits: int = 4
) -> Iterator[str]:
    """The table as text: the re-run number, and the published one in parentheses."""
    groups = list(dict.fromkeys(cell.group for cell in cells))
    for group in groups:
        inside = [cell for cell in cells if cell.group == group]
        columns = list(dict.fromkeys(cell.column for cell in inside))
        texts = {(cell.method, cell.column): _text(cell, ledger, runs, digits) for cell in inside}
        width = max(max(map(len, texts.values())), *map(len, columns)) + 2
        name_width = max(len(cell.method) for cell in inside)
        yield ""
        yield f"{group}".ljust(name_width + 2) + "".join(column.rjust(width) for column in columns)
        for method in dict.fromkeys(cell.method for cell in inside):
            row = "".join(texts.get((method, column), "").rjust(width) for column in columns)
            yield f"  {method.ljust(name_width)}{row}"


def _text(cell: Cell, ledger: Ledger, runs: int, digits: int) -> str:
    published = "" if cell.published is None else f" ({cell.published:.{digits}f})"
    if cell.compute is None:
        return published.strip()
    if cell.key(runs) not in ledger:
        return f"-{published}"
    mean = ledger[cell.key(runs)][0]
    return f"{mean:.{digits if abs(mean) < _INTEGER_FROM else 0}f}{published}"
