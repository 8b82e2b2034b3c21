r"""Plane waves of single columns of X for kernels of the l1 distance that are linear on the data.

If the kernel is f(z) = a - b z at all l1 distances z of the rows (max(tau - z, 0) is linear up to
tau), and the values in column i differ by at most P_i, then

.. math:: f(|x - y|_1) = a - \frac b2 \sum_i P_i
          + b \sum_i \sum_{j \ge 0} \frac{4 P_i}{\pi^2 (2j+1)^2}
            \cos\Bigl(\frac{(2j+1)\pi}{P_i} (x_i - y_i)\Bigr),

the Fourier series of a triangle wave of period 2 P_i for each column.  The waves of largest weight
are used.  For the others, their mean over pairs of rows is added to the constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from scipy.spatial.distance import cdist

from rf.feature_maps.feature_map import FeatureMap, FourierMap, Frequencies
from rf.inputs.arrays import on_host
from rf.inputs.rows import MARGIN, dense, sample_of_rows, typical_differences
from rf.schemes.scheme import DesignedScheme
from rf.schemes.table_scheme import PAIRS_FOR_ERROR, PAIRS_FOR_NORM, relative_error
from spectra.base.arrays import FloatArray
from spectra.base.numbers import NORM_TOLERANCE
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectra.kernels.composite import CompositeKernel

__all__ = ["BoxRange", "SingleColumnScheme", "single_column_scheme"]

# Number of rows whose distances to all others are in memory at one time, and the largest number of
# pairs whose distances are computed (20 000 rows).
_BLOCK, _MAX_PAIRS = 1000, 400_000_000
# Each column has at least this many unused waves in the constant; the others are negligible.
_UNUSED = 200
_ADVICE = "Fit on rows with a larger range, or turn this check off with outside='ignore'."


@final
@dataclass(frozen=True, eq=False)
class BoxRange:
    """The range of rows on which the features are valid: a box, and l1 distances up to z_max.

    ``low``, ``high`` (d,): corners of the box; ``centre`` (d,): mean of the fitted rows.
    """

    low: FloatArray
    high: FloatArray
    z_max: float
    centre: FloatArray

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Raise DataError for rows out of range; with ``at_any_distance`` no rows are refused."""
        if at_any_distance:
            return
        rows = dense(on_host(X))
        excess = np.maximum(self.low - rows, rows - self.high)
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[i, j] > NORM_TOLERANCE * float(np.max(self.high - self.low)):
            raise DataError(
                f"Row {i} has {rows[i, j]:.6g} in column {j}, and the features were made for "
                f"values between {self.low[j]:.6g} and {self.high[j]:.6g}. {_ADVICE}"
            )
        radius = np.abs(rows - self.centre).sum(axis=1)
        if 2.0 * radius.max() > self.z_max:
            outer = rows[radius + radius.max() > self.z_max]  # others are too close to the centre
            self.check_between(outer, outer)

    def check_between(self, X: Any, Y: Any) -> None:
        """Raise DataError if a row of X and a row of Y are further apart than z_max."""
        if float(np.sum(self.high - self.low)) <= self.z_max:
            return
        largest = _largest_l1_distance(dense(on_host(X)), dense(on_host(Y)))
        if largest > self.z_max * (1.0 + NORM_TOLERANCE):
            raise DataError(
                f"Two rows are at the l1 distance {largest:.6g}, and the features approximate the "
                f"kernel up to the distance {self.z_max:.6g}. {_ADVICE}"
            )


@final
@dataclass(frozen=True, eq=False)
class SingleColumnScheme(DesignedScheme):
    """Features for a kernel of the l1 distance that is linear on the range of the data.

    ``frequencies``: the zero vector for the constant, then vectors with one nonzero coordinate;
    ``rows``: a sample of the ``n_rows`` rows; ``unused_weight``: sum of the unused waves' weights.
    """

    kernel: CompositeKernel
    frequencies: Frequencies
    box: BoxRange
    rows: Any
    n_rows: int
    unused_weight: float
    method = "waves of single columns"

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        columns = min(n_columns, 2 * len(self.frequencies) - 1)
        return FourierMap.of(self.frequencies, columns, rng, signed=True)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        differences = typical_differences(self.rows, PAIRS_FOR_ERROR)
        differences = np.concatenate([np.zeros((1, differences.shape[1])), differences])
        exact = self.kernel(differences)
        square_error = (self.frequencies.estimate(differences) - exact) ** 2 + extra_variance
        at_pairs = self.kernel(typical_differences(self.rows, PAIRS_FOR_NORM))
        mean_square, diagonal = float(np.mean(at_pairs**2)), (square_error[0], exact[0])
        return relative_error(square_error[1:], mean_square, diagonal, self.n_rows)

    def explain(self) -> str:
        return (
            f"The features are designed for the rows: {self.kernel} is linear up to the l1 "
            f"distance {self.box.z_max:.6g}. They are a constant and {len(self.frequencies) - 1} "
            f"waves of single columns; omitted waves have total weight {self.unused_weight:.3g}."
        )


def single_column_scheme(
    kernel: CompositeKernel, X: Any, n_components: int, *, domain: float | Literal["data"] | None
) -> SingleColumnScheme:
    """The scheme for the rows X, if the kernel is linear up to their largest l1 distance."""
    if n_components < 3:
        raise ParameterError(f"n_components = {n_components}: at least 3 columns are needed.")
    offset, slope, linear_up_to = _linear_part(kernel)
    rows = dense(X)
    margin = 0.5 * MARGIN * np.ptp(rows, axis=0)
    low, high = rows.min(axis=0) - margin, rows.max(axis=0) + margin
    diameter = float(np.sum(high - low))
    largest = diameter if diameter <= linear_up_to else _bound_distances(rows, linear_up_to)
    z_max = min(linear_up_to, largest * (1.0 + MARGIN))
    if domain is not None and domain != "data":
        z_max = float(domain)
    if max(largest, z_max) > linear_up_to:
        raise ParameterError(
            f"{kernel} is linear up to the l1 distance {linear_up_to:.6g}, and the rows or domain "
            f"reach {max(largest, z_max):.6g}: features of single columns need a linear kernel. "
            "Use a larger tau, or divide the rows (length_scale)."
        )
    sample = sample_of_rows(rows)
    box = BoxRange(low, high, z_max, rows.mean(axis=0))
    n_waves = (n_components - 1) // 2
    frequencies, unused_weight = _largest_waves(offset, slope, high - low, n_waves, sample)
    return SingleColumnScheme(kernel, frequencies, box, sample, len(rows), unused_weight)


def _linear_part(kernel: CompositeKernel) -> tuple[float, float, float]:
    """a, b and the distance up to which f(z) = a - b z."""
    from spectra.singularities.local import analytic_intervals

    radii, exprs, _ = analytic_intervals(kernel.profile)
    if exprs:
        slope = sum(exprs[0].diff(z) for z in exprs[0].free_symbols)
        if not getattr(slope, "free_symbols", ()):
            return kernel.at_zero, -float(slope), float(radii[0]) if radii else np.inf
    raise ParameterError(
        f"{kernel} is not linear near 0, and features of single columns need a kernel of the l1 "
        "distance that is, such as max(tau - z, 0). Use its own measure (domain=None)."
    )


def _largest_waves(
    offset: float, slope: float, widths: FloatArray, n: int, sample: Any
) -> tuple[Frequencies, float]:
    """The constant and n largest waves of f(z) = offset - slope z, and the weight of the others."""
    odd = 2.0 * np.arange(n + _UNUSED) + 1.0
    weights = 4.0 * np.abs(slope) * np.outer(widths, 1.0 / odd**2) / np.pi**2
    order = np.argsort(-weights, axis=None, kind="stable")
    order = order[weights.ravel()[order] > 0.0]
    # Column, nonzero coordinate and weight of each wave, by descending weight.
    column, j = np.unravel_index(order, weights.shape)
    coordinates, sizes = odd[j] * np.pi / widths[column], weights.ravel()[order]
    differences, mean_of_unused = typical_differences(sample, PAIRS_FOR_ERROR), 0.0
    for c, w, size in zip(column[n:], coordinates[n:], sizes[n:], strict=True):
        mean_of_unused += size * float(np.cos(w * differences[:, c]).mean())
    constant = offset - slope * 0.5 * widths.sum() + np.sign(slope) * mean_of_unused
    used = min(n, order.size)
    frequencies = np.zeros((1 + used, widths.size))
    frequencies[1 + np.arange(used), column[:n]] = coordinates[:n]
    signed = np.concatenate([[constant], np.sign(slope) * sizes[:n]])
    unused_weight = 0.5 * abs(slope) * float(widths.sum()) - float(sizes[:n].sum())
    phases = np.where(signed < 0.0, np.pi, 0.0)
    return Frequencies(frequencies, np.abs(signed), phases, np.arange(1 + used)), unused_weight


def _bound_distances(rows: FloatArray, limit: float) -> float:
    """The largest l1 distance of two rows, or a bound if it is below limit or much cheaper."""
    radius = np.sort(np.abs(rows - rows.mean(axis=0)).sum(axis=1))
    bound = float(radius[-2:].sum()) if len(rows) > 1 else 0.0
    if bound <= limit or len(rows) ** 2 > _MAX_PAIRS:
        return bound
    return _largest_l1_distance(rows, rows)


def _largest_l1_distance(X: FloatArray, Y: FloatArray) -> float:
    blocks = (X[i : i + _BLOCK] for i in range(0, len(X), _BLOCK))
    return max((float(cdist(block, Y, "cityblock").max()) for block in blocks), default=0.0)
