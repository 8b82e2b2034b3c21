"""Rows of data: division by length scales, checks against the kernel's range, distances.

A table designed for distances up to ``domain`` does not represent longer ones, so rows further
apart are refused.  Bounds from the norms suffice for most data; pairwise distances are computed
only for rows that the bounds do not decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist, pdist
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import row_norms

from rf.inputs.arrays import asarray_like, is_foreign, on_host, squares_are_finite
from spectra.base.arrays import FloatArray
from spectra.base.numbers import NORM_TOLERANCE, check_unit_norms, real_array
from spectra.errors import DataError, ParameterError

__all__ = [
    "FITTING_ADVICE",
    "LENGTH_SCALE_CONSTRAINT",
    "MARGIN",
    "RowRange",
    "centre_of",
    "check_cross_distances",
    "check_distances",
    "check_overflow",
    "check_unit_rows",
    "checked_lengths",
    "dense",
    "divide_by_lengths",
    "graded_distances",
    "lengths_for",
    "norms_of",
    "product_of_lengths",
    "range_of_distances",
    "refuse_matrix",
    "sample_of_rows",
    "typical_differences",
    "typical_distances",
]

# Rows whose distances to all other rows are in memory at one time: 8 kB for each other row.
_BLOCK = 1000
# Rows in a sample: their 130 816 distances give means with an error well below a percent.
_SAMPLE_ROWS = 512
# Quantiles of the distances over which a variance is averaged: enough to rank couplings and
# allocations, whose variances differ by far more than the error of this midpoint rule.
_QUANTILES = 16
# Number of equal and of geometric strata in graded_distances: for means to about a percent.
_GRADED_STRATA = 256
# A fixed seed, so that the sample and all that is computed from it depend on the rows alone.
_SAMPLE_SEED = 12
# Largest number of rows for which all pairwise distances are computed: two seconds.
_ALL_PAIRS = 20_000
# Relative margin for new rows, which may be further apart than the fitted rows.
MARGIN = 0.05
# Bound of the rounding error of products of rows, relative to their squared norms.
_PRODUCT_ROUNDING = 1e-9
# Largest condition number of a matrix of lengths: distances keep four digits.
_MOST_CONDITION = 1e12
# A fixed seed, so that the median distance depends on the rows alone.
_MEDIAN_SEED = 15

#: Values that scikit-learn's parameter validation accepts for ``length_scale``.
LENGTH_SCALE_CONSTRAINT: list[Any] = [
    Interval(Real, 0, None, closed="neither"),
    "array-like",
    StrOptions({"median"}),
    None,
]

#: Advice in the error of a fit that exceeds the time limit.
FITTING_ADVICE = (
    "use a length_scale comparable to the distances of the rows, since variances are expensive to "
    "compute at distances of thousands of lengths; or use fewer columns"
)
_DOMAIN_ADVICE = "Rescale the data, or design the table on a larger domain."


def checked_lengths(length_scale: Any, dim: int) -> FloatArray:
    """Validate ``length_scale``, and return shape (dim,), or (dim, dim) for a full matrix."""
    lengths = real_array(length_scale, "length_scale")
    if lengths.shape == (dim, dim):
        diagonal = np.diagonal(lengths)
        if not np.array_equal(lengths, np.diag(diagonal)):
            if not (np.isfinite(lengths).all() and np.linalg.cond(lengths) < _MOST_CONDITION):
                raise ParameterError(
                    "The matrix length_scale is singular, or not finite, so it has no inverse. "
                    "rf.anisotropy(lengths, angles) makes a regular one."
                )
            return lengths
        lengths = np.abs(diagonal)
    if lengths.shape not in ((), (dim,)) or not np.all((lengths > 0) & (lengths < np.inf)):
        raise ParameterError(
            f"length_scale = {length_scale!r}: give a positive number, one for each of the {dim} "
            f"columns, or a matrix of shape ({dim}, {dim}) without zeros on its diagonal."
        )
    return np.array(np.broadcast_to(lengths, (dim,)))


def lengths_for(length_scale: Any, X: Any) -> FloatArray | None:
    """Lengths of the columns of X, shape (d,) or (d, d), or None if ``length_scale`` is None.

    "median" gives every column the median distance between (at most 512 of) the rows.
    """
    if length_scale is None:
        return None
    if isinstance(length_scale, str):
        if length_scale != "median":
            raise ParameterError(
                f"length_scale = {length_scale!r}: give a positive number, one for each column, or "
                "'median'."
            )
        length_scale = _median_distance(sample_of_rows(X, np.random.default_rng(_MEDIAN_SEED)))
    return checked_lengths(length_scale, X.shape[1])


def _median_distance(rows: Any) -> float:
    """The median distance between two rows."""
    if rows.shape[0] == 1:
        raise DataError(
            "length_scale='median' needs at least two rows, and X has 1 sample. Give a number as "
            "length_scale."
        )
    median = float(np.median(pdist(dense(rows))))
    if median == 0.0:
        raise DataError(
            "The median distance of two rows is 0, because half of the rows coincide: give a "
            "number as length_scale."
        )
    return median


def divide_by_lengths(X: Any, lengths: FloatArray | None) -> Any:
    """X / lengths, or rows M^-1 x for a matrix M, in the dtype and library of X; X for None."""
    if lengths is None:
        return X
    if lengths.ndim == 2:
        inverse = np.linalg.inv(on_host(lengths)).T
        return X @ (inverse.astype(X.dtype) if issparse(X) else asarray_like(inverse, X))
    if issparse(X):
        scaled = X.tocsr(copy=True)
        scaled.data /= lengths[scaled.indices].astype(scaled.dtype)
        return scaled
    return X / asarray_like(lengths, X)


def product_of_lengths(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    """What divides by ``second``, then by ``first``; None stands for ones."""
    if first is None or second is None:
        return second if first is None else first
    if second.ndim == first.ndim == 2:
        return np.asarray(second @ first)
    return second[:, None] * first if first.ndim == 2 else second * first


def refuse_matrix(lengths: FloatArray | None, kernel: Any) -> None:
    """Refuse a matrix of lengths for a kernel of groups of columns or of the l1 distance."""
    if lengths is not None and lengths.ndim == 2:
        raise ParameterError(
            f"length_scale is a matrix, which mixes the columns, and {kernel} is a function of "
            "separate columns, not of |x - y|. Give a length for each column, or a radial kernel."
        )


@dataclass(frozen=True, eq=False)
class RowRange:
    """The rows for which fitted features represent the kernel.

    ``domain``: largest distance between rows; ``sphere``: the formula of a kernel on the unit
    sphere, empty for other kernels; ``centre`` (d,): mean of the fitted rows.
    """

    domain: float
    sphere: str
    centre: FloatArray

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Raise if rows are out of range; ``at_any_distance`` omits the check of distances."""
        if self.sphere:
            check_unit_rows(on_host(X), self.sphere)
        if np.isfinite(self.domain) and not at_any_distance:
            check_distances(on_host(X), self.domain, centre=self.centre)

    def check_between(self, X: Any, Y: Any) -> None:
        """Raise if a row of X and a row of Y are too far apart."""
        if np.isfinite(self.domain):
            check_cross_distances(on_host(X), on_host(Y), self.domain)


def check_unit_rows(X: Any, kernel: str) -> None:
    """Raise if rows are off the unit sphere; the message names the worst row."""
    check_unit_norms(norms_of(X), f"the zonal kernel {kernel}")


def check_overflow(X: Any) -> None:
    """Raise if squared distances between the rows may overflow."""
    if is_foreign(X):
        if squares_are_finite(X):
            return
        X = on_host(X)
    with np.errstate(over="ignore"):
        # For entries of size at most a, squared distances are at most d (2 a)^2.
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
    """Mean of the rows, shape (d,)."""
    return np.asarray(X.mean(axis=0), dtype=float).ravel()


def check_distances(X: Any, domain: float, *, centre: FloatArray) -> None:
    """Raise if two rows are further apart than ``domain``.

    ``centre`` is the mean of the fitted rows.  A row further than ``domain`` from the centre is
    refused too: at least one of the fitted rows is as far from this row as the centre.
    """
    limit = domain * (1.0 + NORM_TOLERANCE)
    norms = norms_of(X)
    radius = _distances_from(X, norms, centre)
    worst = int(radius.argmax())
    if radius[worst] > limit:
        raise DataError(
            f"Row {worst} lies {radius[worst]:.6g} from the mean of the fitted rows, so at least "
            f"as far from one of them, but the table represents its kernel only up to the distance "
            f"{domain:.6g}. " + _DOMAIN_ADVICE
        )
    if 2.0 * min(norms.max(), radius.max()) <= limit:
        return
    if np.sqrt(2.0) * norms.max() <= limit and X.min() >= 0:
        return  # |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>, and <x, y> >= 0
    candidates = np.flatnonzero(radius + radius.max() > limit)
    rows = dense(X[candidates])
    for start in range(0, len(rows), _BLOCK):
        _check_pairs(rows[start : start + _BLOCK], rows[start:], domain, limit)


def check_cross_distances(X: Any, Y: Any, domain: float) -> None:
    """Raise if a row of X and a row of Y are further apart than ``domain``."""
    limit = domain * (1.0 + NORM_TOLERANCE)
    if norms_of(X).max() + norms_of(Y).max() <= limit:
        return
    other = dense(Y)
    for start in range(0, X.shape[0], _BLOCK):
        _check_pairs(dense(X[start : start + _BLOCK]), other, domain, limit)


def typical_distances(rows: Any, shift: FloatArray | None = None) -> FloatArray:
    """Quantiles of the distances |x - y + r| between rows, at the levels (i + 1/2)/16, ascending.

    The ``shift`` r is 0 by default.  A single row gives the single distance |r|.
    """
    # np.sort is several times faster here than np.quantile, which partitions at each level.
    ordered = _sorted_distances(rows, shift)
    if ordered.size == 1:
        return ordered
    position = (np.arange(_QUANTILES) + 0.5) / _QUANTILES * (ordered.size - 1)
    below = position.astype(np.intp)
    above = np.minimum(below + 1, ordered.size - 1)
    return np.asarray(ordered[below] + (position - below) * (ordered[above] - ordered[below]))


def graded_distances(rows: Any, shift: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a mean over the distances |x - y + r|, finer at short distances.

    Use it if the kernel is almost 0 at nearly all distances, so that a few short distances dominate
    the mean.  The ``shift`` r is 0 by default.

    Returns ``distances`` (at most 511, ascending) and ``weights``: fractions of the pairs, sum 1.
    """
    ordered = _sorted_distances(rows, shift)
    edges = np.concatenate(
        [
            np.linspace(0.0, ordered.size, _GRADED_STRATA + 1),
            np.geomspace(1.0, ordered.size, _GRADED_STRATA),
        ]
    )
    edges = np.unique(np.round(edges).astype(np.intp))
    return ordered[(edges[:-1] + edges[1:]) // 2], np.diff(edges) / ordered.size


def _sorted_distances(rows: Any, shift: FloatArray | None) -> FloatArray:
    """All |x - y + r| with x != y, sorted; ordered pairs if the shift r is not 0."""
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

    The pairs are drawn with a fixed seed, so the result depends on the rows alone.
    """
    count = rows.shape[0]
    if count == 1:
        return np.zeros((1, rows.shape[1]))
    rng = np.random.default_rng(_SAMPLE_SEED)
    first = rng.integers(count, size=pairs)
    second = (first + rng.integers(1, count, size=pairs)) % count
    return dense(rows[first] - rows[second])


def range_of_distances(X: Any, diameter: float) -> tuple[float, str]:
    """An upper bound of the distances between rows, and the reason for it.

    The bound is the least of: twice the largest norm; 2.1 times the largest distance from the mean;
    the ``diameter`` of the unit sphere; sqrt(2) times the largest norm for rows without negative
    entries; 1.05 times the largest distance (for up to 20 000 rows).  The 5 percent in two of these
    are a margin for new rows.  Returns ``z_max`` > 0 (1 if the least bound is 0), ``reason``.
    """
    norms, centre = norms_of(X), centre_of(X)
    bounds = [
        (2.0 * float(norms.max()), "twice the largest norm"),
        (diameter, "the diameter of the unit sphere"),
    ]
    if X.min() >= 0:
        root = float(np.sqrt(2.0) * norms.max())
        bounds.append((root, "no two rows without negative entries are further apart"))
    radius = float(_distances_from(X, norms, centre).max())
    bounds.append((2.0 * radius * (1.0 + MARGIN), "twice the largest distance from the mean"))
    if X.shape[0] <= _ALL_PAIRS:
        largest = max(_largest_distance(X), NORM_TOLERANCE * float(norms.max()))
        bounds.append(
            ((1.0 + MARGIN) * largest, f"{100 * MARGIN:g} % more than the largest distance of X")
        )
    z_max, reason = min(bounds)
    return (z_max, reason) if z_max > 0.0 else (1.0, "all rows are equal")


def sample_of_rows(X: Any, rng: np.random.Generator | None = None, most: int = _SAMPLE_ROWS) -> Any:
    """At most ``most`` rows, drawn without replacement and kept in order.

    Without ``rng`` a fixed seed is used, so the sample depends on the rows alone.
    """
    if X.shape[0] <= most:
        return X
    rng = np.random.default_rng(_SAMPLE_SEED) if rng is None else rng
    return X[np.sort(rng.choice(X.shape[0], most, replace=False))]


def _distances_from(X: Any, norms: FloatArray, centre: FloatArray) -> FloatArray:
    """Distances |x - centre| of the rows x, whose norms are given."""
    square = norms**2 - 2.0 * np.asarray(X @ centre).ravel() + float(centre @ centre)
    # Rounding can make the square of a small distance negative.
    return np.asarray(np.sqrt(np.where(square > 0.0, square, 0.0)))


def _largest_distance(X: Any) -> float:
    norms = norms_of(X)
    centre = centre_of(X)
    radius = _distances_from(X, norms, centre)
    far = dense(X[[int(radius.argmax())]])[0]
    # A pair that is further apart than ``far`` and its furthest row has no row near the centre.
    least = float(_distances_from(X, norms, far).max()) - float(radius.max())
    X = X[np.flatnonzero(radius >= least - NORM_TOLERANCE * float(norms.max()))]
    square = norms_of(X) ** 2
    largest = 0.0
    for start in range(0, X.shape[0], _BLOCK):
        left = slice(start, start + _BLOCK)
        products = dense(X[left] @ X[start:].T)
        distances = square[left, None] + square[start:] - 2.0 * products
        largest = max(largest, float(distances.max()))
    return float(np.sqrt(largest))


def _check_pairs(X: FloatArray, Y: FloatArray, domain: float, limit: float) -> None:
    """Raise if a row of X and a row of Y are further apart than ``limit``."""
    # Most blocks pass this matrix product, which is many times faster than cdist.
    left, right = np.sum(X**2, axis=1), np.sum(Y**2, axis=1)
    square = left[:, None] + right - 2.0 * (X @ Y.T)
    if square.max() < limit**2 - _PRODUCT_ROUNDING * (left.max() + right.max()):
        return
    distance = cdist(X, Y)
    if distance.max() > limit:
        raise DataError(
            f"Two rows are {distance.max():.6g} apart, but the table represents its kernel only up "
            f"to the distance {domain:.6g}. " + _DOMAIN_ADVICE
        )


def norms_of(X: Any) -> FloatArray:
    """Norms of rows, dense or sparse."""
    return np.asarray(np.sqrt(np.asarray(row_norms(X, squared=True), dtype=float)))


def dense(X: Any) -> FloatArray:
    """Rows as a dense float64 array."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=float)
