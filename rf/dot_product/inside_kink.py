r"""Kernels of the l1 distance that are linear on the range of the data, by waves of one column.

If f(z) = a - b z up to the largest l1 distance of the rows, as max(tau - z, 0) is up to tau, and
no two rows are further apart than P_i in column i,

.. math:: f(|x - y|_1) = a - \frac b2 \sum_i P_i
          + b \sum_i \sum_{j \ge 0} \frac{4 P_i}{\pi^2 (2j+1)^2}
            \cos\Bigl(\frac{(2j+1)\pi}{P_i} (x_i - y_i)\Bigr),

the Fourier series of a triangle of period 2 P_i for each column.  The waves of largest weight are
used, and the mean of the others over pairs of rows is added to the constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from scipy.spatial.distance import cdist

from rf.inputs.arrays import on_host
from rf.inputs.rows import MARGIN, dense, sample_of_rows, typical_differences
from rf.sampling.frequencies import FeatureMap, FourierMap, Frequencies
from rf.schemes.scheme import DesignedScheme
from rf.schemes.table_scheme import PAIRS_FOR_ERROR, PAIRS_FOR_NORM, relative_error
from spectra.base.arrays import FloatArray
from spectra.base.numbers import NORM_TOLERANCE
from spectra.errors import DataError, ParameterError

if TYPE_CHECKING:
    from spectra.kernels.l1_kernel import L1Kernel

__all__ = ["BoxRange", "KinkScheme", "kink_scheme"]

# Rows of one block of pairs, and the most pairs in a search for the largest distance.
_BLOCK, _MOST_PAIRS = 1000, 400_000_000
# Unused waves of each column whose mean is added to the constant; later ones count as error.
_UNUSED = 200
_WAY_OUT = "Fit on rows that reach as far, or let them pass with outside='ignore'."


@final
@dataclass(frozen=True, eq=False)
class BoxRange:
    """The supported rows, a box and l1 distances up to z_max: see :class:`rf.inputs.rows.RowRange`.

    ``low``, ``high`` (d,); ``centre`` (d,): mean of the fitted rows.
    """

    low: FloatArray
    high: FloatArray
    z_max: float
    centre: FloatArray

    def check(self, X: Any, *, at_any_distance: bool = False) -> None:
        """Refuse rows outside the box, and rows that are too far apart."""
        if at_any_distance:
            return
        rows = dense(on_host(X))
        out = np.maximum(self.low - rows, rows - self.high)
        i, j = np.unravel_index(int(np.argmax(out)), out.shape)
        if out[i, j] > NORM_TOLERANCE * float(np.max(self.high - self.low)):
            raise DataError(
                f"Row {i} has {rows[i, j]:.6g} in column {j}, and the features were made for "
                f"values between {self.low[j]:.6g} and {self.high[j]:.6g}. {_WAY_OUT}"
            )
        radius = np.abs(rows - self.centre).sum(axis=1)
        if 2.0 * radius.max() > self.z_max:
            near = rows[radius + radius.max() > self.z_max]
            self.check_between(near, near)

    def check_between(self, X: Any, Y: Any) -> None:
        """Refuse a row of X and one of Y that are too far apart."""
        if float(np.sum(self.high - self.low)) <= self.z_max:
            return
        largest = _largest_l1_distance(dense(on_host(X)), dense(on_host(Y)))
        if largest > self.z_max * (1.0 + NORM_TOLERANCE):
            raise DataError(
                f"Two rows are at the l1 distance {largest:.6g}, and the kernel is linear, and "
                f"its features right, up to {self.z_max:.6g}. {_WAY_OUT}"
            )


@final
@dataclass(frozen=True, eq=False)
class KinkScheme(DesignedScheme):
    """Waves of single columns for a kernel that is linear on the range of the data.

    ``frequencies``: the constant first; ``rows``, ``n_rows``: a sample of the rows, and their
    number; ``left``: sum of the weights of the unused waves, which bounds their effect on an entry.
    """

    kernel: L1Kernel
    frequencies: Frequencies
    box: BoxRange
    rows: Any
    n_rows: int
    left: float
    method = "waves of single columns"

    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        columns = min(n_columns, 2 * len(self.frequencies) - 1)
        return FourierMap.of(self.frequencies, columns, rng, signed=True)

    def expected_error(self, extra_variance: float = 0.0) -> float:
        D = typical_differences(self.rows, PAIRS_FOR_ERROR)
        D = np.concatenate([np.zeros((1, D.shape[1])), D])
        exact = self.kernel(D)
        square = (self.frequencies.estimate(D) - exact) ** 2 + extra_variance
        size = float(np.mean(self.kernel(typical_differences(self.rows, PAIRS_FOR_NORM)) ** 2))
        return relative_error(square[1:], size, (square[0], exact[0]), self.n_rows)

    def explain(self) -> str:
        return (
            f"The features are designed for the rows: {self.kernel} is linear up to the l1 "
            f"distance {self.box.z_max:.6g}, a constant and {len(self.frequencies) - 1} waves of "
            f"single columns, without waves of the total weight {self.left:.3g}."
        )


def kink_scheme(
    kernel: L1Kernel, X: Any, n_components: int, *, domain: float | Literal["data"] | None
) -> KinkScheme:
    """The waves of largest weight for the rows X."""
    if n_components < 3:
        raise ParameterError(
            f"n_components = {n_components}: a constant and a wave of one column take 3."
        )
    offset, slope, reach = _linear_part(kernel)
    rows = dense(X)
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.5 * MARGIN * (high - low)
    low, high = low - margin, high + margin
    widest = float(np.sum(high - low))
    found = widest if widest <= reach else _bound_distances(rows, reach)
    z_max = min(reach, max(found * (1.0 + MARGIN), 0.0))
    if domain is not None and domain != "data":
        z_max = float(domain)
    if max(found, z_max) > reach:
        raise ParameterError(
            f"{kernel} is linear up to the l1 distance {reach:.6g}, and those of the rows reach "
            f"{max(found, z_max):.6g}: features of single columns need a linear kernel. Take a "
            "larger tau, or divide the rows (length_scale)."
        )
    sample = sample_of_rows(rows)
    box = BoxRange(low, high, z_max, rows.mean(axis=0))
    made, left = _waves(offset, slope, high - low, (n_components - 1) // 2, sample)
    return KinkScheme(kernel, made, box, sample, len(rows), left)


def _linear_part(kernel: L1Kernel) -> tuple[float, float, float]:
    """a, b and the radius up to which f(z) = a - b z."""
    from spectra.singularities.local import analytic_intervals

    radii, exprs, _ = analytic_intervals(kernel.profile)
    if exprs:
        (z,) = exprs[0].free_symbols or {None}
        slope = 0 if z is None else exprs[0].diff(z)
        if not getattr(slope, "free_symbols", ()):
            reach = float(radii[0]) if radii else np.inf
            return kernel.at_zero, -float(slope), reach
    raise ParameterError(
        f"{kernel} is not linear near 0, and features of single columns are for kernels of the l1 "
        "distance that are, such as max(tau - z, 0). Use its own measure (domain=None)."
    )


def _waves(
    offset: float, slope: float, periods: FloatArray, n: int, sample: Any
) -> tuple[Frequencies, float]:
    """The n waves of largest weight after the constant, and the weight of the others."""
    odd = 2.0 * np.arange(n + _UNUSED) + 1.0
    weights = 4.0 * np.abs(slope) * np.outer(periods, 1.0 / odd**2) / np.pi**2
    order = np.argsort(-weights, axis=None, kind="stable")
    order = order[weights.ravel()[order] > 0.0]
    column, j = np.unravel_index(order, weights.shape)
    rates, sizes = odd[j] * np.pi / periods[column], weights.ravel()[order]
    D, unused = typical_differences(sample, PAIRS_FOR_ERROR), 0.0
    for c, rate, size in zip(column[n:], rates[n:], sizes[n:], strict=True):
        unused += size * float(np.cos(rate * D[:, c]).mean())
    constant = offset - slope * 0.5 * periods.sum() + np.sign(slope) * unused
    used = min(n, order.size)
    frequencies = np.zeros((1 + used, periods.size))
    frequencies[1 + np.arange(used), column[:n]] = rates[:n]
    every = np.concatenate([[constant], np.sign(slope) * sizes[:n]])
    left = 0.5 * abs(slope) * float(periods.sum()) - float(sizes[:n].sum())
    phases = np.where(every < 0.0, np.pi, 0.0)
    return Frequencies(frequencies, np.abs(every), phases, np.arange(1 + used)), left


def _bound_distances(rows: FloatArray, reach: float) -> float:
    """The largest l1 distance of two rows, or a bound if there are too many pairs."""
    radius = np.sort(np.abs(rows - rows.mean(axis=0)).sum(axis=1))
    bound = float(radius[-2:].sum()) if len(rows) > 1 else 0.0
    if bound <= reach or len(rows) ** 2 > _MOST_PAIRS:
        return bound
    return _largest_l1_distance(rows, rows)


def _largest_l1_distance(X: FloatArray, Y: FloatArray) -> float:
    blocks = (X[i : i + _BLOCK] for i in range(0, len(X), _BLOCK))
    return max((float(cdist(block, Y, "cityblock").max()) for block in blocks), default=0.0)
