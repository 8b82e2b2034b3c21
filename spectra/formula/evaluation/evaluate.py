"""Functions of arrays and of mpmath numbers from expressions: nothing is compiled from text.

In doubles ``(exp(-z) - 1 + z)/z**2`` is 0 below z = 1e-9, where it is 1/2, and
``z**150*exp(-z)/150**150`` is 0 where only its factors underflow.  Doubles are compared with balls
at two points of every octave that is asked for; where they differ by more than the condition of
the formula explains, the values come from balls, or from a polynomial that interpolates them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import flint
import numpy as np
import sympy
from mpmath import mp
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError, FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.evaluation.program import function_of

__all__ = ["mpmath_function", "numpy_function"]

Array = NDArray[Any]
Values = Callable[[Array], Array]

# A double has 53 bits; balls have 58 of 90.
_WANTED, _BITS = 58, 90
_LEAST_DOUBLE = flint.arb(2) ** -1075
# Two points in each octave, at different places of each.
_PLACES, _GOLDEN = np.array([0.17, 0.67]), 0.6180339887498949
# Errors are lost digits if they exceed this share of the largest value known, and eight times what
# a rounding of the distance causes.
_LOST, _CONDITION, _ROUNDING, _MOVED = 4e-15, 8.0, 2.0**-53, 2.0**-30
# Distances at which the size of the formula is known.
_KNOWN = np.ldexp(1.0, np.arange(-10, 11, 2))
# A polynomial of this degree is tried once this many points were asked for.
_DEGREE, _MANY = 24, 64
_CHECKS, _RESOLVED = np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983]), 4e-15
# Bits beyond mpmath's working precision.
_SPARE_BITS = 32


def numpy_function(
    expr: sympy.Expr, symbol: sympy.Symbol, *, end: float = math.inf
) -> Callable[[Any], Array]:
    """Make a function of real arrays, up to ``end``, from an expression in one symbol.

    It is nan where the formula is undefined over the reals (``acos(1.5)``, ``0/0``) and follows
    IEEE arithmetic at poles (``1/0`` is inf); it never warns.  Values are computed in ball
    arithmetic where doubles lose them: where terms cancel, and where a part of the formula
    overflows or underflows, such as ``cosh(z)`` in ``exp(-2*z)*cosh(z)``.

    Examples
    --------
    >>> import numpy as np, sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = numpy_function(1 - z**2 / 4, z)
    >>> f(np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.75, 0.0]
    >>> numpy_function(sympy.exp(-z) * sympy.cosh(z), z)(np.array([800.0])).tolist()
    [0.5]
    """
    _refuse_other_symbols(expr, symbol)
    in_doubles = function_of(expr, symbol)
    exact = cache(lambda: BallFunction(expr, symbol, real=True))
    restore = cache(lambda: _restoring(quick, exact(), end))
    has_balls = expr.has(symbol) and not expr.has(Opaque)

    def quick(points: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(in_doubles(points), dtype=float)

    def evaluate(x: Any) -> Array:
        points = np.asarray(x).astype(float, casting="safe")
        value = np.array(np.broadcast_to(quick(points), points.shape))
        if has_balls:
            restore()(points, value)
            lost = ~np.isfinite(value) & np.isfinite(points)
            for point in np.unique(points[lost]).tolist():
                found = _value_at(exact(), point)
                if np.isfinite(found):
                    value[points == point] = found
        return value

    return evaluate


def mpmath_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Make a function of one real mpmath number, at mpmath's working precision.

    It is nan where the formula is undefined over the reals or has a pole.

    Examples
    --------
    >>> import mpmath, sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = mpmath_function(sympy.exp(-z / 3), z)
    >>> with mpmath.workdps(30):
    ...     print(f(mpmath.mpf(1)))
    0.716531310573789250425604096925
    """
    _refuse_other_symbols(expr, symbol)
    exact = BallFunction(expr, symbol, real=True)

    def evaluate(x: Any) -> Any:
        point = flint.acb(flint.arb(mp.mpf(x)))
        try:
            value = exact.resolved(point, mp.prec + _SPARE_BITS).real
        except ArithmeticError:
            return mp.nan
        return +mp.make_mpf(value.mid()._mpf_) if value.is_finite() else mp.nan

    return evaluate


def _refuse_other_symbols(expr: sympy.Expr, symbol: sympy.Symbol) -> None:
    others = sorted(str(s) for s in expr.free_symbols if s != symbol)
    if others:
        raise FormulaError(
            f"cannot evaluate {expr}: {', '.join(others)} has no value; "
            f"give it one first, the only variable here is {symbol}"
        )


# --- digits that doubles lose --------------------------------------------------------------------


def _value_at(exact: BallFunction, point: float) -> float:
    """The value at a point; nan where the formula is undefined over the reals, or has a pole."""
    try:
        value = exact.resolved(flint.acb(point), _BITS).real
    except ArithmeticError:
        return float("nan")
    if not value.is_finite():
        return float("nan")
    if value.rel_accuracy_bits() < _WANTED and not abs(value) < _LEAST_DOUBLE:
        raise AccuracyError(
            f"{exact.expr} overflows at {point:.6g} in doubles, and balls of some thousand bits do "
            "not resolve it; write the formula with terms that stay bounded, such as exp(-z) for "
            "cosh(z) - sinh(z)"
        )
    return float(value.mid())


def _restoring(quick: Values, exact: BallFunction, end: float) -> Callable[[Array, Array], None]:
    """Make a function of points and values in doubles that restores the lost digits in place."""
    asked: Counter[int] = Counter()
    in_balls = partial(_values, exact)

    @cache
    def size() -> Any:
        return _largest(in_balls(_KNOWN[end >= _KNOWN]))

    @cache
    @np.errstate(invalid="ignore")  # inf - inf
    def loses(octave: int) -> bool:
        points = np.ldexp(1.0 + (_PLACES + octave * _GOLDEN) % 1.0, octave)
        points = points[points <= end]
        true = in_balls(points)
        values = quick(points)
        if np.any(np.isnan(values) & np.isfinite(true)):
            return True
        error = np.abs(values - true)
        allowed = _LOST * max(_largest(true), size())
        if not _largest(error) > allowed:
            return False
        moved = [in_balls(points * (1.0 + share)) - true for share in (-_MOVED, _MOVED)]
        allowed += _CONDITION * _ROUNDING / _MOVED * _largest(np.array(moved))
        return bool(_largest(error) > allowed)

    @cache
    def values_on(octave: int) -> Values:
        return _interpolated(in_balls, octave)

    def restore(points: Array, values: Array) -> None:
        octaves = np.frexp(points)[1] - 1
        regular = (points > 0.0) & (points <= end) & (points < np.inf)
        for n in map(int, np.unique(octaves[regular])):
            if not any(loses(m) for m in (n - 1, n, n + 1)):
                continue
            mine = regular & (octaves == n)
            asked[n] += int(np.count_nonzero(mine))
            found = (values_on(n) if asked[n] >= _MANY else in_balls)(points[mine])
            values[mine] = np.where(np.isnan(found), values[mine], found)

    return restore


def _values(exact: BallFunction, points: Array) -> Array:
    """Values at many points; nan where they are undefined or not resolved."""
    found = np.full(points.shape, np.nan)
    for i, point in enumerate(points.tolist()):
        try:
            found[i] = _value_at(exact, point)
        except AccuracyError:
            continue
    return found


def _largest(values: Array) -> float:
    sizes = np.abs(values)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _interpolated(exact: Values, octave: int) -> Values:
    """The polynomial on an octave if it reproduces values between its nodes, else `exact`."""
    low, high = np.ldexp(1.0, [octave, octave + 1])
    nodes = low + 0.5 * (high - low) * (1.0 + chebyshev.chebpts1(_DEGREE + 1))
    between = low + (high - low) * _CHECKS
    true, values = exact(between), exact(nodes)
    if not (np.isfinite(values).all() and np.isfinite(true).all()):
        return exact
    series = Chebyshev.fit(nodes, values, _DEGREE, domain=[low, high])
    close = np.abs(series(between) - true) <= _RESOLVED * np.abs(true)
    return series if np.all(close) else exact
