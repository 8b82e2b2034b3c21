"""The dense work of every feature map: cosines and sines of projections, block by block.

A block of rows is projected into a scratch array that stays in the second-level cache, and its
cosines and sines are written straight into their places, scaled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rf.feature_maps.compiled_sincos import DOUBLE, SINGLE, waves_with_numba
from rf.feature_maps.sincos import LIMIT, waves_with_numpy
from rf.feature_maps.threads import on_threads, serial_blas
from rf.inputs.arrays import array_waves, asarray_like, is_foreign
from spectra.base.arrays import FloatArray
from spectra.base.compiled import implementation
from spectra.errors import ParameterError

__all__ = ["Rays", "copied_into", "wave_columns", "wave_kernel"]

WaveKernel = Callable[[Any, Any, Any, tuple[int, int], int, int], None]

# What a cosine and its sine take with numpy.
_SECONDS_OF_A_WAVE = 2e-8
# Columns of a block, and least rows.  Measured on 2 MB of second-level cache, on a busy machine: a
# megabyte of doubles is still read back from the cache, and the calls are not seen beside the work.
_PANEL = 512
_ROWS = 256
# A product copies its factors before it starts, d for each row and each column: with 2 d rows that
# is little beside the sums.  Beyond 1024 rows the block leaves the cache for no more gain.
_ROWS_FOR_DIMENSION = 2
_MOST_ROWS = 1024
# Projections of one task for a thread: milliseconds, so that the start of a thread is not seen.
_TASK = 1 << 20
# Products below this number of multiplications are not shared out by BLAS either.
_SMALL = 1 << 18


def wave_columns(
    X: Any,
    frequencies: FloatArray,
    scale: FloatArray,
    phases: FloatArray | None = None,
    *,
    without_sine: int | None = None,
    rays: Rays | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Columns scale * cos(X w + phase) for all frequencies, then scale * sin(X w + phase).

    ``X`` (rows, d): float32 or float64; ``frequencies`` (n, d); ``scale`` (n,); ``phases`` (n,):
    zero where left out; ``without_sine``: a frequency that gets no sine column; ``rays``: the same
    frequencies, where they are all radii on all directions: rows are projected once; ``out``: where
    the columns are written, instead of into a new array: contiguous, of the shape and type of what
    is returned.  New memory costs more than all else for few coordinates; returns: of the type of
    X.

    With u = 2^-53 for float64 and 2^-24 for float32, the sine and cosine of the rounded phase are
    right to 2 u, and the phase errs by at most (d + 3) u (sum_k |w_k x_k| + |phase|): by about
    as much as the rounding of X to its own type makes uncertain.  A column is off by no more than
    scale times the sum of both, and 3 u.
    """
    if is_foreign(X):
        waves: NDArray[Any] = array_waves(X, frequencies, scale, phases, without_sine, out)
        return waves
    columns = 2 * len(frequencies) - (without_sine is not None)
    out = _checked(out, (X.shape[0], columns), X.dtype)
    work = _Work.of(X, frequencies, scale, phases, without_sine, rays, out)
    if X.shape[0] * len(frequencies) * X.shape[1] <= _SMALL:
        work.run(iter(range(work.tasks)))
        return out
    with serial_blas() as threads:
        on_threads(work.run, work.tasks, threads)
    return out


def wave_kernel(dtype: Any, waves: float = np.inf) -> tuple[WaveKernel, float]:
    """The function that writes cosines and sines of a block, and the largest phase it takes.

    ``waves``: how many are made.
    """
    if implementation(time_in_numpy=_SECONDS_OF_A_WAVE * waves) == "numpy":
        return waves_with_numpy, LIMIT if np.dtype(dtype) == np.float64 else np.inf
    return waves_with_numba, (DOUBLE if np.dtype(dtype) == np.float64 else SINGLE).limit


def copied_into(out: NDArray[Any] | None, columns: NDArray[Any], X: Any) -> NDArray[Any]:
    """Columns of rows X that were made elsewhere, in ``out`` where there is one."""
    if is_foreign(X):
        moved: NDArray[Any] = asarray_like(columns, X)
        return moved
    if out is None:
        return columns
    _checked(out, (columns.shape[0], columns.shape[1]), columns.dtype)[:] = columns
    return out


def _checked(out: NDArray[Any] | None, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise ParameterError(
            f"The columns are written into an array of numpy, and out is a {type(out).__name__}. "
            f"Pass np.empty({shape}, {str(dtype)!r}), or leave out= away."
        )
    if out.shape != shape or out.dtype != dtype or not out.flags.carray:
        raise ParameterError(
            f"The columns are a contiguous array of shape {shape} and type {dtype}, and out has "
            f"shape {out.shape} and type {out.dtype}"
            + ("" if out.flags.c_contiguous else ", and is not contiguous")
            + ("" if out.flags.writeable else ", and cannot be written")
            + f". Pass np.empty({shape}, {str(dtype)!r}), or whole rows of a larger array."
        )
    return out


@final
@dataclass(frozen=True, eq=False)
class Rays:
    """Frequencies radius_i direction_j, those of the first radius first.

    ``directions`` (P, d); ``radii`` (R,).
    """

    directions: FloatArray
    radii: FloatArray

    @property
    def frequencies(self) -> FloatArray:
        """All of them, shape (R P, d)."""
        rows = self.radii[:, None, None] * self.directions
        return np.asarray(rows.reshape(-1, self.directions.shape[1]))


@final
@dataclass(frozen=True)
class _Panel:
    """Consecutive frequencies: those of a projection, or this radius times its directions."""

    start: int
    radius: Any
    scale: NDArray[Any]
    shift: NDArray[Any] | None
    reach: float  # largest norm of a frequency
    offset: float  # largest phase
    sines: NDArray[np.intp]  # column of the sine of each, -1 for none


@final
@dataclass(frozen=True)
class _Work:
    """All that a thread needs, and what it does: tasks of some rows by all panels."""

    X: Any
    groups: list[tuple[NDArray[Any], list[_Panel]]]  # directions (d, columns), and their panels
    out: NDArray[Any]
    kernel: WaveKernel
    limit: float
    block: int  # most projections at once
    rows: int  # of a task

    @classmethod
    def of(
        cls,
        X: Any,
        frequencies: FloatArray,
        scale: FloatArray,
        phases: FloatArray | None,
        lone: int | None,
        rays: Rays | None,
        out: NDArray[Any],
    ) -> _Work:
        n, dtype = len(frequencies), X.dtype
        sines = n + np.arange(n) if lone is None else np.insert(n + np.arange(n - 1), lone, -1)
        reach = np.linalg.norm(frequencies, axis=1)

        def panel(start: int, stop: int, radius: float | None) -> _Panel:
            part = slice(start, stop)
            shift = None if phases is None else phases[part]
            return _Panel(
                start,
                None if radius is None else np.dtype(dtype).type(radius),
                scale[part].astype(dtype),
                None if shift is None else shift.astype(dtype),
                float(reach[part].max()),
                0.0 if shift is None else float(np.abs(shift).max()),
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
            for a, b in itertools.pairwise([*range(0, size, _PANEL), size])
        ]
        least = min(max(_ROWS, _ROWS_FOR_DIMENSION * X.shape[1]), _MOST_ROWS)
        kernel, limit = wave_kernel(dtype, X.shape[0] * n)
        task = max(least, _TASK // max(n, 1))
        return cls(X, groups, out, kernel, limit, block=least * _PANEL, rows=task)

    @property
    def tasks(self) -> int:
        return -(-len(self.out) // self.rows)

    def run(self, tasks: Iterator[int]) -> None:
        """Do the tasks, with scratch arrays of one's own."""
        widths = [weights.shape[1] for weights, _ in self.groups]
        size = max(min(self.block, max(widths, default=0) * self.rows), *widths, 0)
        # Radii need a second array: the projections serve all of them.
        scaled = any(panels[0].radius is not None for _, panels in self.groups)
        scratch = np.empty((1 + scaled, size), self.out.dtype)
        for task in tasks:
            first = task * self.rows
            rows = slice(first, min(first + self.rows, self.X.shape[0]))
            X, out = self.X[rows], self.out[rows]
            length = _row_norms(X)
            for weights, panels in self.groups:
                n = weights.shape[1]
                step = size // n
                for start in range(0, len(out), step):
                    few = slice(start, min(start + step, len(out)))
                    each = scratch[:, : (few.stop - start) * n].reshape(1 + scaled, -1, n)
                    if issparse(X):
                        each[0][:] = X[few] @ weights
                    else:
                        np.matmul(X[few], weights, out=each[0])
                    for panel in panels:
                        phase = each[-1]
                        if panel.radius is not None:
                            np.multiply(each[0], panel.radius, out=phase)
                        self._panel(panel, phase, float(length[few].max()), out[few])

    def _panel(self, panel: _Panel, phase: NDArray[Any], length: float, out: NDArray[Any]) -> None:
        if panel.shift is not None:
            phase += panel.shift
        bounded = length * panel.reach + panel.offset <= self.limit
        huge = None if bounded else _far(phase, self.limit)
        self._waves(panel, phase, out)
        if huge is not None:
            _put(huge, panel, out)

    def _waves(self, panel: _Panel, phase: NDArray[Any], out: NDArray[Any]) -> None:
        """Cosines and sines before, at and after the frequency that has no sine."""
        n, first = panel.scale.size, 0
        for lone in np.flatnonzero(panel.sines < 0).tolist():
            both = np.empty((len(phase), 2), out.dtype)
            self.kernel(phase, panel.scale, both, (lone, lone + 1), 0, 1)
            out[:, panel.start + lone] = both[:, 0]
            self._stretch(panel, phase, out, first, lone)
            first = lone + 1
        self._stretch(panel, phase, out, first, n)

    def _stretch(
        self, panel: _Panel, phase: NDArray[Any], out: NDArray[Any], first: int, stop: int
    ) -> None:
        if first < stop:
            sines = int(panel.sines[first])
            self.kernel(phase, panel.scale, out, (first, stop), panel.start + first, sines)


_Far = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]


def _row_norms(X: Any) -> FloatArray:
    """Bounds of the lengths of rows; infinite where their squares are."""
    if issparse(X):
        X = X.astype(np.float64)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.asarray(1.001 * np.sqrt(squares))


def _far(phase: NDArray[Any], limit: float) -> _Far | None:
    """Where phases are beyond the limit, or not finite, and what they are; they become zero."""
    rows, columns = np.nonzero(~(np.abs(phase) <= limit))
    if not rows.size:
        return None
    values = phase[rows, columns].astype(np.float64)
    phase[rows, columns] = 0.0
    return rows, columns, values


def _put(far: _Far, panel: _Panel, out: NDArray[Any]) -> None:
    """Waves of far phases by numpy's functions, which reduce them with all the digits of pi."""
    rows, columns, values = far
    scale = panel.scale[columns]
    out[rows, panel.start + columns] = np.cos(values) * scale
    sines = panel.sines[columns]
    kept = sines >= 0
    out[rows[kept], sines[kept]] = np.sin(values[kept]) * scale[kept]
