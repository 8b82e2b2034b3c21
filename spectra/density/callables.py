r"""Spectral densities of Python callables, from values in double precision.

A callable on z <= R is replaced by :math:`(1 - x^2)^p h(t)`, x = z/R, with the stated exponent p at
the edge, which is transformed exactly.  h is a Chebyshev series through values in t = x^2 if the
callable is smooth at 0, and in a root of x otherwise.  A second, longer series shows the error.

A callable k without a support is summed by the trapezoidal rule in log z, with :math:`y = wz`:

.. math:: w\rho(w) = \frac{2^{2-d}}{\Gamma(d/2)^2} \int k(z)\,y^d\,\Omega_d(y)\,d\log z .

The sums at all log-uniform radii are one convolution; even and odd terms alone show the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, lgamma, log, log2, pi
from typing import Any

import flint
import numpy as np
import sympy
from numpy.polynomial import Chebyshev, Polynomial, chebyshev
from scipy.fft import dct, irfft, next_fast_len, rfft
from scipy.ndimage import maximum_filter1d
from scipy.special import gammaln, rgamma

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.compact import ball_component
from spectra.density.components import Component
from spectra.density.half_line.power_tail import PowerTail
from spectra.density.half_line.ray_sums import MARGIN, Samples
from spectra.density.half_line.sampled_density import sampled_density
from spectra.density.panels.log_panels import PanelDensity, Powers
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import FAST_DECAYS, Opaque, OpaqueTerm, opaque_terms

__all__ = ["opaque_part"]

# Degrees tried in turn.
_DEGREES = (8, 14, 22, 34, 50, 72, 104, 150)
# A fit is accepted if it misses by this, relative to the largest value; one that misses by up to
# the second number at the last degree is accepted with that error.
_GOAL, _LIMIT = 64 * EPS, 1e-9
_SAMPLES_PER_TERM = 3
# The second sum of series has so many terms more in each.
_MORE = 5
# Half the difference of two results is the error of either; neighbouring zeros hide it.
_SAFETY = 4.0
# Two sums are compared from a hundredth of the bulk to where only rounding differs.
_FIRST, _LAST, _GRID, _NEIGHBOURS = 1e-2, 1e16, 420, 18
# A density that is nowhere known to the first share is refused, and an integral that is not known
# to the second one of its peak.
_LEAST_DIGITS, _FEWEST_DIGITS = 1e-3, 1e-6
# Values below this share of the largest are negligible.
_ENDED, _LARGEST_REACH = 1e-19, 1e6
# Lengths of the cosine series that shows the highest frequency, and what counts as rounding there.
_COSINES = (256, 1024, 4096, 16384, 65536)
_QUIET, _NOISE, _ROUNDING = 1e-12, 10.0, 4.0 * EPS
# Below this w reach the density is a power, and exp(-40) is negligible.
_NEAR, _DEPTH = 1e-7, 40.0
# Steps in log z are at most 2^-6.
_FIRST_STEP = 6
# The tail is used from where its error is below this share, or at this w reach.
_RESOLVED, _FARTHEST = 1e-13, 4e3
# Two independent series at z = 0, and the powers of z that are read off them.
_ORIGIN_DEGREES, _ORIGIN_POWERS, _ORIGIN_HALVINGS = (19, 23), 13, 24

_Values = Callable[[FloatArray], FloatArray]


def opaque_part(
    expr: sympy.Expr, support: sympy.Expr, dim: int
) -> tuple[list[Component], sympy.Expr]:
    """Components of the callables in a formula, and the formula that is left."""
    if not expr.has(Opaque):
        return [], expr
    split = opaque_terms(expr)
    if split is None:
        raise NoRouteError(
            f"The formula {expr} multiplies a callable with something else. Make one callable of "
            "the product and state its facts."
        )
    terms, rest = split
    return [_component(term, support, dim) for term in terms], rest


def _component(term: OpaqueTerm, support: sympy.Expr, dim: int) -> Component:
    function, half_line = term.function, support is sympy.oo
    origin: Any = function.origin
    edge = function.edge
    inside = [r for r, _ in function.breaks or () if float(r * term.scale) < float(support)]
    if not half_line and function.support * term.scale != support:
        inside.append(support / term.scale)
    why = ""
    if inside:
        why = (
            f"it is not smooth at z = {inside[0] * term.scale}. Give what ends there as a callable "
            "with a support of its own, and add it to one that is smooth"
        )
    elif origin is None or (edge is None and not half_line):
        why = f"they do not show {function.missing()} (docs/callables.md)"
    elif function.decay is not None and function.decay not in FAST_DECAYS:
        why = f"it decays like z^(-{function.decay}), not faster than powers"
    elif origin is not sympy.oo and not (origin.is_Rational and origin.q <= 2 - half_line):
        why = f"it starts like z^({origin}), not with powers of z (or its root, inside a support)"
    if why:
        raise NoRouteError(
            f"No density is known from values of {function.__name__}: {why}; or write the kernel "
            "as a formula."
        )
    if half_line:
        return _half_line_component(term, dim, origin)
    # A series through the values; a second series shows its error.
    power = sympy.Integer(2) if origin is sympy.oo else sympy.Rational(1, origin.q)
    (first, miss), (second, _) = (
        _fit_ball_form(term, support, edge, power, more=more) for more in (0, _MORE)
    )
    density = ball_component(first, dim)
    return replace(density, added_error=_difference(density, ball_component(second, dim), miss))


def _fit_ball_form(
    term: OpaqueTerm, radius: sympy.Expr, edge: sympy.Expr, power: sympy.Rational, *, more: int = 0
) -> tuple[BallForm, float]:
    """The series of least degree through values on a ball, and by what share it misses them.

    It is in x**power, times (1 - x^2)**edge; ``more`` terms and nodes make an independent fit to
    compare with.
    """
    best, missed = np.empty(0), np.inf
    for degree in _DEGREES:
        terms = degree + more + 1
        t = 0.5 * (1.0 + chebyshev.chebpts1(_SAMPLES_PER_TERM * terms + more))
        x = t ** (1.0 / float(power))
        check = 0.5 * (x[1:] + x[:-1])
        value, wanted = (term.values(float(radius) * place) for place in (x, check))
        design, other = (
            (((1.0 - place) * (1.0 + place)) ** float(edge))[:, None]
            * chebyshev.chebvander(2.0 * place ** float(power) - 1.0, terms - 1)
            for place in (x, check)
        )
        scale = np.sqrt((design**2).sum(axis=0))
        series = np.linalg.lstsq(design / scale, value, rcond=1e-15)[0] / scale
        miss = float(np.abs(other @ series - wanted).max() / max(np.abs(value).max(), 1e-300))
        if miss < missed:
            best, missed = series, miss
        if missed <= _GOAL:
            break
    if not missed <= _LIMIT:
        raise AccuracyError(
            f"A callable could not be followed by a series of {_DEGREES[-1]} terms: it misses by "
            f"{missed:.1e} of the largest value. It is not as smooth inside its support as its "
            "statements say: check edge= and origin=, or state breaks= (docs/callables.md)."
        )
    series = [flint.arb(float(c)) for c in best]
    return BallForm.of_chebyshev(radius, edge, series, power), missed


def _difference(
    first: PanelDensity, second: PanelDensity, miss: float
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of radii, and what two densities differ by there, relative to the envelope."""
    w = np.geomspace(_FIRST * first.bulk[0], _LAST * first.bulk[1], _GRID)
    # Points between those of the grid meet other phases of the wave.
    w = np.sort(np.concatenate([w, w * 1.003, w * 1.011]))
    envelope = first.log_envelope(w)
    (sign, log), (other, size) = (density.signed_log(w) for density in (first, second))
    difference = sign * np.exp(log - envelope) - other * np.exp(size - envelope)
    nearby = maximum_filter1d(np.abs(difference), 2 * _NEIGHBOURS + 1, mode="nearest")
    differs = _SAFETY * nearby + miss
    if not differs.min() < _LEAST_DIGITS:
        raise AccuracyError(
            "The values of a callable in double precision leave no digit of its density: two "
            f"series through them differ by {differs.min():.1e} of it at best. Write the kernel "
            "as a formula."
        )
    return np.log(w), differs


# --- callables without a support ------------------------------------------------------------------


def _half_line_component(term: OpaqueTerm, dim: int, origin: sympy.Expr) -> Component:
    """The density of a callable that is negligible beyond a distance."""
    name, values = term.function.__name__, term.values
    reach = _find_reach(values, float(term.scale), dim, name)
    ending: PowerTail | None = None
    if origin is sympy.oo:
        last = log(_highest_frequency(values, reach, name))
    else:
        # Odd powers of z at 0 give the tail.
        tail = _odd_powers(values, reach, dim, origin, name)
        logs = np.linspace(0.0, log(_FARTHEST), 200) - log(reach)
        good = np.flatnonzero(tail.truncation_error(np.exp(logs)) <= _RESOLVED)
        ending = PowerTail(tail, float(logs[good[0]] if good.size else logs[-1]))
        last = ending.start
    samples = _sum_values(values, reach, dim, last)
    share = samples.error / samples.peak
    if not share <= _FEWEST_DIGITS:
        raise AccuracyError(
            f"The integral of the callable {name} cancels in dimension {dim}: double precision "
            f"leaves an error of {share:.1e} of the density. Write the kernel as a formula."
        )
    total = float(values(np.zeros(1))[0])
    return sampled_density(samples, total, dim, np.inf, ending, noise=samples.error)


def _find_reach(values: _Values, scale: float, dim: int, name: str) -> float:
    """A distance beyond which a callable is negligible in the integral over R^d."""
    z = scale * np.geomspace(1e-3, _LARGEST_REACH, 401)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values(z))) + (dim - 1) * np.log(z)
    alive = np.flatnonzero(size > size.max() + np.log(_ENDED))
    if alive.size and alive[-1] < z.size - 1:
        return float(z[alive[-1] + 1])
    found = "has not decayed at" if alive.size else f"is 0 at every distance from {z[0]:g} to"
    raise NoRouteError(
        f"The callable {name} {found} z = {z[-1]:g}. Values give the density of a kernel with a "
        "support or a fast decay: measure distances in another unit, or write it as a formula."
    )


def _sum_values(values: _Values, reach: float, dim: int, last: float) -> Samples:
    """w rho up to log w = last, with the difference of two sums for its error."""
    # The terms of one parity alone resolve the fastest wave.
    step = 2.0 ** -max(_FIRST_STEP, ceil(log2(2.0 * np.exp(last) * reach / pi)))
    j0, j1 = floor(log(_NEAR / reach) / step), ceil(last / step) + 2 * MARGIN
    n0, n1 = floor((-last - _DEPTH / dim) / step), ceil(log(reach) / step)
    log_z, log_y, log_w = (
        step * np.arange(low, high + 1) for low, high in ((n0, n1), (n0 + j0, n1 + j1), (j0, j1))
    )
    # Both factors are largest where it matters.
    tilt = 0.5 * (dim + 1)
    k = step * values(np.exp(log_z)) * np.exp(tilt * log_z)
    front = (2 - dim) * log(2.0) - 2.0 * lgamma(0.5 * dim)
    g = np.exp(front + (dim - tilt) * log_y) * plane_wave_mean(dim, np.exp(log_y))
    size = next_fast_len(g.size, real=True)
    is_odd = np.arange(k.size) % 2 == 1
    spectrum = rfft(g, size)
    one, other = (
        irfft(spectrum * rfft(terms, size).conj(), size)[: log_w.size] * np.exp(tilt * log_w)
        for terms in (np.where(is_odd, 0.0, k), np.where(is_odd, k, 0.0))
    )
    peak = float(np.abs(one + other).max())
    error = _SAFETY * float(np.abs(one - other).max()) + 16.0 * EPS * peak
    return Samples(step, float(j0), one + other, error)


def _highest_frequency(values: _Values, reach: float, name: str) -> float:
    """The highest frequency that a callable holds above the rounding of its values.

    A smooth even function that has ended at ``reach`` is a cosine series on [0, reach], whose
    coefficients are its spectrum on a line; in R^d the spectrum ends where it ends on a line.
    """
    highest = 0.0
    for count in _COSINES:
        z = reach * np.arange(count + 1) / count
        spectrum = np.abs(dct(values(z), type=1))
        top, rest = float(spectrum.max()), float(np.median(spectrum[count // 2 :]))
        above = np.flatnonzero(spectrum > max(_NOISE * rest, _ROUNDING * top))
        highest = float(np.pi * above[-1] / reach) if above.size else np.inf
        if rest <= _QUIET * top and above.size and above[-1] < count // 2:
            return 1.2 * highest + 4.0 / reach
    raise AccuracyError(
        f"The callable {name} holds frequencies up to {highest:.3g} or more on z <= {reach:.3g}: "
        f"{_COSINES[-1]} values do not resolve it. It is not as smooth as was stated (origin=), or "
        "it varies much faster than it ends: write it as a formula."
    )


def _odd_powers(values: _Values, reach: float, dim: int, origin: sympy.Expr, name: str) -> Powers:
    """The density at large w from the odd powers of z at 0."""
    found, second = (_expand_at_zero(values, reach, degree, name) for degree in _ORIGIN_DEGREES)
    powers = np.arange(float(origin), _ORIGIN_POWERS, 2.0)
    growth = powers * np.log(2.0) + gammaln(0.5 * (dim + powers))
    front = 2.0 * np.exp(growth - gammaln(0.5 * dim)) * rgamma(-0.5 * powers)
    at = powers.astype(int)
    value, error = front * found[at], _SAFETY * np.abs(front * (found[at] - second[at]))
    size = np.maximum(np.abs(value), error) + 5e-324
    return Powers(-(powers + 1.0), value / size, np.log(size), error / size)


def _expand_at_zero(values: _Values, reach: float, degree: int, name: str) -> FloatArray:
    """Coefficients of powers of z at 0, from the longest interval that the degree resolves."""
    for end in 0.25 * reach * 0.5 ** np.arange(_ORIGIN_HALVINGS):
        z = 0.5 * end * (1.0 + chebyshev.chebpts1(2 * degree))
        value = values(z)
        series = Chebyshev.fit(z, value, degree, [0.0, end])
        if np.abs(series(z) - value).max() <= 16.0 * EPS * np.abs(value).max():
            least = EPS * float(np.abs(series.coef).max())
            plain = series.trim(least).convert(domain=[-1.0, 1.0], kind=Polynomial).coef
            found = np.pad(plain, (0, _ORIGIN_POWERS))[: _ORIGIN_POWERS + 1]
            return np.asarray(found, dtype=float)
    raise AccuracyError(
        f"The callable {name} is no power series next to z = 0 as far as its values show, so its "
        "density has no tail that can be read off. State origin=..., or write it as a formula."
    )
