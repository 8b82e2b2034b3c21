r"""Covariance functions for other libraries: values, power spectrum, and derivatives of both.

Other libraries differentiate in the length scales :math:`\ell_j`.  By the chain rule the gradient
of a kernel matrix needs dk/ds, with :math:`s = \sum_j (x_j - y_j)^2 / \ell_j^2`, and that of the
power spectral density :math:`S(w) = (2\pi)^d \mu_d(w)` needs its derivative in w.  Here
:math:`\mu_d` is the spectral density of k on R^d, and

.. math:: \frac{d\mu_d}{dw}(w) = -2 \pi w\, \mu_{d+2}(w)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray, checked_dim, real_array
from spectra.density import SpectralDensity, spectral_density
from spectra.derivation import definite_bounds, derive
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels import Kernel, TabulatedKernel, radial
from spectra.kernels.catalogue import Family, as_kernel
from spectra.measure import SpectralMeasure, tabulate
from spectra.table import SpectralTable
from spectra.verdict import existence

__all__ = ["RadialCovariance", "check_shape", "elementwise", "positive_table", "radial_kernel",
           "shape_bounds"]  # fmt: skip

# Bounds of a shape, unless the family has narrower ones.
_SHAPES = (0.05, 20.0)
_STEP = 1e-3  # of log w, for the derivative of a given spectrum


@lru_cache(maxsize=64)
def _profile_of(measure: SpectralMeasure) -> TabulatedKernel:
    density = measure.density or SpectralDensity(None, measure.dim, (), measure.atoms, "given")
    return TabulatedKernel(tabulate(measure), density)


def radial_kernel(kernel: Any, *, support: float | None = None) -> Kernel | TabulatedKernel:
    """The radial kernel of a Kernel, entry, name, formula (with its support) or measure."""
    if isinstance(kernel, SpectralMeasure):
        kernel = kernel.kernel or _profile_of(kernel)
    if isinstance(kernel, TabulatedKernel):
        return kernel
    if isinstance(kernel, str) and support is not None:
        kernel = radial(kernel, support=support)
    found = as_kernel(kernel, "a stationary covariance")
    if found.is_zonal:
        raise ParameterError(
            f"{found!r} is not a radial kernel: a stationary covariance is a function of the "
            "distance. Give radial(...), a formula in z, or a name in the catalogue."
        )
    return found


@lru_cache(maxsize=64)
def positive_table(kernel: Kernel | TabulatedKernel, dim: int) -> SpectralTable:
    """The table of a kernel; a ParameterError if its spectral measure has negative mass."""
    table: SpectralTable = derive(kernel, dim)
    negative = sum(part.mass for part in table.parts if part.sign < 0)
    if negative:
        raise ParameterError(
            f"{kernel} is no covariance in dimension {dim}: its spectral measure has the negative "
            f"mass {negative:.6g}, and other libraries would not notice. See "
            "spectra.existence(kernel, dim) for alternatives, or use a lower dimension."
        )
    return table


@dataclass(frozen=True)
class RadialCovariance:
    """Values and power spectrum of a radial kernel that is positive definite on R^dim.

    Examples
    --------
    >>> covariance = RadialCovariance.of("exp(-z**2/2)", 1)
    >>> covariance.power_spectrum([0.0, 1.0]).round(6)
    array([2.506628, 1.520347])
    """

    kernel: Kernel | TabulatedKernel
    dim: int

    @classmethod
    def of(cls, kernel: Any, dim: int) -> RadialCovariance:
        """Wrap a kernel; a ParameterError if it is not radial, or proved not positive definite."""
        return _check_definite(radial_kernel(kernel), checked_dim(dim))

    def values(self, s: ArrayLike) -> FloatArray:
        """k at the squared distances s."""
        return self.kernel(np.sqrt(real_array(s, "s")))

    def derivative(self, s: ArrayLike) -> FloatArray:
        """dk/ds at the squared distances s; 0 at s = 0, where s does not depend on the l_j."""
        s = real_array(s, "s")
        values = np.zeros_like(s)
        positive = s > 0.0
        values[positive] = 0.5 * self.kernel.slope(np.sqrt(s[positive]))
        return values

    def power_spectrum(self, w: ArrayLike) -> FloatArray:
        """The power spectral density (2 pi)^d mu(w) at |w|.

        Raises a ParameterError if the measure has atoms, and an AccuracyError if a value is more
        negative than its error.
        """
        w = _positive(w)
        density = self._density(self.dim)
        values = density.density(w)
        # At a double zero the value may be negative by rounding.
        below = w[values < 0.0]
        if below.size and np.any(-density.radial(below) > density.error(below)):
            raise AccuracyError(
                f"The spectral density of {self.kernel} in dimension {self.dim} was computed as "
                f"{values.min():.3g}, which is negative by more than its error."
            )
        return np.asarray((2.0 * np.pi) ** self.dim * np.maximum(values, 0.0))

    def power_spectrum_derivative(self, w: ArrayLike) -> FloatArray:
        """The derivative of the power spectrum: -w (2 pi)^(d + 1) mu_(d+2)(w)."""
        w = _positive(w)
        if isinstance(self.kernel, TabulatedKernel):  # by differences of fourth order in log w
            s = [self.power_spectrum(w * np.exp(h * _STEP)) for h in (-2, -1, 1, 2)]
            return np.asarray((s[0] - 8.0 * s[1] + 8.0 * s[2] - s[3]) / (12.0 * _STEP * w))
        density = self._density(self.dim + 2).density(w)
        return np.asarray(-w * (2.0 * np.pi) ** (self.dim + 1) * density)

    def _density(self, dim: int) -> SpectralDensity:
        kernel: Any = self.kernel
        given = isinstance(kernel, TabulatedKernel)
        density: SpectralDensity = kernel.density if given else spectral_density(kernel, dim)
        for radius in {atom.radius for atom in density.atoms}:
            # Atoms of summands may cancel, as those of 1 and -sqrt(z/(1 + z)) at 0.
            atoms = [atom for atom in density.atoms if atom.radius == radius]
            mass = sum(atom.mass for atom in atoms)
            if abs(mass) > sum(atom.error for atom in atoms):
                raise ParameterError(
                    f"The spectral measure of {self.kernel} in dimension {self.dim} is not a "
                    f"density: it has the mass {mass:.6g} on the sphere of radius {radius:.6g}. "
                    "It can be sampled, but has no power spectral density."
                )
        return density


def check_shape(family: Family, shape: ArrayLike, dim: int) -> None:
    """Raise a ParameterError for a shape with which a family is not positive definite on R^dim."""
    values, bounds = family.with_shape(shape), definite_bounds(family, dim)
    for name in family.shape:
        low, high = bounds[name]
        if not low * (1 - 1e-9) <= values[name] <= high * (1 + 1e-9):
            raise ParameterError(
                f"{name} = {values[name]:.6g}, and {family} is positive definite on R^{dim} for "
                f"{low:g} <= {name} <= {high:g} only: give these as its bounds."
            )


def shape_bounds(family: Family, dim: int | None = None) -> FloatArray:
    """The bounds of the shape of a family: shape (parameters, 2), at most 0.05 to 20."""
    bounds = family.bounds() if dim is None else definite_bounds(family, dim)
    return np.clip(np.array([bounds[n] for n in family.shape]).reshape(-1, 2), *_SHAPES)


@lru_cache(maxsize=64)
def _check_definite(kernel: Kernel | TabulatedKernel, dim: int) -> RadialCovariance:
    if isinstance(kernel, TabulatedKernel):
        positive_table(kernel, dim)  # raises if it has negative parts
        return RadialCovariance(kernel, dim)
    definiteness = existence(kernel, dim).positive_definite
    if definiteness is not None and definiteness.answer is False:
        raise ParameterError(
            f"{kernel} is not positive definite on R^{dim}, so it is no covariance there. "
            f"{definiteness.reason} See spectra.existence(kernel, dim) for lower dimensions."
        )
    return RadialCovariance(kernel, dim)


def _positive(w: ArrayLike) -> FloatArray:
    w = real_array(w, "w")
    # Densities need w > 0; at 1e-60 they equal their limit at 0, and powers of w do not underflow.
    return np.where(w == 0.0, 1e-60, np.abs(w))


def elementwise(
    values: Callable[[FloatArray], FloatArray], derivative: Callable[[FloatArray], FloatArray]
) -> Callable[[Any], Any]:
    """Wrap an elementwise numpy function for JAX's ``jit``, ``vmap`` and first-order ``grad``.

    It is evaluated on the host in double precision; the result has the type of the argument.
    """
    import jax

    def on_host(function: Callable[[FloatArray], FloatArray], x: Any) -> Any:
        def evaluate(x: Any) -> Any:
            array = np.asarray(x)
            return np.asarray(function(array.astype(float)), dtype=array.dtype)

        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(evaluate, shape, x, vmap_method="expand_dims")

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def call(x: Any) -> Any:
        return on_host(values, x)

    @call.defjvp  # type: ignore[untyped-decorator]
    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (direction,) = primals, tangents
        return call(x), on_host(derivative, x) * direction

    return lambda x: call(jax.numpy.asarray(x, dtype=jax.numpy.result_type(x, float)))
