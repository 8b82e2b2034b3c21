"""Arrays that are checked once and then cannot be written to."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError

__all__ = [
    "ComplexArray",
    "FloatArray",
    "IntArray",
    "NumberArray",
    "frozen_array",
    "made_again",
    "panel_rule",
]

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
        raise ParameterError(
            f"The {name} contain a number that is not finite, so they describe no law. Look at "
            "how they were computed."
        )
    array.setflags(write=False)
    return array


def made_again(thing: Any) -> tuple[Any, ...]:
    """What a pickle of a frozen dataclass holds: its fields, of which it is made and checked again.

    As ``__reduce__`` it leaves out what was computed of them, and arrays stay closed to writing.
    """
    return type(thing), tuple(getattr(thing, field.name) for field in fields(thing))


def panel_rule(low: FloatArray, high: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on the intervals [low, high], shape (n, count) each."""
    x, weights = _legendre(count)
    half = 0.5 * (high - low)
    return 0.5 * (high + low)[:, None] + half[:, None] * x, half[:, None] * weights


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(count)
