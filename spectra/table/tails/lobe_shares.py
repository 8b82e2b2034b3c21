r"""How the mass of one lobe is shared along it: the variable v in which its radius is smooth.

Where the density vanishes like a power between its lobes, the radius is not smooth in the share
f of the mass of a lobe that lies before it.  It is in the variable v in [0, 1] of

.. math:: f(v) = \sin^2(\pi v / 2) \quad\text{(simple zeros)}, \qquad
          f(v) = v - \sin(2 \pi v) / (2 \pi) \quad\text{(double zeros)},

in which a lobe of a sine, and one of 1 - cos, are exactly linear.
"""

from __future__ import annotations

import numpy as np

from spectra.base.arrays import FloatArray

__all__ = ["place_in_lobe", "share_before", "share_slope"]

# Below this x the difference x - sin x is a series, whose terms after these are below rounding.
_SMALL = 1.5
_TERMS = 10
# Newton's method doubles the digits of a start that is right to a hundredth.
_STEPS = 4


def share_before(zeros: int, v: FloatArray) -> FloatArray:
    """Share f(v) of the mass of a lobe before v; 1 - f(v) is f(1 - v).

    Examples
    --------
    >>> share_before(2, np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """
    if zeros == 1:
        return np.asarray(np.sin(0.5 * np.pi * v) ** 2)
    below = _less_sine(2.0 * np.pi * np.minimum(v, 1.0 - v)) / (2.0 * np.pi)
    return np.where(v <= 0.5, below, 1.0 - below)


def share_slope(zeros: int, v: FloatArray) -> FloatArray:
    """Derivative of the share: the density of v."""
    if zeros == 1:
        return np.asarray(0.5 * np.pi * np.sin(np.pi * v))
    return np.asarray(2.0 * np.sin(np.pi * v) ** 2)


def place_in_lobe(zeros: int, share: FloatArray) -> FloatArray:
    """The variable v at a share of the mass: the inverse of :func:`share_before`.

    Examples
    --------
    >>> f = np.array([0.0, 1e-12, 0.3, 1.0])
    >>> bool(np.abs(share_before(2, place_in_lobe(2, f)) - f).max() < 1e-15)
    True
    """
    if zeros == 1:
        return np.asarray((2.0 / np.pi) * np.arcsin(np.sqrt(share)))
    goal = 2.0 * np.pi * np.minimum(share, 1.0 - share)
    # x - sin x = goal, from the first terms of its solution in powers of the cube root.
    root = np.cbrt(6.0 * goal)
    x = root * (1.0 + root**2 * (1.0 / 60.0 + root**2 / 1400.0))
    for _ in range(_STEPS):
        slope = 2.0 * np.sin(0.5 * x) ** 2
        # At 0 the start is exact, and the slope is 0.
        x -= (_less_sine(x) - goal) / np.where(slope > 0.0, slope, 1.0)
    v = x / (2.0 * np.pi)
    return np.where(share <= 0.5, v, 1.0 - v)


def _less_sine(x: FloatArray) -> FloatArray:
    """x - sin x for 0 <= x <= pi, to full relative precision."""
    y = x * x
    series = np.zeros_like(x)
    for k in range(_TERMS, 0, -1):
        series = (1.0 - series) * y / ((2 * k) * (2 * k + 1))
    return np.where(x < _SMALL, x * series, x - np.sin(x))
