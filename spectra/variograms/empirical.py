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
from spectra.derivation import definite_bounds
from spectra.errors import DataError, ParameterError
from spectra.kernels import Kernel
from spectra.kernels.catalogue import Family, family

__all__ = ["EmpiricalVariogram", "VariogramFit", "empirical_variogram"]

# gstat's defaults: the largest distance as a part of the diagonal of the bounding box, and the
# number of classes.
_CUTOFF, _BINS = 1.0 / 3.0, 15
# Points whose pairs are in memory at a time.
_BLOCK = 500
# Weights of the classes by name, from their distances and their numbers of pairs.
_WEIGHTS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "pairs/h^2": lambda h, n: n / h**2,
    "pairs": lambda h, n: n,
    "equal": lambda h, n: np.ones_like(h),
}
# Starts of a fit: the length as a part of the largest distance. Box of the lengths, in units of the
# largest distance, and of other parameters, unless their own bounds are narrower.
_STARTS, _LENGTHS, _SHAPES = (0.1, 0.3, 0.6, 1.0, 2.0), (1e-3, 20.0), (0.05, 20.0)


@final
@dataclass(frozen=True, eq=False)
class EmpiricalVariogram:
    """Half the mean squared differences of values in classes of distances.

    Attributes
    ----------
    distances, values : ndarray of shape (classes,)
        The mean distance of the pairs of each class, and the estimate of the variogram.
    counts : ndarray of shape (classes,)
        Numbers of pairs.
    dim : int
        Dimension of the points.
    """

    distances: FloatArray
    values: FloatArray
    counts: FloatArray
    dim: int

    def __repr__(self) -> str:
        return (
            f"EmpiricalVariogram({len(self.values)} classes up to {self.distances[-1]:.6g}, "
            f"{int(self.counts.sum())} pairs)"
        )

    def fit(
        self, source: Family | str, *, weights: str = "pairs/h^2", nugget: bool = True
    ) -> VariogramFit:
        """Fit a family with a nugget by weighted least squares, from several starts.

        Parameters
        ----------
        source : Family or str
            A family, a name of the catalogue or a formula with free symbols.  If it has no
            parameter that scales the distance, or the variance, this parameter is added.
        weights : {"pairs/h^2", "pairs", "equal"}
            The weights of the classes; the first is gstat's default.
        nugget : bool
            Whether a constant at positive distances is fitted.

        Examples
        --------
        >>> import numpy as np, spectra as sp
        >>> X = np.random.default_rng(0).uniform(0, 9, (200, 2))
        >>> y = np.sin(X[:, 0]) + np.cos(X[:, 1])
        >>> fit = sp.empirical_variogram(X, y).fit("gaussian")
        >>> sorted(fit.parameters)
        ['length', 'nugget', 'variance']
        """
        if weights not in _WEIGHTS:
            raise ParameterError(f"weights = {weights!r} must be one of {', '.join(_WEIGHTS)}.")
        chosen = family(source)
        scaling, bounds = chosen.scaling, definite_bounds(chosen, self.dim)
        unit_z, unit_k = float(self.distances[-1]), float(np.average(self.values))
        if not unit_k > 0.0:
            raise DataError("The variogram is 0 everywhere, because all values are equal.")
        names, low, high, unit = [], [], [], []
        for name, (least, most) in bounds.items():
            size = unit_z ** scaling.exponent("z", name) * unit_k ** scaling.exponent("k", name)
            box = (1e-6, 1e6) if size != 1.0 else _SHAPES
            names.append(name)
            unit.append(size)
            low.append(max(least / size, box[0] if least >= 0 else least / size))
            high.append(min(most / size, box[1]))
        for name, known, size, box in (
            ("length", scaling.lengths or "z" in chosen.pinned, unit_z, _LENGTHS),
            ("variance", scaling.variances or "k" in chosen.pinned, unit_k, (0.0, 1e6)),
            ("nugget", not nugget, unit_k, (0.0, 1e6)),
        ):
            if not known:
                names, unit = [*names, name], [*unit, size]
                low, high = [*low, box[0]], [*high, box[1]]
        sizes, root = np.array(unit), np.sqrt(_WEIGHTS[weights](self.distances, self.counts))

        def residuals(x: FloatArray) -> FloatArray:
            model = _model(chosen, dict(zip(names, x * sizes, strict=True)), self.distances)
            return root * (model - self.values)

        runs = []
        for start in _STARTS:
            x = [_start(chosen, scaling, name, start) for name in names]
            inside = np.clip(x, np.add(low, 1e-9), np.subtract(high, 1e-9))
            runs.append(
                least_squares(residuals, inside, bounds=(low, high), x_scale="jac", xtol=1e-13,
                              ftol=1e-14, gtol=1e-14, max_nfev=1000)
            )  # fmt: skip
        best = min(runs, key=lambda run: run.cost)
        found = dict(zip(names, (best.x * sizes).tolist(), strict=True))
        return VariogramFit(self, chosen, found, 2.0 * float(best.cost))

    def plot(self, *, path: str | PathLike[str] | None = None) -> Any:
        """Draw the classes; save the picture if ``path`` is given, else return the axes."""
        return draw_variogram(self, None, path)


@final
@dataclass(frozen=True, eq=False)
class VariogramFit:
    """A family fitted to an empirical variogram.

    Attributes
    ----------
    empirical : EmpiricalVariogram
    family : Family
    parameters : dict
        The fitted values by name, with "length" and "variance" if they were added, and "nugget".
    loss : float
        The weighted sum of squares.
    """

    empirical: EmpiricalVariogram
    family: Family
    parameters: dict[str, float]
    loss: float

    def __repr__(self) -> str:
        found = ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())
        return f"VariogramFit({self.family.id or self.family.formula}: {found})"

    def __call__(self, z: ArrayLike) -> FloatArray:
        """The fitted variogram at distances z, with the nugget at z > 0."""
        return _model(self.family, self.parameters, real_array(z, "z"))

    @property
    def kernel(self) -> Kernel:
        """The fitted covariance without the nugget."""
        own = {n: self.parameters[n] for n in self.family.defaults}
        kernel = self.family(**own) * _added(self.family, self.parameters, "variance")
        return kernel.rescale(_added(self.family, self.parameters, "length"))

    def plot(self, *, path: str | PathLike[str] | None = None) -> Any:
        """Draw the classes and the fitted curve; save the picture if ``path`` is given."""
        return draw_variogram(self.empirical, self, path)


def empirical_variogram(
    X: ArrayLike,
    y: ArrayLike,
    *,
    estimator: str = "matheron",
    cutoff: float | None = None,
    bins: int | ArrayLike = _BINS,
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
    bins : int or array_like
        The number of classes of equal width, or their edges.  A class includes its upper edge.

    Returns
    -------
    EmpiricalVariogram

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
    edges = (
        np.linspace(0.0, end, whole_number(bins, "bins") + 1)
        if np.ndim(bins) == 0
        else real_array(bins, "bins")
    )
    if edges.ndim != 1 or not np.all(np.diff(edges) > 0):
        raise ParameterError("The edges of the classes must ascend, and the points must differ.")
    counts, sums, distances = np.zeros((3, len(edges) - 1))
    tree = KDTree(points)
    for first in range(0, len(points), _BLOCK):
        block = KDTree(points[first : first + _BLOCK])
        pairs = block.sparse_distance_matrix(tree, edges[-1], output_type="coo_matrix")
        i, j, z = pairs.row + first, pairs.col, pairs.data
        keep = (i < j) & (z > edges[0])
        i, j, z = i[keep], j[keep], z[keep]
        place = np.searchsorted(edges, z, side="left") - 1
        size = np.abs(values[i] - values[j]) ** (2.0 if estimator == "matheron" else 0.5)
        for total, weight in ((counts, None), (sums, size), (distances, z)):
            total += np.bincount(place, weight, minlength=len(counts))
    used = counts > 0
    if not used.any():
        raise DataError(f"No two points are at most {edges[-1]:.6g} apart: give a larger cutoff.")
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
        axes.plot(z, model(z), color="C3", label=getattr(model, "label", "fit"))
        axes.legend(frameon=False)
    axes.set(xlabel="distance", ylabel="variogram", xlim=(0, None), ylim=(0, None))
    if path is not None:
        axes.figure.savefig(path, dpi=110)
    return axes


def _model(chosen: Family, parameters: dict[str, float], z: FloatArray) -> FloatArray:
    """The variogram of a family with added parameters and a nugget."""
    own = {name: parameters[name] for name in chosen.defaults}
    decrease = chosen.at_zero(own) - chosen.values(z / _added(chosen, parameters, "length"), own)
    nugget = np.where(z > 0.0, parameters.get("nugget", 0.0), 0.0)
    return _added(chosen, parameters, "variance") * decrease + nugget


def _added(chosen: Family, parameters: dict[str, float], name: str) -> float:
    """The value of a length or variance that was added to the family; 1 if it has its own."""
    return 1.0 if name in chosen.defaults else parameters.get(name, 1.0)


def _start(chosen: Family, scaling: Any, name: str, fraction: float) -> float:
    """The start of a parameter in its unit; lengths are a fraction of the largest distance."""
    own = float(chosen.defaults.get(name, 1.0))
    added = {"length": fraction, "variance": 0.8, "nugget": 0.2}
    if name not in chosen.defaults:
        return added[name]
    return own * fraction ** scaling.exponent("z", name)
