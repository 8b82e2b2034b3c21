"""Regular simplices, each part with its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
from scipy.linalg import helmert

from rf.sampling.cosines import Fixed
from rf.sampling.coupling import Coupling, Pairs, pairs_in_blocks
from rf.sampling.directions import checked_draws, first_or_all, haar_columns
from spectra.base.arrays import FloatArray

__all__ = ["Simplex", "simplex"]


def simplex(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Independent blocks of the ``dim + 1`` vertices of a regular simplex, each turned by Haar.

    Two rows of a block have inner product -1/dim.

    Parameters and errors as :func:`rf.sampling.directions.iid`.

    References
    ----------
    Reid, Choromanski, Likhosherstov, Weller, "Simplex random features", ICML 2023.

    Examples
    --------
    >>> rows = simplex(4, 3, np.random.default_rng(0))
    >>> bool(np.allclose((rows @ rows.T)[0, 1:], -1 / 3))
    True
    """
    count = checked_draws(n, dim, draws)
    whole, rest = divmod(n, dim + 1)
    vertices = helmert(dim + 1).T * np.sqrt((dim + 1) / dim)
    turned = vertices @ haar_columns(count * whole, dim, dim, rng)
    rows = turned.reshape(count, whole * (dim + 1), dim)
    if rest > 0:
        # The first vertices are a triangular matrix times orthonormal rows, which are turned.
        lower = np.linalg.qr(vertices[:rest].T)[1].T
        cut = lower @ haar_columns(count, dim, rest, rng).swapaxes(1, 2)
        rows = np.concatenate([rows, cut], axis=1)
    return first_or_all(rows, draws)


@final
class Simplex(Coupling):
    """Blocks of d + 1 directions at the cosine -1/d (Reid et al., ICML 2023)."""

    name: ClassVar[str] = "simplex"
    considered: ClassVar[bool] = True
    directions = staticmethod(simplex)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """The pairs within a simplex."""
        return (Pairs(Fixed(-1.0 / dim), pairs_in_blocks(n, dim + 1)),)
