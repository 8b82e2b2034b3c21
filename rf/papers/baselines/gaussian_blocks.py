"""Features of a Gaussian kernel whose frequencies are drawn in structured blocks."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline, cosines_and_sines
from spectra.base.arrays import FloatArray

__all__ = [
    "SORF",
    "GaussianBlocks",
    "QuasiMonteCarlo",
    "walsh_transform",
]

# Half the spacing of Sobol points (30 bits); it moves coordinates away from 0.
_HALF_CELL = 2.0**-31


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianBlocks(Baseline):
    """Features of exp(-|x - y|^2 / (2 length_scale^2)) with frequencies drawn in blocks.

    Parameters
    ----------
    length_scale : float, default=1.0
    n_components : int, default=100
        Number of columns: a cosine and a sine for each frequency; if it is odd, the last
        frequency has only a cosine with a random phase.
    random_state : int, RandomState instance or None, default=None
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
    def _block_size(self, dim: int) -> int:
        """Number of frequencies in a block."""

    @abstractmethod
    def _draw_block(self, dim: int, random: np.random.RandomState) -> Any:
        """Draw the random numbers that define a block, for length_scale = 1."""

    @abstractmethod
    def _project(self, rows: FloatArray, block: Any) -> FloatArray:
        """The products of rows with the frequencies of a block, of shape (rows, block size)."""

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        dim = X.shape[1]
        n_frequencies = -(-self.n_components // 2)
        n_blocks = -(-n_frequencies // self._block_size(dim))
        self._blocks = [self._draw_block(dim, random) for _ in range(n_blocks)]
        self._phase = float(random.uniform(0.0, 2.0 * np.pi))
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        rows = X / self.length_scale
        phase = np.concatenate([self._project(rows, block) for block in self._blocks], axis=1)
        phase = phase[:, : -(-self.n_components // 2)]
        scale = math.sqrt(2.0 / self.n_components)
        return scale * cosines_and_sines(phase, self.n_components, self._phase)


def _random_signs(random: np.random.RandomState, *shape: int) -> FloatArray:
    """Independent +1 and -1 with equal probability."""
    return np.asarray(2.0 * random.randint(0, 2, size=shape) - 1.0)


@final
class QuasiMonteCarlo(GaussianBlocks):
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

    def _block_size(self, dim: int) -> int:
        return -(-self.n_components // 2)

    def _draw_block(self, dim: int, random: np.random.RandomState) -> FloatArray:
        n = self._block_size(dim)
        sequence = qmc.Sobol(dim, rng=np.random.default_rng(random.randint(2**31)))
        points = sequence.random_base2((n - 1).bit_length())[:n]
        return np.asarray(ndtri(points + _HALF_CELL))

    def _project(self, rows: FloatArray, block: FloatArray) -> FloatArray:
        return rows @ block.T


@final
class SORF(GaussianBlocks):
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

    def _block_size(self, dim: int) -> int:
        return 1 << (dim - 1).bit_length()

    def _draw_block(self, dim: int, random: np.random.RandomState) -> FloatArray:
        return _random_signs(random, 3, self._block_size(dim))

    def _project(self, rows: FloatArray, block: FloatArray) -> FloatArray:
        values = np.zeros((block.shape[1], len(rows)))
        values[: rows.shape[1]] = rows.T
        for signs in block:
            values = walsh_transform(values * signs[:, None])
        # The published norm of a frequency is sqrt(p); three transforms give p^(3/2).
        return np.asarray(values.T / block.shape[1])


def walsh_transform(values: FloatArray) -> FloatArray:
    """The product of the Hadamard matrix H of order 2^k = len(values) with ``values``.

    H is the Kronecker product of two Hadamard matrices of orders about 2^(k/2).

    Examples
    --------
    >>> walsh_transform(np.eye(2))
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    order, columns = values.shape
    exponent = order.bit_length() - 1
    outer, inner = _hadamard(exponent // 2), _hadamard(exponent - exponent // 2)
    product = outer @ values.reshape(len(outer), -1)
    both = np.matmul(inner, product.reshape(len(outer), -1, columns))
    return np.asarray(both.reshape(order, columns))


@lru_cache(maxsize=32)
def _hadamard(exponent: int) -> FloatArray:
    matrix = np.ones((1, 1))
    for _ in range(exponent):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix
