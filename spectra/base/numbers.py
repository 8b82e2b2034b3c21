"""Validation of the numbers and arrays that users pass, and the printed form of bounds."""

from __future__ import annotations

import operator
from contextlib import suppress
from decimal import ROUND_CEILING, Context, Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.accuracy import SINGLE
from spectra.errors import DataError, ParameterError

__all__ = ["NORM_TOLERANCE", "FloatArray", "check_differences", "check_unit_norms",
           "checked_dim", "format_bound", "matching_rows", "positive_number", "random_source",
           "real_array", "whole_number"]  # fmt: skip

FloatArray = NDArray[np.float64]
#: Default upper limit of whole numbers, which are mostly sizes of arrays.
MOST_ENTRIES = 2**48


def real_array(
    value: Any, name: str, *, error: type[ParameterError] | type[DataError] = ParameterError
) -> FloatArray:
    """Convert to an array of doubles; raise ``error`` for text, complex numbers and ragged lists.

    Examples
    --------
    >>> real_array([1, 2], "z")
    array([1., 2.])
    >>> real_array("1", "z")
    Traceback (most recent call last):
    spectra.errors.ParameterError: z must be real numbers, and a str was passed.
    """
    try:
        array = np.asarray(value)
        if array.dtype == object and all(isinstance(entry, Integral) for entry in array.flat):
            array = array.astype(float)  # integers of more than 64 bits
    except ValueError as cause:
        raise error(f"{name} must be real numbers, in rows of equal length.") from cause
    except OverflowError as cause:
        raise error(f"{name} must be real numbers, and {value!r:.30} is too large.") from cause
    if array.dtype.kind not in "fiub":
        found = type(value).__name__
        if isinstance(value, np.ndarray):
            found = f"array of {array.dtype}"
        article = "an" if found[0] in "aeiou" else "a"
        raise error(f"{name} must be real numbers, and {article} {found} was passed.")
    return np.asarray(array, dtype=float)


def matching_rows(X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """X and Y as finite matrices with the same number of columns; Y is X if it is None."""
    left = _check_rows(X, "X")
    right = left if Y is None else _check_rows(Y, "Y")
    if left.shape[1] != right.shape[1]:
        raise DataError(
            f"X has {left.shape[1]} columns and Y has {right.shape[1]}; the numbers must agree."
        )
    return left, right


def _check_rows(X: ArrayLike, name: str) -> FloatArray:
    rows = real_array(X, name, error=DataError)
    if rows.ndim != 2:
        raise DataError(
            f"{name} has {rows.ndim} dimension(s): give a matrix of shape (rows, columns)."
        )
    if not rows.shape[1]:
        raise DataError(f"{name} has no columns, so its rows have no distances.")
    if not np.all(np.isfinite(rows)):
        row, column = np.argwhere(~np.isfinite(rows))[0]
        value = rows[row, column]
        raise DataError(f"{name}[{row}, {column}] is {value}: kernels need finite numbers.")
    return rows


def check_differences(differences: ArrayLike, kind: str) -> FloatArray:
    """Convert differences D = x - y to doubles of shape (..., d); ``kind`` names the kernel."""
    D = real_array(differences, "D = x - y", error=DataError)
    if D.ndim == 0 or D.shape[-1] == 0:
        raise DataError(
            f"{kind} is a function of differences D = x - y: give an array of shape (..., d)."
        )
    return D


#: Largest error in the norm of a unit row, whose entries may be in single precision.
NORM_TOLERANCE = 8.0 * SINGLE


def check_unit_norms(norms: FloatArray, what: str) -> None:
    """Raise a DataError if a norm differs from 1; ``what`` names the function that needs unit rows.

    Examples
    --------
    >>> check_unit_norms(np.ones(3), "the zonal kernel u")
    """
    error = np.abs(norms - 1.0)
    if error.max(initial=0.0) > NORM_TOLERANCE:
        worst = int(error.argmax())
        raise DataError(
            f"Row {worst} has norm {norms[worst]:.9g}, and {what} is defined on the unit sphere "
            f"(tolerance {NORM_TOLERANCE:g}). Divide each row by its norm, for instance with "
            "sklearn.preprocessing.normalize."
        )


def whole_number(
    value: Any, name: str, *, least: int = 1, most: float = MOST_ENTRIES, why: str = ""
) -> int:
    """Return an integer in [least, most] as an int, or raise; ``why`` ends the error message.

    Examples
    --------
    >>> whole_number(np.int64(3), "size")
    3
    >>> whole_number(True, "size", least=0)
    Traceback (most recent call last):
    spectra.errors.ParameterError: size = True: give a whole number of at least 0.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        end = f" and at most {most}" if number is not None and number > most else ""
        raise ParameterError(
            f"{name} = {value!r}: give a whole number of at least {least}{end}{why}."
        )
    return number


def positive_number(value: Any, name: str, *, why: str = "") -> float:
    """Return a positive finite number as a float, or raise; ``why`` ends the error message.

    Examples
    --------
    >>> positive_number(1, "tol")
    1.0
    >>> positive_number("1", "tol", why=", an error allowed")
    Traceback (most recent call last):
    spectra.errors.ParameterError: tol = '1': give a positive finite number, an error allowed.
    """
    if isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_):
        # An integer may be too large for a double.
        with suppress(OverflowError):
            number = float(value)
            if 0.0 < number < np.inf:
                return number
    raise ParameterError(f"{name} = {value!r}: give a positive finite number{why}.")


def random_source(seed: Any, name: str) -> np.random.Generator:
    """A new numpy Generator from a seed or None, or the Generator that was passed.

    Examples
    --------
    >>> random_source("x", "random_state")
    Traceback (most recent call last):
    spectra.errors.ParameterError: random_state = 'x': give a numpy Generator, a seed >= 0 or None.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as cause:
        raise ParameterError(
            f"{name} = {seed!r}: give a numpy Generator, a seed >= 0 or None."
        ) from cause


def checked_dim(dim: Any, *, least: int = 1) -> int:
    """Return the dimension as an int of at least ``least``, or raise.

    Examples
    --------
    >>> checked_dim(np.int64(3))
    3
    """
    return whole_number(dim, "The dimension", least=least)


def format_bound(bound: float) -> str:
    """A bound with two digits, rounded upwards, so that the printed number is also a bound.

    Examples
    --------
    >>> format_bound(3.14e-14), f"{3.14e-14:.1e}"
    ('3.2e-14', '3.1e-14')
    """
    if not np.isfinite(bound):
        return str(bound)
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(bound)):.1e}"
