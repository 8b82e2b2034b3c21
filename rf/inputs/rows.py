"""Rows of data: lengths that divide them, whether they fit the kernel, their distances.

A table that was designed on distances up to ``domain`` says nothing about longer ones, so rows
further apart are refused.  Bounds from the norms settle most data in one pass; only rows that the
bounds leave open are compared pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist, pdist
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import row_norms

from rf.inputs.arrays import asarray_like, fits_squared, is_foreign, on_host
from spectra.base.arrays import FloatArray
from spectra.base.numbers import NORM_TOLERANCE, check_unit_norms, real_array
from spectra.errors import DataError, ParameterError

__all__ = [
    "FITTING_ADVICE",
    "LENGTHS",
    "MARGIN",
    "RowRange",
    "centre_of",
    "check_cross_distances",
    "check_distances",
    "check_size",
    "check_unit_rows",
    "checked_lengths",
    "dense",
    "divided",
    "graded_distances",
    "lengths_for",
    "product_of_lengths",
    "range_of_distances",
    "sample_of_rows",
    "typical_differences",
    "typical_distances",
]

# Rows in one block of pairwise distances: the block stays below 8 MiB.
_BLOCK = 1000
# Rows whose pairs stand for all pairs: 130 816 distances, a sampling error well below a percent.
_SAMPLE = 512
# Midpoints of equal strata of the sorted distances, at which a variance is averaged: enough to
# rank couplings and splits, whose variances differ by far more than the midpoint rule errs.
_LEVELS = 16
# Equal strata of the sorted distances, and as many whose numbers of pairs grow by the same factor:
# a mean of what falls with the distance is right to a percent.
_GRADED_LAYERS = 256
# Any seed will do: a scheme is a function of the rows, so that the variance that is stated is that
# of the draws of every seed, and a fit can use the integrals of another.
_SAMPLING = 12
# Up to this number of rows the largest distance is that of all pairs: two seconds.
_ALL_PAIRS = 20_000
# New rows may be this much further apart than those that were seen.
MARGIN = 0.05
# Products of rows lose about this much of their squared norms.
_PRODUCT_ROUNDING = 1e-9
# Any seed will do for the median distance too: it depends on the rows alone.
_MEDIAN = 15

#: What scikit-learn lets pass as ``length_scale``.
LENGTHS: list[Any] = [
    Interval(Real, 0, None, closed="neither"),
    "array-like",
    StrOptions({"median"}),
    None,
]

#: What to do where a fit is refused for its time.
FITTING_ADVICE = (
    "measure the rows in a unit in which the kernel varies over their distances, since a variance "
    "at distances of thousands of its lengths is expensive; or ask for fewer columns"
)
_WAY_OUT = "Rescale the data, or design the table on a larger domain."


def checked_lengths(length_scale: Any, dim: int) -> FloatArray:
    """A length for each of ``dim`` columns, from a number or from one for each."""
    lengths = real_array(length_scale, "length_scale")
    if lengths.shape not in ((), (dim,)) or not np.all((lengths > 0) & (lengths < np.inf)):
        raise ParameterError(
            f"length_scale = {length_scale!r}: give a positive number, or one for each of the "
            f"{dim} columns."
        )
    return np.array(np.broadcast_to(lengths, (dim,)))


def lengths_for(length_scale: Any, X: Any) -> FloatArray | None:
    """The lengths of the columns of X; None where rows are taken as they are.

    "median" is the median distance of (up to 512 of) the rows, for every column.
    """
    if length_scale is None:
        return None
    if isinstance(length_scale, str):
        if length_scale != "median":
            raise ParameterError(
                f"length_scale = {length_scale!r}: give a positive number, one for each column, or "
                "'median'."
            )
        length_scale = _median_distance(sample_of_rows(X, np.random.default_rng(_MEDIAN)))
    return checked_lengths(length_scale, X.shape[1])


def _median_distance(rows: Any) -> float:
    """The median distance of two rows."""
    if rows.shape[0] == 1:
        raise DataError(
            "length_scale='median' is the median distance of two rows, and X has 1 sample. Give a "
            "number as length_scale."
        )
    median = float(np.median(pdist(dense(rows))))
    if median == 0.0:
        raise DataError(
            "The median distance of two rows is 0, because half of the rows coincide: give a "
            "number as length_scale."
        )
    return median


def divided(X: Any, lengths: FloatArray | None) -> Any:
    """Rows over lengths, in the type and the library of X; X itself where there are none."""
    if lengths is None:
        return X
    if issparse(X):
        scaled = X.tocsr(copy=True)
        scaled.data /= lengths[scaled.indices].astype(scaled.dtype)
        return scaled
    return X / asarray_like(lengths, X)


def product_of_lengths(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    """The product of two lists of lengths, each of which may be missing."""
    if first is None or second is None:
        return second if first is None else first
    return first * second


@final
@dataclass(frozen=True, eq=False)
class RowRange:
    """The range of rows for which fitted features are right.

    ``domain``: largest distance of two rows; ``sphere``: the kernel whose rows lie on the unit
    sphere; empty where they lie anywhere; ``centre`` (d,): mean of the fitted rows.
    """

    domain: float
    sphere: str
    centre: FloatArray

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Refuse rows out of range."""
        if self.sphere:
            check_unit_rows(on_host(X), self.sphere)
        if np.isfinite(self.domain) and not at_any_distance:
            check_distances(on_host(X), self.domain, centre=self.centre)

    def check_between(self, X: Any, Y: Any) -> None:
        """Refuse a row of X and one of Y that are too far apart."""
        if np.isfinite(self.domain):
            check_cross_distances(on_host(X), on_host(Y), self.domain)


def check_unit_rows(X: Any, kernel: str) -> None:
    """Refuse rows that are off the unit sphere, naming the worst one."""
    check_unit_norms(_norms(X), f"the zonal kernel {kernel}")


def check_size(X: Any) -> None:
    """Refuse rows so long that the square of a distance is no number any more."""
    if is_foreign(X):
        if fits_squared(X):
            return
        X = on_host(X)
    with np.errstate(over="ignore"):
        # Twice the largest of d coordinates in each of two rows: no square of a distance is larger.
        largest = np.abs(X).max(axis=1)
        largest = np.asarray(largest.toarray() if issparse(largest) else largest, dtype=float)
    worst = int(largest.argmax())
    if not largest.ravel()[worst] < 0.5 * np.sqrt(np.finfo(X.dtype).max / X.shape[1]):
        raise DataError(
            f"Row {worst} has a coordinate of size {largest.ravel()[worst]:.3g}, and squares of "
            f"distances are beyond the range of {X.dtype}. Measure the data in a larger unit, for "
            "instance with sklearn.preprocessing.StandardScaler."
        )


def centre_of(X: Any) -> FloatArray:
    """Mean of the rows: no point is further from it than from the furthest of the rows."""
    return np.asarray(X.mean(axis=0), dtype=float).ravel()


def check_distances(X: Any, domain: float, *, centre: FloatArray) -> None:
    """Refuse rows if two of them are further apart than ``domain``.

    ``centre`` is the mean of the rows that a table was fitted on.  A row further from it than
    ``domain`` is further than that from one of those rows too, so it is refused as well.
    """
    limit = domain * (1.0 + NORM_TOLERANCE)
    norms = _norms(X)
    radius = _distances_from(X, norms, centre)
    worst = int(radius.argmax())
    if radius[worst] > limit:
        raise DataError(
            f"Row {worst} lies {radius[worst]:.6g} from the mean of the fitted rows, so further "
            f"than that from one of them, and the table represents its kernel up to the distance "
            f"{domain:.6g} only. " + _WAY_OUT
        )
    if 2.0 * min(norms.max(), radius.max()) <= limit:
        return
    if np.sqrt(2.0) * norms.max() <= limit and X.min() >= 0:
        return  # |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>, and <x, y> >= 0
    candidates = np.flatnonzero(radius + radius.max() > limit)
    rows = dense(X[candidates])
    for start in range(0, len(rows), _BLOCK):
        _refuse_far(rows[start : start + _BLOCK], rows[start:], domain, limit)


def check_cross_distances(X: Any, Y: Any, domain: float) -> None:
    """Refuse a row of X and a row of Y that are further apart than ``domain``."""
    limit = domain * (1.0 + NORM_TOLERANCE)
    if _norms(X).max() + _norms(Y).max() <= limit:
        return
    other = dense(Y)
    for start in range(0, X.shape[0], _BLOCK):
        _refuse_far(dense(X[start : start + _BLOCK]), other, domain, limit)


def typical_distances(rows: Any, shift: FloatArray | None = None) -> FloatArray:
    """Distances that stand for those of all pairs of rows: midpoints of equal strata.

    With a ``shift`` r they are |x - y + r|, of ordered pairs.

    Returns: ascending; the single distance 0 where there is only one row.
    """
    # Sorting is one vectorised pass, several times faster than to select sixteen pairs of ranks.
    ordered = _ordered_distances(rows, shift)
    if ordered.size == 1:
        return ordered
    place = (np.arange(_LEVELS) + 0.5) / _LEVELS * (ordered.size - 1)
    below = place.astype(np.intp)
    above = np.minimum(below + 1, ordered.size - 1)
    return np.asarray(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


def graded_distances(rows: Any, shift: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Distances as in :func:`typical_distances` in strata that narrow to the least, and shares.

    What a kernel is on most pairs of rows may be nothing, and the few near ones rule its size.

    Returns ``distances``, ``shares``: at most 512; the shares of all pairs sum to 1.
    """
    ordered = _ordered_distances(rows, shift)
    edges = np.concatenate(
        [
            np.linspace(0.0, ordered.size, _GRADED_LAYERS + 1),
            np.geomspace(1.0, ordered.size, _GRADED_LAYERS),
        ]
    )
    edges = np.unique(np.round(edges).astype(np.intp))
    return ordered[(edges[:-1] + edges[1:]) // 2], np.diff(edges) / ordered.size


def _ordered_distances(rows: Any, shift: FloatArray | None) -> FloatArray:
    if rows.shape[0] == 1:
        return np.array([0.0 if shift is None else np.linalg.norm(shift)])
    full = dense(rows)
    if shift is not None and shift.any():
        distances = cdist(full + shift, full)[~np.eye(len(full), dtype=bool)]
    else:
        distances = pdist(full)
    return np.sort(distances)


def typical_differences(rows: Any, pairs: int) -> FloatArray:
    """Differences x - y of random pairs of distinct rows, shape (pairs, d); 0 for a single row.

    The same rows give the same pairs, so that a scheme is a function of the data.
    """
    count = rows.shape[0]
    if count == 1:
        return np.zeros((1, rows.shape[1]))
    rng = np.random.default_rng(_SAMPLING)
    first = rng.integers(count, size=pairs)
    second = (first + rng.integers(1, count, size=pairs)) % count
    return dense(rows[first] - rows[second])


def range_of_distances(X: Any, *, sphere: bool) -> tuple[float, str]:
    """A distance that no two rows exceed, with room for new rows, and where it comes from.

    It is the least of what the norms allow (twice the largest distance from the mean; 2 for unit
    rows; sqrt(2) times the largest norm for rows without negative entries) and, for up to 20 000
    rows, 1.05 times the largest distance that occurs.

    Returns ``z_max``: at least a positive number, so that a domain (0, z_max) is one.
    """
    norms, centre = _norms(X), centre_of(X)
    bounds = [(2.0 * float(norms.max()), "twice the largest norm")]
    if sphere:
        bounds.append((2.0, "the diameter of the unit sphere"))
    if X.min() >= 0:
        root = float(np.sqrt(2.0) * norms.max())
        bounds.append((root, "no two rows without negative entries are further apart"))
    radius = float(_distances_from(X, norms, centre).max())
    bounds.append((2.0 * radius * (1.0 + MARGIN), "twice the largest distance from the mean"))
    if X.shape[0] <= _ALL_PAIRS:
        seen = max(_largest_distance(X), NORM_TOLERANCE * float(norms.max()))
        bounds.append(
            ((1.0 + MARGIN) * seen, f"{100 * MARGIN:g} % more than the largest distance of X")
        )
    z_max, reason = min(bounds)
    return (z_max, reason) if z_max > 0.0 else (1.0, "all rows are 0")


def sample_of_rows(X: Any, rng: np.random.Generator | None = None, most: int = _SAMPLE) -> Any:
    """At most that many different rows, drawn in order without replacement.

    Without a generator the sample is a function of the rows.
    """
    if X.shape[0] <= most:
        return X
    rng = np.random.default_rng(_SAMPLING) if rng is None else rng
    return X[np.sort(rng.choice(X.shape[0], most, replace=False))]


def _distances_from(X: Any, norms: FloatArray, centre: FloatArray) -> FloatArray:
    square = norms**2 - 2.0 * np.asarray(X @ centre).ravel() + float(centre @ centre)
    # A sum of squares that cancels to a negative rounding error is a distance of zero.
    return np.asarray(np.sqrt(np.where(square > 0.0, square, 0.0)))


def _largest_distance(X: Any) -> float:
    square = _norms(X) ** 2
    largest = 0.0
    for start in range(0, X.shape[0], _BLOCK):
        left = slice(start, start + _BLOCK)
        products = dense(X[left] @ X[start:].T)
        distances = square[left, None] + square[start:] - 2.0 * products
        largest = max(largest, float(distances.max()))
    return float(np.sqrt(largest))


def _refuse_far(X: FloatArray, Y: FloatArray, domain: float, limit: float) -> None:
    # A product of matrices settles most blocks, many times faster than their distances.
    left, right = np.sum(X**2, axis=1), np.sum(Y**2, axis=1)
    square = left[:, None] + right - 2.0 * (X @ Y.T)
    if square.max() < limit**2 - _PRODUCT_ROUNDING * (left.max() + right.max()):
        return
    distance = cdist(X, Y)
    if distance.max() > limit:
        raise DataError(
            f"Two rows are {distance.max():.6g} apart, and the table represents its kernel up to "
            f"the distance {domain:.6g} only. " + _WAY_OUT
        )


def _norms(X: Any) -> FloatArray:
    return np.asarray(np.sqrt(np.asarray(row_norms(X, squared=True), dtype=float)))


def dense(X: Any) -> FloatArray:
    """Rows in double precision and not sparse."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=float)
