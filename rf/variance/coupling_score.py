r"""Which coupling, which split: the least predicted variance of what will really be drawn.

A plan is a coupling with a number of frequencies for each part.  Its score is the exact variance
of the estimate with the radii that will be drawn (:mod:`rf.variance.variance`,
:mod:`rf.variance.radii.strata`), averaged over the distances of the data: the expected squared
error of an entry of the kernel matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from rf.sampling.couplings import COUPLINGS
from rf.sampling.frequencies import Radii
from rf.variance.allocation import Allocation, allocate

if TYPE_CHECKING:
    from rf.variance.variance import VarianceModel

__all__ = ["Plan", "candidates", "ranked_plans"]


@final
@dataclass(frozen=True, repr=False)
class Plan:
    """A coupling, the frequencies of each part, and the predicted variance.

    Attributes
    ----------
    coupling : str
    counts : tuple of int
    variance : float
        Mean over the distances, to about two percent (:meth:`VarianceModel.rough_mean_variance`).
    """

    coupling: str
    counts: tuple[int, ...]
    variance: float

    def __repr__(self) -> str:
        counts = " + ".join(map(str, self.counts))
        error = max(self.variance, 0.0) ** 0.5
        return f"Plan: {self.coupling}, {counts} frequencies, root mean square error {error:.3g}"


def candidates(parts: int, n: int) -> tuple[str, ...]:
    """The couplings that "auto" compares for n frequencies of so many parts.

    They are those of the registry that are unbiased, of known variance, and ever win.

    Examples
    --------
    >>> "shared" in candidates(2, 64), "shared" in candidates(1, 64)
    (True, False)
    >>> candidates(1, 1)
    ('iid',)
    """
    if n == 1:
        return ("iid",)
    return tuple(
        name
        for name, coupling in COUPLINGS.items()
        if coupling.considered and (parts > 1 or not coupling.across_parts)
    )


def ranked_plans(
    model: VarianceModel,
    n: int,
    *,
    couplings: Sequence[str],
    radii: Radii,
    allocation: Allocation,
) -> tuple[Plan, ...]:
    """Plans of n frequencies, the one of least predicted variance first.

    Each coupling brings its split.  A plan is left out where the coupling says that no part gains
    by it, as "designed" directions do not where no part has more than d frequencies, or d is large.

    Parameters
    ----------
    model : rf.variance.variance.VarianceModel
        At the distances of the data.
    n : int
        Frequencies, at least one for each part.
    couplings : sequence of str
        Names of couplings; see :func:`candidates`.
    radii, allocation : str
        As in :func:`rf.sampling.frequencies.draw_frequencies` and
        :func:`rf.variance.allocation.allocate`.

    Raises
    ------
    ParameterError
        Where there are more parts than frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from rf.variance.variance import VarianceModel
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("sin(z)/z", 3).table
    >>> plans = ranked_plans(
    ...     VarianceModel(table, np.array([1.0])), 8, couplings=("iid", "orthogonal", "designed"),
    ...     radii="stratified", allocation="optimal",
    ... )
    >>> [plan.coupling for plan in plans]
    ['designed', 'orthogonal', 'iid']
    """
    dim = model.table.dim
    plans = []
    for name in dict.fromkeys(couplings):
        if name in COUPLINGS and not COUPLINGS[name].gains(n, dim):
            continue
        counts = allocate(model.table, n, allocation=allocation, coupling=name, distances=model)
        if any(COUPLINGS[name].gains(m, dim) for m in counts):
            score = model.rough_mean_variance(counts, coupling=name, radii=radii)
            plans.append(Plan(name, counts, score))
    return tuple(sorted(plans, key=lambda plan: plan.variance))
