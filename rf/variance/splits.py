"""How n frequencies are split over the parts: the split of least mean variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rf.sampling.couplings.coupling import Coupling, Pairs, pairs_across, pairs_within
from spectra.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rf.sampling.cosines import CosineLaw
    from rf.variance.variance import VarianceModel

__all__ = ["least_split"]

# A split must be better than another by this part of the whole, so that rounding cannot make the
# search go round.
_MARGIN = 1e-12


def least_split(model: VarianceModel, n: int, coupling: Coupling) -> tuple[int, ...]:
    """Split n frequencies so that the mean variance with independent radii is least.

    Pairs of parts are split anew, by trying every split, until no pair changes.  With two parts
    that is the exact optimum; independent directions give Neyman's rule n_p ~ mass times deviation.

    Raises
    ------
    ParameterError
        Where there are more parts than frequencies.
    """
    parts = len(model.table.parts)
    if n < parts:
        raise ParameterError(
            f"{n} frequencies cannot serve {parts} parts: each needs at least one."
        )
    terms = _Terms(model, coupling, n)
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
        self._single = [float(v) for v in model.rough_part_variance.mean(axis=1)]
        self._signed = [float(m * s) for m, s in zip(model.masses, model.signs, strict=True)]
        self.scale = sum(self._single) / n
        self._means: dict[tuple[int, int, CosineLaw, bool], float] = {}
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
            key = (p, q, pair.cosine, pair.one_key)
            if key not in self._means:
                value, _ = self._model.covariance(
                    p, q, pair.cosine, one_key=pair.one_key, rough=True
                )
                self._means[key] = float(value.mean())
            total += pair.count * self._means[key]
        return self._signed[p] * self._signed[q] * total
