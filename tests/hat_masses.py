"""The masses of :mod:`spectra.measure.l1_masses`, integrated between changes of sign.

The innermost integrals are sine and cosine integrals between changes of sign, which are roots in
known intervals: one of h cot h = s cot s in each period, one of phi_a(c) = phi_a(b) between two
critical points of phi_a, of which there is one between two zeros |a - 2 pi m|.  What the largest
variable has between k pi and (k + 1) pi is a shell, and the shells beyond those that are summed
follow their expansion in even powers of k + 1/2 with logarithms.  Two expansions tell the error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.special import sici

from spectra.base.enclosures import bracketed_roots
from spectra.base.numbers import FloatArray

# Shells of each dimension, and the first that the expansion is fitted to.
_SHELLS, _FITTED_FROM = {2: 40, 3: 20}, {2: 10, 3: 6}
# Nodes of a panel in d = 2 and halvings of panels towards tan s = s, near which the first root
# moves fast; nodes of a shell, and of a panel between two kinks, in d = 3.
_NODES_2, _HALVINGS, _NODES_3, _NODES_3_INNER = 16, 5, 16, 10
# Cin(x) is x^2/4 to all digits below this, where log x - Ci(x) + gamma cancels.
_SMALL = 1e-3


class _Expansion(NamedTuple):
    """Powers of 1/m with all logarithms up to some power, and those that alternate with one."""

    powers: tuple[int, ...]
    alternating: tuple[int, ...]


# The first gives the value; the second, which lacks a power or has a wrong one, tells its error.
_EXPANSIONS = {
    2: (_Expansion((2, 4, 6), ()), _Expansion((2, 4), ())),
    3: (_Expansion((2, 4), (4, 5)), _Expansion((2, 3), (3, 4))),
}


def integrated_mass(dim: int) -> tuple[float, float]:
    """C_d in d = 2 and 3, and what two expansions of what is beyond the shells differ by."""
    shell: Callable[[int], float] = shell_of_two if dim == 2 else shell_of_three
    shells = np.array([shell(k) for k in range(_SHELLS[dim])])
    value, other = (shells.sum() + _beyond(shells, dim, e) for e in _EXPANSIONS[dim])
    return float(value), float(abs(value - other))


def _beyond(shells: FloatArray, dim: int, expansion: _Expansion) -> float:
    """The sum of all further shells, by an expansion that is fitted to the last of these."""
    k = np.arange(_FITTED_FROM[dim], shells.size)
    m, sign = k + 0.5, (-1.0) ** k
    terms = [(p, log) for p in expansion.powers for log in range(dim)]
    turning = [(p, log) for p in expansion.alternating for log in range(2)]
    columns = [_term(m, *t) for t in terms] + [sign * _term(m, *t) for t in turning]
    scaled = np.stack(columns, axis=1) / shells[k, None]
    sizes = np.abs(scaled).max(axis=0)
    found = np.linalg.lstsq(scaled / sizes, np.ones(k.size), rcond=1e-15)[0] / sizes
    first = shells.size + 0.5
    sums = [(-1.0) ** log * float(mpmath.zeta(p, first, log)) for p, log in terms]
    sums += [(-1.0) ** shells.size * _alternating(first, p, log) for p, log in turning]
    return float(found @ np.array(sums))


def _term(m: NDArray[Any], power: int, log_power: int) -> FloatArray:
    return np.asarray(np.log(m) ** log_power * m**-power)


def _alternating(first: float, power: int, log_power: int) -> float:
    """The sum of (-1)^n times a term at first + n, by means of neighbouring partial sums."""
    n = np.arange(40)
    sums = np.cumsum((-1.0) ** n * _term(first + n, power, log_power))
    while sums.size > 1:
        sums = 0.5 * (sums[1:] + sums[:-1])
    return float(sums[0])


@cache
def _unit_nodes(order: int) -> tuple[FloatArray, FloatArray]:
    """Gauss's nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(order)
    return 0.5 * (x + 1.0), 0.5 * w


# --- d = 2 ------------------------------------------------------------------------------------


def shell_of_two(k: int) -> float:
    """The integral over k pi < s < (k + 1) pi, in panels about the root of tan s = s.

    There h cot h = s cot s = 1 has its first root at h = 0, which goes like a square root.
    """
    x, w = _unit_nodes(_NODES_2)
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

    def excess(h: FloatArray) -> FloatArray:
        return sign * (np.cos(h) - level * _sinc(h))

    root = bracketed_roots(excess, low, high, value_low=excess(low), value_high=excess(high))
    return np.where(none, 0.0, root)


# --- d = 3 ------------------------------------------------------------------------------------


def shell_of_three(k: int) -> float:
    """The integral over k pi < a < (k + 1) pi, at whose ends zeros of phi_a become double."""
    x, w = _unit_nodes(_NODES_3)
    values = np.array([_over_two(a) for a in (k + x) * np.pi])
    return float(48.0 / np.pi**2 * (w @ values))


def _clustered(order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [0, 1] that take up half powers at both ends."""
    x, w = _unit_nodes(order)
    return x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) * w


def _over_two(a: float) -> float:
    """The integral over 0 < c < b < a."""
    x, w = _clustered(_NODES_3_INNER)
    ends = np.concatenate([[0.0], _critical_points(a), [a]])
    # Where phi_a(b) passes a critical value of smaller c, two changes of sign come or go.
    kinks = _solutions(a, ends, _phi(a, ends[:-1]), np.arange(ends.size - 1), below=False)[1]
    edges = np.unique(np.concatenate([ends, kinks]))
    b = (edges[:-1, None] + np.diff(edges)[:, None] * x).ravel()
    weights = (np.diff(edges)[:, None] * w).ravel()
    own = np.searchsorted(ends, b, side="right") - 1
    of, roots = _solutions(a, ends, _phi(a, b), own, below=True)
    every = np.arange(b.size)
    row = np.concatenate([every, of, every])
    c = np.concatenate([np.zeros(b.size), roots, b])
    order = np.lexsort((c, row))
    row, c = row[order], c[order]
    integral = (_cosines(b[row], c) - _cosines(np.full(c.size, a), c)) / (a**2 - b[row] ** 2)
    inside = row[1:] == row[:-1]
    return float(np.abs(np.diff(integral))[inside] @ weights[row[1:][inside]])


def _solutions(
    a: float, ends: FloatArray, levels: FloatArray, own: NDArray[np.int64], *, below: bool
) -> tuple[NDArray[np.int64], FloatArray]:
    """Numbers of levels, and where phi_a has them: in intervals below their own, or from it on."""
    values, number = _phi(a, ends), np.arange(ends.size - 1)
    level = levels[:, None]
    inside = (values[None, :-1] - level) * (values[None, 1:] - level) < 0.0
    wanted = number < own[:, None] if below else number >= own[:, None]
    i, j = np.nonzero(inside & wanted)
    at = levels[i]
    roots = bracketed_roots(
        lambda c: _phi(a, c) - at,
        ends[j],
        ends[j + 1],
        value_low=values[j] - at,
        value_high=values[j + 1] - at,
    )
    return i, roots


def _critical_points(a: float) -> FloatArray:
    """The critical points of phi_a in (0, a): log |phi_a| is concave between two of its zeros."""
    m = np.arange(1, int(a / np.pi) + 2)
    zeros = np.sort(np.append(np.abs(a - 2.0 * np.pi * m), a + 2.0 * np.pi))
    within = int(np.searchsorted(zeros, a))
    low, high = zeros[:within], zeros[1 : within + 1]
    slopes = (_phi_slope(a, low), _phi_slope(a, high))
    found = bracketed_roots(
        lambda c: _phi_slope(a, c), low, high, value_low=slopes[0], value_high=slopes[1]
    )
    return np.asarray(found[found < a])


def _phi(a: float, c: FloatArray) -> FloatArray:
    """[a^2, c^2] of cos(sqrt x)."""
    return -0.5 * _sinc(0.5 * (a + c)) * _sinc(0.5 * (a - c))


def _phi_slope(a: float, c: FloatArray) -> FloatArray:
    p, q = 0.5 * (a + c), 0.5 * (a - c)
    return -0.25 * (_sinc_slope(p) * _sinc(q) - _sinc(p) * _sinc_slope(q))


def _sinc(x: FloatArray) -> FloatArray:
    return np.asarray(np.sinc(x / np.pi))


def _sinc_slope(x: FloatArray) -> FloatArray:
    small = np.abs(x) < 1e-2
    safe = np.where(small, 1.0, x)
    return np.where(small, -x / 3 + x**3 / 30, (np.cos(safe) - np.sin(safe) / safe) / safe)


def _cosines(b: FloatArray, c: FloatArray) -> FloatArray:
    """The integral from 0 to c of (cos c - cos b)/(b^2 - c^2)."""
    (plus, cin_plus), (minus, cin_minus) = _integrals(b + c), _integrals(b - c)
    both = np.cos(b) * (cin_minus - cin_plus) + np.sin(b) * (plus - minus)
    return np.asarray(both / (2.0 * b))


def _integrals(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Si(x) and Cin(x), the integral of (1 - cos t)/t."""
    safe = np.where(np.abs(x) < _SMALL, 1.0, np.abs(x))
    cosine = np.euler_gamma + np.log(safe) - sici(safe)[1]
    return sici(x)[0], np.where(np.abs(x) < _SMALL, 0.25 * x * x, cosine)
