"""What users pass as numbers, checked once and in one way; and bounds as users read them."""

from __future__ import annotations

import operator
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.errors import DataError, ParameterError

__all__ = ["bound_text", "checked_dim", "real_array"]


def real_array(
    value: Any, name: str, *, error: type[ParameterError] | type[DataError] = ParameterError
) -> NDArray[np.float64]:
    """Turn what was passed into an array of doubles, or refuse text, complex and ragged input.

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
    except ValueError as cause:
        raise error(f"{name} must be real numbers in a full array; its rows differ.") from cause
    if array.dtype.kind not in "fiub":
        found = type(value).__name__
        if isinstance(value, np.ndarray):
            found = f"array of {array.dtype}"
        article = "an" if found[0] in "aeiou" else "a"
        raise error(f"{name} must be real numbers, and {article} {found} was passed.")
    return np.asarray(array, dtype=float)


def checked_dim(dim: Any) -> int:
    """Return the dimension as an int >= 1, or refuse it.

    Examples
    --------
    >>> checked_dim(np.int64(3))
    3
    """
    try:
        if isinstance(dim, bool | np.bool_):
            raise TypeError
        whole = operator.index(dim)
    except TypeError as cause:
        raise ParameterError(
            f"A dimension is a whole number, at least 1, and {dim!r} was passed."
        ) from cause
    if whole < 1:
        raise ParameterError(f"A dimension is at least 1, and {whole} was passed.")
    return whole


def bound_text(bound: float) -> str:
    """Two digits of a bound, rounded upwards: what is printed is a bound too.

    Examples
    --------
    >>> bound_text(3.14e-14), f"{3.14e-14:.1e}"
    ('3.2e-14', '3.1e-14')
    """
    if not np.isfinite(bound):
        return str(bound)
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(bound)):.1e}"
