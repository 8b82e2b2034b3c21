"""What a re-run leaves behind: tidy numbers (CSV), a page with the table, and a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rf.experiments.ledger import Ledger
from rf.experiments.tables import Cell, Experiment, table_lines

__all__ = ["quick_look", "write_results"]

_HEADER = ("group", "method", "column", "runs", "mean", "deviation", "published")


def quick_look(cells: Sequence[Cell]) -> list[Cell]:
    """Of the first block of a table the first column: every method once, where it costs least."""
    first = [cell for cell in cells if cell.group == cells[0].group]
    return [cell for cell in first if cell.column == first[0].column]


def write_results(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, at: Path
) -> list[Path]:
    """Write NAME.csv, NAME.md and, with matplotlib, NAME.png into a folder; the paths written."""
    at.mkdir(parents=True, exist_ok=True)
    rows = [_row(cell, ledger, runs) for cell in cells]
    paths = [at / f"{name}.csv", at / f"{name}.md"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        writer.writerows(rows)
    lines = table_lines(cells, ledger, runs=runs, digits=experiment.digits)
    table = "\n".join(f"    {line}".rstrip() for line in lines)
    paths[1].write_text(
        f"# {experiment.title}\n\n{experiment.source}. {experiment.measures}; mean of {runs} "
        f"run(s). The numbers are in `{name}.csv`.\n\n{table}\n\n{_losses(cells, ledger, runs)}\n",
        encoding="utf-8",
    )
    if find_spec("matplotlib") is not None:
        paths.append(at / f"{name}.png")
        _draw(paths[-1], experiment, cells, ledger, runs)
    return paths


def _row(cell: Cell, ledger: Ledger, runs: int) -> tuple[object, ...]:
    found: list[float] | tuple[str, str] = ("", "")
    if cell.compute is not None:
        found = ledger[cell.key(runs)]
    published = "" if cell.published is None else cell.published
    return (cell.group, cell.method, cell.column, runs, found[0], found[1], published)


def _losses(cells: Sequence[Cell], ledger: Ledger, runs: int) -> str:
    """Which re-run numbers are further than a tenth from the published ones, one to a line."""
    apart = []
    for cell in cells:
        if cell.compute is None or cell.published is None:
            continue
        ratio = ledger[cell.key(runs)][0] / cell.published
        if not 0.9 <= ratio <= 1.1:
            apart.append(
                f"* {cell.group}, {cell.method}, {cell.column}: {ratio:.2f} times the published"
            )
    if not apart:
        return "Every re-run number is within a tenth of the published one."
    return "Further than a tenth from the published number:\n\n" + "\n".join(apart)


def _draw(
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, n: int
) -> None:
    """One panel for each group, one line for each method; published numbers are hollow."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(cell.group for cell in cells))
    figure = Figure(figsize=(5.0 * len(groups), 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    for panel, group in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True):
        inside = [cell for cell in cells if cell.group == group]
        columns = list(dict.fromkeys(cell.column for cell in inside))
        for method in dict.fromkeys(cell.method for cell in inside):
            mine = [cell for cell in inside if cell.method == method]
            ours = [c for c in mine if c.compute is not None]
            places = [columns.index(c.column) for c in ours]
            values = [ledger[c.key(n)] for c in ours]
            (line,) = panel.plot(places, [v[0] for v in values], marker="o", label=method)
            told = [(columns.index(c.column), c.published) for c in mine if c.published is not None]
            panel.plot(
                [x for x, _ in told],
                [y for _, y in told],
                linestyle="none",
                marker="o",
                markerfacecolor="none",
                color=line.get_color(),
            )
        panel.set_xticks(range(len(columns)), columns)
        panel.set_title(group)
        panel.legend(fontsize=7)
    figure.supylabel(experiment.measures, fontsize=8)
    figure.savefig(path, dpi=120)
