r"""Compare couplings, each with its best split over the parts, by their predicted variance.

The score is the exact variance of the estimate with the radii that will be drawn
(:mod:`rf.variance.variance`, :mod:`rf.variance.radii.strata`), averaged over the distances of the
data: the expected squared error of an entry of the kernel matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from rf.sampling.couplings import COUPLINGS
from rf.sampling.frequencies import Radii
from rf.variance.allocation import Allocation, split

if TYPE_CHECKING:
    from rf.variance.variance import PartModel

__all__ = ["CouplingScore", "candidates", "ranked_couplings"]


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
    model: PartModel, n: int, *, couplings: Sequence[str], radii: Radii, allocation: Allocation
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
