"""Sums over the chunks of a dask array, as one graph."""

from __future__ import annotations

import operator
from typing import Any

from rf.inputs.dask_arrays import dask_module, rows_of
from rf.krein.sums import GramSums

__all__ = ["sums_of_dask"]


def sums_of_dask(features: Any, X: Any, y: Any, weights: Any = None) -> GramSums:
    """The sums of a model over all chunks, as one graph on whichever scheduler is at work.

    A chunk that is lost with its worker is summed again by another.  The order of the additions is
    that of the graph, and does not depend on who was first.
    """
    X, delayed = rows_of(X), dask_module().delayed
    columns = [list(X.to_delayed().ravel())]
    for values in (y, weights):
        if values is None:
            columns.append([None] * len(columns[0]))
        else:
            columns.append(list(rows_of(values).rechunk({0: X.chunks[0]}).to_delayed().ravel()))
    shared, of, add = delayed(features), delayed(GramSums.of_rows), delayed(operator.add)
    parts = [of(shared, *chunk) for chunk in zip(*columns, strict=True)]
    while len(parts) > 1:
        pairs = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    total: GramSums = parts[0].compute()
    return total
