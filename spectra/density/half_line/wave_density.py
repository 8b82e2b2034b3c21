r"""The density of a kernel with waves, in pieces on both sides of each frequency.

A *distance* is \|w - r\| with a frequency r or r = 0.  Near the frequencies the density is found by
integrals on rays, which are compared with those at another angle at a few places of every panel.
Far beyond the highest frequency, it is found by sums on two rays, which are compared, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lgamma, log

import flint
import numpy as np
import sympy
from scipy.special import hankel1e, hankel2e, jv
from sympy.core.function import Application

from spectra.base.accuracy import DENSITY, EPS, NOISE, SAME
from spectra.base.arrays import ComplexArray, FloatArray
from spectra.base.limits import check_time
from spectra.base.piecewise import Piecewise
from spectra.base.precision import working_precision
from spectra.base.series import NODES, ORDER, WEIGHTS
from spectra.density.components import Component, Evaluation
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.density.half_line.ray_sums import MARGIN, RaySums
from spectra.density.half_line.sampled_density import power_tail, sampled_density
from spectra.density.panel_density import PanelDensity, Powers, fit_pieces
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.ball_function import BallFunction, analytic_continuation
from spectra.formula.parsing import Z

__all__ = ["wave_density"]

# Angles of two sets of integrals, which agree to this share of the largest distance * |rho|.
_ANGLES, _AGREE = (0.8, 0.6), DENSITY
# Angles and shifts of the sums beyond the highest frequency; they begin at this multiple of it.
_RAYS_BEYOND, _BEYOND = ((0.9, 0.0), (0.6, 0.5)), 4.0
# Errors as a share of the largest distance * |rho|.  Width of the first panels in log distance.
_RESOLVED, _WIDTH = 32.0 * EPS, 2.0
# The error of a series whose coefficients all have the error _RESOLVED.
_SERIES_ERROR = ORDER * _RESOLVED
# Nearer than the first panel the density is continued as a power of the distance.  Its error is
# this multiple of the panel's error, since the density may have a logarithm as a factor.
_ERROR_FACTOR = 4.0
# Below this share of the largest, distance * rho counts as 0.  A density that is infinite at a
# radius is a power of the distance below exp(_NEAREST) times the farthest distance.
_NEGLIGIBLE, _NEAREST = DENSITY / 100.0, -36.0
# Points of [-1, 1] on each panel at which the two sets of integrals are compared.
_CHECKS = np.array([-0.77, 0.1, 0.66])
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.besselj, sympy.besseli)
# The ``factor`` of a wave is a rounding error if it is below this share of |c| (_find_exponents).
_ROUNDING = SAME
# Pieces overlap by this share, so that rounding leaves no gap between them.
_OVERLAP = 8.0 * EPS

#: A density at w = radius + side * distance as a function of the distance, from near to far:
#: (radius, side, near, far, density).
OneSidedPiece = tuple[float, float, float, float, Component]
# The trapezoidal rule in log t on the rays z = scale + t exp(+-i angle): its step, and its start
# below the scale.  It ends where waves have decayed at this |w - b|, relative to the highest b.
_STEP, _START, _LEAST_DISTANCE = 1.0 / 20.0, 37.0, 1e-30
# Waves below exp(-45) are negligible.
_DECAYED = 45.0
_BITS = 64
# For |y| beyond this many times 1 + nu^2, Hankel functions of order nu are three terms of their
# asymptotic series.
_FAR = 1e5

#: A Hankel function of an order and an argument y, times exp(-iy) or exp(iy).
_Hankel = Callable[[float, ComplexArray], ComplexArray]


@dataclass(frozen=True, eq=False)
class WaveDensity(Component):
    """A density made of pieces, as a function of x = side * (w - radius).

    The density of w itself has the radius 0 and the side 1.  With another radius, x is the distance
    to it, which would be rounded if it were computed from w.
    """

    pieces: tuple[OneSidedPiece, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...]
    end: float
    radius: float = 0.0
    side: float = 1.0

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The density; the argument is x.  Errors include rounding of distances to other radii."""
        x = np.asarray(w, dtype=float)
        w = self.radius + self.side * x
        found = np.multiply.outer((1.0, -np.inf, -np.inf, 0.0), np.ones_like(x))
        for radius, side, near, far, density in self.pieces:
            distance, least = x, float(np.finfo(float).tiny)
            if radius != self.radius:
                distance = side * (w - radius)
                least = max(least, EPS * radius)
            elif side != self.side:
                continue
            inside = (distance >= near) & (distance <= far * (1.0 + _OVERLAP))
            if inside.any():
                found[:, inside] = density.evaluate(np.maximum(distance[inside], least))
        sign, log, envelope, error = found
        for radius, exponent in self.breaks:
            if exponent < 0.0 and radius != self.radius:
                # Rounding of w, relative to the value: a power of the distance varies by its share.
                share = EPS * radius / np.maximum(np.abs(w - radius), EPS * radius)
                error = error + 2.0 * share * np.exp(np.minimum(log - envelope, 0.0))
        return sign, log, envelope, error

    def by_distance(self, radius: float, side: float) -> Component | None:
        """The density at radius + side * x as a function of x; None without a piece there."""
        for *place, _, density in self.pieces:
            if place == [radius, side, 0.0]:
                power, bulk = density.origin_exponent, density.bulk
                return replace(self, radius=radius, side=side, origin_exponent=power, bulk=bulk)
        return None

    def edges(self) -> FloatArray:
        """Radii where the panels of all pieces begin."""
        radii = [r + side * density.edges() for r, side, *_, density in self.pieces]
        return np.concatenate(radii)


def wave_density(formula: HalfLineFormula, dim: int) -> WaveDensity:
    """The density next to the origin, on both sides of each frequency, and beyond the last."""
    pair = [WaveIntegrals(formula, dim, angle) for angle in _ANGLES]
    frequencies = [b for b in pair[0].frequencies if b]
    end = frequencies[-1] if _is_band_limited(formula) else np.inf
    top = min(end, _BEYOND * frequencies[-1])
    exponents = _find_exponents(formula, dim, end)
    # (radius, side, farthest distance): both sides of each radius, halfway to the next.
    sides = []
    for low, high in pairwise([0.0, *frequencies]):
        sides += [(low, 1, 0.5 * (high - low)), (high, -1, 0.5 * (high - low))]
    if top > frequencies[-1]:
        sides.append((frequencies[-1], 1, top - frequencies[-1]))
    log_shares = -np.arange(0.0, 4.0, 0.5)
    peak = max(
        float(np.abs(_evaluate(pair[0], radius, side, np.log(far) + log_shares)).max())
        for radius, side, far in sides
    )
    pieces = [
        _fit_side(pair, r, side, far, exponents.get((r, side), 0.0), peak) for r, side, far in sides
    ]
    if end == np.inf:
        pieces.append(_sum_beyond(formula, dim, top, peak))
    breaks = [(b, min(exponents[b, 1], exponents[b, -1])) for b in map(float, formula.slow_waves)]
    if end < np.inf:
        breaks[-1] = end, exponents[end, -1]
    return WaveDensity(
        pieces=tuple(pieces),
        total=formula.value_at_zero,
        origin_exponent=exponents[0.0, 1],
        bulk=(0.25 * frequencies[0], min(end, 2.0 * frequencies[-1])),
        decay=pieces[-1][-1].decay,
        breaks=tuple(breaks),
        end=end,
    )


def _evaluate(
    integrals: WaveIntegrals, radius: float, side: int, log_distance: FloatArray
) -> FloatArray:
    """distance * rho on one side of a radius."""
    distance = np.exp(log_distance)
    w = radius + side * distance
    return integrals(radius, side, distance) * distance / w


def _fit_side(
    pair: list[WaveIntegrals], radius: float, side: int, far: float, exponent: float, peak: float
) -> OneSidedPiece:
    """The density on one side of a radius, on panels from ``far`` inwards until it is negligible.

    Next to the radius it behaves like distance**exponent.
    """
    high = float(np.log(far))

    def error_factor(x: FloatArray) -> FloatArray:
        # Towards the radius, distance * rho falls like this, a power of the distance times a
        # logarithm at most, and so does its error.
        t = np.minimum(x - high, 0.0)
        return np.exp(min(exponent + 1.0, 1.0) * t) * (1.0 - t)

    def sample(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        values = np.array([_evaluate(pair[0], radius, side, row) for row in x])
        return values, _RESOLVED * peak * error_factor(x), np.zeros(len(x))

    low, size = high, np.inf
    while size > _NEGLIGIBLE * peak and (exponent >= 0.0 or low > high + _NEAREST):
        low -= _WIDTH
        if low < high + 2.0 * _NEAREST:
            raise NoRouteError(
                f"The density is not integrable at the radius {radius:.4g}, as far as its "
                "values show. Use a smaller dimension, or design a finite measure for your range "
                "of distances (design)."
            )
        x = low + 0.5 * _WIDTH * (1.0 + _CHECKS)
        size = float(np.abs(_evaluate(pair[0], radius, side, x)).max())
    # The last edge is a little beyond ``far``, so that no rounded distance is beyond the panels.
    edges = np.linspace(low, high + SAME, 1 + round((high - low) / _WIDTH))
    pieces = fit_pieces(sample, edges)
    start, stop = pieces.charts[:, 2:4].T
    x = (0.5 * (start + stop) + np.multiply.outer(_CHECKS, 0.5 * (stop - start))).ravel()
    difference = np.abs(pieces(np.exp(x)) - _evaluate(pair[1], radius, side, x))
    share = difference.reshape(_CHECKS.size, -1) / error_factor(stop)
    error = _bound_error(float(share.max()), peak) + _SERIES_ERROR * peak
    added = error * error_factor(stop) / NOISE
    density = _extend(replace(pieces, errors=pieces.errors + added[:, None]), far, exponent)
    return radius, float(side), 0.0, far, density


def _extend(pieces: Piecewise, far: float, exponent: float) -> PanelDensity:
    """The density on panels up to the distance ``far``, and a power of the distance below them."""
    ending = Powers.vanishing(far, -np.inf)
    bulk = (float(np.exp(-2.0)) * far, far)
    density = PanelDensity(pieces, 0.0, exponent, bulk, np.inf, ending, ending)
    first = pieces.low[:1] * (1.0 + SAME)
    sign, log, envelope, error = density.evaluate(first)
    beginning = Powers(
        np.array([exponent, min(exponent, 0.0)]),
        np.append(sign, 0.0),
        np.append(log, envelope + np.log(error) + np.log(_ERROR_FACTOR)),
        np.zeros(2),
        float(first[0]),
    )
    return replace(density, beginning=beginning, ending=Powers.vanishing(far, float(log[0])))


def _bound_error(difference: float, peak: float) -> float:
    """The error of results on two rays that differ by this."""
    if not difference <= _AGREE * peak:
        raise AccuracyError(
            "The density of a kernel with waves was not found: integrals on rays of two angles "
            f"differ by {difference / peak:.0e} of its largest value. Use a smaller dimension, or "
            "design a finite measure for your range of distances (design)."
        )
    return 2.0 * difference


def _sum_beyond(formula: HalfLineFormula, dim: int, top: float, peak: float) -> OneSidedPiece:
    """The density beyond the radius ``top``, by sums on two rays."""
    tail = power_tail(formula.expansion_at_zero, dim)
    # Interpolation at ``top`` needs MARGIN samples below it, and their steps are at most 2^-5.
    lowest = float(np.log(top)) - (MARGIN + 1) * 2.0**-5
    stop = tail.start if tail else np.inf
    both = [
        RaySums(formula, dim, angle, shift=shift, lowest=lowest).sample_all(peak, stop)
        for angle, shift in _RAYS_BEYOND
    ]
    error = _bound_error(both[0].difference(both[1]), peak)
    samples = min(both, key=lambda s: s.step)
    samples = replace(samples, error=error + samples.rounding)
    density = sampled_density(samples, 0.0, dim, np.inf, tail)
    return 0.0, 1.0, top, np.inf, density


def _find_exponents(
    formula: HalfLineFormula, dim: int, end: float
) -> dict[tuple[float, int], float]:
    """Exponents by (radius, side): next to the radius the density is like distance**exponent.

    A wave c z^-a exp(ibz) adds to a smooth density a multiple of |w - b|^beta, beta = a - (d+1)/2.
    The multiple is proportional to Gamma(-beta) Re[exp(-i pi beta/2) p] below b, with
    p = c exp(i pi (d-1)/4), and to the same with the conjugate of p above b.
    """
    rounding = (formula.decay == dim) * EPS * dim  # a factor log(w) counts as a smaller exponent
    exponents = {(0.0, 1): min(formula.decay, dim) - 1.0 - rounding}
    for b, (a, _, coefficient) in formula.slow_waves.items():
        beta, c = float(a) - 0.5 * (dim + 1), complex(coefficient.evalf(20))
        p = np.exp(0.25j * np.pi * (dim - 1)) * c
        for side, phase in ((1, np.conj(p)), (-1, p)):
            factor = abs((np.exp(-0.5j * np.pi * beta) * phase).real)
            is_bounded = beta > 0.0 or factor < _ROUNDING * abs(c)
            # Just below the end of the spectrum the smooth part of the density is 0.
            is_end = float(b) == end and side < 0
            exponents[float(b), side] = 0.0 if is_bounded and not is_end else beta
    return exponents


def _is_band_limited(formula: HalfLineFormula) -> bool:
    """Whether k is even and entire, and the density 0 beyond the last frequency (Paley, Wiener)."""
    powers = (power for power in formula.expr.atoms(sympy.Pow) if power.has(Z))
    functions = (f for f in formula.expr.atoms(Application) if f.has(Z))
    return (
        all(q == 0 and a.is_even for a, q, _ in formula.expansion_at_zero)
        and all(p.base == Z or (p.exp.is_Integer and p.exp >= 0) for p in powers)
        and all(isinstance(f, _ENTIRE) and f.args[-1].is_polynomial(Z) for f in functions)
    )


class WaveIntegrals:
    r"""w rho of a kernel with waves, in doubles; ``frequencies`` are all b, 0 for f_0.

    The kernel :math:`f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)` times a Bessel function J is integrated on
    the half-line up to its scale.  Beyond it J = (H1 + H2)/2, and each wave times H1 or H2 is
    integrated on a ray on which the product decays: upwards with H1; upwards with H2 for w < b, and
    downwards for w > b.  The distance to b is an argument, since w - b would be rounded.
    """

    def __init__(self, kernel: HalfLineFormula, dim: int, angle: float) -> None:
        self.dim = dim
        self.frequencies = [float(b.evalf(30)) for b in kernel.amplitudes]
        self._front = float(np.exp((1.0 - 0.5 * dim) * log(2.0) - lgamma(0.5 * dim)))
        self._scale = float(np.exp(kernel.log_scale))
        highest = max(self.frequencies)
        # Panels up to the scale: doubling in width, then half a radian of the fastest wave wide.
        count = int(highest * self._scale) + 2
        small = self._scale * 2.0 ** -np.arange(56.0, 0.0, -1.0)
        edges = np.concatenate([[0.0], small, self._scale * np.linspace(0.5, 1.0, count)[1:]])
        half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
        self._z = (middle[:, None] + half[:, None] * NODES).ravel()
        k = [float(kernel.value(float(s), 0.0, _BITS).real.mid()) for s in np.log(self._z)]
        self._weighted_kernel = np.array(k) * (half[:, None] * WEIGHTS).ravel()
        last = log(50.0 / _LEAST_DISTANCE / highest)
        self._t = np.exp(np.arange(kernel.log_scale - _START, last, _STEP))
        # Keys are 1 for rays upwards and -1 for rays downwards.
        self._directions = {sign: np.exp(1j * sign * angle) for sign in (1, -1)}
        self._amplitudes = {
            (i, sign): self._evaluate_amplitude(analytic_continuation(f, Z), angle * sign)
            for i, f in enumerate(kernel.amplitudes.values())
            for sign in (1, -1)
        }

    def _evaluate_amplitude(self, f: BallFunction, angle: float) -> ComplexArray:
        """f on a ray times dz/dlog t and the step."""
        with working_precision(4 * _BITS):
            direction = flint.acb(0, flint.arb(angle)).exp()
            scale = flint.acb(flint.arb(self._scale))
            z = [scale + direction * flint.arb(float(t)) for t in self._t]
            values = np.array([complex(f.to_accuracy(place, 2 * _BITS)) for place in z])
        return np.asarray(values * self._t * np.exp(1j * angle) * _STEP, dtype=complex)

    def __call__(self, radius: float, side: int, distance: FloatArray) -> FloatArray:
        """w rho at w = radius + side * distance."""
        order, offset = 0.5 * self.dim - 1.0, side * distance
        w = radius + offset
        y = np.multiply.outer(w, self._z)
        total = w * (y ** (order + 1.0) * jv(order, y) * self._weighted_kernel).sum(axis=1)
        for i, b in enumerate(self.frequencies):
            total += self._integrate_wave(i, 1, w, b + w, hankel1e)
            if b:
                # If distances are from b itself, w - b is not rounded.
                difference = offset if b == radius else w - b
                for rows, sign in ((difference < 0.0, 1), (difference >= 0.0, -1)):
                    if rows.any():
                        rate = -difference[rows]
                        total[rows] += self._integrate_wave(i, sign, w[rows], rate, hankel2e)
        return total * self._front

    def _integrate_wave(
        self, i: int, sign: int, w: FloatArray, rate: FloatArray, hankel: _Hankel
    ) -> FloatArray:
        """Integrate wave i times a Hankel function, a product like exp(i rate z), on a ray."""
        check_time()
        slowest = float(np.abs(rate).min()) * self._directions[1].imag
        count = np.searchsorted(self._t, _DECAYED / max(slowest, 1e-300))
        z = self._scale + self._t[:count] * self._directions[sign]
        y = np.multiply.outer(w, z)
        with np.errstate(all="ignore"):
            phase = np.exp(1j * np.multiply.outer(rate, z))
            modulation = _evaluate_modulation(hankel, 0.5 * self.dim - 1.0, y)
            terms = y ** (0.5 * self.dim) * modulation * phase
            terms *= self._amplitudes[i, sign][:count]
        counted = np.isfinite(terms) & (phase != 0)
        return w * np.where(counted, terms, 0).sum(axis=1).real


def _evaluate_modulation(hankel: _Hankel, order: float, y: ComplexArray) -> ComplexArray:
    """H1 times exp(-iy), or H2 times exp(iy)."""
    far, found = np.abs(y) > _FAR * (1.0 + order * order), np.empty(y.shape, complex)
    found[~far] = hankel(order, y[~far])
    x, i, m = y[far], 1j if hankel is hankel1e else -1j, 4.0 * order * order
    a = (m - 1.0) / 8.0 / x
    leading = np.sqrt(2.0 / (np.pi * x)) * np.exp(-i * np.pi * (order / 2.0 + 0.25))
    found[far] = leading * (1.0 + i * a - a * (m - 9.0) / 16.0 / x)
    return found
