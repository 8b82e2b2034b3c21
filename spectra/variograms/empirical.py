r"""The empirical variogram of data, and families fitted to it by weighted least squares.

.. math:: \hat\gamma(h) = \frac{1}{2 N_h} \sum_{|x_i - x_j| \in h} (y_i - y_j)^2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.spatial import KDTree

from spectra.base.numbers import FloatArray, real_array, whole_number
from spectra.derivation import CovarianceModel, DataScale
from spectra.errors import DataError, ParameterError
from spectra.kernels import Kernel
from spectra.kernels.catalogue import Family, family

__all__ = ["EmpiricalVariogram", "VariogramFit", "empirical_variogram"]

# gstat's defaults: the largest distance as a part of the diagonal of the bounding box, and the
# number of classes.
_CUTOFF, _BINS = 1.0 / 3.0, 15
# Points whose pairs are in memory at a time.
_BLOCK = 500
# Starts of a fit: the length as a part of the largest distance; the nugget's part.
_STARTS, _RATIO = (0.1, 0.3, 0.6, 1.0, 2.0), 0.2


@final
@dataclass(frozen=True, eq=False)
class EmpiricalVariogram:
    """The variogram of data in R^dim: mean distances, estimates and numbers of pairs of classes."""

    distances: FloatArray
    values: FloatArray
    counts: FloatArray
    dim: int

    def __repr__(self) -> str:
        return (
            f"EmpiricalVariogram({len(self.values)} classes up to {self.distances[-1]:.6g}, "
            f"{int(self.counts.sum())} pairs)"
        )

    def fit(self, source: Family | str, *, nugget: bool = True) -> VariogramFit:
        """Fit a family by least squares with the weights pairs/distance^2, as gstat does.

        Parameters
        ----------
        source : Family or str
            A family, a name of the catalogue or a formula with free symbols.  If it has no
            parameter that scales the distance, or the variance, this parameter is added.
        nugget : bool
            Whether a constant at positive distances is fitted.

        Examples
        --------
        >>> import numpy as np, spectra as sp
        >>> X = np.random.default_rng(0).uniform(0, 9, (200, 2))
        >>> y = np.sin(X[:, 0]) + np.cos(X[:, 1])
        >>> sorted(sp.empirical_variogram(X, y).fit("gaussian").parameters)
        ['length', 'nugget', 'variance']
        """
        model = CovarianceModel(family(source), self.dim, nugget)
        scale = DataScale(self.distances[-1], self.distances[0], float(np.mean(self.values)))
        if not scale.variance > 0.0:
            raise DataError("The variogram is 0 everywhere, because all values are equal.")
        root, bounds = np.sqrt(self.counts) / self.distances, model.box(scale)

        def residuals(p: FloatArray) -> FloatArray:
            return root * (VariogramFit(self, model, p)(self.distances) - self.values)

        runs = [
            least_squares(residuals, model.start(scale, fraction, _RATIO), bounds=bounds.T,
                          x_scale="jac", xtol=1e-13, ftol=1e-14, gtol=1e-14, max_nfev=1000)
            for fraction in _STARTS
        ]  # fmt: skip
        return VariogramFit(self, model, min(runs, key=lambda run: run.cost).x)

    def plot(self, *, path: str | PathLike[str] | None = None) -> Any:
        """Draw the classes; save the picture if ``path`` is given, else return the axes."""
        return draw_variogram(self, None, path)


@final
@dataclass(frozen=True, eq=False)
class VariogramFit:
    """A family fitted to an empirical variogram; ``numbers`` are those of ``model.names``."""

    empirical: EmpiricalVariogram
    model: CovarianceModel
    numbers: FloatArray

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by name, with "length" and "variance" if they were added."""
        return self.model.parameters(self.numbers)

    def __repr__(self) -> str:
        found = ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())
        return f"VariogramFit({self.model.family.id or self.model.family.formula}: {found})"

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The fitted variogram at distances z, with the nugget at z > 0."""
        z, p = real_array(z, "z"), self.numbers
        decrease = self.model.at_zero(p) - self.model.covariance(p)(z / self.model.length(p))
        return np.where(z > 0.0, decrease + self.model.nugget(p), 0.0)

    @property
    def kernel(self) -> Kernel:
        """The fitted covariance without the nugget."""
        return self.model.kernel(self.numbers).rescale(self.model.length(self.numbers))

    def plot(self, *, path: str | PathLike[str] | None = None) -> Any:
        """Draw the classes and the fitted curve; save the picture if ``path`` is given."""
        return draw_variogram(self.empirical, self, path)


def empirical_variogram(
    X: ArrayLike,
    y: ArrayLike,
    *,
    estimator: str = "matheron",
    cutoff: float | None = None,
    bins: int = _BINS,
) -> EmpiricalVariogram:
    """Estimate the variogram of values at points.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The points.
    y : array_like of shape (n,)
        The values.  Remove a trend first, or use :class:`rf.Kriging` with a drift.
    estimator : {"matheron", "cressie"}
        Half the mean square of the differences, or the robust estimator of Cressie and Hawkins.
    cutoff : float, optional
        The largest distance; by default a third of the diagonal of the bounding box, as in gstat.
    bins : int
        The number of classes of equal width.  A class includes its upper edge.

    References
    ----------
    N. Cressie and D. M. Hawkins, "Robust estimation of the variogram: I", Math. Geology 12 (1980)
    115; E. J. Pebesma, "Multivariable geostatistics in S: the gstat package", Computers and
    Geosciences 30 (2004) 683.

    Examples
    --------
    >>> import spectra as sp
    >>> sp.empirical_variogram([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], cutoff=1, bins=1).values
    array([1.25])
    """
    points, values = real_array(X, "X", error=DataError), real_array(y, "y", error=DataError)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or values.shape != (len(points),) or len(points) < 2:
        raise DataError(
            f"X has the shape {points.shape} and y the shape {values.shape}: give at least two "
            "points, one to a row, and one value for each."
        )
    finite = np.isfinite(points).all(axis=1) & np.isfinite(values)
    if not finite.all():
        raise DataError(f"Row {np.flatnonzero(~finite)[0]} of X or y is not finite: omit it.")
    if estimator not in ("matheron", "cressie"):
        raise ParameterError(f"estimator = {estimator!r} must be 'matheron' or 'cressie'.")
    end = _CUTOFF * float(np.linalg.norm(np.ptp(points, axis=0))) if cutoff is None else cutoff
    if not 0.0 < end < np.inf:
        raise ParameterError(f"The largest distance is {end:g}: it must be positive.")
    edges = np.linspace(0.0, end, whole_number(bins, "bins") + 1)
    counts, sums, distances = np.zeros((3, len(edges) - 1))
    power, tree = 2.0 if estimator == "matheron" else 0.5, KDTree(points)
    for first in range(0, len(points), _BLOCK):
        block = KDTree(points[first : first + _BLOCK])
        pairs = block.sparse_distance_matrix(tree, end, output_type="coo_matrix")
        keep = (pairs.row + first < pairs.col) & (pairs.data > 0.0)
        i, j, z = pairs.row[keep] + first, pairs.col[keep], pairs.data[keep]
        place = np.searchsorted(edges, z, side="left") - 1
        size = np.abs(values[i] - values[j]) ** power
        for total, weight in ((counts, None), (sums, size), (distances, z)):
            total += np.bincount(place, weight, minlength=len(counts))
    used = counts > 0
    if not used.any():
        raise DataError(f"No two points are at most {end:.6g} apart: give a larger cutoff.")
    counts, sums, distances = counts[used], sums[used], distances[used]
    gamma = 0.5 * sums / counts
    if estimator == "cressie":
        gamma = 0.5 * (sums / counts) ** 4 / (0.457 + 0.494 / counts + 0.045 / counts**2)
    return EmpiricalVariogram(distances / counts, gamma, counts, points.shape[1])


def draw_variogram(
    empirical: EmpiricalVariogram,
    model: Callable[[FloatArray], FloatArray] | None,
    path: str | PathLike[str] | None = None,
    axes: Any = None,
) -> Any:
    """Draw classes, with areas in proportion to their numbers of pairs, and a fitted variogram."""
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(6, 4), layout="constrained").subplots()
    share = empirical.counts / empirical.counts.max()
    axes.scatter(empirical.distances, empirical.values, s=10 + 60 * share, label="data")
    if model is not None:
        z = np.linspace(1e-6, 1.05, 400) * float(empirical.distances[-1])
        axes.plot(z, model(z), color="C3", label="fit")
        axes.legend(frameon=False)
    axes.set(xlabel="distance", ylabel="variogram", xlim=(0, None), ylim=(0, None))
    if path is not None:
        axes.figure.savefig(path, dpi=110)
    return axes
