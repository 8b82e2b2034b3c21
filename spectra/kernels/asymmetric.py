r"""Asymmetric kernels: sums of radial kernels that are shifted or tilted.

A shift D -> k(D + r) multiplies the spectral measure of k by the phase :math:`e^{i w \cdot r}`, so
the measure stays finite and becomes complex.  A tilt D -> k(D) exp(beta.D) moves the frequencies
into the complex plane.  A tilted Gaussian is a multiple of a shifted Gaussian:

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
from spectra.kernels.base_kernel import BaseKernel, RadialKernel, finite_number, refuse_zonal

__all__ = ["AsymmetricKernel", "gaussian_components", "shift_and_tilt"]

Vector = tuple[float, ...]
#: (k, r, beta) for k(|D + r|) exp(beta.D).  A vector of length 1 applies to every coordinate.
Term = tuple[RadialKernel, Vector, Vector]

# Largest log c: a tilt multiplies the measure of a Gaussian by c, and variances by c^2 < inf.
_LARGEST_LOG_FACTOR = 350.0


@final
@dataclass(frozen=True, repr=False)
class AsymmetricKernel(BaseKernel):
    r"""A sum of shifted and tilted radial kernels: a function K of D = x - y with K(D) != K(-D).

    Made by :meth:`spectra.Kernel.shift` and :meth:`spectra.Kernel.tilt`.  Asymmetric and radial
    kernels can be added to it and subtracted from it, and numbers multiply it.

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

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if len(self._vector_lengths) > 1:
            raise ParameterError(
                f"The shifts and tilts have {sorted(self._vector_lengths)} coordinates. "
                "Give one number for every column of the data, or a single number for all."
            )

    @property
    def _vector_lengths(self) -> set[int]:
        """The lengths of the offsets and tilts that are not single numbers."""
        return {len(v) for _, *vectors in self.terms for v in vectors} - {1}

    @property
    def formula(self) -> str:
        """The kernel as text in D = x - y."""
        return " + ".join(map(_term_text, self.terms)) or "0"

    @property
    def dim(self) -> int | None:
        """The number of coordinates of the shifts and tilts; None if all are single numbers."""
        return max(self._vector_lengths, default=None)

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values K(D) at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = check_differences(differences, "An asymmetric kernel")
        value = np.zeros(D.shape[:-1])
        for kernel, offset, tilt in self._terms_in(D.shape[-1]):
            distance = np.linalg.norm(D + offset, axis=-1)
            value += kernel(distance) * np.exp(D @ tilt)
        return value

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        total = np.zeros((len(X), len(Y)))
        for kernel, offset, tilt in self._terms_in(X.shape[1]):
            value = kernel(cdist(X + offset, Y))
            if np.any(tilt):
                value *= np.exp((X @ tilt)[:, None] - (Y @ tilt)[None, :])
            total += value
        return total

    def as_shifted_kernels(self, dim: int) -> dict[RadialKernel, list[tuple[float, FloatArray]]]:
        """Write the kernel on R^dim as a sum of c k(D + r): the pairs (c, r) of each radial k.

        Tilted Gaussians become shifted ones; a NoRouteError if another kernel is tilted.
        """
        shifts: dict[RadialKernel, list[tuple[float, FloatArray]]] = {}
        for kernel, offset, tilt in self._terms_in(dim):
            if not np.any(tilt):
                constant, rest = kernel.split_constant()
                shifts.setdefault(rest, []).append((constant, offset))
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
                if log_factor > _LARGEST_LOG_FACTOR:
                    raise ParameterError(
                        f"The tilt of {kernel} multiplies its measure by exp({log_factor:.6g}), "
                        "too much for features. Use a smaller tilt or a shorter length."
                    )
                piece = replace(kernel.pieces[0], expr=sympy.exp(-rate * Z**2))
                gaussian = replace(kernel, pieces=(piece,), label="")
                factor = float(coefficient) * float(np.exp(log_factor))
                shifts.setdefault(gaussian, []).append((factor, -variance * tilt))
        return shifts

    def check_dim(self, dim: int) -> int:
        """Return ``dim``, the number of columns of the data; a DataError if it does not fit."""
        if self.dim not in (None, dim):
            raise DataError(
                f"The shifts and tilts of the kernel {self} have {self.dim} coordinates, and the "
                f"data have {dim} columns. Give a number for each column, or one for all of them."
            )
        return dim

    def _terms_in(self, dim: int) -> list[tuple[RadialKernel, FloatArray, FloatArray]]:
        """The terms with their vectors in R^dim."""
        zero = np.zeros(self.check_dim(dim))
        return [(kernel, zero + offset, zero + tilt) for kernel, offset, tilt in self.terms]

    def __add__(self, other: Any) -> AsymmetricKernel:
        if isinstance(other, AsymmetricKernel):
            return _add_terms((*self.terms, *other.terms))
        if hasattr(other, "pieces"):  # a radial kernel
            return _add_terms((*self.terms, (other, (0.0,), (0.0,))))
        return NotImplemented

    def __mul__(self, factor: Any) -> AsymmetricKernel:
        if (number := finite_number(factor)) is None:
            return NotImplemented
        return _add_terms((kernel * number, *vectors) for kernel, *vectors in self.terms)


def shift_and_tilt(
    kernel: RadialKernel, *, offset: float | ArrayLike = 0.0, tilt: float | ArrayLike = 0.0
) -> AsymmetricKernel:
    """The kernel k(D + offset) exp(tilt.D); see :meth:`spectra.Kernel.shift` and ``tilt``."""
    refuse_zonal(kernel, "a shift or a tilt")
    return _add_terms([(kernel, _vector(offset, "offset"), _vector(tilt, "tilt"))])


def gaussian_components(kernel: RadialKernel) -> tuple[tuple[sympy.Expr, sympy.Expr], ...] | None:
    """The pairs (c, a) of a kernel sum c exp(-a z^2), a > 0; None if it is not such a sum."""
    if len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    pairs = exponential_terms(kernel.pieces[0].expr, 2)
    if pairs is None or any(rate == 0 for _, rate in pairs):
        return None
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def _add_terms(terms: Iterable[Term]) -> AsymmetricKernel:
    """The sum of the terms: kernels of equal offset and tilt are added, and zeros left out."""
    kernels: dict[tuple[Vector, Vector], RadialKernel] = {}
    for kernel, offset, tilt in terms:
        key = offset, tilt
        kernels[key] = kernels[key] + kernel if key in kernels else kernel
    return AsymmetricKernel(tuple((k, *key) for key, k in kernels.items() if k.pieces))


def _vector(value: float | ArrayLike, name: str) -> Vector:
    array = np.atleast_1d(real_array(value, f"The {name} of a kernel"))
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ParameterError(
            f"The {name} of a kernel is a vector of d finite numbers, or one number for all d "
            f"coordinates; got {value!r:.60}."
        )
    # Adding 0 turns -0 into 0, so that equal kernels compare equal and print alike.
    return tuple((array + 0.0).tolist())


def _term_text(term: Term) -> str:
    kernel, offset, tilt = term
    shift = f" + {_vector_text(offset)}" if any(offset) else ""
    factor = f"*exp({_vector_text(tilt)}.D)" if any(tilt) else ""
    return f"k[{kernel}](D{shift}){factor}"


def _vector_text(vector: Vector) -> str:
    if len(set(vector)) == 1:
        return f"{vector[0]:.6g}"
    first = ", ".join(f"{v:.6g}" for v in vector[:4])
    return f"({first}{', ...' if len(vector) > 4 else ''})"
