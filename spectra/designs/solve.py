r"""The one door to designs: a measure within a tolerance, or the best one for a number of columns.

Recent designs are kept in memory, by everything that decides them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.limits import stage
from spectra.base.numbers import checked_dim, positive_number
from spectra.designs.designed_measure import Coupling, Design
from spectra.designs.distances import Distances
from spectra.designs.methods.closed_tail import design_with_tail
from spectra.designs.methods.least_mass import ADVICE, design_within
from spectra.designs.methods.linear_programme import Objective
from spectra.designs.methods.separate_directions import design_for_separate
from spectra.designs.methods.shared_directions import AngularMeans, design_for_shared
from spectra.errors import ParameterError
from spectra.kernels.catalogue import Family, kernel_named
from spectra.kernels.kernel import Kernel

__all__ = ["design"]

# Designs kept in memory; each is a few kilobytes.
_MOST_KEPT = 64


def design(
    kernel: Kernel | Family | str,
    dim: int,
    domain: tuple[float, float],
    *,
    tol: float | None = None,
    n_components: int | None = None,
    objective: Objective = "variance",
    coupling: Coupling | None = None,
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    max_mass: float | None = None,
    max_radius: float | None = None,
    tail: Kernel | Literal["laplace"] | None = None,
    exact_degree: int = 0,
    most_radii: int = 3,
    positive: bool = False,
    angular_means: AngularMeans | None = None,
) -> Design:
    r"""Make a signed measure to order: right on a range of distances, and cheapest among those.

    With ``tol``, the cheapest measure whose plane waves are within it of the kernel on the whole
    domain.  With ``n_components``, the measure and the split of a number of feature columns that
    make the mean squared error, bias and variance together, least.

    Parameters
    ----------
    kernel : Kernel, Family or str
        Any kernel that has values on the domain; no transform of it is needed.
    dim : int
        Dimension d >= 1.
    domain : (float, float)
        Range (z_min, z_max) of the distances on which the measure must be right.
    tol : float
        Largest error allowed there; this or ``n_components``.
    n_components : int
        Number of columns, two for each frequency.
    objective : {"variance", "mass"}
        For a tolerance: least :math:`\sum_j |c_j| \sigma_j`, with the exact standard deviations of
        the coupling over the distances, or least :math:`\sum_j |c_j|`.
    coupling : {"orthogonal", "shared", "iid"}
        Directions: in orthonormal blocks for each radius, the same blocks for all radii (then
        the sum bounds the standard deviation :math:`\sqrt{c'Qc}` from above), or independent.  By
        default "shared" for a number of columns, which is best, and "orthogonal" for a tolerance.
    distances : array_like, or (counts, edges) as of numpy.histogram, optional
        The distances that occur; by default uniform in z, or in the angle for a zonal kernel.
    max_mass : float, optional
        Largest total mass, for a tolerance and for separate directions.  The default keeps the
        rounding of float32 features below ``tol``, but allows a hundred times the kernel's largest
        value.
    max_radius : float, optional
        Largest radius, for the same; by default 100 (sqrt(d) + 5) / z_max.
    tail : Kernel or "laplace", optional
        For a tolerance: a fixed part, of a kernel with one sign and known measure, for a kink at
        z = 0; "laplace" takes :math:`-s\ell\,e^{-z/\ell}` with the slope s of the kernel at 0 and
        the length of least total mass of three.
    exact_degree : int
        For shared directions: degree up to which powers of u are served exactly: of <x, y> for a
        zonal kernel, at the price of C(d + L, L) columns, and else of 1 - 2 (z/z_max)^2, for
        C(d + 1 + L, L).
    most_radii : int
        For shared directions: most positive radii, at most 4.
    positive : bool
        For shared directions: whether every mass must be positive, so that features need no
        signature.
    angular_means : callable, optional
        For shared directions: n -> S_0, S_2, S_4, ... of the set of n directions to be used; by
        default that of orthonormal blocks.  Degrees beyond those given count as for independent
        directions.

    Returns
    -------
    Design

    Raises
    ------
    AccuracyError
        Where no measure within these bounds is within ``tol``, with what is possible.
    DataError
        Where distances lie outside the domain.
    ParameterError
        Where a bound or a name makes no sense, both or none of ``tol`` and ``n_components`` are
        given, an option belongs to the other, or the variance is asked for in dimension 1, where
        every direction is +-1 and nothing varies.

    Examples
    --------
    >>> k = "(1 - z**2/4)**2"
    >>> d = design(k, 16, (0, 2), tol=1e-3, objective="mass")
    >>> round(d.mass, 2), d.gap < 0.01, d.sup_error.mid + d.sup_error.rad <= 1e-3
    (7.77, True, True)
    >>> d = design(k, 16, (0, 2), n_components=481)
    >>> d.columns <= 481, d.expected_error < 0.03
    (True, True)
    """
    kernel, dim = kernel_named(kernel, "design"), checked_dim(dim)
    if (tol is None) == (n_components is None):
        raise ParameterError(
            f"tol = {tol} and n_components = {n_components}: a design is made for a tolerance or "
            "for a number of columns. Give one of the two."
        )
    if tol is not None:
        tol = positive_number(tol, "tol", why=", an error allowed")
    if max_mass is not None:
        max_mass = positive_number(max_mass, "max_mass")
    if max_radius is not None:
        max_radius = positive_number(max_radius, "max_radius")
    for name, value in (("objective", objective), ("coupling", coupling)):
        if not isinstance(value, str | None):
            raise ParameterError(f"{name} = {value!r}: give a name.")
    if coupling is None:
        coupling = "orthogonal" if n_components is None else "shared"
    bounds: dict[str, Any] = {"max_mass": max_mass, "max_radius": max_radius}
    shared: dict[str, Any] = {
        "exact_degree": exact_degree,
        "most_radii": most_radii,
        "positive": positive,
        "angular_means": angular_means,
    }
    _refuse_idle(n_components, coupling, objective, tail, bounds, shared)
    served = Distances.of(kernel, domain, distances)
    way: Callable[..., Design]
    if n_components is None:
        asked = {**bounds, "tol": tol, "objective": objective, "coupling": coupling}
        way = design_within
        if tail is not None:
            way, asked["tail"] = design_with_tail, tail
    elif coupling == "shared":
        way, asked = design_for_shared, {**shared, "n_components": n_components}
    else:
        way = design_for_separate
        asked = {**bounds, "n_components": n_components, "coupling": coupling}
    sample = served.nodes.tobytes(), served.weights.tobytes()
    return _made(way, kernel, dim, served.domain, *sample, **asked)


@lru_cache(maxsize=_MOST_KEPT)
def _made(
    way: Callable[..., Design],
    kernel: Kernel,
    dim: int,
    domain: tuple[float, float],
    nodes: bytes,
    weights: bytes,
    **asked: Any,
) -> Design:
    served = Distances(domain, np.frombuffer(nodes), np.frombuffer(weights))
    with stage(f"designing a measure, d = {dim}", of=kernel, advice=ADVICE):
        return way(kernel, dim, served, **asked)


def _refuse_idle(
    n_components: int | None,
    coupling: str,
    objective: str,
    tail: Kernel | str | None,
    bounds: dict[str, Any],
    shared: dict[str, Any],
) -> None:
    """Refuse options that what was asked for does not read, rather than ignore them."""
    if n_components is not None and (objective != "variance" or tail is not None):
        raise ParameterError(
            f"objective = {objective!r} and tail = {tail!s} with a number of columns: it decides "
            "the variance, which is made least together with the bias, and all columns go to "
            "waves. Leave both out, or ask for a tol."
        )
    on_one_set = n_components is not None and coupling == "shared"
    if on_one_set and any(bound is not None for bound in bounds.values()):
        raise ParameterError(
            "max_mass and max_radius bound the linear programmes of a tolerance and of separate "
            "directions; with shared ones the rounding of float32 bounds the masses. Leave them "
            "out."
        )
    idle = {"exact_degree": 0, "most_radii": 3, "positive": False, "angular_means": None}
    given = [name for name, value in shared.items() if value != idle[name]]
    if given and not on_one_set:
        raise ParameterError(
            f"{', '.join(given)} is for a number of columns on shared directions: give "
            "n_components and coupling='shared', or leave it out."
        )
