"""The function ``design``: a finite measure for a tolerance or for a number of columns."""

from __future__ import annotations

from numpy.typing import ArrayLike

from spectra.base.numbers import checked_dim
from spectra.designs.designed_measure import Coupling, Design, Objective
from spectra.designs.distances import checked_distances
from spectra.designs.least_mass import design_within
from spectra.designs.shared_directions import design_for_columns
from spectra.errors import ParameterError
from spectra.kernels.catalogue import Family, as_kernel
from spectra.kernels.kernel import Kernel

__all__ = ["design"]


def design(
    kernel: Kernel | Family | str,
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

    With ``tol``, the result is the measure of least variance or mass whose error is at most ``tol``
    on the whole domain.  With ``n_components``, it is the measure of least mean squared error (bias
    and variance together) for that number of feature columns.

    Recent designs are cached.  :func:`spectra.designs.design_for_columns` has further options.

    Parameters
    ----------
    kernel : Kernel, Family or str
        Any radial or zonal kernel; its spectral density is not needed.
    dim : int
        Dimension d >= 1.
    domain : (float, float)
        Range (z_min, z_max) of the distances.
    tol : float
        Largest error on the domain.  Give this or ``n_components``.
    n_components : int
        Number of feature columns, two for each frequency.
    objective : {"variance", "mass"}
        With ``tol``, minimise :math:`\sum_j |c_j| \sigma_j` or :math:`\sum_j |c_j|` for the masses
        c_j; sigma_j^2 is the variance of a sphere of mass 1, averaged over the distances.
    coupling : {"orthogonal", "shared", "iid"}
        Orthonormal blocks of directions for each radius, the same blocks for all radii (only with
        ``n_components``), or independent directions.  The default is "shared" with
        ``n_components``, where it is best, and "orthogonal" with ``tol``.
    distances : array_like, optional
        A sample of the distances between rows; by default they are uniform in z, or in the angle
        for a zonal kernel.

    Returns
    -------
    Design

    Raises
    ------
    AccuracyError
        If no measure is within ``tol``.
    DataError
        If distances lie outside the domain.
    ParameterError
        If not exactly one of ``tol`` and ``n_components`` is given, an option is not valid, or
        ``objective="variance"`` is used with ``tol`` in dimension 1, where the variance is 0.

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
    kernel, dim = as_kernel(kernel, "design"), checked_dim(dim)
    domain_and_nodes = checked_distances(kernel, domain, distances)
    if tol is not None and n_components is None:
        _check_option("coupling", coupling, (None, "orthogonal", "iid"), "tol")
        _check_option("objective", objective, ("mass", "variance"), "tol")
        coupling = coupling or "orthogonal"
        return design_within(
            kernel, dim, *domain_and_nodes, tol=tol, objective=objective, coupling=coupling
        )
    if n_components is not None and tol is None:
        _check_option("coupling", coupling, (None, "shared", "orthogonal", "iid"), "n_components")
        # The variance is minimised together with the bias.
        _check_option("objective", objective, ("variance",), "n_components")
        return design_for_columns(
            kernel, dim, *domain_and_nodes, n_components=n_components, coupling=coupling or "shared"
        )
    raise ParameterError(
        f"tol = {tol} and n_components = {n_components}: a design needs one of the two."
    )


def _check_option(name: str, value: object, allowed: tuple[object, ...], goal: str) -> None:
    if value not in allowed:
        values = ", ".join(map(repr, allowed))
        raise ParameterError(f"{name} = {value!r}: with {goal} it must be one of {values}.")
