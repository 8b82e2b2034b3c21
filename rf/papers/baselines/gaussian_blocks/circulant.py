"""Signed circulant features: each block of d frequencies is one normal vector, shifted round."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks, random_signs
from spectra.base.arrays import FloatArray

__all__ = ["SignedCirculant"]


class _Circulant(NamedTuple):
    first: FloatArray
    signs: FloatArray


@final
class SignedCirculant(GaussianBlocks):
    r"""Features of a Gaussian kernel by circulant matrices, d log d for d frequencies.

    .. math:: W = \frac{1}{\ell}\, \mathrm{diag}(\sigma)\, \mathrm{circ}(g), \qquad
              g \sim N(0, I_d),\ \sigma_i = \pm 1.

    **Unbiased**, for every d: each row has the entries of g in another order, and is normal.  Rows
    of a block depend on one another; x - y along (1, ..., 1) has the same phase in all of them, up
    to sign, so that a block is worth one frequency there.

    The paper draws one cosine with a random phase for each row, and the signs make the covariance
    of two of these vanish; here, as in all of this package, a frequency has a cosine and a sine,
    whose product does not see its sign.  The signs are kept as published.

    Parameters
    ----------
    length_scale, n_components, random_state
        As in :class:`rf.papers.baselines.gaussian_blocks.blocks.GaussianBlocks`.

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

    def _block(self, dim: int, random: np.random.RandomState) -> _Circulant:
        return _Circulant(random.standard_normal(dim), random_signs(random, dim))

    def _project(self, rows: FloatArray, block: _Circulant) -> FloatArray:
        spectrum = np.fft.rfft(rows, axis=1) * np.fft.rfft(block.first)
        return np.asarray(np.fft.irfft(spectrum, n=rows.shape[1], axis=1) * block.signs)
