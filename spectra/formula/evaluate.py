"""Numbers from formulas, by walking the expression tree: nothing is compiled from text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import FormulaError
from spectra.formula.program import Compiler
from spectra.formula.rules import RULES

__all__ = ["mpmath_function", "numpy_function"]

Array = NDArray[Any]


def _non_analytic(expr: sympy.Expr) -> str | None:
    for node in sympy.preorder_traversal(expr):
        rule = RULES.get(node.func)
        kinked = isinstance(node, sympy.Piecewise) or (rule is not None and not rule.analytic)
        if kinked and node.free_symbols:
            return str(node.func.__name__)
    return None


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


def numpy_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Array]:
    """Make a function of arrays from an expression in one symbol.

    Parameters
    ----------
    expr
        An expression of the whitelist of :mod:`spectra.formula.parsing`, free of every symbol but
        `symbol`.
    symbol
        The variable.

    Returns
    -------
    callable
        Takes a real or complex array of any shape and returns one of the same shape, float64 or
        complex128.  It is nan where the formula is undefined over the reals (``acos(1.5)``,
        ``0/0``) and follows IEEE arithmetic at poles (``1/0`` is inf); it never warns.

    Raises
    ------
    FormulaError
        If the expression has another free symbol or a head without a rule; at the call, if a
        complex array meets a function without an analytic continuation (Abs, Piecewise, ...).

    Examples
    --------
    >>> import numpy as np, sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = numpy_function(1 - z**2 / 4, z)
    >>> f(np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    _refuse_other_symbols(expr, symbol)
    program = Compiler(symbol, "numpy").compile(expr)
    kink = _non_analytic(expr)

    def evaluate(x: Any) -> Array:
        points = np.asarray(x)
        points = points.astype(complex if np.iscomplexobj(points) else float, copy=False)
        if kink is not None and np.iscomplexobj(points):
            raise _complex_refusal(kink)
        with np.errstate(all="ignore"):
            value = np.asarray(program(points), dtype=points.dtype)
        if value.shape != points.shape or value is points:
            value = np.array(np.broadcast_to(value, points.shape))
        return value

    return evaluate


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
    program = Compiler(symbol, "mpmath").compile(expr)
    kink = _non_analytic(expr)

    def evaluate(x: Any) -> Any:
        point = mp.mpmathify(x)
        if kink is not None and isinstance(point, mpmath.mpc):
            raise _complex_refusal(kink)
        return program(point)

    return evaluate
