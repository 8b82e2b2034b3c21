"""The law of the cosine between two directions that a coupling makes, and its Gegenbauer means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, roots_jacobi

from rf.designed_directions import designed_cosines
from rf.directions import hadamard_blocks, hadamard_order
from spectra.harmonics import gegenbauer_sequence

__all__ = [
    "AngularMeans",
    "CosineLaw",
    "angular_means",
    "cosine_law",
    "gegenbauer_means",
    "haar_cosine",
]

FloatArray = NDArray[np.float64]

# Values of Gegenbauer polynomials that the means of one law may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048
# Blocks of H D H D H D of at most this order are enumerated over all their signs.
_ENUMERATED = 4
# Larger ones are sampled, from a fixed seed so that a variance is a function of its arguments, in
# independent groups whose spread tells the error.
_SEED = 20_170_113
_GROUPS = 8
_PAIRS = 40_000
_ROWS = 128
# Six standard errors of a mean of eight groups.
_DEVIATIONS = 6.0 / np.sqrt(_GROUPS - 1.0)


@dataclass(frozen=True)
class CosineLaw:
    """Groups of nodes |c| with weights, each group a law (or a sample of one) of its own.

    Attributes
    ----------
    cosines, weights : tuple of ndarray
        One pair of arrays for each group; the weights of a group sum to 1.
    """

    cosines: tuple[FloatArray, ...]
    weights: tuple[FloatArray, ...]

    @classmethod
    def of(cls, cosines: FloatArray, weights: FloatArray) -> Self:
        """A law that is known, in one group."""
        return cls((cosines,), (weights,))

    @classmethod
    def sampled(cls, groups: list[FloatArray]) -> Self:
        """Samples of one law, of equal weight within each group."""
        return cls(tuple(groups), tuple(np.full(g.size, 1.0 / g.size) for g in groups))

    @property
    def most(self) -> int:
        """The degree up to which the means are worth their cost."""
        return min(_LAST_DEGREE, _BUDGET // sum(c.size for c in self.cosines))


@dataclass(frozen=True)
class AngularMeans:
    """Means of Gegenbauer polynomials under the law of a cosine.

    Attributes
    ----------
    means, errors : ndarray
        E P_n(c), n = 2, 4, ..., and six standard errors where the law was sampled.
    beyond : float
        Bound of all |E P_n(c)| of higher degrees.
    most : int
        No degree above this one is worth asking for.
    """

    means: FloatArray
    errors: FloatArray
    beyond: float
    most: int


@lru_cache(maxsize=128)
def angular_means(kind: str, dim: int, degree: int) -> AngularMeans:
    """E P_n(c) for n = 2, 4, ..., degree and a kind of pair; see :func:`cosine_law`.

    Examples
    --------
    >>> angular_means("orthogonal", 3, 4).means               # P_2(0), P_4(0)
    array([-0.5  ,  0.375])
    """
    law = cosine_law(kind, dim, degree)
    groups = [
        gegenbauer_means(dim, degree, c, w) for c, w in zip(law.cosines, law.weights, strict=True)
    ]
    means = np.array([mean[2::2] for mean, _ in groups])
    return AngularMeans(
        means.mean(axis=0),
        _DEVIATIONS * means.std(axis=0),
        float(np.mean([bound for _, bound in groups])),
        law.most,
    )


def cosine_law(kind: str, dim: int, degree: int) -> CosineLaw:
    """The law of |c| for a pair of directions, good for even polynomials up to ``degree``.

    Parameters
    ----------
    kind : str
        "orthogonal"; "simplex"; "haar N" (columns of a Haar matrix of order N); "designed n"
        (pairs of a set of n); "hadamard b" (pairs of the first b rows of a block) and "hadamard
        across" (rows of two blocks, which are independent but not quite uniform).
    dim, degree : int
    """
    name, _, order = kind.partition(" ")
    if name == "haar":
        return CosineLaw.of(*haar_cosine(dim, int(order), degree))
    if name == "designed":
        return CosineLaw.of(*designed_cosines(int(order), dim))
    if kind == "hadamard across":
        return _hadamard_across(dim)
    if name == "hadamard":
        return _hadamard_within(dim, int(order))
    value = {"orthogonal": 0.0, "simplex": -1.0 / dim}[name]
    return CosineLaw.of(np.array([value]), np.ones(1))


@lru_cache(maxsize=16)
def _hadamard_within(dim: int, rows: int) -> CosineLaw:
    order = hadamard_order(dim)
    if order == dim:
        return CosineLaw.of(np.zeros(1), np.ones(1))
    pairs = np.triu_indices(rows, 1)

    def cosines(blocks: FloatArray) -> FloatArray:
        products = blocks[:, :rows] @ blocks[:, :rows].swapaxes(1, 2)
        # Two parallel rows have the cosine 1 up to rounding.
        return np.minimum(np.abs(products[:, *pairs]).ravel(), 1.0)

    if order <= _ENUMERATED:
        return CosineLaw.sampled([cosines(hadamard_blocks(dim))])
    rng = np.random.default_rng(_SEED)
    count = -(-_PAIRS // (_GROUPS * len(pairs[0])))
    return CosineLaw.sampled([cosines(hadamard_blocks(dim, count, rng)) for _ in range(_GROUPS)])


@lru_cache(maxsize=16)
def _hadamard_across(dim: int) -> CosineLaw:
    if hadamard_order(dim) <= _ENUMERATED:
        rows, counts = np.unique(hadamard_blocks(dim)[:, 0].round(12), axis=0, return_counts=True)
        share = counts / counts.sum()
        cosines = np.minimum(np.abs(rows @ rows.T), 1.0).ravel()
        return CosineLaw.of(cosines, np.outer(share, share).ravel())
    rng = np.random.default_rng(_SEED)
    count = -(-_ROWS // hadamard_order(dim))
    groups = []
    for _ in range(_GROUPS):
        # Every row of a block has the same law; rows of different blocks are independent.
        one, two = (hadamard_blocks(dim, count, rng).reshape(-1, dim)[:_ROWS] for _ in range(2))
        groups.append(np.minimum(np.abs(one @ two.T), 1.0).ravel())
    return CosineLaw.sampled(groups)


def haar_cosine(dim: int, size: int, degree: int) -> tuple[FloatArray, FloatArray]:
    r"""Law of the cosine of two columns of a Haar matrix cut to ``dim`` rows, as quadrature nodes.

    The columns of a Haar matrix of O(size) are cut to their first ``dim`` entries and
    renormalised.  Their cosine is c = t sqrt(1 - p) / sqrt(1 - p t^2) with independent
    t^2 ~ Beta(1/2, (d-1)/2) and p ~ Beta(d/2, (size-d)/2); it is 0 where size = dim and tends to
    the cosine of independent directions as size grows.  Its sign is random: only even functions
    of c have the right mean under the nodes, which are all positive.

    Returns
    -------
    cosines, weights : ndarray
        Good for the means of the even P_n(c), n <= degree; the weights sum to 1.

    Notes
    -----
    The coupling is Algorithm 1 of Luo, Fang, Yang, Huang (2021), arXiv:2104.06204.

    Examples
    --------
    >>> c, weights = haar_cosine(16, 32, 2)
    >>> round(float(weights @ c**2), 6)               # 1/16 for independent directions
    0.034073
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


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0 ... degree, and a bound of all |means| beyond ``degree``.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    waves = islice(gegenbauer_sequence(dim, cosines), degree + 1)
    means = np.array([weights @ wave for wave in waves])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, also where c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))
