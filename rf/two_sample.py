r"""Do two samples come from one law?  The maximum mean discrepancy, by features or exactly.

.. math:: \mathrm{MMD}^2 = E k(x, x') + E k(y, y') - 2 E k(x, y)
          = \int |E e^{i w \cdot x} - E e^{i w \cdot y}|^2 \mu(dw)

is 0 for one law only, where mu has all frequencies.  Features draw w from the table of k and cost
n D in place of n^2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from rf.feature_maps.fourier_features import wave_columns
from rf.inputs.rows import checked_lengths, lengths_for
from rf.inputs.tables import Spectrum, resolve_spectrum
from rf.sampling.frequencies import COUPLINGS, draw_frequencies
from rf.variance.allocation import allocate
from spectra.base.arrays import FloatArray
from spectra.base.numbers import random_source, real_array, whole_number
from spectra.errors import DataError, ParameterError

__all__ = ["TwoSampleResult", "two_sample_test"]

# Independent draws of frequencies: the spread of their estimates is what the features err by.
_DRAWS = 8
# Rows whose distances give the median length.
_MEDIAN_ROWS = 1000
# Statistics that agree to this part of k(0) are one.
_SAME = 1e-12
# Rows of both samples up to which the kernel matrix is held: 3.2 GB.
_MOST_EXACT = 20_000
# Permutations of one block.
_BLOCK = 256


@final
@dataclass(frozen=True)
class TwoSampleResult:
    """What a two-sample test found.

    Attributes
    ----------
    mmd2 : float
        The unbiased estimate of the squared discrepancy; it may be negative.
    standard_error : float
        Of ``mmd2`` over samples, to first order (by the projections of the U-statistic).  Where the
        laws are equal they vanish, and the permutations are what counts.
    feature_error : float
        Standard deviation of ``mmd2`` over the draws of features, from independent draws; 0 for the
        exact kernel.
    p_value : float
        Share of the splits of the pooled sample with at least this discrepancy, itself among them:
        at most alpha with probability at most alpha where the laws are equal.
    n_splits : int
        How many splits that share is of.
    exhaustive : bool
        Whether these are all splits.
    """

    mmd2: float
    standard_error: float
    feature_error: float
    p_value: float
    n_splits: int
    exhaustive: bool

    def __repr__(self) -> str:
        splits = f"{'all' if self.exhaustive else 'of'} {self.n_splits} splits"
        return (
            f"TwoSampleResult: p = {self.p_value:.4g} ({splits}), "
            f"MMD^2 = {self.mmd2:.3g} ± {self.standard_error:.2g}"
        )


def two_sample_test(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    kernel: Any = "gaussian",
    length_scale: ArrayLike | str = "median",
    n_components: int | None = None,
    n_permutations: int = 999,
    coupling: str = "orthogonal",
    random_state: int | None = None,
) -> TwoSampleResult:
    """Test whether two samples are of one law, with a permutation p-value.

    Parameters
    ----------
    X, Y : array_like of shape (n, d), (m, d)
        At least two rows each.
    kernel : Kernel, Entry, str, SpectralMeasure, Design or SpectralTable
        Positive definite on R^d; by default the Gaussian.
    length_scale : float, array_like of shape (d,) or "median"
        What rows are divided by; "median" is the median distance of the pooled rows, which does not
        know the split.
    n_components : int, optional
        Features of ours, a cosine and a sine for each frequency: a multiple of 16, in eight
        independent draws.  By default the exact kernel matrix, which costs (n + m)^2.
    n_permutations : int
        Random splits beside the given one; all of them where there are no more than that.
    coupling : str
        As in :func:`rf.draw_frequencies`.
    random_state : int, optional

    Returns
    -------
    TwoSampleResult

    Raises
    ------
    DataError
        Where the samples are not finite arrays of rows with the same number of columns.
    ParameterError
        Where the kernel is not positive definite on R^d, or a parameter is outside its meaning.

    References
    ----------
    Gretton et al., "A kernel two-sample test", J. Mach. Learn. Res. 13 (2012) 723; the p-value:
    Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39, doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 2)), rng.normal(size=(80, 2)) + [0.8, 0.0]
    >>> two_sample_test(X, Y, n_components=512, random_state=0).p_value
    0.001
    """
    X, Y = _sample(X, "X"), _sample(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise DataError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: they must agree.")
    n_permutations = whole_number(n_permutations, "n_permutations")
    if not isinstance(coupling, str) or coupling not in COUPLINGS:
        known = ", ".join(map(repr, COUPLINGS))
        raise ParameterError(f"coupling = {coupling!r} is not one of {known}.")
    rng = random_source(random_state, "random_state")
    pooled = np.concatenate([X, Y])
    rows = pooled / _lengths(pooled, length_scale, rng)
    spectrum = _positive(kernel, rows.shape[1])
    n, k_zero = len(X), spectrum.table.k_zero
    given = np.arange(len(rows)) < n
    spread = 0.0
    if n_components is None:
        if len(rows) > _MOST_EXACT:
            raise ParameterError(
                f"The exact kernel matrix of {len(rows)} rows takes {8e-9 * len(rows) ** 2:.3g} GB."
                " Use random features: n_components=1024, for example."
            )
        product = _with(_matrix(spectrum, rows))
    else:
        draws = _features(spectrum, rows, n_components, coupling, rng)
        product = _through(np.concatenate(draws, axis=1) / math.sqrt(_DRAWS))
        each = [_statistics(_through(z), n, len(rows), k_zero)(given[None])[0] for z in draws]
        spread = float(np.std(each, ddof=1) / math.sqrt(_DRAWS))
    found, witness = _statistics(product, n, len(rows), k_zero), _witness(product, given, k_zero)
    mmd2 = float(found(given[None])[0])
    splits, exhaustive = _splits(n, len(rows), int(n_permutations), rng)
    at_least, count = 0, 0
    for block in splits:
        at_least += int(np.sum(found(block) >= mmd2 - _SAME * k_zero))
        count += len(block)
    if not exhaustive:  # the given split is one of them
        at_least, count = at_least + 1, count + 1
    error = 2.0 * math.sqrt(np.var(witness[:n]) / n + np.var(witness[n:]) / (len(rows) - n))
    return TwoSampleResult(mmd2, error, spread, at_least / count, count, exhaustive)


def _with(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Products with the kernel matrix."""
    return lambda w: w @ matrix


def _through(features: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Products with the matrix of the features, which is never made."""
    return lambda w: (w @ features) @ features.T


def _statistics(
    product: Callable[[FloatArray], FloatArray], n: int, total: int, k_zero: float
) -> Callable[[NDArray[np.bool_]], FloatArray]:
    """The unbiased statistic of each split, a row of which says who belongs to X."""
    m = total - n

    def of(splits: NDArray[np.bool_]) -> FloatArray:
        inside = splits.astype(float)
        from_x, from_y = product(inside), product(1.0 - inside)
        xx = np.sum(inside * from_x, axis=1) - n * k_zero
        yy = np.sum((1.0 - inside) * from_y, axis=1) - m * k_zero
        xy = np.sum((1.0 - inside) * from_x, axis=1)
        return np.asarray(xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2.0 * xy / (n * m))

    return of


def _splits(
    n: int, total: int, count: int, rng: np.random.Generator
) -> tuple[Iterator[NDArray[np.bool_]], bool]:
    """Blocks of splits: all of them where they are few, random ones otherwise."""
    if math.comb(total, n) <= count + 1:
        chosen = list(itertools.combinations(range(total), n))
        every = np.zeros((len(chosen), total), dtype=bool)
        np.put_along_axis(every, np.array(chosen), True, axis=1)
        return iter([every]), True
    given = np.arange(total) < n

    def blocks() -> Iterator[NDArray[np.bool_]]:
        for start in range(0, count, _BLOCK):
            size = min(_BLOCK, count - start)
            yield rng.permuted(np.broadcast_to(given, (size, total)).copy(), axis=1)

    return blocks(), False


def _witness(
    product: Callable[[FloatArray], FloatArray], given: NDArray[np.bool_], k_zero: float
) -> FloatArray:
    """E k(v, x) - E k(v, y) at every row v, without the row itself."""
    n, m = int(given.sum()), int((~given).sum())
    from_x, from_y = product(np.stack([given, ~given]).astype(float))
    from_x = (from_x - np.where(given, k_zero, 0.0)) / np.where(given, n - 1, n)
    from_y = (from_y - np.where(given, 0.0, k_zero)) / np.where(given, m, m - 1)
    return np.asarray(from_x - from_y)


def _features(
    spectrum: Spectrum, rows: FloatArray, n_components: int, coupling: str, rng: np.random.Generator
) -> list[FloatArray]:
    if whole_number(n_components, "n_components") % (2 * _DRAWS):
        raise ParameterError(
            f"n_components = {n_components!r}: give a multiple of {2 * _DRAWS}, a cosine and a "
            f"sine for each frequency of {_DRAWS} independent draws."
        )
    table = spectrum.table
    counts = allocate(table, n_components // (2 * _DRAWS), allocation="mass")
    draws = (
        draw_frequencies(table, counts, coupling=coupling, random_state=rng) for _ in range(_DRAWS)
    )
    return [wave_columns(rows, d.frequencies, np.sqrt(d.weights)) for d in draws]


def _matrix(spectrum: Spectrum, rows: FloatArray) -> FloatArray:
    distances = cdist(rows, rows)
    if spectrum.kernel is None:
        return spectrum.table.expected_kernel(distances)
    values: FloatArray = spectrum.kernel(distances)
    return values


def _positive(kernel: Any, dim: int) -> Spectrum:
    spectrum = resolve_spectrum(kernel, dim)
    table = spectrum.table
    if not table.is_radial or table.sphere or any(p.sign < 0 for p in table.parts):
        raise ParameterError(
            f"{table.formula} is not positive definite on R^{dim}, so that its discrepancy is no "
            "distance of laws. Ask spectra.existence(kernel, dim) in which dimensions it is."
        )
    return spectrum


def _lengths(rows: FloatArray, length_scale: Any, rng: np.random.Generator) -> Any:
    if isinstance(length_scale, str):
        # Rows that do not know the split, so that its permutations stay exchangeable.
        few = rows if len(rows) <= _MEDIAN_ROWS else rng.choice(rows, _MEDIAN_ROWS, axis=0)
        return lengths_for(length_scale, few)
    return checked_lengths(length_scale, rows.shape[1])


def _sample(X: ArrayLike, name: str) -> FloatArray:
    rows = real_array(X, name, error=DataError)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1]:
        raise DataError(
            f"{name} has the shape {rows.shape}: give an array of at least two rows, one "
            "observation to a row."
        )
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0].tolist()
        raise DataError(
            f"{name} has {rows[row, column]} in row {row}, column {column} ({len(bad)} values are "
            "not finite). Remove or impute them."
        )
    return rows
