r"""Spectral densities of Python callables, from values in double precision.

A callable on z <= R is replaced by :math:`(1 - x^2)^p h(t)`, x = z/R, with the stated exponent p at
the edge, which is transformed exactly.  h is a Chebyshev series fitted to values: in t = x^2 if the
callable is smooth at 0, else in t = x or a root of x.  A second, longer series shows the error.

A callable k without a support is summed by the trapezoidal rule in log z, with :math:`y = wz`:

.. math:: w\rho(w) = \frac{2^{2-d}}{\Gamma(d/2)^2} \int k(z)\,y^d\,\Omega_d(y)\,d\log z .

The sums at all log-uniform radii are one convolution.  Sums of even and of odd terms are compared.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor, lgamma, log, log2, pi
from typing import Any

import flint
import numpy as np
import sympy
from numpy.polynomial import Chebyshev, Polynomial, chebyshev
from scipy.fft import dct, irfft, next_fast_len, rfft
from scipy.ndimage import maximum_filter1d

from spectra.base.accuracy import ABSENT, DENSITY, EPS, SAME
from spectra.base.bessel import plane_wave_mean
from spectra.base.numbers import FloatArray
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.edge import ball_component
from spectra.density.components import Component
from spectra.density.half_line.ray_sums import MARGIN, Samples
from spectra.density.half_line.sampled_density import power_tail, sampled_density
from spectra.density.panel_density import Powers
from spectra.errors import AccuracyError, NoRouteError, SpectraError
from spectra.formula.callables import FAST_DECAYS, Opaque, OpaqueTerm, opaque_terms

__all__ = ["opaque_part"]

# Degrees tried in turn.
_DEGREES = (8, 14, 22, 34, 50, 72, 104, 150)
# A fit is accepted if it misses by this, relative to the largest value; one that misses by up to
# the second number at the last degree is accepted with that error.
_GOAL, _LIMIT = 64.0 * EPS, SAME
# Values per term, and the number of additional terms in the second series.
_VALUES_PER_TERM, _MORE = 3, 5
_SAFETY = 4.0  # the estimate of an error, divided by the difference of two results
# The densities are compared at _GRID radii, from _FIRST times the lower end of Component.bulk to
# _LAST times its upper end.  Each error is the largest difference up to _NEIGHBOURS radii away.
_FIRST, _LAST, _GRID, _NEIGHBOURS = 1e-2, 1e16, 1260, 18
_LARGEST_ERROR = 1e6 * DENSITY  # of a density, relative
# Values below this share of the largest are negligible; the reach is at most this distance.
_NEGLIGIBLE, _LARGEST_REACH = ABSENT / 1e3, 1e6
# Lengths of the cosine series.  Its upper half is noise if the median there is below _QUIET times
# the peak.  Signal is above both _NOISE times this median and _ROUNDING times the peak.
_COSINES = (256, 1024, 4096, 16384, 65536)
_QUIET, _NOISE, _ROUNDING = DENSITY, 10.0, 4.0 * EPS
# Below w = _NEAR / reach the density is a power; exp(-40) is negligible; steps are at most 2^-6.
_NEAR, _DEPTH, _LEAST_HALVINGS = 1e-7, 40.0, 6
# The tail begins where its relative error is below this, or at w = _FARTHEST / reach.
_RESOLVED, _FARTHEST = DENSITY / 10.0, 4e3
# Degrees of two series at z = 0, the highest power read off, and how often an interval is halved.
_ORIGIN_DEGREES, _ORIGIN_POWERS, _ORIGIN_HALVINGS = (19, 23), 13, 24


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
            "the product and state its properties."
        )
    terms, rest = split
    return [_component(term, support, dim) for term in terms], rest


def _refusal(term: OpaqueTerm, why: str, kind: type[SpectraError] = AccuracyError) -> SpectraError:
    name = term.function.__name__
    return kind(f"No density is known from values of {name}: {why}. If possible, write a formula.")


def _component(term: OpaqueTerm, support: sympy.Expr, dim: int) -> Component:
    function, half_line = term.function, support is sympy.oo
    origin: Any = function.origin  # the least power at z = 0 that is not even; oo if all are even
    radii = (*(radius for radius, _ in function.breaks or ()), function.support)
    inside = [r * term.scale for r in radii if float(r * term.scale) < float(support)]
    if inside or (not half_line and function.support * term.scale != support):
        why = (
            f"it is not smooth at z = {(inside or [support])[0]}. Give what ends there as a "
            "callable with a support of its own, and add it to one that is smooth"
        )
    elif origin is None or (function.edge is None and not half_line):
        why = f"they do not show {function.describe_missing()} (docs/callables.md)"
    elif function.decay is not None and function.decay not in FAST_DECAYS:
        why = f"it decays like z^(-{function.decay}), not faster than powers"
    elif origin is not sympy.oo and not (origin.is_Rational and origin.q <= 2 - half_line):
        why = f"the first non-even power, z^({origin}), is not whole (or half, on a support)"
    else:
        return (_half_line_component if half_line else _ball_component)(term, origin, dim)
    raise _refusal(term, why, NoRouteError)


def _check_error(error: float, term: OpaqueTerm, dim: int) -> None:
    """Refuse a density whose error is too large relative to its size."""
    if not error <= _LARGEST_ERROR:
        raise _refusal(term, f"their integral cancels in dimension {dim} (error {error:.0e})")


def _ball_component(term: OpaqueTerm, origin: sympy.Expr, dim: int) -> Component:
    """The density of a series through the values; a second series shows its error."""
    power = sympy.Integer(2) if origin is sympy.oo else sympy.Rational(1, origin.q)
    (first, miss), (second, _) = (_fit_ball_form(term, power, more) for more in (0, _MORE))
    density, other = ball_component(first, dim), ball_component(second, dim)
    w = np.geomspace(_FIRST * density.bulk[0], _LAST * density.bulk[1], _GRID)
    (sign, log, top, _), (sign2, log2, *_) = density.evaluate(w), other.evaluate(w)
    difference = np.abs(sign * np.exp(log - top) - sign2 * np.exp(log2 - top))
    differs = maximum_filter1d(difference, 2 * _NEIGHBOURS + 1, mode="nearest")
    # The relative error grows in the tails: the least one, near the bulk, decides.
    _check_error(float(differs.min()), term, dim)
    return replace(density, added_error=(np.log(w), _SAFETY * differs + miss))


def _fit_ball_form(term: OpaqueTerm, power: sympy.Rational, more: int) -> tuple[BallForm, float]:
    """The series of least degree through values on a ball, and by what share it misses them.

    It is in x**power, times (1 - x^2)**edge; ``more`` terms and nodes make an independent fit.
    """
    edge, radius = term.function.edge, term.function.support * term.scale
    for degree in _DEGREES:
        nodes = _VALUES_PER_TERM * (degree + more + 1) + more
        x = (0.5 * (1.0 + chebyshev.chebpts1(nodes))) ** float(1 / power)
        x = np.concatenate([x, 0.5 * (x[1:] + x[:-1])])  # the fit is checked between its nodes
        value, t = term.values(float(radius) * x), x ** float(power)
        weight = np.maximum(((1.0 - x) * (1.0 + x)) ** float(edge or 0), 1e-290)
        data = t[:nodes], (value / weight)[:nodes], degree + more, [0.0, 1.0], 1e-15
        series, _ = Chebyshev.fit(*data, full=True, w=weight[:nodes])
        missed = float(np.abs(weight * series(t) - value).max() / np.abs(value).max())
        if missed <= _GOAL:
            break
    if not missed <= _LIMIT:
        raise _refusal(
            term,
            f"a series of {len(series.coef)} terms misses them by {missed:.1e} of the largest. The "
            "callable is not as smooth as stated: check edge= and origin=, or state breaks=",
        )
    exact = [flint.arb(float(c)) for c in series.coef]
    return BallForm.of_chebyshev(radius, edge, exact, power), missed


def _half_line_component(term: OpaqueTerm, origin: sympy.Expr, dim: int) -> Component:
    """The density of a callable that is negligible beyond a distance."""
    reach = _find_reach(term, dim)
    tail = None if origin is sympy.oo else _odd_power_tail(term, reach, dim, int(origin))
    last = tail.start if tail else log(_highest_frequency(term, reach))
    samples = _sum_values(term, reach, dim, last)
    _check_error(samples.error / samples.peak, term, dim)
    total = float(term.values(np.zeros(1))[0])
    return sampled_density(samples, total, dim, np.inf, tail, noise=samples.error)


def _find_reach(term: OpaqueTerm, dim: int) -> float:
    """A distance beyond which a callable is negligible in the integral over R^d."""
    z = float(term.scale) * np.geomspace(1e-3, _LARGEST_REACH, 401)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(term.values(z))) + (dim - 1) * np.log(z)
    alive = np.flatnonzero(size > size.max() + np.log(_NEGLIGIBLE))
    if alive.size and alive[-1] < z.size - 1:
        return float(z[alive[-1] + 1])
    found = "has not decayed at" if alive.size else f"is 0 at every distance from {z[0]:g} to"
    why = f"it {found} z = {z[-1]:g}. Give a support, or measure distances in another unit"
    raise _refusal(term, why, NoRouteError)


def _sum_values(term: OpaqueTerm, reach: float, dim: int, last: float) -> Samples:
    """w rho up to log w = last, with the difference of two sums for its error."""
    # The terms of one parity alone resolve the fastest wave.
    step = 2.0 ** -max(_LEAST_HALVINGS, ceil(log2(2.0 * np.exp(last) * reach / pi)))
    j0, j1 = floor(log(_NEAR / reach) / step), ceil(last / step) + 2 * MARGIN
    n0, n1 = floor((-last - _DEPTH / dim) / step), ceil(log(reach) / step)
    log_z, log_y, log_w = (
        step * np.arange(low, high + 1) for low, high in ((n0, n1), (n0 + j0, n1 + j1), (j0, j1))
    )
    # y^d is (w z)^power y^(d - power); with this power the amplitude of g tends to a constant.
    power = 0.5 * (dim + 1)
    k = step * term.values(np.exp(log_z)) * np.exp(power * log_z)
    front = (2 - dim) * log(2.0) - 2.0 * lgamma(0.5 * dim)
    g = np.exp(front + (dim - power) * log_y) * plane_wave_mean(dim, np.exp(log_y))
    size = next_fast_len(g.size, real=True)
    spectrum, odd = rfft(g, size), k * (np.arange(k.size) % 2)
    one, other = (
        irfft(spectrum * rfft(terms, size).conj(), size)[: log_w.size] * np.exp(power * log_w)
        for terms in (k - odd, odd)
    )
    peak = float(np.abs(one + other).max())
    error = _SAFETY * float(np.abs(one - other).max()) + 16.0 * EPS * peak
    return Samples(step, float(j0), one + other, error)


def _highest_frequency(term: OpaqueTerm, reach: float) -> float:
    """The highest frequency of a smooth callable above the rounding of its values.

    The callable has ended at ``reach``, so that a cosine series on [0, reach] shows its spectrum on
    a line, which ends at the same frequency as that in R^d.
    """
    for count in _COSINES:
        spectrum = np.abs(dct(term.values(np.linspace(0.0, reach, count + 1)), type=1))
        top, rest = float(spectrum.max()), float(np.median(spectrum[count // 2 :]))
        above = np.flatnonzero(spectrum > max(_NOISE * rest, _ROUNDING * top))
        if rest <= _QUIET * top and above[-1] < count // 2:
            return (1.2 * pi * float(above[-1]) + 4.0) / reach
    raise _refusal(
        term,
        f"{_COSINES[-1]} of them on z <= {reach:.3g} do not resolve its frequencies. It is not as "
        "smooth as was stated (origin=), or varies fast and decays slowly: check what is stated",
    )


def _odd_power_tail(term: OpaqueTerm, reach: float, dim: int, origin: int) -> Powers:
    """The density at large w from the odd powers of z at 0, and the log w where it begins."""
    found, second = (_expand_at_zero(term, reach, degree) for degree in _ORIGIN_DEGREES)
    # 1e-300 makes the relative error of a coefficient of 0 finite.
    odd, differs = found[origin::2] + 1e-300, np.abs(found - second)[origin::2]
    terms = [(sympy.Integer(origin + 2 * i), 0, sympy.Float(c)) for i, c in enumerate(odd)]
    tail = power_tail(tuple(terms), dim)
    if tail is None:
        raise _refusal(term, f"powers of z from {origin} on cannot be read off them")
    tail = replace(tail, relative_errors=tail.relative_errors + _SAFETY * differs / np.abs(odd))
    log_w = np.linspace(0.0, log(_FARTHEST), 200) - log(reach)
    good = np.flatnonzero(tail.error_before_rounding(np.exp(log_w)) <= _RESOLVED)
    return replace(tail, start=float(log_w[good[0]] if good.size else log_w[-1]))


def _expand_at_zero(term: OpaqueTerm, reach: float, degree: int) -> FloatArray:
    """Coefficients of powers of z at 0, from the longest interval that the degree resolves."""
    for end in 0.25 * reach * 0.5 ** np.arange(_ORIGIN_HALVINGS):
        z = 0.5 * end * (1.0 + chebyshev.chebpts1(2 * degree))
        value = term.values(z)
        series = Chebyshev.fit(z, value, degree, [0.0, end])
        if np.abs(series(z) - value).max() <= 16.0 * EPS * np.abs(value).max():
            least = EPS * float(np.abs(series.coef).max())
            plain = series.trim(least).convert(domain=[-1.0, 1.0], kind=Polynomial).coef
            return np.asarray(np.pad(plain, (0, _ORIGIN_POWERS))[: _ORIGIN_POWERS + 1], float)
    raise _refusal(term, "they do not follow a power series next to z = 0. State another origin=")
