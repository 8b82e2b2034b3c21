r"""Random directions: every row uniform on the sphere, and the rows of one draw coupled or not.

A scheme is a function ``(n, dim, rng) -> rows`` of shape ``(n, dim)``; with ``draws=m`` it makes m
independent draws at once, of shape ``(m, n, dim)``.  Each single row of each scheme but
``hadamard`` is exactly uniform on the unit sphere, so that every scheme gives unbiased features;
the schemes differ in the law of the *pairs*, which decides the variance: with c the cosine between
two rows, the variance of the mean of plane waves depends on E P_n(c), n = 2, 4, ... (P_n
Gegenbauer, P_n(1) = 1), and is least where these are negative.

========== ================================================== ===================================
scheme     pairs of rows                                      cosine c
========== ================================================== ===================================
iid        independent                                        that of two uniform rows
orthogonal Haar d x d blocks, independent of one another      0 within a block
haar       d columns of one Haar matrix of order N, cut       near 0 only where N is near d
simplex    d + 1 vertices of a turned regular simplex         -1/d within a block
hadamard   rows of H D H D H D, in blocks                     0 within a block (near 0 if padded)
qmc        scrambled Sobol points through the normal law      no closed form
designed   a set of least energy, turned (see its module)     those of the set
========== ================================================== ===================================
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import ndtri

from rf.sobol import sobol_points
from spectra.errors import ParameterError

__all__ = [
    "DIRECTIONS",
    "designed",
    "haar",
    "haar_order",
    "hadamard",
    "hadamard_blocks",
    "hadamard_order",
    "iid",
    "orthogonal",
    "qmc",
    "simplex",
    "sobol",
]

FloatArray = NDArray[np.float64]


class Scheme(Protocol):
    """What every scheme is: a draw of n unit rows, or so many independent draws at once."""

    def __call__(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> FloatArray: ...


# Hadamard blocks up to this order can be enumerated: 4096 of them.
_ENUMERATED_ORDER = 4


def iid(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Independent uniform directions.

    Parameters
    ----------
    n, dim : int
        Number of rows and dimension, both at least 1.
    rng : numpy.random.Generator
    draws : int, optional
        How many independent draws to make, along a first axis.

    Returns
    -------
    ndarray of shape (n, dim) or (draws, n, dim)
        Unit rows.

    Raises
    ------
    ParameterError
        Where ``n``, ``dim`` or ``draws`` is below 1.

    Examples
    --------
    >>> rows = iid(5, 3, np.random.default_rng(0))
    >>> rows.shape, bool(np.allclose(np.linalg.norm(rows, axis=1), 1.0))
    ((5, 3), True)
    """
    count = _check(n, dim, draws)
    return _first_or_all(_unit(rng.standard_normal((count, n, dim))), draws)


def orthogonal(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    """Independent blocks of ``dim`` orthonormal rows, each a Haar matrix; the last may be cut.

    A cut block of b < dim rows is uniform on the Stiefel manifold of b orthonormal rows.
    Parameters and errors as :func:`iid`.

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016.

    Examples
    --------
    >>> rows = orthogonal(5, 3, np.random.default_rng(0))
    >>> bool(np.allclose(rows[:3] @ rows[:3].T, np.eye(3)))
    True
    """
    count = _check(n, dim, draws)
    whole, rest = divmod(n, dim)
    blocks = _haar_columns(count * whole, dim, dim, rng).reshape(count, whole * dim, dim)
    if rest > 0:
        cut = _haar_columns(count, dim, rest, rng).swapaxes(1, 2)
        blocks = np.concatenate([blocks, cut], axis=1) if whole else np.ascontiguousarray(cut)
    return _first_or_all(blocks, draws)


def haar_order(n: int, dim: int) -> int:
    """Order N = max(n, 2 dim) of the Haar matrix that the published coupling cuts.

    With s frequencies for each of two signs, n = 2s and N = max(2s, 2d), as in the paper.
    """
    return max(n, 2 * dim)


def haar(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """The published coupling of GORF: n columns of a Haar matrix of order N, cut to ``dim`` rows.

    The cut columns are divided by their norms.  Each is exactly uniform, but no two are
    orthogonal: the order N = max(n, 2 dim) is at least twice the dimension.  Parameters and
    errors as :func:`iid`.  The cost is that of the QR factors of an N x dim matrix, since ``dim``
    rows of a Haar matrix are all that is used.

    References
    ----------
    Luo, Fang, Yang, Huang, "Towards unbiased random features with lower variance for stationary
    indefinite kernels", arXiv 2104.06204, Algorithm 1.

    Examples
    --------
    >>> rows = haar(4, 3, np.random.default_rng(0))
    >>> bool(np.allclose(np.linalg.norm(rows, axis=1), 1.0))
    True
    """
    count = _check(n, dim, draws)
    return _first_or_all(_unit(_haar_columns(count, haar_order(n, dim), dim, rng)[:, :n]), draws)


def simplex(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Independent blocks of the ``dim + 1`` vertices of a regular simplex, each turned by Haar.

    Two rows of a block have inner product -1/dim.  Parameters and errors as :func:`iid`.

    References
    ----------
    Reid, Choromanski, Likhosherstov, Weller, "Simplex random features", ICML 2023.

    Examples
    --------
    >>> rows = simplex(4, 3, np.random.default_rng(0))
    >>> bool(np.allclose((rows @ rows.T)[0, 1:], -1 / 3))
    True
    """
    count = _check(n, dim, draws)
    whole, rest = divmod(n, dim + 1)
    vertices = helmert(dim + 1).T * np.sqrt((dim + 1) / dim)
    turned = vertices @ _haar_columns(count * whole, dim, dim, rng)
    rows = turned.reshape(count, whole * (dim + 1), dim)
    if rest > 0:
        # The first vertices are a triangular matrix times orthonormal rows, which are turned.
        lower = np.linalg.qr(vertices[:rest].T)[1].T
        cut = lower @ _haar_columns(count, dim, rest, rng).swapaxes(1, 2)
        rows = np.concatenate([rows, cut], axis=1)
    return _first_or_all(rows, draws)


def hadamard(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    r"""Independent blocks of rows of H D1 H D2 H D3, H Hadamard and D diagonal random signs.

    The order p of H is the least power of two that is at least ``dim``; where p > dim the rows
    are cut to ``dim`` columns (as if the data were padded with zeros) and divided by their norms.
    A product of a block with a vector costs p log p in place of p^2.

    The rows are **not** exactly uniform: they take finitely many values, and E cos(w . D) depends
    on the axis of D (its mean over all axes is right).  The bias at the phase |w||D| = 2 sqrt(d),
    where a Gaussian kernel is 0.14, with D along a coordinate axis, its worst case: 0.22 at d = 2,
    0.13 at 4, 0.031 at 8, 0.005 at 16, below 0.002 at 32 and more.  In dimension 1 the rows are
    exact.  Take another scheme where d is below about 16.  Parameters and errors as :func:`iid`.

    References
    ----------
    Yu et al., "Orthogonal random features", NeurIPS 2016, section 4 (SORF).

    Examples
    --------
    >>> rows = hadamard(4, 4, np.random.default_rng(0))
    >>> bool(np.allclose(rows @ rows.T, np.eye(4)))
    True
    """
    count = _check(n, dim, draws)
    blocks = hadamard_blocks(dim, count * -(-n // hadamard_order(dim)), rng)
    return _first_or_all(np.ascontiguousarray(blocks.reshape(count, -1, dim)[:, :n]), draws)


def hadamard_order(dim: int) -> int:
    """The power of two to which rows are padded before a Hadamard transform."""
    return 1 << (dim - 1).bit_length()


def hadamard_blocks(
    dim: int, count: int | None = None, rng: np.random.Generator | None = None
) -> FloatArray:
    """Blocks of unit rows that :func:`hadamard` is made of, shape (count, order, dim).

    Without a count all blocks are given, each of the same probability: 8^order of them before
    those without a direction are left out, so that an order above 4 is refused.

    Examples
    --------
    >>> hadamard_blocks(3, 2, np.random.default_rng(0)).shape
    (2, 4, 3)
    """
    order = hadamard_order(dim)
    if count is None:
        if order > _ENUMERATED_ORDER:
            raise ParameterError(
                f"There are 8**{order} blocks of order {order}, too many to enumerate. Give a "
                "count and a generator."
            )
        bits = np.arange(8**order)[:, None] >> np.arange(3 * order) & 1
        signs = (2.0 * bits - 1.0).reshape(-1, 3, order).swapaxes(0, 1)
        rows = _walsh_blocks(np.asarray(signs), dim)
        return _unit(rows[np.any(rows, axis=2).all(axis=1)])
    rng = np.random.default_rng(rng)
    rows = _walsh_blocks(_signs(count, order, rng), dim)
    # A row of a small block can lie wholly in the columns that are cut, and have no direction.
    while (lost := ~np.any(rows, axis=2).all(axis=1)).any():
        rows[lost] = _walsh_blocks(_signs(int(lost.sum()), order, rng), dim)
    return _unit(rows)


def qmc(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Scrambled Sobol points through the normal inverse CDF, divided by their norms.

    Each row is exactly uniform on the sphere.  Parameters and errors as :func:`iid`.

    References
    ----------
    Yang, Sindhwani, Avron, Mahoney, "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    ICML 2014.

    Examples
    --------
    >>> rows = qmc(8, 3, np.random.default_rng(0))
    >>> bool(np.allclose(np.linalg.norm(rows, axis=1), 1.0))
    True
    """
    return _unit(ndtri(sobol(n, dim, rng, draws=draws)))


def sobol(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """First ``n`` points of a scrambled Sobol sequence, each exactly uniform on the unit cube.

    Parameters and errors as :func:`iid`; see :func:`rf.sobol.sobol_points`.

    Examples
    --------
    >>> points = sobol(4, 2, np.random.default_rng(0))
    >>> sorted((points[:, 0] * 4).astype(int).tolist())
    [0, 1, 2, 3]
    """
    return _first_or_all(sobol_points(_check(n, dim, draws), n, dim, rng), draws)


def designed(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Sets of least pairwise energy, turned by Haar: see :mod:`rf.designed_directions`.

    The first set of a size costs a minimisation, a third of a second, and more where d is above
    70; n directions beyond that size are independent sets.
    """
    # The sets start from orthogonal blocks, so their module is built on this one.
    from rf.designed_directions import coupled_sizes
    from rf.designed_directions import designed as draw

    count = _check(n, dim, draws)
    return _first_or_all(draw(n, dim, rng, sizes=coupled_sizes(n, dim), draws=count), draws)


DIRECTIONS: Mapping[str, Scheme] = MappingProxyType(
    {
        "iid": iid,
        "orthogonal": orthogonal,
        "haar": haar,
        "simplex": simplex,
        "hadamard": hadamard,
        "qmc": qmc,
        "designed": designed,
    }
)


def _check(n: int, dim: int, draws: int | None) -> int:
    """The number of draws, after a look at all three numbers."""
    count = 1 if draws is None else draws
    for name, value in (("n", n), ("dim", dim), ("draws", count)):
        if value < 1:
            raise ParameterError(f"{name} = {value}: directions need at least one row and column.")
    return count


def _first_or_all(rows: FloatArray, draws: int | None) -> FloatArray:
    first: FloatArray = rows[0]
    return first if draws is None else rows


def _unit(rows: FloatArray) -> FloatArray:
    unit: FloatArray = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


def _haar_columns(count: int, order: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """``count`` matrices of shape (order, columns), the first columns of Haar matrices.

    QR alone is not Haar: LAPACK fixes the signs of R, and the signs must be undone (Mezzadri,
    Notices of the AMS 54, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((count, order, columns)))
    signs = np.copysign(1.0, np.diagonal(r, axis1=1, axis2=2))
    haar_columns: FloatArray = q * signs[:, None, :]
    return haar_columns


def _signs(count: int, order: int, rng: np.random.Generator) -> FloatArray:
    return rng.choice(np.array([-1.0, 1.0]), size=(3, count, order))


def _walsh_blocks(signs: FloatArray, dim: int) -> FloatArray:
    """First ``dim`` columns of H D H D H D, exact whole numbers; signs (3, count, order)."""
    _, count, order = signs.shape
    rows = np.zeros((count, order, dim))
    rows[:, np.arange(dim), np.arange(dim)] = signs[0, :, :dim]
    return _walsh(signs[2, :, :, None] * _walsh(signs[1, :, :, None] * _walsh(rows)))


def _walsh(a: FloatArray) -> FloatArray:
    """Walsh-Hadamard transform along axis 1, whose length is a power of two, not normalised."""
    blocks, order, columns = a.shape
    half = 1
    while half < order:
        a = a.reshape(blocks, order // (2 * half), 2, half, columns)
        a = np.stack([a[:, :, 0] + a[:, :, 1], a[:, :, 0] - a[:, :, 1]], axis=2)
        half *= 2
    return a.reshape(blocks, order, columns)
