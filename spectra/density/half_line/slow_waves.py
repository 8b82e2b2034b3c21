"""The density of a kernel with slow waves, on both sides of each frequency.

Integrals on rays of two angles are compared at a few places of every panel, and so are the sums on
two rays beyond the highest frequency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import sympy

from spectra.base.numbers import FloatArray
from spectra.density.half_line.between_waves import BetweenWaves, Piece
from spectra.density.half_line.ends.formula_ends import Ends
from spectra.density.half_line.ends.power_terms import Term
from spectra.density.half_line.kernel_on_rays import KernelOnRays
from spectra.density.half_line.power_tail import end_of_samples, power_tail
from spectra.density.half_line.ray_sums import RaySums
from spectra.density.half_line.sampled_density import connect_tail, sampled_density
from spectra.density.half_line.wave_integrals import WaveIntegrals
from spectra.density.panels.log_panels import Panelled, Panels, Powers, fit_panels
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.reader.parsing import Z

__all__ = ["slow_wave_density"]

# Angles of two sets of integrals, which agree to this share of the largest value.
_ANGLES, _AGREE = (0.8, 0.6), 1e-12
# Angles and shifts of the sums beyond the highest frequency; they begin at this multiple of it.
_RAYS_BEYOND, _BEYOND = ((0.9, 0.0), (0.6, 0.5)), 4.0
# Integrals are resolved to this share of the largest value; first panels have this width.
_RESOLVED, _WIDTH = 7e-15, 2.0
# Errors fall towards a radius with a logarithm, which a power law below all panels leaves out.
_LOGARITHM = float(np.log(4.0))
# Below this share the mass beside a frequency counts as 0.  A density that is singular there has
# its power law from this distance on, relative to the next frequency.
_NEGLIGIBLE, _NEAREST = 1e-14, -36.0
_CHECKS = np.array([-0.77, 0.1, 0.66])
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.besselj, sympy.besseli)
# A share of a wave below this is rounding.
_NO_SHARE = 1e-9


def slow_wave_density(found: Ends, kernel: KernelOnRays, dim: int) -> BetweenWaves:
    """The density of slow waves, on both sides of each frequency and next to the origin."""
    first, second = (WaveIntegrals(found, kernel, dim, angle) for angle in _ANGLES)
    band_limited = _is_band_limited(found)
    rates = [wave.rate for wave in found.waves if wave.rate]
    top = rates[-1] if band_limited else _BEYOND * rates[-1]
    powers = _find_powers(found, dim, top if band_limited else np.inf)
    sides = [
        _Side(radius, side, far, powers.get((radius, side), 0.0))
        for radius, side, far in _divide([0.0, *rates], top)
    ]
    log_far = -np.arange(0.0, 4.0, 0.5)
    peak = max(float(np.abs(s.values(first, np.log(s.far) + log_far)).max()) for s in sides)
    panels = [_fit_panels(first, side, peak) for side in sides]
    apart = max(_compare(second, *both) for both in zip(sides, panels, strict=True))
    beyond = None
    if not band_limited:
        beyond, wrong = _find_beyond(found, kernel, dim, top, peak)
        apart = max(apart, wrong)
    if not apart <= _AGREE * peak:
        raise AccuracyError(
            f"The density of {found.expr} on R^{dim} was not found: integrals on rays of two "
            f"angles differ by {apart / peak:.0e} of its largest value. Use a smaller dimension, "
            "or design a finite measure for your range of distances (design)."
        )
    pieces = [side.piece(own, 2.0 * apart) for side, own in zip(sides, panels, strict=True)]
    if beyond is not None:
        pieces.append(Piece(0.0, 1.0, top, np.inf, beyond))
    singular = [
        (b, min(powers.get((b, s), 0.0) for s in (1, -1))) for b in map(float, found.turning)
    ]
    if band_limited:
        singular[-1] = top, powers[top, -1]
    return BetweenWaves(
        pieces=tuple(pieces),
        total=found.total,
        origin_exponent=powers[0.0, 1],
        bulk=(0.25 * rates[0], rates[-1] if band_limited else 2.0 * rates[-1]),
        decay=np.inf if beyond is None else beyond.decay,
        breaks=tuple(singular),
        end=top if band_limited else np.inf,
    )


class _Side(NamedTuple):
    """One side of a radius up to a distance, and the power with which the density begins there."""

    radius: float
    side: int
    far: float
    power: float

    def values(self, integrals: WaveIntegrals, log_distance: FloatArray) -> FloatArray:
        """distance * rho."""
        distance = np.exp(log_distance)
        w = self.radius + self.side * distance
        return np.asarray(integrals(self.radius, self.side, distance) * distance / w)

    def fall(self, log_distance: FloatArray) -> FloatArray:
        """How the error of distance * rho falls towards the radius, from 1 at the far end.

        A density may be a power or a logarithm of the distance there, or bounded.
        """
        t = np.minimum(log_distance - np.log(self.far), 0.0)
        return np.asarray(np.exp(min(self.power + 1.0, 1.0) * t) * (1.0 - t))

    def piece(self, panels: Panels, error: float) -> Piece:
        """The density on panels of this side, with an error of distance * rho at the far end."""
        own = error * self.fall(panels.high) * np.exp(-panels.level)
        panels = replace(panels, error=panels.error + own)
        first = np.exp(panels.low[:1] + 1e-9)
        sign, log = panels.signed_log(first)
        wrong = panels.log_envelope(first) + np.log(panels.relative_error(first))
        beginning = Powers(
            np.array([self.power, min(self.power, 0.0)]),
            np.append(sign, 0.0),
            np.append(log, wrong + _LOGARITHM),
            np.zeros(2),
            float(first[0]),
        )
        nothing = Powers.vanishing(self.far, float(log[0]))
        bulk = float(np.exp(-2.0)) * self.far, self.far
        density = Panelled(panels, 0.0, self.power, bulk, np.inf, beginning, nothing)
        return Piece(self.radius, float(self.side), 0.0, self.far, density)


def _divide(radii: list[float], top: float) -> Iterator[tuple[float, int, float]]:
    """Both sides of each radius, halfway to the next; the last one reaches up to ``top``."""
    for low, high in pairwise(radii):
        yield low, 1, 0.5 * (high - low)
        yield high, -1, 0.5 * (high - low)
    if top > radii[-1]:
        yield radii[-1], 1, top - radii[-1]


def _find_powers(found: Ends, dim: int, end: float) -> dict[tuple[float, int], float]:
    """The powers of the distance with which the density begins, by radius and side."""
    decay = next((float(a) for a, _, _ in found.infinity), np.inf)
    powers = {(0.0, 1): min(decay, dim) - 1.0}
    for b, term in found.turning.items():
        for side in (1, -1):
            ends = float(b) == end and side < 0
            powers[float(b), side] = _find_kink(term, dim) if ends else _find_power(term, dim, side)
    return powers


def _fit_panels(integrals: WaveIntegrals, side: _Side, peak: float) -> Panels:
    """Panels of distance * rho, from the far end inwards until it is negligible."""
    high = float(np.log(side.far))
    low, size = high, np.inf
    while size > _NEGLIGIBLE * peak and (side.power >= 0.0 or low > high + _NEAREST):
        low -= _WIDTH
        if low < high + 2.0 * _NEAREST:
            raise NoRouteError(
                f"The density is not integrable at the radius {side.radius:.4g}, as far as its "
                "values show. Use a smaller dimension, or design a finite measure for your range "
                "of distances (design)."
            )
        size = float(np.abs(side.values(integrals, low + 0.5 * _WIDTH * (1.0 + _CHECKS))).max())

    def sample(centre: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        x = np.log(centre) + offsets
        return side.values(integrals, x), _RESOLVED * peak * side.fall(x), 0.0

    edges = np.linspace(low, high + 1e-9, 1 + round((high - low) / _WIDTH))
    return fit_panels(sample, edges, tilt=False)


def _compare(integrals: WaveIntegrals, side: _Side, panels: Panels) -> float:
    """The largest difference of distance * rho from other integrals at three places a panel.

    It is relative to how the error falls towards the radius.
    """
    worst = 0.0
    for low, high in zip(panels.low, panels.high, strict=True):
        x = 0.5 * (low + high) + 0.5 * (high - low) * _CHECKS
        sign, log = panels.signed_log(np.exp(x))
        apart = np.abs(sign * np.exp(log + x) - side.values(integrals, x)).max()
        worst = max(worst, float(apart / side.fall(high)))
    return worst


def _find_beyond(
    found: Ends, kernel: KernelOnRays, dim: int, top: float, peak: float
) -> tuple[Panelled, float]:
    """The density beyond all frequencies by two rays, and how far they are apart."""
    ending = power_tail(found.zero, dim)
    lowest = float(np.log(0.5 * top))
    both = [
        RaySums(kernel, dim, angle, shift=shift, lowest=lowest).whole(peak, end_of_samples(ending))
        for angle, shift in _RAYS_BEYOND
    ]
    apart = both[0].difference(both[1])
    samples = min(both, key=lambda s: s.step)
    if ending is not None:
        ending = connect_tail(samples, ending)
    samples = replace(samples, error=2.0 * apart + samples.rounding)
    return sampled_density(samples, 0.0, dim, np.inf, ending), apart


def _find_power(wave: Term, dim: int, side: float) -> float:
    """The power of the distance with which the density begins beside the frequency of a wave.

    The singular part is Gamma(-beta) |w - b|^beta Re[exp(-i pi beta/2) c exp(+-i psi)], with the
    phase psi of a Hankel function at infinity, next to what is smooth at b.
    """
    beta, c = _find_kink(wave, dim), complex(wave[2].evalf(20))
    phase = np.exp(0.25j * np.pi * (dim - 1)) * c
    size = (np.exp(-0.5j * np.pi * beta) * (np.conj(phase) if side > 0.0 else phase)).real
    return 0.0 if beta > 0.0 or abs(size) < _NO_SHARE * abs(c) else beta


def _find_kink(wave: Term, dim: int) -> float:
    """The power beta of the distance in what is singular at the frequency of a wave."""
    return float(wave[0]) - 0.5 * (dim + 1)


def _is_band_limited(found: Ends) -> bool:
    """Whether the density vanishes beyond the largest frequency (Paley and Wiener).

    So it is if the kernel is even, and analytic in the whole plane but for what may be removed at
    zero.
    """
    even = all(q == 0 and a.is_even for a, q, _ in found.zero)
    return even and all(_is_entire(node) for node in sympy.preorder_traversal(found.expr))


def _is_entire(node: sympy.Expr) -> bool:
    """Whether a part of a formula is analytic in the plane cut along the negative half-line."""
    if not node.has(Z) or node == Z or node.is_Add or node.is_Mul:
        return True
    if node.is_Pow:
        return node.base == Z or bool(node.exp.is_Integer and node.exp >= 0)
    return isinstance(node, _ENTIRE) and bool(node.args[-1].is_polynomial(Z))
