"""Sums over chunks of rows: of an iterable, with an optional file, or of a dask array."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from rf.inputs.arrays import dask_module, row_chunks
from rf.krein.sums import KreinSums
from spectra.base.arrays import FloatArray
from spectra.base.files import atomic_file
from spectra.base.limits import stage
from spectra.errors import DataError, ParameterError

__all__ = ["checked_chunks", "sums_of_chunks", "sums_of_dask"]

# Seconds between two writes of the state: the most that is lost if the process is killed.
_WRITE_INTERVAL = 60.0
# A file stores the features of this many rows, to check that it belongs to the same features; and
# the relative tolerance: other draws differ in the first digit, numpy and numba in the last.
_CHECK_ROWS, _RTOL = 3, 1e-5


def checked_chunks(chunks: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each chunk (X, y) or (X, y, sample_weight) after a check of its form."""
    try:
        iterator = iter(chunks)
    except TypeError as cause:
        raise ParameterError(
            f"A {type(chunks).__name__} holds no chunks: give an iterable of (X, y) or "
            "(X, y, sample_weight)."
        ) from cause
    for number, chunk in enumerate(iterator):
        if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
            raise ParameterError(
                f"Chunk {number} is of type {type(chunk).__name__} and not (X, y) or "
                "(X, y, sample_weight)."
            )
        yield tuple(chunk)


def sums_of_chunks(
    features: Any,
    chunks: Iterable[tuple[Any, ...]],
    kept: str | os.PathLike[str] | None = None,
    *,
    single: bool = False,
) -> KreinSums:
    """The sums of all chunks; each chunk is read once and not kept.

    ``features``: fitted; ``chunks``: at least one; ``kept``: a file of the sums of the first
    chunks, which is written every minute, at the end, and when an error or an interruption ends the
    pass.  If it exists, as many chunks as it counts are skipped; ``single``: whether features
    in single precision are multiplied in single precision.
    """
    path = None if kept is None else Path(kept)
    if path is not None and not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent} to keep sums in: make it first.")
    state: tuple[int, KreinSums | None] = (0, None)
    marks, on_disk, saved = np.empty(0), 0, time.monotonic()
    try:
        with stage("chunks of rows", has_limit=False) as line:
            for index, chunk in enumerate(chunks):
                line.label = f"chunks of rows  {index}"
                if path is not None and index == 0:
                    marks = np.asarray(features.transform(chunk[0][:_CHECK_ROWS]), dtype=float)
                    state = _read(path, marks) if path.exists() else state
                    on_disk = state[0]
                done, total = state
                if index < done:
                    continue
                part = KreinSums.of_rows(features, *chunk, single=single)
                state = (done + 1, part if total is None else total + part)
                del part, total
                if path is not None and time.monotonic() - saved > _WRITE_INTERVAL:
                    _write(path, marks, state)
                    on_disk, saved = state[0], time.monotonic()
    finally:
        if path is not None and state[0] > on_disk:
            _write(path, marks, state)
    done, sums = state
    if sums is None:
        raise ParameterError("There is no chunk of rows to sum: the iterable is empty.")
    if index + 1 < done:
        raise DataError(
            f"{path} holds the sums of {done} chunks, and {index + 1} were given: the rows of the "
            "others cannot be removed. Give all chunks that were summed, or name another file."
        )
    return sums


def _write(path: Path, marks: FloatArray, state: tuple[int, KreinSums | None]) -> None:
    done, sums = state
    held = {f.name: getattr(sums, f.name) for f in fields(KreinSums)}
    with atomic_file(path) as file:
        np.savez(file, chunks=done, marks=marks, **held)


def _read(path: Path, marks: FloatArray) -> tuple[int, KreinSums]:
    try:
        with np.load(path, allow_pickle=False) as file:
            done, found = int(file["chunks"]), file["marks"]
            held = {f.name: file[f.name] for f in fields(KreinSums)}
    except (BadZipFile, KeyError, ValueError, EOFError) as error:
        raise DataError(
            f"{path} holds no sums over chunks, so nothing is written to it. Name another file."
        ) from error
    if found.shape != marks.shape or np.abs(found - marks).max() > _RTOL * np.abs(marks).max():
        raise DataError(
            f"{path} holds the sums of other features or of other rows: the features of the first "
            f"{len(marks)} rows are not the ones in the file. Give the same chunks, and "
            "features with a fixed random_state, or name another file."
        )
    numbers = {n: v.item() if v.ndim == 0 else v for n, v in held.items()}
    return done, KreinSums(**numbers)


def sums_of_dask(features: Any, X: Any, y: Any, weights: Any = None) -> KreinSums:
    """The sums of a model over all chunks, as one graph for the current scheduler.

    A chunk that is lost with its worker is summed again by another.  The order of the additions is
    that of the graph, and does not depend on which worker was first.
    """
    X, delayed = row_chunks(X), dask_module().delayed
    columns = [list(X.to_delayed().ravel())]
    for values in (y, weights):
        if values is None:
            columns.append([None] * len(columns[0]))
        else:
            columns.append(list(row_chunks(values).rechunk({0: X.chunks[0]}).to_delayed().ravel()))
    shared, of, add = delayed(features), delayed(KreinSums.of_rows), delayed(operator.add)
    parts = [of(shared, *chunk) for chunk in zip(*columns, strict=True)]
    while len(parts) > 1:
        pairs = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    total: KreinSums = parts[0].compute()
    return total
