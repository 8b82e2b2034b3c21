"""Features of two Gaussian mixtures, fitted to the positive and negative part of a matrix."""

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
from spectra.base.bessel import plane_wave_mean

__all__ = ["DIGMM"]

# Candidate radii, times the median distance of the sampled rows: from a wave that is constant on
# these rows to one of ten periods per median distance.
_RELATIVE_RADII = np.append(0.0, np.geomspace(0.05, 60.0, 59))
# Number of off-diagonal entries that the radii are fitted to, and of frequencies that a mixture is
# fitted to.  More change the error on letter by less than its spread over seeds.
_PAIRS, _DRAWS = 4000, 2000
# An eigenvalue sum below this share of the total is rounding, and its part is left out.
_NEGLIGIBLE_SHARE = 1e-9
# Largest number of steps of variational inference.
_ITERATIONS = 300


@dataclass(frozen=True, eq=False)
class _SignedMixture:
    """The function sign * mass * E cos(w.(x - y)), with w from a mixture of Gaussians."""

    sign: float
    mass: float
    shares: FloatArray
    means: FloatArray
    deviations: FloatArray

    def draw(self, n: int, random: np.random.RandomState) -> FloatArray:
        component = random.choice(self.shares.size, size=n, p=self.shares)
        normal = random.standard_normal((n, self.means.shape[1]))
        return np.asarray(self.means[component] + self.deviations[component] * normal)

    def expected_gram(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The values at all pairs of rows of X and Y."""
        total = np.zeros((len(X), len(Y)))
        for share, mean, deviation in zip(self.shares, self.means, self.deviations, strict=True):
            phase = (X @ mean)[:, None] - Y @ mean
            scaled_z2 = cdist(X * deviation, Y * deviation, "sqeuclidean")
            total += share * np.exp(-0.5 * scaled_z2) * np.cos(phase)
        return self.sign * self.mass * total


@final
@dataclass(eq=False, repr=False)
class DIGMM(Baseline):
    r"""Features of two infinite Gaussian mixtures, fitted to the parts of an indefinite matrix.

    The kernel matrix of a sample of rows is split by its eigenvalues into two positive semidefinite
    parts, :math:`K = K_+ - K_-`.  A positive spectral measure is fitted to each part, and to this
    measure a Gaussian mixture with a Dirichlet process prior.  Frequencies are drawn from the two
    mixtures.  The features are **biased**, with mean :meth:`expected_gram`.

    Parameters
    ----------
    kernel : callable or object with ``gram``, optional
        kernel(X, Y), or kernel.gram(X, Y), a stationary kernel; the default is exp(-|x - y|^2 / d).
    n_components : int, default=100
        Number of columns, split over the two signs in proportion to the masses.
    pilots : int, default=300
        Number of random rows (pilots) whose kernel matrix is split.
    mixture_size : int, default=10
        Number of Gaussians at which an infinite mixture is truncated.
    concentration : float, default=1.0
        Concentration of the Dirichlet process.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    masses_ : tuple of float
        Masses of the two measures, that of K_- with a minus sign.
    bias_ : float
        |E K^ - K| / |K| in the Frobenius norm on the pilots, computed without sampling.
    converged_ : bool
        Whether the variational inference of both mixtures converged.

    Notes
    -----
    The papers that compare with DIGMM do not say what the mixtures are fitted to.  Here each part
    is treated as a function of the distance.  A positive measure on a grid of radii is fitted to
    the entries by least squares, and the mixture to draws from this measure.  K_+ and K_- of a
    stationary kernel are not stationary, so the method has a bias.

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
        return np.asarray(sum(one.expected_gram(X, Y) for one in self._mixtures))

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        pilots = X[random.choice(len(X), size=min(self.pilots, len(X)), replace=False)]
        K = kernel_matrix(self.kernel, pilots, pilots)
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        self.converged_ = True
        self._mixtures = []
        for sign in (1.0, -1.0):
            kept = np.maximum(sign * values, 0.0)
            if kept.sum() > _NEGLIGIBLE_SHARE * np.abs(values).sum():
                part = (vectors * kept) @ vectors.T
                self._mixtures.append(self._fit_mixture(sign, part, pilots, random))
        mean = self.expected_gram(pilots, pilots)
        self.bias_ = float(np.linalg.norm(mean - K)) / float(np.linalg.norm(K))
        masses = np.array([one.mass for one in self._mixtures])
        self.masses_ = tuple(one.sign * one.mass for one in self._mixtures)
        ends = np.round(self.n_components * np.cumsum(masses) / masses.sum()).astype(int)
        self._counts = np.diff(ends, prepend=0)
        self._frequencies = [
            one.draw((n + 1) // 2, random)
            for one, n in zip(self._mixtures, self._counts, strict=True)
        ]
        self._phases = random.uniform(0.0, 2.0 * np.pi, len(self._mixtures))
        return np.repeat([one.sign for one in self._mixtures], self._counts)

    def _fit_mixture(
        self, sign: float, part: FloatArray, pilots: FloatArray, random: np.random.RandomState
    ) -> _SignedMixture:
        """Fit a mixture to the measure of one part, a matrix of the pilots."""
        radii, weights = _fit_measure(part, pilots, random)
        mass = float(weights.sum())
        directions = random.standard_normal((_DRAWS, pilots.shape[1]))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        frequencies = random.choice(radii, size=_DRAWS, p=weights / mass)[:, None] * directions
        mixture = BayesianGaussianMixture(
            n_components=self.mixture_size,
            covariance_type="diag",
            weight_concentration_prior_type="dirichlet_process",
            weight_concentration_prior=self.concentration,
            max_iter=_ITERATIONS,
            random_state=random,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # see converged_
            mixture.fit(frequencies)
        self.converged_ &= bool(mixture.converged_)
        shares = mixture.weights_ / mixture.weights_.sum()
        return _SignedMixture(sign, mass, shares, mixture.means_, np.sqrt(mixture.covariances_))

    def _columns(self, X: FloatArray) -> FloatArray:
        fitted = zip(self._mixtures, self._frequencies, self._counts, self._phases, strict=True)
        return np.concatenate(
            [
                np.sqrt(2.0 * one.mass / max(n, 1)) * cosines_and_sines(X @ w.T, n, phase)
                for one, w, n, phase in fitted
            ],
            axis=1,
        )


def _fit_measure(
    part: FloatArray, pilots: FloatArray, random: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Radii and weights of the positive measure that fits a part best as a function of distance."""
    z, above_diagonal = pdist(pilots), np.triu_indices(len(pilots), 1)
    chosen = random.choice(z.size, size=min(_PAIRS, z.size), replace=False)
    # The mean of the diagonal is one equation, with the weight of all diagonal entries.
    distances = np.append(0.0, z[chosen])
    values = np.append(np.trace(part) / len(pilots), part[above_diagonal][chosen])
    root_weights = np.append(np.sqrt(len(pilots)), np.ones(chosen.size))
    positive = z[z > 0.0]
    radii = _RELATIVE_RADII / (float(np.median(positive)) if positive.size else 1.0)
    waves = plane_wave_mean(pilots.shape[1], np.outer(distances, radii))
    weights, _ = nnls(root_weights[:, None] * waves, root_weights * values)
    return radii[weights > 0.0], weights[weights > 0.0]
