"""Fastfood: a Gaussian matrix from diagonals, a permutation and two Hadamard transforms."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks, random_signs
from rf.papers.baselines.gaussian_blocks.walsh import walsh_transform
from spectra.base.arrays import FloatArray

__all__ = ["Fastfood"]


class _Factors(NamedTuple):
    signs: FloatArray
    permutation: NDArray[np.int64]
    gauss: FloatArray
    scale: FloatArray


@final
class Fastfood(GaussianBlocks):
    r"""Features of a Gaussian kernel with the rows of a structured matrix V as p frequencies.

    .. math:: V = \frac{1}{\ell \sqrt p}\, S H G \Pi H B, \qquad S_{ii} \sim \chi_p / |G|_F,

    with the length scale l, the Hadamard matrix H of the smallest order p = 2^k >= d (entries +-1),
    diagonal B (random signs) and G (standard normal), and a permutation Pi; X is padded with zeros.

    **Unbiased**: given B and Pi, a row of H G Pi H B is normal with covariance p I, and S gives it
    the norm of an independent normal vector.  Rows of V are dependent.

    References
    ----------
    Le, Sarlos, Smola, "Fastfood: approximating kernel expansions in loglinear time", ICML 2013,
    equations (7) and (8).

    Examples
    --------
    >>> Fastfood(n_components=6, random_state=0).fit_transform(np.eye(3)).shape
    (3, 6)
    """

    def _block_size(self, dim: int) -> int:
        return 1 << (dim - 1).bit_length()

    def _draw_block(self, dim: int, random: np.random.RandomState) -> _Factors:
        p = self._block_size(dim)
        gauss = random.standard_normal(p)
        radii = np.sqrt(random.chisquare(p, size=p))
        return _Factors(
            signs=random_signs(random, p),
            permutation=random.permutation(p),
            gauss=gauss,
            scale=radii / (np.linalg.norm(gauss) * np.sqrt(p)),
        )

    def _project(self, rows: FloatArray, block: _Factors) -> FloatArray:
        values = np.zeros((block.signs.size, len(rows)))
        values[: rows.shape[1]] = rows.T
        values = walsh_transform(values * block.signs[:, None])[block.permutation]
        return np.asarray((walsh_transform(values * block.gauss[:, None]) * block.scale[:, None]).T)
