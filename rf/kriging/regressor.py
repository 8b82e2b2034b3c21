"""Kriging as a regressor of scikit-learn: families fitted by likelihood or to a variogram."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from rf.fields import GaussianField, KrigingSystem
from rf.kriging.data import Data, warn
from rf.kriging.likelihood import ExactLikelihood, VecchiaLikelihood
from rf.kriging.model import Model
from rf.kriging.optimum import Likelihood, Optimum, likelihood_intervals, maximise
from rf.kriging.report import CrossValidation, draw, summary_text
from spectra import empirical_variogram, existence
from spectra import family as make_family
from spectra.base.arrays import FloatArray
from spectra.base.numbers import whole_number
from spectra.derivation import CovarianceModel
from spectra.errors import ParameterError, TimeLimitError

__all__ = ["Kriging"]

_METHODS = ("reml", "ml", "variogram")
# Within this of an end of its box, the logarithm of a parameter counts as at its bound.
_AT_BOUND = 1e-2
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
    family : Family or str
        The covariance, such as a name or a formula with free symbols (see :func:`spectra.family`).
        A length or a variance is added unless a symbol only scales z, or only scales k.
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
    parameters_, coef_ : dict
        The estimates of the covariance (the nugget is a variance) and of the drift, by name.
    kernel_, length_scale_ : Kernel, and float, array or matrix
        The covariance without the nugget, for coordinates divided by the length scale:
        ``SpectralFeatures(kernel_, length_scale=length_scale_)``.
    log_likelihood_, converged_ : float, bool
        The logarithm of the likelihood that was fitted; False if the fit was interrupted.

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
        self._data = data = Data.read(X, y, noise, self.drift, has_nugget=self.nugget)
        self.n_features_in_ = len(data.names)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(data.names, dtype=object)
        (n, dim), family = data.X.shape, make_family(self.family)
        neighbors: Any = self.n_neighbors
        if neighbors == "auto":
            neighbors = None if n <= _MOST_EXACT else _NEIGHBORS
        if neighbors is not None:
            neighbors = min(whole_number(neighbors, "n_neighbors"), n - 1)
        self.n_neighbors_ = neighbors
        model = Model(CovarianceModel(family, dim, self.nugget), self.anisotropy, data.scale)
        self._model, self.variogram_ = model, None
        if self.method == "variogram":
            if self.anisotropy is not None:
                raise ParameterError("method='variogram' fits one length: use 'reml' for several.")
            found = empirical_variogram(data.X, data.residuals).fit(family, nugget=self.nugget)
            self.variogram_, q = found, np.log(found.numbers)
            self._optimum = Optimum(q, self._make_likelihood(None).loss(q)[0], True)
        else:
            starts = whole_number(self.n_starts, "n_starts")
            self._optimum = maximise(self._make_likelihood, model, n, starts)
        self._finish()
        return self

    def _make_likelihood(self, rows: Any) -> Likelihood:
        """The likelihood of some rows, or of all for None; few rows have the exact one."""
        data, chosen = self._data, slice(None) if rows is None else rows
        columns = (data.X, data.y, data.drift.columns, data.noise)
        arguments: Any = (self._model, *(x[chosen] for x in columns), self.method != "ml")
        if self.n_neighbors_ is None or (rows is not None and len(rows) <= _MOST_EXACT):
            return ExactLikelihood(*arguments)
        return VecchiaLikelihood(*(*arguments, self.n_neighbors_))

    def _finish(self) -> None:
        q, model, data = self._optimum.q, self._model, self._data
        self.parameters_, self.length_scale_ = model.parameters(q), model.length_scale(q)
        self.kernel_, self.nugget_ = model.base.kernel(model.numbers(q)), model.nugget(q)
        self.log_likelihood_, self.converged_ = -0.5 * self._optimum.loss, self._optimum.is_complete
        self._likelihood = self._make_likelihood(None)
        self._system: KrigingSystem | None = None
        if isinstance(self._likelihood, ExactLikelihood):
            factor = self._likelihood.factor(q)
            self._system = KrigingSystem.of_factor(factor, data.drift.columns)
            self._weights, self._beta = self._system.weights(data.y)
        else:
            self._beta, self._root = self._likelihood.coefficients(q)
        self.coef_ = data.coefficients(self._beta)
        self._check_result()

    def _check_result(self) -> None:
        """Warn of an estimate that the data do not determine; refuse one that is no covariance."""
        if not self.converged_:
            warn("The fit was interrupted: the parameters are the best so far.")
        model, scale, family = self._model, self._data.scale, self._model.base.family
        ends = zip(model.names[: model.count], self._optimum.q, model.box, strict=False)
        for name, x, (low, high) in ends:
            if min(x - low, high - x) < _AT_BOUND:
                which = "lower" if x - low < high - x else "upper"
                warn(
                    f"The parameter {name} is at its {which} bound ({self.parameters_[name]:.4g})."
                )
        # The singular values are the lengths along the axes.
        lengths = np.linalg.svd(np.linalg.inv(model.matrix(self._optimum.q)), compute_uv=False)
        if model.has_length and lengths.max() > scale.extent:
            warn(
                f"The length {lengths.max():.4g} is beyond the extent of the data, "
                f"{scale.extent:.4g}: they do not determine it, nor the variance, but only the "
                f"ratio variance/length = {self.kernel_.at_zero / lengths.max():.4g}, the slope of "
                "the variogram at 0. A drift may be missing."
            )
        if model.has_length and lengths.min() < scale.nearest:
            warn(
                f"The length {lengths.min():.4g} is below the least distance of two points, "
                f"{scale.nearest:.4g}: the fitted covariance of the data is independent noise."
            )
        if family.positive_definite is None:
            try:
                found = existence(self.kernel_, model.base.dim).positive_definite
            except TimeLimitError:
                return
            if found is not None and found.answer is False:
                raise ParameterError(
                    f"The fitted kernel {self.kernel_} is not positive definite on "
                    f"R^{model.base.dim}: {found.reason} Bound the parameters, "
                    "family(..., name=(low, high))."
                )

    # --- predictions --------------------------------------------------------------------------

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """The kriging mean at the rows of X, and its standard deviation with ``return_std``.

        The standard deviation is that of the drift plus the field.  The variance of a new value,
        which PyKrige and gstat return, is larger by ``nugget_``.
        """
        check_is_fitted(self)
        points, drift = self._data.at(X)
        parts = [
            self._predict(points[i : i + _BLOCK], drift[i : i + _BLOCK], return_std)
            for i in range(0, max(len(points), 1), _BLOCK)
        ]
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        return (mean, np.sqrt(np.maximum(variance, 0.0))) if return_std else mean

    def _predict(
        self, points: FloatArray, drift: FloatArray, with_variance: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the field at points."""
        if self._system is None:
            return self._from_neighbours(points, drift, self._nearest(points))
        model, q = self._model, self._optimum.q
        z = cdist(self._data.X @ model.matrix(q), points @ model.matrix(q))
        cross = model.covariance(q, float(z.max(initial=0.0)))(z)
        mean = drift @ self._beta + cross.T @ self._weights
        if not with_variance:
            return mean, np.zeros(len(mean))
        return mean, self._system.variance(model.variance(q), cross, drift)

    def _nearest(self, points: FloatArray, skip: int = 0) -> Any:
        """Indices of the nearest data, without the first ``skip``, in lengths of the model."""
        A, X = self._model.matrix(self._optimum.q), self._data.X
        k = min(_PREDICTION * (self.n_neighbors_ or 0) + skip, len(X))
        return KDTree(X @ A).query(points @ A, k=range(1 + skip, k + 1))[1]

    def _from_neighbours(
        self, points: FloatArray, drift: FloatArray, near: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Kriging from the nearest data, with the coefficients of the drift from all data."""
        model, q, data = self._model, self._optimum.q, self._data
        A, F = model.matrix(q), data.drift.columns
        X = data.X @ A
        own, others = points @ A, X[near]
        apart = np.linalg.norm(others[:, :, None] - others[:, None], axis=-1)
        towards = np.linalg.norm(others - own[:, None], axis=-1)
        covariance = model.covariance(q, float(max(apart.max(), towards.max())))
        V, c, places = covariance(apart), covariance(towards), np.arange(near.shape[1])
        V[:, places, places] = model.variance(q) + model.nugget(q) + data.noise[near]
        weights = np.linalg.solve(V, c[..., None])[..., 0]
        rest = data.y - F @ self._beta
        mean = drift @ self._beta + np.sum(weights * rest[near], axis=1)
        variance = model.variance(q) - np.sum(weights * c, axis=1)
        u = drift - np.einsum("bi,bip->bp", weights, F[near])
        return mean, variance + np.sum((u @ self._root) ** 2, axis=1)

    def sample(self, X: Any, *, n_paths: int = 1, n_components: int = 2048) -> FloatArray:
        """Paths through the data at the rows of X: shape (n_paths, rows).

        A path is a draw of the drift plus the field given the data, from the spectral table of the
        fitted kernel.
        """
        check_is_fitted(self)
        data, A = self._data, self._model.matrix(self._optimum.q)
        field = GaussianField(
            self.kernel_,
            len(A),
            n_components=n_components,
            random_state=self.random_state,
        )
        known = data.drift.columns if data.columns else data.drift.kind
        noise = np.sqrt(data.noise + self.nugget_)
        given = field.condition(data.X @ A, data.y, noise=noise, drift=known)
        points, drift = data.at(X)
        return given.sample(points @ A, n_paths=n_paths, drift=drift if data.columns else None)

    # --- judging the fit ----------------------------------------------------------------------

    def cross_validate(self) -> CrossValidation:
        """Leave-one-out predictions with the fitted parameters, as :class:`CrossValidation`."""
        check_is_fitted(self)
        data = self._data
        if self._system is not None:
            error, variance = self._system.leave_one_out(data.y)
            return CrossValidation(data.y - error, np.sqrt(variance), error)
        near = self._nearest(data.X, skip=1)
        blocks = [slice(i, i + _BLOCK) for i in range(0, len(data.y), _BLOCK)]
        drift = data.drift.columns
        parts = [self._from_neighbours(data.X[b], drift[b], near[b]) for b in blocks]
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        std = np.sqrt(variance + data.noise + self.nugget_)
        return CrossValidation(mean, std, data.y - mean)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals of the parameters by the likelihood ratio, by name.

        They hold the values that a likelihood ratio test does not reject.  An end is 0 or infinite
        if no value on that side is rejected.  Lengths and angle of a rotated anisotropy have none.
        """
        check_is_fitted(self)
        if self.method == "variogram":
            raise ParameterError("A variogram has no likelihood: use method='reml' for intervals.")
        model, found = self._model, {}
        count = model.count if self.anisotropy == "rotated" else len(model.names)
        ends = likelihood_intervals(self._likelihood, self._optimum, model.box, count, level)
        for name, pair in zip(model.names, ends, strict=False):
            low, high = sorted(float(np.exp(x)) ** model.base.power(name) for x in pair)
            found[name] = low, high
        return found

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
