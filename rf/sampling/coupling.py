r"""What a coupling is: how directions are drawn, and which pairs of them are dependent.

A table is a sum of parts, and part p gets n_p frequencies w = R s.  Each frequency alone has the
exact distribution of its part; a coupling sets their joint distribution.  For the variance it is
enough to know a list of :class:`Pairs`: how many pairs of frequencies, within a part or of two
parts, have directions with a given distribution of the cosine c, of which it takes the means
E P_n(c) of Gegenbauer polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Literal, Protocol, final

import numpy as np
from scipy.special import gammaln

from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer_sequence

__all__ = [
    "RADII",
    "AngularMeans",
    "CosineLaw",
    "Coupling",
    "Pairs",
    "Radii",
    "RadiusRule",
    "angular_means",
    "dependent_pairs",
    "fixed_cosine",
    "gegenbauer_means",
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
    """(rank of the key + offset) / n: a uniform random order of the layers."""
    n = keys.shape[-1]
    rank = np.argsort(np.argsort(keys, axis=-1), axis=-1)
    # The greatest double below 1 keeps a rounded-up (n - 1 + offset) / n inside the domain.
    return np.asarray(np.minimum((rank + offsets) / n, np.nextafter(1.0, 0.0)))


#: How the radii of a part are drawn, by name; see :func:`rf.draw_frequencies`.
RADII: Mapping[str, RadiusRule] = MappingProxyType(
    {"iid": _iid_radii, "stratified": _stratified_radii}
)

# Values of Gegenbauer polynomials that the means of one distribution may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048


@final
@dataclass(frozen=True)
class CosineLaw:
    """The distribution of |c| for a pair of directions.

    ``rule``: (value, dim, degree) -> nodes, and weights that sum to 1, for the means of even
    polynomials in c up to a degree.
    """

    rule: Callable[[float, int, int], tuple[FloatArray, FloatArray]]
    value: float

    def nodes(self, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights."""
        return self.rule(self.value, dim, degree)


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
    couplings at a similar cost (if not for n, then for no fewer); ``split_of``: a coupling whose
    optimal split over the parts is used instead of its own, if not empty.
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


@dataclass(frozen=True)
class AngularMeans:
    """Means of Gegenbauer polynomials of a random cosine.

    ``means``: E P_n(c), n = 2, 4, ...; ``beyond``: bound of all |E P_n(c)| of higher degrees;
    ``most``: the degree up to which the means are worth their cost.
    """

    means: FloatArray
    beyond: float
    most: int


@lru_cache(maxsize=128)
def angular_means(law: CosineLaw, dim: int, degree: int) -> AngularMeans:
    """E P_n(c) for n = 2, 4, ..., degree and a distribution of the cosine."""
    cosines, weights = law.nodes(dim, degree)
    means, beyond = gegenbauer_means(dim, degree, cosines, weights)
    return AngularMeans(means[2::2], beyond, min(_LAST_DEGREE, _BUDGET // cosines.size))


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
