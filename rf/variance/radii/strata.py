r"""Radii in strata: what the draws without replacement do to the covariance of two cosines.

The radius i of n lies in a stratum a_i of mass 1/n, and the strata of one part are dealt in random
order.  With the means A_a of g_m(R z) over the strata of one law, and B_b over those of another,

.. math:: E[g_m(R_i z)\, g_m(R'_j z)] = \frac{1}{n (n - 1)}
          \sum_a \Bigl(\sum_{a'} A_{a'} - A_a\Bigr) \sum_b h_{ab} B_b, \qquad i \ne j,

for m = 0, 2, ...  Within a part h is the identity.  Comonotone parts with n <= n' frequencies take
the orders of the same keys: the a-th of the first n keys is the b-th of all with the probability
h_ab of a hypergeometric law, and a pair whose second key is not among the first n has independent
strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rf.sampling.radii import Layers
from rf.variance.differences import Combination
from rf.variance.radii.plane_waves import even_waves
from rf.variance.radii.projection import SphereRule, projection_of
from rf.variance.radii.shared_quantiles import composite_rule, graded_edges, jumps, ranks_of_ranks
from spectra.base.arrays import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.base.special.harmonics import wave_coefficients

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = [
    "NODES",
    "Side",
    "StrataMeans",
    "StratumWaves",
    "means_of_strata",
    "rough_stratum_waves",
    "strata_means",
    "stratum_waves",
]

# Gauss points of one stratum, fine and coarse; the coarse ones tell the error.
NODES = (6, 4)
# Fewer strata need panels inside every one; more are far from the ends of the law.
_FEW = 8
# Values of cosines that are held at one time (32 MB).
_CHUNK = 4_000_000
# Systematic radii: panels of the offset halve towards its end so often, are cut for waves of this
# phase, which six Gauss nodes resolve to 1e-7, and into so many pieces at most.
_OFFSET_LEVELS = 30
_OFFSET_PHASE = 3.0
_MOST_PIECES = 16
# Waves of systematic radii beyond this phase are left out above degree 0: the layers of one draw
# share one offset, so that every phase would have to be resolved at once.
_SYSTEMATIC_PHASE = 512.0


@dataclass(frozen=True)
class StrataMeans:
    """E[g_m(R_i z) g_m(R'_j z)] for i != j of one draw, m = 0, 2, ..., combined at each difference.

    Attributes
    ----------
    near : ndarray of shape (differences, degrees)
        For pairs j among the first n of the smaller part.
    far : ndarray of shape (differences, degrees)
        For pairs with j beyond them; the same numbers as ``near`` where there are none.
    beyond : ndarray of shape (differences,)
        Bound of the sum of the absolute products over the degrees left out.
    lost : ndarray of shape (differences,)
        Bound of what waves that no node resolves leave in a sum of products.
    """

    near: FloatArray
    far: FloatArray
    beyond: FloatArray
    lost: FloatArray

    @classmethod
    def at_all(cls, means: Sequence[Self]) -> Self:
        """Those of single differences, along a first axis."""
        return cls(
            np.concatenate([m.near for m in means]),
            np.concatenate([m.far for m in means]),
            np.concatenate([m.beyond for m in means]),
            np.concatenate([m.lost for m in means]),
        )

    def products(self, far: bool) -> FloatArray:
        """Those of the far pairs, or of the near ones."""
        return self.far if far else self.near


@final
@dataclass(frozen=True, eq=False)
class Side:
    """The frequencies of one part: its law in n strata, seen at lengths, shape (points,)."""

    law: RadialLaw
    n: int
    lengths: FloatArray


def strata_means(
    sides: tuple[Side, Side],
    layers: Layers,
    combination: Combination,
    rule: SphereRule,
    degree: int,
    nodes: int,
) -> StrataMeans:
    """Means of the products of wave coefficients over the strata of one draw, at one difference.

    Parameters
    ----------
    sides : (Side, Side)
        Twice the same one within a part; the smaller number of strata first.
    layers : {"stratified", "systematic"}
    combination : Combination
        At that difference.
    rule : SphereRule
    degree : int
    nodes : int
        Gauss points in a stratum.
    """
    if layers == "systematic":
        return _systematic(sides, combination, rule.dim, degree, nodes)
    first = stratum_waves(sides[0], rule, degree, nodes)
    second = first if sides[0] is sides[1] else stratum_waves(sides[1], rule, degree, nodes)
    return means_of_strata(first, second, combination)


@dataclass(frozen=True)
class StratumWaves:
    """Means of g_m(R z) over each of the n strata of one law, m = 0, 2, ...

    Attributes
    ----------
    harmonics : ndarray of shape (n, points, degrees)
    missing : ndarray of shape (n, points)
        Sum of the squares of higher degrees.
    """

    harmonics: FloatArray
    missing: FloatArray


def stratum_waves(side: Side, rule: SphereRule, degree: int, nodes: int) -> StratumWaves:
    """The wave coefficients of the n strata of a law up to a degree."""
    basis = rule.harmonics(degree).T
    harmonics = np.empty((side.n, side.lengths.size, basis.shape[1]))
    missing = np.empty(harmonics.shape[:2])
    for j, z in enumerate(side.lengths.tolist()):
        waves = _stratum_waves(side.law, side.n, z, rule, nodes)
        harmonics[:, j] = waves @ basis
        missing[:, j] = waves**2 @ rule.weights - np.sum(harmonics[:, j] ** 2, axis=1)
    return StratumWaves(harmonics, np.maximum(missing, 0.0))


def rough_stratum_waves(side: Side, dim: int, degree: int, whole: FloatArray) -> StratumWaves:
    """As :func:`stratum_waves` at many points, from tabulated waves and the coarse nodes.

    ``whole`` are the means over the law, shape (points, degrees); no degree counts as missing.
    """
    n = side.n
    radii, weights, starts = _stratum_rule(side.law, n, NODES[-1])
    waves = even_waves(dim, degree, np.multiply.outer(radii[: starts[-1]], side.lengths))
    waves *= weights[: starts[-1], None, None]
    out = np.empty((n, *whole.shape))
    if n > 1:
        out[:-1] = n * np.add.reduceat(waves, starts[:-1], axis=0)
    # The last stratum holds the tail, which no nodes resolve: it is what the others leave.
    out[-1] = n * whole - out[:-1].sum(axis=0)
    return StratumWaves(out, np.zeros(out.shape[:2]))


def means_of_strata(
    first: StratumWaves, second: StratumWaves, combination: Combination
) -> StrataMeans:
    """Means over the draws in strata of two parts, the one of fewer strata first."""
    a, b = first.harmonics, second.harmonics
    n, m = len(a), len(b)
    ranks = None if n == m else ranks_of_ranks(n, m)
    roots = (np.sqrt(waves.missing.mean(axis=0)) for waves in (first, second))
    beyond = combination.bound(*roots) * n / max(n - 1, 1)
    far = combination(a.mean(axis=0), b.mean(axis=0))
    near = _without_itself(a, b, ranks, combination)
    return StrataMeans(near, far, 2.0 * beyond + 1e-14, np.zeros(len(far)))


def _without_itself(
    a: FloatArray, b: FloatArray, ranks: csr_array | None, combination: Combination
) -> FloatArray:
    """The mean over i != j among the first n, for strata along the first axis."""
    n = len(a)
    if n == 1:
        return np.zeros_like(combination(a[0], b[0]))
    matched = b
    if ranks is not None:
        matched = (ranks @ b.reshape(len(b), -1)).reshape(n, *b.shape[1:])
    return np.asarray(combination(a.sum(axis=0) - a, matched).sum(axis=0) / (n * (n - 1.0)))


def _stratum_waves(law: RadialLaw, n: int, z: float, rule: SphereRule, nodes: int) -> FloatArray:
    """Means of cos(R z s) over each stratum, shape (n, nodes of the rule)."""
    whole, _ = projection_of(law)(z * rule.s)
    waves = np.empty((n, rule.s.size))
    radii, weights, starts = _stratum_rule(law, n, nodes)
    step = max(1, _CHUNK // (rule.s.size * max(1, radii.size // n)))
    for low in range(0, n - 1, step):
        high = min(low + step, n - 1)
        part = slice(starts[low], starts[high])
        cosines = np.cos(np.multiply.outer(radii[part], z * rule.s))
        cosines *= weights[part, None]
        waves[low:high] = np.add.reduceat(cosines, starts[low:high] - starts[low], axis=0)
    waves[:-1] *= n
    # The last stratum holds the tail, which no nodes resolve: it is what the others leave.
    waves[-1] = n * whole - waves[:-1].sum(axis=0)
    return waves


# The distances are gone through one by one, with the same radii, and splits are tried again.
@lru_cache(maxsize=64)
def _stratum_rule(
    law: RadialLaw, n: int, nodes: int
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Radii and weights in the order of the strata, and where each stratum starts."""
    u, weights = composite_rule(_inner_edges(law, n), nodes)
    return law.ppf(u), weights, np.searchsorted(u, np.arange(n) / n)


def _inner_edges(law: RadialLaw, n: int) -> FloatArray:
    """Edges of all strata, with the jumps of the law and, near its ends, finer panels."""
    edges = np.arange(n + 1.0) / n
    graded = graded_edges()
    inside = np.arange(n)[:, None] + graded if n <= _FEW else np.stack([graded, n - 2 + graded])
    return np.union1d(np.union1d(edges, inside.ravel() / n), jumps(law))


def _systematic(
    sides: tuple[Side, Side], combination: Combination, dim: int, degree: int, nodes: int
) -> StrataMeans:
    """All strata of a draw share one offset, which is integrated last."""
    counts = sides[0].n, sides[1].n
    ranks = None if counts[0] == counts[1] else ranks_of_ranks(*counts)
    offsets, weights, lost = _offset_rule(sides, nodes)
    near: FloatArray | float = 0.0
    far: FloatArray | float = 0.0
    squares = [np.zeros(side.lengths.size) for side in sides]
    step = max(1, _CHUNK // (max(counts) * (degree // 2 + 1) * sides[0].lengths.size))
    for start in range(0, offsets.size, step):
        some, share = offsets[start : start + step], weights[start : start + step]
        tables: list[FloatArray] = []
        for side, square in zip(sides, squares, strict=True):
            if side is not sides[0] or not tables:
                radii = side.law.ppf((np.arange(side.n)[:, None] + some) / side.n)
                table, missing = _even_waves(dim, radii[..., None] * side.lengths, degree)
            tables.append(table)
            square += np.einsum("ioj,o->ij", missing, share).mean(axis=0)
        a, b = tables
        near = near + np.einsum("o...,o->...", _without_itself(a, b, ranks, combination), share)
        means = combination(a.mean(axis=0), b.mean(axis=0))
        far = far + np.einsum("o...,o->...", means, share)
    beyond = 2.0 * combination.bound(np.sqrt(squares[0]), np.sqrt(squares[1])) + 1e-14
    # The waves of the last strata are in this share of the products.
    share_of_last = (1.0 / counts[0] + 1.0 / counts[1]) * combination.size
    last = np.full(beyond.shape, share_of_last * lost)
    return StrataMeans(np.asarray(near), np.asarray(far), beyond, last)


def _offset_rule(sides: tuple[Side, Side], nodes: int) -> tuple[FloatArray, FloatArray, float]:
    """Offsets, weights, and the share of them at which waves of the last strata are lost.

    Panels halve towards the end of the law, and are cut so that the nodes resolve the waves of the
    last strata; what turns faster cancels, by van der Corput's lemma to 8 over the phase.
    """
    places = [jumps(side.law) * side.n % 1.0 for side in sides]
    finer = 1.0 - 2.0 ** -np.arange(1.0, _OFFSET_LEVELS + 1.0)
    edges = np.union1d(graded_edges(), np.concatenate([*places, finer]))
    inside = np.minimum(edges, np.nextafter(1.0, 0.0))
    phase = np.zeros(edges.size - 1)
    for side in sides:
        u = np.minimum((side.n - 1 + inside) / side.n, np.nextafter(1.0, 0.0))
        phase = np.maximum(phase, np.diff(side.law.ppf(u)) * side.lengths.max())
    pieces = np.clip(np.ceil(phase / _OFFSET_PHASE), 1, _MOST_PIECES)
    unresolved = phase > _OFFSET_PHASE * _MOST_PIECES
    lost = float(np.diff(edges)[unresolved] @ np.minimum(1.0, 8.0 / phase[unresolved]))
    lost += 2.0**-_OFFSET_LEVELS
    cut = [
        np.linspace(low, high, int(k), endpoint=False)
        for low, high, k in zip(edges[:-1], edges[1:], pieces, strict=True)
    ]
    return *composite_rule(np.append(np.concatenate(cut), 1.0), nodes), lost


def _even_waves(dim: int, x: FloatArray, degree: int) -> tuple[FloatArray, FloatArray]:
    """g_m(x), m = 0, 2, ..., degree, along a last axis, and the squares that are left out."""
    waves = np.zeros((*x.shape, degree // 2 + 1))
    near = x <= _SYSTEMATIC_PHASE
    waves[~near, 0] = plane_wave_mean(dim, x[~near])
    waves[near] = wave_coefficients(dim, degree, x[near])[::2].T
    missing = 0.5 + 0.5 * plane_wave_mean(dim, 2.0 * x) - np.sum(waves**2, axis=-1)
    return waves, np.maximum(missing, 0.0)
