"""Columns of one Haar matrix for all parts: the published coupling of GORF."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import roots_jacobi

from rf.sampling.coupling import CosineLaw, Coupling, Pairs
from rf.sampling.directions import checked_draws, first_or_all, haar_columns, unit_rows
from spectra.base.arrays import FloatArray

__all__ = ["HAAR", "haar", "haar_cosine", "haar_order"]


def haar_order(n: int, dim: int) -> int:
    """Order N = max(n, 2 dim) of the Haar matrix that the published coupling cuts.

    With s frequencies for each of two signs, n = 2s and N = max(2s, 2d), as in the paper.
    """
    return max(n, 2 * dim)


def haar(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """The published coupling of GORF: n columns of a Haar matrix of order N, cut to ``dim`` rows.

    The cut columns are divided by their norms.  Each is exactly uniform, but no two are
    orthogonal: the order N = max(n, 2 dim) is at least twice the dimension.  The cost is that of
    the QR factors of an N x dim matrix, since ``dim`` rows of a Haar matrix are all that is used.
    Parameters and errors as :func:`rf.sampling.directions.iid`.

    Luo, Fang, Yang, Huang, "Towards unbiased random features with lower variance for stationary
    indefinite kernels", arXiv 2104.06204, Algorithm 1.
    """
    count = checked_draws(n, dim, draws)
    return first_or_all(unit_rows(haar_columns(count, haar_order(n, dim), dim, rng)[:, :n]), draws)


def haar_cosine(dim: int, size: int, degree: int) -> tuple[FloatArray, FloatArray]:
    r"""Quadrature for the cosine of two columns of a Haar matrix that is cut to ``dim`` rows.

    The columns of a Haar matrix of O(size) are cut to their first ``dim`` entries and
    renormalised.  Their cosine is c = t sqrt(1 - p) / sqrt(1 - p t^2) with independent
    t^2 ~ Beta(1/2, (d-1)/2) and p ~ Beta(d/2, (size-d)/2); it is 0 where size = dim and tends to
    the cosine of independent directions as size grows.  Its sign is random: only even functions
    of c have the right mean under the nodes, which are all positive.

    Returns ``cosines``, ``weights``: good for the means of the even P_n(c), n <= degree; the
    weights sum to 1.

    The coupling is Algorithm 1 of Luo, Fang, Yang, Huang (2021), arXiv:2104.06204.
    """
    if size == dim:
        return np.zeros(1), np.ones(1)
    # P_n(c) is a polynomial of degree n/2 in c^2; the margin is for the rational map to c.
    nodes = degree // 2 + 60
    x, weight_x = roots_jacobi(nodes, 0.5 * (dim - 3), -0.5)
    y, weight_y = roots_jacobi(nodes, 0.5 * (size - dim) - 1.0, 0.5 * dim - 1.0)
    t2, p = 0.5 * (1 + x), 0.5 * (1 + y)
    weights = np.outer(weight_x / weight_x.sum(), weight_y / weight_y.sum())
    c = np.sqrt(t2[:, None] * (1 - p) / (1 - p * t2[:, None]))
    return c.ravel(), weights.ravel()


def _columns_of_one_matrix(
    counts: Sequence[int], dim: int, rng: np.random.Generator, draws: int
) -> list[FloatArray]:
    """The parts divide the columns of one matrix."""
    every = haar(sum(counts), dim, rng, draws=draws)
    return np.split(every, np.cumsum(counts)[:-1], axis=1)


def _pairs_of_cut_columns(pairs: int, dim: int, total: int) -> Sequence[Pairs]:
    return (Pairs(CosineLaw(_cut_cosine, haar_order(total, dim)), pairs),)


def _cut_cosine(order: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    return haar_cosine(dim, int(order), degree)


#: All parts take columns of one Haar matrix of order max(n, 2d), cut to d rows.  No two directions
#: are orthogonal, since the order is at least twice the dimension.
HAAR = Coupling(
    "haar",
    haar,
    lambda n, dim, total: _pairs_of_cut_columns(n * (n - 1), dim, total),
    joint=_columns_of_one_matrix,
    across=lambda n, m, dim, total: _pairs_of_cut_columns(n * m, dim, total),
)
