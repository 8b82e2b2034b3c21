"""Sums over chunks of rows, from an iterable (optionally saved to a file) or from a dask array."""

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
from spectra.base.limits import check_time, stage
from spectra.errors import DataError, ParameterError

__all__ = ["checked_chunks", "sums_of_chunks", "sums_of_dask"]

# The file is written when a chunk ends more than this many seconds after the last write.
_WRITE_INTERVAL = 60.0
# The file stores the features of the first three rows, to check that it belongs to these features
# and rows.  Other features differ in the first digit; numpy and numba differ in the last digits.
_CHECK_ROWS, _RTOL = 3, 1e-5


def checked_chunks(chunks: Any) -> Iterator[tuple[Any, ...]]:
    """Check that each chunk is a tuple (X, y) or (X, y, sample_weight), and yield it."""
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
    """The sums of all chunks; each chunk is read once and then discarded.

    ``features``: a fitted transformer; ``chunks``: at least one; ``kept``: a file that stores the
    sums of the chunks read so far.  It is written every minute, at the end, and after an error or
    interruption.  If it exists, the chunks that it contains are skipped; ``single``: whether
    features in single precision are multiplied in single precision.
    """
    path = None if kept is None else Path(kept)
    if path is not None and not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent} for the file of sums. Create it.")
    state: tuple[int, KreinSums | None] = (0, None)  # number of summed chunks, and their sums
    check_values, n_saved, save_time = np.empty(0), 0, time.monotonic()
    try:
        with stage("chunks of rows", has_limit=False) as progress:
            for index, chunk in enumerate(chunks):
                progress.label = f"chunks of rows  {index}"
                check_time()
                if path is not None and index == 0:
                    first_rows = features.transform(chunk[0][:_CHECK_ROWS])
                    check_values = np.asarray(first_rows, dtype=float)
                    state = _read(path, check_values) if path.exists() else state
                    n_saved = state[0]
                done, total = state
                if index < done:
                    continue
                part = KreinSums.from_rows(features, *chunk, single=single)
                state = (done + 1, part if total is None else total + part)
                del part, total  # to free the memory before the next chunk is read
                if path is not None and time.monotonic() - save_time > _WRITE_INTERVAL:
                    _write(path, check_values, state)
                    n_saved, save_time = state[0], time.monotonic()
    finally:
        if path is not None and state[0] > n_saved:
            _write(path, check_values, state)
    done, sums = state
    if sums is None:
        raise ParameterError("There is no chunk of rows to sum: the iterable is empty.")
    if index + 1 < done:
        raise DataError(
            f"{path} holds the sums of {done} chunks, and {index + 1} were given: rows cannot be "
            "removed from the sums. Give all chunks that were summed, or name another file."
        )
    return sums


def _write(path: Path, check_values: FloatArray, state: tuple[int, KreinSums | None]) -> None:
    done, sums = state
    arrays = {f.name: getattr(sums, f.name) for f in fields(KreinSums)}
    with atomic_file(path) as file:
        np.savez(file, chunks=done, marks=check_values, **arrays)


def _read(path: Path, check_values: FloatArray) -> tuple[int, KreinSums]:
    """The number of chunks in the file, and their sums, if its check values agree."""
    try:
        with np.load(path, allow_pickle=False) as file:
            done, stored = int(file["chunks"]), file["marks"]
            arrays = {f.name: file[f.name] for f in fields(KreinSums)}
    except (BadZipFile, KeyError, ValueError, EOFError) as error:
        raise DataError(
            f"{path} exists and has no sums over chunks, so it is not replaced. Name another file."
        ) from error
    tolerance = _RTOL * np.abs(check_values).max()
    if stored.shape != check_values.shape or np.abs(stored - check_values).max() > tolerance:
        raise DataError(
            f"{path} holds the sums of other features or of other rows: the features of the first "
            f"{len(check_values)} rows are not the ones in the file. Give the same chunks, and "
            "features with a fixed random_state, or name another file."
        )
    values = {name: a.item() if a.ndim == 0 else a for name, a in arrays.items()}
    return done, KreinSums(**values)


def sums_of_dask(features: Any, X: Any, y: Any, weights: Any = None) -> KreinSums:
    """The sums over all chunks of dask arrays, computed by the current dask scheduler.

    The sums are added in pairs in a fixed order, so the result does not depend on the order in
    which the workers finish.
    """
    X, delayed = row_chunks(X), dask_module().delayed
    chunks = [list(X.to_delayed().ravel())]
    for values in (y, weights):
        if values is None:
            chunks.append([None] * len(chunks[0]))
        else:
            chunks.append(list(row_chunks(values).rechunk({0: X.chunks[0]}).to_delayed().ravel()))
    shared, sum_rows, add = delayed(features), delayed(KreinSums.from_rows), delayed(operator.add)
    sums = [sum_rows(shared, *chunk) for chunk in zip(*chunks, strict=True)]
    while len(sums) > 1:
        pairs = [add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=False)]
        sums = pairs + sums[len(pairs) * 2 :]
    total: KreinSums = sums[0].compute()
    return total
