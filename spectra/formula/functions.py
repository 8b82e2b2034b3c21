"""The functions of the formula language, one entry each: spellings, sympy head, two backends.

NumPy gives speed and mpmath gives digits; a function is added to the toolkit by adding one
:class:`Function` to :data:`FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import mpmath
import numpy as np
import scipy.special
import sympy
from mpmath import mp
from numpy.typing import NDArray

from spectra.errors import AccuracyError
from spectra.formula.ball_functions import in_balls

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "KINKS",
    "Function",
    "hyper_pointwise",
    "mp_hyper",
    "np_greatest",
    "np_hyper",
    "np_least",
]

Array = NDArray[Any]
CONSTANTS: dict[str, sympy.Expr] = {"pi": sympy.pi, "E": sympy.E}


@dataclass(frozen=True)
class Function:
    """One function of the formula language: its spellings, its sympy head, and its two backends.

    Parameters
    ----------
    names
        The spellings accepted in text; the first is sympy's.
    head
        The sympy class.
    arity
        The least and largest number of arguments; ``None`` for no upper limit.
    numpy, mpmath
        The function of arrays and the function of ``mpf`` / ``mpc``.
    analytic
        False where the function has no analytic continuation (complex input is refused).
    largest
        The largest size of a numeric argument; sympy may do unbounded exact work beyond it.
    fixed
        How many leading arguments have to be numbers (the order of a Bessel function).
    """

    names: tuple[str, ...]
    head: Any
    arity: tuple[int, int | None]
    numpy: Callable[..., Any]
    mpmath: Callable[..., Any]
    analytic: bool = True
    largest: int | None = None
    fixed: int = 0


def np_least(*values: Any) -> Any:
    """Return the least of arrays, nan where one is nan."""
    return reduce(np.minimum, values)


def np_greatest(*values: Any) -> Any:
    """Return the greatest of arrays, nan where one is nan."""
    return reduce(np.maximum, values)


def _np_bessel(function: Callable[..., Any]) -> Callable[..., Any]:
    # scipy refuses integer orders beside float32 and warns on complex ones: orders are float.
    return lambda order, x: function(float(order), x)


def np_hyper(a: tuple[float, ...], b: tuple[float, ...], x: Array) -> Array:
    """Evaluate pFq by scipy where it has the function, point by point in mpmath elsewhere."""
    match (a, b):
        case ((), (c,)):
            return np.asarray(scipy.special.hyp0f1(c, x))
        case ((s, t), (c,)) if not np.iscomplexobj(x):
            inside = np.abs(x) < 0.9  # scipy's own power series; beyond it loses digits
            near = scipy.special.hyp2f1(s, t, c, np.where(inside, x, 0.0))
            if np.all(inside):
                return np.asarray(near)
    return hyper_pointwise(a, b, np.asarray(x))


def hyper_pointwise(a: tuple[float, ...], b: tuple[float, ...], x: Array) -> Array:
    """Evaluate pFq point by point in mpmath."""
    return _pointwise(lambda point: mp_hyper(a, b, point), x)


def _pointwise(function: Callable[[Any], Any], x: Any) -> Array:
    """Values of a function of mpmath numbers at an array; nan where it leaves the reals."""
    points = np.asarray(x)
    is_complex = np.iscomplexobj(points)
    out = np.empty(points.shape, dtype=complex if is_complex else float)
    with mp.workprec(80):
        for index, point in np.ndenumerate(points):
            value = function(mp.mpmathify(point.item()))
            left_the_reals = isinstance(value, mpmath.mpc) and not is_complex
            out[index] = np.nan if left_the_reals else value
    return out


def mp_hyper(a: tuple[Any, ...], b: tuple[Any, ...], x: Any) -> Any:
    """Evaluate pFq at the working precision; raise AccuracyError where the series diverges."""
    if mp.isnan(x):
        return mp.nan
    if mp.isfinite(x):
        found = in_balls(lambda at, *below: at.hypgeom(below[: len(a)], below[len(a) :]), x, *a, *b)
        if found is not None:
            return found
    try:
        return mp.hyper(list(a), list(b), x)
    except (ValueError, mp.NoConvergence) as error:
        raise AccuracyError(
            f"hyper({list(a)}, {list(b)}, x) did not converge at x = {mp.nstr(x, 8)}: {error}; "
            "keep the argument where the series converges"
        ) from error


def _mp_gamma(x: Any) -> Any:
    if mp.im(x) == 0 and mp.re(x) <= 0 and mp.isint(mp.re(x)):
        return mp.nan
    return mp.gamma(x)


def _mp_besselk(order: Any, x: Any) -> Any:
    # mpmath perturbs whole orders, which takes seconds at hundreds of digits.
    found = in_balls(lambda at, n: at.bessel_k(n), x, order)
    return mp.besselk(order, x) if found is None else found


def _np_expint(order: Any, x: Any) -> Any:
    """E_s(x): by scipy for whole orders, point by point in balls for others."""
    order = float(order)
    if order.is_integer() and order >= 0 and not np.iscomplexobj(x):
        return scipy.special.expn(int(order), x)
    return _pointwise(lambda point: _mp_expint(mp.mpf(order), point), x)


def _mp_expint(order: Any, x: Any) -> Any:
    if mp.isnan(x) or (mp.im(x) == 0 and mp.re(x) < 0):
        return mp.nan
    if mp.isinf(x):
        return mp.zero
    if x == 0:
        return 1 / (order - 1) if order > 1 else mp.nan
    found = in_balls(lambda at, s: at.expint(s), x, order)
    return mp.expint(order, x) if found is None else found


def _mp_heaviside(x: Any, at_zero: Any) -> Any:
    return at_zero if x == 0 else mp.mpf(x > 0)


_OF_ONE_ARGUMENT: tuple[tuple[tuple[str, ...], Any, Any, Any, int | None], ...] = (
    (("exp",), sympy.exp, np.exp, mp.exp, 2000),
    (("log", "ln"), sympy.log, np.log, mp.log, None),
    (("sin",), sympy.sin, np.sin, mp.sin, None),
    (("cos",), sympy.cos, np.cos, mp.cos, None),
    (("tan",), sympy.tan, np.tan, mp.tan, None),
    (("asin", "arcsin"), sympy.asin, np.arcsin, mp.asin, None),
    (("acos", "arccos"), sympy.acos, np.arccos, mp.acos, None),
    (("atan", "arctan"), sympy.atan, np.arctan, mp.atan, None),
    (("sinh",), sympy.sinh, np.sinh, mp.sinh, 2000),
    (("cosh",), sympy.cosh, np.cosh, mp.cosh, 2000),
    (("tanh",), sympy.tanh, np.tanh, mp.tanh, 2000),
    (("gamma",), sympy.gamma, scipy.special.gamma, _mp_gamma, 400),
    (("erf",), sympy.erf, scipy.special.erf, mp.erf, 10_000),
    (("erfc",), sympy.erfc, scipy.special.erfc, mp.erfc, 10_000),
)
FUNCTIONS: tuple[Function, ...] = (
    *(Function(names, head, (1, 1), f, g, largest=n) for names, head, f, g, n in _OF_ONE_ARGUMENT),
    *(
        Function((head.__name__,), head, (2, 2), _np_bessel(f), g, largest=10_000, fixed=1)
        for head, f, g in (
            (sympy.besselj, scipy.special.jv, mp.besselj),
            (sympy.besseli, scipy.special.iv, mp.besseli),
            (sympy.besselk, scipy.special.kv, _mp_besselk),
        )
    ),
    Function(("expint",), sympy.expint, (2, 2), _np_expint, _mp_expint, largest=10_000, fixed=1),
    Function(("Abs", "abs"), sympy.Abs, (1, 1), np.abs, mp.fabs, analytic=False),
    Function(("Heaviside",), sympy.Heaviside, (1, 2), np.heaviside, _mp_heaviside, analytic=False),
    Function(("Min", "min", "minimum"), sympy.Min, (1, None), np_least, min, analytic=False),
    Function(("Max", "max", "maximum"), sympy.Max, (1, None), np_greatest, max, analytic=False),
)
#: Functions that change their branch: they have no analytic continuation.
KINKS = (*(f.head for f in FUNCTIONS if not f.analytic), sympy.Piecewise)
