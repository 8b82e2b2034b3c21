"""The routes from a kernel to its spectral density, and the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import overload

import numpy as np
import sympy
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray
from spectra.base.limits import stage, staged
from spectra.base.numbers import checked_dim, real_array
from spectra.density.closed_pairs import ClosedPair
from spectra.density.components import SpectralDensity, require_moderate_scale
from spectra.density.gamma_series import series
from spectra.density.kernel_check import describe_mismatch
from spectra.density.lookup import lookup, lookup_formula
from spectra.density.numeric import numeric
from spectra.density.periodic import periodic
from spectra.density.symbolic import checked_formula, symbolic
from spectra.errors import AccuracyError, DataError, NoRouteError, ParameterError
from spectra.kernels.catalogue.families import Family
from spectra.kernels.catalogue.reading import family, free_names, kernel_from_text
from spectra.kernels.composite import CompositeKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.metrics import L1
from spectra.kernels.profile_terms import l1_components, no_l1_route, no_truncated_route
from spectra.singularities.zeros import with_exact_ends

__all__ = ["AUTO", "LARGEST_DIMENSION", "ROUTES", "family_density", "spectral_density"]

Route = Callable[[Kernel, int], SpectralDensity | None]


def _symbolic(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """A formula for the density that "auto" finds."""
    return symbolic(_find_density(kernel, dim, "auto"))


#: The routes by name.  A route returns None for kernels that it does not cover, and raises a
#: NoRouteError if it can say why there is no density.
ROUTES: Mapping[str, Route] = {
    "lookup": lookup,
    "periodic": periodic,
    "series": series,
    "numeric": numeric,
    "symbolic": _symbolic,
}
#: The routes that "auto" tries, in order.  The symbolic route adds only a formula to the numbers of
#: the others, and takes seconds.
AUTO = tuple(name for name in ROUTES if name != "symbolic")

# Densities kept: those of one kernel in several dimensions are needed again by later steps.
_KEPT_DENSITIES = 8
# Random values of the parameters of a family at which its formula is compared with numbers.
_CHECKED_PARAMETERS = 3
#: Constants such as 2^(d/2) are exact integers, which are too long to print beyond this dimension.
LARGEST_DIMENSION = 20_000


@overload
def spectral_density(kernel: CompositeKernel, dim: int) -> Callable[[ArrayLike], FloatArray]: ...


@overload
def spectral_density(kernel: Kernel | str, dim: int, *, route: str = "auto") -> SpectralDensity: ...


@staged(
    "finding a spectral density",
    advice="try another route (the option route), or make a finite measure for the distances of "
    "your data (design)",
)
def spectral_density(
    kernel: Kernel | CompositeKernel | str, dim: int, *, route: str = "auto"
) -> SpectralDensity | Callable[[ArrayLike], FloatArray]:
    r"""Spectral density of a kernel on R^dim, by the first route that covers the kernel.

    .. math:: \mu(w) = (2\pi)^{-d/2} w^{1-d/2} \int_0^\infty k(z) z^{d/2} J_{d/2-1}(wz)\,dz

    The density may have either sign.  ``existence`` decides whether its mass is finite.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel in z = |x - y|, or its text; a zonal kernel is taken as 0 beyond z = 2.  For an
        CompositeKernel, the result is a function of frequencies of shape (..., d), with d >= 2.
    dim : int
        Dimension d >= 1 of the inputs.
    route : str
        A name in :data:`ROUTES`, or "auto" for those of :data:`AUTO` in turn.

    Returns
    -------
    SpectralDensity
        Its attribute ``route`` names the route that found it.  Errors are at most 1e-12 of the
        largest w |rho(w)|, with two exceptions, whose own errors ``error(w)`` states: sums that
        nearly cancel, such as exp(-z) - exp(-1.000001 z), and callables, which have rounded values.
        For text with free symbols and the route "symbolic", the result is the formula of
        :meth:`spectra.family(text).density`.

    Raises
    ------
    ParameterError
        If ``dim`` is not an integer of at least 1, or the route is unknown.
    NoRouteError
        If no route covers the kernel, or its transform is known not to be a measure.
    AccuracyError
        If the density does not reproduce the kernel: densities of kernels without a closed form on
        the half-line are checked by averages of both sides of k(z) = int Omega_d(wz) rho(w) dw over
        Gaussians of many widths.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> density = spectral_density(radial("exp(-z**2/2)"), 2)
    >>> density.expr
    exp(-w**2/2)/(2*pi)
    >>> density.radial([1.0])                  # w exp(-w^2/2)
    array([0.60653066])
    """
    dim = checked_dim(dim)
    if dim > LARGEST_DIMENSION:
        raise ParameterError(
            f"The dimension is {dim:.4g}; densities are known up to d = {LARGEST_DIMENSION}. "
            "Reduce the number of columns of the data first."
        )
    if isinstance(kernel, CompositeKernel):
        if kernel.metric != L1:
            raise ParameterError(
                f"{kernel} is a function of x - y, not of |x - y|_1: take the kernel of each group "
                "or term. derive(kernel, dim) tabulates its measure."
            )
        return _l1_density(kernel.profile, dim)
    if isinstance(kernel, str):
        if route == "symbolic" and free_names(kernel):
            return family(kernel).density(dim)
        kernel = kernel_from_text(kernel)
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"The spectral density of a kernel is needed, and {kernel!r} is a "
            f"{type(kernel).__name__}. Make a kernel with radial(...), zonal(...) or "
            "catalogue[name]; a family of the catalogue becomes a kernel when it is called with "
            "its parameters. An asymmetric kernel has a complex measure, which "
            "derive(kernel, dim) tabulates."
        )
    if route != "auto" and route not in ROUTES:
        raise ParameterError(
            f"There is no transform route named {route!r}. Known are 'auto', "
            f"{', '.join(map(repr, ROUTES))}."
        )
    # A kept density may be that of an equal kernel with another name.
    kernel, _ = with_exact_ends(kernel)
    return replace(_find_density(kernel, dim, route), kernel=kernel)


@lru_cache(maxsize=_KEPT_DENSITIES)
def _find_density(kernel: Kernel, dim: int, route: str) -> SpectralDensity:
    """The density by the first route that covers the kernel, compared with the kernel."""
    names = AUTO if route == "auto" else (route,)
    for name in names:
        with stage(f"density by the route {name}, d = {dim}"):
            density = ROUTES[name](kernel, dim)
        if density is None:
            continue
        # Closed pairs are tested; the values of a symbolic density are checked ones of "auto".
        is_closed = name == "lookup" and all(isinstance(c, ClosedPair) for c in density.components)
        if is_closed or name == "symbolic":
            require_moderate_scale(density.components, density.atoms)
            return density
        with stage(f"checking the density of the route {name} against the kernel"):
            mismatch = describe_mismatch(density)
        if not mismatch:
            return density
        raise AccuracyError(
            f"The density of {kernel} on R^{dim} by the route {name} does not give back the kernel "
            f"({mismatch}). Please report the kernel and the dimension. Try another route (the "
            "option route) or another form of the formula, or make a finite measure for the "
            "distances in your data with design(...)."
        )
    raise NoRouteError(
        f"No route covers {kernel} in dimension {dim} (tried: {', '.join(names)}). You can:",
        in_python='try another route ("auto", "symbolic"); give its values as a callable '
        "(docs/callables.md); or make a finite measure for the distances in your data with "
        "design(...).",
        at_shell="try another --route (auto, symbolic), or make a finite measure for the "
        "distances in your data with 'spectra design'.",
    )


@lru_cache(maxsize=64)
def family_density(family: Family, dim: int) -> sympy.Expr:
    """The formula mu(w) on R^dim of a family, compared with numbers at random parameters."""
    if family.profile is None:
        raise NoRouteError(f"{family} has no formula in z and its parameters. Fix some of them.")
    rng, references = np.random.default_rng(0), []
    for _ in range(_CHECKED_PARAMETERS):
        exact = {n: sympy.Rational(f"{v:.3g}") for n, v in family.random_values(rng).items()}
        density = spectral_density(family(**exact), dim)
        references.append(({family.symbols[n]: v for n, v in exact.items()}, density))
    expr, support = family.profile
    with stage(f"formula of the density of a family, d = {dim}"):
        known = lookup_formula(expr, support, dim)
        return checked_formula(expr, support, known, references, str(family))


def _l1_density(profile: Kernel, dim: int) -> Callable[[ArrayLike], FloatArray]:
    """The density of a sum of exponentials of the l1 distance, without atoms of constants."""
    if dim < 2:
        raise ParameterError(
            "The density of the l1 distance needs at least two columns. In one column use the "
            "radial kernel l1(...).profile."
        )
    if (components := l1_components(profile)) is None:
        raise NoRouteError(no_l1_route(profile))
    if components[0]:
        raise NoRouteError(no_truncated_route(profile))
    pairs = tuple((float(c), float(rate)) for c, rate in components[1] if rate > 0)
    return partial(_product_density, dim, pairs)


def _product_density(dim: int, pairs: tuple[tuple[float, float], ...], w: ArrayLike) -> FloatArray:
    """The density of sum c exp(-rate |x|_1) at frequencies of shape (..., dim)."""
    points = real_array(w, "The frequencies", error=DataError)
    if points.shape[-1:] != (dim,) or not np.all(np.isfinite(points)):
        raise DataError(f"Give finite frequencies of shape (..., {dim}).")
    value = np.zeros(points.shape[:-1])
    for c, rate in pairs:
        value += c * np.prod(1.0 / (np.pi * rate * (1.0 + (points / rate) ** 2)), axis=-1)
    return value
