"""Signed circulant features: a block is d cyclic shifts of one Gaussian vector."""

from __future__ import annotations

from typing import final

import numpy as np

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks, random_signs
from spectra.base.arrays import FloatArray

__all__ = ["SignedCirculant"]


@final
class SignedCirculant(GaussianBlocks):
    r"""Features of a Gaussian kernel by circulant matrices, at cost d log d for d frequencies.

    .. math:: W = \frac{1}{\ell}\, \mathrm{diag}(\sigma)\, \mathrm{circ}(g), \qquad
              g \sim N(0, I_d),\ \sigma_i = \pm 1,

    with the length scale l and the circulant matrix of g.  **Unbiased**: a row has the entries of g
    in another order, up to sign.  Rows of a block are dependent: for x - y along (1, ..., 1), their
    products with x - y are equal up to sign.  The signs have no effect on cosine-sine pairs.

    References
    ----------
    Feng, Hu, Liao, "Random feature mapping with signed circulant matrix projection", IJCAI 2015.

    Examples
    --------
    >>> SignedCirculant(n_components=6, random_state=0).fit_transform(np.eye(3)).shape
    (3, 6)
    """

    def _block_size(self, dim: int) -> int:
        return dim

    def _draw_block(self, dim: int, random: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
        return random.standard_normal(dim), random_signs(random, dim)

    def _project(self, rows: FloatArray, block: tuple[FloatArray, FloatArray]) -> FloatArray:
        first, signs = block
        spectrum = np.fft.rfft(rows, axis=1) * np.fft.rfft(first)
        return np.asarray(np.fft.irfft(spectrum, n=rows.shape[1], axis=1) * signs)
