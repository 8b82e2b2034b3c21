"""Panels of what features estimate: how far their mean is from the kernel, and their error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rf.explore.columns import Errors
from rf.explore.panel import Grid, Panel
from rf.explore.pictures import COLOURS, NEGATIVE, POSITIVE, drawn
from spectra.base.arrays import FloatArray
from spectra.base.numbers import bound_text
from spectra.cli.plot_kernel import label_decades
from spectra.table import GroupedTable, L1Table, SpectralTable

__all__ = ["columns_panel", "curve", "places", "table_panel"]


#: Rows of a table that stands for a picture.
_ROWS = 9
_FINE = 100
# Parts of a table that are written one by one; products of many terms have hundreds.
_PARTS = 8


def places(reach: float) -> FloatArray:
    """Distances at which a table shows what a picture draws."""
    return reach * np.linspace(0.0, 1.0, _ROWS)


def curve(caption: str, x: str, y: str, at: FloatArray, values: FloatArray) -> Grid:
    """A curve as numbers."""
    rows = tuple((f"{a:.4g}", f"{b:.6g}") for a, b in zip(at, values, strict=True))
    return Grid(caption, (x, y), rows)


def table_panel(
    table: SpectralTable | GroupedTable | L1Table,
    mean: Callable[[FloatArray], FloatArray],
    kernel: Callable[[FloatArray], FloatArray],
    reach: float,
    *,
    name: str,
    where: str = "distance z",
) -> Panel:
    """The parts of a table, and the mean of its features beside the kernel, up to a distance.

    Parameters
    ----------
    table : SpectralTable, GroupedTable or L1Table
    mean, kernel : callable
        Expectation and kernel at distances.
    reach : float
    name : str
        Of the picture.
    where : str
        What a distance is.
    """
    z, rows = np.linspace(0.0, reach, _FINE), places(reach)
    exact = kernel(z)
    error = np.abs(mean(z) - exact)
    scale = float(np.max(np.abs(exact)))

    def draw(axes: Any) -> None:
        seen = error > 0.0
        axes.semilogy(z[seen], error[seen], ".", ms=3, color=POSITIVE)
        if table.u_error > 0.0:
            axes.axhline(table.u_error * table.mass, color=NEGATIVE, lw=1.0, ls="--")
            axes.annotate(
                "u-error × mass",
                (0.99, table.u_error * table.mass),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
                color=NEGATIVE,
            )
        axes.set(xlabel=where, ylabel="|E k̂ − k|")

    return Panel(
        facts=(
            ("error in probability (u-error)", bound_text(table.u_error)),
            ("largest |E k̂ − k| seen", f"{error.max():.1e}, where |k| reaches {scale:.3g}"),
            ("parts", _parts(table)),
        ),
        picture=drawn(draw, name=name),
        tables=(
            curve("Mean of the features less the kernel", "z", "E k̂(z) − k(z)",
                  rows, mean(rows) - kernel(rows)),
        ),
    )  # fmt: skip


def _parts(table: SpectralTable | GroupedTable | L1Table) -> str:
    """The parts of a table in a line."""
    if isinstance(table, SpectralTable):
        return "; ".join(repr(part) for part in table.parts)
    shown = [f"{'+' if p.sign > 0 else '−'}{p.mass:.6g}" for p in table.parts[:_PARTS]]
    more = len(table.parts) - len(shown)
    return f"of mass {', '.join(shown)}" + (f" and {more} more" if more else "")


def columns_panel(found: Errors, over: str) -> Panel:
    """The expected error of the kernel matrix by coupling and number of columns.

    Parameters
    ----------
    found : Errors
    over : str
        The differences of rows over which it is the mean.
    """
    sizes = found.columns

    def draw(axes: Any) -> None:
        from matplotlib.ticker import NullLocator

        styles = ("-", "--", "-.", ":")
        for i, (name, values) in enumerate(found.errors.items()):
            style = styles[i % len(styles)]
            axes.loglog(sizes, values, style, color=COLOURS[i % len(COLOURS)], lw=1.4, label=name)
        axes.set(xlabel="columns", ylabel="relative error of K")
        axes.set_xticks(sizes, [str(n) for n in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        label_decades(axes.yaxis)
        axes.legend(frameon=False, fontsize=8.5, ncols=2)

    rows = tuple(
        (name, *("–" if np.isnan(e) else f"{e:.3g}" for e in values))
        for name, values in found.errors.items()
    )
    lines = [
        f"Expected error of the kernel matrix, relative to its norm, for {over}: the square root "
        "of the mean exact variance.",
        "Radii are independent here; those that SpectralFeatures draws by default are stratified, "
        "which mostly lessens the error further.",
    ]
    if found.left_out:
        lines.append(f"Not shown: {'; '.join(found.left_out)}.")
    caption = "Relative error by coupling and number of columns"
    head = ("coupling", *map(str, sizes))
    return Panel(
        lines=tuple(lines),
        picture=drawn(draw, name="columns"),
        tables=(Grid(caption, head, rows),),
    )
