"""Features of a Gaussian kernel with structured frequencies: quasi-Monte Carlo, SORF."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from scipy.linalg import hadamard
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline, cosines_and_sines
from spectra.base.arrays import FloatArray

__all__ = ["SORF", "QuasiMonteCarlo"]

# Half the spacing of Sobol points (30 bits); it moves coordinates away from 0.
_HALF_CELL = 2.0**-31


@dataclass(eq=False, repr=False, kw_only=True)
class _GaussianFeatures(Baseline):
    """Features of exp(-|x - y|^2 / (2 length_scale^2)).

    Parameters
    ----------
    length_scale : float, default=1.0
    n_components : int, default=100
        Number of columns: a cosine and a sine for each frequency; if it is odd, the last
        frequency has only a cosine with a random phase.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_frequencies, d)
    """

    length_scale: float = 1.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "length_scale": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _frequencies(self, n: int, dim: int, random: np.random.RandomState) -> FloatArray:
        """At least n frequencies for length_scale = 1."""

    def _draw(self, X: FloatArray) -> FloatArray:
        random, n = check_random_state(self.random_state), -(-self.n_components // 2)
        self.frequencies_ = self._frequencies(n, X.shape[1], random)[:n] / self.length_scale
        self._phase = float(random.uniform(0.0, 2.0 * np.pi))
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        scale = math.sqrt(2.0 / self.n_components)
        return scale * cosines_and_sines(X @ self.frequencies_.T, self.n_components, self._phase)


@final
class QuasiMonteCarlo(_GaussianFeatures):
    """Features of a Gaussian kernel whose frequencies are quantiles of Sobol points.

    Each coordinate of a scrambled Sobol point is mapped by the inverse normal distribution
    function.  Each frequency is normally distributed, so the features are **unbiased**.
    Their variance has no closed form.

    References
    ----------
    Yang, Sindhwani, Avron, Mahoney, "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    ICML 2014.

    Examples
    --------
    >>> QuasiMonteCarlo(n_components=6, random_state=0).fit_transform(np.eye(3)).shape
    (3, 6)
    """

    def _frequencies(self, n: int, dim: int, random: np.random.RandomState) -> FloatArray:
        sequence = qmc.Sobol(dim, rng=np.random.default_rng(random.randint(2**31)))
        points = sequence.random_base2((n - 1).bit_length())
        return np.asarray(ndtri(points + _HALF_CELL))


@final
class SORF(_GaussianFeatures):
    r"""Structured orthogonal random features of a Gaussian kernel, with a bias that falls with d.

    .. math:: W = \frac{\sqrt p}{\ell}\, \tilde H D_1 \tilde H D_2 \tilde H D_3,

    with the length scale l, the orthogonal Hadamard matrix of the smallest order p = 2^k >= d and
    diagonal matrices D_i of random signs; rows are padded with zeros.

    **Biased**: all frequencies have the norm sqrt(p) / l, and |E K^ - K| / |K| (Frobenius norm) is
    38, 18, 5.6 and 1.5 % for d = 2, 4, 16 and 64 (rows with normal entries of variance 1/d).

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016,
    section 4.

    Examples
    --------
    >>> features = SORF(n_components=2, random_state=0)
    >>> features.fit([[0.0]]).gram([[0.0]], [[2.0]]).round(6) == np.cos(2.0).round(6)
    array([[ True]])
    """

    def _frequencies(self, n: int, dim: int, random: np.random.RandomState) -> FloatArray:
        order = 1 << (dim - 1).bit_length()
        H, blocks = hadamard(order).astype(float), []
        for _ in range(-(-n // order)):
            product = np.eye(order)
            for signs in 2.0 * random.randint(0, 2, size=(3, order)) - 1.0:
                product = H @ (signs[:, None] * product)
            # The published norm of a frequency is sqrt(p); three transforms give p^(3/2).
            blocks.append(product[:, :dim] / order)
        return np.concatenate(blocks)
