r"""Two-sample test by the maximum mean discrepancy (MMD), with the exact kernel or with features.

.. math:: \mathrm{MMD}^2 = E k(x, x') + E k(y, y') - 2 E k(x, y)
          = \int |E e^{i w \cdot x} - E e^{i w \cdot y}|^2 \mu(dw),

where mu is the spectral measure of the kernel k.  If the support of mu is R^d, the MMD is 0 only
for equal distributions.  For n rows, D features cost O(n D) and the exact kernel O(n^2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from rf.feature_maps.fourier_features import fourier_columns
from rf.inputs.rows import checked_lengths, divide_by_lengths, lengths_for
from rf.inputs.tables import Spectrum, resolve_spectrum
from rf.sampling.frequencies import COUPLINGS, checked_choice, draw_frequencies
from rf.variance.allocation import allocate
from spectra.base.arrays import FloatArray
from spectra.base.numbers import random_source, real_array, whole_number
from spectra.errors import DataError, ParameterError

__all__ = ["TwoSampleResult", "two_sample_test"]

# Independent draws of frequencies, whose spread estimates the error of the features.
_DRAWS = 8
# Number of random rows for the median distance; lengths_for would take fixed ones of more rows.
_MEDIAN_ROWS = 512
# Values of MMD^2 that differ by less than this times k(0) count as equal (rounding).
_TIE_TOLERANCE = 1e-12
# Rows of both samples together, at most, with the exact kernel: a matrix of 3.2 GB.
_MOST_EXACT_ROWS = 20_000
# Splits evaluated by one matrix product.
_SPLITS_PER_BLOCK = 256


@dataclass(frozen=True)
class TwoSampleResult:
    """Result of a two-sample test.

    Attributes
    ----------
    mmd2 : float
        Unbiased estimate of the squared maximum mean discrepancy; it may be negative.
    standard_error : float
        Sampling error of ``mmd2``, to first order (by the projections of the U-statistic).  It is
        valid for unequal distributions; for equal ones the first-order term vanishes.
    feature_error : float
        Error of ``mmd2`` from the random features (one standard deviation); 0 for the exact kernel.
    p_value : float
        Fraction of the splits of the pooled sample, the given one included, whose MMD^2 is at least
        that of the given one.  For equal distributions it is <= alpha with probability <= alpha.
    n_splits : int
        Number of splits compared.
    exhaustive : bool
        Whether these are all possible splits.
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
    """Test whether two samples come from the same distribution, with a permutation p-value.

    Parameters
    ----------
    X, Y : array_like of shape (n, d), (m, d)
        The samples, of at least two rows each.
    kernel : Kernel, CompositeKernel, Family, str, SpectralMeasure, Design, table or Variogram
        As in :class:`rf.SpectralFeatures`, but with a positive measure on R^d; or a variogram gamma
        for the kernel -gamma, such as ``spectra.variogram("z")`` for the energy distance.
    length_scale : float, array_like of shape (d,) or (d, d), or "median"
        Divisor of the rows, as in :class:`rf.SpectralFeatures`; "median": the median distance of
        (at most 512 of) the pooled rows.
    n_components : int, optional
        Number of features: a multiple of 16, since there are eight independent draws and each
        frequency has a cosine and a sine.  By default the test uses the exact kernel matrix.
    n_permutations : int
        Number of random splits.  If there are at most n_permutations + 1 splits, all are compared.
    coupling : str
        How frequencies depend on one another, as in :func:`rf.draw_frequencies`.
    random_state : int, optional
        Seed of the frequencies, the splits and the rows for the median.

    Returns
    -------
    TwoSampleResult

    Raises
    ------
    DataError
        If the samples are not finite arrays of rows with the same number of columns.
    ParameterError
        If the measure of the kernel on R^d is not positive, or a parameter is invalid.

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
    X, Y = _check_sample(X, "X"), _check_sample(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise DataError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: they must agree.")
    n_permutations = whole_number(n_permutations, "n_permutations")
    checked_choice(COUPLINGS, coupling, "coupling")
    rng = random_source(random_state, "random_state")
    pooled = np.concatenate([X, Y])
    rows = divide_by_lengths(pooled, _column_lengths(pooled, length_scale, rng))
    n, total = len(X), len(rows)
    in_x = np.arange(total) < n
    feature_error = 0.0
    if n_components is None:
        if len(rows) > _MOST_EXACT_ROWS:
            raise ParameterError(
                f"The exact kernel matrix of {len(rows)} rows takes {8e-9 * len(rows) ** 2:.3g} GB."
                " Use random features: n_components=1024, for example."
            )
        matrix = _kernel_matrix(kernel, rows)
        k_zero, multiply = float(matrix[0, 0]), lambda w: w @ matrix
    else:
        spectrum = _resolve_positive_definite(kernel, rows.shape[1])
        k_zero = spectrum.table.k_zero
        draws = _draw_features(spectrum, rows, n_components, coupling, rng)
        multiply = _multiply_by_features(np.concatenate(draws, axis=1) / math.sqrt(_DRAWS))
        each = [_mmd2(_multiply_by_features(z), in_x[None], n, k_zero)[0] for z in draws]
        feature_error = float(np.std(each, ddof=1) / math.sqrt(_DRAWS))
    mmd2 = float(_mmd2(multiply, in_x[None], n, k_zero)[0])
    blocks, exhaustive = _make_splits(n, total, int(n_permutations), rng)
    at_least, count = 0, 0
    for splits in blocks:
        as_large = _mmd2(multiply, splits, n, k_zero) >= mmd2 - _TIE_TOLERANCE * k_zero
        at_least += int(np.sum(as_large))
        count += len(splits)
    if not exhaustive:  # random splits do not include the given one, which counts too
        at_least, count = at_least + 1, count + 1
    witness = _witness(multiply, in_x, k_zero)
    error = 2.0 * math.sqrt(np.var(witness[:n]) / n + np.var(witness[n:]) / (total - n))
    return TwoSampleResult(mmd2, error, feature_error, at_least / count, count, exhaustive)


def _multiply_by_features(features: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The function w -> w Z Z^T for the features Z, without the matrix Z Z^T."""
    return lambda w: (w @ features) @ features.T


def _mmd2(
    multiply: Callable[[FloatArray], FloatArray],
    splits: NDArray[np.bool_],
    n: int,
    k_zero: float,
) -> FloatArray:
    """Unbiased MMD^2 of each split, a mask (n + m,) of the n rows in X; ``multiply``: w -> w K."""
    m = splits.shape[1] - n
    in_x, in_y = splits.astype(float), (~splits).astype(float)
    from_x, from_y = multiply(in_x), multiply(in_y)
    xx = np.sum(in_x * from_x, axis=1) - n * k_zero
    yy = np.sum(in_y * from_y, axis=1) - m * k_zero
    xy = np.sum(in_y * from_x, axis=1)
    return np.asarray(xx / (n * (n - 1)) + yy / (m * (m - 1)) - 2.0 * xy / (n * m))


def _make_splits(
    n: int, total: int, count: int, rng: np.random.Generator
) -> tuple[Iterator[NDArray[np.bool_]], bool]:
    """Blocks of splits, and whether they are all splits rather than ``count`` random ones."""
    if math.comb(total, n) <= count + 1:
        chosen = list(itertools.combinations(range(total), n))
        all_splits = np.zeros((len(chosen), total), dtype=bool)
        np.put_along_axis(all_splits, np.array(chosen), True, axis=1)
        return iter([all_splits]), True
    in_x = np.arange(total) < n

    def blocks() -> Iterator[NDArray[np.bool_]]:
        for start in range(0, count, _SPLITS_PER_BLOCK):
            size = min(_SPLITS_PER_BLOCK, count - start)
            yield rng.permuted(np.broadcast_to(in_x, (size, total)).copy(), axis=1)

    return blocks(), False


def _witness(
    multiply: Callable[[FloatArray], FloatArray], in_x: NDArray[np.bool_], k_zero: float
) -> FloatArray:
    """Witness function: mean k(v, x) minus mean k(v, y), over all other rows, at each row v."""
    n, m = int(in_x.sum()), int((~in_x).sum())
    from_x, from_y = multiply(np.stack([in_x, ~in_x]).astype(float))
    from_x = (from_x - np.where(in_x, k_zero, 0.0)) / np.where(in_x, n - 1, n)
    from_y = (from_y - np.where(in_x, 0.0, k_zero)) / np.where(in_x, m, m - 1)
    return np.asarray(from_x - from_y)


def _draw_features(
    spectrum: Spectrum, rows: FloatArray, n_components: int, coupling: str, rng: np.random.Generator
) -> list[FloatArray]:
    """Features of the rows from each of the independent draws."""
    if whole_number(n_components, "n_components") % (2 * _DRAWS):
        raise ParameterError(
            f"n_components = {n_components!r} must be a multiple of {2 * _DRAWS}: a cosine and a "
            f"sine for each frequency, in {_DRAWS} independent draws."
        )
    table = spectrum.table
    counts = allocate(table, n_components // (2 * _DRAWS), allocation="mass")
    draws = (
        draw_frequencies(table, counts, coupling=coupling, random_state=rng) for _ in range(_DRAWS)
    )
    return [fourier_columns(rows, d.frequencies, np.sqrt(d.weights)) for d in draws]


def _kernel_matrix(kernel: Any, rows: FloatArray) -> FloatArray:
    dim = rows.shape[1]
    if hasattr(kernel, "minus_gamma"):
        definiteness = kernel.definiteness(dim)
        if not definiteness.answer:
            raise ParameterError(
                f"{kernel} is not known as a variogram on R^{dim}: {definiteness.reason}"
            )
        gamma: FloatArray = kernel(cdist(rows, rows))
        return np.asarray(gamma.max() - gamma)  # MMD^2 is the same for every constant
    spectrum = _resolve_positive_definite(kernel, dim)
    if spectrum.kernel is not None:
        return np.asarray(spectrum.kernel.gram(rows, rows), dtype=float)
    if spectrum.table.is_radial:
        return spectrum.table.expected_kernel(cdist(rows, rows))
    return np.stack([spectrum.table.expected_kernel(row - rows) for row in rows])


def _resolve_positive_definite(kernel: Any, dim: int) -> Spectrum:
    if hasattr(kernel, "minus_gamma"):
        raise ParameterError(
            f"The kernel -({kernel}) has no random features. Take the exact kernel "
            "(n_components=None), or kernel.on_region(radius, dim, tol=...)."
        )
    spectrum = resolve_spectrum(kernel, dim)
    table = spectrum.table
    if not table.is_symmetric or table.sphere:
        raise ParameterError(
            f"The test needs a function of x - y that is even, and {table.formula} is a shifted or "
            "tilted kernel or one on the sphere. Use a kernel of distances."
        )
    if any(p.sign < 0 for p in table.parts):
        raise ParameterError(
            f"The test needs a kernel with a positive measure on R^{dim}, and that of "
            f"{table.formula} has negative parts. See spectra.existence(kernel, {dim})."
        )
    return spectrum


def _column_lengths(rows: FloatArray, length_scale: Any, rng: np.random.Generator) -> Any:
    if isinstance(length_scale, str):
        # The length must not depend on the split: the permutation test needs exchangeable rows.
        few = len(rows) <= _MEDIAN_ROWS
        sample = rows if few else rng.choice(rows, _MEDIAN_ROWS, replace=False)
        return lengths_for(length_scale, sample)
    return checked_lengths(length_scale, rows.shape[1])


def _check_sample(X: ArrayLike, name: str) -> FloatArray:
    rows = real_array(X, name, error=DataError)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1]:
        raise DataError(
            f"{name} has the shape {rows.shape}: give a 2-D array with one observation in each of "
            "at least two rows."
        )
    nonfinite = np.argwhere(~np.isfinite(rows))
    if len(nonfinite):
        row, column = nonfinite[0].tolist()
        raise DataError(
            f"{name} has {rows[row, column]} in row {row}, column {column} ({len(nonfinite)} "
            "values are not finite). Remove or impute them."
        )
    return rows
