"""Count which published numbers the re-run meets, and compare ours with both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["Tally", "tally"]

# Numbers agree within a tenth: means of ten runs of the papers differ by so much.
_A_TENTH = 0.1
_Lines = tuple[str, ...]


@final
@dataclass(frozen=True)
class Tally:
    """Published numbers and their re-runs; a line names a number and says how far off it is.

    For percentages of correct rows, ratios are those of the percentages of wrong rows.

    Attributes
    ----------
    published : int
        How many published numbers there are.
    agreeing, better, worse : tuple of str
        Re-runs of the published algorithm: within a tenth, below it, above it.
    ours_level, ours_worse : tuple of str
        Ours, of at most as many columns: at or below the published number, above it.
    ours_level_again, ours_worse_again : tuple of str
        Ours compared with the re-run, which has the same rows, splits and solver.
    """

    published: int
    agreeing: _Lines
    better: _Lines
    worse: _Lines
    ours_level: _Lines
    ours_worse: _Lines
    ours_level_again: _Lines
    ours_worse_again: _Lines

    def row(self) -> str:
        """The counts as cells of a table.

        Examples
        --------
        >>> Tally(5, ("a",), (), ("b",), ("a", "b", "c"), ("d",), ("a",), ("b",)).row()
        '5 | 1, 0, 1 | 3 of 4 | 1 of 2'
        """
        again = ", ".join(str(len(some)) for some in (self.agreeing, self.better, self.worse))
        ours = _share(self.ours_level, self.ours_worse)
        return f"{self.published} | {again} | {ours} | {self._again}"

    @property
    def _again(self) -> str:
        return _share(self.ours_level_again, self.ours_worse_again)

    def text(self) -> str:
        """The counts in sentences, and a list of the numbers that differ."""
        if not self.published:
            return "No published number stands beside a re-run one."
        apart = (*self.better, *self.worse)
        how = "; in parentheses, in standard errors of the difference, if all runs spread as ours"
        how *= any(line.endswith(")") for line in apart)
        lists = {
            f"Further than a tenth from the published number{how}": apart,
            "Ours above the published number": self.ours_worse,
            "Ours above the re-run": self.ours_worse_again,
        }
        counts = (
            f"Of {self.published} published numbers {len(self.agreeing) + len(apart)} were re-run "
            f"with the published algorithm: {len(self.agreeing)} agree within a tenth, "
            f"{len(self.better)} are better and {len(self.worse)} worse. Beside "
            f"{len(self.ours_level) + len(self.ours_worse)} stands ours, of at most as many "
            f"columns: at or below the published number in {len(self.ours_level)}. Beside the "
            "re-run, which has the same rows and the same solver, it is at or below in "
            f"{self._again}."
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
    >>> counted.worse, len(counted.ours_level)
    (('letter, GORF, s=1: 2.00 times the published (3.1)',), 1)
    """
    told = [cell for cell in cells if cell.published is not None]
    lists: list[list[str]] = [[] for _ in range(7)]

    def line(cell: Cell, which: str, ratio: float, of: str) -> str:
        what = f"errors of the {of}" if experiment.percent_right else of
        return f"{cell.group}, {which}, {cell.column}: {ratio:.2f} times the {what}"

    for cell in told:
        rerun = _ratio(experiment, cell, cell.method, ledger, runs)
        ours = _ratio(experiment, cell, cell.beside, ledger, runs)
        which = f"{cell.beside} for {cell.method}"
        if rerun is not None:
            text = line(cell, cell.method, rerun, "published") + _chance(cell, ledger, runs)
            lists[0 if abs(rerun - 1.0) <= _A_TENTH else 1 if rerun < 1.0 else 2].append(text)
        if ours is not None:
            lists[3 if ours <= 1.0 else 4].append(line(cell, which, ours, "published"))
        if ours is not None and rerun is not None:
            lists[5 if ours <= rerun else 6].append(line(cell, which, ours / rerun, "re-run"))
    return Tally(len(told), *map(tuple, lists))


def _share(level: _Lines, worse: _Lines) -> str:
    return f"{len(level)} of {len(level) + len(worse)}" if level or worse else "none"


def _chance(cell: Cell, ledger: Ledger, runs: int) -> str:
    """How many standard errors a re-run is off, if the published runs spread as ours do."""
    found, deviation = ledger[cell.key(runs)]
    if cell.published is None or not deviation:
        return ""
    return f" ({abs(found - cell.published) / (deviation * math.sqrt(2.0 / runs)):.1f})"


def _ratio(
    experiment: Experiment, cell: Cell, method: str, ledger: Ledger, runs: int
) -> float | None:
    """The number of a row over the published one of a cell; None if it was not run."""
    key: list[str | int] = [cell.group, method, cell.column, runs]
    if key not in ledger or cell.published is None:
        return None
    if experiment.percent_right:
        return (100.0 - ledger[key][0]) / (100.0 - cell.published)
    return ledger[key][0] / cell.published
