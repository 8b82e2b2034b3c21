r"""Callables as polynomials: what their values show, and series that pass through them.

A callable on z <= R is taken as :math:`(1 - x^2)^p h(t)`, x = z/R, with the edge exponent p that
is stated or found, and h a Chebyshev series in t = x^2 where k is smooth at z = 0, else in a root
of x.
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
from spectra.base.precision import Ball
from spectra.density.ball.ball_form import to_ball
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import OpaqueTerm

__all__ = [
    "Surrogate",
    "fit_surrogate",
    "found_edge",
    "found_exponent",
    "found_origin",
    "values_of",
]

# Degrees tried in turn; between one and the next the series of a smooth function ends.
_DEGREES = (8, 14, 22, 34, 50, 72, 104, 150)
# A fit is accepted where it misses by this, relative to the largest value; 1e-9 at the last degree
# still is a kernel, with that error.
_GOAL, _LIMIT = 64 * EPS, 1e-9
_SAMPLES_PER_TERM = 3
# The distances to the edge that show its exponent, and how close to a half-integer it must be.
_HALVINGS = np.arange(4, 16)
_CLOSE = 0.02
_SEEN = 1e-9
# The degree up to which an even function is told from others, on the first part of the support.
_EVEN_DEGREE, _EVEN_PART, _EVEN_MISS = 24, 0.25, 1e-11


@dataclass(frozen=True, eq=False)
class Surrogate:
    """(1 - x^2)^edge times a Chebyshev series in 2t - 1, t = x^power."""

    edge: sympy.Expr
    power: sympy.Rational
    series: FloatArray
    miss: float

    def in_doubles(self, x: FloatArray) -> FloatArray:
        """Values at an array of x."""
        t = 2.0 * np.asarray(x, dtype=float) ** float(self.power) - 1.0
        weight = ((1.0 - x) * (1.0 + x)) ** float(self.edge)
        return np.asarray(chebyshev.chebval(t, self.series) * weight)

    def __call__(self, x: Ball) -> Ball:
        """The value at an exact x, in a ball."""
        twice = 4 * x ** to_ball(self.power) - 2
        now = before = flint.arb(0)
        for c in self.series[:0:-1]:
            now, before = float(c) + twice * now - before, now
        value = float(self.series[0]) + twice * now / 2 - before
        return value * ((1 - x) * (1 + x)) ** to_ball(self.edge)


def fit_surrogate(
    function: Callable[[FloatArray], FloatArray],
    edge: sympy.Expr,
    power: sympy.Rational,
    *,
    more: int = 0,
    low: float = 0.0,
    size: float | None = None,
) -> Surrogate:
    """The series of least degree that passes through the values of a function on [low, 1].

    Parameters
    ----------
    function : callable
        Values at x in (0, 1), in doubles.
    edge : sympy number
        The exponent of 1 - x at the edge.
    power : sympy number
        The series is in x**power: 2 for functions that are smooth at 0.
    more : int
        So many terms and nodes more than needed: an independent fit, to be compared with.
    low : float
        Below it, where the series is the least one that continues it, nothing is asked.
    size : float, optional
        What misses are relative to; the largest value by default.

    Raises
    ------
    AccuracyError
        Where no series passes through the values: they are not smooth, or the exponents wrong.

    Examples
    --------
    >>> fit = fit_surrogate(lambda x: (1 - x) ** 2 * np.exp(x), sympy.Integer(2), sympy.Integer(1))
    >>> bool(abs(float(fit(flint.arb(0.5))) - 0.25 * np.exp(0.5)) < 1e-14)
    True
    """
    best: Surrogate | None = None
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
        found = Surrogate(edge, power, series, 0.0)
        miss = np.abs(found.in_doubles(check) - function(check))
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


def found_exponent(
    function: Callable[[FloatArray], FloatArray], name: str, radius: float, size: float
) -> sympy.Expr:
    """The exponent with which values end at a radius, a multiple of 1/2; ``size`` is theirs.

    Raises
    ------
    NoRouteError
        Where they show none.

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
    """What is stated of z = 0; else ``oo`` for what looks smooth there, 1 for what looks like z.

    Raises
    ------
    NoRouteError
        Where values show neither.
    """
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
