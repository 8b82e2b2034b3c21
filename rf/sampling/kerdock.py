r"""Kerdock line sets: bases of R^d with the cosine 1/sqrt(d) between vectors of different bases.

In dimension d = 4^k there are d/2 + 1 orthonormal bases of which any two vectors of different
bases have the inner product +-1/sqrt(d).  Together they are d (d/2 + 1) lines whose means of P_2
and of P_4 over all pairs vanish, as Welch's bound allows: under one random rotation they integrate
every polynomial of degree 5 exactly.  Orthogonal blocks alone do not integrate degree 4.

The first basis is the standard one.  The others are the characters (-1)^(a.v) of v in F_2^m,
d = 2^m, times (-1)^(Q_s(v)), with a quadratic form for each s of the field F of 2^(m-1) elements:
on F x F_2 its bilinear form is

.. math:: B_s((x, a), (y, b)) = T(s^2 x y) + T(s x)\,T(s y) + a\,T(s y) + b\,T(s x),

T the trace, and B_s - B_t is not singular for s != t, since m - 1 is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard as sylvester

from rf.sampling.coupling import Coupling, Pairs, fixed_cosine, pairs_in_blocks
from rf.sampling.designed_directions import coupling_gains
from rf.sampling.directions import checked_draws, first_or_all, haar_columns
from spectra.base.arrays import FloatArray

__all__ = ["KERDOCK", "kerdock_bases", "kerdock_lines"]

# Irreducible polynomials over F_2, their coefficients as bits, by degree (Lidl, Niederreiter,
# Introduction to Finite Fields and their Applications, Cambridge 1994, table C).
_IRREDUCIBLE = MappingProxyType(
    {1: 0b11, 3: 0b1011, 5: 0b100101, 7: 0b10000011, 9: 0b1000010001, 11: 0b100000000101}
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
