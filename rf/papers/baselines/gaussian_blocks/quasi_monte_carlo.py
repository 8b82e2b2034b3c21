"""Quasi-Monte Carlo features: frequencies from a scrambled Sobol sequence."""

from __future__ import annotations

from typing import final

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks
from spectra.base.arrays import FloatArray

__all__ = ["QuasiMonteCarlo"]

# Half the spacing of Sobol points (30 bits); it moves coordinates away from 0.
_HALF_CELL = 2.0**-31


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
