r"""Asymmetric kernels: sums of radial kernels that are shifted or tilted.

A shift D -> k(D + r) multiplies the spectral measure of k by the phase :math:`e^{i w \cdot r}`, so
the measure stays finite and becomes complex.  A tilt D -> k(D) exp(beta.D) moves the measure into
the complex plane; for a Gaussian it is a shift again, with a factor:

.. math:: e^{-|D|^2/2\sigma^2} e^{\beta \cdot D}
          = e^{\sigma^2 |\beta|^2 / 2}\, e^{-|D - \sigma^2 \beta|^2 / 2 \sigma^2}.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray, check_differences, real_array
from spectra.errors import DataError, NoRouteError, ParameterError
from spectra.formula.pieces import exponential_terms
from spectra.formula.reader.parsing import Z
from spectra.kernels.algebra import Algebra, Radial, finite_factor, refuse_zonal

__all__ = ["AsymmetricKernel", "gaussian_components", "moved"]

Vector = tuple[float, ...]
#: The summand D -> kernel(|D + offset|) * exp(tilt.D); a vector of one number stands for as many
#: coordinates as there are.
Summand = tuple[Radial, Vector, Vector]

# Factors beyond the square root of the largest double overflow in the variance.
_LARGEST_LOG = 350.0


@final
@dataclass(frozen=True, repr=False)
class AsymmetricKernel(Algebra):
    r"""A kernel K(D), D = x - y, with K(D) other than K(-D): a sum of shifted and tilted kernels.

    Made by :meth:`spectra.Kernel.shift` and :meth:`spectra.Kernel.tilt`.  It adds and subtracts
    others of its kind and radial kernels (on its right), and multiplies with numbers.

    Attributes
    ----------
    terms : tuple of (kernel, offset, tilt)
        The summands D -> kernel(|D + offset|) * exp(tilt.D), one for each offset and tilt.

    Examples
    --------
    >>> from spectra import radial
    >>> k = radial("exp(-z**2/2)")
    >>> asymmetric = k.tilt([0.5, 0.0]) - 0.25 * k.shift([0.0, 1.0])
    >>> asymmetric([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).round(6)
    array([0.848367, 0.90803 , 0.27591 ])
    """

    terms: tuple[Summand, ...]

    def __post_init__(self) -> None:
        if len(self._sizes) > 1:
            raise ParameterError(
                f"The shifts and tilts of a kernel have {sorted(self._sizes)} coordinates. They "
                "must have as many as the data, or be single numbers that stand for every "
                "coordinate."
            )

    @property
    def _sizes(self) -> set[int]:
        """The lengths of the vectors that are not single numbers."""
        return {len(v) for _, *vectors in self.terms for v in vectors} - {1}

    @property
    def formula(self) -> str:
        """The kernel as text in D = x - y."""
        return " + ".join(map(_summand_text, self.terms)) or "0"

    @property
    def dim(self) -> int | None:
        """The dimension that the shifts and tilts fix; None if all of them are numbers."""
        return max(self._sizes, default=None)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values K(D) at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "An asymmetric kernel")
        value = np.zeros(D.shape[:-1])
        for kernel, offset, tilt in self._summands(D.shape[-1]):
            distance = np.linalg.norm(D + offset, axis=-1)
            value += kernel(distance) * np.exp(D @ tilt)
        return value

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        value = np.zeros((len(X), len(Y)))
        for kernel, offset, tilt in self._summands(X.shape[1]):
            part = kernel(cdist(X + offset, Y))
            if np.any(tilt):
                part *= np.exp((X @ tilt)[:, None] - (Y @ tilt)[None, :])
            value += part
        return value

    def in_dimension(self, dim: int) -> dict[Radial, list[tuple[float, FloatArray]]]:
        """Radial kernels k, each with the (c, r) of the summands c k(D + r) in R^dim.

        Tilted Gaussians are shifted ones; a NoRouteError if another kernel is tilted.
        """
        found: dict[Radial, list[tuple[float, FloatArray]]] = {}
        for kernel, offset, tilt in self._summands(dim):
            if not np.any(tilt):
                factor, bare = kernel.without_factor()
                found.setdefault(bare, []).append((factor, offset))
                continue
            gaussians = gaussian_components(kernel)
            if gaussians is None:
                raise NoRouteError(
                    f"The kernel {kernel} is not a sum of Gaussians c exp(-a z**2), and only for "
                    "these the measure of exp(tilt.D) k(D) is known. Tilt Gaussians, or use "
                    "shift, which is defined for every kernel of finite mass."
                )
            for coefficient, rate in gaussians:
                variance = float(1 / (2 * rate))
                log_factor = 0.5 * variance * float(tilt @ tilt)
                if log_factor > _LARGEST_LOG:
                    raise ParameterError(
                        f"The tilt of {kernel} multiplies its measure by exp({log_factor:.6g}), "
                        "and no features are of use with such a mass. Tilt by less, or measure "
                        "distances in a larger unit."
                    )
                piece = replace(kernel.pieces[0], expr=sympy.exp(-rate * Z**2))
                gaussian = replace(kernel, pieces=(piece,), label="")
                total = float(coefficient) * float(np.exp(log_factor))
                found.setdefault(gaussian, []).append((total, -variance * tilt))
        return found

    def checked(self, dim: int) -> int:
        """The number of columns of the data; a DataError if the vectors have another."""
        if self.dim not in (None, dim):
            raise DataError(
                f"The shifts and tilts of the kernel {self} have {self.dim} coordinates, and it "
                f"was asked in {dim}. Give them as many, or a single number for every coordinate."
            )
        return dim

    def _summands(self, dim: int) -> list[tuple[Radial, FloatArray, FloatArray]]:
        """The terms with their vectors in R^dim."""
        zero = np.zeros(self.checked(dim))
        return [(kernel, zero + offset, zero + tilt) for kernel, offset, tilt in self.terms]

    def __add__(self, other: Any) -> AsymmetricKernel:
        if isinstance(other, AsymmetricKernel):
            return _collect((*self.terms, *other.terms))
        if hasattr(other, "pieces"):
            return _collect((*self.terms, (other, (0.0,), (0.0,))))
        return NotImplemented

    def __mul__(self, factor: Any) -> AsymmetricKernel:
        if (number := finite_factor(factor)) is None:
            return NotImplemented
        return _collect((kernel * number, *vectors) for kernel, *vectors in self.terms)


def moved(
    kernel: Radial, *, offset: float | ArrayLike = 0.0, tilt: float | ArrayLike = 0.0
) -> AsymmetricKernel:
    """A shifted or a tilted kernel; see :meth:`spectra.Kernel.shift` and ``tilt``."""
    refuse_zonal(kernel, "a shift or a tilt")
    return _collect([(kernel, _vector(offset, "offset"), _vector(tilt, "tilt"))])


def gaussian_components(kernel: Radial) -> tuple[tuple[sympy.Expr, sympy.Expr], ...] | None:
    """The pairs (c, a) of a kernel sum c exp(-a z^2), a > 0; None if it is none."""
    if len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    found = exponential_terms(kernel.pieces[0].expr, 2)
    if found is None or any(rate == 0 for _, rate in found):
        return None
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _collect(terms: Iterable[Summand]) -> AsymmetricKernel:
    """Add the kernels of one offset and tilt, and leave out those that cancel."""
    kernels: dict[tuple[Vector, Vector], Radial] = {}
    for kernel, offset, tilt in terms:
        key = offset, tilt
        kernels[key] = kernels[key] + kernel if key in kernels else kernel
    return AsymmetricKernel(tuple((k, *key) for key, k in kernels.items() if k.pieces))


def _vector(value: float | ArrayLike, name: str) -> Vector:
    array = np.atleast_1d(real_array(value, f"The {name} of a kernel"))
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ParameterError(
            f"The {name} of a kernel is a vector of d finite numbers, or one for all of them; got "
            f"{value!r:.60}."
        )
    # Adding 0 turns -0 into 0, so that equal kernels are equal objects.
    return tuple((array + 0.0).tolist())


def _summand_text(term: Summand) -> str:
    kernel, offset, tilt = term
    shown = f" + {_vector_text(offset)}" if any(offset) else ""
    factor = f"*exp({_vector_text(tilt)}.D)" if any(tilt) else ""
    return f"k[{kernel}](D{shown}){factor}"


def _vector_text(vector: Vector) -> str:
    if len(set(vector)) == 1:
        return f"{vector[0]:.6g}"
    shown = ", ".join(f"{v:.6g}" for v in vector[:4])
    return f"({shown}{', ...' if len(vector) > 4 else ''})"
