r"""Which coupling, which split: the least predicted variance of what will really be drawn.

A plan is a coupling with a number of frequencies for each part.  Its score is the exact variance
of the estimate with the radii that will be drawn (:mod:`rf.variance`, :mod:`rf.strata`), averaged
over the distances of the data: the expected squared error of an entry of the kernel matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from rf.designed_directions import coupling_gains
from rf.frequencies import Allocation, Coupling, Radii, allocate

if TYPE_CHECKING:
    from rf.variance import VarianceModel

__all__ = ["Plan", "best_split", "candidates", "ranked_plans"]

# The unbiased couplings of known variance that ever win, first come first served on ties; the
# joint Haar matrix never does.
_WITHIN_PARTS: tuple[Coupling, ...] = ("orthogonal", "iid", "simplex")
_ACROSS_PARTS: tuple[Coupling, ...] = ("shared", "comonotone")


@final
@dataclass(frozen=True)
class Plan:
    """A coupling, the frequencies of each part, and the predicted variance.

    Attributes
    ----------
    coupling : str
    counts : tuple of int
    variance : float
        Mean over the distances, to about two percent (:meth:`VarianceModel.rough_mean_variance`).
    """

    coupling: Coupling
    counts: tuple[int, ...]
    variance: float


def candidates(parts: int, n: int) -> tuple[Coupling, ...]:
    """The couplings that "auto" compares for n frequencies of so many parts.

    Examples
    --------
    >>> candidates(1, 64)
    ('orthogonal', 'iid', 'simplex', 'designed')
    >>> candidates(1, 1)
    ('iid',)
    """
    if n == 1:
        return ("iid",)
    return (*_WITHIN_PARTS, *(_ACROSS_PARTS if parts > 1 else ()), "designed")


def ranked_plans(
    model: VarianceModel,
    n: int,
    *,
    couplings: Sequence[Coupling],
    radii: Radii,
    allocation: Allocation,
) -> tuple[Plan, ...]:
    """Plans of n frequencies, the one of least predicted variance first.

    Each coupling brings its split; "comonotone" parts compare that of "shared" ones too, since
    strata of unequal numbers keep less of what common radii give.  A "designed" plan is left out
    where no part has more than d frequencies, so that its blocks are those of "orthogonal", and
    where d is so large that directions which gain much take more than a third of a second.

    Parameters
    ----------
    model : rf.variance.VarianceModel
        At the distances of the data.
    n : int
        Frequencies, at least one for each part.
    couplings : sequence of str
        Couplings of known variance; see :func:`candidates`.
    radii, allocation : str
        As in :func:`rf.frequencies.draw_frequencies` and :func:`rf.frequencies.allocate`.

    Raises
    ------
    ParameterError
        Where there are more parts than frequencies, or a variance is not known ("qmc").

    Examples
    --------
    >>> import numpy as np
    >>> from rf.variance import VarianceModel
    >>> from spectra.table import Part, RadialLaw, SpectralTable
    >>> sphere = Part(1.0, 0.0, 0.0, RadialLaw.from_atoms([1.0], [1.0]))
    >>> table = SpectralTable(
    ...     dim=3, parts=(sphere,), formula="sin(z)/z", k_zero=1.0, u_error=0.0, provenance="exact"
    ... )
    >>> plans = ranked_plans(
    ...     VarianceModel(table, np.array([1.0])), 8, couplings=("iid", "orthogonal", "designed"),
    ...     radii="stratified", allocation="optimal",
    ... )
    >>> [plan.coupling for plan in plans]
    ['designed', 'orthogonal', 'iid']
    """
    splits = {
        coupling: allocate(
            model.table, n, allocation=allocation, coupling=coupling, distances=model
        )
        for coupling in couplings
    }
    wanted = [(coupling, splits[coupling]) for coupling in couplings]
    if "comonotone" in splits and allocation == "optimal":
        shared = splits.get("shared") or allocate(
            model.table, n, allocation=allocation, coupling="shared", distances=model
        )
        wanted.append(("comonotone", shared))
    plans = [
        Plan(coupling, counts, model.rough_mean_variance(counts, coupling=coupling, radii=radii))
        for coupling, counts in dict.fromkeys(wanted)
        if coupling != "designed" or any(coupling_gains(m, model.table.dim) for m in counts)
    ]
    return tuple(sorted(plans, key=lambda plan: plan.variance))


def best_split(
    model: VarianceModel, n: int, *, coupling: Coupling, radii: Radii
) -> tuple[int, ...]:
    """The split of n frequencies of least predicted variance, for the radii that are drawn.

    Independent radii and layers agree on it (:func:`rf.frequencies.allocate`), but for comonotone
    parts: strata of unequal numbers lose part of what common radii give, so that the split of
    "shared" parts can be the better one.

    Examples
    --------
    >>> import numpy as np
    >>> from rf.variance import VarianceModel
    >>> from spectra.table import Part, RadialLaw, SpectralTable
    >>> parts = [Part(m, p, 0.0, RadialLaw.from_atoms([r], [1.0])) for m, p, r in
    ...          ((3.0, 0.0, 1.0), (1.0, np.pi, 2.0))]
    >>> table = SpectralTable(
    ...     dim=3, parts=tuple(parts), formula="", k_zero=2.0, u_error=0.0, provenance="exact"
    ... )
    >>> model = VarianceModel(table, np.array([1.0]))
    >>> sum(best_split(model, 8, coupling="comonotone", radii="stratified"))
    8
    """
    if coupling == "comonotone" and radii != "iid":
        plans = ranked_plans(model, n, couplings=(coupling,), radii=radii, allocation="optimal")
        return plans[0].counts
    return allocate(model.table, n, allocation="optimal", coupling=coupling, distances=model)
