"""SORF as published: Hadamard transforms with random signs, and frequencies of equal norm."""

from __future__ import annotations

from typing import final

import numpy as np

from rf.papers.baselines.gaussian_blocks.blocks import GaussianBlocks, random_signs
from rf.papers.baselines.gaussian_blocks.walsh import walsh_transform
from spectra.base.arrays import FloatArray

__all__ = ["SORF"]


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
        return random_signs(random, 3, self._block_size(dim))

    def _project(self, rows: FloatArray, block: FloatArray) -> FloatArray:
        values = np.zeros((block.shape[1], len(rows)))
        values[: rows.shape[1]] = rows.T
        for signs in block:
            values = walsh_transform(values * signs[:, None])
        # The published norm of a frequency is sqrt(p); three transforms give p^(3/2).
        return np.asarray(values.T / block.shape[1])
