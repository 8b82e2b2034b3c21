"""Compare published numbers with their re-runs, and kernel-spectra with both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment
from rf.papers.experiments.ledger import Ledger

__all__ = ["Tally", "tally"]

# Numbers agree up to this relative difference, which is typical for means of ten runs.
_TOLERANCE = 0.1


@final
@dataclass(frozen=True)
class Tally:
    """Counts of published numbers, re-runs and kernel-spectra, and the numbers that differ.

    For percentages of correct rows, the percentages of wrong rows are compared.

    Attributes
    ----------
    published, rerun, agreeing : int
        Published numbers, those that were re-run, and those whose re-run is within a tenth.
    differing : tuple of str
        A line for each other re-run, with the difference in standard errors.
    below_published, below_rerun : tuple of int
        How many numbers of kernel-spectra, with at most as many columns, are at or below the
        published number or the re-run, and how many were compared.
    """

    published: int
    rerun: int
    agreeing: int
    differing: tuple[str, ...]
    below_published: tuple[int, int]
    below_rerun: tuple[int, int]

    def row(self) -> str:
        """The counts as cells of a table.

        Examples
        --------
        >>> Tally(5, 3, 1, ("a", "b"), (3, 4), (1, 2)).row()
        '5 | 1 of 3 | 3 of 4 | 1 of 2'
        """
        pairs = ((self.agreeing, self.rerun), self.below_published, self.below_rerun)
        return " | ".join(
            [str(self.published), *(f"{m} of {n}" if n else "none" for m, n in pairs)]
        )

    def text(self) -> str:
        """The counts in sentences, and a list of the numbers that differ."""
        if not self.published:
            return "The paper gives no numbers for this table."
        counts = (
            f"Of {self.published} published numbers, {self.rerun} were re-run with the published "
            f"algorithm, and {self.agreeing} of these agree within a tenth."
        )
        if self.below_published[1]:
            counts += (
                f" With at most as many columns, {SPECTRA} is at or below the published number in "
                f"{self.below_published[0]} of {self.below_published[1]}, and at or below the "
                f"re-run, which has the same rows and solver, in {self.below_rerun[0]} of "
                f"{self.below_rerun[1]}."
            )
        if not self.differing:
            return counts
        lines = "\n".join(f"* {line}" for line in self.differing)
        return (
            f"{counts}\n\nFurther than a tenth from the published number (in parentheses: in "
            f"standard errors of the difference, from the spread of the re-run):\n\n{lines}"
        )


def tally(experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int) -> Tally:
    """Compare the published numbers among some cells with their re-runs and with kernel-spectra.

    Examples
    --------
    >>> ledger = Ledger(None)
    >>> ledger.add(["letter", "GORF", "s=1", 3], [0.5, 0.1])
    >>> ledger.add(["letter", "kernel-spectra", "s=1", 3], [0.2, 0.1])
    >>> cells = [Cell("letter", "GORF", "s=1", lambda runs: (0.5, 0.1), 0.25, "kernel-spectra")]
    >>> counted = tally(Experiment("t", "s", "m", lambda: cells), cells, ledger, 3)
    >>> counted.differing, counted.below_published
    (('letter, GORF, s=1: 2.00 times the published (3.1)',), (1, 1))
    """
    compared = [cell for cell in cells if cell.published is not None]
    reruns, differing = 0, list[str]()
    published, again = list[bool](), list[bool]()
    for cell in compared:
        rerun = _ratio(experiment, cell, cell.method, ledger, runs)
        found = _ratio(experiment, cell, cell.counterpart, ledger, runs)
        if rerun is not None:
            reruns += 1
            if abs(rerun - 1.0) > _TOLERANCE:
                what = "errors of the published" if experiment.percent_right else "published"
                where = f"{cell.group}, {cell.method}, {cell.column}"
                errors = _standard_errors(cell, ledger, runs)
                differing.append(f"{where}: {rerun:.2f} times the {what}{errors}")
        if found is not None:
            published.append(found <= 1.0)
            if rerun is not None:
                again.append(found <= rerun)
    below = (sum(published), len(published)), (sum(again), len(again))
    return Tally(len(compared), reruns, reruns - len(differing), tuple(differing), *below)


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
