"""Numbers from formulas, by walking the expression tree: nothing is compiled from text."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import AccuracyError, FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.cancellation import Resolving, resolving_function
from spectra.formula.evaluation.lost_digits import SHAKEN, mending
from spectra.formula.evaluation.program import function_of
from spectra.formula.functions import KINKS

__all__ = ["mpmath_function", "numpy_function"]

Array = NDArray[Any]

# A double has 53 bits; the digits resolve cosh(z) - sinh(z) to z = 1000, where kernels are probed.
_DOUBLE_DIGITS = 17
_MOST_DIGITS = 1300
_LEAST_DOUBLE = mp.ldexp(1, -1074)
_SEED = 20_040_377
# What terms cancel in, or what is near a zero of a function.
_CANCELLING = (sympy.Add, sympy.log, sympy.acos, sympy.asin)


def _kink(expr: sympy.Expr) -> str | None:
    """The name of the first function that has no analytic continuation."""
    nodes = (n for n in sympy.preorder_traversal(expr) if isinstance(n, KINKS) and n.free_symbols)
    return next((n.func.__name__ for n in nodes), None)


def _refuse_other_symbols(expr: sympy.Expr, symbol: sympy.Symbol) -> None:
    others = sorted(str(s) for s in expr.free_symbols if s != symbol)
    if others:
        raise FormulaError(
            f"cannot evaluate {expr}: {', '.join(others)} has no value; "
            f"give it one first, the only variable here is {symbol}"
        )


def _complex_refusal(head: str) -> FormulaError:
    return FormulaError(
        f"{head} has no analytic continuation, so this formula takes real arguments only; "
        "write the formula without it to evaluate it at complex points"
    )


def numpy_function(
    expr: sympy.Expr, symbol: sympy.Symbol, *, end: float = math.inf
) -> Callable[[Any], Array]:
    """Make a function of arrays from an expression in one symbol.

    Parameters
    ----------
    expr
        An expression of the whitelist of :mod:`spectra.formula.reader.parsing`, free of every
        symbol but `symbol`.
    symbol
        The variable.
    end
        The largest real number at which it is asked for: digits are lost of the values up to there.

    Returns
    -------
    callable
        Takes a real or complex array of any shape and returns one of the same shape, float64 or
        complex128.  It is nan where the formula is undefined over the reals (``acos(1.5)``,
        ``0/0``) and follows IEEE arithmetic at poles (``1/0`` is inf); it never warns.  Points
        where only a part of the formula overflows, such as ``cosh(z)`` in ``exp(-2*z)*cosh(z)``,
        are computed by mpmath one by one, and real ones z > 0 where terms cancel have the digits
        that doubles lose there.

    Raises
    ------
    FormulaError
        If the expression has another free symbol or a head without a rule; at the call, if a
        complex array meets a function without an analytic continuation (Abs, Piecewise, ...).
    AccuracyError
        At the call, where doubles overflow and 1300 digits do not resolve the value either.

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
    in_doubles = function_of(expr, symbol, "numpy")
    resolving = cache(partial(resolving_function, expr, symbol))
    kink = _kink(expr)

    def quick(points: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(in_doubles(points), dtype=points.dtype)

    def exact(points: Array) -> Array:
        pairs = zip(points.tolist(), quick(points).tolist(), strict=True)
        return np.array([_in_many_digits(resolving(), point, value) for point, value in pairs])

    mend = cache(lambda: mending(quick, _shaken(expr, symbol), exact, end))
    may_cancel = expr.has(*_CANCELLING) and expr.has(symbol) and not expr.has(Opaque)

    def evaluate(x: Any) -> Array:
        points = np.asarray(x)
        points = points.astype(complex if np.iscomplexobj(points) else float, copy=False)
        if kink is not None and np.iscomplexobj(points):
            raise _complex_refusal(kink)
        value = quick(points)
        if value.shape != points.shape or value is points:
            value = np.array(np.broadcast_to(value, points.shape))
        if may_cancel and points.dtype == float:
            mend()(points, value)
        lost = ~np.isfinite(value) & np.isfinite(points)
        if np.any(lost):
            value[lost] = _beyond_doubles(expr, resolving(), points[lost], value[lost])
        return value

    return evaluate


def _shaken(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Array], Array]:
    """The function with each intermediate result moved at random."""
    source = np.random.default_rng(_SEED)

    def moved(value: Any) -> Any:
        shape = np.shape(value)
        units = source.uniform(1.0, 2.0, shape) * source.choice((-1.0, 1.0), shape)
        return value * (1.0 + SHAKEN * units)

    function = function_of(expr, symbol, "numpy", rounding=moved)
    return lambda points: np.asarray(function(points), dtype=float)


def _in_many_digits(function: Resolving, point: float, ieee: float) -> float:
    try:
        return float(function(mp.mpf(point), _DOUBLE_DIGITS, _MOST_DIGITS)[0])
    except OverflowError:
        return ieee


def _beyond_doubles(expr: sympy.Expr, function: Resolving, points: Array, ieee: Array) -> Array:
    """Compute again, with unbounded exponents, what came out infinite or nan in doubles."""
    known: dict[Any, Any] = {}
    for point, value in zip(points.tolist(), ieee.tolist(), strict=True):
        if point not in known:
            known[point] = _beyond_doubles_at(expr, function, point, value)
    return np.array([known[point] for point in points.tolist()], dtype=points.dtype)


def _beyond_doubles_at(expr: sympy.Expr, function: Resolving, point: Any, ieee: Any) -> Any:
    try:
        value, moved = function(mp.mpmathify(point), _DOUBLE_DIGITS, _MOST_DIGITS)
    except OverflowError as error:
        if not np.isnan(ieee):
            return ieee
        raise _unresolved(expr, point) from error
    if not mp.isfinite(value):
        return ieee  # undefined, or a pole, where the sign of IEEE arithmetic stands
    if moved > _LEAST_DOUBLE:
        raise _unresolved(expr, point)
    return type(point)(value)


def _unresolved(expr: sympy.Expr, point: Any) -> AccuracyError:
    return AccuracyError(
        f"{expr} overflows at {point:.6g} in doubles, and {_MOST_DIGITS} digits do not resolve it; "
        "write the formula with terms that stay bounded, such as exp(-z) for cosh(z) - sinh(z)"
    )


def mpmath_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Make a function of one mpmath number from an expression; mpmath's working precision rules.

    Parameters
    ----------
    expr, symbol
        As for :func:`numpy_function`.

    Returns
    -------
    callable
        Takes ``mpf`` or ``mpc`` (or what mpmath converts) and returns the same kind.  At a real
        argument it is nan where the formula is undefined over the reals or has a pole.

    Raises
    ------
    FormulaError
        As for :func:`numpy_function`.
    AccuracyError
        At the call, if a hypergeometric series does not converge.

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
    function = function_of(expr, symbol, "mpmath")
    kink = _kink(expr)

    def evaluate(x: Any) -> Any:
        point = mp.mpmathify(x)
        if kink is not None and isinstance(point, mpmath.mpc):
            raise _complex_refusal(kink)
        return function(point)

    return evaluate
