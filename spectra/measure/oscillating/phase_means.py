r"""Means over phases: what a sum of waves of slowly varying size weighs on average.

Waves whose frequencies have rational ratios run through one closed orbit; waves of different
classes run through a torus, evenly.  For one free wave the mean is elementary,

.. math:: h(a, x) = \frac1{2\pi} \int_0^{2\pi} |a\cos\theta + x|\,d\theta
          = \tfrac2\pi \bigl(\sqrt{a^2 - x^2} + x \arcsin(x/a)\bigr) \quad (|x| < a),

and |x| beyond.  Every further wave is one more integral, between the phases at which the inner
mean is singular; on an orbit the primitive of the sum is known, and only its zeros are sought.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm

import numpy as np
from numpy.typing import NDArray

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.measure.oscillating.wave_zeros import zeros_on

__all__ = ["MOST_FREE_WAVES", "Orbit", "mean_size", "mode_sizes", "orbits_of"]

#: Waves whose frequencies are multiples of one, so that they return together: the multiple of each,
#: by the number of the wave.
Orbit = dict[int, int]
Owners = NDArray[np.intp]
#: Derivatives of some order of one of several functions at each of some places.
Sums = Callable[[FloatArray, Owners, int], FloatArray]

# Largest multiple of a common frequency: the share of a higher one in the mean is below 1e-6.
_HIGHEST = 512
# Frequencies are doubles, and their ratio is rounded once more.
_SAME_RATIO = 8.0 * EPS
# Waves that are integrated one by one; each more costs two hundred times as much.
MOST_FREE_WAVES = 3
# Points for each wave of the highest multiple, at which the zeros on an orbit are sought.
_POINTS = 16
# Points for each turn of a mode, and at least so many.
_MODE_POINTS, _LEAST_POINTS = 8, 256
# Radii whose means are taken at once: three free waves need ten thousand values for each.
_COLUMNS = 32
# The rule of Takahasi and Mori: any singularity at the ends of a range, to rounding; and to 1e-10,
# where it is the outer one of two.
_FINE, _COARSE = (0.125, 3.25), (0.22, 2.86)


def orbits_of(frequencies: tuple[float, ...]) -> tuple[Orbit, ...]:
    """Frequencies in classes of rational ratios, those of most members first.

    Examples
    --------
    >>> orbits_of((1.0, 2.0**0.5, 1.5))
    ({0: 2, 2: 3}, {1: 1})
    """
    # The ratios of each class to its first frequency.
    found: list[dict[int, Fraction]] = []
    for i, frequency in enumerate(frequencies):
        for ratios in found:
            ratio = frequency / frequencies[next(iter(ratios))]
            near = Fraction(ratio).limit_denominator(_HIGHEST)
            common = lcm(near.denominator, *(f.denominator for f in ratios.values()))
            highest = max(near, *ratios.values()) * common
            if abs(float(near) - ratio) <= _SAME_RATIO * ratio and highest <= _HIGHEST:
                ratios[i] = near
                break
        else:
            found.append({i: Fraction(1)})
    orbits = []
    for ratios in found:
        common = lcm(*(f.denominator for f in ratios.values()))
        orbits.append({i: int(f * common) for i, f in ratios.items()})
    return tuple(sorted(orbits, key=len, reverse=True))


def mean_size(
    orbits: tuple[Orbit, ...], amplitudes: FloatArray, phases: FloatArray, centre: FloatArray
) -> FloatArray:
    r"""Mean of :math:`|x + \sum_j a_j \cos(n_j \psi + \alpha_j)|` over all phases psi.

    Parameters
    ----------
    orbits : tuple of Orbit
        At most one with several members, which comes first, and at most ``MOST_FREE_WAVES``.
    amplitudes, phases : ndarray of shape (waves, m)
        a_j >= 0 and alpha_j.
    centre : ndarray of shape (m,)
        x.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> round(float(mean_size(orbits_of((1.0,)), one, 0 * one, np.zeros(1))[0]), 12)
    0.636619772368
    """
    free = [amplitudes[wave] for o in orbits if len(o) == 1 for wave in o]
    free.sort(key=lambda a: -float(a.max()))
    if len(orbits[0]) == 1:
        blocks = [slice(i, i + _COLUMNS) for i in range(0, centre.size, _COLUMNS)]
        return np.concatenate([_free_mean([a[b] for a in free], centre[b]) for b in blocks])
    members, multiples = _with_multiples(orbits[0])
    sums = _sums(multiples, amplitudes[members], phases[members])
    return _orbit_mean(sums, centre, multiples.max(), free)


def mode_sizes(
    orbits: tuple[Orbit, ...],
    amplitudes: FloatArray,
    phases: FloatArray,
    centre: FloatArray,
    modes: FloatArray,
) -> FloatArray:
    r"""Sizes of Fourier coefficients of :math:`|x + \sum_j a_j \cos(n_j \psi + \alpha_j)|`.

    The coefficient in a free wave is elementary, and that in the other phase is a periodic sum.

    Parameters
    ----------
    orbits : tuple of Orbit
        Two, of which the second has one member.
    amplitudes, phases, centre : ndarray
        As for :func:`mean_size`.
    modes : ndarray of shape (n, 2)
        Whole numbers of turns in the phases of the two orbits.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> one = np.ones((2, 1))
    >>> pair = orbits_of((1.0, 2.0**0.5))
    >>> found = mode_sizes(pair, one, 0 * one, np.zeros(1), np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> bool(abs(found[0, 0] - 8 / np.pi**2) < 1e-6)
    True
    """
    around, (free,) = orbits
    members, multiples = _with_multiples(around)
    turns = np.abs(modes).astype(float)
    if len(members) == 1 and amplitudes[members[0]].max() > amplitudes[free].max():
        # The mean over the larger wave is the smoother one.
        members, free, turns = [free], members[0], turns[:, ::-1]
    sums = _sums(multiples, amplitudes[members], phases[members])
    out = np.empty((modes.shape[0], centre.size))
    for i, (n, m) in enumerate(turns):
        count = int(_LEAST_POINTS + _MODE_POINTS * (n + m * multiples.max()))
        psi = 2.0 * np.pi * np.arange(count) / count
        turn = np.exp(1j * n * psi)
        for j in range(centre.size):
            who = np.full(count, j)
            inner = _free_mode(amplitudes[free, j], centre[j] + sums(psi, who, 0), m)
            out[i, j] = abs(np.mean(inner * turn))
    return out


def _with_multiples(orbit: Orbit) -> tuple[list[int], FloatArray]:
    return list(orbit), np.array(list(orbit.values()), dtype=float)


def _free_mode(a: float, y: FloatArray, m: float) -> FloatArray:
    """Coefficient m of |a cos(theta) + y| in exp(i m theta), for a > 0."""
    if m == 0.0:
        return _one_wave(np.full(y.shape, a), y)
    edge = np.where(np.abs(y) < a, y / a, np.sign(y))
    tau = np.arccos(-edge)
    if m == 1.0:
        return np.asarray(a / np.pi * (tau - 0.5 * np.sin(2.0 * tau)) - 0.5 * a)
    above, below = np.sin((m + 1.0) * tau) / (m + 1.0), np.sin((m - 1.0) * tau) / (m - 1.0)
    return np.asarray(a / (np.pi * m) * (below - above))


def _free_mean(free: list[FloatArray], x: FloatArray) -> FloatArray:
    """Mean over independent phases of |x + sum of the waves|; everything of shape (m,)."""
    if not free:
        return np.abs(x)
    if len(free) == 1:
        return _one_wave(free[0], x)
    outer, inner = free[-1], free[:-1]
    # cos(theta) at which x + outer cos(theta) passes a singularity of the inner mean.
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.stack([(v - x) / outer for v in _singular(inner)])
    cosines = np.where(np.abs(cosines) < 1.0, cosines, np.where(cosines > 0.0, 1.0, -1.0))
    ends = np.concatenate([np.zeros((1, x.size)), np.arccos(cosines), np.full((1, x.size), np.pi)])
    theta, weights = _between(np.sort(ends, axis=0), coarse=len(inner) > 1)
    value = x[:, None] + outer[:, None] * np.cos(theta)
    wide = [np.broadcast_to(a[:, None], theta.shape).ravel() for a in inner]
    means = _free_mean(wide, value.ravel()).reshape(theta.shape)
    return np.asarray(np.sum(means * weights, axis=1) / np.pi)


def _one_wave(a: FloatArray, x: FloatArray) -> FloatArray:
    size = np.abs(x)
    inside = size < a
    out = size.copy()
    u = size[inside] / a[inside]
    out[inside] = (2.0 / np.pi) * a[inside] * (np.sqrt((1.0 - u) * (1.0 + u)) + u * np.arcsin(u))
    return out


def _singular(free: list[FloatArray]) -> list[FloatArray]:
    """Values of x at which the mean over free waves is not smooth."""
    first, *others = free
    found = []
    for signs in product((1.0, -1.0), repeat=len(others)):
        total = first + sum((s * a for s, a in zip(signs, others, strict=True)), 0.0 * first)
        found += [total, -total]
    return found


@cache
def _rule(step: float, reach: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distances from both ends of [0, 1] and weights, with the ends resolved."""
    t = np.arange(-reach, reach + 0.5 * step, step)
    u = 0.5 * np.pi * np.sinh(t)
    below, above = 1.0 / (1.0 + np.exp(-2.0 * u)), 1.0 / (1.0 + np.exp(2.0 * u))
    weights = np.cosh(t) * below * above
    return below, above, weights / weights.sum()


def _between(ends: FloatArray, *, coarse: bool = False) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights between consecutive rows of ``ends``, one row of both for each column."""
    low, high = ends[:-1].T[:, :, None], ends[1:].T[:, :, None]
    below, above, shares = _rule(*(_COARSE if coarse else _FINE))
    nodes = low * above + high * below
    weights = (high - low) * shares
    return nodes.reshape(ends.shape[1], -1), weights.reshape(ends.shape[1], -1)


def _sums(multiples: FloatArray, amplitudes: FloatArray, phases: FloatArray) -> Sums:
    """Derivatives, and -1 the primitive, of sums of amplitudes cos(multiples psi + phases)."""
    waves: dict[int, Callable[[FloatArray], FloatArray]] = {
        -1: np.sin,
        0: np.cos,
        1: lambda x: -np.sin(x),
        2: lambda x: -np.cos(x),
        3: np.sin,
    }

    def at(psi: FloatArray, who: Owners, order: int) -> FloatArray:
        total = np.zeros(psi.shape)
        for n, a, alpha in zip(multiples, amplitudes, phases, strict=True):
            total += a[who] * n**order * waves[order](n * psi + alpha[who])
        return total

    return at


def _marks(
    sums: Sums, more: FloatArray, highest: float, order: int = 0
) -> tuple[FloatArray, Owners]:
    """Zeros on [0, 2 pi] of derivatives of sums and a number more, and whose they are."""
    # One step more on both sides, so that what hides next to an end is seen.
    step = 2.0 * np.pi / int(_POINTS * highest)
    grid = np.arange(-step, 2.0 * np.pi + 1.5 * step, step)
    zeros, who = zeros_on(
        grid,
        lambda x, i: sums(x, i, order) + more[i],
        lambda x, i: (sums(x, i, order + 1), sums(x, i, order + 2)),
        more.size,
    )
    inside = (zeros >= 0.0) & (zeros <= 2.0 * np.pi)
    return zeros[inside], who[inside]


def _between_marks(m: int, *marks: tuple[FloatArray, Owners]) -> FloatArray:
    """0, the marks of each of m columns in order and 2 pi, once or more, one column for each."""
    zeros, who = (np.concatenate(each) for each in zip(*marks, strict=True))
    ends = np.full((int(np.bincount(who, minlength=m).max()) + 2, m), 2.0 * np.pi)
    ends[0] = 0.0
    order = np.lexsort((zeros, who))
    zeros, who = zeros[order], who[order]
    ends[1 + np.arange(who.size) - np.searchsorted(who, who), who] = zeros
    return ends


def _orbit_mean(
    sums: Sums, centre: FloatArray, highest: float, free: list[FloatArray]
) -> FloatArray:
    """Mean of the size of sums on an orbit and a centre, and of free waves beside them."""
    m = centre.size
    if not free:
        # From the zeros and the primitive.
        ends = _between_marks(m, _marks(sums, centre, highest))
        primitive = centre * ends + sums(ends, np.broadcast_to(np.arange(m), ends.shape), -1)
        return np.asarray(np.abs(np.diff(primitive, axis=0)).sum(axis=0) / (2.0 * np.pi))
    marks = [_marks(sums, centre - level, highest) for level in _singular(free)]
    marks.append(_marks(sums, np.zeros(m), highest, order=1))
    psi, weights = _between(_between_marks(m, *marks))
    owner = np.repeat(np.arange(m), psi.shape[1])
    value = centre[owner] + sums(psi.ravel(), owner, 0)
    means = _free_mean([a[owner] for a in free], value).reshape(psi.shape)
    return np.asarray(np.sum(means * weights, axis=1) / (2.0 * np.pi))
