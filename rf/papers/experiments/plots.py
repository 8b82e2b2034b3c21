"""Pictures of experiments: a panel for each group, a line for each method."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rf.papers.experiments.experiment import SPECTRA, Cell, Experiment
from rf.papers.experiments.ledger import Ledger

__all__ = ["draw"]

_PANELS_PER_ROW = 3
# After the name of a method comes that of a variant; an interval is a name.
_SEPARATOR, _BIAS = re.compile(r"[,:]"), ": its bias"
# An axis is logarithmic if its largest value is _LOG_FROM_RATIO times the smallest; it then covers
# at most the ratio _MAX_LOG_RATIO.  Values below _ROUNDING are errors of exact maps and ignored.
_LOG_FROM_RATIO, _MAX_LOG_RATIO, _ROUNDING = 20.0, 1e4, 1e-12
# Characters in a line of a title and of the vertical label.
_TITLE_WIDTH, _LABEL_WIDTH = 44, 40
# One colour for each method in all pictures; its variants differ by marker and line.
_NAMES = (SPECTRA, "GRFF", "GORF", "Nystroem", "SRF", "DIGMM", "RM", "TS", "TRP")
_COLOURS = dict(
    zip(
        _NAMES,
        [
            "#1f6fb4",
            "#c8442d",
            "#e08214",
            "#4d9221",
            "#8073ac",
            "#777777",
            "#35978f",
            "#b5882d",
            "#dd1c77",
        ],
        strict=True,
    )
)
# Colours of other methods, none of them near those above.
_OTHERS = ("#e3a3a0", "#8c510a", "#01665e", "#c2a5cf", "#a6dba0", "#000000", "#fdbf6f", "#67a9cf")
# Characters of the legend on an inch, and those of a line and a gap.
_LEGEND_CHARACTERS, _HANDLE_CHARACTERS = 12.0, 7
_MARKERS = ("o-", "s--", "^:", "v-.", "D-", "P--", "X:", "<-.")
_STYLE: Any = {"font.size": 10.0, "axes.grid": True, "grid.alpha": 0.3, "axes.titlesize": 10.0}


def draw(
    path: Path, experiment: Experiment, cells: Sequence[Cell], ledger: Ledger, runs: int
) -> None:
    """Write a picture; hollow circles are published numbers."""
    computed = {cell.group for cell in cells if cell.key(runs) in ledger}
    shown = [c for c in cells if c.key(runs) in ledger or c.published is not None]
    shown = [cell for cell in shown if cell.group in computed]
    groups = list(dict.fromkeys(cell.group for cell in shown))
    styles = _styles(list(dict.fromkeys(cell.method for cell in shown)))
    across = min(len(groups), _PANELS_PER_ROW)
    down = -(-len(groups) // across)
    with rc_context(_STYLE):
        figure = Figure(figsize=(4.4 * across, 3.4 * down + 0.9), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for number, (panel, group) in enumerate(zip(panels, groups, strict=False)):
            inside = [cell for cell in shown if cell.group == group]
            title, y_label = group, experiment.axes[1]
            if not y_label:
                title, _, y_label = group.rpartition(", ")
            panel.set_title(fill(title, _TITLE_WIDTH))
            _draw_group(panel, inside, ledger, runs, styles)
            if number + across >= len(groups):
                panel.set_xlabel(experiment.axes[0])
            if number % across == 0 or not experiment.axes[1]:
                panel.set_ylabel(fill(y_label, _LABEL_WIDTH))
        for panel in panels[len(groups) :]:
            panel.set_axis_off()
        handles: dict[str, Any] = {}
        for panel in panels:
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        names = list(handles)
        width = max(map(len, names)) + _HANDLE_CHARACTERS
        ncols = max(1, int(_LEGEND_CHARACTERS * figure.get_figwidth() / width))
        figure.legend(handles.values(), names, loc="outside lower center", ncols=ncols)
        figure.suptitle(experiment.title, fontsize=12)
        figure.savefig(path, dpi=90)


def _styles(methods: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Colour and marker of each method: one colour for a name, one marker for a variant."""
    others = cycle(_OTHERS)
    colours, seen, styles = dict[str, Any](_COLOURS), dict[str, int](), {}
    for method in methods:
        name = method.removesuffix(_BIAS)
        base = name if name.startswith("[") else _SEPARATOR.split(name)[0]
        if base not in colours:
            colours[base] = next(others)
        variant = seen[base] = seen.get(base, -1) + 1
        styles[method] = (colours[base], _MARKERS[variant % len(_MARKERS)])
    return styles


def _draw_group(
    panel: Any,
    cells: Sequence[Cell],
    ledger: Ledger,
    runs: int,
    styles: dict[str, tuple[Any, str]],
) -> None:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    # Points of columns without numbers are not joined.
    has_numbers = any(character.isdigit() for character in columns[0])
    values: list[float] = []
    for method in dict.fromkeys(cell.method for cell in cells):
        row = [cell for cell in cells if cell.method == method]
        means = {c.column: ledger[c.key(runs)][0] for c in row if c.key(runs) in ledger}
        published = {c.column: c.published for c in row if c.published is not None}
        values += [*means.values(), *published.values()]
        colour, marker = styles[method]
        style = marker if has_numbers else marker[0]
        line = 2.4 if method.startswith(SPECTRA) else 1.3
        positions = list(map(columns.index, means))
        panel.plot(
            positions, [*means.values()], style, color=colour, label=method, lw=line, markersize=4
        )
        positions = list(map(columns.index, published))
        panel.plot(positions, [*published.values()], "o", mfc="none", color=colour, markersize=9)
    positive = [v for v in values if _ROUNDING < v < np.inf]
    if positive and min(values) >= 0.0 and max(positive) > _LOG_FROM_RATIO * min(positive):
        panel.set_yscale("log")
        lowest = max(min(positive), max(positive) / _MAX_LOG_RATIO)
        panel.set_ylim(0.7 * lowest, 1.4 * max(positive))
    panel.set_xticks(range(len(columns)), columns, fontsize=9)
