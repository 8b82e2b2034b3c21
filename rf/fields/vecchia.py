r"""Vecchia's approximation: a sparse inverse Cholesky factor from conditionals on near neighbours.

The joint density is a product of conditionals. Each point, in a random order, is conditioned on m
of its nearest predecessors only, so that row i of the factor W has m + 1 entries and

.. math:: W^T W \approx K^{-1}, \qquad \log\det K \approx -2 \sum_i \log W_{ii} .

A. V. Vecchia, J. R. Stat. Soc. B 50 (1988) 297; J. Guinness, Technometrics 60 (2018) 415.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.spatial import KDTree

from spectra.base.arrays import FloatArray

__all__ = ["neighbour_blocks", "vecchia_factor"]

Indices = NDArray[np.int64]
# Rows of a block, whose covariance matrices are in memory at a time (8 kB for each row of m = 30).
_BLOCK = 1000
_SEED = 0  # of the order: the approximation depends on the points alone


def neighbour_blocks(X: FloatArray, m: int) -> list[Indices]:
    """Blocks of rows (predecessors, point): all points of a random order, each as a last column.

    The first m points have fewer predecessors, each in a block of its own.
    """
    n = len(X)
    order = np.random.default_rng(_SEED).permutation(n)
    points, blocks = X[order], [order[None, : i + 1] for i in range(min(m, n))]
    start = min(m, n)
    while start < n:
        # Of the 3 m nearest among twice as many points, half are predecessors on average.
        stop = min(2 * start, n)
        own = np.arange(start, stop)[:, None]
        near = _nearest(points[:stop], points[start:stop], min(3 * m, stop))
        rank = np.where(near < own, np.arange(near.shape[1]), n)
        chosen = np.argsort(rank, axis=1, kind="stable")[:, :m]
        near = np.take_along_axis(near, chosen, axis=1)
        few = np.take_along_axis(rank, chosen, axis=1)[:, -1] == n
        if few.any():
            near[few] = _nearest(points[:start], points[start:stop][few], m)
        rows = order[np.concatenate([near, own], axis=1)]
        blocks += [rows[i : i + _BLOCK] for i in range(0, len(rows), _BLOCK)]
        start = stop
    return blocks


def _nearest(points: FloatArray, targets: FloatArray, k: int) -> Indices:
    return np.asarray(KDTree(points).query(targets, k=k)[1]).reshape(len(targets), k)


def vecchia_factor(
    blocks: list[Indices], covariance: Callable[[Indices], FloatArray]
) -> csr_matrix:
    """The factor W with W' W close to the inverse of the covariance matrix.

    ``covariance`` maps indices of shape (rows, k) to matrices of shape (rows, k, k), with the noise
    on their diagonals.
    """
    rows, columns, entries = [], [], []
    for block in blocks:
        unit = np.zeros((*block.shape, 1))
        unit[:, -1] = 1.0
        last = np.linalg.solve(covariance(block), unit)[..., 0]  # of the inverse of each matrix
        entries.append((last / np.sqrt(last[:, -1:])).ravel())
        rows.append(np.repeat(block[:, -1], block.shape[1]))
        columns.append(block.ravel())
    n = sum(map(len, blocks))
    values = np.concatenate(entries)
    return csr_matrix((values, (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))
