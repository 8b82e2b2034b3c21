"""Pictures for the page: SVG that takes the colours of the page, drawn one at a time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spectra.cli.plot_kernel import NEGATIVE, POSITIVE, pyplot

__all__ = ["COLOURS", "NEGATIVE", "POSITIVE", "drawn"]

#: Lines of several kinds, which differ also for those who see few colours (after Okabe and Ito).
COLOURS = (POSITIVE, "#d55e00", "#009e73", "#cc79a7", "#8f7700", "#56b4e9", "#7f5fbf", "#6b6b6b")
# What is drawn in these takes the colour of the text around it, by day and by night.
_INK, _FAINT = "#222832", "#cccccc"
_SIZE = (5.2, 3.1)


def drawn(draw: Callable[[Any], None], *, name: str) -> str:
    """The SVG of what a function draws into matplotlib axes.

    Parameters
    ----------
    draw : callable
        Takes the axes.
    name : str
        What the picture is called by; names inside it begin so, since a page shows several.
    """
    with _style():
        plt = pyplot()
        figure, axes = plt.subplots(figsize=_SIZE, layout="constrained")
        try:
            draw(axes)
            axes.spines[["top", "right"]].set_visible(False)
            sheet = io.StringIO()
            figure.savefig(sheet, format="svg", transparent=True, metadata={"Date": None})
        finally:
            plt.close(figure)
    text = sheet.getvalue()
    text = text[text.index("<svg") :]
    for colour in (_INK, "#000000"):
        text = text.replace(colour, "currentColor")
    # A page reads the names of all its pictures as one list.
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    return re.sub(r'<svg ([^>]*?)width="[^"]*" ?', r'<svg aria-hidden="true" \1', text, count=1)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "text.color": _INK,
            "axes.labelcolor": _INK,
            "axes.edgecolor": _INK,
            "xtick.color": _INK,
            "ytick.color": _INK,
            "grid.color": _FAINT,
            "svg.hashsalt": "spectra",
            "font.size": 10.5,
            "axes.titlesize": 10.5,
        }
    ):
        yield
