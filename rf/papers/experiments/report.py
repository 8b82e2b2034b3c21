"""The files of a re-run: tidy numbers (CSV), a page with the table, and a picture."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from rf.papers.experiments.experiment import Cell, Experiment
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.tally import tally

__all__ = ["quick_look", "table_lines", "write_results"]

# Roles of reStructuredText in docstrings, which Markdown pages do not have.
_ROLE = re.compile(r":\w+:`")
_HEADER = ("group", "method", "column", "runs", "mean", "deviation", "published")
# Numbers from here on are printed without digits after the point.
_INTEGER_FROM = 1000.0


def quick_look(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of the first column of the first group: every method once, at the least cost."""
    first = [cell for cell in cells if cell.group == cells[0].group]
    return [cell for cell in first if cell.column == first[0].column]


def write_results(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, out: Path
) -> list[Path]:
    """Write NAME.csv, NAME.md and, with matplotlib, NAME.png to ``out``; return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.csv", out / f"{name}.md"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        writer.writerows(_row(cell, ledger, runs) for cell in cells)
    has_picture = find_spec("matplotlib") is not None
    paths[1].write_text(_page(name, experiment, cells, ledger, runs, has_picture), encoding="utf-8")
    if has_picture:
        from rf.papers.experiments.plots import draw

        paths.append(out / f"{name}.png")
        draw(paths[-1], experiment, cells, ledger, runs)
    return paths


def _page(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, plot: bool
) -> str:
    done = [c for c in cells if c.key(runs) in ledger or c.published is not None]
    lines = table_lines(done, ledger, runs=runs, digits=experiment.digits)
    seeds = "seed 0" if runs == 1 else f"seeds 0 to {runs - 1}"
    pieces = [
        f"# {experiment.title}",
        f"{experiment.source}. {experiment.measures}; mean of {runs} run{'s' * (runs > 1)} "
        f"({seeds}). `{name}.csv` has the numbers with their standard deviations.",
        _ROLE.sub("`", experiment.notes.strip()),
        "\n".join(f"    {line}".rstrip() for line in lines),
        f"![{experiment.title}]({name}.png)" if plot else "",
        tally(experiment, cells, ledger, runs).text(),
        _describe_missing(experiment, cells, ledger, runs, name),
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _describe_missing(
    experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, name: str
) -> str:
    """Sentences that list the groups, and columns of other groups, without results."""
    computed = {c.group for c in cells if c.key(runs) in ledger}
    missing = [c for c in cells if c.compute is not None and c.key(runs) not in ledger]
    groups = dict.fromkeys(c.group for c in missing if c.group not in computed)
    reasons = [f"{g}: not run, {experiment.not_run[g]}." for g in groups if g in experiment.not_run]
    names = [g for g in groups if g not in experiment.not_run]
    names += dict.fromkeys(f"{c.column} of {c.group}" for c in missing if c.group in computed)
    if names:
        listed = "; ".join(names)
        reasons.append(f"Not in this run (`rf reproduce {name}` computes them): {listed}.")
    return "\n\n".join(reasons)


def _row(cell: Cell, ledger: Ledger, runs: int) -> tuple[object, ...]:
    mean_and_deviation: list[float] | tuple[str, str] = ("", "")
    if cell.key(runs) in ledger:
        mean_and_deviation = ledger[cell.key(runs)]
    return (cell.group, cell.method, cell.column, runs, *mean_and_deviation, cell.published)


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
        if len(group) > name_width:
            yield from ("", group)
            group = ""
        else:
            yield ""
        yield group.ljust(name_width + 2) + "".join(column.rjust(width) for column in columns)
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
