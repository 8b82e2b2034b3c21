"""DIGMM as in its public code: frequencies of one fitted Gaussian, whatever the kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import psi
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from rf.papers.baselines.base import Baseline, kernel_matrix
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["DIGMM"]

# Constants of the public code: steps of inference, the change of a probability at which it stops,
# the multiple of the lowest eigenvalue that shifts the matrix, the standard deviation of the noise
# of matrix entries, and the variance added to every coordinate of a frequency.
_STEPS, _CHANGE, _SHIFT, _NOISE, _ADDED_VARIANCE = 50, 1e-5, 20.0, 0.01, 1e-4


@final
@dataclass(eq=False, repr=False)
class DIGMM(Baseline):
    r"""Features of the double infinite Gaussian mixture model, as in its public MATLAB code.

    The kernel matrix of a few rows is split into :math:`K = (K + \sigma I) - \sigma I`, sigma =
    -20 times its lowest eigenvalue (nothing is split if K is positive semidefinite).  For each part
    variational inference fits a mixture of T Gaussians to standard normal frequencies, and gives
    each frequency a Gaussian posterior.  The features are :math:`\sqrt{2/D} \cos(w \cdot x + b)`
    with the differences w of draws for both parts.

    **Biased**: the probabilities of the mixture do not depend on the frequency, so all frequencies
    have one posterior, and the mean of the features (:meth:`expected_gram`) is one Gaussian.  It
    depends on the kernel only through a term that is added to all entries of the precision matrix.

    Parameters
    ----------
    kernel : callable or object with ``gram``, optional
        kernel(X, Y), or kernel.gram(X, Y), a stationary kernel; the default is exp(-|x - y|^2 / d).
    n_components : int, default=100
        Number of columns.
    pilots : int, default=5
        Number of random rows whose kernel matrix is split: 5 in the functions of the public code,
        10 in its demo.
    mixture_size : int, default=5
        Number of Gaussians T of the mixture.
    concentration : float, default=1.0
        Concentration alpha_0 of the Dirichlet process.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    mean_, covariance_ : ndarray
        Mean and covariance of a frequency.

    Notes
    -----
    The public code passes the squared distance of two pilots, a number, where its formula has the
    matrix of their difference; it repeats the inference for other rows, and keeps the last result;
    and for the delta-Gaussian it computes exp(+z^2/2) - exp(+z^2/200).  Here the kernel is the one
    that is given; the rest is as in the code.

    References
    ----------
    F. Liu, X. Huang, L. Shi, J. Yang, J. A. K. Suykens, "A double-variational Bayesian framework in
    random Fourier features for indefinite kernels", IEEE TNNLS 31 (2020) 2965; the code is in
    github.com/tomqingo/GORF.

    """

    kernel: Any = None
    _: KW_ONLY
    n_components: int = 100
    pilots: int = 5
    mixture_size: int = 5
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
        """The mean of :meth:`gram` over the frequencies, given their Gaussian."""
        factor = np.linalg.cholesky(self.covariance_)
        phase = (X @ self.mean_)[:, None] - Y @ self.mean_
        return np.exp(-0.5 * cdist(X @ factor, Y @ factor, "sqeuclidean")) * np.cos(phase)

    def _draw(self, X: FloatArray) -> FloatArray:
        random, n = check_random_state(self.random_state), self.n_components
        if n <= X.shape[1]:
            raise ParameterError(
                f"DIGMM needs more columns than the dimension {X.shape[1]}, and n_components = {n}."
            )
        omega = random.standard_normal((n, X.shape[1]))
        chosen = X[random.choice(len(X), size=min(self.pilots, len(X)), replace=False)]
        K = kernel_matrix(self.kernel, chosen, chosen)
        shift = -_SHIFT * min(float(np.linalg.eigvalsh(K)[0]), 0.0) * np.eye(len(chosen))
        parts = (K + shift, shift) if np.any(shift) else (K,)
        fitted = [self._posterior(part, chosen, omega) for part in parts]
        added = _ADDED_VARIANCE * np.eye(X.shape[1])
        draws = [random.multivariate_normal(mean, cov + added, size=n) for mean, cov in fitted]
        # With two parts the code subtracts the frequencies of the second from those of the first.
        self.frequencies_ = draws[0] - sum(draws[1:])
        self.mean_ = fitted[0][0] - sum(mean for mean, _ in fitted[1:])
        self.covariance_ = np.sum([cov + added for _, cov in fitted], axis=0)
        self._phases = random.uniform(0.0, 2.0 * np.pi, n)
        return np.ones(n)

    def _posterior(
        self, part: FloatArray, rows: FloatArray, omega: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the posterior of a frequency.

        The precision matrices of all Gaussians are multiples of the inverse covariance of omega, so
        the inference runs on the probabilities q of the mixture alone.
        """
        n, dim = omega.shape
        precision = np.linalg.inv(np.atleast_2d(np.cov(omega.T)))
        log_det = np.linalg.slogdet(precision)[1]
        q = np.full(self.mixture_size, 1.0 / self.mixture_size)
        for _ in range(_STEPS):
            counts, width = n * q, dim + q * (n - 1)
            later = np.cumsum(counts[::-1])[::-1][1:] + self.concentration
            stick = psi(counts[:-1] + 1.0) - psi(counts[:-1] + 1.0 + later)
            rest = psi(later) - psi(counts[:-1] + 1.0 + later)
            log_q = np.append(stick, 0.0) + np.append(0.0, np.cumsum(rest))
            halves = 0.5 * (dim + counts[:, None] - np.arange(dim))
            log_q += 0.5 * (psi(halves).sum(axis=1) + log_det - dim * np.log(width))
            before, q = q, np.exp(log_q - log_q.max())
            q /= q.sum()
            if np.sqrt(n) * np.linalg.norm(q - before) < _CHANGE:
                break
        counts, width = n * q, dim + q * (n - 1)
        scale = (dim + counts) / width  # of the expected precision of each Gaussian
        means = np.outer(scale * counts / (1.0 + scale * counts), omega.mean(axis=0))
        misfit = np.sum((1.0 - part) * cdist(rows, rows, "sqeuclidean")) / (2.0 * _NOISE**2)
        covariance = np.linalg.pinv(q @ scale * precision + misfit, hermitian=True)
        return covariance @ precision @ ((q * scale) @ means), covariance

    def _columns(self, X: FloatArray) -> FloatArray:
        phase = X @ self.frequencies_.T + self._phases
        return np.sqrt(2.0 / self.n_components) * np.cos(phase)
