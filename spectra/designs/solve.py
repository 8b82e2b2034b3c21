"""Design a finite measure for a range of distances: within a tolerance, or for so many columns."""

from __future__ import annotations

from numpy.typing import ArrayLike

from spectra.base.numbers import checked_dim
from spectra.designs.designed_measure import Coupling, Design, Objective
from spectra.designs.distances import checked_distances
from spectra.designs.least_mass import design_within
from spectra.designs.shared_directions import design_for_columns
from spectra.errors import ParameterError
from spectra.kernels.catalogue import Entry, kernel_named
from spectra.kernels.kernel import Kernel

__all__ = ["design"]


def design(
    kernel: Kernel | Entry | str,
    dim: int,
    domain: tuple[float, float],
    *,
    tol: float | None = None,
    n_components: int | None = None,
    objective: Objective = "variance",
    coupling: Coupling | None = None,
    distances: ArrayLike | None = None,
) -> Design:
    r"""Design a signed measure whose plane waves approximate a kernel on a range of distances.

    With ``tol``, the measure of least variance or mass whose error is at most ``tol`` on the whole
    domain.  With ``n_components``, the measure of least mean squared error, bias and variance
    together, for so many feature columns.

    Recent designs are kept in memory.  :func:`spectra.designs.design_for_columns` has further
    options.

    Parameters
    ----------
    kernel : Kernel, Entry or str
        Any kernel that has values on the domain; its spectral density is not needed.
    dim : int
        Dimension d >= 1.
    domain : (float, float)
        Range (z_min, z_max) of the distances.
    tol : float
        Largest error on the domain.  Give this or ``n_components``.
    n_components : int
        Number of columns, two for each frequency.
    objective : {"variance", "mass"}
        For a tolerance: minimise :math:`\sum_j |c_j| \sigma_j`, with the exact standard deviations
        of the coupling over the distances, or :math:`\sum_j |c_j|`.
    coupling : {"orthogonal", "shared", "iid"}
        Directions: in orthonormal blocks for each radius, the same blocks for all radii (for a
        number of columns only), or independent.  The default is "shared" for a number of columns,
        which is best, and "orthogonal" for a tolerance.
    distances : array_like, optional
        The distances that occur; by default uniform in z, or in the angle for a zonal kernel.

    Returns
    -------
    Design

    Raises
    ------
    AccuracyError
        If no measure is within ``tol``; the message says what is possible.
    DataError
        If distances lie outside the domain.
    ParameterError
        If both or none of ``tol`` and ``n_components`` are given, an option is not
        valid, or the variance is asked for in dimension 1, in which there is none.

    Examples
    --------
    >>> k = "(1 - z**2/4)**2"
    >>> d = design(k, 16, (0, 2), tol=1e-3, objective="mass")
    >>> round(d.mass, 2), d.gap < 0.01, d.sup_error.mid + d.sup_error.rad <= 1e-3
    (7.79, True, True)
    >>> d = design(k, 16, (0, 2), n_components=481)
    >>> d.columns <= 481, d.expected_error < 0.03
    (True, True)
    """
    kernel, dim = kernel_named(kernel, "design"), checked_dim(dim)
    nodes = checked_distances(kernel, domain, distances)
    if tol is not None and n_components is None:
        _check_option("coupling", coupling, (None, "orthogonal", "iid"), "tol")
        _check_option("objective", objective, ("mass", "variance"), "tol")
        by: Coupling = coupling or "orthogonal"
        return design_within(kernel, dim, *nodes, tol=tol, objective=objective, coupling=by)
    if n_components is not None and tol is None:
        _check_option("coupling", coupling, (None, "shared", "orthogonal", "iid"), "n_components")
        # The variance is minimised together with the bias.
        _check_option("objective", objective, ("variance",), "n_components")
        by = coupling or "shared"
        return design_for_columns(kernel, dim, *nodes, n_components=n_components, coupling=by)
    raise ParameterError(
        f"tol = {tol} and n_components = {n_components}: a design is made for a tolerance or for a "
        "number of columns. Give one of the two."
    )


def _check_option(name: str, value: object, known: tuple[object, ...], goal: str) -> None:
    if value not in known:
        raise ParameterError(
            f"{name} = {value!r}: a design for {goal} takes one of {', '.join(map(repr, known))}."
        )
