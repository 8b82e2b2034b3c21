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
from spectra.density.half_line.between_waves import BetweenWaves, Piece, Side, error_fall
from spectra.density.half_line.ends.formula_ends import Ends
from spectra.density.half_line.ends.power_terms import Term
from spectra.density.half_line.kernel_on_rays import KernelOnRays
from spectra.density.half_line.power_tail import power_tail
from spectra.density.half_line.ray_sums import RaySums
from spectra.density.half_line.sampled_density import (
    Origin,
    SampledDensity,
    joined,
    rounding_of,
)
from spectra.density.half_line.wave_integrals import WaveIntegrals
from spectra.density.panels.log_panels import chebyshev_coefficients
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.reader.parsing import Z

__all__ = ["beside_frequencies"]

# Angles of two sets of integrals, which agree to this share of the largest value.
_ANGLES, _AGREE = (0.8, 0.6), 1e-12
# Angles of the sums beyond the highest frequency, and so many times that frequency they begin at.
_ANGLES_BEYOND, _BEYOND = (0.9, 0.6), 4.0
# A panel is resolved if its last coefficients are below this share of the largest value.
_RESOLVED, _NARROWEST, _WIDTH = 2e-14, 0.1, 2.0
# The errors of all coefficients together, in units of what the last ones may be.
_MARGIN = 15.0
# Below this share the mass beside a frequency counts as 0.  A density that is singular there has
# its power law from this distance on, relative to the next frequency.
_NEGLIGIBLE, _NEAREST = 1e-14, -36.0
_NODES = np.polynomial.chebyshev.chebpts1(20)
_CHECKS = np.array([-0.77, 0.1, 0.66])
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.besselj, sympy.besseli)
# A share of a wave below this is rounding.
_NO_SHARE = 1e-9


class _Place(NamedTuple):
    """One side of a radius up to a reach, and the power with which the density begins there."""

    about: float
    side: int
    reach: float
    power: float

    def fall(self, log_distance: float) -> float:
        """How the error of distance * rho falls towards the radius, from 1 at the reach."""
        return float(error_fall(self.power, np.array(log_distance - np.log(self.reach))))


def beside_frequencies(found: Ends, kernel: KernelOnRays, dim: int) -> BetweenWaves:
    """The density of slow waves, on both sides of each frequency and next to the origin."""
    first, second = (WaveIntegrals(found, kernel, dim, angle) for angle in _ANGLES)
    band_limited = _is_band_limited(found)
    rates = [wave.rate for wave in found.waves if wave.rate]
    top = rates[-1] if band_limited else _BEYOND * rates[-1]
    powers = _powers(found, dim, top if band_limited else np.inf)
    places = list(_places([0.0, *rates], top, powers))
    peak = max(_first_look(first, place) for place in places)
    panels, apart = [], 0.0
    for place in places:
        edges, series, peak = _panels(first, place, peak)
        panels.append((edges, series))
        apart = max(apart, _difference(second, place, edges, series))
    beyond = None
    if not band_limited:
        beyond, wrong = _beyond(found, kernel, dim, top, peak)
        apart = max(apart, wrong)
    if not apart <= _AGREE * peak:
        raise AccuracyError(
            f"The density of {found.expr} on R^{dim} was not found: integrals on rays of two "
            f"angles differ by {apart / peak:.0e} of its largest value. Use a smaller dimension, "
            "or design a finite measure for your range of distances (design)."
        )
    error = 2.0 * apart + _MARGIN * _RESOLVED * peak
    pieces = [_piece(*known, error) for known in zip(places, panels, strict=True)]
    if beyond is not None:
        pieces.append(Piece(top, np.inf, 0.0, 1.0, beyond))
    singular = [
        (b, min(powers.get((b, s), 0.0) for s in (1, -1))) for b in map(float, found.turning)
    ]
    if band_limited:
        singular[-1] = top, powers[top, -1]
    return BetweenWaves(
        pieces=tuple(sorted(pieces, key=lambda piece: piece.low)),
        total=found.total,
        origin_exponent=powers[0.0, 1],
        bulk=(0.25 * rates[0], rates[-1] if band_limited else 2.0 * rates[-1]),
        decay=np.inf if beyond is None else beyond.decay,
        breaks=tuple(singular),
        end=top if band_limited else np.inf,
    )


def _powers(found: Ends, dim: int, end: float) -> dict[tuple[float, int], float]:
    """The powers of the distance with which the density begins, by radius and side."""
    decay = next((float(a) for a, _, _ in found.infinity), np.inf)
    powers = {(0.0, 1): min(decay, dim) - 1.0}
    for b, term in found.turning.items():
        for side in (1, -1):
            ends = float(b) == end and side < 0
            powers[float(b), side] = _kink(term, dim) if ends else _begins_like(term, dim, side)
    return powers


def _places(
    radii: list[float], top: float, powers: dict[tuple[float, int], float]
) -> Iterator[_Place]:
    """Both sides of each radius, halfway to the next; the last one reaches up to ``top``."""
    for low, high in pairwise(radii):
        for about, side in ((low, 1), (high, -1)):
            yield _Place(about, side, 0.5 * (high - low), powers.get((about, side), 0.0))
    if top > radii[-1]:
        yield _Place(radii[-1], 1, top - radii[-1], powers.get((radii[-1], 1), 0.0))


def _at(values: WaveIntegrals, place: _Place, log_distance: FloatArray) -> FloatArray:
    """distance * rho."""
    distance = np.exp(log_distance)
    w = place.about + place.side * distance
    return np.asarray(values(place.about, place.side, distance) * distance / w)


def _first_look(values: WaveIntegrals, place: _Place) -> float:
    """About the largest value of distance * rho."""
    return float(np.abs(_at(values, place, np.log(place.reach) - np.arange(0.0, 4.0, 0.5))).max())


def _panels(
    values: WaveIntegrals, place: _Place, peak: float
) -> tuple[FloatArray, FloatArray, float]:
    """Edges and series of distance * rho, from the reach inwards until it is negligible."""
    reach = float(np.log(place.reach))
    high, found = reach, []
    while True:
        low, stack, largest = high - _WIDTH, [(high - _WIDTH, high)], 0.0
        while stack:
            a, b = stack.pop()
            value = _at(values, place, a + 0.5 * (b - a) * (1.0 + _NODES))
            series = chebyshev_coefficients(value)
            largest = max(largest, float(np.abs(value).max()))
            peak = max(peak, largest)
            allowed = _RESOLVED * peak * place.fall(b)
            if np.abs(series[-2:]).max() < allowed or b - a < _NARROWEST:
                found.append((a, b, series))
            else:
                stack += [(a, 0.5 * (a + b)), (0.5 * (a + b), b)]
        high = low
        if largest < _NEGLIGIBLE * peak or (place.power < 0.0 and high < _NEAREST + reach):
            break
        if high < 2.0 * _NEAREST + reach:
            raise NoRouteError(
                f"The density is not integrable at the radius {place.about:.4g}, as far as its "
                "values show. Use a smaller dimension, or design a finite measure for your range "
                "of distances (design)."
            )
    found.sort(key=lambda panel: panel[0])
    edges = np.array([*(a for a, _, _ in found), found[-1][1]])
    return edges, np.array([series for _, _, series in found]), peak


def _difference(
    values: WaveIntegrals, place: _Place, edges: FloatArray, series: FloatArray
) -> float:
    """The largest difference of distance * rho from other integrals at three places a panel.

    It is relative to how the error falls towards the radius.
    """
    worst = 0.0
    for a, b, own in zip(edges[:-1], edges[1:], series, strict=True):
        other = _at(values, place, a + 0.5 * (b - a) * (1.0 + _CHECKS))
        mine = np.polynomial.chebyshev.chebval(_CHECKS, own)
        worst = max(worst, float(np.abs(mine - other).max()) / place.fall(b))
    return worst


def _piece(place: _Place, panels: tuple[FloatArray, FloatArray], error: float) -> Piece:
    edges, series = panels
    bulk = float(np.exp(edges[-1] - 2.0)), float(np.exp(edges[-1]))
    density = Side(edges, series, error, 0.0, place.power, bulk)
    low, high = sorted((place.about, place.about + place.side * place.reach))
    return Piece(low, high, place.about, float(place.side), density)


def _beyond(
    found: Ends, kernel: KernelOnRays, dim: int, top: float, peak: float
) -> tuple[SampledDensity, float]:
    """The density beyond all frequencies by two rays, and how far they are apart."""
    ending = power_tail(found.zero, dim)
    lowest = float(np.log(0.5 * top))
    stop = np.inf if ending is None or ending.is_short else ending.start
    both = []
    for i, angle in enumerate(_ANGLES_BEYOND):
        rays = RaySums(kernel, dim, angle, shifted=bool(i), lowest=lowest)
        both.append(rays.whole(peak, stop))
    apart = both[0].difference(both[1])
    samples = min(both, key=lambda s: s.step)
    if ending is not None:
        ending = joined(samples, ending)
    samples = replace(samples, error=2.0 * apart + rounding_of(samples))
    nothing, bulk = Origin(1.0, samples.ends[0], 0.0, 0.0), (top, 2.0 * top)
    decay = np.inf if ending is None else ending.exponent
    return SampledDensity(samples, nothing, ending, 0.0, 0.0, bulk, decay), apart


def _begins_like(wave: Term, dim: int, side: float) -> float:
    """The power of the distance with which the density begins beside the frequency of a wave.

    The singular part is Gamma(-beta) |w - b|^beta Re[exp(-i pi beta/2) c exp(+-i psi)], with the
    phase psi of a Hankel function at infinity, next to what is smooth at b.
    """
    beta, c = _kink(wave, dim), complex(wave[2].evalf(20))
    phase = np.exp(0.25j * np.pi * (dim - 1)) * c
    size = (np.exp(-0.5j * np.pi * beta) * (np.conj(phase) if side > 0.0 else phase)).real
    return 0.0 if beta > 0.0 or abs(size) < _NO_SHARE * abs(c) else beta


def _kink(wave: Term, dim: int) -> float:
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
