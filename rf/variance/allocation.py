"""Split frequencies over the parts of a table, and compare couplings with their best splits.

The score of a coupling is the predicted variance of the estimate (:mod:`rf.variance.variance`),
averaged over distances of the data: the expected squared error of an entry of the kernel matrix.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rf.sampling.coupling import CosineLaw, Coupling, Radii, pairs_across, pairs_within
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, Allocation, checked_choice
from rf.variance.variance import BaseVarianceModel, VarianceModel
from spectra.base.accuracy import EPS
from spectra.base.limits import check_time
from spectra.errors import ParameterError
from spectra.table.parts import Points

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = [
    "ALLOCATIONS",
    "Allocation",
    "CouplingScore",
    "allocate",
    "apportion",
    "auto_couplings",
    "optimal_split",
    "ranked_couplings",
    "split",
]

# The optimal split is computed for at most this many frequencies, and scaled up for more: the error
# is at most 1/256 of them, and the variance is flat near its minimum.
_EXACT_SPLIT = 256

# A better split must reduce the variance by this fraction, so that the search ends in spite of
# rounding errors.
_MARGIN = 1e-12


def apportion(weights: ArrayLike, n: int) -> tuple[int, ...]:
    """Whole numbers n_p >= 1 that sum to n and minimise sum(weights_p^2 / n_p).

    The method of equal proportions: start with n_p = 1, and add 1 where weights_p^2 / (n_p (n_p +
    1)) is largest.  If the weights are mass times standard deviation, this is Neyman's allocation.

    T. Wright, "The equivalence of Neyman optimum allocation for sampling and equal proportions
    for apportioning the U.S. House of Representatives", The American Statistician 66 (2012).
    """
    weights = np.asarray(weights, dtype=float)
    if not np.all(weights >= 0) or not np.all(np.isfinite(weights)):
        raise ParameterError(f"Weights must be finite and not negative, and they are {weights}.")
    if n < len(weights):
        raise ParameterError(
            f"{n} frequencies are too few for {len(weights)} parts, each of which needs one. Ask "
            f"for n_components >= {2 * len(weights)} (two columns for each frequency)."
        )
    counts = [1] * len(weights)
    queue = [(-weight * weight / 2.0, p) for p, weight in enumerate(weights.tolist())]
    heapq.heapify(queue)
    for _ in range(n - len(weights)):
        _, p = queue[0]
        counts[p] += 1
        priority = weights[p] ** 2 / (counts[p] * (counts[p] + 1.0))
        heapq.heapreplace(queue, (-float(priority), p))
    return tuple(counts)


def allocate(
    table: SpectralTable,
    n: int,
    *,
    allocation: Allocation = "mass",
    coupling: str = "orthogonal",
    distances: ArrayLike | VarianceModel | None = None,
) -> tuple[int, ...]:
    """Split n frequencies over the parts of a table, at least one for each.

    ``n``: number of frequencies, half the number of columns; ``allocation``: "equal", as published;
    "mass", in proportion to ``Part.root_mean_square``, which is the mass of a part without shifts;
    or "optimal", of least mean variance over ``distances``, computed for independent radii (its
    split is good for stratified radii too) and up to 256 frequencies, and scaled up for more.
    Needed for "optimal" only: ``coupling``, as in :func:`rf.draw_frequencies`; ``distances``,
    distances |x - y| of the data, or a variance model at them.
    """
    n = int(n)
    checked_choice(dict.fromkeys(ALLOCATIONS), allocation, "allocation")
    if distances is None and allocation == "optimal" and len(table.parts) > 1:
        raise ParameterError(
            "allocation='optimal' needs distances of the data. Pass distances=..., or take "
            "allocation='mass'."
        )
    model = distances
    if not isinstance(model, VarianceModel):
        no_points = Points(np.zeros((0, table.dim)), 1)
        model = VarianceModel(table, no_points if model is None else model)
    return split(model, n, allocation=allocation, coupling=coupling)


def split(
    model: BaseVarianceModel, n: int, *, allocation: Allocation, coupling: str = "iid"
) -> tuple[int, ...]:
    """Split n frequencies over the parts of a model, at least one for each.

    "optimal" is the best split for the coupling if it may couple parts of the model, else Neyman's
    allocation, which is optimal for independent frequencies.
    """
    parts = model.masses.size
    if allocation == "optimal" and parts > 1:
        if isinstance(model, VarianceModel) and model.table.joint_columns is not None:
            split_computed_for = checked_choice(COUPLINGS, coupling, "coupling").split_computed_for
            few = min(n, max(_EXACT_SPLIT, parts))
            counts = optimal_split(model, few, COUPLINGS[split_computed_for or coupling])
            return counts if few == n else apportion(counts, n)
        # Rounding errors can make a variance of 0 negative.
        weights = np.sqrt(np.maximum(np.mean(model.part_variance, axis=1), 0.0))
    else:
        weights = np.ones(parts) if allocation == "equal" else model.sizes
    return apportion(np.where(model.varying, weights, 0.0), n)


def optimal_split(model: VarianceModel, n: int, coupling: Coupling) -> tuple[int, ...]:
    """Split n frequencies so that the mean variance with independent radii is least.

    For two parts at a time, every split of their frequencies is tried, until no pair of parts
    changes.  With two parts this is the optimum; in general it may be a local minimum.
    """
    parts = len(model.table.parts)
    counts = list(apportion(np.ones(parts), n))
    own, common = _mean_terms(model.approximation, coupling, n)
    # If all variances are 0 up to rounding, no split counts as better.
    rounding = EPS * float(np.sum(model.masses**2))
    least_gain = (_MARGIN * sum(own(p, 1) for p in range(parts)) + rounding) / n

    def value(counts: list[int], p: int, q: int) -> float:
        """The terms of the variance that depend on the counts of p and q."""
        total = own(p, counts[p]) + own(q, counts[q])
        if coupling.across_parts:
            total += common(p, q, counts[p], counts[q])
            others = [r for r in range(parts) if r not in (p, q)]
            total += sum(common(s, r, counts[s], counts[r]) for s in (p, q) for r in others)
        return total

    changed = parts > 1
    while changed:
        changed = False
        for p, q in combinations(range(parts), 2):
            both, best, least = counts[p] + counts[q], counts, value(counts, p, q)
            for m in range(1, both):
                check_time()
                trial = [*counts]
                trial[p], trial[q] = m, both - m
                if (trial_value := value(trial, p, q)) < least - least_gain:
                    best, least = trial, trial_value
            # With two parts one pass finds the optimum.
            changed = changed or (best is not counts and parts > 2)
            counts = best
    return tuple(counts)


def _mean_terms(
    model: VarianceModel, coupling: Coupling, total: int
) -> tuple[Callable[[int, int], float], Callable[[int, int, int, int], float]]:
    """Functions for the terms of the variance, averaged over the distances.

    ``own(p, n)``: the term of part p with n frequencies; ``common(p, q, n, m)``: that of the pairs
    between part p with n and part q with m frequencies.
    """
    single = [float(v) for v in model.part_variance.mean(axis=1)]
    signed = model.masses * model.signs
    dim = model.coupled_dim

    @cache
    def mean(p: int, q: int, cosine: CosineLaw) -> float:
        return float(signed[p] * signed[q] * model.covariance(p, q, cosine)[0].mean())

    @cache
    def own(p: int, n: int) -> float:
        pairs = pairs_within(coupling, n, dim, total)
        return single[p] / n + sum(x.count * mean(p, p, x.cosine) for x in pairs) / n**2

    @cache
    def common(p: int, q: int, n: int, m: int) -> float:
        if p > q:
            return common(q, p, m, n)
        pairs = pairs_across(coupling, n, m, dim, total)
        return 2.0 * sum(x.count * mean(p, q, x.cosine) for x in pairs) / (n * m)

    return own, common


@dataclass(frozen=True, repr=False)
class CouplingScore:
    """A coupling with its split over the parts.

    ``variance``: mean predicted variance over the distances, to about two percent.
    """

    coupling: str
    counts: tuple[int, ...]
    variance: float

    def __repr__(self) -> str:
        counts = " + ".join(map(str, self.counts))
        error = f"root mean square error {max(self.variance, 0.0) ** 0.5:.3g}"
        return f"CouplingScore: {self.coupling}, {counts} frequencies, {error}"


def auto_couplings(parts: int, n: int) -> tuple[str, ...]:
    """The couplings that "auto" compares for n frequencies of ``parts`` parts."""
    if n == 1:
        return ("iid",)
    return tuple(
        name
        for name, coupling in COUPLINGS.items()
        if coupling.in_auto and (parts > 1 or not coupling.across_parts)
    )


def ranked_couplings(
    model: VarianceModel, n: int, couplings: Sequence[str], radii: Radii, allocation: Allocation
) -> tuple[CouplingScore, ...]:
    """Scores of couplings with their splits, by increasing variance.

    A coupling is left out if it is not worthwhile for any part: designed directions need a part of
    more than d frequencies, and a small d.

    ``model``: the variance at distances of the data; ``n``: number of frequencies, at least one for
    each part; ``couplings``: names; ``radii``, ``allocation``: as in :func:`rf.draw_frequencies`
    and :func:`allocate`.
    """
    model, dim, scores = model.approximation, model.coupled_dim, []
    for name in dict.fromkeys(couplings):
        if name in COUPLINGS and not COUPLINGS[name].is_worthwhile(n, dim):
            continue
        counts = split(model, n, allocation=allocation, coupling=name)
        if any(COUPLINGS[name].is_worthwhile(m, dim) for m in counts):
            value = model.mean_variance(counts, coupling=name, radii=radii)
            scores.append(CouplingScore(name, counts, value))
    return tuple(sorted(scores, key=lambda score: score.variance))
