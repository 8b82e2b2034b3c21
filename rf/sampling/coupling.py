r"""Couplings: how directions and radii are drawn, and which pairs of frequencies are dependent.

A table is a sum of parts, and part p gets n_p frequencies w = R s.  Each frequency alone has the
exact distribution of its part; a coupling sets their joint distribution.  For the variance it is
enough to know a list of :class:`Pairs`: how many pairs of frequencies, within a part or of two
parts, have directions with a given distribution of the cosine c.  The variance depends on the means
E P_n(c) of Gegenbauer polynomials (:mod:`rf.variance`).

Here are independent directions, orthonormal blocks, and columns of one Haar matrix; sets of lines
are in :mod:`rf.sampling.designed_directions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, final

import numpy as np
from scipy.special import roots_jacobi

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "HAAR",
    "INDEPENDENT",
    "ORTHOGONAL",
    "RADII",
    "SHARED",
    "CosineLaw",
    "Coupling",
    "Pairs",
    "Radii",
    "RadiusRule",
    "checked_draws",
    "dependent_pairs",
    "first_or_all",
    "fixed_cosine",
    "haar",
    "haar_columns",
    "haar_cosine",
    "haar_order",
    "iid",
    "orthogonal",
    "pairs_across",
    "pairs_in_blocks",
    "pairs_within",
]

Radii = Literal["iid", "stratified"]

# (keys, offsets) -> probabilities u, each uniform on [0, 1), one draw to a row.  Keys and offsets
# are iid uniform.
RadiusRule = Callable[[FloatArray, FloatArray], FloatArray]


def _iid_radii(keys: FloatArray, offsets: FloatArray) -> FloatArray:
    return keys


def _stratified_radii(keys: FloatArray, offsets: FloatArray) -> FloatArray:
    """(rank of the key + offset) / n: a uniform random order of the strata."""
    n = keys.shape[-1]
    rank = np.argsort(np.argsort(keys, axis=-1), axis=-1)
    # The greatest double below 1 keeps a rounded-up (n - 1 + offset) / n inside the domain.
    return np.asarray(np.minimum((rank + offsets) / n, np.nextafter(1.0, 0.0)))


#: How the radii of a part are drawn, by name; see :func:`rf.draw_frequencies`.
RADII: Mapping[str, RadiusRule] = MappingProxyType(
    {"iid": _iid_radii, "stratified": _stratified_radii}
)


class CosineLaw(NamedTuple):
    """The distribution of |c| for a pair of directions.

    ``rule``: (value, dim, degree) -> nodes, and weights that sum to 1, for the means of even
    polynomials in c up to a degree.
    """

    rule: Callable[[float, int, int], tuple[FloatArray, FloatArray]]
    value: float


def fixed_cosine(value: float) -> CosineLaw:
    """A constant cosine: 0 for orthogonal directions, 1 for equal ones."""
    return CosineLaw(_constant_nodes, value)


def _constant_nodes(value: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    return np.array([value]), np.ones(1)


@final
@dataclass(frozen=True)
class Pairs:
    """Pairs of frequencies with the same distribution of the cosine.

    ``cosine``: the distribution of |c| for their directions; ``count``: ordered pairs within a
    part; pairs (i, j) of two parts.
    """

    cosine: CosineLaw
    count: int


class Directions(Protocol):
    """Unit rows of one part, shape (n, dim), or (draws, n, dim) for many draws at once."""

    def __call__(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> FloatArray: ...


#: (counts, dim, rng, draws) -> the directions of every part, drawn together.
JointDirections = Callable[[Sequence[int], int, np.random.Generator, int], list[FloatArray]]


def _gains_always(n: int, dim: int) -> bool:
    return True


@final
@dataclass(frozen=True)
class Coupling:
    """One coupling: how it draws, which pairs it makes dependent, and whether "auto" considers it.

    ``within``: (n, dim, total) -> the dependent pairs among the n frequencies of one part, out of
    ``total`` in all; ``joint``: the directions of all parts, if it couples these too; ``across``:
    (n, m, dim, total) -> the dependent pairs of two parts with n <= m frequencies; ``considered``:
    whether "auto" compares it, if it ``gains``; ``gains``: (n, dim) -> whether it can beat simpler
    couplings at a similar cost (False for n implies False for fewer); ``split_of``: if not empty, a
    coupling whose optimal split over the parts is used instead of its own.
    """

    name: str
    directions: Directions
    within: Callable[[int, int, int], Sequence[Pairs]]
    joint: JointDirections | None = None
    across: Callable[[int, int, int, int], Sequence[Pairs]] | None = None
    considered: bool = False
    gains: Callable[[int, int], bool] = _gains_always
    split_of: str = ""

    @property
    def across_parts(self) -> bool:
        """Whether it couples frequencies of different parts."""
        return self.joint is not None

    def draw(
        self,
        counts: Sequence[int],
        dim: int,
        rng: np.random.Generator,
        *,
        radii: RadiusRule,
        draws: int = 1,
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Probabilities of the radii, shape (draws, n), and directions, (draws, n, d), by parts."""
        rows = None if self.joint is None else self.joint(counts, dim, rng, draws)
        return [
            (
                radii(rng.random((draws, n)), rng.random((draws, n))),
                self.directions(n, dim, rng, draws=draws) if rows is None else rows[part],
            )
            for part, n in enumerate(counts)
        ]


def dependent_pairs(
    coupling: Coupling, counts: Sequence[int], dim: int
) -> list[tuple[int, int, Pairs]]:
    """All pairs that are not independent, with their parts: (p, p) ordered, p < q unordered."""
    total, parts = sum(counts), range(len(counts))
    found = [(p, p, pair) for p in parts for pair in pairs_within(coupling, counts[p], dim, total)]
    return found + [
        (p, q, pair)
        for p in parts
        for q in parts[p + 1 :]
        for pair in pairs_across(coupling, counts[p], counts[q], dim, total)
    ]


@lru_cache(maxsize=8192)
def pairs_within(coupling: Coupling, n: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of one part; in dimension 1 a cosine ignores the sign of a direction."""
    pairs = coupling.within(n, dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


@lru_cache(maxsize=8192)
def pairs_across(coupling: Coupling, n: int, m: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of two parts, in either order of their sizes."""
    if coupling.across is None:
        return ()
    pairs = coupling.across(min(n, m), max(n, m), dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


def pairs_in_blocks(n: int, size: int) -> int:
    """Ordered pairs within blocks of n directions; the last block may be incomplete."""
    full, rest = divmod(n, size)
    return full * size * (size - 1) + rest * (rest - 1)


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
    """The number of draws, after a check of all three numbers."""
    count = 1 if draws is None else draws
    for name, value in (("n", n), ("dim", dim), ("draws", count)):
        if value < 1:
            raise ParameterError(f"{name} = {value}: directions need at least one row and column.")
    return count


def first_or_all(rows: FloatArray, draws: int | None) -> FloatArray:
    """One draw if ``draws`` is None, else all draws along a first axis."""
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
    Parameters and errors as :func:`iid`.

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
