r"""Sets of directions under one random rotation: of least pairwise energy, and Kerdock's lines.

The variance that a set of P directions leaves is a pairwise energy of their cosines: with G_n the
wave coefficients of the measure at a distance,

.. math:: \mathrm{Var} = \sum_{n = 2, 4, \dots} N(n, d)\, G_n^2\, S_n, \qquad
          S_n = \frac{1}{P^2} \sum_{p, q} P_n(c_{pq}),

when the whole set is turned by one Haar rotation, which makes every direction uniform and so the
estimate unbiased.  A set with S_2 = S_4 = 0 (a spherical 4-design together with its antipodes)
integrates the degrees up to 5 exactly.  Such sets minimise :math:`\sum c_{pq}^4`, whose least
value is the Welch bound :math:`3P^2/(d(d+2))` (IEEE Transactions on Information Theory 20 (1974),
397-399); the energy :math:`\sum \cosh(3 c_{pq})` that is taken here weighs the degrees beyond as
well.  Opposite directions count as equal: a cosine does not see the sign.

In dimension d = 4^k Kerdock's sets reach this bound: d/2 + 1 orthonormal bases of which any two
vectors of different bases have the inner product +-1/sqrt(d).  The first basis is the standard
one.  The others are the characters (-1)^(a.v) of v in F_2^m, d = 2^m, times (-1)^(Q_s(v)), with a
quadratic form for each s of the field F of 2^(m-1) elements: on F x F_2 its bilinear form is

.. math:: B_s((x, a), (y, b)) = T(s^2 x y) + T(s x)\,T(s y) + a\,T(s y) + b\,T(s x),

T the trace, and B_s - B_t is not singular for s != t, since m - 1 is odd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard as sylvester
from scipy.optimize import minimize

from rf.sampling.coupling import (
    CosineLaw,
    Coupling,
    Pairs,
    checked_draws,
    first_or_all,
    fixed_cosine,
    haar_columns,
    orthogonal,
    pairs_in_blocks,
)
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.base.special.harmonics import gegenbauer_sequence

__all__ = [
    "DESIGNED",
    "KERDOCK",
    "angular_means",
    "balanced_sizes",
    "cosh_energy",
    "coupling_gains",
    "coupling_sizes",
    "designed",
    "designed_angular_means",
    "kerdock_bases",
    "kerdock_lines",
    "least_energy",
    "quick_angular_means",
]

#: F(c) and F'(c) of a pairwise energy, for cosines c.
Energy = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

# The seed of the orthogonal blocks that every set starts from, so that equal sizes give
# equal sets; the random rotation is what is drawn.
_SEED = 20_240_229
# Multiplications for the cosines in one minimisation: one to two seconds of one core, so that a fit
# which needs several sets stays within its time limit of ten seconds.  Five times as many reduce
# S_6 of 1439 directions in d = 16 by a third, and hardly help fewer directions.
_WORK = 1e10
_MOST_STEPS = 300
_LEAST_STEPS = 30
# After so many steps S_6 of 800 directions in d = 16 is a quarter above its minimum.
_FEW_STEPS = 30
# Cosines held at one time: half a megabyte stays in the cache of a core.
_CHUNK = 65_536
# Larger sets are made of independent ones: the cost grows like the square of the size.
_MOST_DIRECTIONS = 2048
# The work of a set of the coupling "designed": about a third of a second of one core.
_QUICK_WORK = 2.5e9
# Sets of this many times d directions have a much smaller variance than blocks.
_WORTHWHILE = 4
# Sets kept in memory (each at most 2048 x d doubles).
_CACHE_SIZE = 32
# Irreducible polynomials over F_2, their coefficients as bits, by degree (Lidl, Niederreiter,
# Introduction to Finite Fields and their Applications, Cambridge 1994, table C).
_IRREDUCIBLE = MappingProxyType(
    {1: 0b11, 3: 0b1011, 5: 0b100101, 7: 0b10000011, 9: 0b1000010001, 11: 0b100000000101}
)


def cosh_energy(c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F(c) = cosh(3 c) and F'(c)."""
    up = np.exp(3.0 * c)
    down = 1.0 / up
    return 0.5 * (up + down), 1.5 * (up - down)


def angular_means(rows: FloatArray, degrees: int) -> FloatArray:
    """S_n for n = 0, 2, ..., degrees: means of P_n(c) over all ordered pairs of rows.

    The variance of a turned set with wave coefficients G_n is the sum of N(n, d) G_n^2 S_n.
    """
    n, dim = rows.shape
    c = rows @ rows.T
    waves = islice(gegenbauer_sequence(dim, c), 0, degrees + 1, 2)
    return np.array([float(wave.sum()) / n**2 for wave in waves])


def least_energy(rows: FloatArray, energy: Energy, *, steps: int | None = None) -> FloatArray:
    """Move unit rows to a local minimum of the sum of F(c_pq) over all pairs, by L-BFGS.

    ``rows`` (n, dim): where to begin; orthogonal blocks are good; ``energy``: F(c) and F'(c), both
    vectorised, F even; ``steps``: most iterations; by default what one to two seconds allow;
    returns: unit rows, of no larger energy than the given ones.
    """
    n, dim = rows.shape
    if steps is None:
        steps = _steps(n, dim)

    chunk = max(1, _CHUNK // n)

    def value_and_slope(flat: FloatArray) -> tuple[float, FloatArray]:
        x = flat.reshape(n, dim)
        length = np.linalg.norm(x, axis=1, keepdims=True)
        u = x / length
        total, pull = 0.0, np.empty_like(u)
        for at in range(0, n, chunk):
            value, slope = energy(u[at : at + chunk] @ u.T)
            total += float(value.sum())
            pull[at : at + chunk] = 2.0 * slope @ u
        tangent = (pull - np.sum(pull * u, axis=1, keepdims=True) * u) / length
        return total, tangent.ravel()

    result = minimize(
        value_and_slope,
        rows.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-14, "gtol": 1e-9, "maxcor": 20},
    )
    moved = result.x.reshape(n, dim)
    unit: FloatArray = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def designed(
    n: int,
    dim: int,
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] | None = None,
    draws: int | None = None,
) -> FloatArray:
    """Directions of least pairwise energy, turned by one random Haar rotation.

    Each row is exactly uniform on the sphere.  The sets depend on (n, dim) alone and are kept in
    memory; a rotation is all that is drawn.  More than 2048 directions are
    independent sets of nearly equal size.

    ``n``, ``dim``: number of rows and dimension; ``sizes``: sizes of independent sets that add up
    to n, in place of :func:`balanced_sizes`; ``draws``: how many independent rotations of the sets
    to draw, along a first axis.

    Directions for slicing by quasi-Monte Carlo (Hertrich, Jahn, Quellmalz, ICLR 2025)
    have the same aim.
    """
    checked_draws(n, dim, draws)
    parts = []
    for size in balanced_sizes(n) if sizes is None else sizes:
        if dim == 1 or size <= dim:
            # Orthonormal rows cannot be improved, and turned they are a cut Haar matrix.
            parts.append(orthogonal(size, dim, rng, draws=draws))
        else:
            parts.append(_set(size, dim) @ orthogonal(dim, dim, rng, draws=draws))
    return np.concatenate(parts, axis=-2)


def balanced_sizes(n: int) -> list[int]:
    """Sizes of the fewest independent sets for n directions, as equal as possible."""
    groups = -(-n // _MOST_DIRECTIONS)
    return [n // groups + (1 if g < n % groups else 0) for g in range(groups)]


def coupling_sizes(n: int, dim: int) -> list[int]:
    """Sizes of the sets of the coupling "designed": equal ones that are fast to find, and a rest.

    A set of s directions takes a work of s^2 (4 d + 60) for each of 300 steps.  The equal
    sets take about a third of a second: for larger n more of them are used, and the variance falls
    like 1 / n.  They are no smaller than 2 d, below which there is little to gain.  A rest of less
    than half a set is added to the last one.
    """
    largest = max(_quick_size(dim), 2 * dim)
    whole, rest = divmod(n, largest)
    if whole and rest < largest // 2:
        return [largest] * (whole - 1) + [largest + rest]
    return [largest] * whole + ([rest] if rest else [])


def coupling_gains(n: int, dim: int) -> bool:
    """Whether sets of n directions are much better than orthogonal blocks, and fast to find.

    They are if n > d, and d is at most 46: for larger d a third of a second is not enough for 4 d
    directions, and smaller sets gain little.
    """
    return n > dim > 1 and _quick_size(dim) >= _WORTHWHILE * dim


def quick_angular_means(n: int, dim: int, *, degrees: int = 30) -> FloatArray:
    """As :func:`designed_angular_means`, of a set after few steps: for rankings."""
    start = orthogonal(n, dim, np.random.default_rng(_SEED))
    return angular_means(least_energy(start, cosh_energy, steps=_FEW_STEPS), degrees)


def designed_angular_means(n: int, dim: int, *, degrees: int = 30) -> FloatArray:
    """S_0, S_2, ... of the sets of n directions of least cosh energy, for designs."""
    return angular_means(designed(n, dim, np.random.default_rng(_SEED)), degrees)


def _steps(n: int, dim: int) -> int:
    return int(np.clip(_WORK / _work_of_a_step(n, dim), _LEAST_STEPS, _MOST_STEPS))


def _quick_size(dim: int) -> int:
    return int(np.sqrt(_QUICK_WORK / _MOST_STEPS / _work_of_a_step(1, dim)))


def _work_of_a_step(n: int, dim: int) -> float:
    return n * n * (4.0 * dim + 60.0)


@lru_cache(maxsize=_CACHE_SIZE)
def _set(n: int, dim: int) -> FloatArray:
    """The set before its rotation."""
    rows = orthogonal(n, dim, np.random.default_rng(_SEED))
    if 1 < dim < n:  # up to d orthonormal rows cannot be improved
        with stage(f"designing {n} directions, d = {dim}"):
            rows = least_energy(rows, cosh_energy)
    rows.setflags(write=False)
    return rows


def _coupled_directions(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    count = checked_draws(n, dim, draws)
    return first_or_all(designed(n, dim, rng, sizes=coupling_sizes(n, dim), draws=count), draws)


def _pairs_of_a_set(n: int, dim: int, total: int) -> Sequence[Pairs]:
    pairs = sum(size * (size - 1) for size in coupling_sizes(n, dim))
    return (Pairs(CosineLaw(_set_cosines, n), pairs),)


def _set_cosines(n: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    """All |c| of pairs within the sets of the coupling, and weights of sum 1."""
    sizes = [size for size in coupling_sizes(int(n), dim) if size > 1]
    cosines, counts = [], []
    for size in dict.fromkeys(sizes):
        rows = _set(size, dim)
        cosines.append(np.minimum(np.abs((rows @ rows.T)[np.triu_indices(size, 1)]), 1.0))
        counts.append(np.full(cosines[-1].size, float(sizes.count(size))))
    weights = np.concatenate(counts)
    return np.concatenate(cosines), weights / weights.sum()


#: Sets of least pairwise energy, each under a random rotation; parts are independent.  The first
#: set of a size costs a minimisation: a third of a second, and more if d exceeds 70; a set for
#: every possible split would take seconds.  Many directions are several independent sets.
DESIGNED = Coupling(
    "designed",
    _coupled_directions,
    _pairs_of_a_set,
    considered=True,
    gains=coupling_gains,
    split_of="orthogonal",
)


def kerdock_bases(dim: int) -> int:
    """Number of bases: d/2 + 1 for d = 4, 16, 64, ..., 4096, and 1 in every other dimension."""
    bits = dim.bit_length() - 1
    whole = dim == 1 << bits and bits % 2 == 0 and bits - 1 in _IRREDUCIBLE
    return dim // 2 + 1 if whole else 1


@lru_cache(maxsize=8)
def kerdock_lines(dim: int, bases: int) -> FloatArray:
    """The first so many bases, one unit vector to a row: shape (bases * dim, dim).

    Calderbank, Cameron, Kantor, Seidel, "Z4-Kerdock codes, orthogonal spreads, and extremal
    Euclidean line-sets", Proceedings of the London Mathematical Society 75 (1997) 436-480.
    """
    lines = np.empty((bases, dim, dim))
    lines[0] = np.eye(dim)
    if bases > 1:
        bits = dim.bit_length() - 1
        v = np.arange(dim)[:, None] >> np.arange(bits) & 1
        characters = sylvester(dim) / np.sqrt(dim)
        for s in range(bases - 1):
            upper = np.triu(_bilinear(s, bits), 1)
            form = np.einsum("vi,ij,vj->v", v, upper, v) & 1
            lines[s + 1] = characters * (1 - 2 * form)
    rows = lines.reshape(-1, dim)
    rows.setflags(write=False)
    return rows


def _bilinear(s: int, bits: int) -> NDArray[np.intp]:
    """The matrix of B_s on the unit vectors; the last one is that of F_2."""
    r = bits - 1
    traces = np.array([_trace(_times(s, 1 << i, r), r) for i in range(r)] + [1])
    matrix = np.outer(traces, traces)
    square = _times(s, s, r)
    for i in range(r):
        for j in range(r):
            matrix[i, j] ^= _trace(_times(square, _times(1 << i, 1 << j, r), r), r)
    matrix[r, r] = 0
    return matrix


def _times(a: int, b: int, r: int) -> int:
    """Product in the field of 2^r elements."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a >> r & 1:
            a ^= _IRREDUCIBLE[r]
        b >>= 1
    return product


def _trace(a: int, r: int) -> int:
    """a + a^2 + a^4 + ..., r terms: 0 or 1."""
    total = 0
    for _ in range(r):
        total ^= a
        a = _times(a, a, r)
    return total


def _kerdock_directions(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    """Independent sets, each rotated by a Haar matrix; the last one may be incomplete."""
    count = checked_draws(n, dim, draws)
    size = dim * kerdock_bases(dim)
    whole, rest = divmod(n, size)
    sets = []
    if whole:
        turned = kerdock_lines(dim, size // dim) @ haar_columns(count * whole, dim, dim, rng)
        sets.append(turned.reshape(count, whole * size, dim))
    if rest:
        lines = kerdock_lines(dim, -(-rest // dim))[:rest]
        sets.append(lines @ haar_columns(count, dim, dim, rng))
    return first_or_all(np.concatenate(sets, axis=1), draws)


def _pairs_of_lines(n: int, dim: int, total: int) -> Sequence[Pairs]:
    """The pairs within a basis, and those of two bases of a set."""
    same = pairs_in_blocks(n, dim)
    coupled = pairs_in_blocks(n, dim * kerdock_bases(dim))
    return Pairs(fixed_cosine(0.0), same), Pairs(fixed_cosine(dim**-0.5), coupled - same)


def _gains_by_lines(n: int, dim: int) -> bool:
    """True if there are several bases, and a set of least energy would be slow to find."""
    return n > dim and kerdock_bases(dim) > 1 and not coupling_gains(n, dim)


#: Randomly rotated sets of d (d/2 + 1) lines with cosines 0 and 1/sqrt(d), d = 4, 16, 64, ...  In
#: other dimensions there is one basis, and the coupling equals "orthogonal".  It needs no
#: minimisation, so it also suits dimensions in which sets of least energy are too expensive.
KERDOCK = Coupling(
    "kerdock", _kerdock_directions, _pairs_of_lines, considered=True, gains=_gains_by_lines
)
