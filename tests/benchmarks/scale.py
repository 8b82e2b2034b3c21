"""Rows beyond memory: a ridge in one pass over chunks, its time and the most memory it held."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rf import KreinRidge, SpectralFeatures

from .timing import Table, number, patiently, say

__all__ = ["run"]

_DIM, _CHUNK = 16, 50_000
_SIZES = ((100_000, 1024), (1_000_000, 1024), (100_000, 4096), (1_000_000, 4096))
_PATIENCE = 3 * 3600.0


def run() -> list[Table]:
    """One pass for each number of rows and columns, in a process of its own."""
    table = Table(
        "Scale: a ridge in one pass",
        f"`KreinRidge.fit_chunks` on chunks of {_CHUNK} rows in d = {_DIM}, made as they are asked "
        "for and forgotten: Gaussian kernel, as many threads as BLAS may use. Seconds of the "
        "processor and of the clock, on cores that others used too; the most memory that the "
        "process held, in GB. What each row costs is one pass less that over a single chunk, "
        "which has the same fit and the same solve.",
        ("rows", "columns", "processor, s", "clock, s", "µs a row", "ns a row and column", "GB"),
        [],
    )
    say(table.title)
    alone: dict[int, float] = {}
    for rows, columns in _SIZES:
        if columns not in alone:
            alone[columns] = _answer(_CHUNK, columns)[0]
        spent, clock, memory = _answer(rows, columns)
        each = (spent - alone[columns]) / (rows - _CHUNK)
        table.add(
            f"{rows:.0e}", str(columns), number(spent), number(clock), number(1e6 * each),
            number(1e9 * each / columns), number(memory),
        )  # fmt: skip
    return [table]


def _answer(rows: int, columns: int) -> tuple[float, float, float]:
    answered, found = patiently(_pass, rows, columns, limit=_PATIENCE)
    if not answered:
        raise RuntimeError(found)
    return found


def _pass(rows: int, columns: int) -> tuple[float, float, float]:
    features = SpectralFeatures("gaussian", n_components=columns, random_state=0)
    start, clock = time.process_time(), time.perf_counter()
    KreinRidge(features, alpha=1.0).fit_chunks(_chunks(rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return time.process_time() - start, time.perf_counter() - clock, peak


def _chunks(rows: int) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    for _ in range(rows // _CHUNK):
        X = rng.normal(size=(_CHUNK, _DIM))
        yield X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=_CHUNK)
