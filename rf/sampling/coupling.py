r"""Couplings: how directions and radii are drawn, and which pairs of directions are dependent.

A table is a sum of parts, and part p gets n_p frequencies w = R u with a radius R and a unit vector
u.  Each frequency alone has the exact distribution of its part; a coupling is their joint
distribution.  Directions affect the variance through the pairs of frequencies, of one part or of
two, whose directions are dependent: a list of :class:`Pairs`.  :mod:`rf.variance` needs the means
E P_n(c) of Gegenbauer polynomials P_n, where c is the cosine between the two directions.

This module has independent directions, orthonormal blocks, and columns of one Haar matrix;
:mod:`rf.sampling.designed_directions` has sets that are designed and then rotated at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

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
    "count_pairs_in_blocks",
    "first_or_all",
    "fixed_cosine",
    "haar",
    "haar_columns",
    "haar_order",
    "iid",
    "orthogonal",
    "pairs_across",
    "pairs_within",
]

Radii = Literal["iid", "stratified"]

# (uniforms, offsets), two arrays of iid uniform numbers of shape (..., n) -> the probabilities u of
# n radii, each uniform on [0, 1): a radius is the quantile at u.
RadiusRule = Callable[[FloatArray, FloatArray], FloatArray]


def _stratified_radii(uniforms: FloatArray, offsets: FloatArray) -> FloatArray:
    """One u in each of n strata [i/n, (i+1)/n), in random order: u = (rank + offset) / n."""
    n = uniforms.shape[-1]
    rank = np.argsort(np.argsort(uniforms, axis=-1), axis=-1)
    # The greatest double below 1 keeps a rounded-up (n - 1 + offset) / n inside the domain.
    return np.asarray(np.minimum((rank + offsets) / n, np.nextafter(1.0, 0.0)))


#: How the radii of a part are drawn, by name; see :func:`rf.draw_frequencies`.
RADII: Mapping[str, RadiusRule] = MappingProxyType(
    {"iid": lambda uniforms, offsets: uniforms, "stratified": _stratified_radii}
)


class CosineLaw(NamedTuple):
    """The distribution of |c|, the absolute cosine between two directions.

    ``rule``: a quadrature rule for the means of even polynomials in c up to a degree, (parameter,
    dim, degree) -> nodes, and weights that sum to 1; ``parameter``: such as a constant cosine.
    """

    rule: Callable[[float, int, int], tuple[FloatArray, FloatArray]]
    parameter: float


def fixed_cosine(cosine: float) -> CosineLaw:
    """A constant cosine: 0 for orthogonal directions, 1 for equal ones."""
    return CosineLaw(_constant_nodes, cosine)


def _constant_nodes(cosine: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    return np.array([cosine]), np.ones(1)


@dataclass(frozen=True)
class Pairs:
    """Pairs of frequencies with the same distribution of the cosine between their directions.

    ``cosine``: that distribution; ``count``: number of pairs (i, j), i != j, of one part, so that
    each counts twice; or number of pairs with i in one part and j in another.
    """

    cosine: CosineLaw
    count: int


class Directions(Protocol):
    """Draw the directions of one part: (n, dim), or (draws, n, dim) if ``draws`` is given."""

    def __call__(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> FloatArray: ...


#: (counts, dim, rng, draws) -> the directions of every part, drawn together.
JointDirections = Callable[[Sequence[int], int, np.random.Generator, int], list[FloatArray]]


@dataclass(frozen=True)
class Coupling:
    """One coupling: how it draws directions, and which pairs of directions are dependent.

    ``directions``: draws one part; ``joint``: draws all parts together, for a coupling that makes
    different parts dependent; ``within``: (n, dim, total) -> the dependent pairs of a part with n
    of ``total`` frequencies; ``across``: (n, m, dim, total) -> those of two parts with n <= m
    frequencies; ``in_auto``: whether coupling="auto" compares it; ``is_worthwhile``: (n, dim) ->
    whether n frequencies can have less variance than with simpler couplings that take a similar
    time (False for n implies False for fewer); ``split_computed_for``: name of the coupling
    for which the optimal split over the parts is computed, if not this one.
    """

    name: str
    directions: Directions
    within: Callable[[int, int, int], Sequence[Pairs]]
    joint: JointDirections | None = None
    across: Callable[[int, int, int, int], Sequence[Pairs]] | None = None
    in_auto: bool = False
    is_worthwhile: Callable[[int, int], bool] = lambda n, dim: True
    split_computed_for: str = ""

    @property
    def across_parts(self) -> bool:
        """Whether frequencies of different parts are dependent."""
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
        """For each part: probabilities of the radii, (draws, n); directions, (draws, n, dim)."""
        joint = None if self.joint is None else self.joint(counts, dim, rng, draws)
        return [
            (
                radii(rng.random((draws, n)), rng.random((draws, n))),
                self.directions(n, dim, rng, draws=draws) if joint is None else joint[part],
            )
            for part, n in enumerate(counts)
        ]


@lru_cache(maxsize=8192)
def pairs_within(coupling: Coupling, n: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of one part; none for dim = 1, as cos(w.D) is even in w."""
    pairs = coupling.within(n, dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


@lru_cache(maxsize=8192)
def pairs_across(coupling: Coupling, n: int, m: int, dim: int, total: int) -> tuple[Pairs, ...]:
    """The dependent pairs of two parts, of n and of m frequencies."""
    if coupling.across is None:
        return ()
    pairs = coupling.across(min(n, m), max(n, m), dim, total)
    return tuple(p for p in pairs if p.count and dim > 1)


def count_pairs_in_blocks(n: int, size: int) -> int:
    """Number of pairs (i, j), i != j, within blocks of ``size``, for n directions in all."""
    full, rest = divmod(n, size)
    return full * size * (size - 1) + rest * (rest - 1)


def iid(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Independent uniform directions.

    ``n``, ``dim``: number of directions and dimension, both at least 1; ``draws``: number of
    independent draws, along a first axis of the result.  Returns unit rows.
    """
    count = checked_draws(n, dim, draws)
    return first_or_all(unit_rows(rng.standard_normal((count, n, dim))), draws)


def orthogonal(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    """Independent Haar matrices, each a block of ``dim`` orthonormal rows; the last may be smaller.

    A smaller block of b rows is uniform on the Stiefel manifold of b orthonormal rows.
    The parameters are those of :func:`iid`.

    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016.
    """
    count = checked_draws(n, dim, draws)
    whole, rest = divmod(n, dim)
    blocks = haar_columns(count * whole, dim, dim, rng).reshape(count, whole * dim, dim)
    if rest > 0:
        last = haar_columns(count, dim, rest, rng).swapaxes(1, 2)
        blocks = np.concatenate([blocks, last], axis=1) if whole else np.ascontiguousarray(last)
    return first_or_all(blocks, draws)


def haar_columns(count: int, order: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """The first columns of ``count`` Haar matrices, shape (count, order, columns).

    The factor Q of a Gaussian matrix has the Haar distribution if the diagonal of R is positive,
    which LAPACK does not ensure (Mezzadri, Notices of the AMS 54, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((count, order, columns)))
    signs = np.copysign(1.0, np.diagonal(r, axis1=1, axis2=2))
    return np.asarray(q * signs[:, None, :])


def checked_draws(n: int, dim: int, draws: int | None) -> int:
    """The number of draws, 1 for None; ParameterError if a number is below 1."""
    count = 1 if draws is None else draws
    for name, value in (("n", n), ("dim", dim), ("draws", count)):
        if value < 1:
            raise ParameterError(f"{name} = {value}: directions need at least one row and column.")
    return count


def first_or_all(rows: FloatArray, draws: int | None) -> FloatArray:
    """The only draw if ``draws`` is None, else all draws, along a first axis."""
    return np.asarray(rows[0]) if draws is None else rows


def unit_rows(rows: FloatArray) -> FloatArray:
    """Rows divided by their lengths."""
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def _pairs_in_blocks_of_dim(n: int, dim: int, total: int) -> Sequence[Pairs]:
    return (Pairs(fixed_cosine(0.0), count_pairs_in_blocks(n, dim)),)


def _shared_blocks(
    counts: Sequence[int], dim: int, rng: np.random.Generator, draws: int
) -> list[FloatArray]:
    """Directions for the largest part; smaller parts use the first of them."""
    rows = orthogonal(max(counts), dim, rng, draws=draws)
    return [rows[:, :n] for n in counts]


def _pairs_of_shared_blocks(n: int, m: int, dim: int, total: int) -> Sequence[Pairs]:
    """n pairs of equal directions, and pairs of different directions in the same block."""
    full, rest = divmod(n, dim)
    in_blocks = full * dim**2 + rest * min(dim, m - full * dim)
    return Pairs(fixed_cosine(1.0), n), Pairs(fixed_cosine(0.0), in_blocks - n)


#: Independent frequencies: plain Monte Carlo (Rahimi, Recht, NeurIPS 2007).
INDEPENDENT = Coupling("iid", iid, lambda n, dim, total: (), in_auto=True)
#: Blocks of d orthonormal directions (Yu et al., NeurIPS 2016); parts are independent.
ORTHOGONAL = Coupling("orthogonal", orthogonal, _pairs_in_blocks_of_dim, in_auto=True)
#: Every part uses the first rows of the same orthonormal blocks, with radii of its own: on equal
#: directions, the errors of parts of opposite sign partly cancel.
SHARED = Coupling(
    "shared",
    orthogonal,
    _pairs_in_blocks_of_dim,
    joint=_shared_blocks,
    across=_pairs_of_shared_blocks,
    in_auto=True,
)


def haar_order(n: int, dim: int) -> int:
    """Order N = max(n, 2 dim) of the Haar matrix of the published coupling, :func:`haar`.

    Luo et al. (2021) have s frequencies for each of two signs: n = 2s and N = max(2s, 2d).
    """
    return max(n, 2 * dim)


def haar(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """The published coupling of GORF: the first ``dim`` entries of n columns of a Haar matrix.

    The shortened columns are divided by their norms.  Each is exactly uniform, but no two are
    orthogonal, since the order N = max(n, 2 dim) is at least twice the dimension.  The cost is that
    of a QR factorisation of an N x dim matrix, since only ``dim`` rows of the Haar matrix are used.
    The parameters are those of :func:`iid`.

    Luo, Fang, Yang, Huang, "Towards unbiased random features with lower variance for stationary
    indefinite kernels", arXiv 2104.06204, Algorithm 1.
    """
    count = checked_draws(n, dim, draws)
    return first_or_all(unit_rows(haar_columns(count, haar_order(n, dim), dim, rng)[:, :n]), draws)


def _haar_cosine(order: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    r"""Quadrature for the cosine c of two directions of :func:`haar`, for a matrix of this order.

    c = t sqrt(1 - p) / sqrt(1 - p t^2) with independent t^2 ~ Beta(1/2, (d-1)/2) and
    p ~ Beta(d/2, (order-d)/2).  As the order grows, c tends to the cosine of independent
    directions.  The distribution of c is symmetric, and the nodes are those of |c|.

    Returns nodes ``cosines``, and ``weights`` that sum to 1, for the means of P_n(c) with even
    n <= degree.
    """
    # P_n(c) is a polynomial of degree n/2 in c^2; 60 more nodes resolve c^2, rational in t^2 and p.
    nodes = degree // 2 + 60
    x, weight_x = roots_jacobi(nodes, 0.5 * (dim - 3), -0.5)
    y, weight_y = roots_jacobi(nodes, 0.5 * (order - dim) - 1.0, 0.5 * dim - 1.0)
    t_squared, p = 0.5 * (1 + x), 0.5 * (1 + y)
    weights = np.outer(weight_x / weight_x.sum(), weight_y / weight_y.sum())
    t_squared = t_squared[:, None]
    c = np.sqrt(t_squared * (1 - p) / (1 - p * t_squared))
    return c.ravel(), weights.ravel()


def _columns_of_one_matrix(
    counts: Sequence[int], dim: int, rng: np.random.Generator, draws: int
) -> list[FloatArray]:
    """Each part takes columns of its own from one matrix."""
    directions = haar(sum(counts), dim, rng, draws=draws)
    return np.split(directions, np.cumsum(counts)[:-1], axis=1)


def _pairs_of_columns(count: int, dim: int, total: int) -> Sequence[Pairs]:
    return (Pairs(CosineLaw(_haar_cosine, haar_order(total, dim)), count),)


#: All parts take columns of one Haar matrix, as published (Luo et al. 2021); see :func:`haar`.
HAAR = Coupling(
    "haar",
    haar,
    lambda n, dim, total: _pairs_of_columns(n * (n - 1), dim, total),
    joint=_columns_of_one_matrix,
    across=lambda n, m, dim, total: _pairs_of_columns(n * m, dim, total),
)
