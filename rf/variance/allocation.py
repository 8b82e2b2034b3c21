"""Split frequencies over the parts of a table, and compare couplings with their best splits.

The score of a coupling is the exact variance of the estimate with the radii that will be drawn
(:mod:`rf.variance.variance`), averaged over the distances of the data: the expected squared error
of an entry of the kernel matrix.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from rf.sampling.coupling import CosineLaw, Coupling, Pairs, Radii, pairs_across, pairs_within
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, Allocation, choice
from rf.variance.variance import PartModel, VarianceModel
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from spectra.table import SpectralTable

__all__ = [
    "ALLOCATIONS",
    "Allocation",
    "CouplingScore",
    "allocate",
    "apportion",
    "candidates",
    "least_split",
    "ranked_couplings",
    "split",
]

# The optimal split is searched exactly up to this number of frequencies, and scaled up beyond: it
# wastes at most one part in this number, and the variance is flat at its least.
_EXACT_SPLIT = 256

# A split must be better than another by this part of the whole, so that rounding cannot make the
# search go round.
_MARGIN = 1e-12


def apportion(weights: ArrayLike, n: int) -> tuple[int, ...]:
    """Whole numbers n_p >= 1 that sum to n and make sum(weights_p^2 / n_p) least.

    The rule of equal proportions: each next one goes where w^2 / (n_p (n_p + 1)) is greatest.
    With weights = mass times standard deviation it is Neyman's allocation in whole numbers.

    T. Wright, "The equivalence of Neyman optimum allocation for sampling and equal proportions
    for apportioning the U.S. House of Representatives", The American Statistician 66 (2012).
    """
    sizes = np.asarray(weights, dtype=float)
    if not np.all(sizes >= 0) or not np.all(np.isfinite(sizes)):
        raise ParameterError(f"Weights must be finite and not negative, and they are {sizes}.")
    if n < len(sizes):
        raise ParameterError(
            f"{n} frequencies cannot serve {len(sizes)} parts, each of which needs one. Ask for "
            f"n_components >= {2 * len(sizes)} (two columns for each frequency)."
        )
    counts = [1] * len(sizes)
    queue = [(-size * size / 2.0, p) for p, size in enumerate(sizes.tolist())]
    heapq.heapify(queue)
    for _ in range(n - len(sizes)):
        _, p = queue[0]
        counts[p] += 1
        priority = sizes[p] ** 2 / (counts[p] * (counts[p] + 1.0))
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

    ``n``: number of frequencies, half the number of columns; ``allocation``: "equal" (the papers);
    "mass" (in proportion to the masses); "optimal" (least mean exact variance of the coupling over
    ``distances``, with independent radii, whose best split is good for strata as well; found for up
    to 256 frequencies and scaled up beyond); ``coupling``: as in :func:`draw_frequencies`; read by
    "optimal" alone; ``distances``: distances |x - y| of the data, or the model at them, which
    remembers what it has integrated; needed by "optimal" alone.
    """
    n = int(n)
    masses = [p.root_mean_square(table.dim)[0] for p in table.parts]
    known: dict[str, list[float]] = dict(
        zip(ALLOCATIONS, ([1.0] * len(masses), masses, masses), strict=True)
    )
    counts = apportion(choice(known, allocation, "allocation"), n)
    if allocation != "optimal" or len(masses) == 1:
        return counts
    if distances is None:
        raise ParameterError(
            "allocation='optimal' weighs the variances at the distances of the data, and none were "
            "given. Pass distances=..., or take allocation='mass'."
        )
    model = distances
    if not isinstance(model, VarianceModel):
        model = VarianceModel(table, np.asarray(model, dtype=float))
    split_of = choice(COUPLINGS, coupling, "coupling").split_of
    few = min(n, max(_EXACT_SPLIT, len(masses)))
    counts = least_split(model, few, COUPLINGS[split_of or coupling])
    return counts if few == n else apportion(counts, n)


def split(
    model: PartModel, n: int, *, allocation: Allocation, coupling: str = "iid"
) -> tuple[int, ...]:
    """Split n frequencies over the parts of a model, at least one for each.

    As :func:`allocate` for a table of radial laws.  For others "optimal" is Neyman's allocation,
    the best one for independent frequencies.
    """
    if isinstance(model, VarianceModel):
        options: Any = {"coupling": coupling, "distances": model}
        return allocate(model.table, n, allocation=allocation, **options)
    if allocation == "equal":
        sizes = np.ones(model.masses.size)
    elif allocation == "mass":
        sizes = model.masses
    else:
        # A variance that is zero up to rounding can come out below it.
        sizes = np.sqrt(np.maximum(np.mean(model.part_variance, axis=1), 0.0))
    return apportion(np.where(model.varying, sizes, 0.0), n)


def least_split(model: VarianceModel, n: int, coupling: Coupling) -> tuple[int, ...]:
    """Split n frequencies so that the mean variance with independent radii is least.

    Pairs of parts are split anew, by trying every split, until no pair changes.  With two parts
    that is the exact optimum; independent directions give Neyman's rule n_p ~ mass times deviation.
    """
    parts = len(model.table.parts)
    if n < parts:
        raise ParameterError(
            f"{n} frequencies cannot serve {parts} parts: each needs at least one."
        )
    terms = _Terms(model.approximation, coupling, n)
    counts = [n // parts + (1 if p < n % parts else 0) for p in range(parts)]
    changed = parts > 1
    while changed:
        changed = False
        for p in range(parts):
            for q in range(p + 1, parts):
                both = counts[p] + counts[q]
                values = terms.of_splits(counts, p, q)
                split, best = counts[p], values[counts[p] - 1]
                for trial, value in enumerate(values, start=1):
                    if value < best - _MARGIN * terms.scale:
                        best, split = value, trial
                if split != counts[p]:
                    counts[p], counts[q] = split, both - split
                    changed = parts > 2  # a single pair has no other that it disturbs
    return tuple(counts)


class _Terms:
    """The terms of the mean variance over the distances, each a function of one or two numbers."""

    def __init__(self, model: VarianceModel, coupling: Coupling, n: int) -> None:
        self._model = model
        self._coupling = coupling
        self._n = n
        self._single = [float(v) for v in model.part_variance.mean(axis=1)]
        self._signed = [float(m * s) for m, s in zip(model.masses, model.signs, strict=True)]
        self.scale = sum(self._single) / n
        self._means: dict[tuple[int, int, CosineLaw], float] = {}
        self._known: dict[tuple[int, int, int, int], float] = {}

    def of_splits(self, counts: Sequence[int], p: int, q: int) -> list[float]:
        """All terms that the numbers of the parts p < q appear in, for each split of their sum."""
        both = counts[p] + counts[q]
        splits = [(n, both - n) for n in range(1, both)]
        totals = [self._own(p, n) + self._own(q, m) for n, m in splits]
        if not self._coupling.across_parts:
            return totals
        others = [r for r in range(len(counts)) if r not in (p, q)]
        return [
            total
            + self._common(p, q, n, m)
            + sum(self._common(p, r, n, counts[r]) for r in others)
            + sum(self._common(q, r, m, counts[r]) for r in others)
            for total, (n, m) in zip(totals, splits, strict=True)
        ]

    def _own(self, p: int, n: int) -> float:
        key = (p, p, n, n)
        if key not in self._known:
            pairs = pairs_within(self._coupling, n, self._model.table.dim, self._n)
            self._known[key] = self._single[p] / n + self._sum(p, p, pairs) / n**2
        return self._known[key]

    def _common(self, p: int, q: int, n: int, m: int) -> float:
        if p > q:
            p, q, n, m = q, p, m, n
        key = (p, q, n, m)
        if key not in self._known:
            pairs = pairs_across(self._coupling, n, m, self._model.table.dim, self._n)
            self._known[key] = 2.0 * self._sum(p, q, pairs) / (n * m)
        return self._known[key]

    def _sum(self, p: int, q: int, pairs: Sequence[Pairs]) -> float:
        total = 0.0
        for pair in pairs:
            key = (p, q, pair.cosine)
            if key not in self._means:
                value, _ = self._model.covariance(p, q, pair.cosine)
                self._means[key] = float(value.mean())
            total += pair.count * self._means[key]
        return self._signed[p] * self._signed[q] * total


@final
@dataclass(frozen=True, repr=False)
class CouplingScore:
    """A coupling, the frequencies of each part, and the predicted variance.

    ``variance``: mean over the distances, to about two percent.
    """

    coupling: str
    counts: tuple[int, ...]
    variance: float

    def __repr__(self) -> str:
        counts = " + ".join(map(str, self.counts))
        error = f"root mean square error {max(self.variance, 0.0) ** 0.5:.3g}"
        return f"CouplingScore: {self.coupling}, {counts} frequencies, {error}"


def candidates(parts: int, n: int) -> tuple[str, ...]:
    """The couplings that "auto" compares for n frequencies of a number of parts."""
    if n == 1:
        return ("iid",)
    return tuple(
        name
        for name, coupling in COUPLINGS.items()
        if coupling.considered and (parts > 1 or not coupling.across_parts)
    )


def ranked_couplings(
    model: PartModel, n: int, couplings: Sequence[str], radii: Radii, allocation: Allocation
) -> tuple[CouplingScore, ...]:
    """Couplings of n frequencies with their splits, the one of least predicted variance first.

    A coupling is left out if no part gains by it: designed directions need a part of more than d
    frequencies, and a small d.

    ``model``: at the distances of the data; ``n``: frequencies, at least one for each part;
    ``couplings``: names of couplings; see :func:`candidates`; ``radii``, ``allocation``: as in
    :func:`rf.sampling.frequencies.draw_frequencies` and :func:`rf.variance.allocation.allocate`.
    """
    model, width, scores = model.approximation, model.width, []
    for name in dict.fromkeys(couplings):
        if name in COUPLINGS and not COUPLINGS[name].gains(n, width):
            continue
        counts = split(model, n, allocation=allocation, coupling=name)
        if any(COUPLINGS[name].gains(m, width) for m in counts):
            value = model.mean_variance(counts, coupling=name, radii=radii)
            scores.append(CouplingScore(name, counts, value))
    return tuple(sorted(scores, key=lambda score: score.variance))
