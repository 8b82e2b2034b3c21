"""The files of a re-run: tidy numbers (CSV), a page with the table, and a picture."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.tables import Cell, Experiment, table_lines
from rf.papers.experiments.tally import tally

__all__ = ["quick_look", "write_results"]

# Panels in a row of a picture, and the range of values from which on an axis is logarithmic;
# errors of exact maps, which are rounding, do not count.  Such an axis ends this far below its top.
_PANELS_ACROSS, _LOGARITHMIC, _ROUNDING, _DEEPEST = 3, 20.0, 1e-12, 1e4
# Docstrings are the text of a page, where a role of reStructuredText is nothing.
_ROLE = re.compile(r":\w+:`")
# Letters of the measure in a line along the side of a picture, and of a title above a panel.
_LETTERS_UP, _LETTERS_ACROSS = 60, 45
_BIAS = "its bias"
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
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int
) -> None:
    """One panel for each group with results, one line for each method; published is hollow."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    run = {cell.group for cell in cells if cell.key(runs) in ledger}
    shown = [
        c for c in cells if c.group in run and (c.key(runs) in ledger or c.published is not None)
    ]
    groups = list(dict.fromkeys(cell.group for cell in shown))
    across = min(len(groups), _PANELS_ACROSS)
    down = -(-len(groups) // across)
    figure = Figure(figsize=(5.0 * across, 4.5 * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    methods = dict.fromkeys(_without_bias(cell.method) for cell in shown)
    colors = {name: colormaps["tab20"](i % 20) for i, name in enumerate(methods)}
    for panel, group in zip(panels, groups, strict=False):
        _draw_group(panel, [cell for cell in shown if cell.group == group], ledger, runs, colors)
        panel.set_title(fill(group, _LETTERS_ACROSS), fontsize=10)
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    measures = experiment.measures.replace("(published)", "hollow: published")
    figure.supylabel(fill(measures, _LETTERS_UP), fontsize=8)
    figure.savefig(path, dpi=80)


def _without_bias(method: str) -> str:
    return method.removesuffix(_BIAS).rstrip(",: ")


def _draw_group(
    panel: Any, inside: Sequence[Cell], ledger: Ledger, runs: int, colors: Mapping[str, Any]
) -> None:
    columns = list(dict.fromkeys(cell.column for cell in inside))
    values: list[float] = []
    for method in dict.fromkeys(cell.method for cell in inside):
        mine = [cell for cell in inside if cell.method == method]
        found = {c.column: ledger[c.key(runs)][0] for c in mine if c.key(runs) in ledger}
        published = {c.column: c.published for c in mine if c.published is not None}
        values += [*found.values(), *published.values()]
        # An exact bias is a dashed line without markers; columns without numbers are not joined.
        numbers = any(letter.isdigit() for letter in columns[0])
        style = "--" if method.endswith(_BIAS) else "o-" if numbers else "o"
        color = colors[_without_bias(method)]
        at = list(map(columns.index, found))
        panel.plot(at, [*found.values()], style, label=method, markersize=4, color=color)
        at = list(map(columns.index, published))
        panel.plot(at, [*published.values()], "o", markerfacecolor="none", color=color)
    positive = [v for v in values if _ROUNDING < v < np.inf]
    if positive and min(values) >= 0.0 and max(positive) > _LOGARITHMIC * min(positive):
        panel.set_yscale("log")
        panel.set_ylim(0.7 * max(min(positive), max(positive) / _DEEPEST), 1.4 * max(positive))
    panel.set_xticks(range(len(columns)), columns, fontsize=8)
    panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
