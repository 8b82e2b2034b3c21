"""Kriging as a regressor of scikit-learn: families fitted by likelihood or to a variogram."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rf.fields import ConditionedField, GaussianField, KrigingSystem
from rf.kriging.data import Data, warn
from rf.kriging.likelihood import ExactLikelihood, VecchiaLikelihood
from rf.kriging.model import Model, check_anisotropy
from rf.kriging.optimum import Likelihood, Optimum, likelihood_interval, maximise
from rf.kriging.report import CrossValidation, draw, summary_text
from spectra import empirical_variogram, existence
from spectra import family as make_family
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.base.numbers import whole_number
from spectra.derivation import definite_bounds
from spectra.errors import ParameterError, TimeLimitError

__all__ = ["Kriging"]

_METHODS = ("reml", "ml", "variogram")
# Rows up to which "auto" uses the exact likelihood, and the number of neighbours beyond.
_MOST_EXACT, _NEIGHBORS = 2_000, 20
# Neighbours of a prediction in units of n_neighbors, and the points of a block.
_PREDICTION, _BLOCK = 3, 1_000


@final
class Kriging(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Kriging with a covariance that is fitted to the data: a Gaussian process with a drift.

    .. math:: y_i = f(x_i) \cdot \beta + Z(x_i) + \varepsilon_i, \qquad
              \mathrm{cov}(Z(x), Z(x')) = v\,k(|x - x'| / \ell;\,\theta)

    Parameters
    ----------
    family : Family, str or Kernel
        The covariance: a family (:func:`spectra.family`), a name of the catalogue, or a formula
        with free symbols.  A symbol that only scales z is the length, and one that only scales k
        the variance; the model gets a length or a variance if it has none.  A kernel has both
        added.
    drift : None, "constant", "linear" or list of columns
        The mean: 0, a constant, a linear function of the coordinates, or a constant and these
        columns of X (numbers, or names of a data frame), which are then no coordinates.
    anisotropy : None, "axes" or "rotated"
        One length, a length for each coordinate, or lengths along axes that are fitted too.
    method : {"reml", "ml", "variogram"}
        Restricted maximum likelihood, maximum likelihood, or weighted least squares on the
        variogram of the residuals of the drift.
    nugget : bool
        Whether independent noise of unknown variance is fitted.
    n_neighbors : int, None or "auto"
        Neighbours of Vecchia's approximation; None for exact equations.  "auto" is None up to 2 000
        rows, and 20 beyond.
    n_starts : int
        The number of starts, out of 12, from which the likelihood is maximised.
    random_state : int or None
        The seed of the paths.

    Attributes
    ----------
    parameters_ : dict
        The estimates by name: those of the family, "length" and "variance" if they were added (the
        lengths and the angle of an anisotropy), and "nugget", which is a variance.
    kernel_, length_scale_ : Kernel, and float, array or matrix
        The covariance without the nugget, for coordinates divided by the length scale:
        ``SpectralFeatures(kernel_, length_scale=length_scale_)``.
    coef_ : dict
        The coefficients of the drift.
    log_likelihood_ : float
        At the estimate: restricted, or of Vecchia's approximation, as fitted.
    converged_ : bool
        False if the fit was interrupted; the estimate is then the best so far.

    References
    ----------
    M. L. Stein, Interpolation of Spatial Data (1999); J. Guinness, Technometrics 60 (2018) 415.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import Kriging
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (60, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.1 * rng.standard_normal(60)
    >>> model = Kriging("matern(nu=5/2)", drift="linear").fit(X, y)
    >>> mean, std = model.predict([[5.0, 5.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(5.0) - 0.5) < 4 * std[0])
    True
    >>> model.sample([[5.0, 5.0]], n_paths=3).shape
    (3, 1)
    """

    def __init__(
        self,
        family: Any = "matern(nu=3/2)",
        *,
        drift: Any = "constant",
        anisotropy: str | None = None,
        method: str = "reml",
        nugget: bool = True,
        n_neighbors: int | str | None = "auto",
        n_starts: int = 3,
        random_state: int | None = None,
    ) -> None:
        self.family = family
        self.drift = drift
        self.anisotropy = anisotropy
        self.method = method
        self.nugget = nugget
        self.n_neighbors = n_neighbors
        self.n_starts = n_starts
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, noise: ArrayLike | None = None) -> Kriging:
        """Fit the parameters.

        Parameters
        ----------
        X : array_like or data frame of shape (n, d)
            The coordinates, and the columns of the drift.
        y : array_like of shape (n,)
        noise : float or array_like of shape (n,), optional
            Known standard deviations of the errors of y, for all rows or for each, besides the
            nugget.  (GSTools' ``cond_err`` is a variance.)
        """
        if self.method not in _METHODS:
            raise ParameterError(f"method = {self.method!r} must be one of {', '.join(_METHODS)}.")
        family = make_family(self.family)
        check_anisotropy(family, self.anisotropy)
        self._data = data = Data.read(
            X, y, noise, self.drift, has_nugget=self.nugget, keep_units=family.pinned
        )
        self.n_features_in_ = len(data.layout.coordinates) + len(data.layout.drift_columns)
        if data.layout.names is not None:
            self.feature_names_in_ = np.array(data.layout.names, dtype=object)
        n, dim = data.X.shape
        self._family, self.n_neighbors_ = family, self._checked_neighbors(n)
        self._model = Model(
            family,
            dim,
            definite_bounds(family, dim),
            self.anisotropy,
            self.nugget,
            unit_z=data.unit_z,
            unit_k=data.unit_y**2,
            nearest=data.nearest,
            spread=data.spread,
        )
        self._likelihood = self._make_likelihood(None)
        self.variogram_ = None
        if self.method == "variogram":
            self._optimum = self._fit_variogram()
        else:
            make = self._make_likelihood
            self._optimum = maximise(make, self._model, n, whole_number(self.n_starts, "n_starts"))
        self._finish()
        return self

    def _checked_neighbors(self, n: int) -> int | None:
        if self.n_neighbors == "auto":
            return None if n <= _MOST_EXACT else _NEIGHBORS
        if self.n_neighbors is None:
            return None
        return min(whole_number(self.n_neighbors, "n_neighbors"), n - 1)

    def _make_likelihood(self, rows: Any) -> Likelihood:
        """The likelihood of some rows, or of all for None; few rows have the exact one."""
        data, chosen = self._data, slice(None) if rows is None else rows
        arguments = (
            self._model,
            data.X[chosen],
            data.y[chosen],
            data.F[chosen],
            data.noise[chosen],
            self.method != "ml",
        )
        few = rows is not None and len(rows) <= _MOST_EXACT
        if self.n_neighbors_ is None or few:
            return ExactLikelihood(*arguments)
        return VecchiaLikelihood(*arguments, m=self.n_neighbors_)

    def _fit_variogram(self) -> Optimum:
        data, model = self._data, self._model
        if self.anisotropy is not None:
            raise ParameterError("method='variogram' fits one length: use 'reml' with anisotropy.")
        found = empirical_variogram(data.X * data.unit_z, data.residuals * data.unit_y).fit(
            self._family, nugget=self.nugget
        )
        self.variogram_ = found
        values = [found.parameters[f.name] / model.unit(f.name) for f in model.free]
        q = [
            np.log(max(v, 1e-300)) if f.is_log else v
            for f, v in zip(model.free, values, strict=True)
        ]
        at_bound = np.zeros(len(q))
        return Optimum(np.array(q), self._likelihood.loss(np.array(q))[0], True, at_bound)

    def _finish(self) -> None:
        q, model, data = self._optimum.q, self._model, self._data
        self.parameters_ = model.reported(q)
        self.kernel_, self.length_scale_ = model.kernel(q), model.length_scale(q)
        self.nugget_ = self.parameters_.get("nugget", 0.0)
        freedom = len(data.y) - (0 if self.method == "ml" else data.F.shape[1])
        self.log_likelihood_ = -0.5 * self._optimum.loss - freedom * float(np.log(data.unit_y))
        self.converged_ = self._optimum.is_complete
        self._intervals: dict[float, dict[str, tuple[float, float]]] = {}
        self._field: ConditionedField | None = None
        self._system = self._make_system()
        self.coef_ = data.coefficients(self._system[1])
        self._check_result()

    def _make_system(self) -> tuple[KrigingSystem | None, FloatArray, FloatArray]:
        """The exact equations or None, the coefficients, and the root of their covariance."""
        likelihood, q = self._likelihood, self._optimum.q
        if isinstance(likelihood, ExactLikelihood):
            system = KrigingSystem.of_factor(likelihood.factor(q), likelihood.F)
            weights, beta = system.weights(likelihood.y)
            self._weights = weights
            return system, beta, np.empty((0, 0))
        return None, *likelihood.coefficients(q)

    def _check_result(self) -> None:
        """Warn of an estimate that the data do not determine; refuse one that is no covariance."""
        if not self.converged_:
            warn("The fit was interrupted: the parameters are the best so far.")
        model, optimum, data = self._model, self._optimum, self._data
        extent, nearest = data.extent * data.unit_z, data.nearest * data.unit_z
        longest = np.atleast_1d(np.asarray(self.length_scale_, dtype=float))
        lengths = np.linalg.eigvalsh(longest) if longest.ndim == 2 else longest
        known = model.family.scaling.lengths is None or model.family.scaling.length is not None
        for f, end in zip(model.free, optimum.at_bound, strict=True):
            if end and not (
                f.part in ("length", "geometry") or f.name == model.family.scaling.length
            ):
                which = "lower" if end < 0 else "upper"
                value = f" ({self.parameters_[f.name]:.4g})" if f.name in self.parameters_ else ""
                warn(f"The parameter {f.name} is at its {which} bound{value}.")
        if known and "z" not in model.family.pinned:
            if lengths.max() > extent:
                warn(
                    f"The length {lengths.max():.4g} is beyond the extent of the data, "
                    f"{extent:.4g}: they do not determine it, nor the variance, but only the ratio "
                    f"variance/length = {self.kernel_.at_zero / lengths.max():.4g}, the slope of "
                    "the variogram at 0. A drift may be missing."
                )
            if lengths.min() < nearest:
                warn(
                    f"The length {lengths.min():.4g} is below the least distance of two points, "
                    f"{nearest:.4g}: the fitted covariance of the data is independent noise."
                )
        if model.family.positive_definite is None:
            try:
                found = existence(self.kernel_, model.dim).positive_definite
            except TimeLimitError:
                return
            if found is not None and found.answer is False:
                raise ParameterError(
                    f"The fitted kernel {self.kernel_} is not positive definite on R^{model.dim}: "
                    f"{found.reason} Bound the parameters, family(..., name=(low, high))."
                )

    # --- predictions --------------------------------------------------------------------------

    def predict(
        self, X: Any, *, return_std: bool = False, include_nugget: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """The kriging mean at the rows of X, and its standard deviation with ``return_std``.

        The standard deviation is that of the drift plus the field.  ``include_nugget`` adds the
        nugget: that of a new value, which is what PyKrige and gstat return away from the data.
        """
        check_is_fitted(self)
        points, drift = self._data.at(X)
        blocks = range(0, len(points), _BLOCK)
        parts = [
            self._predict(points[i : i + _BLOCK], drift[i : i + _BLOCK], return_std) for i in blocks
        ]
        mean = np.concatenate([m for m, _ in parts] or [np.empty(0)]) * self._data.unit_y
        if not return_std:
            return mean
        variance = np.concatenate([v for _, v in parts] or [np.empty(0)])
        variance += self._model.nugget(self._optimum.q) * include_nugget
        return mean, np.sqrt(np.maximum(variance, 0.0)) * self._data.unit_y

    def _predict(
        self, points: FloatArray, drift: FloatArray, with_variance: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the field at points in units of the data."""
        model, q, likelihood = self._model, self._optimum.q, self._likelihood
        system, beta, _ = self._system
        if system is None:
            near = self._nearest(points)
            return self._from_neighbours(points, drift, near)
        A = model.matrix(q)
        z = cdist(likelihood.X @ A, points @ A)
        cross = model.covariance(q, float(z.max(initial=0.0)))(z)
        mean = drift @ beta + cross.T @ self._weights
        if not with_variance:
            return mean, np.zeros(len(mean))
        return mean, system.variance(model.variance(q), cross, drift)

    def _nearest(self, points: FloatArray, skip: int = 0) -> Any:
        """Indices of the nearest data, without the first ``skip``, in lengths of the model."""
        A, X = self._model.matrix(self._optimum.q), self._likelihood.X
        k = min(_PREDICTION * (self.n_neighbors_ or 0) + skip, len(X))
        return KDTree(X @ A).query(points @ A, k=range(1 + skip, k + 1))[1]

    def _from_neighbours(
        self, points: FloatArray, drift: FloatArray, near: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Kriging from the nearest data, with the coefficients of the drift from all data."""
        model, q, data = self._model, self._optimum.q, self._likelihood
        _, beta, root = self._system
        A = model.matrix(q)
        X = data.X @ A
        own, others = points @ A, X[near]
        apart = np.linalg.norm(others[:, :, None] - others[:, None], axis=-1)
        towards = np.linalg.norm(others - own[:, None], axis=-1)
        covariance = model.covariance(q, float(max(apart.max(), towards.max())))
        V, c, places = covariance(apart), covariance(towards), np.arange(near.shape[1])
        V[:, places, places] = model.variance(q) + model.nugget(q) + data.noise[near]
        weights = np.linalg.solve(V, c[..., None])[..., 0]
        rest = data.y - data.F @ beta
        mean = drift @ beta + np.sum(weights * rest[near], axis=1)
        variance = model.variance(q) - np.sum(weights * c, axis=1)
        u = drift - np.einsum("bi,bip->bp", weights, data.F[near])
        return mean, variance + np.sum((u @ root) ** 2, axis=1)

    def sample(self, X: Any, *, n_paths: int = 1, n_components: int = 2048) -> FloatArray:
        """Paths through the data at the rows of X: shape (n_paths, rows).

        A path is a draw of the drift plus the field given the data.  The first call derives the
        spectral table of the fitted kernel.
        """
        check_is_fitted(self)
        if self._field is None or self._field.field.n_components != n_components:
            field = GaussianField(
                self.kernel_,
                self._model.dim,
                n_components=n_components,
                random_state=self.random_state,
            )
            data = self._data
            noise = np.sqrt(data.noise * data.unit_y**2 + self.nugget_)
            self._field = field.condition(
                self._divide(data.X),
                data.y * data.unit_y,
                noise=noise,
                drift=data.F if data.F.shape[1] else None,
            )
        points, drift = self._data.at(X)
        given = drift if drift.shape[1] else None
        return self._field.sample(self._divide(points), n_paths=n_paths, drift=given)

    def _divide(self, points: FloatArray) -> FloatArray:
        """Points in units of the data, divided by the length scale."""
        points, lengths = points * self._data.unit_z, np.asarray(self.length_scale_)
        return points @ np.linalg.inv(lengths) if lengths.ndim == 2 else points / lengths

    # --- judging the fit ----------------------------------------------------------------------

    def cross_validate(self) -> CrossValidation:
        """Leave-one-out predictions with the fitted parameters, as :class:`CrossValidation`."""
        check_is_fitted(self)
        data, system = self._likelihood, self._system[0]
        if system is not None:
            error, variance = system.leave_one_out(data.y)
        else:
            near = self._nearest(data.X, skip=1)
            blocks = [slice(i, i + _BLOCK) for i in range(0, len(data.y), _BLOCK)]
            parts = [self._from_neighbours(data.X[b], data.F[b], near[b]) for b in blocks]
            error = data.y - np.concatenate([m for m, _ in parts])
            variance = np.concatenate([v for _, v in parts]) + data.noise
            variance += self._model.nugget(self._optimum.q)
        unit = self._data.unit_y
        return CrossValidation((data.y - error) * unit, np.sqrt(variance) * unit, error * unit)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals of the parameters by the likelihood ratio, by name.

        They hold the values that a likelihood ratio test does not reject.  An end is 0 or infinite
        if no value on that side is rejected.  Lengths and angle of a rotated anisotropy have none.
        """
        check_is_fitted(self)
        if self.method == "variogram":
            raise ParameterError("A variogram has no likelihood: use method='reml' for intervals.")
        if level not in self._intervals:
            model, found = self._model, {}
            hessian = self._likelihood.hessian(self._optimum.q)
            for j, f in enumerate(model.free):
                if f.part == "geometry" and self.anisotropy == "rotated":
                    continue
                with stage(f"finding the interval of {f.name}", has_limit=False):
                    ends = likelihood_interval(
                        self._likelihood, self._optimum, model.box, j, hessian, level
                    )
                low, high = np.exp(ends) if f.is_log or f.part == "geometry" else ends
                unit = model.unit(f.name)
                found[f.name] = float(low * unit), float(high * unit)
            self._intervals[level] = found
        return self._intervals[level]

    def summary(self, level: float = 0.95) -> str:
        """A table of the estimates with intervals, the drift and the likelihood."""
        check_is_fitted(self)
        return summary_text(self, level)

    def plot(self, *, path: Any = None) -> Any:
        """Draw the variogram of the residuals with the fit, and predictions in one or two columns.

        The figure is returned, and saved if ``path`` is given.
        """
        check_is_fitted(self)
        return draw(self, path)
