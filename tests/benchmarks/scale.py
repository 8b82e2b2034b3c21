"""Rows beyond memory: a ridge in one pass over chunks, its time, memory and error on new rows.

A pass may take hours, so each goes on from what was kept of it: the sums over its chunks, and the
seconds that each chunk took.  Passes over more rows go on from the sums of those over fewer.  Ten
million rows are an hour of one core at 4096 columns; SPECTRA_MOST_ROWS is another number of them.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rf import KreinRidge, SpectralFeatures
from rf.feature_maps.threads import serial_blas
from rf.papers.experiments.ledger import Ledger
from spectra.base.arrays import FloatArray

from .timing import Table, number, patiently, say

__all__ = ["run"]

_DIM, _CHUNK, _LENGTH, _NOISE, _NEW_ROWS = 16, 50_000, 4.0, 0.5, 20_000
_MOST = int(float(os.environ.get("SPECTRA_MOST_ROWS", "1e7")))
# From fewer to more rows, so that a pass goes on where the one before it ended.
_SIZES = (
    (1024, "float64", (10**5, 10**6)),
    (4096, "float64", (10**5,)),
    (4096, "float32", (10**5, 10**6, _MOST)),
)
_PATIENCE = 24 * 3600.0
# Sums and seconds; what is older than a change of this file or of the features is to be removed.
_KEPT = Path(os.environ.get("SPECTRA_KEPT", "build/scale"))


def run() -> list[Table]:
    """One pass for each number of rows and columns, in a process of its own."""
    with serial_blas() as threads:
        pass
    table = Table(
        "Scale: a ridge in one pass",
        f"`KreinRidge.fit_chunks` on chunks of {_CHUNK} rows in d = {_DIM}, made as they are asked "
        f"for and forgotten: Gaussian kernel of length {_LENGTH:g}, {threads} thread(s). Seconds "
        "of the processor and of the clock for the pass and the solve, on cores that others used "
        "too; what each row costs without the solve; the most memory that the process held before "
        "the solve and with it, in GB. The targets are sin x₁ + sin(x₂ x₃) and normal noise of "
        f"deviation {_NOISE:g}; the error is the root mean square of what is missed of the "
        f"function at {_NEW_ROWS} new rows, over its deviation. The most rows are "
        "SPECTRA_MOST_ROWS, 1e7 if it is not set; those in float32 are summed with `single=True`.",
        (
            "rows", "columns", "type", "processor, s", "clock, s", "µs a row",
            "ns a row and column", "GB, sums", "GB, solve", "error",
        ),
        [],
    )  # fmt: skip
    say(table.title)
    _KEPT.mkdir(parents=True, exist_ok=True)
    passes = Ledger(_KEPT / "passes.jsonl")
    for columns, kind, sizes in _SIZES:
        for rows in sizes:
            key: list[str | int] = [rows, columns, kind]
            if key not in passes:
                answered, found = patiently(_pass, rows, columns, kind, limit=_PATIENCE)
                if not answered:
                    raise RuntimeError(found)
                passes.add(key, list(found))
            spent, clock, each, *rest = passes[key]
            table.add(
                f"{rows:.0e}", str(columns), kind, number(spent), number(clock), number(1e6 * each),
                number(1e9 * each / columns), *map(number, rest),
            )  # fmt: skip
    return [table]


def _pass(rows: int, columns: int, kind: str) -> tuple[float, ...]:
    """Seconds of the processor and the clock, seconds a row, two peaks in GB, the error."""
    name = f"{columns}-{kind}"
    seconds = Ledger(_KEPT / f"{name}.jsonl")
    features = SpectralFeatures(
        "gaussian", n_components=columns, kernel_params={"length": _LENGTH}, random_state=0
    )
    peaks: list[float] = []
    chunks = _timed(rows, kind, seconds, peaks)
    model = KreinRidge(features, alpha=1.0).fit_chunks(
        chunks, kept=_KEPT / f"{name}.npz", single=True
    )
    solve = np.subtract(_now(), peaks[1:])
    each = np.array([seconds[["chunk", i]] for i in range(rows // _CHUNK)])
    # The features are fitted during the first chunk.
    a_row = float(each[1:, 0].mean()) / _CHUNK
    X = np.random.default_rng(10**9).normal(size=(_NEW_ROWS, _DIM))
    missed = model.predict(X) - _function(X)
    error = float(np.sqrt(np.mean(missed**2)) / _function(X).std())
    spent, clock = each.sum(axis=0) + solve
    return float(spent), float(clock), a_row, peaks[0], _peak(), error


def _timed(rows: int, kind: str, seconds: Ledger, peaks: list[float]) -> Iterator[tuple[Any, Any]]:
    """The chunks; what each took is known when the next one is asked for, or the end."""
    for index in range(rows // _CHUNK):
        start = _now()
        rng = np.random.default_rng(index)
        X = rng.normal(size=(_CHUNK, _DIM))
        y = _function(X) + _NOISE * rng.normal(size=_CHUNK)
        yield X.astype(kind), y
        if ["chunk", index] not in seconds:
            seconds.add(["chunk", index], list(np.subtract(_now(), start)))
    peaks[:] = [_peak(), *_now()]


def _function(X: FloatArray) -> FloatArray:
    return np.asarray(np.sin(X[:, 0]) + np.sin(X[:, 1] * X[:, 2]))


def _now() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
