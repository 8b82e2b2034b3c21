r"""The one door to designs: a measure within a tolerance, or the best one for a number of columns.

Recent designs are kept in memory, by everything that decides them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from spectra.designs.allocation import design_for_separate
from spectra.designs.budget import BudgetDesign, design_for_budget
from spectra.designs.least import ADVICE, Coupling, Design, Objective, design_within
from spectra.errors import ParameterError
from spectra.progress import stage

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["design"]

# Designs kept in memory; each is a few kilobytes.
_MOST_KEPT = 64

_kept: OrderedDict[Any, Design | BudgetDesign] = OrderedDict()


@overload
def design(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tol: float,
    objective: Objective = ...,
    coupling: Coupling = ...,
    budget: None = ...,
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = ...,
    max_mass: float | None = ...,
    max_radius: float | None = ...,
) -> Design: ...


@overload
def design(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tol: None = ...,
    objective: Literal["variance"] = ...,
    coupling: Coupling = ...,
    budget: int,
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = ...,
    max_mass: float | None = ...,
    max_radius: float | None = ...,
) -> BudgetDesign: ...


def design(
    kernel: Kernel,
    dim: int,
    *,
    domain: tuple[float, float],
    tol: float | None = None,
    objective: Objective = "variance",
    coupling: Coupling = "orthogonal",
    budget: int | None = None,
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    max_mass: float | None = None,
    max_radius: float | None = None,
) -> Design | BudgetDesign:
    r"""Make a signed measure to order: right on a range of distances, and cheapest among those.

    With ``tol``, the cheapest measure whose plane waves are within it of the kernel on the whole
    domain.  With ``budget``, the measure and the split of a number of feature columns that make
    the mean squared error, bias and variance together, least.

    Parameters
    ----------
    kernel : Kernel
        Any kernel that has values on the domain; no transform of it is needed.
    dim : int
        Dimension d >= 1.
    domain : (float, float)
        Range (z_min, z_max) of the distances on which the measure must be right.
    tol : float
        Largest error allowed there; this or ``budget``.
    objective : {"variance", "mass"}
        Least :math:`\sum_j |c_j| \sigma_j`, with the exact standard deviations of the coupling over
        the distances, or least :math:`\sum_j |c_j|`.
    coupling : {"orthogonal", "shared", "iid"}
        Directions: in orthonormal blocks for each radius, the same blocks for all radii (then
        the sum bounds the standard deviation :math:`\sqrt{c'Qc}` from above), or independent.
    budget : int
        Number of columns, two for each frequency.
    distances : array_like, or (counts, edges) as of numpy.histogram, optional
        The distances that occur; by default uniform in z, or in the angle for a zonal kernel.
    max_mass : float, optional
        Largest total mass, for a tolerance.  The default keeps the rounding of float32 features
        below ``tol``, but allows a hundred times the kernel's largest value.
    max_radius : float, optional
        Largest radius, for a tolerance; by default 100 (sqrt(d) + 5) / z_max.

    Returns
    -------
    Design, or BudgetDesign for a budget

    Raises
    ------
    AccuracyError
        Where no measure within these bounds is within ``tol``, with what is possible.
    DataError
        Where distances lie outside the domain.
    ParameterError
        Where a bound or a name makes no sense, both or none of ``tol`` and ``budget`` are given,
        or the variance is asked for in dimension 1, where every direction is +-1 and nothing
        varies.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k = radial("(1 - z**2/4)**2")
    >>> d = design(k, 16, domain=(0, 2), tol=1e-3, objective="mass")
    >>> round(d.mass, 2), d.gap < 0.01, d.sup_error.mid + d.sup_error.rad <= 1e-3
    (7.77, True, True)
    >>> d = design(k, 16, domain=(0, 2), budget=481, coupling="shared")
    >>> d.columns <= 481, d.expected_error < 0.03
    (True, True)
    """
    if (tol is None) == (budget is None):
        raise ParameterError(
            f"tol = {tol} and budget = {budget}: a design is made for a tolerance or for a number "
            "of columns. Give one of the two."
        )
    wanted = (kernel, dim, tuple(map(float, domain)), tol, objective, coupling, budget)
    key = (*wanted, _fingerprint(distances), max_mass, max_radius)
    if key not in _kept:
        with stage(f"designing a measure, d = {dim}", of=kernel, advice=ADVICE):
            if tol is not None:
                made: Design | BudgetDesign = design_within(
                    kernel,
                    dim,
                    domain=domain,
                    tol=tol,
                    objective=objective,
                    coupling=coupling,
                    distances=distances,
                    max_mass=max_mass,
                    max_radius=max_radius,
                )
            else:
                assert budget is not None
                bounds = (max_mass, max_radius)
                made = _for_budget(
                    kernel, dim, domain, budget, objective, coupling, distances, *bounds
                )
        _kept[key] = made
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]


def _for_budget(
    kernel: Kernel,
    dim: int,
    domain: tuple[float, float],
    budget: int,
    objective: str,
    coupling: Coupling,
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
    max_mass: float | None,
    max_radius: float | None,
) -> BudgetDesign:
    if objective != "variance":
        raise ParameterError(
            f"objective = {objective!r} with a budget: a number of columns decides the variance, "
            "which is what is minimised together with the bias. Leave objective out."
        )
    if coupling != "shared":
        return design_for_separate(
            kernel,
            dim,
            budget=budget,
            domain=domain,
            coupling=coupling,
            distances=distances,
            max_mass=max_mass,
            max_radius=max_radius,
        )
    if max_mass is not None or max_radius is not None:
        raise ParameterError(
            "max_mass and max_radius bound the linear programmes of a tolerance and of separate "
            "directions; with shared ones the rounding of float32 bounds the masses. Leave them "
            "out."
        )
    return design_for_budget(kernel, dim, budget=budget, domain=domain, distances=distances)


def _fingerprint(distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None) -> Any:
    if distances is None:
        return None
    parts = distances if isinstance(distances, tuple) else (distances,)
    return tuple(np.asarray(part, dtype=float).tobytes() for part in parts)
