"""Signed circulant features: each block of d frequencies is one normal vector, rotated."""

from __future__ import annotations

from typing import final

import numpy as np

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks, random_signs
from spectra.base.arrays import FloatArray

__all__ = ["SignedCirculant"]


@final
class SignedCirculant(GaussianBlocks):
    r"""Features of a Gaussian kernel by circulant matrices, d log d for d frequencies.

    .. math:: W = \frac{1}{\ell}\, \mathrm{diag}(\sigma)\, \mathrm{circ}(g), \qquad
              g \sim N(0, I_d),\ \sigma_i = \pm 1.

    **Unbiased**: each row is normal, since it has the entries of g in another order.  Rows of a
    block are dependent: for x - y along (1, ..., 1) a block is worth one frequency.

    The published signs have no effect here, where a frequency has a cosine and a sine.

    References
    ----------
    Feng, Hu, Liao, "Random feature mapping with signed circulant matrix projection", IJCAI 2015.

    Examples
    --------
    >>> SignedCirculant(n_components=6, random_state=0).fit_transform(np.eye(3)).shape
    (3, 6)
    """

    def _order(self, dim: int) -> int:
        return dim

    def _block(self, dim: int, random: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
        return random.standard_normal(dim), random_signs(random, dim)

    def _project(self, rows: FloatArray, block: tuple[FloatArray, FloatArray]) -> FloatArray:
        first, signs = block
        spectrum = np.fft.rfft(rows, axis=1) * np.fft.rfft(first)
        return np.asarray(np.fft.irfft(spectrum, n=rows.shape[1], axis=1) * signs)
