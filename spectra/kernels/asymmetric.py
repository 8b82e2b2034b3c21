r"""Asymmetric kernels: radial kernels that are shifted or tilted, and their sums.

A shift D -> k(D + r) multiplies the spectral measure of k by the phase :math:`e^{i w \cdot r}`, so
the measure stays finite and becomes complex.  A tilt D -> k(D) exp(beta.D) moves the measure into
the complex plane; for a Gaussian it is a shift again, with a factor:

.. math:: e^{-|D|^2/2\sigma^2} e^{\beta \cdot D}
          = e^{\sigma^2 |\beta|^2 / 2}\, e^{-|D - \sigma^2 \beta|^2 / 2 \sigma^2}.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import sympy
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from spectra.base.numbers import FloatArray, differences_of_rows, real_array
from spectra.errors import DataError, NoRouteError, ParameterError
from spectra.formula.pieces import exponential_terms
from spectra.formula.reader.parsing import Z
from spectra.kernels.algebra import Algebra
from spectra.kernels.radial_kernel import RadialKernel

__all__ = [
    "AsymmetricKernel",
    "Term",
    "finite_number",
    "gaussian_components",
    "is_number",
    "shifted",
    "tilted",
    "without_factor",
]

# Factors beyond the square root of the largest double overflow in the variance.
_LARGEST_LOG = 350.0
Vector = float | ArrayLike


@final
@dataclass(frozen=True)
class Term:
    """One summand D -> weight * kernel(|D + offset|) * exp(tilt.D).

    ``offset`` and ``tilt`` are tuples of d numbers; a single number stands for every coordinate.
    """

    weight: float
    kernel: RadialKernel
    offset: tuple[float, ...]
    tilt: tuple[float, ...]


@final
@dataclass(frozen=True, repr=False)
class AsymmetricKernel(Algebra):
    r"""A kernel K(D), D = x - y, with K(D) other than K(-D): a sum of shifted and tilted kernels.

    Made by :meth:`spectra.Kernel.shift` and :meth:`spectra.Kernel.tilt`; adds, subtracts and
    multiplies with numbers, adds radial kernels (on its right), and is shifted and tilted in turn.

    Attributes
    ----------
    terms : tuple of Term
    label : str
        How to print it where it was named.

    Examples
    --------
    >>> from spectra import radial
    >>> k = radial("exp(-z**2/2)")
    >>> asymmetric = k.tilt([0.5, 0.0]) - 0.25 * k.shift([0.0, 1.0])
    >>> asymmetric([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).round(6)
    array([0.848367, 0.90803 , 0.27591 ])
    """

    terms: tuple[Term, ...]
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _check_coordinates(v for t in self.terms for v in (t.offset, t.tilt))

    @property
    def formula(self) -> str:
        """The kernel as text in D = x - y."""
        return " + ".join(_described(term) for term in self.terms) or "0"

    @property
    def dim(self) -> int | None:
        """The dimension that the shifts and tilts fix; None if all of them are numbers."""
        return max(
            (len(v) for t in self.terms for v in (t.offset, t.tilt) if len(v) > 1), default=None
        )

    def __call__(self, differences: ArrayLike) -> FloatArray:
        """Values K(D) at differences D = x - y, shape (..., d); an array of shape (...)."""
        D = differences_of_rows(differences, "An asymmetric kernel")
        dim = self._checked(D.shape[-1])
        value = np.zeros(D.shape[:-1])
        for term in self.terms:
            distance = np.linalg.norm(D + _vector(term.offset, dim), axis=-1)
            value += term.weight * term.kernel(distance) * np.exp(D @ _vector(term.tilt, dim))
        return value

    def _matrix(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        dim = self._checked(X.shape[1])
        value = np.zeros((len(X), len(Y)))
        for term in self.terms:
            tilt = _vector(term.tilt, dim)
            part = term.weight * term.kernel(cdist(X + _vector(term.offset, dim), Y))
            if np.any(tilt):
                part *= np.exp((X @ tilt)[:, None] - (Y @ tilt)[None, :])
            value += part
        return value

    def shift(self, offset: Vector) -> AsymmetricKernel:
        """The kernel D -> K(D + offset); see :meth:`spectra.Kernel.shift`."""
        step = _tuple(offset, "offset")
        return _collect(
            replace(
                term,
                weight=term.weight * _moved_factor(term.tilt, step),
                offset=_added(term.offset, step),
            )
            for term in self.terms
        )

    def tilt(self, beta: Vector) -> AsymmetricKernel:
        """The kernel D -> K(D) exp(beta.D); see :meth:`spectra.Kernel.tilt`."""
        added = _tuple(beta, "tilt")
        return _collect(replace(term, tilt=_added(term.tilt, added)) for term in self.terms)

    def in_dimension(self, dim: int) -> dict[RadialKernel, list[tuple[float, FloatArray]]]:
        """Radial kernels k, each with the (c, r) of the summands c k(D + r) in R^dim.

        Tilted Gaussians are shifted ones; a NoRouteError if another kernel is tilted.
        """
        self._checked(dim)
        found: dict[RadialKernel, list[tuple[float, FloatArray]]] = {}
        for term in self.terms:
            offset, tilt = _vector(term.offset, dim), _vector(term.tilt, dim)
            if not np.any(tilt):
                factor, kernel = without_factor(term.kernel)
                found.setdefault(kernel, []).append((term.weight * factor, offset))
                continue
            gaussians = gaussian_components(term.kernel)
            if gaussians is None:
                raise NoRouteError(
                    f"The kernel {term.kernel} is no sum of Gaussians c exp(-a z**2), and only "
                    "for these the measure of exp(tilt.D) k(D) is known. Tilt Gaussians, or use "
                    "shift, which is defined for every kernel of finite mass."
                )
            for weight, sigma, gaussian in _components(term.kernel, gaussians):
                log_factor = 0.5 * sigma**2 * float(tilt @ tilt) - float(tilt @ offset)
                if log_factor > _LARGEST_LOG:
                    raise ParameterError(
                        f"The tilt of {term.kernel} multiplies its measure by "
                        f"exp({log_factor:.6g}), and no features are of use with such a mass. Tilt "
                        "by less, or measure distances in a larger unit."
                    )
                total = term.weight * weight * float(np.exp(log_factor))
                found.setdefault(gaussian, []).append((total, offset - sigma**2 * tilt))
        return found

    def _checked(self, dim: int) -> int:
        if self.dim is not None and self.dim != dim:
            raise DataError(
                f"The shifts and tilts of the kernel {self} have {self.dim} coordinates, and the "
                f"data have {dim}. Give them as many, or a single number for every coordinate."
            )
        return dim

    def __add__(self, other: Any) -> AsymmetricKernel:
        if isinstance(other, AsymmetricKernel):
            return _collect((*self.terms, *other.terms))
        if hasattr(other, "pieces"):
            return _collect((*self.terms, Term(1.0, other, (0.0,), (0.0,))))
        return NotImplemented

    def __mul__(self, factor: Any) -> AsymmetricKernel:
        if not is_number(factor):
            return NotImplemented
        number = finite_number(factor, "factor")
        return _collect(replace(term, weight=term.weight * number) for term in self.terms)


def shifted(kernel: RadialKernel, offset: Vector) -> AsymmetricKernel:
    """The kernel D -> k(D + offset); see :meth:`spectra.Kernel.shift`."""
    _refuse_zonal(kernel, "shift")
    return _collect([Term(1.0, kernel, _tuple(offset, "offset"), (0.0,))])


def tilted(kernel: RadialKernel, tilt: Vector) -> AsymmetricKernel:
    """The kernel D -> k(D) exp(tilt.D); see :meth:`spectra.Kernel.tilt`."""
    _refuse_zonal(kernel, "tilt")
    return _collect([Term(1.0, kernel, (0.0,), _tuple(tilt, "tilt"))])


def gaussian_components(kernel: RadialKernel) -> tuple[tuple[sympy.Expr, sympy.Expr], ...] | None:
    """The pairs (c, a) of a kernel sum c exp(-a z^2), a > 0; None if it is none."""
    if len(kernel.pieces) != 1 or kernel.pieces[0].support != sympy.oo:
        return None
    found = exponential_terms(kernel.pieces[0].expr, 2)
    if found is None or any(rate == 0 for _, rate in found):
        return None
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _components(
    kernel: RadialKernel, pairs: Iterable[tuple[sympy.Expr, sympy.Expr]]
) -> Iterable[tuple[float, float, RadialKernel]]:
    """(c, sigma, kernel of exp(-z^2/(2 sigma^2))) for each pair (c, 1/(2 sigma^2))."""
    for coefficient, rate in pairs:
        piece = replace(kernel.pieces[0], expr=sympy.exp(-rate * Z**2))
        gaussian = replace(kernel, pieces=(piece,), zonal=None, label="")
        yield float(coefficient), float(1 / sympy.sqrt(2 * rate)), gaussian


def without_factor(kernel: RadialKernel) -> tuple[float, RadialKernel]:
    """A kernel as a number times one without a factor, so that multiples of it share a measure."""
    split = [piece.expr.as_independent(Z, as_Add=False) for piece in kernel.pieces]
    factors = {factor for factor, _ in split}
    if len(factors) != 1 or factors == {sympy.Integer(1)} or not all(w.has(Z) for _, w in split):
        return 1.0, kernel
    pieces = tuple(
        replace(piece, expr=wave) for piece, (_, wave) in zip(kernel.pieces, split, strict=True)
    )
    return float(factors.pop()), replace(kernel, pieces=pieces, zonal=None, label="")


def _collect(terms: Iterable[Term]) -> AsymmetricKernel:
    """Add the weights of equal terms, and leave out those that cancel."""
    weights: dict[tuple[RadialKernel, tuple[float, ...], tuple[float, ...]], float] = {}
    for term in terms:
        key = (term.kernel, term.offset, term.tilt)
        weights[key] = weights.get(key, 0.0) + term.weight
    return AsymmetricKernel(tuple(Term(w, *key) for key, w in weights.items() if w != 0.0))


def _described(term: Term) -> str:
    text = "" if term.weight == 1.0 else f"{term.weight:.6g}*"
    text += f"k[{term.kernel}](D"
    text += f" + {_number_text(term.offset)})" if any(term.offset) else ")"
    return text + (f"*exp({_number_text(term.tilt)}.D)" if any(term.tilt) else "")


def _number_text(vector: tuple[float, ...]) -> str:
    if len(set(vector)) == 1:
        return f"{vector[0]:.6g}"
    shown = ", ".join(f"{v:.6g}" for v in vector[:4])
    return f"({shown}{', ...' if len(vector) > 4 else ''})"


def _refuse_zonal(kernel: RadialKernel, what: str) -> None:
    if kernel.is_zonal:
        raise ParameterError(
            f"The kernel {kernel} lives on the unit sphere, and a {what} leaves it. Write it as "
            "a radial kernel, for instance with rescale(1)."
        )


def _tuple(vector: Vector, name: str) -> tuple[float, ...]:
    array = np.atleast_1d(real_array(vector, f"The {name} of a kernel"))
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(
            f"The {name} of a kernel is a vector of d numbers or one number; got an array of "
            f"shape {array.shape}."
        )
    # Adding 0 turns -0 into 0, so that equal kernels are equal objects.
    return tuple(finite_number(v, name) + 0.0 for v in array.tolist())


def _added(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[float, ...]:
    """The sum of two vectors, either of which may be one number for every coordinate."""
    _check_coordinates((first, second))
    dim = max(len(first), len(second))
    return tuple((_vector(first, dim) + _vector(second, dim) + 0.0).tolist())


def _moved_factor(tilt: tuple[float, ...], step: tuple[float, ...]) -> float:
    """exp(tilt.step), by which a shift multiplies a tilted kernel."""
    if not (any(tilt) and any(step)):
        return 1.0
    _check_coordinates((tilt, step))
    dim = max(len(tilt), len(step))
    if dim == 1:
        raise ParameterError(
            f"A kernel tilted by {tilt[0]:g} in every coordinate is shifted by {step[0]:g} in "
            "every coordinate, which multiplies it by a factor that depends on their number. Give "
            "the tilt or the shift as a vector of d numbers."
        )
    log_factor = float(_vector(tilt, dim) @ _vector(step, dim))
    if abs(log_factor) > _LARGEST_LOG:
        raise ParameterError(
            f"The shift multiplies the tilted kernel by exp({log_factor:.6g}), beyond what doubles "
            "can follow. Shift or tilt by less, or shift before you tilt."
        )
    return math.exp(log_factor)


def _check_coordinates(vectors: Iterable[tuple[float, ...]]) -> None:
    dims = {len(v) for v in vectors} - {0, 1}
    if len(dims) > 1:
        raise ParameterError(
            f"The shifts and tilts of a kernel have {sorted(dims)} coordinates. They must have "
            "as many as the data, or be single numbers that stand for every coordinate."
        )


def _vector(numbers: tuple[float, ...], dim: int) -> FloatArray:
    return np.full(dim, numbers[0]) if len(numbers) == 1 else np.array(numbers)


def is_number(value: Any) -> bool:
    """Whether a kernel is multiplied by it as a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def finite_number(number: Any, name: str) -> float:
    value = float(number)
    if not np.isfinite(value):
        raise ParameterError(f"The {name} of a kernel must be finite, and {number} is not.")
    return value
