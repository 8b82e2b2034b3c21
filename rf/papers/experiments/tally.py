"""What became of the published numbers: their algorithm run again, and ours beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.tables import Cell, Experiment

__all__ = ["Tally", "tally"]

# How far apart numbers are that agree: means of ten runs of the papers differ by so much.
_A_TENTH = 0.1


@final
@dataclass(frozen=True)
class Tally:
    """Published numbers, by what became of them; each entry of a list says which and how far off.

    Of percentages right the ratio is that of what they lack of 100.

    Attributes
    ----------
    published : int
        How many there are.
    agreeing, better, worse : tuple of str
        Re-runs of the published algorithm: within a tenth, below it, above it.
    ours_level, ours_worse : tuple of str
        Ours, of at most as many columns: at or below the published number, above it.
    ours_level_again, ours_worse_again : tuple of str
        Ours beside the re-run, which has the same rows, splits and solver.
    """

    published: int
    agreeing: tuple[str, ...]
    better: tuple[str, ...]
    worse: tuple[str, ...]
    ours_level: tuple[str, ...]
    ours_worse: tuple[str, ...]
    ours_level_again: tuple[str, ...]
    ours_worse_again: tuple[str, ...]

    def row(self) -> str:
        """The counts as cells of a table.

        Examples
        --------
        >>> Tally(5, ("a",), (), ("b",), ("a", "b", "c"), ("d",), ("a",), ("b",)).row()
        '5 | 1, 0, 1 | 3 of 4 | 1 of 2'
        """
        again = ", ".join(str(len(some)) for some in (self.agreeing, self.better, self.worse))
        beside = _share(self.ours_level, self.ours_worse)
        beside_again = _share(self.ours_level_again, self.ours_worse_again)
        return f"{self.published} | {again} | {beside} | {beside_again}"

    def text(self) -> str:
        """The counts in sentences, and what is not level, one to a line."""
        if not self.published:
            return "No published number stands beside a re-run one."
        again = len(self.agreeing) + len(self.better) + len(self.worse)
        set_beside = len(self.ours_level) + len(self.ours_worse)
        pieces = [
            f"Of {self.published} published numbers {again} were re-run with the published "
            f"algorithm: {len(self.agreeing)} agree within a tenth, {len(self.better)} are better "
            f"and {len(self.worse)} worse. Beside {set_beside} stands ours, of at most as many "
            f"columns: at or below the published number in {len(self.ours_level)}. Beside the "
            "re-run, which has the same rows and the same solver, it is at or below in "
            f"{_share(self.ours_level_again, self.ours_worse_again)}."
        ]
        apart = (*self.better, *self.worse)
        spread = any(line.endswith(")") for line in apart)
        how = "; in parentheses, in standard errors of the difference, if all runs spread as ours"
        for title, lines in (
            (f"Further than a tenth from the published number{how if spread else ''}", apart),
            ("Ours above the published number", self.ours_worse),
            ("Ours above the re-run", self.ours_worse_again),
        ):
            if lines:
                pieces.append(f"{title}:\n\n" + "\n".join(f"* {line}" for line in lines))
        return "\n\n".join(pieces)


def tally(experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int) -> Tally:
    """Count what became of the published numbers among some cells.

    Examples
    --------
    >>> ledger = Ledger(None)
    >>> ledger.add(["letter", "GORF", "s=1", 3], [0.5, 0.1])
    >>> ledger.add(["letter", "ours", "s=1", 3], [0.2, 0.1])
    >>> cells = [
    ...     Cell("letter", "GORF", "s=1", lambda runs: (0.5, 0.1), 0.25, "ours"),
    ...     Cell("letter", "ours", "s=1", lambda runs: (0.2, 0.1)),
    ... ]
    >>> counted = tally(Experiment("t", "s", "m", lambda _: cells), cells, ledger, 3)
    >>> counted.worse, len(counted.ours_level)
    (('letter, GORF, s=1: 2.00 times the published (3.1)',), 1)
    """
    told = [cell for cell in cells if cell.published is not None]
    again: dict[str, list[str]] = {"agreeing": [], "better": [], "worse": []}
    ours: dict[bool, list[str]] = {True: [], False: []}
    beside_again: dict[bool, list[str]] = {True: [], False: []}
    for cell in told:
        rerun = _ratio(experiment, cell, cell.method, ledger, runs)
        if rerun is not None:
            near = "agreeing" if abs(rerun - 1.0) <= _A_TENTH else None
            again[near or ("better" if rerun < 1.0 else "worse")].append(
                _line(experiment, cell, cell.method, rerun) + _chance(cell, ledger, runs)
            )
        ratio = _ratio(experiment, cell, cell.beside, ledger, runs)
        if ratio is None:
            continue
        which = f"{cell.beside} for {cell.method}"
        ours[ratio <= 1.0].append(_line(experiment, cell, which, ratio))
        if rerun is not None:
            beside_again[ratio <= rerun].append(
                _line(experiment, cell, which, ratio / rerun, "re-run")
            )
    return Tally(
        len(told),
        *(tuple(again[which]) for which in ("agreeing", "better", "worse")),
        *(tuple(some[level]) for some in (ours, beside_again) for level in (True, False)),
    )


def _share(level: Sequence[str], worse: Sequence[str]) -> str:
    return f"{len(level)} of {len(level) + len(worse)}" if level or worse else "none"


def _line(
    experiment: Experiment, cell: Cell, which: str, ratio: float, of: str = "published"
) -> str:
    what = f"errors of the {of}" if experiment.percent_right else of
    return f"{cell.group}, {which}, {cell.column}: {ratio:.2f} times the {what}"


def _chance(cell: Cell, ledger: Ledger, runs: int) -> str:
    """How many standard errors a re-run is off, as if the published runs spread as ours do."""
    found, deviation = ledger[cell.key(runs)]
    if cell.published is None or not deviation:
        return ""
    return f" ({abs(found - cell.published) / (deviation * math.sqrt(2.0 / runs)):.1f})"


def _ratio(
    experiment: Experiment, cell: Cell, method: str, ledger: Ledger, runs: int
) -> float | None:
    """The number of a row over the published one of a cell; None where it was not run."""
    key: list[str | int] = [cell.group, method, cell.column, runs]
    if key not in ledger or cell.published is None:
        return None
    if experiment.percent_right:
        return (100.0 - ledger[key][0]) / (100.0 - cell.published)
    return ledger[key][0] / cell.published
