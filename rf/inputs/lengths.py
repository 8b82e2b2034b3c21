"""Lengths that rows are divided by before the kernel sees them, and whether they fit the kernel."""

from __future__ import annotations

import warnings
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist, pdist
from sklearn.utils._param_validation import Interval, StrOptions

from rf.inputs.arrays import asarray_like, on_host, user_stacklevel
from rf.inputs.rows import check_size, dense, sample_of_rows
from spectra.base.arrays import FloatArray
from spectra.base.numbers import real_array
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable, table_of_group

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel

__all__ = [
    "LENGTHS",
    "LengthScaleWarning",
    "checked_lengths",
    "divided",
    "lengths_for",
    "median_distance",
    "product_of_lengths",
    "warn_of_lengths",
    "warn_of_units",
]

Metric = Literal["euclidean", "cityblock"]

# A kernel is constant where it varies by less than this part of its size (chosen): a matrix of
# such values is, to three digits, a multiple of ones, or of ones and the identity.
_FLAT = 1e-3
# Distances at which the values of a kernel are compared, at steps of a sixth.
_DISTANCES = np.geomspace(1e-6, 1e6, 181)
# A kernel grows without bound if it is larger at the last distance than up to the middle by this
# factor (chosen; log(1 + z) grows by 2).
_GROWING, _MIDDLE = 1.25, 1e3
# The same distances for a table, over the median of a coordinate of its frequencies.
_OF_A_LENGTH = np.geomspace(1e-4, 1e2, 49)
_DRAWS = 1024
# Rows whose pairs are compared first; rows among which 64 of them get their nearest neighbour.
_SEEN, _NEIGHBOURS, _ASKED = 128, 20_000, 64
# Any seed will do: the warning depends on the rows alone.
_SEED = 15

#: What scikit-learn lets pass as ``length_scale``.
LENGTHS: list[Any] = [
    Interval(Real, 0, None, closed="neither"),
    "array-like",
    StrOptions({"median"}),
    None,
]


class LengthScaleWarning(UserWarning):
    """No two rows are at a distance at which the kernel varies: a wrong unit, or length."""


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
        length_scale = median_distance(sample_of_rows(X, np.random.default_rng(_SEED)))
    return checked_lengths(length_scale, X.shape[1])


def median_distance(rows: Any) -> float:
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


def warn_of_units(kernel: Any, X: Any) -> None:
    """Warn if the rows are in another unit than a kernel of any kind, or than its table.

    Groups of columns are checked one by one.  Kernels on the sphere, shifted kernels and tables of
    the l1 distance are not checked.
    """
    if isinstance(kernel, SpectralTable):
        groups = dict.fromkeys(g for part in kernel.parts for g in getattr(part, "groups", ()))
        for group in groups:
            _warn_of_group(table_of_group(group), group.columns, group.lengths, X)
        if kernel.is_radial and not kernel.sphere:
            warn_of_lengths(kernel, X)
    elif hasattr(kernel, "pieces"):
        if not kernel.is_zonal:
            warn_of_lengths(kernel, X)
    elif hasattr(kernel, "profile"):
        warn_of_lengths(kernel.profile, X, metric="cityblock")
    for factor in getattr(kernel, "factors", ()):
        _warn_of_group(factor.kernel, factor.columns, np.array(factor.lengths), X)


def _warn_of_group(
    kernel: Kernel | SpectralTable, columns: tuple[int, ...], lengths: FloatArray, X: Any
) -> None:
    with np.errstate(over="ignore"):
        rows = divided(X[:, list(columns)], lengths)
    check_size(rows)
    warn_of_lengths(kernel, rows, of=f"X[:, {list(columns)}]")


def warn_of_lengths(
    kernel: Kernel | SpectralTable, X: Any, *, of: str = "X", metric: Metric = "euclidean"
) -> None:
    """Warn where a kernel does not vary over the distances of the rows, in numbers.

    ``X`` (n, d): rows in units of the lengths; ``of``: what the rows are, for the message;
    ``metric``: of which distance the kernel is, by the name that scipy gives it.
    """
    near, far = _where_it_varies(kernel)
    seen = dense(sample_of_rows(on_host(X), np.random.default_rng(_SEED), _SEEN))
    distances = pdist(seen, metric)
    distances = distances[distances > 0.0]
    if not distances.size or not near < far:
        return
    least, largest = float(distances.min()), float(distances.max())
    name = kernel.formula if isinstance(kernel, SpectralTable) else kernel
    if largest < near:
        what = (
            f"and {name} is k(0) up to {100 * _FLAT:g} % of its size there: its matrix is a "
            "multiple of ones, so that every row looks alike. Measure the rows in a smaller unit"
        )
    elif least > far and (least := _least_distance(X, least, metric)) > far:
        what = (
            f"and {name} varies by no more than {100 * _FLAT:g} % of its size there: its matrix "
            "is a multiple of ones plus one of the identity, so that no row tells of another. "
            "Measure the rows in a larger unit"
        )
    else:
        return
    warnings.warn(
        f"The distances of the rows of {of} lie between {least:.3g} and {largest:.3g}, {what}: the "
        f"kernel varies {_between(near, far)}. "
        f"length_scale='median' would divide by {float(np.median(distances)):.3g} more.",
        LengthScaleWarning,
        stacklevel=user_stacklevel(),
    )


def _between(near: float, far: float) -> str:
    if far == np.inf:
        return f"from the distance {near:.3g} on"
    return f"between the distances {near:.3g} and {far:.3g}"


def _least_distance(X: Any, least: float, metric: Metric) -> float:
    """The least positive distance of some rows to any of many, which finds near neighbours."""
    rng = np.random.default_rng(_SEED)
    rows = dense(sample_of_rows(on_host(X), rng, _NEIGHBOURS))
    distances = cdist(rows[rng.permutation(len(rows))[:_ASKED]], rows, metric)
    positive = distances[distances > 0.0]
    return min(least, float(positive.min())) if positive.size else least


@lru_cache(maxsize=64)
def _where_it_varies(kernel: Kernel | SpectralTable) -> tuple[float, float]:
    """Distances below which k is k(0), and beyond which it is constant, up to _FLAT of its size.

    The first exceeds the second if nothing is known: for a constant kernel, one without values, or
    one that grows without bound, whose size is not known.
    """
    if isinstance(kernel, SpectralTable):
        return _where_a_table_varies(kernel)
    with np.errstate(all="ignore"):
        values = kernel(_DISTANCES)
    known = np.isfinite(values)
    if not known.any():
        return np.inf, 0.0
    z, values = _DISTANCES[known], values[known]
    if abs(values[-1]) > _GROWING * float(np.abs(values[z <= _MIDDLE]).max(initial=0.0)):
        return np.inf, 0.0
    return _range(z, values, values[0], values[-1])


def _where_a_table_varies(table: SpectralTable) -> tuple[float, float]:
    """The same from the expected kernel, which tends to the mass at the frequency 0."""
    rates = np.abs(table.sample(_DRAWS, _SEED).frequencies[:, 0]) if table.parts else np.zeros(1)
    if not np.any(rates > 0.0):
        return np.inf, 0.0
    z = _OF_A_LENGTH / float(np.median(rates[rates > 0.0]))
    z = z[z <= table.domain]
    limit = sum(p.sign * p.mass * float(p.law.cdf(0.0)) for p in table.parts)
    return _range(z, table.expected_kernel(z), table.k_zero, limit)


def _range(z: FloatArray, values: FloatArray, first: float, last: float) -> tuple[float, float]:
    """The first distance at which values leave ``first``, and the one after they reach ``last``."""
    size = np.maximum(abs(first), np.maximum.accumulate(np.abs(values)))
    left = np.flatnonzero(np.abs(values - first) > _FLAT * size)
    if not left.size:
        return np.inf, 0.0
    other = np.flatnonzero(np.abs(values - last) > _FLAT * max(abs(first), abs(last)))
    end = int(other[-1]) + 1 if other.size else 0
    return float(z[left[0]]), float(z[end]) if end < z.size else np.inf
