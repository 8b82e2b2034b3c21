r"""Callables as polynomials: exponents read off their values, and series through them.

A callable on z <= R is followed as :math:`(1 - x^2)^p h(t)`, x = z/R, with the exponent p at the
edge that is stated or found.  h is a Chebyshev series in t = x^2 if the callable is smooth at 0,
and in a root of x otherwise.
"""

from __future__ import annotations

import flint
import numpy as np
import sympy
from numpy.polynomial import Chebyshev, chebyshev

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.ball.ball_form import BallForm
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.callables import OpaqueTerm

__all__ = ["find_edge", "find_origin", "fit_ball_form", "values_of"]

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


def fit_ball_form(
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
        value, wanted = (values_of(term, float(radius) * place) for place in (x, check))
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


def find_edge(term: OpaqueTerm, support: sympy.Expr) -> sympy.Expr:
    """The exponent with which values end at a support, a multiple of 1/2."""
    end = float(support)
    size = np.abs(values_of(term, end * np.linspace(0.01, 0.99, 99))).max()
    distance = np.asarray(2.0**-_HALVINGS, dtype=float)
    value = np.abs(values_of(term, end * (1.0 - distance)))
    seen = value > _SEEN * size
    if seen.sum() >= 4 and np.all(seen[: seen.sum()]):
        slope = np.diff(np.log2(value[seen])) / np.diff(np.log2(distance[seen]))
        # Slopes settle like the distance: one step of Richardson's extrapolation.
        exponent = 2.0 * slope[-1] - slope[-2]
        half = round(2.0 * exponent) / 2.0
        if abs(exponent - half) < _CLOSE and half >= 0.0:
            return sympy.Rational(round(2.0 * half), 2)
    raise NoRouteError(
        f"The exponent of the callable {term.function.__name__} at z = {end:.6g} could not be read "
        "off its values. State it with edge=..."
    )


def find_origin(term: OpaqueTerm) -> sympy.Expr:
    """The exponent stated for z = 0; else ``oo`` if the values look smooth, 1 if they look odd."""
    function = term.function
    if function.origin is not None:
        return function.origin
    end = function.breaks[0][0] if function.breaks else function.support
    reach = (1.0 if end is sympy.oo else _EVEN_PART * float(end)) * float(term.scale)
    for power, answer in ((2.0, sympy.oo), (1.0, sympy.Integer(1))):
        t = 0.5 * (1.0 + chebyshev.chebpts1(2 * _EVEN_DEGREE))
        value = values_of(term, reach * t ** (1.0 / power))
        series = Chebyshev.fit(t, value, _EVEN_DEGREE, [0.0, 1.0])
        miss = np.abs(series(t) - value).max()
        if miss <= _EVEN_MISS * np.abs(value).max():
            return answer
    raise NoRouteError(
        f"The behaviour of the callable {term.function.__name__} at z = 0 could not be read off "
        "its values. State it with origin='smooth' or origin=..., the least odd or broken power."
    )


def values_of(term: OpaqueTerm, z: FloatArray) -> FloatArray:
    """The values of a callable with its coefficient, at distances in its scale."""
    return np.asarray(float(term.coefficient) * term.function.values(z / float(term.scale)))
