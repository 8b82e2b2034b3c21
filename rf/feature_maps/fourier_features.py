"""Fourier features: scaled cosines and sines of projections of rows.

Each block of rows is projected into a small scratch array, and the cosines and sines of its entries
are written directly into the output.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rf.feature_maps.compiled_sincos import DOUBLE, SINGLE, compiled_sincos
from rf.feature_maps.sincos import LIMIT, write_sincos_numpy
from rf.feature_maps.threads import on_threads, serial_blas
from rf.inputs.arrays import asarray_like, is_foreign, namespace_of
from spectra.base.arrays import FloatArray
from spectra.base.compiled import implementation
from spectra.errors import ParameterError

__all__ = ["Rays", "choose_sincos", "fourier_columns", "place_columns"]

SincosFunction = Callable[[Any, Any, Any, tuple[int, int], int, int], None]

# Seconds for one cosine and one sine with numpy.
_SECONDS_PER_PAIR = 2e-8
# Frequencies and least rows of a block: 1 MB of doubles, which fits a second-level cache of 2 MB,
# and enough work that the overhead of the calls is negligible (measured).
_BLOCK_COLUMNS = 512
_LEAST_ROWS = 256
# BLAS copies both factors of a product, which costs little if a block has at least 2 d rows.  So
# blocks have more rows if d > 128, up to 1024 rows: 4 MB of doubles.
_ROWS_PER_DIMENSION = 2
_MOST_ROWS = 1024
# Projections in one task of a thread: milliseconds, much longer than the start of a thread.
_PROJECTIONS_PER_TASK = 1 << 20
# Number of multiplications below which BLAS does not use threads either.
_LEAST_FOR_THREADS = 1 << 18


def fourier_columns(
    X: Any,
    frequencies: FloatArray,
    scale: FloatArray,
    phases: FloatArray | None = None,
    *,
    without_sine: int | None = None,
    rays: Rays | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Columns scale * cos(<x, w> + phase) for all frequencies w, then scale * sin(<x, w> + phase).

    ``X`` (rows, d): float32 or float64; ``frequencies`` (n, d); ``scale`` (n,); ``phases`` (n,):
    by default zero; ``without_sine``: the index of a frequency that gets no sine column; ``rays``:
    the same frequencies as products of radii and directions, so that rows are projected only on the
    directions; ``out``: a contiguous array for the result, which saves the allocation.  The result
    has the dtype of X and the shape (rows, 2 n), or (rows, 2 n - 1) with ``without_sine``.

    With the unit roundoff u (2^-53 for float64, 2^-24 for float32) the error of <x, w> + phase is
    at most e = (d + 3) u (sum_k |w_k x_k| + |phase|), and the error of a column is at most
    scale * (e + 5 u).
    """
    if is_foreign(X):
        return _columns_of_library(X, frequencies, scale, phases, without_sine, out)
    columns = 2 * len(frequencies) - (without_sine is not None)
    out = _check_out(out, (X.shape[0], columns), X.dtype)
    work = _Work.of(X, frequencies, scale, phases, without_sine, rays, out)
    if X.shape[0] * len(frequencies) * X.shape[1] <= _LEAST_FOR_THREADS:
        work.run(iter(range(work.tasks)))
        return out
    with serial_blas() as threads:
        on_threads(work.run, work.tasks, threads)
    return out


def _columns_of_library(
    X: Any,
    frequencies: FloatArray,
    scale: FloatArray,
    phases: FloatArray | None,
    without_sine: int | None,
    out: Any,
) -> Any:
    """Compute :func:`fourier_columns` in the library of X, in two to three times the memory."""
    xp, place = namespace_of(X)
    if out is not None:
        raise ParameterError(
            f"out= accepts arrays of numpy only, and the rows are in {place}. "
            "Omit out=, and pass chunks of rows to save memory."
        )
    phase = X @ asarray_like(frequencies.T, X)
    if phases is not None:
        phase = phase + asarray_like(phases, X)
    factor = asarray_like(scale, X)
    sines = xp.sin(phase) * factor
    if without_sine is not None:
        sines = xp.concat([sines[:, :without_sine], sines[:, without_sine + 1 :]], axis=1)
    return xp.concat([xp.cos(phase) * factor, sines], axis=1)


def choose_sincos(dtype: Any, pairs: float = np.inf) -> tuple[SincosFunction, float]:
    """The function that writes cosines and sines, and the largest |phase| that it accepts.

    ``pairs``: how many cosines (and sines) are needed; few do not justify the import of numba.
    """
    is_double = np.dtype(dtype) == np.float64
    if implementation(time_in_numpy=_SECONDS_PER_PAIR * pairs) == "numpy":
        return write_sincos_numpy, LIMIT if is_double else np.inf
    constants = DOUBLE if is_double else SINGLE
    return compiled_sincos(constants), constants.limit


def place_columns(out: NDArray[Any] | None, columns: NDArray[Any], X: Any) -> NDArray[Any]:
    """Return numpy ``columns`` in ``out`` if it is given, or in the library of the rows X."""
    if is_foreign(X):
        return asarray_like(columns, X)
    if out is None:
        return columns
    _check_out(out, (columns.shape[0], columns.shape[1]), columns.dtype)[:] = columns
    return out


def _check_out(out: NDArray[Any] | None, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Validate the output array, or allocate one if there is none."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise ParameterError(
            f"The columns are written into an array of numpy, but out is a {type(out).__name__}. "
            f"Pass np.empty({shape}, {str(dtype)!r}), or omit out=."
        )
    if out.shape != shape or out.dtype != dtype or not out.flags.carray:
        raise ParameterError(
            f"The result is a contiguous array of shape {shape} and type {dtype}, but out has "
            f"shape {out.shape} and type {out.dtype}"
            + ("" if out.flags.c_contiguous else ", and is not contiguous")
            + ("" if out.flags.writeable else ", and cannot be written")
            + f". Pass np.empty({shape}, {str(dtype)!r}), or whole rows of a larger array."
        )
    return out


@dataclass(frozen=True, eq=False)
class Rays:
    """Frequencies radii[i] * directions[j], sorted by i and then j.

    ``directions`` (n_directions, d); ``radii`` (n_radii,).
    """

    directions: FloatArray
    radii: FloatArray

    @property
    def frequencies(self) -> FloatArray:
        """The products, shape (n_radii * n_directions, d)."""
        rows = self.radii[:, None, None] * self.directions
        return np.asarray(rows.reshape(-1, self.directions.shape[1]))


@dataclass(frozen=True)
class _Panel:
    """At most 512 consecutive frequencies: directions, times one radius if there are radii."""

    start: int  # index of the first frequency, and column of its cosine
    radius: Any
    scale: NDArray[Any]
    phases: NDArray[Any] | None
    largest_norm: float  # of a frequency
    largest_phase: float  # in absolute value
    sines: NDArray[np.intp]  # column of the sine of each frequency, -1 for none


@dataclass(frozen=True)
class _Work:
    """The computation of all columns, divided into tasks: some of the rows, all frequencies."""

    X: Any
    groups: list[tuple[NDArray[Any], list[_Panel]]]  # <= 512 directions (d, n), their panels
    out: NDArray[Any]
    write_sincos: SincosFunction
    limit: float  # largest |phase| of write_sincos
    block_size: int  # largest number of projections in the scratch array
    task_rows: int

    @classmethod
    def of(
        cls,
        X: Any,
        frequencies: FloatArray,
        scale: FloatArray,
        phases: FloatArray | None,
        without_sine: int | None,
        rays: Rays | None,
        out: NDArray[Any],
    ) -> _Work:
        n, dtype = len(frequencies), X.dtype
        sines = n + np.arange(n)
        if without_sine is not None:
            sines = np.insert(sines[:-1], without_sine, -1)
        norms = np.linalg.norm(frequencies, axis=1)

        def panel(start: int, stop: int, radius: float | None) -> _Panel:
            part = slice(start, stop)
            return _Panel(
                start,
                None if radius is None else np.dtype(dtype).type(radius),
                scale[part].astype(dtype),
                None if phases is None else phases[part].astype(dtype),
                float(norms[part].max()),
                0.0 if phases is None else float(np.abs(phases[part]).max()),
                sines[part],
            )

        radii: list[float | None] = [None] if rays is None else list(rays.radii)
        directions = frequencies if rays is None else rays.directions
        size = len(directions)
        groups = [
            (
                np.ascontiguousarray(directions[a:b].T, dtype=dtype),
                [panel(i * size + a, i * size + b, radius) for i, radius in enumerate(radii)],
            )
            for a, b in itertools.pairwise([*range(0, size, _BLOCK_COLUMNS), size])
        ]
        least = min(max(_LEAST_ROWS, _ROWS_PER_DIMENSION * X.shape[1]), _MOST_ROWS)
        write_sincos, limit = choose_sincos(dtype, X.shape[0] * n)
        task_rows = max(least, _PROJECTIONS_PER_TASK // max(n, 1))
        return cls(X, groups, out, write_sincos, limit, least * _BLOCK_COLUMNS, task_rows)

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return -(-len(self.out) // self.task_rows)

    def run(self, tasks: Iterator[int]) -> None:
        """Run the tasks in one thread, with its own scratch arrays."""
        widths = [directions.shape[1] for directions, _ in self.groups]
        size = max(min(self.block_size, max(widths, default=0) * self.task_rows), *widths, 0)
        # With radii, a second array holds the projections multiplied by one radius.
        scaled = any(panels[0].radius is not None for _, panels in self.groups)
        scratch = np.empty((1 + scaled, size), self.out.dtype)
        for task in tasks:
            first = task * self.task_rows
            rows = slice(first, min(first + self.task_rows, self.X.shape[0]))
            X, out = self.X[rows], self.out[rows]
            norms = _row_norms(X)
            for directions, panels in self.groups:
                n = directions.shape[1]
                step = size // n
                for start in range(0, len(out), step):
                    block = slice(start, min(start + step, len(out)))
                    arrays = scratch[:, : (block.stop - start) * n].reshape(1 + scaled, -1, n)
                    projections, phase = arrays[0], arrays[-1]
                    if issparse(X):
                        projections[:] = X[block] @ directions
                    else:
                        np.matmul(X[block], directions, out=projections)
                    for panel in panels:
                        if panel.radius is not None:
                            np.multiply(projections, panel.radius, out=phase)
                        self._write(panel, phase, float(norms[block].max()), out[block])

    def _write(self, panel: _Panel, phase: NDArray[Any], norm: float, out: NDArray[Any]) -> None:
        """Write the columns of a panel at rows whose norms are at most ``norm``."""
        if panel.phases is not None:
            phase += panel.phases
        if norm * panel.largest_norm + panel.largest_phase <= self.limit:
            self._write_bounded(panel, phase, out)
            return
        # Phases beyond the limit or not finite: np.cos and np.sin are accurate for any size.
        rows, columns = np.nonzero(~(np.abs(phase) <= self.limit))
        large, scale = phase[rows, columns].astype(np.float64), panel.scale[columns]
        phase[rows, columns] = 0.0
        self._write_bounded(panel, phase, out)
        out[rows, panel.start + columns] = np.cos(large) * scale
        sines = panel.sines[columns]
        kept = sines >= 0
        out[rows[kept], sines[kept]] = (np.sin(large) * scale)[kept]

    def _write_bounded(self, panel: _Panel, phase: NDArray[Any], out: NDArray[Any]) -> None:
        """Write cosines and sines before, at and after the frequency without a sine column."""
        n, first = panel.scale.size, 0
        for lone in np.flatnonzero(panel.sines < 0).tolist():
            pair = np.empty((len(phase), 2), out.dtype)
            self.write_sincos(phase, panel.scale, pair, (lone, lone + 1), 0, 1)
            out[:, panel.start + lone] = pair[:, 0]
            self._write_range(panel, phase, out, first, lone)
            first = lone + 1
        self._write_range(panel, phase, out, first, n)

    def _write_range(
        self, panel: _Panel, phase: NDArray[Any], out: NDArray[Any], first: int, stop: int
    ) -> None:
        if first < stop:
            sines = int(panel.sines[first])
            self.write_sincos(phase, panel.scale, out, (first, stop), panel.start + first, sines)


def _row_norms(X: Any) -> FloatArray:
    """Norms of rows, 0.1 % larger for rounding errors, and infinite if the squares overflow."""
    if issparse(X):
        X = X.astype(np.float64)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.asarray(1.001 * np.sqrt(squares))
