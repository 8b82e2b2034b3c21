"""Make functions of numpy arrays and of mpmath numbers from expressions.

Values in doubles can be wrong because of cancellation, as in ``(exp(-z) - 1 + z)/z**2`` at 1e-9,
or underflow of a factor, as in ``z**150*exp(-z)/150**150``.  For each octave [2^n, 2^(n+1)) that
contains arguments, doubles are compared with ball arithmetic at two points in it and in each octave
next to it.  If they differ by more than the rounding of z explains, all values in the octave are
computed in ball arithmetic, or, if there are many, from a polynomial that interpolates such values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import flint
import numpy as np
import sympy
from mpmath import mp
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

from spectra.errors import AccuracyError, FormulaError
from spectra.formula.ball_function import BallFunction
from spectra.formula.callables import Opaque
from spectra.formula.program import double_function

__all__ = ["mpmath_function", "numpy_function"]

Array = NDArray[Any]
Values = Callable[[Array], Array]
#: A function of points and their values in doubles that replaces inaccurate values in place.
Correction = Callable[[Array, Array], None]

# Bits requested of BallFunction.to_accuracy, and the bits it gives, 32 less; a double has 53.
_WORKING_BITS, _CORRECT_BITS = 90, 58
_ROUNDS_TO_ZERO = flint.arb(2) ** -1075  # smaller numbers are 0 in doubles
# Doubles are checked at two points 2^n (1 + frac(offset + n golden ratio)) of octave n.
_OFFSETS, _GOLDEN_RATIO = np.array([0.17, 0.67]), 0.6180339887498949
# Doubles are accepted up to this error relative to the largest value, plus this many times the
# effect of rounding z, estimated from values at z (1 +- _SHIFT) (arbitrary factors).
_RELATIVE_ERROR, _CONDITION_FACTOR, _ROUNDING, _SHIFT = 4e-15, 8.0, 2.0**-53, 2.0**-30
# Points at which the largest value of a formula is estimated.
_SIZE_POINTS = np.ldexp(1.0, np.arange(-10, 11, 2))
# Degree of the polynomial on an octave, and the number of values from which it is used (arbitrary).
_DEGREE, _MIN_VALUES = 24, 64
# Points in an octave, as fractions of its length, where the polynomial is checked.
_CHECK_POINTS = np.array([1e-6, 0.013, 0.171, 0.437, 0.719, 0.983])
# Bits of ball arithmetic beyond mpmath's working precision.
_EXTRA_BITS = 32


def numpy_function(
    expr: sympy.Expr, symbol: sympy.Symbol, *, end: float = math.inf, relative: bool = False
) -> Callable[[Any], Array]:
    """Make a function of real arrays from an expression in one symbol.

    Values are nan where the formula is undefined over the reals (``acos(1.5)``, ``0/0``), follow
    IEEE arithmetic at poles (``1/0`` is inf), and are computed in ball arithmetic where terms
    cancel or a part overflows or underflows, such as ``cosh(z)`` in ``exp(-2*z)*cosh(z)``.  No
    warnings are issued.  The accuracy beyond ``end`` is not checked.  Errors are small relative to
    the largest value; or, if ``relative``, to the largest value in the octave.
    """
    _refuse_other_symbols(expr, symbol)
    compiled = double_function(expr, symbol)
    ball_function = cache(lambda: BallFunction(expr, symbol, real=True))
    make_correction = cache(lambda: _correction(in_doubles, ball_function(), end, relative))
    can_use_balls = expr.has(symbol) and not expr.has(Opaque)

    def in_doubles(points: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(compiled(points), dtype=float)

    def evaluate(x: Any) -> Array:
        points = np.asarray(x).astype(float, casting="safe")
        values = np.array(np.broadcast_to(in_doubles(points), points.shape))
        if can_use_balls:
            make_correction()(points, values)
            failed = ~np.isfinite(values) & np.isfinite(points)
            for point in np.unique(points[failed]).tolist():
                value = _accurate_value(ball_function(), point)
                if np.isfinite(value):
                    values[points == point] = value
        return values

    return evaluate


def mpmath_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Make a function of one real mpmath number, at mpmath's working precision.

    It is nan where the formula is undefined over the reals or has a pole.
    """
    _refuse_other_symbols(expr, symbol)
    ball_function = BallFunction(expr, symbol, real=True)

    def evaluate(x: Any) -> Any:
        point = flint.acb(flint.arb(mp.mpf(x)))
        try:
            value = ball_function.to_accuracy(point, mp.prec + _EXTRA_BITS).real
        except ArithmeticError:
            return mp.nan
        return +mp.make_mpf(value.mid()._mpf_) if value.is_finite() else mp.nan

    return evaluate


def _refuse_other_symbols(expr: sympy.Expr, symbol: sympy.Symbol) -> None:
    others = sorted(str(s) for s in expr.free_symbols if s != symbol)
    if others:
        raise FormulaError(
            f"cannot evaluate {expr}: {', '.join(others)} has no value; "
            f"substitute a number, since the only variable is {symbol}"
        )


# --- correction of values in doubles --------------------------------------------------------------


def _accurate_value(ball_function: BallFunction, point: float) -> float:
    """The value at a point; nan if the formula is undefined over the reals or has a pole there."""
    try:
        value = ball_function.to_accuracy(flint.acb(point), _WORKING_BITS).real
    except ArithmeticError:
        return float("nan")
    if not value.is_finite():
        return float("nan")
    if value.rel_accuracy_bits() < _CORRECT_BITS and not abs(value) < _ROUNDS_TO_ZERO:
        raise AccuracyError(
            f"{ball_function.expr} overflows at {point:.6g} in doubles and with thousands of bits; "
            "write it with terms that stay bounded, such as exp(-z) for cosh(z) - sinh(z)"
        )
    return float(value.mid())


def _correction(
    in_doubles: Values, ball_function: BallFunction, end: float, relative: bool
) -> Correction:
    """Make the correction of a formula at points z <= end."""
    requested: Counter[int] = Counter()
    in_balls = partial(_accurate_values, ball_function)
    polynomial = cache(partial(_interpolate, in_balls))

    @cache
    def largest_value() -> float:
        return 0.0 if relative else _largest(in_balls(_SIZE_POINTS[end >= _SIZE_POINTS]))

    @cache
    @np.errstate(invalid="ignore")  # inf - inf
    def is_inaccurate(octave: int) -> bool:
        points = np.ldexp(1.0 + (_OFFSETS + octave * _GOLDEN_RATIO) % 1.0, octave)
        points = points[points <= end]
        accurate, values = in_balls(points), in_doubles(points)
        if np.any(np.isnan(values) & np.isfinite(accurate)):
            return True
        error = _largest(np.abs(values - accurate))
        allowed = _RELATIVE_ERROR * max(_largest(accurate), largest_value())
        if not error > allowed:
            return False
        changes = [in_balls(points * (1.0 + shift)) - accurate for shift in (-_SHIFT, _SHIFT)]
        allowed += _CONDITION_FACTOR * _ROUNDING / _SHIFT * _largest(np.array(changes))
        return bool(error > allowed)

    def correct(points: Array, values: Array) -> None:
        octaves = np.frexp(points)[1] - 1
        regular = (points > 0.0) & (points <= end) & (points < np.inf)
        for n in map(int, np.unique(octaves[regular])):
            if not any(is_inaccurate(m) for m in (n - 1, n, n + 1)):
                continue
            selected = regular & (octaves == n)
            requested[n] += int(np.count_nonzero(selected))
            evaluate = polynomial(n) if requested[n] >= _MIN_VALUES else in_balls
            corrected = evaluate(points[selected])
            values[selected] = np.where(np.isnan(corrected), values[selected], corrected)

    return correct


def _accurate_values(ball_function: BallFunction, points: Array) -> Array:
    """Values at many points; nan where they are undefined or cannot be computed accurately."""
    values = np.full(points.shape, np.nan)
    for i, point in enumerate(points.tolist()):
        with suppress(AccuracyError):
            values[i] = _accurate_value(ball_function, point)
    return values


def _largest(values: Array) -> float:
    """The largest finite absolute value, or 0."""
    sizes = np.abs(values)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _interpolate(in_balls: Values, octave: int) -> Values:
    """A polynomial through values of ``in_balls``; ``in_balls`` itself if the check fails."""
    low, high = np.ldexp(1.0, [octave, octave + 1])
    nodes = low + 0.5 * (high - low) * (1.0 + chebyshev.chebpts1(_DEGREE + 1))
    check_points = low + (high - low) * _CHECK_POINTS
    accurate, values = in_balls(check_points), in_balls(nodes)
    if not (np.isfinite(values).all() and np.isfinite(accurate).all()):
        return in_balls
    polynomial = Chebyshev.fit(nodes, values, _DEGREE, domain=[low, high])
    errors = np.abs(polynomial(check_points) - accurate)
    return polynomial if np.all(errors <= _RELATIVE_ERROR * np.abs(accurate)) else in_balls
