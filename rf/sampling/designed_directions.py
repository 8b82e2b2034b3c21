r"""Designed sets of directions, rotated at random: sets of least energy, and Kerdock sets.

One Haar rotation of the whole set makes every direction uniform, so that the estimate is unbiased.
If all radii are equal, the variance of the estimate from a set of P directions u_p is

.. math:: \mathrm{Var} = \sum_{n = 2, 4, \dots} N(n, d)\, G_n^2\, S_n, \qquad
          S_n = \frac{1}{P^2} \sum_{p, q} P_n(c_{pq}), \qquad c_{pq} = u_p \cdot u_q,

with the Gegenbauer polynomials P_n, P_n(1) = 1, the numbers N(n, d) of spherical harmonics, and
G_n = E[cos(R z s) P_n(s)] for the radius R, the distance z and a coordinate s of a uniform
direction.  A set with S_2 = S_4 = 0, a spherical 5-design together with the opposite directions,
minimises :math:`\sum c_{pq}^4`, whose minimum is the Welch bound :math:`3P^2/(d(d+2))` (IEEE Trans.
Inform. Theory 20 (1974), 397-399).  Sets of least energy minimise :math:`\sum \cosh(3 c_{pq})`,
which includes higher degrees.  Opposite directions count as equal, since cos(w.D) is even in w.

Kerdock sets reach the Welch bound for d = 4^k: d/2 + 1 orthonormal bases, where two vectors of
different bases have the inner product +-1/sqrt(d).  The first is the standard basis.  Each other
basis belongs to an element s of the field F of 2^(m-1) elements, d = 2^m; its vectors are functions
(-1)^(a.v + Q_s(v)) / sqrt(d) of v in F_2^m, one for each a in F_2^m, with a quadratic form Q_s.  On
F x F_2, identified with F_2^m, the bilinear form of Q_s is

.. math:: B_s((x, \xi), (y, \eta)) = T(s^2 x y) + T(s x)\,T(s y) + \xi\,T(s y) + \eta\,T(s x),

where T is the trace of F over F_2.  B_s - B_t is nonsingular for s != t, since m - 1 is odd.
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
    count_pairs_in_blocks,
    first_or_all,
    fixed_cosine,
    haar_columns,
    orthogonal,
)
from spectra.base.arrays import FloatArray
from spectra.base.harmonics import gegenbauer_sequence
from spectra.base.limits import check_time, stage

__all__ = [
    "DESIGNED",
    "KERDOCK",
    "angular_means",
    "balanced_sizes",
    "cosh_energy",
    "coupling_sizes",
    "designed",
    "designed_angular_means",
    "is_designed_worthwhile",
    "kerdock_bases",
    "kerdock_lines",
    "least_energy",
    "quick_angular_means",
]

#: An energy sum F(c_pq) of a set, as a function c -> F(c), F'(c) of the cosines.
Energy = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

# Seed of the orthogonal blocks at which every minimisation starts: sets of one size are equal, and
# only their rotation is random.
_SEED = 20_240_229
# Multiplications in one minimisation: one to two seconds of one core, so that a fit that needs
# several sets takes less than ten seconds.  Five times as many reduce S_6 of 1439 directions in
# d = 16 by a third, and that of fewer directions by little.
_WORK = 1e10
# Bounds of the number of iterations that ``_WORK`` allows.
_MOST_STEPS = 300
_LEAST_STEPS = 30
# After this many iterations, S_6 of 800 directions in d = 16 is a quarter above its minimum.
_FEW_STEPS = 30
# Cosines held at one time: half a megabyte stays in the cache of a core.
_CHUNK = 65_536
# Largest size of a set, since its cost grows like size^2: more directions form several sets.
_MOST_DIRECTIONS = 2048
# Multiplications for a set of the coupling "designed": about a third of a second of one core.
_QUICK_WORK = 2.5e9
# Sets of at least 4 d directions have a much smaller variance than orthogonal blocks.
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
    growing = np.exp(3.0 * c)
    falling = 1.0 / growing
    return 0.5 * (growing + falling), 1.5 * (growing - falling)


def angular_means(rows: FloatArray, degrees: int) -> FloatArray:
    """S_n for n = 0, 2, ..., degrees: means of P_n(c_pq) over all pairs (p, q) of unit rows."""
    n, dim = rows.shape
    c = rows @ rows.T
    polynomials = islice(gegenbauer_sequence(dim, c), 0, degrees + 1, 2)
    return np.array([float(values.sum()) / n**2 for values in polynomials])


def least_energy(rows: FloatArray, energy: Energy, *, steps: int | None = None) -> FloatArray:
    """Move unit rows to a local minimum of the sum of F(c_pq) over all pairs, by L-BFGS.

    ``rows`` (n, dim): the initial set, such as orthogonal blocks; ``energy``: F(c) and F'(c), both
    vectorised, F even; ``steps``: largest number of iterations, by default for one to two seconds.
    Returns unit rows.
    """
    n, dim = rows.shape
    if steps is None:
        steps = int(np.clip(_WORK / _work_of_a_step(n, dim), _LEAST_STEPS, _MOST_STEPS))
    chunk = max(1, _CHUNK // n)

    def energy_and_gradient(flat: FloatArray) -> tuple[float, FloatArray]:
        check_time()
        x = flat.reshape(n, dim)
        length = np.linalg.norm(x, axis=1, keepdims=True)
        u = x / length
        total, gradient = 0.0, np.empty_like(u)
        for at in range(0, n, chunk):
            value, slope = energy(u[at : at + chunk] @ u.T)
            total += float(value.sum())
            gradient[at : at + chunk] = 2.0 * slope @ u
        radial = np.sum(gradient * u, axis=1, keepdims=True) * u
        return total, ((gradient - radial) / length).ravel()

    result = minimize(
        energy_and_gradient,
        rows.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-14, "gtol": 1e-9, "maxcor": 20},
    )
    moved = result.x.reshape(n, dim)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def designed(
    n: int,
    dim: int,
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] | None = None,
    draws: int | None = None,
) -> FloatArray:
    """Directions of least pairwise energy under a random Haar rotation, each exactly uniform.

    A set depends on its size and dim alone and is kept in memory; only its rotation is random.
    More than 2048 directions are several sets with independent rotations.

    ``n``, ``dim``: number of directions and dimension; ``sizes``: sizes of the sets, which add up
    to n, by default :func:`balanced_sizes`; ``draws``: number of independent draws, along a first
    axis of the result.

    Related: Hertrich, Jahn, Quellmalz, "Fast summation of radial kernels via QMC slicing", ICLR
    2025.
    """
    checked_draws(n, dim, draws)
    sets = []
    for size in balanced_sizes(n) if sizes is None else sizes:
        if dim == 1 or size <= dim:
            # Orthonormal rows cannot be improved; rotated at random they are rows of a Haar matrix.
            sets.append(orthogonal(size, dim, rng, draws=draws))
        else:
            sets.append(_designed_set(size, dim) @ orthogonal(dim, dim, rng, draws=draws))
    return np.concatenate(sets, axis=-2)


def balanced_sizes(n: int) -> list[int]:
    """Sizes of the fewest independent sets for n directions, as equal as possible."""
    sets = -(-n // _MOST_DIRECTIONS)
    return [n // sets + (1 if k < n % sets else 0) for k in range(sets)]


def coupling_sizes(n: int, dim: int) -> list[int]:
    """Sizes of the sets of the coupling "designed", equal except for the last one.

    The equal sets have the size that is computed in a third of a second, at least 2 d, as smaller
    sets reduce the variance little.  For larger n more of them are used, and the variance falls
    like 1 / n.  A rest of less than half a set is added to the last one.
    """
    largest = max(_quick_size(dim), 2 * dim)
    whole, rest = divmod(n, largest)
    if whole and rest < largest // 2:
        return [largest] * (whole - 1) + [largest + rest]
    return [largest] * whole + ([rest] if rest else [])


def is_designed_worthwhile(n: int, dim: int) -> bool:
    """Whether a designed set of n directions can reduce the variance, and is fast to compute.

    This is so for n > d and 2 <= d <= 46.  For larger d, a set of 4 d directions, which has a much
    smaller variance than orthogonal blocks, takes more than a third of a second.
    """
    return n > dim > 1 and _quick_size(dim) >= _WORTHWHILE * dim


def quick_angular_means(n: int, dim: int, *, degrees: int = 30) -> FloatArray:
    """As :func:`designed_angular_means` after few steps, to compare methods with each other."""
    start = orthogonal(n, dim, np.random.default_rng(_SEED))
    return angular_means(least_energy(start, cosh_energy, steps=_FEW_STEPS), degrees)


def designed_angular_means(n: int, dim: int, *, degrees: int = 30) -> FloatArray:
    """S_0, S_2, ..., S_degrees of the directions of :func:`designed`."""
    return angular_means(designed(n, dim, np.random.default_rng(_SEED)), degrees)


def _quick_size(dim: int) -> int:
    """Number of directions of a set that takes ``_QUICK_WORK``."""
    return int(np.sqrt(_QUICK_WORK / _MOST_STEPS / _work_of_a_step(1, dim)))


def _work_of_a_step(n: int, dim: int) -> float:
    """Multiplications; exp costs as much as 60."""
    return n * n * (4.0 * dim + 60.0)


@lru_cache(maxsize=_CACHE_SIZE)
def _designed_set(n: int, dim: int) -> FloatArray:
    """A set of least energy before its rotation."""
    rows = orthogonal(n, dim, np.random.default_rng(_SEED))
    if 1 < dim < n:
        with stage(f"designing {n} directions, d = {dim}"):
            rows = least_energy(rows, cosh_energy)
    rows.setflags(write=False)
    return rows


def _draw_designed(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    return designed(n, dim, rng, sizes=coupling_sizes(n, dim), draws=draws)


def _pairs_in_sets(n: int, dim: int, total: int) -> Sequence[Pairs]:
    pairs = sum(size * (size - 1) for size in coupling_sizes(n, dim))
    return (Pairs(CosineLaw(_set_cosines, n), pairs),)


def _set_cosines(n: float, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    """The |c| of all pairs in the same set, for n directions in all; weights that sum to 1."""
    sizes = [size for size in coupling_sizes(int(n), dim) if size > 1]
    cosines, counts = [], []
    for size in dict.fromkeys(sizes):
        rows = _designed_set(size, dim)
        cosines.append(np.minimum(np.abs((rows @ rows.T)[np.triu_indices(size, 1)]), 1.0))
        counts.append(np.full(cosines[-1].size, float(sizes.count(size))))
    weights = np.concatenate(counts)
    return np.concatenate(cosines), weights / weights.sum()


#: Sets of least pairwise energy, each with its own random rotation; parts are independent.  The
#: first set of a size takes a third of a second, and more for d > 70.  The optimal split is that of
#: "orthogonal", since a set for every possible split would take many seconds.
DESIGNED = Coupling(
    "designed",
    _draw_designed,
    _pairs_in_sets,
    in_auto=True,
    is_worthwhile=is_designed_worthwhile,
    split_computed_for="orthogonal",
)


def kerdock_bases(dim: int) -> int:
    """Number of bases of a Kerdock set: d/2 + 1 for d = 4, 16, 64, ..., 4096, otherwise 1."""
    bits = dim.bit_length() - 1
    exists = dim == 1 << bits and bits % 2 == 0 and bits - 1 in _IRREDUCIBLE
    return dim // 2 + 1 if exists else 1


@lru_cache(maxsize=8)
def kerdock_lines(dim: int, bases: int) -> FloatArray:
    """The vectors of the first ``bases`` bases of a Kerdock set: shape (bases * dim, dim).

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
            upper = np.triu(_bilinear_form(s, bits), 1)
            quadratic = np.einsum("vi,ij,vj->v", v, upper, v) & 1
            lines[s + 1] = characters * (1 - 2 * quadratic)
    rows = lines.reshape(-1, dim)
    rows.setflags(write=False)
    return rows


def _bilinear_form(s: int, bits: int) -> NDArray[np.intp]:
    """The matrix of B_s in the basis 1, x, x^2, ... of F, and 1 of F_2."""
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
    """Product in the field of 2^r elements, polynomials over F_2 with coefficients as bits."""
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
    """Trace to F_2: a + a^2 + a^4 + ... with r terms, which is 0 or 1."""
    trace = 0
    for _ in range(r):
        trace ^= a
        a = _times(a, a, r)
    return trace


def _draw_kerdock(
    n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
) -> FloatArray:
    """Kerdock sets, each with a random rotation of its own; the last one may be incomplete."""
    count = checked_draws(n, dim, draws)
    size = dim * kerdock_bases(dim)
    whole, rest = divmod(n, size)
    sets = []
    if whole:
        rotated = kerdock_lines(dim, size // dim) @ haar_columns(count * whole, dim, dim, rng)
        sets.append(rotated.reshape(count, whole * size, dim))
    if rest:
        lines = kerdock_lines(dim, -(-rest // dim))[:rest]
        sets.append(lines @ haar_columns(count, dim, dim, rng))
    return first_or_all(np.concatenate(sets, axis=1), draws)


def _pairs_of_lines(n: int, dim: int, total: int) -> Sequence[Pairs]:
    """Pairs in one basis, and pairs in two bases of the same set."""
    in_basis = count_pairs_in_blocks(n, dim)
    in_set = count_pairs_in_blocks(n, dim * kerdock_bases(dim))
    return Pairs(fixed_cosine(0.0), in_basis), Pairs(fixed_cosine(dim**-0.5), in_set - in_basis)


def _is_kerdock_worthwhile(n: int, dim: int) -> bool:
    """Whether there are several bases, and a set of least energy is too slow to compute."""
    return n > dim and kerdock_bases(dim) > 1 and not is_designed_worthwhile(n, dim)


#: Kerdock sets of d (d/2 + 1) lines with cosines 0 and 1/sqrt(d), for d = 4, 16, ..., 4096, each
#: with its own random rotation.  In other dimensions the coupling equals "orthogonal".  It needs no
#: minimisation, and so is available where sets of least energy are too expensive.
KERDOCK = Coupling(
    "kerdock", _draw_kerdock, _pairs_of_lines, in_auto=True, is_worthwhile=_is_kerdock_worthwhile
)
