"""Double infinite Gaussian mixtures: one for each half of an indefinite matrix."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from rf.papers.baselines.base import Baseline, cosines_and_sines, kernel_matrix
from spectra.base.arrays import FloatArray
from spectra.base.special.bessel import plane_wave_mean

__all__ = ["DIGMM"]

# Radii that a half may have, over the median distance of the pilots: from a wave that is constant
# on them to one of ten turns in it.
_RADII = np.append(0.0, np.geomspace(0.05, 60.0, 59))
# Pairs of pilots that a half is compared on, besides its diagonal, and draws that a mixture is
# fitted to (chosen: more change the error of a fit on letter by less than its spread over seeds).
_PAIRS, _DRAWS = 4000, 2000
# A half below this share of the other is rounding.
_NOTHING = 1e-9
_ITERATIONS = 300


@dataclass(frozen=True, eq=False)
class _Half:
    """sign * mass * E cos(w.D), w of a mixture of Gaussians."""

    sign: float
    mass: float
    shares: FloatArray
    means: FloatArray
    deviations: FloatArray

    def draw(self, n: int, random: np.random.RandomState) -> FloatArray:
        which = random.choice(self.shares.size, size=n, p=self.shares)
        normal = random.standard_normal((n, self.means.shape[1]))
        return np.asarray(self.means[which] + self.deviations[which] * normal)

    def expected(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The mean at the differences of two sets of rows."""
        total = np.zeros((len(X), len(Y)))
        for share, mean, deviation in zip(self.shares, self.means, self.deviations, strict=True):
            turns = (X @ mean)[:, None] - Y @ mean
            z2 = cdist(X * deviation, Y * deviation, "sqeuclidean")
            total += share * np.exp(-0.5 * z2) * np.cos(turns)
        return self.sign * self.mass * total


@final
@dataclass(eq=False, repr=False)
class DIGMM(Baseline):
    r"""Features of two infinite Gaussian mixtures, fitted to the halves of an indefinite matrix.

    The kernel matrix of some rows is split by its eigenvalues, :math:`K = K_+ - K_-`, each half
    gets a positive spectral measure, and a mixture of Gaussians with a Dirichlet process prior is
    fitted to it by variational Bayes; the frequencies of the two signs are drawn from the mixtures.
    The features are **biased**: their mean is :meth:`expected_gram`, and its distance from the
    kernel on the rows of the fit is ``bias_``.

    Parameters
    ----------
    kernel : callable or object with ``gram``, optional
        kernel(X, Y), or kernel.gram(X, Y), a stationary kernel; the default is exp(-|x - y|^2 / d).
    n_components : int, default=100
        Number of columns, split over the halves by their masses.
    pilots : int, default=300
        Rows whose matrix is split.
    mixture_size : int, default=10
        Truncation of the infinite mixtures.
    concentration : float, default=1.0
        Concentration of the Dirichlet process.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    masses_ : tuple of float
        Of the two signs.
    bias_ : float
        |E K^ - K| / |K| on the pilots, exact.
    converged_ : bool
        Whether the variational bounds settled.

    Notes
    -----
    The papers that compare with it do not say what the mixtures are fitted to.  Here a half is
    treated as a function of the distance; its measure is the positive one on radii whose plane
    waves fit the entries best by least squares, and the mixture is fitted to draws from it.  A half
    of a stationary kernel is not stationary, so the method itself has a bias.

    References
    ----------
    F. Liu, X. Huang, L. Shi, J. Yang, J. A. K. Suykens, "A double-variational Bayesian framework in
    random Fourier features for indefinite kernels", IEEE TNNLS 31 (2020) 2965.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) / 2
    >>> def k(X, Y):
    ...     z2 = np.sum((X[:, None] - Y[None]) ** 2, axis=-1)
    ...     return np.exp(-z2 / 2) - np.exp(-z2 / 200)
    >>> f = DIGMM(k, random_state=0).fit(X)
    >>> set(f.signature_.tolist()), 0.0 < f.bias_ < 1.0
    ({1.0, -1.0}, True)
    """

    kernel: Any = None
    _: KW_ONLY
    n_components: int = 100
    pilots: int = 300
    mixture_size: int = 10
    concentration: float = 1.0
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [callable, HasMethods(["gram"]), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "pilots": [Interval(Integral, 2, None, closed="left")],
        "mixture_size": [Interval(Integral, 1, None, closed="left")],
        "concentration": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def expected_gram(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The mean of :meth:`gram` over the frequencies, given the mixtures."""
        return np.asarray(sum(half.expected(X, Y) for half in self._halves))

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        rows = X[random.choice(len(X), size=min(self.pilots, len(X)), replace=False)]
        K = kernel_matrix(self.kernel, rows, rows)
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        self.converged_ = True
        self._halves = []
        for sign in (1.0, -1.0):
            size = np.maximum(sign * values, 0.0)
            if size.sum() > _NOTHING * np.abs(values).sum():
                self._halves.append(self._fitted(sign, (vectors * size) @ vectors.T, rows, random))
        found = self.expected_gram(rows, rows)
        self.bias_ = float(np.linalg.norm(found - K)) / float(np.linalg.norm(K))
        masses = np.array([half.mass for half in self._halves])
        self.masses_ = tuple(half.sign * half.mass for half in self._halves)
        ends = np.round(self.n_components * np.cumsum(masses) / masses.sum()).astype(int)
        self._counts = np.diff(ends, prepend=0)
        self._frequencies = [
            half.draw((n + 1) // 2, random)
            for half, n in zip(self._halves, self._counts, strict=True)
        ]
        self._phases = random.uniform(0.0, 2.0 * np.pi, len(self._halves))
        return np.repeat([half.sign for half in self._halves], self._counts)

    def _fitted(
        self, sign: float, half: FloatArray, rows: FloatArray, random: np.random.RandomState
    ) -> _Half:
        dim = rows.shape[1]
        radii, weights = _measure(half, rows, random)
        mass = float(weights.sum())
        directions = random.standard_normal((_DRAWS, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        drawn = random.choice(radii, size=_DRAWS, p=weights / mass)[:, None] * directions
        mixture = BayesianGaussianMixture(
            n_components=self.mixture_size,
            covariance_type="diag",
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=self.concentration,
            max_iter=_ITERATIONS,
            random_state=random,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is told by converged_
            mixture.fit(drawn)
        self.converged_ &= bool(mixture.converged_)
        shares = mixture.weights_ / mixture.weights_.sum()
        return _Half(sign, mass, shares, mixture.means_, np.sqrt(mixture.covariances_))

    def _columns(self, X: FloatArray) -> FloatArray:
        halves = zip(self._halves, self._frequencies, self._counts, self._phases, strict=True)
        return np.concatenate(
            [
                np.sqrt(2.0 * half.mass / max(n, 1)) * cosines_and_sines(X @ w.T, n, phase)
                for half, w, n, phase in halves
            ],
            axis=1,
        )


def _measure(
    half: FloatArray, rows: FloatArray, random: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Radii and weights of the positive measure nearest to a half, as a function of distance."""
    z, above = pdist(rows), np.triu_indices(len(rows), 1)
    chosen = random.choice(z.size, size=min(_PAIRS, z.size), replace=False)
    # The diagonal is one number, and weighs as many entries as it has.
    at = np.append(0.0, z[chosen])
    values = np.append(np.trace(half) / len(rows), half[above][chosen])
    heavy = np.append(np.sqrt(len(rows)), np.ones(chosen.size))
    near = z[z > 0.0]
    radii = _RADII / (float(np.median(near)) if near.size else 1.0)
    waves = plane_wave_mean(rows.shape[1], np.outer(at, radii))
    weights, _ = nnls(heavy[:, None] * waves, heavy * values)
    return radii[weights > 0.0], weights[weights > 0.0]
