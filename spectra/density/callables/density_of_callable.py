r"""Spectral densities of Python callables, from values in double precision.

On a support, and on the half-line for one that starts like an odd power, the callable is followed
by a series (:mod:`.opaque_fit`), whose transform is exact; a second, independent
series shows what the values leave open.  One that is smooth and has no end is integrated by
Gauss-Legendre panels at each frequency: its density falls below the rounding of its values, which
in high dimension is everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import sympy
from numpy.polynomial import Polynomial, chebyshev
from scipy.fft import dct
from scipy.special import gammaln, rgamma

from spectra.base.enclosures import EPS, NODES, WEIGHTS
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.density.callables.fit import found_origin, values_of
from spectra.density.callables.series_on_support import series_components
from spectra.density.components import Component
from spectra.density.half_line.endings import PowerEnding, Vanishing
from spectra.density.half_line.sums.sampled import Sampled
from spectra.density.panels.panel import Panel, panel_through
from spectra.density.panels.panelled_density import Panelled
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import FAST_DECAYS, Opaque, OpaqueTerm, opaque_terms

__all__ = ["opaque_part"]

# Values below this share of the largest one are the end of a callable without support.
_ENDED = 1e-19
_LARGEST_REACH = 1e6
# Half the difference of two fits is the error of either; neighbouring zeros hide it.
_SAFETY = 4.0
# Panels of the quadrature at rest, and their number for each unit of the phase w z.
_PANELS, _PANELS_PER_PHASE = 24, 0.15
_WIDTH = 0.4
_NARROWEST = 1e-3
# A panel may fall by about e^-2.
_FALL = 2.0
_MOST_PANELS = 1500
# Values of the cosine series that shows the highest frequency; what is left beyond it is so quiet,
# and no coefficient of rounding is so many times larger than their median, or than rounding.
_COSINES = (256, 1024, 4096, 16384, 65536)
_COSINE_QUIET, _COSINE_NOISE, _COSINE_ROUNDING = 1e-12, 10.0, 4.0 * EPS
# The last panel: its error is this share of it, and it is e^-3 of the largest one at most.
_NOISE_LIMIT, _FALLEN = 2e-3, 3.0
# The least power of 1/w at which the density is taken to fall on beyond its last panel.
_STEEP = 6.0
# Panels whose w rho is within e^-16 of the largest are the bulk.
_BULK = 16.0
# Two independent series at the origin, and the powers of z that they are read for.
_ORIGIN_DEGREES = (19, 23)
_ORIGIN_POWERS = 13
_ORIGIN_HALVINGS = 24
# No callable without support is integrated in higher dimensions.
_LARGEST_DIM = 48
# A component is refused where its values keep no digit even at their best.
_LEAST_DIGITS = 1e-3


def opaque_part(
    expr: sympy.Expr, support: sympy.Expr, dim: int
) -> tuple[list[Component], sympy.Expr] | None:
    """Components of the callables in a formula, and the formula that is left; None without any.

    Parameters
    ----------
    expr, support : sympy expressions
        As in :class:`spectra.kernels.kernel.Piece`.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the callable is a factor, has breaks but no support, decays slowly, or its ends were
        neither stated nor can be read off its values.
    AccuracyError
        Where values in double precision leave nothing of the density.
    """
    if not expr.has(Opaque):
        return None
    split = opaque_terms(expr)
    if split is None:
        raise NoRouteError(
            f"The formula {expr} multiplies a callable with something else. Make one callable of "
            "the product and state its facts."
        )
    terms, rest = split
    return [c for term in terms for c in _components(term, support, dim)], rest


def _components(term: OpaqueTerm, support: sympy.Expr, dim: int) -> list[Component]:
    function, name = term.function, term.function.__name__
    breaks = [(r * term.scale, e) for r, e in function.breaks or ()]
    inside = [(r, e) for r, e in breaks if float(r) < float(support)]
    origin = found_origin(term)
    if support is not sympy.oo:
        edge = function.edge if function.support * term.scale == support else None
        ends = (*inside, (support, edge))
        return series_components(name, partial(values_of, term), ends, origin, dim)
    if inside:
        raise NoRouteError(
            f"The callable {name} has no support and is not smooth at z = {inside[0][0]}. "
            "Values give the density of a kernel with breaks where it ends: add callables with a "
            "support for what ends at its breaks to one that is smooth."
        )
    if not (function.decay is None or function.decay in FAST_DECAYS):
        raise NoRouteError(
            f"The callable {name} decays like z^(-{function.decay}), and values alone do not give "
            "the density of a kernel that decays like a power. Write it as a formula."
        )
    if origin is not sympy.oo and not origin.is_Integer:
        raise NoRouteError(
            f"The callable {name} has no support and starts like z^({origin}); values give the "
            "density of one that starts like an odd power. Write it as a formula."
        )
    return [_integrated(term, _reach(term, dim), origin, dim)]


def _reach(term: OpaqueTerm, dim: int) -> float:
    """A distance beyond which the callable is below rounding, in the integral over R^dim."""
    z = float(term.scale) * np.geomspace(1e-3, _LARGEST_REACH, 401)
    with np.errstate(divide="ignore"):
        size = np.log(np.abs(values_of(term, z))) + (dim - 1) * np.log(z)
    alive = np.flatnonzero(size > size.max() + np.log(_ENDED))
    if not alive.size:
        raise NoRouteError(
            f"The callable {term.function.__name__} is 0 at every distance from z = {z[0]:g} to "
            f"{z[-1]:g}, so its values show nothing. Measure distances in another unit."
        )
    if alive[-1] == z.size - 1:
        raise NoRouteError(
            f"The callable {term.function.__name__} has not decayed at z = {z[-1]:g}. Values alone "
            "give the density of a kernel with a support or a fast decay; write it as a formula."
        )
    return float(z[alive[-1] + 1])


def _highest_frequency(term: OpaqueTerm, reach: float) -> float:
    r"""The highest frequency that the callable holds above the rounding of its values.

    A smooth even function that has ended at ``reach`` is a cosine series on [0, reach], whose
    coefficients are its spectrum on a line. Where the upper half of them is rounding, the series
    is all there is; in R^dim the spectrum ends where it ends on a line.
    """
    highest = 0.0
    for count in _COSINES:
        z = reach * np.arange(count + 1) / count
        spectrum = np.abs(dct(values_of(term, z), type=1))
        top, rest = float(spectrum.max()), float(np.median(spectrum[count // 2 :]))
        if top == 0.0:
            return 0.0
        above = np.flatnonzero(spectrum > max(_COSINE_NOISE * rest, _COSINE_ROUNDING * top))
        highest = float(np.pi * above[-1] / reach) if above.size else np.inf
        if rest <= _COSINE_QUIET * top and above[-1] < count // 2:
            return highest
    raise AccuracyError(
        f"The callable {term.function.__name__} holds frequencies up to {highest:.3g} or more on "
        f"z <= {reach:.3g}: {_COSINES[-1]} values do not resolve it. It is not as smooth as was "
        "stated (origin=), or it varies much faster than it ends: write it as a formula."
    )


# --- quadrature ----------------------------------------------------------------------------------


def _integrated(term: OpaqueTerm, reach: float, origin: sympy.Expr, dim: int) -> Component:
    """A callable without support, by quadrature; its odd powers at 0 give the tail."""
    if dim > _LARGEST_DIM:
        raise AccuracyError(
            f"The integral of the callable {term.function.__name__} was asked for in dimension "
            f"{dim}, and above {_LARGEST_DIM} doubles keep too few digits of it. "
            "Write the kernel as a formula."
        )
    sample = partial(_sampled, partial(values_of, term), reach, dim)
    power = float(dim - 1)
    firsts = (0.5**i / reach for i in itertools.count())
    tried = (_fitted(sample, float(np.log(w)), float(np.log(2.0 * w)), power) for w in firsts)
    panels = [next(panel for panel, resolved in tried if resolved)]
    _check_digits(panels[0], term, dim)
    odd = None if origin is sympy.oo else _odd_powers(term, reach, origin, dim)
    # Spectra have gaps: where one peak has fallen to rounding another may follow.
    highest = 0.0 if odd is not None else _highest_frequency(term, reach)
    best, width = panels[0].height_at(panels[0].high), _WIDTH
    while len(panels) < _MOST_PANELS:
        low = panels[-1].high
        panel, resolved = _fitted(sample, low, low + width)
        if not resolved and width > _NARROWEST:
            width *= 0.5
            continue
        panels.append(panel)
        share = panel.error / panel.top
        height = panel.height_at(panel.high)
        best = max(best, height)
        end = np.exp(panel.high)
        if odd is not None and odd.relative_error(end) <= share:
            break
        if height >= best - _FALLEN:
            _check_digits(panel, term, dim)
        elif share > _NOISE_LIMIT and end > highest:
            break
        # Noise counts in units of the least value of a panel: it should not be much below others.
        width = min(_WIDTH, 2.0 * width, _FALL / max(abs(panel.slope), 1.0))
    else:
        raise AccuracyError(
            f"The spectrum of the callable {term.function.__name__} needs more than "
            f"{_MOST_PANELS} panels up to w = {np.exp(panels[-1].high):.4g}: it has too many "
            "narrow peaks. Write the kernel as a formula."
        )
    bulk = [p for p in panels if p.height_at(p.high) > best - _BULK]
    return Panelled(
        tuple(panels),
        total=float(values_of(term, np.zeros(1))[0]),
        origin_exponent=power,
        bulk=(float(np.exp(bulk[0].low)), float(np.exp(bulk[-1].high))),
        decay=np.inf if odd is None else odd.exponent,
        ending=Vanishing.like_a_power(panels[-1], _STEEP) if odd is None else odd,
    )


def _check_digits(panel: Panel, term: OpaqueTerm, dim: int) -> None:
    if panel.error > _LEAST_DIGITS * panel.top:
        raise AccuracyError(
            f"The integral of the callable {term.function.__name__} cancels in dimension {dim}: "
            f"values in double precision leave an error of {panel.error / panel.top:.1e} of the "
            "density. Write the kernel as a formula, whose values have more digits."
        )


def _fitted(
    sample: Callable[[FloatArray], Sampled], low: float, high: float, power: float | None = None
) -> tuple[Panel, bool]:
    """The panel through values, and whether its series resolves them; ``power`` as there."""
    t = 0.5 * (1.0 + NODES)
    w = np.exp(low + (high - low) * t) if power is None else np.exp(high) * t
    return panel_through(low, high, sample(w), power=power)


def _sampled(
    values: Callable[[FloatArray], FloatArray], reach: float, dim: int, w: FloatArray
) -> Sampled:
    """rho at w, and its error: the rounding of the sum, and what half as wide panels change."""
    results = []
    rounding = np.zeros(w.shape)
    for refinement in (1.0, 1.5):
        count = int(refinement * (_PANELS + _PANELS_PER_PHASE * float(w.max()) * reach)) + 1
        # Squares bring panels to the origin, where a callable varies most.
        edges = reach * np.linspace(0.0, 1.0, count + 1) ** 2
        half = 0.5 * np.diff(edges)
        z = ((edges[:-1] + half)[:, None] + half[:, None] * NODES).ravel()
        weight = (half[:, None] * WEIGHTS).ravel() * values(z)
        log_z = (dim - 1) * np.log(z / reach)
        terms = plane_wave_mean(dim, w[:, None] * z) * (weight * np.exp(log_z))
        results.append(terms.sum(axis=1))
        rounding = (
            np.abs(weight * np.exp(log_z)).sum() * EPS * 2.0 + np.abs(terms).sum(axis=1) * EPS
        )
    parts = ((2 - dim) * np.log(2.0), 2.0 * gammaln(0.5 * dim), (dim - 1) * np.log(w * reach))
    front = np.exp(parts[0] - parts[1] + parts[2])
    # A logarithm is rounded to its own size, and so is the value.
    rounding = rounding + EPS * (4.0 + sum(np.abs(p) for p in parts)) * np.abs(results[1])
    value = front * results[1]
    error = front * (_SAFETY * np.abs(results[1] - results[0]) + rounding)
    size = np.abs(value) + error
    return Sampled(value / size, error / size, np.log(size))


# --- towards infinity ----------------------------------------------------------------------------


def _odd_powers(term: OpaqueTerm, reach: float, origin: sympy.Expr, dim: int) -> PowerEnding:
    """The density that odd powers of z at 0 make at large w, from a series close to z = 0."""
    found, second = (_taylor(term, reach, degree) for degree in _ORIGIN_DEGREES)
    powers = np.arange(float(origin), _ORIGIN_POWERS, 2.0)
    growth = powers * np.log(2.0) + gammaln(0.5 * (dim + powers)) - gammaln(0.5 * dim)
    front = 2.0 * np.exp(growth) * rgamma(-0.5 * powers)
    at = powers.astype(int)
    wrong = _SAFETY * np.abs(front * (found[at] - second[at]))
    return PowerEnding.of_powers(powers + 1.0, front * found[at], wrong)


def _taylor(term: OpaqueTerm, reach: float, degree: int) -> FloatArray:
    """Coefficients of powers of z at 0, from the longest interval that the degree resolves."""
    end = 0.25 * reach
    nodes = chebyshev.chebpts1(2 * degree)
    for _ in range(_ORIGIN_HALVINGS):
        value = values_of(term, 0.5 * end * (1.0 + nodes))
        series = chebyshev.chebfit(nodes, value, degree)
        miss = np.abs(chebyshev.chebval(nodes, series) - value).max()
        if miss <= 16.0 * EPS * np.abs(value).max():
            series = series[np.cumsum(np.abs(series[::-1]))[::-1] > EPS * np.abs(series).max()]
            plain = Polynomial(chebyshev.cheb2poly(series))(Polynomial([-1.0, 2.0 / end]))
            found = np.zeros(_ORIGIN_POWERS + 1)
            count = min(plain.coef.size, found.size)
            found[:count] = plain.coef[:count]
            return found
        end *= 0.5
    raise AccuracyError(
        f"The callable {term.function.__name__} is no power series close to z = 0 as far as its "
        "values show, so that its density has no tail to be read off. State origin=..., or write "
        "it as a formula."
    )
