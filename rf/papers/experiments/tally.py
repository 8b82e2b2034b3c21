"""Compare published numbers with their re-runs, and our method with both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["Tally", "tally"]

# Numbers agree up to this relative difference, which is typical for means of ten runs.
_TOLERANCE = 0.1
_Lines = tuple[str, ...]


@final
@dataclass(frozen=True)
class Tally:
    """Comparisons of published numbers, re-runs and ours; one line of text per comparison.

    For percentages of correct rows, the percentages of wrong rows are compared.

    Attributes
    ----------
    published : int
        Number of published numbers.
    agreeing, better, worse : tuple of str
        Re-runs of the published algorithm: within a tenth of the published number, below, above.
    ours_below, ours_above : tuple of str
        Ours, with at most as many columns: at most the published number, above it.
    ours_below_rerun, ours_above_rerun : tuple of str
        The same for the re-run in place of the published number.
    """

    published: int
    agreeing: _Lines
    better: _Lines
    worse: _Lines
    ours_below: _Lines
    ours_above: _Lines
    ours_below_rerun: _Lines
    ours_above_rerun: _Lines

    def row(self) -> str:
        """The counts as cells of a table.

        Examples
        --------
        >>> Tally(5, ("a",), (), ("b",), ("a", "b", "c"), ("d",), ("a",), ("b",)).row()
        '5 | 1, 0, 1 | 3 of 4 | 1 of 2'
        """
        reruns = ", ".join(str(len(lines)) for lines in (self.agreeing, self.better, self.worse))
        ours = _share(self.ours_below, self.ours_above)
        return f"{self.published} | {reruns} | {ours} | {self._ours_and_rerun}"

    @property
    def _ours_and_rerun(self) -> str:
        return _share(self.ours_below_rerun, self.ours_above_rerun)

    def text(self) -> str:
        """The counts in sentences, and a list of the numbers that differ."""
        if not self.published:
            return "The paper gives no numbers for this table."
        differing = (*self.better, *self.worse)
        unit = " (in parentheses: in standard errors, from the spread of the re-run)"
        unit *= any(line.endswith(")") for line in differing)
        lists = {
            f"Further than a tenth from the published number{unit}": differing,
            "Ours above the published number": self.ours_above,
            "Ours above the re-run": self.ours_above_rerun,
        }
        counts = (
            f"Of {self.published} published numbers, {len(self.agreeing) + len(differing)} were "
            f"re-run with the published algorithm: {len(self.agreeing)} agree within a tenth, "
            f"{len(self.better)} are better and {len(self.worse)} worse. "
            f"With at most as many columns, ours is at or below the published number in "
            f"{_share(self.ours_below, self.ours_above)}, and at or below the re-run, which has "
            f"the same rows and the same solver, in {self._ours_and_rerun}."
        )
        items = (f"{t}:\n\n" + "\n".join(f"* {x}" for x in xs) for t, xs in lists.items() if xs)
        return "\n\n".join((counts, *items))


def tally(experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int) -> Tally:
    """Compare the published numbers among some cells with their re-runs and with ours.

    Examples
    --------
    >>> ledger = Ledger(None)
    >>> ledger.add(["letter", "GORF", "s=1", 3], [0.5, 0.1])
    >>> ledger.add(["letter", "ours", "s=1", 3], [0.2, 0.1])
    >>> cells = [
    ...     Cell("letter", "GORF", "s=1", lambda runs: (0.5, 0.1), 0.25, "ours"),
    ...     Cell("letter", "ours", "s=1", lambda runs: (0.2, 0.1)),
    ... ]
    >>> counted = tally(Experiment("t", "s", "m", lambda: cells), cells, ledger, 3)
    >>> counted.worse, len(counted.ours_below)
    (('letter, GORF, s=1: 2.00 times the published (3.1)',), 1)
    """
    compared = [cell for cell in cells if cell.published is not None]
    # The lines of agreeing, ..., ours_above_rerun, in the order of the attributes.
    lists: list[list[str]] = [[] for _ in range(7)]

    def line(cell: Cell, method: str, ratio: float, reference: str) -> str:
        number = f"errors of the {reference}" if experiment.percent_right else reference
        return f"{cell.group}, {method}, {cell.column}: {ratio:.2f} times the {number}"

    for cell in compared:
        rerun = _ratio(experiment, cell, cell.method, ledger, runs)
        ours = _ratio(experiment, cell, cell.our_method, ledger, runs)
        ours_for = f"{cell.our_method} for {cell.method}"
        if rerun is not None:
            text = line(cell, cell.method, rerun, "published") + _standard_errors(
                cell, ledger, runs
            )
            lists[0 if abs(rerun - 1.0) <= _TOLERANCE else 1 if rerun < 1.0 else 2].append(text)
        if ours is not None:
            lists[3 if ours <= 1.0 else 4].append(line(cell, ours_for, ours, "published"))
        if ours is not None and rerun is not None:
            lists[5 if ours <= rerun else 6].append(line(cell, ours_for, ours / rerun, "re-run"))
    return Tally(len(compared), *map(tuple, lists))


def _share(below: _Lines, above: _Lines) -> str:
    return f"{len(below)} of {len(below) + len(above)}" if below or above else "none"


def _standard_errors(cell: Cell, ledger: Ledger, runs: int) -> str:
    """Difference in standard errors, if the published runs have the deviation of the re-run."""
    mean, deviation = ledger[cell.key(runs)]
    if cell.published is None or not deviation:
        return ""
    return f" ({abs(mean - cell.published) / (deviation * math.sqrt(2.0 / runs)):.1f})"


def _ratio(
    experiment: Experiment, cell: Cell, method: str, ledger: Ledger, runs: int
) -> float | None:
    """Number of a method over the published one (errors for percentages); None if not run."""
    key: list[str | int] = [cell.group, method, cell.column, runs]
    if key not in ledger or cell.published is None:
        return None
    if experiment.percent_right:
        return (100.0 - ledger[key][0]) / (100.0 - cell.published)
    return ledger[key][0] / cell.published
