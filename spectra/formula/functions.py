"""The functions of the formula language, one entry each: spellings, sympy head, NumPy function.

To add a function, add a :class:`Function` to :data:`FUNCTIONS` and its ball to
:mod:`spectra.formula.evaluation.ball_function`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import flint
import numpy as np
import scipy.special
import sympy
from numpy.typing import NDArray

from spectra.base.precision import working

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "KINKS",
    "Function",
    "hyper_pointwise",
    "np_greatest",
    "np_hyper",
    "np_least",
]

Array = NDArray[Any]
# Bits of a double, and those with which a ball is computed until it has them.
_DOUBLE_BITS, _PRECISIONS = 53, (80, 160, 320, 640, 1280)
CONSTANTS: dict[str, sympy.Expr] = {"pi": sympy.pi, "E": sympy.E}


@dataclass(frozen=True)
class Function:
    """One function of the formula language: its spellings, sympy head, and values in doubles."""

    names: tuple[str, ...]  # the spellings accepted in text, sympy's first
    head: Any
    arity: tuple[int, int | None]  # the least and largest number of arguments
    numpy: Callable[..., Any]
    analytic: bool = True  # whether it is continued, so that it takes complex numbers
    largest: int | None = None  # size of a numeric argument beyond which sympy may work for ever
    fixed: int = 0  # how many leading arguments have to be numbers (the order of a Bessel function)


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
    """Evaluate pFq by scipy where it has the function, point by point in balls elsewhere."""
    match (a, b):
        case ((), (c,)):
            return np.asarray(scipy.special.hyp0f1(c, x))
        case ((s, t), (c,)):
            inside = np.abs(x) < 0.9  # scipy's own power series; beyond it loses digits
            near = scipy.special.hyp2f1(s, t, c, np.where(inside, x, 0.0))
            if np.all(inside):
                return np.asarray(near)
    return hyper_pointwise(a, b, x)


def hyper_pointwise(a: tuple[float, ...], b: tuple[float, ...], x: Any) -> Array:
    """Evaluate pFq point by point in balls."""
    return _pointwise(
        lambda at: at.hypgeom([flint.acb(c) for c in a], [flint.acb(c) for c in b]), x
    )


def _pointwise(function: Callable[[Any], Any], x: Any) -> Array:
    """Values of a function of balls at an array; nan where it leaves the reals."""
    points = np.asarray(x, dtype=float)
    out = np.full(points.shape, np.nan)
    for index, point in np.ndenumerate(points):
        for bits in _PRECISIONS:
            with working(bits):
                value = function(flint.acb(float(point)))
            if value.is_finite() and value.rel_accuracy_bits() > _DOUBLE_BITS:
                out[index] = float(value.real.mid()) if value.imag.contains(0) else np.nan
                break
    return out


def _np_expint(order: Any, x: Any) -> Any:
    """E_s(x): by scipy for integer orders, point by point in balls for others."""
    order = float(order)
    if order.is_integer() and order >= 0:
        return scipy.special.expn(int(order), x)
    return _pointwise(lambda at: at.expint(flint.acb(order)), x)


_OF_ONE_ARGUMENT: tuple[tuple[tuple[str, ...], Any, Any, int | None], ...] = (
    (("exp",), sympy.exp, np.exp, 2000),
    (("log", "ln"), sympy.log, np.log, None),
    (("sin",), sympy.sin, np.sin, None),
    (("cos",), sympy.cos, np.cos, None),
    (("tan",), sympy.tan, np.tan, None),
    (("asin", "arcsin"), sympy.asin, np.arcsin, None),
    (("acos", "arccos"), sympy.acos, np.arccos, None),
    (("atan", "arctan"), sympy.atan, np.arctan, None),
    (("sinh",), sympy.sinh, np.sinh, 2000),
    (("cosh",), sympy.cosh, np.cosh, 2000),
    (("tanh",), sympy.tanh, np.tanh, 2000),
    (("gamma",), sympy.gamma, scipy.special.gamma, 400),
    (("erf",), sympy.erf, scipy.special.erf, 10_000),
    (("erfc",), sympy.erfc, scipy.special.erfc, 10_000),
)
FUNCTIONS: tuple[Function, ...] = (
    *(Function(names, head, (1, 1), f, largest=n) for names, head, f, n in _OF_ONE_ARGUMENT),
    *(
        Function((head.__name__,), head, (2, 2), _np_bessel(f), largest=10_000, fixed=1)
        for head, f in (
            (sympy.besselj, scipy.special.jv),
            (sympy.besseli, scipy.special.iv),
            (sympy.besselk, scipy.special.kv),
        )
    ),
    Function(("expint",), sympy.expint, (2, 2), _np_expint, largest=10_000, fixed=1),
    Function(("Abs", "abs"), sympy.Abs, (1, 1), np.abs, analytic=False),
    Function(("Heaviside",), sympy.Heaviside, (1, 2), np.heaviside, analytic=False),
    Function(("Min", "min", "minimum"), sympy.Min, (1, None), np_least, analytic=False),
    Function(("Max", "max", "maximum"), sympy.Max, (1, None), np_greatest, analytic=False),
)
#: Functions that change their branch: they have no analytic continuation.
KINKS = (*(f.head for f in FUNCTIONS if not f.analytic), sympy.Piecewise)
