"""Types of arrays, read-only copies of arrays, and Gauss-Legendre quadrature on intervals."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError

__all__ = ["ComplexArray", "FloatArray", "IntArray", "NumberArray", "from_units", "frozen_array",
           "panel_rule", "reduce_to_fields", "to_units"]  # fmt: skip

ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.intp]
NumberArray = NDArray[np.float64] | NDArray[np.complex128]


def frozen_array(values: ArrayLike, name: str, ndim: int) -> FloatArray:
    """Read-only copy of ``values`` as finite doubles with ``ndim`` axes.

    Examples
    --------
    >>> frozen_array([1, 2], "radii", 1).flags.writeable
    False
    """
    array = np.array(values, dtype=float, order="C")
    if array.ndim != ndim:
        raise ParameterError(f"The {name} need {ndim} axes; got an array of shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"The {name} contain a number that is not finite.")
    array.setflags(write=False)
    return array


def reduce_to_fields(instance: Any) -> tuple[Any, ...]:
    """Pickle a dataclass by its fields; assign this function to its ``__reduce__``.

    Unpickling calls the constructor, which checks the fields and makes arrays read-only.
    """
    return type(instance), tuple(getattr(instance, field.name) for field in fields(instance))


def panel_rule(low: FloatArray, high: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on n intervals [low, high], of shape (n, count) each."""
    x, weights = _legendre(count)
    half = 0.5 * (high - low)
    return 0.5 * (high + low)[:, None] + half[:, None] * x, half[:, None] * weights


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(count)


def to_units(rows: FloatArray, lengths: FloatArray) -> FloatArray:
    """Rows divided by lengths; or the rows A x for a matrix A instead of lengths."""
    return np.asarray(rows @ lengths.T if lengths.ndim == 2 else rows / lengths)


def from_units(frequencies: FloatArray, lengths: FloatArray) -> FloatArray:
    """The frequencies w of rows x with w.x = v.to_units(x) for the given v."""
    return np.asarray(frequencies @ lengths if lengths.ndim == 2 else frequencies / lengths)
