"""Random fields: a path at many points, beside the generator of GSTools in the same run."""

from __future__ import annotations

import time

import gstools
import numpy as np

from rf import GaussianField
from spectra.base.compiled import implementation

from .timing import Table, number, say

__all__ = ["run"]

_DIM, _COMPONENTS, _POINTS, _SIDE = 3, 2048, 1_000_000, 100


def run() -> list[Table]:
    """One path of the exponential model at points in a cube, and on a grid."""
    table = Table(
        "Fields: a path at a million points",
        f"The exponential model in d = {_DIM}, {_COMPONENTS} components ({_COMPONENTS // 2} "
        "frequencies, each with a cosine and a sine, which GSTools calls modes): seconds of the "
        "clock for one path at points in any order, and on a grid of as many. One thread of each. "
        f"GSTools {gstools.__version__}; our inner loop: {implementation()}.",
        ("points", "GaussianField, s", "GSTools, s", "ratio"),
        [],
    )
    say(table.title)
    points = np.random.default_rng(0).uniform(0.0, 10.0, (_POINTS, _DIM))
    axis = np.linspace(0.0, 10.0, _SIDE)
    field = GaussianField("exp(-z)", _DIM, n_components=_COMPONENTS, random_state=0)
    field(points[:10])  # tables are read and loops compiled before the clock runs
    model = gstools.Exponential(dim=_DIM)
    generator = gstools.SRF(model, mode_no=_COMPONENTS // 2, seed=0)
    generator(points[:10].T)
    for name, ours, theirs in (
        ("in any order", lambda: field(points), lambda: generator(points.T)),
        (
            f"grid of {_SIDE}^3",
            lambda: field.on_grid(axis, axis, axis),
            lambda: generator.structured([axis, axis, axis]),
        ),
    ):
        seconds = []
        for draw in (ours, theirs):
            start = time.perf_counter()
            draw()
            seconds.append(time.perf_counter() - start)
        table.add(name, *map(number, seconds), number(seconds[1] / seconds[0]))
    return [table]
