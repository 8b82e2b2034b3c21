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

__all__ = ["Plan", "best_split", "candidates", "ranked_plans"]


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

    Each coupling brings its split, and those of the couplings that it names (``splits``).  A plan
    is left out where the coupling says that no part gains by it, as "designed" directions do not
    where no part has more than d frequencies, or d is large.

    Parameters
    ----------
    model : rf.variance.variance.VarianceModel
        At the distances of the data.
    n : int
        Frequencies, at least one for each part.
    couplings : sequence of str
        Couplings of known variance; see :func:`candidates`.
    radii, allocation : str
        As in :func:`rf.sampling.frequencies.draw_frequencies` and
        :func:`rf.variance.allocation.allocate`.

    Raises
    ------
    ParameterError
        Where there are more parts than frequencies, or a variance is not known ("qmc").

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
    plans = [
        Plan(name, counts, model.rough_mean_variance(counts, coupling=name, radii=radii))
        for name, counts in _splits(model, n, couplings, allocation)
        if any(COUPLINGS[name].gains(m, model.table.dim) for m in counts)
    ]
    return tuple(sorted(plans, key=lambda plan: plan.variance))


def _splits(
    model: VarianceModel, n: int, couplings: Sequence[str], allocation: Allocation
) -> dict[tuple[str, tuple[int, ...]], None]:
    """Each coupling with every split that may serve it, in order and once."""
    known: dict[str, tuple[int, ...]] = {}
    wanted: dict[tuple[str, tuple[int, ...]], None] = {}
    for name in couplings:
        if name in COUPLINGS and not COUPLINGS[name].gains(n, model.table.dim):
            continue
        served = COUPLINGS[name].splits if name in COUPLINGS else ()
        # Without distances to weigh a split is the same for all couplings.
        for other in served[: None if allocation == "optimal" else 1] or (name,):
            if other not in known:
                known[other] = allocate(
                    model.table, n, allocation=allocation, coupling=other, distances=model
                )
            wanted[name, known[other]] = None
    return wanted


def best_split(model: VarianceModel, n: int, *, coupling: str, radii: Radii) -> tuple[int, ...]:
    """The split of n frequencies of least predicted variance, for the radii that are drawn.

    Independent radii and layers agree on it (:func:`rf.variance.allocation.allocate`), but where a
    coupling names several splits, as "comonotone" does.

    Examples
    --------
    >>> import numpy as np
    >>> from rf.variance.variance import VarianceModel
    >>> from rf.inputs.tables import resolve_spectrum
    >>> table = resolve_spectrum("exp(-z**2) - exp(-z**2/4)", 3).table
    >>> model = VarianceModel(table, np.array([1.0]))
    >>> sum(best_split(model, 8, coupling="comonotone", radii="stratified"))
    8
    """
    if len(COUPLINGS[coupling].splits) > 1 and radii != "iid":
        plans = ranked_plans(model, n, couplings=(coupling,), radii=radii, allocation="optimal")
        return plans[0].counts
    return allocate(model.table, n, allocation="optimal", coupling=coupling, distances=model)
