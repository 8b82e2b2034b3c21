"""The density of a kernel with slow waves, which decay like powers, near their frequencies.

Integrals on rays of two angles are compared at a few places of every panel, and so are the sums on
two rays beyond the highest frequency.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import sympy
from sympy.core.function import Application

from spectra.base.numbers import FloatArray
from spectra.density.half_line.half_line_formula import HalfLineFormula
from spectra.density.half_line.piecewise_density import OneSidedPiece, PiecewiseDensity
from spectra.density.half_line.power_tail import power_tail
from spectra.density.half_line.ray_sums import RaySums
from spectra.density.half_line.sampled_density import sampled_density
from spectra.density.half_line.wave_integrals import WaveIntegrals
from spectra.density.panels.log_panels import PanelDensity, Panels, Powers, fit_panels
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.reader.parsing import Z

__all__ = ["slow_wave_density"]

# Angles of two sets of integrals, which agree to this share of the largest value.
_ANGLES, _AGREE = (0.8, 0.6), 1e-12
# Angles and shifts of the sums beyond the highest frequency; they begin at this multiple of it.
_RAYS_BEYOND, _BEYOND = ((0.9, 0.0), (0.6, 0.5)), 4.0
# Integrals are resolved to this share of the largest value; first panels have this width.
_RESOLVED, _WIDTH = 7e-15, 2.0
# The error of all coefficients together, as a share of the largest value.
_MARGIN = 3e-13
# Logarithm of a factor on the error below all panels, where a power law leaves out logarithms.
_LOGARITHM = float(np.log(4.0))
# Below this share the mass near a frequency counts as 0.  A density that is singular there is a
# power law below this logarithm of the distance, relative to the farthest distance.
_NEGLIGIBLE, _NEAREST = 1e-14, -36.0
_CHECKS = np.array([-0.77, 0.1, 0.66])
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.besselj, sympy.besseli)
# A share of a wave below this is rounding.
_NO_SHARE = 1e-9


def slow_wave_density(formula: HalfLineFormula, dim: int) -> PiecewiseDensity:
    """The density of slow waves, on both sides of each frequency and next to the origin."""
    both = [WaveIntegrals(formula, dim, angle) for angle in _ANGLES]
    rates = [rate for rate in both[0].rates if rate]
    end = rates[-1] if _is_band_limited(formula) else np.inf
    top = min(end, _BEYOND * rates[-1])
    powers = _find_powers(formula, dim, end)
    # Both sides of each radius, halfway to the next; the last one reaches up to ``top``.
    places = []
    for low, high in pairwise([0.0, *rates]):
        places += [(low, 1, 0.5 * (high - low)), (high, -1, 0.5 * (high - low))]
    if top > rates[-1]:
        places.append((rates[-1], 1, top - rates[-1]))
    log_far = -np.arange(0.0, 4.0, 0.5)
    peak = max(
        float(np.abs(_evaluate(both[0], radius, side, np.log(far) + log_far)).max())
        for radius, side, far in places
    )
    pieces = [_fit_side(both, *place, powers.get(place[:2], 0.0), peak) for place in places]
    if end == np.inf:
        pieces.append(_find_beyond(formula, dim, top, peak))
    singular = [(b, min(powers[b, 1], powers[b, -1])) for b in map(float, formula.slow_waves)]
    if end < np.inf:
        singular[-1] = end, powers[end, -1]
    return PiecewiseDensity(
        pieces=tuple(pieces),
        total=formula.total,
        origin_exponent=powers[0.0, 1],
        bulk=(0.25 * rates[0], min(end, 2.0 * rates[-1])),
        decay=pieces[-1][-1].decay,
        breaks=tuple(singular),
        end=end,
    )


def _evaluate(
    integrals: WaveIntegrals, radius: float, side: int, log_distance: FloatArray
) -> FloatArray:
    """distance * rho on one side of a radius."""
    distance = np.exp(log_distance)
    w = radius + side * distance
    return np.asarray(integrals(radius, side, distance) * distance / w)


def _fit_side(
    both: list[WaveIntegrals], radius: float, side: int, far: float, power: float, peak: float
) -> OneSidedPiece:
    """The density on one side of a radius, from the far end inwards until it is negligible.

    It begins with a power of the distance.
    """
    high = float(np.log(far))

    def fall(x: FloatArray) -> FloatArray:
        # How the error falls towards the radius: the density may be a power or a logarithm there.
        t = np.minimum(x - high, 0.0)
        return np.asarray(np.exp(min(power + 1.0, 1.0) * t) * (1.0 - t))

    def sample(centre: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        x = np.log(centre) + offsets
        return _evaluate(both[0], radius, side, x), _RESOLVED * peak * fall(x), 0.0

    low, size = high, np.inf
    while size > _NEGLIGIBLE * peak and (power >= 0.0 or low > high + _NEAREST):
        low -= _WIDTH
        if low < high + 2.0 * _NEAREST:
            raise NoRouteError(
                f"The density is not integrable at the radius {radius:.4g}, as far as its "
                "values show. Use a smaller dimension, or design a finite measure for your range "
                "of distances (design)."
            )
        x = low + 0.5 * _WIDTH * (1.0 + _CHECKS)
        size = float(np.abs(_evaluate(both[0], radius, side, x)).max())
    edges = np.linspace(low, high + 1e-9, 1 + round((high - low) / _WIDTH))
    panels = fit_panels(sample, edges, tilt=False)
    x = (np.log(panels.centre) + np.multiply.outer(_CHECKS, panels.half_width)).ravel()
    sign, log = panels.signed_log(np.exp(x))
    apart = np.abs(sign * np.exp(log + x) - _evaluate(both[1], radius, side, x))
    share = apart.reshape(_CHECKS.size, -1) / fall(panels.high)
    wrong = _check_agreement(float(share.max()), peak) + _MARGIN * peak
    own = wrong * fall(panels.high) * np.exp(-panels.level)
    density = _extend_panels(replace(panels, error=panels.error + own), far, power)
    return radius, float(side), 0.0, far, density


def _extend_panels(panels: Panels, far: float, power: float) -> PanelDensity:
    """The density on panels, and the power of the distance below them."""
    first = np.exp(panels.low[:1] + 1e-9)
    sign, log = panels.signed_log(first)
    wrong = panels.log_envelope(first) + np.log(panels.relative_error(first))
    beginning = Powers(
        np.array([power, min(power, 0.0)]),
        np.append(sign, 0.0),
        np.append(log, wrong + _LOGARITHM),
        np.zeros(2),
        float(first[0]),
    )
    bulk = float(np.exp(-2.0)) * far, far
    nothing = Powers.vanishing(far, float(log[0]))
    return PanelDensity(panels, 0.0, power, bulk, np.inf, beginning, nothing)


def _check_agreement(apart: float, peak: float) -> float:
    """The error of integrals on rays of two angles that are so far apart."""
    if not apart <= _AGREE * peak:
        raise AccuracyError(
            "The density of a kernel with waves was not found: integrals on rays of two angles "
            f"differ by {apart / peak:.0e} of its largest value. Use a smaller dimension, or "
            "design a finite measure for your range of distances (design)."
        )
    return 2.0 * apart


def _find_beyond(formula: HalfLineFormula, dim: int, top: float, peak: float) -> OneSidedPiece:
    """The density beyond all frequencies, by two rays."""
    ending = power_tail(formula.zero, dim)
    lowest = float(np.log(0.5 * top))
    stop = ending[1] if ending else np.inf
    both = [
        RaySums(formula, dim, angle, shift=shift, lowest=lowest).whole(peak, stop)
        for angle, shift in _RAYS_BEYOND
    ]
    wrong = _check_agreement(both[0].difference(both[1]), peak)
    samples = min(both, key=lambda s: s.step)
    samples = replace(samples, error=wrong + samples.rounding)
    density = sampled_density(samples, 0.0, dim, np.inf, ending)
    return 0.0, 1.0, top, np.inf, density


def _find_powers(formula: HalfLineFormula, dim: int, end: float) -> dict[tuple[float, int], float]:
    """The powers of the distance with which the density begins, by radius and side.

    The singular part near the frequency of a wave c z^-a exp(ibz) is
    Gamma(-beta) |w - b|^beta Re[exp(-i pi beta/2) c exp(+-i psi)], beta = a - (d+1)/2, with the
    phase psi of a Hankel function at infinity, next to what is smooth at b.
    """
    powers = {(0.0, 1): min(formula.decay, dim) - 1.0}
    for b, (a, _, coefficient) in formula.slow_waves.items():
        beta, c = float(a) - 0.5 * (dim + 1), complex(coefficient.evalf(20))
        phase = np.exp(0.25j * np.pi * (dim - 1)) * c
        for side, seen in ((1, np.conj(phase)), (-1, phase)):
            size = abs((np.exp(-0.5j * np.pi * beta) * seen).real)
            smooth = beta > 0.0 or size < _NO_SHARE * abs(c)
            # Just below its end the density has no smooth part.
            ends = float(b) == end and side < 0
            powers[float(b), side] = 0.0 if smooth and not ends else beta
    return powers


def _is_band_limited(formula: HalfLineFormula) -> bool:
    """Whether the density vanishes beyond the largest frequency (Paley and Wiener).

    It does if the kernel is even, and analytic in the whole plane except for a removable
    singularity at zero.
    """
    powers = (power for power in formula.expr.atoms(sympy.Pow) if power.has(Z))
    functions = (f for f in formula.expr.atoms(Application) if f.has(Z))
    return (
        all(q == 0 and a.is_even for a, q, _ in formula.zero)
        and all(p.base == Z or (p.exp.is_Integer and p.exp >= 0) for p in powers)
        and all(isinstance(f, _ENTIRE) and f.args[-1].is_polynomial(Z) for f in functions)
    )
