"""Python callables as functions of the formula language: values in doubles, facts as stated.

A callable shows nothing of itself, so its kernel carries what its user states: where it ends, how
smooth it is there, how it starts and how it decays.  Each callable is a sympy function of its own,
so that kernels made of it add, scale and compare like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NoReturn

import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.numbers import FloatArray
from spectra.errors import FormulaError, ParameterError
from spectra.formula.reader.parameters import exact_parameter
from spectra.formula.reader.parsing import Z

__all__ = ["Opaque", "OpaqueTerm", "opaque_function", "opaque_terms", "stated_facts"]

_PROBES = np.array([0.21, 0.5, 0.83])
_SAME_VALUE = 1e-9
_REMEMBERED = 512
# What functions of numbers raise for arguments that they do not take.  Anything else, such as a
# missing name or an interrupt, is no answer about a distance and passes through.
_NO_VALUE = (ArithmeticError, ValueError, TypeError, AttributeError, LookupError)
#: Decays that are faster than every power.
FAST_DECAYS = ("gaussian", "exponential")


class Opaque(sympy.Function):  # type: ignore[misc]
    """A function k of the formula language of which only its values are known, and what is stated.

    Each callable is a class of its own, with None for what is not stated of it.
    """

    nargs = 1
    function: ClassVar[Callable[..., Any]]
    is_vectorised: ClassVar[bool]
    # It is zero beyond; oo where there is no end.
    support: ClassVar[sympy.Expr]
    # It behaves like (support - z)^edge at its support.
    edge: ClassVar[sympy.Expr | None] = None
    # The radii inside the support where it is not smooth, and their exponents.
    breaks: ClassVar[tuple[tuple[sympy.Expr, sympy.Expr | None], ...] | None] = None
    # The least power of z at 0 that is no even integer; oo for a smooth function of z^2.
    origin: ClassVar[sympy.Expr | None] = None
    # "gaussian", "exponential" or the power of 1/z, without oscillation, with its derivatives.
    decay: ClassVar[str | sympy.Expr | None] = None

    @classmethod
    def stated(cls) -> dict[str, Any]:
        """What is stated, by name."""
        named = {name: getattr(cls, name) for name in _NAMES}
        return {name: value for name, value in named.items() if value is not None}

    def _eval_is_real(self) -> bool:
        return True

    def __deepcopy__(self, memo: object) -> Opaque:
        return self

    def __reduce_ex__(self, protocol: object) -> Any:
        function = type(self).function
        if "<" in getattr(function, "__qualname__", "<"):
            raise ParameterError(
                f"A kernel holds the callable {type(self).__name__}, which is a lambda or a local "
                "function: it cannot be pickled. Define it at the top level of a module, or write "
                "the kernel as a formula."
            )
        return _rebuilt, (function, {"support": self.support, **self.stated()}, self.args)

    @classmethod
    def values(cls, z: Any) -> FloatArray:
        """Values at an array of distances."""
        z = np.asarray(z)
        if np.iscomplexobj(z):
            raise FormulaError(
                f"The callable {cls.__name__} takes real distances only: write the kernel as a "
                "formula where it is needed at complex points."
            )
        with np.errstate(all="ignore"):  # 1/cosh(z) is right though cosh(z) overflows
            values = cls._plain_values(z)
        if not np.all(np.isfinite(values)):
            bad = z[~np.isfinite(values)].ravel()[0]
            raise FormulaError(
                f"The callable {cls.__name__} is not finite at z = {bad:.6g}. A kernel is bounded "
                "and real: give the range where it is with support=..., or mend the callable."
            )
        return values

    @classmethod
    def _plain_values(cls, z: NDArray[Any]) -> FloatArray:
        if cls.is_vectorised:
            try:
                return np.asarray(cls.function(z), dtype=float)
            except _NO_VALUE as error:
                where = f"distances from {z.min():.6g} to {z.max():.6g}"
                raise _failure(cls.__name__, where, error) from error
        values = [_value(cls.function, float(x), cls.__name__) for x in z.ravel()]
        return np.array(values, dtype=float).reshape(z.shape)

    def refuse_digits(self) -> NoReturn:
        """Raise the error of a callable whose values are needed to more digits."""
        raise FormulaError(
            f"The callable {type(self).__name__} has values in double precision only, and "
            "more digits are asked for here. Write the kernel as a formula."
        )


@dataclass(frozen=True)
class OpaqueTerm:
    """The summand coefficient * function(z / scale)."""

    coefficient: sympy.Expr
    function: type[Opaque]
    scale: sympy.Expr


@lru_cache(maxsize=_REMEMBERED)
def opaque_function(
    function: Callable[..., Any], *, support: sympy.Expr, **stated: Any
) -> type[Opaque]:
    """The sympy function of a callable; one for the same callable and statements.

    Examples
    --------
    >>> f = opaque_function(abs, support=sympy.oo)
    >>> f is opaque_function(abs, support=sympy.oo), f.values(np.array([2.0]))
    (True, array([2.]))
    """
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "callable"
    reach = 1.0 if support is sympy.oo else float(support)
    members = {
        "function": staticmethod(function),
        "is_vectorised": _is_vectorised(function, reach * _PROBES, name),
        "support": support,
        **stated,
    }
    kind: Any = type(Opaque)
    made: type[Opaque] = kind(name, (Opaque,), members)
    return made


def _rebuilt(
    function: Callable[..., Any], facts: Mapping[str, Any], arguments: tuple[sympy.Expr, ...]
) -> Opaque:
    return opaque_function(function, **facts)(*arguments)


@np.errstate(all="ignore")
def _is_vectorised(function: Callable[..., Any], probes: FloatArray, name: str) -> bool:
    alone = np.array([_value(function, float(z), name) for z in probes])
    try:
        together = np.asarray(function(probes.copy()), dtype=float)
    except _NO_VALUE:  # a function of one number, such as math.exp
        return False
    return together.shape == probes.shape and bool(
        np.all(np.abs(together - alone) <= _SAME_VALUE * np.abs(alone).max())
    )


def _value(function: Callable[..., Any], z: float, name: str) -> float:
    try:
        value = function(z)
    except _NO_VALUE as error:
        raise _failure(name, f"z = {z:.6g}", error) from error
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise FormulaError(
            f"The callable {name} returned {value!r}, which is no real number. A kernel is a real "
            "function of one distance."
        ) from error


def _failure(name: str, where: str, error: Exception) -> FormulaError:
    return FormulaError(
        f"The callable {name} raised {type(error).__name__} ({error}) at {where}. A kernel has a "
        "value at every distance: mend the callable there (its limit is wanted where a formula "
        "divides 0 by 0), or give the range where it has values with support=..."
    )


def opaque_terms(expr: sympy.Expr) -> tuple[tuple[OpaqueTerm, ...], sympy.Expr] | None:
    """Write a formula as multiples of callables of z/scale plus a formula without any, or None."""
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


# --- statements -------------------------------------------------------------------------------

_NAMES = ("edge", "breaks", "origin", "decay")


def stated_facts(support: sympy.Expr, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the keywords of ``radial`` state of a callable, as :class:`Opaque` has it."""
    for name in options:
        if name not in _NAMES:
            raise ParameterError(
                f"{name!r} is nothing that is stated of a callable; the names are "
                f"{', '.join(_NAMES)}. A callable has no parameters: bind them with a lambda."
            )
    edge = options.get("edge")
    if edge is not None and support is sympy.oo:
        raise ParameterError("edge= is the exponent at the support: give support= too.")
    decay = options.get("decay")
    if decay is not None and support is not sympy.oo:
        raise ParameterError("decay= is about z to infinity, where a kernel with a support is 0.")
    if isinstance(decay, str) and decay not in FAST_DECAYS:
        raise ParameterError(
            f"The decay {decay!r} is unknown: say 'gaussian', 'exponential', or the exponent of a "
            "power of 1/z."
        )
    origin = options.get("origin")
    if isinstance(origin, str) and origin != "smooth":
        raise ParameterError(
            f"The origin {origin!r} is unknown: say 'smooth' for a smooth function of z^2, or give "
            "the least power of z that is no even integer."
        )
    found: dict[str, Any] = {"support": support}
    if edge is not None:
        found["edge"] = _exponent("edge", edge, least=0)
    if (breaks := options.get("breaks")) is not None:
        found["breaks"] = _stated_breaks(breaks, support)
    if origin is not None:
        found["origin"] = sympy.oo if origin == "smooth" else _origin(origin)
    if decay is not None:
        found["decay"] = decay if isinstance(decay, str) else _exponent("decay", decay)
    return found


def _exponent(name: str, value: Any, *, least: float = -1) -> sympy.Expr:
    number = exact_parameter(name, value)
    if not (number.is_positive or (least == 0 and number == 0)):
        raise ParameterError(f"{name} is an exponent > 0, and {value} is not.")
    return number


def _origin(value: Any) -> sympy.Expr:
    number = _exponent("origin", value)
    if number.is_Integer and number % 2 == 0:
        raise ParameterError(
            f"origin={value} is an even power, which is smooth: say origin='smooth', or give the "
            "least power of z that is no even integer."
        )
    return number


def _stated_breaks(
    breaks: Any, support: sympy.Expr
) -> tuple[tuple[sympy.Expr, sympy.Expr | None], ...]:
    if isinstance(breaks, str) or not isinstance(breaks, Iterable):
        raise ParameterError(
            f"breaks = {breaks!r}: give the radii as a list, or as a mapping of radii to the "
            "exponents of z - r beside them."
        )
    exponents = dict(breaks) if isinstance(breaks, Mapping) else dict.fromkeys(breaks)
    found = []
    for radius, exponent in exponents.items():
        r = exact_parameter("breaks", radius)
        if not (r.is_positive and (support is sympy.oo or float(r) < float(support))):
            raise ParameterError(
                f"A break is a radius between 0 and the support {support}, and {radius} is not; "
                "the exponent at the support itself is edge=."
            )
        found.append((r, None if exponent is None else _exponent("breaks", exponent, least=0)))
    return tuple(sorted(found, key=lambda pair: float(pair[0])))
