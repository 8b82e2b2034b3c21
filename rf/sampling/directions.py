"""Random directions, independent or in orthonormal blocks, and the couplings made of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rf.sampling.coupling import Coupling, Pairs, fixed_cosine, pairs_in_blocks
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "INDEPENDENT",
    "ORTHOGONAL",
    "SHARED",
    "checked_draws",
    "first_or_all",
    "haar_columns",
    "iid",
    "orthogonal",
    "unit_rows",
]


def iid(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Independent uniform directions.

    ``n``, ``dim``: number of rows and dimension, both at least 1; ``draws``: how many independent
    draws to make, along a first axis; returns: unit rows.
    """
    count = checked_draws(n, dim, draws)
    return first_or_all(unit_rows(rng.standard_normal((count, n, dim))), draws)


def orthogonal(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    """Independent blocks of ``dim`` orthonormal rows, each a Haar matrix; the last may be cut.

    A cut block of b < dim rows is uniform on the Stiefel manifold of b orthonormal rows.
    Parameters and errors as :func:`iid`.

    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016.
    """
    count = checked_draws(n, dim, draws)
    whole, rest = divmod(n, dim)
    blocks = haar_columns(count * whole, dim, dim, rng).reshape(count, whole * dim, dim)
    if rest > 0:
        cut = haar_columns(count, dim, rest, rng).swapaxes(1, 2)
        blocks = np.concatenate([blocks, cut], axis=1) if whole else np.ascontiguousarray(cut)
    return first_or_all(blocks, draws)


def haar_columns(count: int, order: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """``count`` matrices of shape (order, columns), the first columns of Haar matrices.

    QR alone is not Haar: LAPACK fixes the signs of R, and the signs must be undone (Mezzadri,
    Notices of the AMS 54, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((count, order, columns)))
    signs = np.copysign(1.0, np.diagonal(r, axis1=1, axis2=2))
    haar_columns: FloatArray = q * signs[:, None, :]
    return haar_columns


def checked_draws(n: int, dim: int, draws: int | None) -> int:
    """The number of draws, after a look at all three numbers."""
    count = 1 if draws is None else draws
    for name, value in (("n", n), ("dim", dim), ("draws", count)):
        if value < 1:
            raise ParameterError(f"{name} = {value}: directions need at least one row and column.")
    return count


def first_or_all(rows: FloatArray, draws: int | None) -> FloatArray:
    """The one draw that was asked for, or all along a first axis."""
    first: FloatArray = rows[0]
    return first if draws is None else rows


def unit_rows(rows: FloatArray) -> FloatArray:
    """Rows divided by their lengths."""
    unit: FloatArray = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


def _no_pairs(n: int, dim: int, total: int) -> Sequence[Pairs]:
    return ()


def _pairs_of_a_block(n: int, dim: int, total: int) -> Sequence[Pairs]:
    return (Pairs(fixed_cosine(0.0), pairs_in_blocks(n, dim)),)


def _shared_blocks(
    counts: Sequence[int], dim: int, rng: np.random.Generator, draws: int
) -> list[FloatArray]:
    """Directions for the largest part; the others use the first of them."""
    rows = orthogonal(max(counts), dim, rng, draws=draws)
    return [rows[:, :n] for n in counts]


def _pairs_of_shared_blocks(n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
    """Equal directions, and the pairs within a block; the last block may extend beyond n."""
    full, rest = divmod(n, dim)
    in_blocks = full * dim**2 + rest * min(dim, m - full * dim)
    return Pairs(fixed_cosine(1.0), n), Pairs(fixed_cosine(0.0), in_blocks - n)


#: Independent frequencies: plain Monte Carlo (Rahimi, Recht, NeurIPS 2007).
INDEPENDENT = Coupling("iid", iid, _no_pairs, considered=True)
#: Blocks of d orthonormal directions (Yu et al., NeurIPS 2016); parts are independent.
ORTHOGONAL = Coupling("orthogonal", orthogonal, _pairs_of_a_block, considered=True)
#: Every part uses the first rows of the same orthonormal blocks, with independent radii: along a
#: common direction, the errors of parts of opposite sign partly cancel.
SHARED = Coupling(
    "shared",
    orthogonal,
    _pairs_of_a_block,
    joint=_shared_blocks,
    across=_pairs_of_shared_blocks,
    considered=True,
)
