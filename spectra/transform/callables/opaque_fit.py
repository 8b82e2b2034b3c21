r"""Callables as polynomials: what their values show, and series that pass through them.

A callable on z <= R is taken as :math:`(1 - x^2)^p h(t)`, x = z/R, with the edge exponent p that
is stated or found, and h a Chebyshev series in t = x^2 where k is smooth at z = 0, else in a root
of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.opaque import OpaqueTerm
from spectra.transform.on_balls.ball import to_mpf

__all__ = ["Surrogate", "fit_surrogate", "found_edge", "found_origin"]

FloatArray = NDArray[np.float64]
EPS = float(np.finfo(float).eps)

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

    @cached_property
    def _exact(self) -> list[Any]:
        return [mpmath.mpf(float(c)) for c in self.series]

    def __call__(self, x: Any) -> Any:
        """The value at x, an mpmath number."""
        t = 2 * x ** to_mpf(self.power) - 1
        b1 = b2 = mpmath.mpf(0)
        for c in self._exact[:0:-1]:
            b1, b2 = c + 2 * t * b1 - b2, b1
        value = self._exact[0] + t * b1 - b2
        return value * (1 - x * x) ** to_mpf(self.edge)


def fit_surrogate(
    function: Callable[[FloatArray], FloatArray],
    edge: sympy.Expr,
    power: sympy.Rational,
    *,
    more: int = 0,
) -> Surrogate:
    """The series of least degree that passes through the values of a function on [0, 1].

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

    Raises
    ------
    AccuracyError
        Where no series passes through the values: they are not smooth, or the exponents wrong.

    Examples
    --------
    >>> fit = fit_surrogate(lambda x: (1 - x) ** 2 * np.exp(x), sympy.Integer(2), sympy.Integer(1))
    >>> bool(abs(float(fit(mpmath.mpf(0.5))) - 0.25 * np.exp(0.5)) < 1e-14)
    True
    """
    best: Surrogate | None = None
    for degree in _DEGREES:
        terms = degree + more + 1
        t = 0.5 * (1.0 + chebyshev.chebpts1(_SAMPLES_PER_TERM * terms + more))
        x = t ** (1.0 / float(power))
        value = function(x)
        check = 0.5 * (x[1:] + x[:-1])
        size = float(np.abs(value).max())
        weight = ((1.0 - x) * (1.0 + x)) ** float(edge)
        design = weight[:, None] * chebyshev.chebvander(2.0 * t - 1.0, terms - 1)
        scale = np.sqrt((design**2).sum(axis=0))
        series = np.linalg.lstsq(design / scale, value, rcond=1e-15)[0] / scale
        at = chebyshev.chebval(2.0 * check ** float(power) - 1.0, series)
        miss = np.abs(at * ((1.0 - check) * (1.0 + check)) ** float(edge) - function(check))
        found = Surrogate(edge, power, series, float(miss.max()) / max(size, 1e-300))
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
        "statements say: check edge= and origin=, and write a kernel with breaks as a sum of "
        "callables, each with a support of its own."
    )


def found_edge(term: OpaqueTerm, support: sympy.Expr) -> sympy.Expr:
    """The exponent at the support that values show, a multiple of 1/2.

    Raises
    ------
    NoRouteError
        Where they show none.
    """
    distance = np.asarray(2.0**-_HALVINGS, dtype=float)
    value = np.abs(_at(term, float(support) * (1.0 - distance)))
    size = np.abs(_at(term, np.asarray(float(support) * np.linspace(0.01, 0.9, 40)))).max()
    seen = value > _SEEN * size
    if seen.sum() >= 4 and np.all(seen[: seen.sum()]):
        slope = np.diff(np.log2(value[seen])) / np.diff(np.log2(distance[seen]))
        # Slopes settle like the distance: one step of Richardson's extrapolation.
        exponent = 2.0 * slope[-1] - slope[-2]
        half = round(2.0 * exponent) / 2.0
        if abs(exponent - half) < _CLOSE and half >= 0.0:
            return sympy.Rational(round(2.0 * half), 2)
    raise NoRouteError(
        f"The exponent of the callable {term.function.__name__} at its support {support} could "
        "not be read off its values. State it with edge=..."
    )


def found_origin(term: OpaqueTerm) -> sympy.Expr:
    """``oo`` for a callable that looks smooth at z = 0, 1 for one that looks like z.

    Raises
    ------
    NoRouteError
        Where values show neither.
    """
    facts = term.function.facts
    reach = 1.0 if facts.support is sympy.oo else _EVEN_PART * float(facts.support)
    reach *= float(term.scale)
    for power, answer in ((2.0, sympy.oo), (1.0, sympy.Integer(1))):
        t = 0.5 * (1.0 + chebyshev.chebpts1(2 * _EVEN_DEGREE))
        value = _at(term, reach * t ** (1.0 / power))
        series = chebyshev.chebfit(2.0 * t - 1.0, value, _EVEN_DEGREE)
        miss = np.abs(chebyshev.chebval(2.0 * t - 1.0, series) - value).max()
        if miss <= _EVEN_MISS * np.abs(value).max():
            return answer
    raise NoRouteError(
        f"The behaviour of the callable {term.function.__name__} at z = 0 could not be read off "
        "its values. State it with origin='smooth' or origin=..., the least odd or broken power."
    )


def _at(term: OpaqueTerm, z: FloatArray) -> FloatArray:
    return np.asarray(float(term.coefficient) * term.function.values(z / float(term.scale)))
