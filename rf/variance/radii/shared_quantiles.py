r"""Radii that are functions of one key: what comonotone parts share along one direction.

With iid radii both are read at the same u; in n and m strata at the ranks of one key among n and
among m keys, and at the same place inside both strata.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from rf.variance.radii.plane_waves import plane_waves
from spectra.base.arrays import FloatArray, panel_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spectra.table import RadialLaw

__all__ = [
    "comonotone_mean",
    "composite_rule",
    "graded_edges",
    "jumps",
    "ranks_of_ranks",
    "same_direction_mean",
]

# Two radii at common nodes, and the weights.
_Rule = tuple[FloatArray, FloatArray, FloatArray]

# Panels of the quadrature in the common u of two laws: down to 2**-_DYADIC on both sides.  What is
# left out counts as error, and is below what any other step errs.
_DYADIC = 30
_PANEL_NODES = 12
# Phase that one panel of _PANEL_NODES Gauss points integrates to rounding error.
_PANEL_PHASE = 6.0
_MOST_PANELS = 100
# Rules in the common u are made for phases that are rounded up to so many to an octave.
_PER_OCTAVE = 4
# Panels of an outer stratum halve towards the end of the law so often.
_LEVELS = 12
# Values of plane waves that are held at one time (32 MB).
_CHUNK = 4_000_000
# A break counts as a jump of the radius from this relative size on: joins of panels are below, and
# a smaller step is no matter to a quadrature.
_JUMP = 1e-6
# Jumps nearer to the ends of the law than this weigh less than the error of the strata.
_END = 2.0**-30
# Ranks so many standard deviations off are left out, and pairs of ranks less probable than
# _RARE; both are counted as error.
_REACH = 10.0
_RARE = 1e-16
# More pairs of ranks than this are replaced by Gauss points.
_MANY = 20_000
# Rules of no more strata than this are kept, where no jump cuts them: 100 kB each.
_REMEMBERED = 64
# A ranking looks at jumps one by one where there are no more of them: the strata mix the others.
_SEEN_JUMPS = 8


def comonotone_mean(
    dim: int, first: RadialLaw, second: RadialLaw, z: FloatArray, *, rough: bool = False
) -> tuple[FloatArray, FloatArray]:
    """E[cos a cos b] for one direction and radii that are one function of a common uniform u.

    It is (1/2) E[Omega_d((R + R') z) + Omega_d((R - R') z)], integrated over u on panels that
    halve towards both ends; the error compares two orders and adds the mass of the panels whose
    phase no quadrature resolves.  A ``rough`` mean is
    that of the lower order, and its error leaves out what two orders would tell.
    """
    reach = float(z.max(initial=0.0))
    if reach > 0.0:  # rounded up, so that one rule serves many sets of distances
        reach = float(2.0 ** (np.ceil(_PER_OCTAVE * np.log2(reach)) / _PER_OCTAVE))
    rule, lost = _key_rule(first, second, reach, _PANEL_NODES - 4)
    coarse = _mean_over_keys(dim, *rule, z)
    if rough:
        return coarse, np.full_like(z, lost)
    rule, lost = _key_rule(first, second, reach, _PANEL_NODES)
    fine = _mean_over_keys(dim, *rule, z)
    return fine, np.abs(fine - coarse) + lost


def _mean_over_keys(
    dim: int, r: FloatArray, q: FloatArray, weights: FloatArray, z: FloatArray
) -> FloatArray:
    total = np.zeros_like(z)
    step = max(1, _CHUNK // max(z.size, 1))
    for start in range(0, r.size, step):
        part = slice(start, start + step)
        a, b = r[part, None], q[part, None]
        waves = plane_waves(dim, (a + b) * z) + plane_waves(dim, (a - b) * z)
        total += 0.5 * (weights[part] @ waves)
    return total


@lru_cache(maxsize=32)
def _key_rule(first: RadialLaw, second: RadialLaw, reach: float, nodes: int) -> tuple[_Rule, float]:
    """Both radii at the nodes of their key, and the mass that is left out."""
    dyadic = 2.0 ** -np.arange(_DYADIC, 0.0, -1.0)
    lost = 2.0 * float(dyadic[0])
    breaks = np.union1d(_breaks(first), _breaks(second))
    lower = np.union1d(dyadic, breaks[(breaks > dyadic[0]) & (breaks < 0.5)])
    upper = np.union1d(dyadic, (1.0 - breaks)[(breaks > 0.5) & (breaks < 1.0 - dyadic[0])])
    found: list[tuple[FloatArray, ...]] = []
    for edges, quantiles in (
        (lower, (first.ppf, second.ppf)),
        (upper, (first.isf, second.isf)),
    ):
        low, width = edges[:-1], np.diff(edges)
        inside = np.stack([np.nextafter(low, 1.0), np.nextafter(edges[1:], 0.0)])
        span = sum(np.abs(np.diff(quantile(inside), axis=0)[0]) for quantile in quantiles)
        panels = 1 + np.minimum(span * reach / _PANEL_PHASE, _MOST_PANELS).astype(np.intp)
        few = panels <= _MOST_PANELS
        lost += float(width[~few].sum())
        low, width = _parts_of_panels(low[few], width[few], panels[few])
        u, weights = panel_rule(low, low + width, nodes)
        found.append((*(quantile(u.ravel()) for quantile in quantiles), weights.ravel()))
    r, q, mass = (np.concatenate(both) for both in zip(*found, strict=True))
    return (r, q, mass), lost


def _parts_of_panels(
    low: FloatArray, width: FloatArray, parts: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Starts and widths of the equal parts into which each panel is cut."""
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    width = np.repeat(width / parts, parts)
    return np.repeat(low, parts) + number * width, width


def same_direction_mean(
    dim: int,
    laws: tuple[RadialLaw, RadialLaw],
    counts: tuple[int, int],
    z: FloatArray,
    nodes: int,
    *,
    rough: bool = False,
) -> tuple[FloatArray, float]:
    r"""E[cos a cos b] for one direction, whose radii have ranks of the same key in n and m strata.

    (1/2) E[Omega_d((R + R') z) + Omega_d((R - R') z)] with the same place inside both strata.

    Returns
    -------
    mean : ndarray
    lost : float
        Probability of the pairs of ranks that are left out.
    """
    places = np.concatenate([jumps(law) * k % 1.0 for law, k in zip(laws, counts, strict=True)])
    if rough and places.size > _SEEN_JUMPS:
        places = np.zeros(0)
    if max(counts) <= _REMEMBERED and not places.size:
        rules: Iterable[_Rule] = _few_rank_rules(laws, counts, nodes)
    else:
        rules = _rank_rules(laws, counts, nodes, places)
    total, mass = np.zeros_like(z), 0.0
    for rule in rules:
        total += _mean_over_keys(dim, *rule, z)
        mass += float(rule[-1].sum())
    return total, max(1.0 - mass, 0.0)


def _rank_rules(
    laws: tuple[RadialLaw, RadialLaw], counts: tuple[int, int], nodes: int, places: FloatArray
) -> Iterator[_Rule]:
    """Both radii at ranks of one key and in their strata, cut at places, a few at one time."""
    n, m = counts
    b, probability = _rank_laws(n, m)
    second = b.astype(float)
    if b.size > _MANY and not places.size:
        # The radius is smooth in the rank, so that a few points stand for many ranks.
        second, probability = _gauss_ranks(second, probability, nodes + 2)
    kept = probability > n * _RARE
    first = np.nonzero(kept)[0]
    second, weight = second[kept], probability[kept] / n
    inner = np.union1d([0.0, 1.0], places)
    outer = np.union1d(inner, graded_edges())
    # Towards the lower end alone a radius is a power, towards the upper one it may run away.
    low, high = (first == 0) | (second < 1), (first == n - 1) | (second > m - 2)
    for edges, chosen in (
        (inner, ~low & ~high),
        (np.union1d(inner, outer[outer <= 0.5]), low & ~high),
        (outer, high),
    ):
        offsets, share = composite_rule(edges, nodes)
        rows = max(1, _CHUNK // offsets.size)
        where = np.flatnonzero(chosen)
        for start in range(0, where.size, rows):
            at = where[start : start + rows]
            r = laws[0].ppf((first[at, None] + offsets) / n)
            q = laws[1].ppf((second[at, None] + offsets) / m)
            yield r.ravel(), q.ravel(), np.multiply.outer(weight[at], share).ravel()


@lru_cache(maxsize=64)
def _few_rank_rules(
    laws: tuple[RadialLaw, RadialLaw], counts: tuple[int, int], nodes: int
) -> tuple[_Rule, ...]:
    """A ranking asks for the same few strata of the same laws at other distances."""
    return tuple(_rank_rules(laws, counts, nodes, np.zeros(0)))


def ranks_of_ranks(n: int, m: int) -> csr_array:
    """h_ab: the probability that the a-th least of n keys is the b-th least of all m >= n keys.

    Returns
    -------
    sparse array of shape (n, m)
        Rows of sum 1, up to what lies ten standard deviations from the mean of b.

    Examples
    --------
    >>> ranks_of_ranks(2, 3).toarray().round(12)
    array([[0.66666667, 0.33333333, 0.        ],
           [0.        , 0.33333333, 0.66666667]])
    """
    b, probability = _rank_laws(n, m)
    row = np.broadcast_to(np.arange(n)[:, None], b.shape)
    kept = probability > 0.0
    return csr_array((probability[kept], (row[kept], b[kept])), shape=(n, m))


def _rank_laws(n: int, m: int) -> tuple[NDArray[np.intp], FloatArray]:
    """The b that each a of :func:`ranks_of_ranks` can be, and their probabilities, by rows."""
    a = np.arange(n)[:, None]
    # The b of an a has the mean (a + 1) (m + 1) / (n + 1) - 1, and the largest variance in the
    # middle: that of an order statistic of a sample without replacement.
    deviation = np.sqrt((m + 1.0) * (m - n) / (4.0 * (n + 2.0)))
    width = min(int(_REACH * deviation) + 2, m)
    middle = np.round((a + 1.0) * (m + 1.0) / (n + 1.0) - 1.0).astype(np.intp)
    b = middle + np.arange(-width, width + 1)
    possible = (b >= a) & (m - 1 - b >= n - 1 - a)
    above, below = np.where(possible, b, a), np.where(possible, m - 1 - b, n - 1 - a)
    log = _log_choose(above, a) + _log_choose(below, n - 1 - a) - _log_choose(m, n)
    return b, np.where(possible, np.exp(log), 0.0)


def _gauss_ranks(
    b: FloatArray, probability: FloatArray, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Gauss nodes and weights of each row's law of b, by the recurrence of its polynomials."""
    mass = probability.sum(axis=1, keepdims=True)
    share = probability / mass
    matrix = np.zeros((len(b), nodes, nodes))
    before, now, norm = np.zeros_like(b), np.ones_like(b), np.zeros((len(b), 1))
    for k in range(nodes):
        centre = np.sum(share * b * now**2, axis=1, keepdims=True)
        matrix[:, k, k] = centre[:, 0]
        after = (b - centre) * now - norm * before
        norm = np.sqrt(np.sum(share * after**2, axis=1, keepdims=True))
        if k + 1 < nodes:
            matrix[:, k, k + 1] = matrix[:, k + 1, k] = norm[:, 0]
        before, now = now, after / norm
    points, vectors = np.linalg.eigh(matrix)
    return points, mass * vectors[:, 0, :] ** 2


def _log_choose(n: NDArray[np.intp] | int, k: NDArray[np.intp] | int) -> FloatArray:
    n, k = np.asarray(n), np.asarray(k)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


@lru_cache(maxsize=64)
def jumps(law: RadialLaw) -> FloatArray:
    """The u in (0, 1) at which the radius jumps: atoms, and gaps of the density."""
    u = _breaks(law)
    u = u[(u > _END) & (u < 1.0 - _END)]
    below, above = law.ppf(np.nextafter(u, 0.0)), law.ppf(np.nextafter(u, 1.0))
    return np.asarray(u[above - below > _JUMP * (above + below)])


def graded_edges() -> FloatArray:
    """Edges on [0, 1] that halve towards both ends."""
    half = np.concatenate([[0.0], 2.0 ** -np.arange(_LEVELS, 0.0, -1.0)])
    return np.concatenate([half, 1.0 - half[-2::-1]])


def composite_rule(edges: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre points and weights on the panels between ``edges``."""
    points, weights = panel_rule(edges[:-1], edges[1:], nodes)
    return points.ravel(), weights.ravel()


def _breaks(law: RadialLaw) -> FloatArray:
    """The u in (0, 1) at which the inverse CDF passes from one panel to the next."""
    u = np.concatenate([law.left.edges, 1.0 - law.right.edges])
    return np.asarray(np.unique(u[(u > 0.0) & (u < 1.0)]))
