"""Functions of arrays and of mpmath numbers from expressions: nothing is compiled from text."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import flint
import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.evaluation.lost_digits import restoring, value_at
from spectra.formula.evaluation.program import function_of

__all__ = ["mpmath_function", "numpy_function"]

Array = NDArray[Any]

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
    restore = cache(lambda: restoring(quick, exact(), end))
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
                found = value_at(exact(), point)
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
    function_of(expr, symbol)  # refuses what is not in the language
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
