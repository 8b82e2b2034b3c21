"""The mass of the truncated l1 distance in d = 2, integrated between changes of sign.

The inner integrals are sine integrals between the roots of h cot h = s cot s, one in each period.
A shell is what s has between k pi and (k + 1) pi.  The shells beyond those that are summed follow
an expansion in even powers of k + 1/2 with logarithms.
"""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root
from scipy.special import sici

from spectra.base.numbers import FloatArray

# Shells, and the first that the expansion is fitted to.
_SHELLS, _FITTED_FROM = 40, 10
# Nodes of a panel, and halvings of panels towards tan s = s, near which the first root moves fast.
_NODES, _HALVINGS = 16, 5


def integrated_mass() -> tuple[float, float]:
    """C_2, and the difference of two expansions of what is beyond the shells."""
    shells = np.array([shell_of_two(k) for k in range(_SHELLS)])
    value, other = (shells.sum() + _beyond(shells, powers) for powers in ((2, 4, 6), (2, 4)))
    return float(value), float(abs(value - other))


def _beyond(shells: FloatArray, powers: tuple[int, ...]) -> float:
    """The sum of all further shells, by an expansion in powers of 1/m, with and without log m."""
    m = np.arange(_FITTED_FROM, shells.size) + 0.5
    terms = [(p, log) for p in powers for log in range(2)]
    columns = [np.log(m) ** log * m**-p for p, log in terms]
    scaled = np.stack(columns, axis=1) / shells[_FITTED_FROM:, None]
    sizes = np.abs(scaled).max(axis=0)
    found = np.linalg.lstsq(scaled / sizes, np.ones(m.size), rcond=1e-15)[0] / sizes
    first = shells.size + 0.5
    sums = [(-1.0) ** log * float(mpmath.zeta(p, first, log)) for p, log in terms]
    return float(found @ np.array(sums))


def shell_of_two(k: int) -> float:
    """The integral over k pi < s < (k + 1) pi, in panels about the root of tan s = s.

    There h cot h = s cot s = 1 has its first root at h = 0, which goes like a square root.
    """
    x, w = np.polynomial.legendre.leggauss(_NODES)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    start, end = k * np.pi, (k + 1) * np.pi
    touching = start + (1.4 if k else 0.0)
    for _ in range(60):
        touching = start + np.arctan(touching)
    total = 0.0
    for length, sign, power in ((touching - start, -1.0, 1), (end - touching, 1.0, 2)):
        if length == 0.0:  # in the first shell tan s = s at its start
            continue
        reach = length ** (1.0 / power)
        edges = reach * np.append(0.5 ** np.arange(_HALVINGS + 1), 0.0)
        for high, low in pairwise(edges):
            y = low + (high - low) * x
            s = touching + sign * y**power
            total += (high - low) * float(w @ (_over_h(s, k) * power * y ** (power - 1)))
    return 8.0 / np.pi**2 * total


def _over_h(s: FloatArray, k: int) -> FloatArray:
    """The integral over 0 < h < s, for values s in the shell k, between the changes of sign."""
    level = (s * np.cos(s) / np.sin(s))[:, None]
    n = np.arange(k)[None]
    edges = np.concatenate([0.0 * level, _roots_of_cotangent(n, level), s[:, None]], axis=1)
    s = s[:, None]
    half = 0.5 * (sici(s - edges)[0] - sici(s + edges)[0])
    integral = half + np.cos(s) * sici(edges)[0]
    return np.asarray(np.abs(np.diff(integral, axis=1)).sum(axis=1) / s[:, 0] ** 2)


def _roots_of_cotangent(n: NDArray[np.int64], level: FloatArray) -> FloatArray:
    """h with h cot h = level between n pi and (n + 1) pi, where it falls; 0 where there is none."""
    none = (n == 0) & (level >= 1.0)
    high = np.pi * (n + 1) + 0.0 * level
    low = np.where(none, high, np.pi * n)
    sign = np.where(n % 2 == 0, 1.0, -1.0)

    def excess(h: FloatArray, sign: FloatArray, level: FloatArray) -> FloatArray:
        return np.asarray(sign * (np.cos(h) - level * _sinc(h)))

    root = find_root(excess, (low, high), args=(sign, level)).x
    return np.where(none, 0.0, root)


def _sinc(x: FloatArray) -> FloatArray:
    return np.asarray(np.sinc(x / np.pi))
