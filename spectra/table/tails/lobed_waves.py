r"""The mean of a plane wave over infinitely many lobes, without cutting them off.

The sum over the lobes, :math:`\sum_{k\ge 0} p(\kappa + k) \int \Omega_d(z w(\kappa + k, v))`,
may converge like k^(-1/2) or worse, and oscillates.  It is taken in three ranges:

1. lobes before the turning point of Ω, or whose spacing still drifts: one by one; where there
   are very many of them they are smooth in k, and Euler and Maclaurin's formula sums them;
2. the rest, as the real part of a sum of :math:`f(k) = p\, e^{i z w} H_d(z w)`, which is analytic
   for Re k >= 0.  Multiplied by e^(-2 pi i n k), which is 1 at integers, its phase advances by an
   alpha in [-pi, pi] per lobe, and the formula of Abel and Plana (DLMF 2.10.2)

   .. math:: \sum_{k\ge0} f(k) = \frac{f(0)}2 + \int_0^\infty f(k)\,dk
             + i \int_0^\infty \frac{f(iy) - f(-iy)}{e^{2\pi y} - 1}\,dy

   turns it into integrals of decaying functions, once the first one is rotated to the imaginary
   axis on the side where f falls like exp(-|alpha| y).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from spectra.base.arrays import ComplexArray, FloatArray, panel_rule
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import AccuracyError
from spectra.table.radial.plane_wave import hankel_amplitude, wave_envelope, wave_region
from spectra.table.tails.lobed_tail import LobedTail

__all__ = ["lobed_plane_wave"]

# With a larger drift of the phase the rotated integrals cancel by its exponential.
_MAX_DRIFT = 2.0
_NOTHING = 1e-17
# Fewer lobes than this are summed one by one; and so many are, before Euler-Maclaurin starts.
_FEW_LOBES = 512
_FIRST_LOBES = 64
# And so many times as many, where there is no other way.
_MORE_LOBES = 8
_BLOCK = 1 << 19
# About a minute of work; the nodes of a lobe are those of LobedTail.lobe_rule.
_MOST_TERMS = 1e9
_NODES_PER_PHASE = 40.0 / 32.0
# 2 pi to 50 digits.
_TWO_PI = Fraction("6.28318530717958647692528676655900576839433879875021")
# B_2j/(2j)! for j = 1, ..., 5.
_EULER_MACLAURIN = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)


def lobed_plane_wave(tail: LobedTail, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum over all lobes of their mass times the mean of Ω_dim(w z), and its error, for each z.

    Raises
    ------
    AccuracyError
        At distances so large that the sum would take minutes to hours.
    """
    pairs = [_one(tail, dim, float(distance)) for distance in z]
    values = np.array([p[0] for p in pairs])
    return values, np.array([p[1] for p in pairs])


# The variances of many plans ask for the same distances, and one of them takes milliseconds.
@lru_cache(maxsize=1 << 13)
def _one(tail: LobedTail, dim: int, z: float) -> tuple[float, float]:
    mass = tail.mass
    if z == 0.0:
        return mass, 4e-16 * mass
    first = _first_analytic_lobe(tail, dim, z)
    if not tail.is_resolved:
        first = max(first, _FEW_LOBES * _MORE_LOBES)
    error = (4e-15 + _rounding(tail, dim, z, first)) * mass
    whole = _bound(tail, dim, z, tail.kappa)
    if whole <= _NOTHING:
        return 0.0, error + whole
    one_by_one = first <= _FEW_LOBES or z * tail.period > 0.25
    _refuse_endless_sums(tail, dim, z, first if one_by_one else _FIRST_LOBES)
    v, share = tail.lobe_rule(z * tail.steepness)
    if one_by_one:
        value, skipped = _explicit(tail, dim, z, v, share, first)
        if skipped:
            return value, error + skipped
    else:
        value, _ = _explicit(tail, dim, z, v, share, _FIRST_LOBES)
        value += _smooth_sum(tail, dim, z, v, share, _FIRST_LOBES, first)
    start = tail.kappa + first
    rest = _bound(tail, dim, z, start)
    # Without a series at complex indices all that is known of the rest is its size.
    if rest <= _NOTHING or not tail.is_resolved:
        return value, error + rest
    return value + _abel_plana(tail, dim, z, v, share, start), error


def _refuse_endless_sums(tail: LobedTail, dim: int, z: float, count: int) -> None:
    """Raise where the lobes, each with nodes for every turn of the wave, are too many to sum."""
    nodes = max(1.0, _NODES_PER_PHASE * z * tail.steepness)
    # The integrals of Abel and Plana take about as many places as the few lobes.
    most = int(_MOST_TERMS / nodes)
    if most >= _FEW_LOBES and (
        count <= most or _bound(tail, dim, z, tail.kappa + most) <= _NOTHING
    ):
        return
    raise AccuracyError(
        f"At the distance {z:.3g} the expectation of a lobed law takes {nodes:.0e} values in each "
        f"of {max(count, _FEW_LOBES):.0e} lobes, more than {_MOST_TERMS:.0e} in all: the distance "
        "is thousands of the lengths on which the kernel varies. Ask for smaller distances; "
        "features that are drawn from the table are not touched by this."
    )


def _rounding(tail: LobedTail, dim: int, z: float, first: int) -> float:
    """What the rounding of the phases z w does up to the lobe from which they are reduced."""
    ends = z * (tail.period * (tail.kappa + np.array([0.0, first])) + tail.drift)
    # The phase times the envelope is a power on both sides of this point.
    x = np.append(ends, np.clip(wave_region(dim), ends[0], ends[1]))
    return float(2.0**-52 * np.max(x * wave_envelope(dim, x)))


def _bound(tail: LobedTail, dim: int, z: float, s: float) -> float:
    """Bound of the contribution of all lobes from s on."""
    index = np.array([s])
    x = z * tail.radius(index, np.zeros(1))[0]
    return float((tail.survival(index) * wave_envelope(dim, x))[0])


def _first_analytic_lobe(tail: LobedTail, dim: int, z: float) -> int:
    """Number of lobes before the range in which the sum of Abel and Plana is well conditioned."""
    turning = (wave_region(dim) / z + tail.drift) / tail.period
    steady = tail.settled(_MAX_DRIFT / z)
    return int(max(0.0, np.ceil(max(turning, steady) - tail.kappa)))


def _terms(
    tail: LobedTail, dim: int, z: float, v: FloatArray, share: FloatArray, s: FloatArray
) -> FloatArray:
    """Mass of lobe s times the mean of the plane wave over it."""
    waves = plane_wave_mean(dim, z * tail.radius(s, v)) @ share
    return np.asarray(tail.lobe_mass(s).real * waves)


def _explicit(
    tail: LobedTail, dim: int, z: float, v: FloatArray, share: FloatArray, count: int
) -> tuple[float, float]:
    """Sum of the first lobes, and the bound of all others where that is nothing."""
    total = 0.0
    step = max(1, _BLOCK // v.size)
    for start in range(0, count, step):
        rest = _bound(tail, dim, z, tail.kappa + start)
        if rest <= _NOTHING:
            return total, rest
        s = tail.kappa + np.arange(start, min(start + step, count), dtype=float)
        total += float(np.sum(_terms(tail, dim, z, v, share, s)))
    return total, 0.0


def _smooth_sum(
    tail: LobedTail, dim: int, z: float, v: FloatArray, share: FloatArray, start: int, stop: int
) -> float:
    """Sum of the lobes start <= k < stop, which are smooth in k, by Euler and Maclaurin."""
    low, high = tail.kappa + start, tail.kappa + stop
    cuts = [low]
    while cuts[-1] < high:
        cuts.append(min(high, cuts[-1] + min(0.5 * cuts[-1], 16.0 / (z * tail.period))))
    ends = np.array(cuts)
    s, weights = panel_rule(ends[:-1], ends[1:], 24)
    step = max(1, _BLOCK // v.size)
    flat = s.ravel()
    terms = np.concatenate(
        [_terms(tail, dim, z, v, share, flat[i : i + step]) for i in range(0, flat.size, step)]
    )
    total = float(terms @ weights.ravel())
    for end, sign in ((low, -1.0), (high, 1.0)):
        # Derivatives of a series on [end - 4, end + 4], where the terms are nearly polynomial.
        nodes = -np.cos(np.linspace(0.0, np.pi, 17))
        local = _terms(tail, dim, z, v, share, end + 4.0 * nodes)
        series = np.polynomial.Chebyshev.fit(nodes, local, 16, domain=[-1, 1])
        total -= sign * 0.5 * float(series(0.0))
        for j, c in enumerate(_EULER_MACLAURIN):
            total += sign * c * float(series.deriv(2 * j + 1)(0.0)) / 4.0 ** (2 * j + 1)
    return total


def _advance(z: float, period: float) -> float:
    """z * period modulo 2 pi, in [-pi, pi], without rounding error.

    Where a slow tail resonates, at alpha = 0, the sum has a cusp |alpha|^sigma, on which the
    rounding of the product alone would show as its square root.
    """
    product = Fraction(z) * Fraction(period)
    return float(product - round(product / _TWO_PI) * _TWO_PI)


def _abel_plana(
    tail: LobedTail, dim: int, z: float, v: FloatArray, share: FloatArray, start: float
) -> float:
    """Sum of all lobes from the index ``start`` on."""
    alpha = _advance(z, tail.period)

    def f(k: ComplexArray) -> ComplexArray:
        """Sum over the nodes v of the analytic terms at the lobes start + k."""
        s = start + k
        total = np.empty(k.size, dtype=complex)
        step = max(1, _BLOCK // v.size)
        for i in range(0, k.size, step):
            part = slice(i, i + step)
            shift = tail.shift(s[part], v)
            w = tail.period * s[part, None] + shift
            phase = z * (tail.period * start + shift) + alpha * k[part, None]
            total[part] = (np.exp(1j * phase) * hankel_amplitude(dim, z * w)) @ share
        return np.asarray(tail.lobe_mass(s) * total)

    side = 1.0 if alpha >= 0.0 else -1.0
    # Scale on which f varies: the index itself, the waves, the distance from the turning point.
    margin = z * (tail.period * start - tail.drift) - max(0.5 * dim - 1.0, 0.0)
    scale = min(start, margin / (z * tail.period))
    if alpha != 0.0:
        scale = min(scale, 2.0 / abs(alpha))
    at_start = f(np.zeros(1, dtype=complex))
    power = tail.sigma + 0.5 * (dim - 1)
    size = float(np.abs(at_start[0])) * start + _NOTHING
    reach = start * (size / (power * _NOTHING)) ** (1.0 / power)
    if alpha != 0.0:
        reach = min(reach, max(40.0 / abs(alpha), 4.0 * scale))
    doublings = int(np.ceil(np.log2(max(reach / scale, 2.0))))
    ends = 0.5 * scale * np.concatenate([[0.0], 2.0 ** np.arange(0.0, doublings + 2.0)])
    y, weights = (a.ravel() for a in panel_rule(ends[:-1], ends[1:], 16))
    rotated = side * 1j * np.sum(weights * f(np.asarray(side * 1j * y)))

    # |f| grows at most like exp(pi y), so that the last integrand falls at least like exp(-pi y).
    ends = np.concatenate([np.linspace(0.0, 1.0, 3) * min(1.0, scale), [1.0, 2.0, 4.0, 8.0, 13.0]])
    ends = np.unique(ends)
    y, weights = (a.ravel() for a in panel_rule(ends[:-1], ends[1:], 20))
    ends_sum = 1j * np.sum(
        weights * (f(np.asarray(1j * y)) - f(np.asarray(-1j * y))) / np.expm1(2.0 * np.pi * y)
    )
    return float((0.5 * at_start[0] + rotated + ends_sum).real)
