"""Python callables as sympy functions, with the properties that the user states of them.

Values of a callable do not determine its support, its smoothness or its decay, so the user states
these properties.  Each callable becomes its own sympy function class, so that kernels that contain
it can be added, scaled and compared like other kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy

from spectra.base.accuracy import SAME
from spectra.base.numbers import FloatArray
from spectra.errors import FormulaError, ParameterError
from spectra.formula.parameters import exact_parameter
from spectra.formula.parsing import Z

__all__ = ["Opaque", "OpaqueTerm", "check_stated_properties", "opaque_function", "opaque_terms"]

# Points in (0, 1), in units of the support, at which values for an array are compared with values
# for single numbers, and the relative difference up to which they are equal (arbitrary).
_TEST_POINTS = np.array([0.21, 0.5, 0.83])
_SAME_VALUE = SAME
# Errors of a callable that are reported with the distance; others, such as NameError, are bugs in
# the callable and are not caught.
_NO_VALUE = (ArithmeticError, ValueError, TypeError, AttributeError, LookupError)
#: Values of ``decay`` for kernels that decay faster than every power.
FAST_DECAYS = ("gaussian", "exponential")


class Opaque(sympy.Function):  # type: ignore[misc]
    """A function k(z) of which only the values and the stated properties are known.

    Each callable has its own subclass; a property that is not stated is None.
    """

    nargs = 1
    function: ClassVar[Callable[..., Any]]
    is_vectorised: ClassVar[bool]
    # k(z) = 0 for z > support; oo if k has no compact support.
    support: ClassVar[sympy.Expr]
    # k(z) behaves like (support - z)^edge at the support.
    edge: ClassVar[sympy.Expr | None] = None
    # The radii r < support where k is not smooth, and s if k is smooth plus (r - z)_+^s near r.
    breaks: ClassVar[tuple[tuple[sympy.Expr, sympy.Expr | None], ...] | None] = None
    # The smallest power of z at 0 that is not an even integer; oo if k is smooth in z^2.
    origin: ClassVar[sympy.Expr | None] = None
    # "gaussian", "exponential", or p if k(z) ~ c z^-p, with the same relation for the derivatives.
    decay: ClassVar[str | sympy.Expr | None] = None

    @classmethod
    def stated_properties(cls) -> dict[str, Any]:
        """Return the properties that the user stated, except for the support."""
        values = {name: getattr(cls, name) for name in _PROPERTIES}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def describe_missing(cls) -> str:
        """Say what is not known of the callable, and what to state; empty if nothing is missing."""
        has_support = cls.support is not sympy.oo
        call = f"support={cls.support}, edge=3" if has_support else "decay='gaussian'"
        required = _HINTS_WITH_SUPPORT if has_support else _HINTS_WITHOUT_SUPPORT
        missing = [hint for name, hint in required.items() if getattr(cls, name) is None]
        if not missing:
            return ""
        return (
            f"how smooth {cls.__name__} is and how it tends to 0; state {', '.join(missing)}, for "
            f"example radial({cls.__name__}, {call}, breaks=(), origin='smooth')"
        )

    def _eval_is_real(self) -> bool:
        return True

    def __deepcopy__(self, memo: object) -> Opaque:
        return self

    def __reduce_ex__(self, protocol: object) -> Any:
        function = type(self).function
        if "<" in getattr(function, "__qualname__", "<"):  # <lambda> or <locals>
            raise ParameterError(
                f"The kernel cannot be pickled: {type(self).__name__} is a lambda or a local "
                "function. Define it at the top level of a module, or write a formula."
            )
        properties = {"support": self.support, **self.stated_properties()}
        return _rebuilt, (function, properties, self.args)

    @classmethod
    def values(cls, z: Any) -> FloatArray:
        """Values at an array of distances."""
        z = np.asarray(z)
        if cls.is_vectorised:
            values = _call(cls.function, z, cls.__name__)
        else:
            distances = z.ravel().astype(float).tolist()
            each = [_call(cls.function, x, cls.__name__) for x in distances]
            values = np.array(each, dtype=float).reshape(z.shape)
        if not np.all(np.isfinite(values)):
            first = z[~np.isfinite(values)].ravel()[0]
            raise FormulaError(
                f"The callable {cls.__name__} is not finite at z = {first:.6g}. Fix it, or "
                "restrict it by support=... to the range where it is finite."
            )
        return values


class OpaqueTerm(NamedTuple):
    """The summand coefficient * function(z / scale)."""

    coefficient: sympy.Expr
    function: type[Opaque]
    scale: sympy.Expr

    def values(self, z: FloatArray) -> FloatArray:
        """Values at an array of distances."""
        values = self.function.values(z / float(self.scale))
        return np.asarray(float(self.coefficient) * values)


@lru_cache(maxsize=512)
def opaque_function(
    function: Callable[..., Any], *, support: sympy.Expr, **properties: Any
) -> type[Opaque]:
    """Return the sympy function class of a callable, cached by the callable and its properties."""
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "callable"
    unit = 1.0 if support is sympy.oo else float(support)
    attributes = {
        "function": staticmethod(function),
        "is_vectorised": _is_vectorised(function, unit * _TEST_POINTS, name),
        "support": support,
        **properties,
    }
    metaclass: Any = type(Opaque)
    subclass: type[Opaque] = metaclass(name, (Opaque,), attributes)
    return subclass


def _rebuilt(
    function: Callable[..., Any], properties: Mapping[str, Any], arguments: tuple[sympy.Expr, ...]
) -> Opaque:
    """Restore a pickled callable."""
    return opaque_function(function, **properties)(*arguments)


def _is_vectorised(function: Callable[..., Any], points: FloatArray, name: str) -> bool:
    single = np.array([_call(function, z, name) for z in points.tolist()])
    try:
        together = _call(function, points.copy(), name)
    except FormulaError:  # a function of one number, such as math.exp
        return False
    return bool(np.all(np.abs(together - single) <= _SAME_VALUE * np.abs(single).max()))


def _call(function: Callable[..., Any], z: Any, name: str) -> FloatArray:
    """Values of a callable at one distance or at an array of distances."""
    try:
        with np.errstate(all="ignore"):  # overflow is harmless in 1/cosh(z)
            return np.asarray(function(z), dtype=float).reshape(np.shape(z))
    except _NO_VALUE as error:
        where = (
            f"z = {z:.6g}" if np.ndim(z) == 0 else f"distances from {z.min():.6g} to {z.max():.6g}"
        )
        raise FormulaError(
            f"The callable {name} raised {type(error).__name__} ({error}) at {where}: it gives no "
            "real number there. Fix it (return the limit where an expression is 0/0), or restrict "
            "it by support=... to the range where it has values."
        ) from error


def opaque_terms(expr: sympy.Expr) -> tuple[tuple[OpaqueTerm, ...], sympy.Expr] | None:
    """Split a formula into multiples of callables of z/scale and a rest; None if impossible."""
    terms = []
    rest = sympy.Integer(0)
    for summand in sympy.Add.make_args(sympy.expand(expr)):
        nodes = summand.atoms(Opaque)
        if not nodes:
            rest += summand
            continue
        coefficient, factor = summand.as_independent(Z, as_Add=False)
        if not isinstance(factor, Opaque):
            return None
        scale = sympy.cancel(Z / factor.args[0])
        if scale.free_symbols or not scale.is_positive:
            return None
        terms.append(OpaqueTerm(coefficient, factor.func, scale))
    return tuple(terms), rest


_PROPERTIES = ("edge", "breaks", "origin", "decay")
_COMMON_HINTS = {
    "breaks": "breaks= (the radii where it is not smooth, or ())",
    "origin": "origin= ('smooth' in z^2, or the smallest power at z = 0 that is not even)",
}
_HINTS_WITHOUT_SUPPORT = {"decay": "decay= ('gaussian', 'exponential' or a power)"} | _COMMON_HINTS
_HINTS_WITH_SUPPORT = {"edge": "edge= (s if it ends like (support - z)^s)"} | _COMMON_HINTS


def check_stated_properties(support: sympy.Expr, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check the properties given to ``radial``; return them as attributes of :class:`Opaque`."""
    for name in options:
        if name not in _PROPERTIES:
            raise ParameterError(
                f"{name!r} is not a property of a callable; the names are "
                f"{', '.join(_PROPERTIES)}. A callable has no parameters: bind them with a lambda."
            )
    edge, breaks, origin, decay = (options.get(name) for name in _PROPERTIES)
    if edge is not None and support is sympy.oo:
        raise ParameterError("edge= is the exponent at the support: give support= too.")
    if decay is not None and support is not sympy.oo:
        raise ParameterError("decay= does not apply to a kernel with a support: omit it.")
    properties: dict[str, Any] = {
        "edge": _exponent("edge", edge, zero_allowed=True),
        "breaks": None if breaks is None else _breaks(breaks, support),
        "origin": sympy.oo if origin == "smooth" else _exponent("origin", origin),
        "decay": decay if decay in FAST_DECAYS else _exponent("decay", decay),
    }
    if origin is not None and (properties["origin"] / 2).is_Integer:
        raise ParameterError(
            f"origin={origin} is an even power, which is smooth: pass origin='smooth', or the "
            "smallest power of z that is not an even integer."
        )
    return {"support": support} | {k: v for k, v in properties.items() if v is not None}


def _exponent(name: str, value: Any, *, zero_allowed: bool = False) -> sympy.Expr | None:
    if value is None:
        return None
    if isinstance(value, str):
        words = {"decay": "'gaussian', 'exponential' or", "origin": "'smooth' or"}.get(name, "")
        raise ParameterError(f"{name}={value!r} is unknown: pass {words} an exponent.")
    number = exact_parameter(name, value)
    if not (number.is_positive or (zero_allowed and number == 0)):
        relation = ">=" if zero_allowed else ">"
        raise ParameterError(f"{name} must be an exponent {relation} 0, and {value} is not.")
    return number


def _breaks(breaks: Any, support: sympy.Expr) -> tuple[tuple[sympy.Expr, sympy.Expr | None], ...]:
    """Sorted pairs (radius, exponent), from a list of radii or a mapping of radii to exponents."""
    if isinstance(breaks, str) or not isinstance(breaks, Iterable):
        raise ParameterError(
            f"breaks = {breaks!r}: pass the radii r where the callable is not smooth as a list, or "
            "as a mapping from each r to s if a part of it ends like (r - z)^s."
        )
    exponents = dict(breaks) if isinstance(breaks, Mapping) else dict.fromkeys(breaks)
    pairs = []
    for radius, exponent in exponents.items():
        r = exact_parameter("breaks", radius)
        if not (r.is_positive and (support is sympy.oo or float(r) < float(support))):
            raise ParameterError(
                f"A break is a radius between 0 and the support {support}, and {radius} is not; "
                "for the exponent at the support itself use edge=."
            )
        pairs.append((r, _exponent("breaks", exponent, zero_allowed=True)))
    return tuple(sorted(pairs, key=lambda pair: float(pair[0])))
