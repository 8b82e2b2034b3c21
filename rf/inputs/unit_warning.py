"""Warn if a kernel is nearly constant over the distances of the rows: a wrong unit or length."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.spatial.distance import cdist, pdist

from rf.inputs.arrays import on_host, user_stacklevel
from rf.inputs.rows import check_overflow, dense, divide_by_lengths, sample_of_rows
from spectra.base.arrays import FloatArray
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = ["LengthScaleWarning", "warn_if_constant", "warn_if_wrong_unit"]

Metric = Literal["euclidean", "cityblock"]

# Size of the in-memory cache: a grid search fits the same kernel many times.
_CACHE_SIZE = 64
# A kernel counts as constant where it varies by less than this fraction of its size (a judgement):
# to three digits its matrix is then a I + b J, with numbers a and b and the matrix J of ones.
_FLAT = 1e-3
# Distances at which a kernel is evaluated; each is 1.17 times the one before.
_DISTANCES = np.geomspace(1e-6, 1e6, 181)
# A kernel counts as unbounded if |k| at the largest distance is more than _GROWTH times the largest
# |k| up to the distance _GROWTH_FROM (a judgement; for log(1 + z) the ratio is 2).
_GROWTH, _GROWTH_FROM = 1.25, 1e3
# Distances for a table, in units of 1 / (median size of the coordinates of its frequencies).
_TABLE_DISTANCES = np.geomspace(1e-4, 1e2, 49)
_TABLE_FREQUENCIES = 1024
# Rows for all pairwise distances; rows searched for the nearest neighbours of _QUERY_ROWS rows.
_PAIR_ROWS, _SEARCHED_ROWS, _QUERY_ROWS = 128, 20_000, 64
# A fixed seed, so that the warning depends on the rows alone.
_SEED = 15


class LengthScaleWarning(UserWarning):
    """The kernel is nearly constant over the distances of the rows; check units and lengths."""


def warn_if_wrong_unit(kernel: Any, X: Any) -> None:
    """Warn if a kernel (of any class) or a table is nearly constant over the distances of the rows.

    Groups of columns are checked separately.  Kernels on the sphere, shifted kernels, matrices of
    lengths and tables of the l1 distance are not checked.
    """
    for place, profile, metric in kernel.unbounded_factors:
        if np.ndim(place.lengths) == 2:
            continue
        columns = list(range(X.shape[1]) if place.columns is None else place.columns)
        is_all = columns == list(range(X.shape[1]))
        rows = X if is_all else X[:, columns]
        if place.columns is not None:
            with np.errstate(over="ignore"):
                rows = divide_by_lengths(rows, np.array(place.lengths))
            check_overflow(rows)
        name = "X" if is_all else f"X[:, {columns}]"
        warn_if_constant(profile, rows, name=name, metric=metric)


def warn_if_constant(
    kernel: Kernel | SpectralTable, X: Any, *, name: str = "X", metric: Metric = "euclidean"
) -> None:
    """Warn if a radial kernel is nearly constant over the distances of the rows.

    ``X`` (n, d): rows divided by their lengths; ``name``: name of the rows in the message;
    ``metric``: the distance that the kernel depends on, as scipy names it.
    """
    near, far = _where_it_varies(kernel)
    sample = dense(sample_of_rows(on_host(X), np.random.default_rng(_SEED), _PAIR_ROWS))
    distances = pdist(sample, metric)
    distances = distances[distances > 0.0]
    if not distances.size or not near < far:
        return
    least, largest = float(distances.min()), float(distances.max())
    formula = kernel.formula if isinstance(kernel, SpectralTable) else kernel
    if largest < near:
        problem = (
            f"where {formula} equals k(0) to within {100 * _FLAT:g} %: all entries of the kernel "
            "matrix are nearly equal. Measure the rows in a smaller unit"
        )
    elif least > far and (least := _least_distance(X, least, metric)) > far:
        problem = (
            f"where {formula} varies by less than {100 * _FLAT:g} % of its size: all off-diagonal "
            "entries of the kernel matrix are nearly equal. Measure the rows in a larger unit"
        )
    else:
        return
    warnings.warn(
        f"The distances of the rows of {name} lie between {least:.3g} and {largest:.3g}, "
        f"{problem}: the kernel varies {_describe_range(near, far)}. "
        f"length_scale='median' would divide the rows by {float(np.median(distances)):.3g}.",
        LengthScaleWarning,
        stacklevel=user_stacklevel(),
    )


def _describe_range(near: float, far: float) -> str:
    if far == np.inf:
        return f"from the distance {near:.3g} on"
    return f"between the distances {near:.3g} and {far:.3g}"


def _least_distance(X: Any, least: float, metric: Metric) -> float:
    """The smaller of ``least`` and the least positive distance found in a search of many rows."""
    rng = np.random.default_rng(_SEED)
    rows = dense(sample_of_rows(on_host(X), rng, _SEARCHED_ROWS))
    distances = cdist(rows[rng.permutation(len(rows))[:_QUERY_ROWS]], rows, metric)
    positive = distances[distances > 0.0]
    return min(least, float(positive.min())) if positive.size else least


@lru_cache(maxsize=_CACHE_SIZE)
def _where_it_varies(kernel: Kernel | SpectralTable) -> tuple[float, float]:
    """Distances (near, far): k is nearly k(0) below ``near`` and nearly constant beyond ``far``.

    The result is (inf, 0) if no such distances are known: for a kernel that is constant, has no
    finite values or grows without bound.
    """
    if isinstance(kernel, SpectralTable):
        return _where_a_table_varies(kernel)
    with np.errstate(all="ignore"):
        values = kernel(_DISTANCES)
    known = np.isfinite(values)
    if not known.any():
        return np.inf, 0.0
    z, values = _DISTANCES[known], values[known]
    if abs(values[-1]) > _GROWTH * float(np.abs(values[z <= _GROWTH_FROM]).max(initial=0.0)):
        return np.inf, 0.0
    return _find_range(z, values, values[0], values[-1])


def _where_a_table_varies(table: SpectralTable) -> tuple[float, float]:
    """As _where_it_varies; the kernel of a table tends to the mass at the frequency 0."""
    if not table.parts:
        return np.inf, 0.0
    coordinates = np.abs(table.sample(_TABLE_FREQUENCIES, _SEED).frequencies[:, 0])
    if not np.any(coordinates > 0.0):
        return np.inf, 0.0
    z = _TABLE_DISTANCES / float(np.median(coordinates[coordinates > 0.0]))
    z = z[z <= table.domain]
    limit = sum(p.sign * p.mass * float(p.law.cdf(0.0)) for p in table.parts)
    return _find_range(z, table.expected_kernel(z), table.k_zero, limit)


def _find_range(z: FloatArray, values: FloatArray, k0: float, limit: float) -> tuple[float, float]:
    """The least z where values differ from k(0), and the z from which they equal their limit."""
    size = np.maximum(abs(k0), np.maximum.accumulate(np.abs(values)))
    from_zero = np.flatnonzero(np.abs(values - k0) > _FLAT * size)
    if not from_zero.size:
        return np.inf, 0.0
    from_limit = np.flatnonzero(np.abs(values - limit) > _FLAT * max(abs(k0), abs(limit)))
    end = int(from_limit[-1]) + 1 if from_limit.size else 0
    return float(z[from_zero[0]]), float(z[end]) if end < z.size else np.inf
