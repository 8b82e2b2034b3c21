"""Quotients that are 0/0 at zero, where doubles cancel beside it: ``(exp(-z) - 1 + z)/z**2``.

In doubles that one is 0 from z = 1e-9 down, where it is 1/2.  Up to the distance from which doubles
keep their digits its values are those of many digits: of a polynomial through some of them, where
that gives back others, and each on its own elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

__all__ = ["values_beside_zero"]

Array = NDArray[Any]
Values = Callable[[Array], Array]

# Doubles are compared with values of many digits at three places, which powers of 2 do not divide,
# of each two octaves from 2^-300 on, until they twice have them up to that share; beyond 2^300 no
# unit has a kernel.
_PLACES, _FIRST, _STEP, _LAST, _LOST, _KEPT = (1.1371, 1.7213, 2.9331), -300, 2, 300, 5e-14, 2
# A polynomial of that degree is tried, and held to values between its nodes.
_DEGREE, _CHECKS, _RESOLVED = 24, np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983]), 4e-15


def values_beside_zero(quick: Values, exact: Values) -> tuple[float, Values]:
    """Up to which distance doubles lose digits, and values there; 0 where they lose none.

    Parameters
    ----------
    quick, exact : callable
        Values at positive distances in doubles, and in as many digits as they ask for.

    Examples
    --------
    >>> up_to, _ = values_beside_zero(lambda z: np.sin(z) / z, lambda z: np.sin(z) / z)
    >>> up_to
    0.0
    """
    up_to, kept = 0.0, 0
    for power in range(_FIRST, _LAST, _STEP):
        z = 2.0**power * np.array(_PLACES)
        # What is infinite in any number of digits has none to lose.
        true = exact(z)
        z, true = z[np.isfinite(true)], true[np.isfinite(true)]
        if np.all(np.abs(quick(z) - true) <= _LOST * np.abs(true)):
            kept += 1
            if kept == _KEPT:
                break
        else:
            up_to, kept = 2.0 ** (power + 2 * _STEP), 0
    if up_to == 0.0:
        return up_to, exact
    nodes = 0.5 * up_to * (1.0 + chebyshev.chebpts1(_DEGREE + 1))
    series = Chebyshev.fit(nodes, exact(nodes), _DEGREE, domain=[0.0, up_to])
    true = exact(up_to * _CHECKS)
    if np.all(np.abs(series(up_to * _CHECKS) - true) <= _RESOLVED * np.abs(true)):
        return up_to, series
    return up_to, exact
