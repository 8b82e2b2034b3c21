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

_PANELS_PER_ROW = 3
# An axis is logarithmic if its largest value is _LOG_FROM_RATIO times the smallest; it then covers
# at most the ratio _MAX_LOG_RATIO.  Values below _ROUNDING are errors of exact maps and ignored.
_LOG_FROM_RATIO, _MAX_LOG_RATIO, _ROUNDING = 20.0, 1e4, 1e-12
# Roles of reStructuredText in docstrings, which Markdown pages do not have.
_ROLE = re.compile(r":\w+:`")
# Characters in a line of the vertical label and of a title.
_LABEL_WIDTH, _TITLE_WIDTH = 60, 45
_BIAS = "its bias"  # end of the name of a row with the bias of a method
_HEADER = ("group", "method", "column", "runs", "mean", "deviation", "published")


def quick_look(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of the first column of the first group: every method once, at the least cost."""
    first = [cell for cell in cells if cell.group == cells[0].group]
    return [cell for cell in first if cell.column == first[0].column]


def write_results(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, out: Path
) -> list[Path]:
    """Write NAME.csv, NAME.md and, with matplotlib, NAME.png to ``out``; return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [_row(cell, ledger, runs) for cell in cells]
    paths = [out / f"{name}.csv", out / f"{name}.md"]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        writer.writerows(rows)
    has_picture = find_spec("matplotlib") is not None
    paths[1].write_text(_page(name, experiment, cells, ledger, runs, has_picture), encoding="utf-8")
    if has_picture:
        paths.append(out / f"{name}.png")
        _draw(paths[-1], experiment, cells, ledger, runs)
    return paths


def _page(
    name: str, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int, plot: bool
) -> str:
    done = [c for c in cells if c.compute is None or c.key(runs) in ledger]
    lines = table_lines(done, ledger, runs=runs, digits=experiment.digits)
    pieces = [
        f"# {experiment.title}",
        f"{experiment.source}. {experiment.measures}; mean of {runs} run(s). The numbers are in "
        f"`{name}.csv`.",
        _ROLE.sub("`", experiment.notes.strip()),
        "\n".join(f"    {line}".rstrip() for line in lines),
        f"![{experiment.title}]({name}.png)" if plot else "",
        tally(experiment, cells, ledger, runs).text(),
        _describe_missing(cells, done, name),
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _describe_missing(cells: Sequence[Cell], done: Sequence[Cell], name: str) -> str:
    """A sentence that lists the groups, and columns of other groups, without results."""
    computed = {c.group for c in done if c.compute is not None}
    missing = [c for c in cells if c not in set(done)]
    names = [g for g in dict.fromkeys(c.group for c in missing) if g not in computed]
    names += dict.fromkeys(f"{c.column} of {c.group}" for c in missing if c.group in computed)
    if not names:
        return ""
    return f"Not in this run (`rf reproduce {name}` has them): " + "; ".join(names) + "."


def _row(cell: Cell, ledger: Ledger, runs: int) -> tuple[object, ...]:
    mean_and_deviation: list[float] | tuple[str, str] = ("", "")
    if cell.key(runs) in ledger:
        mean_and_deviation = ledger[cell.key(runs)]
    return (cell.group, cell.method, cell.column, runs, *mean_and_deviation, cell.published)


def _draw(
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int
) -> None:
    """One panel for each group, one line for each method; hollow markers are published numbers."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    computed = {cell.group for cell in cells if cell.key(runs) in ledger}
    shown = [c for c in cells if c.key(runs) in ledger or c.published is not None]
    shown = [cell for cell in shown if cell.group in computed]
    groups = list(dict.fromkeys(cell.group for cell in shown))
    n_columns = min(len(groups), _PANELS_PER_ROW)
    n_rows = -(-len(groups) // n_columns)
    figure = Figure(figsize=(5.0 * n_columns, 4.5 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    methods = dict.fromkeys(_without_bias(cell.method) for cell in shown)
    colors = {name: colormaps["tab20"](i % 20) for i, name in enumerate(methods)}
    for panel, group in zip(panels, groups, strict=False):
        _draw_group(panel, [cell for cell in shown if cell.group == group], ledger, runs, colors)
        panel.set_title(fill(group, _TITLE_WIDTH), fontsize=10)
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    measures = experiment.measures.replace("(published)", "hollow: published")
    figure.supylabel(fill(measures, _LABEL_WIDTH), fontsize=8)
    figure.savefig(path, dpi=80)


def _without_bias(method: str) -> str:
    return method.removesuffix(_BIAS).rstrip(",: ")


def _draw_group(
    panel: Any, cells: Sequence[Cell], ledger: Ledger, runs: int, colors: Mapping[str, Any]
) -> None:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    values: list[float] = []
    for method in dict.fromkeys(cell.method for cell in cells):
        row = [cell for cell in cells if cell.method == method]
        means = {c.column: ledger[c.key(runs)][0] for c in row if c.key(runs) in ledger}
        published = {c.column: c.published for c in row if c.published is not None}
        values += [*means.values(), *published.values()]
        # A bias is a dashed line without markers; points of columns without numbers are not joined.
        numbers = any(character.isdigit() for character in columns[0])
        style = "--" if method.endswith(_BIAS) else "o-" if numbers else "o"
        color = colors[_without_bias(method)]
        positions = list(map(columns.index, means))
        panel.plot(positions, [*means.values()], style, label=method, markersize=4, color=color)
        positions = list(map(columns.index, published))
        panel.plot(positions, [*published.values()], "o", markerfacecolor="none", color=color)
    positive = [v for v in values if _ROUNDING < v < np.inf]
    if positive and min(values) >= 0.0 and max(positive) > _LOG_FROM_RATIO * min(positive):
        panel.set_yscale("log")
        lowest = max(min(positive), max(positive) / _MAX_LOG_RATIO)
        panel.set_ylim(0.7 * lowest, 1.4 * max(positive))
    panel.set_xticks(range(len(columns)), columns, fontsize=8)
    panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
