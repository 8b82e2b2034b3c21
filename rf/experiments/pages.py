"""What a re-run leaves behind: tidy numbers (CSV), a page with the table, and a picture."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

import numpy as np

from rf.experiments.ledger import Ledger
from rf.experiments.tables import Cell, Experiment, table_lines
from rf.experiments.tally import tally

__all__ = ["quick_look", "write_results"]

# Panels in a row of a picture, and the range of values from which on an axis is logarithmic;
# errors of exact maps, which are rounding, do not count.  Such an axis ends this far below its top.
_PANELS_ACROSS, _LOGARITHMIC, _ROUNDING, _DEEPEST = 3, 20.0, 1e-12, 1e4
# Docstrings are the text of a page, where a role of reStructuredText is nothing.
_ROLE = re.compile(r":\w+:`")
# Letters of the measure in a line along the side of a picture.
_LETTERS_UP = 60
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
    drawn = find_spec("matplotlib") is not None
    paths[1].write_text(_page(name, experiment, cells, ledger, runs, drawn), encoding="utf-8")
    if drawn:
        paths.append(at / f"{name}.png")
        _draw(paths[-1], experiment, cells, ledger, runs)
    return paths


def _page(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, drawn: bool
) -> str:
    done = [c for c in cells if c.compute is None or c.key(runs) in ledger]
    lines = table_lines(done, ledger, runs=runs, digits=experiment.digits)
    pieces = [
        f"# {experiment.title}",
        f"{experiment.source}. {experiment.measures}; mean of {runs} run(s). The numbers are in "
        f"`{name}.csv`.",
        _ROLE.sub("`", experiment.notes.strip()),
        "\n".join(f"    {line}".rstrip() for line in lines),
        f"![{experiment.title}]({name}.png)" if drawn else "",
        tally(experiment, cells, ledger, runs).text(),
        _absent(cells, done, name),
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _absent(cells: Sequence[Cell], done: Sequence[Cell], name: str) -> str:
    """Which groups were left out of this run, and which columns of the others."""
    whole, computed = ({c.group for c in some if c.compute is not None} for some in (cells, done))
    absent = [g for g in dict.fromkeys(c.group for c in cells) if g in whole - computed]
    had = set(done)
    lacking = (c for c in cells if c not in had and c.group in computed)
    absent += dict.fromkeys(f"{c.column} of {c.group}" for c in lacking)
    if not absent:
        return ""
    return f"Not in this run (`rf reproduce {name}` has them): " + "; ".join(absent) + "."


def _row(cell: Cell, ledger: Ledger, runs: int) -> tuple[object, ...]:
    found: list[float] | tuple[str, str] = ("", "")
    if cell.key(runs) in ledger:
        found = ledger[cell.key(runs)]
    published = "" if cell.published is None else cell.published
    return (cell.group, cell.method, cell.column, runs, found[0], found[1], published)


def _draw(
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, n: int
) -> None:
    """One panel for each group, one line for each method; published numbers are hollow."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    known = [c for c in cells if c.published is not None or c.key(n) in ledger]
    groups = list(dict.fromkeys(cell.group for cell in known))
    across = min(len(groups), _PANELS_ACROSS)
    down = -(-len(groups) // across)
    figure = Figure(figsize=(5.0 * across, 4.5 * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, group in zip(panels, groups, strict=False):
        inside = [cell for cell in known if cell.group == group]
        columns = list(dict.fromkeys(cell.column for cell in inside))
        panel.set_prop_cycle(color=colormaps["tab20"](np.arange(20)))
        values: list[float] = []
        for method in dict.fromkeys(cell.method for cell in inside):
            mine = [cell for cell in inside if cell.method == method]
            ours = [
                (columns.index(c.column), ledger[c.key(n)][0]) for c in mine if c.key(n) in ledger
            ]
            told = [(columns.index(c.column), c.published) for c in mine if c.published is not None]
            values += [y for _, y in (*ours, *told)]
            # What has no marker is no measurement: a bias that is known exactly.
            style = "--" if method.endswith("its bias") else "o-"
            (line,) = panel.plot(*_apart(ours), style, label=method, markersize=4)
            panel.plot(
                *_apart(told),
                linestyle="none",
                marker="o",
                markerfacecolor="none",
                color=line.get_color(),
            )
        positive = [v for v in values if _ROUNDING < v < np.inf]
        if positive and min(values) >= 0.0 and max(positive) > _LOGARITHMIC * min(positive):
            panel.set_yscale("log")
            panel.set_ylim(0.7 * max(min(positive), max(positive) / _DEEPEST), 1.4 * max(positive))
        panel.set_xticks(range(len(columns)), columns, fontsize=8)
        panel.set_title(group, fontsize=10)
        panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    figure.supylabel(fill(experiment.measures, _LETTERS_UP), fontsize=8)
    figure.savefig(path, dpi=80)


def _apart(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
