r"""Callables as polynomials: exponents read off their values, and series through them.

A callable on z <= R is followed as :math:`(1 - x^2)^p h(t)`, x = z/R, with the exponent p at the
edge that is stated or found.  h is a Chebyshev series in t = x^2 if the callable is smooth at 0,
and in a root of x otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import flint
import numpy as np
import sympy
from numpy.polynomial import chebyshev

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import working
from spectra.density.ball.ball_form import BallForm
from spectra.density.ball.interpolate import monomials
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import OpaqueTerm

__all__ = [
    "BallFit",
    "Values",
    "fit_on_ball",
    "found_edge",
    "found_exponent",
    "found_origin",
    "values_of",
]

Values = Callable[[FloatArray], FloatArray]

# Bits with which the sums of powers are exact.
_EXACT_BITS = 2048
# Degrees tried in turn.
_DEGREES = (8, 14, 22, 34, 50, 72, 104, 150)
# A fit is accepted if it misses by this, relative to the largest value; one that misses by up to
# the second number at the last degree is accepted with that error.
_GOAL, _LIMIT = 64 * EPS, 1e-9
_SAMPLES_PER_TERM = 3
# Relative distances to the edge that show its exponent, and how close it must be to a half-integer.
_HALVINGS = np.arange(4, 16)
_CLOSE = 0.02
_SEEN = 1e-9
# The degree up to which an even function is told from others, on the first part of the support.
_EVEN_DEGREE, _EVEN_PART, _EVEN_MISS = 24, 0.25, 1e-11


@dataclass(frozen=True, eq=False)
class BallFit:
    """(1 - x^2)^edge times a Chebyshev series in 2t - 1, t = x^power."""

    edge: sympy.Expr
    power: sympy.Rational
    series: FloatArray
    miss: float

    def __call__(self, x: FloatArray) -> FloatArray:
        """Values at an array of x."""
        t = 2.0 * np.asarray(x, dtype=float) ** float(self.power) - 1.0
        weight = ((1.0 - x) * (1.0 + x)) ** float(self.edge)
        return np.asarray(chebyshev.chebval(t, self.series) * weight)

    def form(self, radius: sympy.Expr) -> BallForm:
        """The same function exactly, as a sum of powers."""
        with working(_EXACT_BITS):
            poly = monomials([flint.arb(float(c)) for c in self.series])
        return BallForm.of_series(radius, [(self.edge, poly)], self.power)


def fit_on_ball(
    function: Values,
    edge: sympy.Expr,
    power: sympy.Rational,
    *,
    more: int = 0,
    low: float = 0.0,
    size: float | None = None,
) -> BallFit:
    """The series of least degree through the values of a function of x on [low, 1].

    It is in x**power, times (1 - x^2)**edge; ``more`` terms and nodes make an independent fit to
    compare with.  Misses are relative to ``size``, the largest value by default.

    Examples
    --------
    >>> fit = fit_on_ball(lambda x: (1 - x) ** 2 * np.exp(x), sympy.Integer(2), sympy.Integer(1))
    >>> bool(abs(fit(np.array([0.5]))[0] - 0.25 * np.exp(0.5)) < 1e-14)
    True
    """
    best: BallFit | None = None
    for degree in _DEGREES:
        terms = degree + more + 1
        least = low ** float(power)
        t = least + 0.5 * (1.0 - least) * (
            1.0 + chebyshev.chebpts1(_SAMPLES_PER_TERM * terms + more)
        )
        x = t ** (1.0 / float(power))
        value = function(x)
        check = 0.5 * (x[1:] + x[:-1])
        unit = float(np.abs(value).max()) if size is None else size
        weight = ((1.0 - x) * (1.0 + x)) ** float(edge)
        design = weight[:, None] * chebyshev.chebvander(2.0 * t - 1.0, terms - 1)
        scale = np.sqrt((design**2).sum(axis=0))
        series = np.linalg.lstsq(design / scale, value, rcond=1e-15)[0] / scale
        found = BallFit(edge, power, series, 0.0)
        miss = np.abs(found(check) - function(check))
        found = replace(found, miss=float(miss.max()) / max(unit, 1e-300))
        if best is None or found.miss < best.miss:
            best = found
        if found.miss <= _GOAL:
            return found
    assert best is not None
    if best.miss <= _LIMIT:
        return best
    raise AccuracyError(
        f"A callable could not be followed by a series of {_DEGREES[-1]} terms: it misses by "
        f"{best.miss:.1e} of the largest value. It is not as smooth inside its support as its "
        "statements say (check edge= and origin=, and state where it breaks with breaks=...), or "
        "a fractional power begins at one of its breaks, where one may only end "
        "(docs/callables.md)."
    )


def found_exponent(function: Values, name: str, radius: float, size: float) -> sympy.Expr:
    """The exponent with which values end at a radius, a multiple of 1/2, from their ``size``.

    Examples
    --------
    >>> found_exponent(lambda z: (2 - z) ** 1.5 * np.exp(z), "k", 2.0, 3.0)
    3/2
    """
    distance = np.asarray(2.0**-_HALVINGS, dtype=float)
    value = np.abs(function(radius * (1.0 - distance)))
    seen = value > _SEEN * size
    if seen.sum() >= 4 and np.all(seen[: seen.sum()]):
        slope = np.diff(np.log2(value[seen])) / np.diff(np.log2(distance[seen]))
        # Slopes settle like the distance: one step of Richardson's extrapolation.
        exponent = 2.0 * slope[-1] - slope[-2]
        half = round(2.0 * exponent) / 2.0
        if abs(exponent - half) < _CLOSE and half >= 0.0:
            return sympy.Rational(round(2.0 * half), 2)
    raise NoRouteError(
        f"The exponent of the callable {name} at z = {radius:.6g} could not be read off its "
        "values. State it, with edge=... at the support and breaks={radius: exponent} inside."
    )


def found_edge(term: OpaqueTerm, support: sympy.Expr) -> sympy.Expr:
    """The exponent of a callable at its support, as :func:`found_exponent` finds it."""
    values, end = partial(values_of, term), float(support)
    size = np.abs(values(np.asarray(end * np.linspace(0.01, 0.9, 40)))).max()
    return found_exponent(values, term.function.__name__, end, float(size))


def found_origin(term: OpaqueTerm) -> sympy.Expr:
    """The exponent stated for z = 0; else ``oo`` if the values look smooth, 1 if they look odd."""
    function = term.function
    if function.origin is not None:
        return function.origin
    end = function.breaks[0][0] if function.breaks else function.support
    reach = (1.0 if end is sympy.oo else _EVEN_PART * float(end)) * float(term.scale)
    for power, answer in ((2.0, sympy.oo), (1.0, sympy.Integer(1))):
        t = 0.5 * (1.0 + chebyshev.chebpts1(2 * _EVEN_DEGREE))
        value = values_of(term, reach * t ** (1.0 / power))
        series = chebyshev.chebfit(2.0 * t - 1.0, value, _EVEN_DEGREE)
        miss = np.abs(chebyshev.chebval(2.0 * t - 1.0, series) - value).max()
        if miss <= _EVEN_MISS * np.abs(value).max():
            return answer
    raise NoRouteError(
        f"The behaviour of the callable {term.function.__name__} at z = 0 could not be read off "
        "its values. State it with origin='smooth' or origin=..., the least odd or broken power."
    )


def values_of(term: OpaqueTerm, z: FloatArray) -> FloatArray:
    """The values of a callable with its coefficient, at distances in its scale."""
    return np.asarray(float(term.coefficient) * term.function.values(z / float(term.scale)))
