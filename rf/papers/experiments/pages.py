"""What a re-run leaves behind: tidy numbers (CSV), a page with the table, and a picture."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
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
# How names of ours begin, and the grays in which they are drawn; nothing else is gray.
_OURS = ("ours", "exact map")
_OF_OURS = ("black", "dimgray", "darkgray")
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
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, n: int
) -> None:
    """One panel for each group with results, one line for each method; published is hollow."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    run = {cell.group for cell in cells if cell.key(n) in ledger}
    known = [c for c in cells if c.group in run and (c.published is not None or c.key(n) in ledger)]
    groups = list(dict.fromkeys(cell.group for cell in known))
    across = min(len(groups), _PANELS_ACROSS)
    down = -(-len(groups) // across)
    figure = Figure(figsize=(5.0 * across, 4.5 * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    twenty = [c for c in map(colormaps["tab20"], range(20)) if len({*c[:3]}) > 1]
    rivals = (cell.method for cell in known if not cell.method.startswith(_OURS))
    colors = _colors(rivals, (*twenty[::2], *twenty[1::2]))
    for panel, group in zip(panels, groups, strict=False):
        _draw_group(panel, [cell for cell in known if cell.group == group], ledger, n, colors)
        panel.set_title(fill(group, _LETTERS_ACROSS), fontsize=10)
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    measures = experiment.measures.replace("(published)", "hollow: published")
    figure.supylabel(fill(measures, _LETTERS_UP), fontsize=8)
    figure.savefig(path, dpi=80)


def _colors(methods: Iterable[str], palette: Iterable[Any]) -> dict[str, Any]:
    """One for each method, and for its bias the same."""
    colors: dict[str, Any] = {}
    more = cycle(palette)
    for method in methods:
        of = method.removesuffix(_BIAS).rstrip(",: ")
        colors.setdefault(of, None)
        colors[of] = colors[method] = colors[of] or next(more)
    return colors


def _draw_group(
    panel: Any, inside: Sequence[Cell], ledger: Ledger, n: int, colors: Mapping[str, Any]
) -> None:
    columns = list(dict.fromkeys(cell.column for cell in inside))
    values: list[float] = []
    # Between names, unlike between numbers, there is nothing.
    joined = any(letter.isdigit() for letter in columns[0])
    methods = list(dict.fromkeys(cell.method for cell in inside))
    colors = {**colors, **_colors((m for m in methods if m.startswith(_OURS)), _OF_OURS)}
    for method in methods:
        mine = [cell for cell in inside if cell.method == method]
        found = [(columns.index(c.column), ledger[c.key(n)][0]) for c in mine if c.key(n) in ledger]
        told = [(columns.index(c.column), c.published) for c in mine if c.published is not None]
        values += [y for _, y in (*found, *told)]
        # What has no marker is no measurement: a bias that is known exactly.
        style = "--" if method.endswith(_BIAS) else "o-" if joined else "o"
        panel.plot(*_apart(found), style, label=method, markersize=4, color=colors[method])
        panel.plot(*_apart(told), "o", markerfacecolor="none", color=colors[method])
    positive = [v for v in values if _ROUNDING < v < np.inf]
    if positive and min(values) >= 0.0 and max(positive) > _LOGARITHMIC * min(positive):
        panel.set_yscale("log")
        panel.set_ylim(0.7 * max(min(positive), max(positive) / _DEEPEST), 1.4 * max(positive))
    panel.set_xticks(range(len(columns)), columns, fontsize=8)
    panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)


def _apart(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
