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
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rf.common_keys import composite_rule, graded_edges, jumps, ranks_of_ranks
from rf.plane_waves import even_waves
from rf.projection import SphereRule, projection_of
from rf.radii import Layers
from spectra.harmonics import wave_coefficients
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = [
    "NODES",
    "StrataMeans",
    "StratumWaves",
    "means_of_strata",
    "rough_stratum_waves",
    "strata_means",
    "stratum_waves",
]

FloatArray = NDArray[np.float64]

# Gauss points of one stratum, fine and coarse; the coarse ones tell the error.
NODES = (6, 4)
# Fewer strata need panels inside every one; more are far from the ends of the law.
_FEW = 8
# Values of cosines that are held at one time (32 MB).
_CHUNK = 4_000_000
# Waves of systematic radii beyond this phase are left out above degree 0: the layers of one draw
# share one offset, so that every phase would have to be resolved at once.
_SYSTEMATIC_PHASE = 512.0


@dataclass(frozen=True)
class StrataMeans:
    """E[g_m(R_i z) g_m(R'_j z)] for i != j of one draw, m = 0, 2, ..., at one distance or many.

    Attributes
    ----------
    near : ndarray of shape (degrees,) or (distances, degrees)
        For pairs j among the first n of the smaller part.
    far : ndarray of the same shape
        For pairs with j beyond them; the same numbers as ``near`` where there are none.
    beyond : float or ndarray of shape (distances,)
        Bound of the sum of the absolute products over the degrees left out.
    """

    near: FloatArray
    far: FloatArray
    beyond: float | FloatArray

    @classmethod
    def at_all(cls, means: Sequence[Self]) -> Self:
        """Those of single distances, along a first axis."""
        return cls(
            np.array([m.near for m in means]),
            np.array([m.far for m in means]),
            np.array([m.beyond for m in means]),
        )

    def products(self, far: bool) -> FloatArray:
        """Those of the far pairs, or of the near ones."""
        return self.far if far else self.near


def strata_means(
    laws: tuple[RadialLaw, RadialLaw],
    counts: tuple[int, int],
    layers: Layers,
    z: float,
    rule: SphereRule,
    degree: int,
    nodes: int,
) -> StrataMeans:
    """Means of the products of wave coefficients over the strata of one draw.

    Parameters
    ----------
    laws : (RadialLaw, RadialLaw)
        Twice the same one within a part.
    counts : (int, int)
        Strata of each, the smaller number first.
    layers : {"stratified", "systematic"}
    z : float
    rule : SphereRule
    degree : int
    nodes : int
        Gauss points in a stratum.
    """
    if layers == "systematic":
        return _systematic(laws, counts, z, rule.dim, degree, nodes)
    first = stratum_waves(laws[0], counts[0], z, rule, degree, nodes)
    if laws[0] is laws[1] and counts[0] == counts[1]:
        return means_of_strata(first, first)
    return means_of_strata(first, stratum_waves(laws[1], counts[1], z, rule, degree, nodes))


@dataclass(frozen=True)
class StratumWaves:
    """Means of g_m(R z) over each of the n strata of one law, m = 0, 2, ...

    Attributes
    ----------
    harmonics : ndarray of shape (n, degrees), or (n, distances, degrees)
    missing : ndarray of shape (n,), or (n, distances)
        Sum of the squares of higher degrees.
    """

    harmonics: FloatArray
    missing: FloatArray


def stratum_waves(
    law: RadialLaw, n: int, z: float, rule: SphereRule, degree: int, nodes: int
) -> StratumWaves:
    """The wave coefficients of the n strata of a law up to a degree."""
    waves = _stratum_waves(law, n, z, rule, nodes)
    harmonics = waves @ rule.harmonics(degree).T
    missing = np.maximum(waves**2 @ rule.weights - np.sum(harmonics**2, axis=1), 0.0)
    return StratumWaves(harmonics, missing)


def rough_stratum_waves(
    law: RadialLaw, n: int, z: FloatArray, dim: int, degree: int, whole: FloatArray
) -> StratumWaves:
    """As :func:`stratum_waves` at many distances, from tabulated waves and the coarse nodes.

    ``whole`` are the means over the law, shape (distances, degrees); no degree counts as missing.
    """
    radii, weights, starts = _stratum_rule(law, n, NODES[-1])
    waves = even_waves(dim, degree, np.multiply.outer(radii[: starts[-1]], z))
    waves *= weights[: starts[-1], None, None]
    out = np.empty((n, *whole.shape))
    if n > 1:
        out[:-1] = n * np.add.reduceat(waves, starts[:-1], axis=0)
    # The last stratum holds the tail, which no nodes resolve: it is what the others leave.
    out[-1] = n * whole - out[:-1].sum(axis=0)
    return StratumWaves(out, np.zeros((n, z.size)))


def means_of_strata(first: StratumWaves, second: StratumWaves) -> StrataMeans:
    """Means over the draws in strata of two parts, the one of fewer strata first."""
    a, b = first.harmonics, second.harmonics
    n, m = len(a), len(b)
    ranks = None if n == m else ranks_of_ranks(n, m)
    missing = np.sqrt(first.missing.mean(axis=0) * second.missing.mean(axis=0))
    beyond = missing * n / max(n - 1, 1)
    far = a.mean(axis=0) * b.mean(axis=0)
    return StrataMeans(_without_itself(a, b, ranks), far, 2.0 * beyond + 1e-14)


def _without_itself(a: FloatArray, b: FloatArray, ranks: csr_array | None) -> FloatArray:
    """The mean over i != j among the first n, for strata along the first axis."""
    n = len(a)
    if n == 1:
        return np.zeros(a.shape[1:])
    matched = b if ranks is None else (ranks @ b.reshape(len(b), -1)).reshape(a.shape)
    return np.asarray(((a.sum(axis=0) - a) * matched).sum(axis=0) / (n * (n - 1.0)))


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
    laws: tuple[RadialLaw, RadialLaw],
    counts: tuple[int, int],
    z: float,
    dim: int,
    degree: int,
    nodes: int,
) -> StrataMeans:
    """All strata of a draw share one offset, which is integrated last."""
    ranks = None if counts[0] == counts[1] else ranks_of_ranks(*counts)
    places = [jumps(law) * k % 1.0 for law, k in zip(laws, counts, strict=True)]
    offsets, weights = composite_rule(np.union1d(graded_edges(), np.concatenate(places)), nodes)
    tables, beyond = [], []
    for law, n in zip(laws, counts, strict=True):
        x = law.ppf((np.arange(n)[:, None] + offsets) / n) * z
        table, missing = _even_waves(dim, x, degree)
        tables.append(table)
        beyond.append(float((missing @ weights).mean()))
        if laws[0] is laws[1] and counts[0] == counts[1]:
            tables, beyond = tables * 2, beyond * 2
            break
    a, b = tables
    near = np.einsum("om,o->m", _without_itself(a, b, ranks), weights)
    far = np.einsum("om,om,o->m", a.mean(axis=0), b.mean(axis=0), weights)
    return StrataMeans(near, far, 2.0 * float(np.sqrt(beyond[0] * beyond[1])) + 1e-14)


def _even_waves(dim: int, x: FloatArray, degree: int) -> tuple[FloatArray, FloatArray]:
    """g_m(x), m = 0, 2, ..., degree, along a last axis, and the squares that are left out."""
    waves = np.zeros((*x.shape, degree // 2 + 1))
    near = x <= _SYSTEMATIC_PHASE
    waves[~near, 0] = plane_wave_mean(dim, x[~near])
    waves[near] = wave_coefficients(dim, degree, x[near])[::2].T
    missing = 0.5 + 0.5 * plane_wave_mean(dim, 2.0 * x) - np.sum(waves**2, axis=-1)
    return waves, np.maximum(missing, 0.0)
