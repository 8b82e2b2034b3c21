"""Python callables as functions of the formula language: values in doubles, facts as stated.

A callable shows nothing of itself, so its kernel carries what its user states: where it ends, how
smooth it is there, how it starts and how it decays.  Each callable is a sympy function of its own,
so that kernels made of it add, scale and compare like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy

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

    @classmethod
    def missing(cls) -> str:
        """What is not stated of the callable, with a call that states it; empty if all is."""
        ended = cls.support is not sympy.oo
        needed = [hint for name, hint in _HINTS[ended].items() if getattr(cls, name) is None]
        if not needed:
            return ""
        call = f"support={cls.support}, edge=3" if ended else "decay='gaussian'"
        return (
            f"how smooth {cls.__name__} is and how it ends; state {', '.join(needed)}, for "
            f"example radial({cls.__name__}, {call}, breaks=(), origin='smooth')"
        )

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
        if cls.is_vectorised:
            values = _called(cls.function, z, cls.__name__)
        else:
            each = [
                _called(cls.function, x, cls.__name__) for x in z.ravel().astype(float).tolist()
            ]
            values = np.array(each, dtype=float).reshape(z.shape)
        if not np.all(np.isfinite(values)):
            bad = z[~np.isfinite(values)].ravel()[0]
            raise FormulaError(
                f"The callable {cls.__name__} is not finite at z = {bad:.6g}. A kernel is bounded "
                "and real: give the range where it is with support=..., or mend the callable."
            )
        return values


class OpaqueTerm(NamedTuple):
    """The summand coefficient * function(z / scale)."""

    coefficient: sympy.Expr
    function: type[Opaque]
    scale: sympy.Expr

    def values(self, z: FloatArray) -> FloatArray:
        """Values at an array of distances."""
        found = self.function.values(z / float(self.scale))
        return np.asarray(float(self.coefficient) * found)


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


def _is_vectorised(function: Callable[..., Any], probes: FloatArray, name: str) -> bool:
    alone = np.array([_called(function, z, name) for z in probes.tolist()])
    try:
        together = _called(function, probes.copy(), name)
    except FormulaError:  # a function of one number, such as math.exp
        return False
    return bool(np.all(np.abs(together - alone) <= _SAME_VALUE * np.abs(alone).max()))


def _called(function: Callable[..., Any], z: Any, name: str) -> FloatArray:
    """Values of a callable at one distance or an array of them."""
    try:
        with np.errstate(all="ignore"):  # 1/cosh(z) is right though cosh(z) overflows
            return np.asarray(function(z), dtype=float).reshape(np.shape(z))
    except _NO_VALUE as error:
        where = (
            f"z = {z:.6g}" if np.ndim(z) == 0 else f"distances from {z.min():.6g} to {z.max():.6g}"
        )
        raise FormulaError(
            f"The callable {name} raised {type(error).__name__} ({error}) at {where}: it gives no "
            "real number. A kernel has a value at every distance: mend the callable "
            "there (its limit is wanted where a formula divides 0 by 0), or give the range where "
            "it has values with support=..."
        ) from error


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


_NAMES = ("edge", "breaks", "origin", "decay")
_EVERYWHERE = {
    "breaks": "breaks= (the radii where it is not smooth, or ())",
    "origin": "origin= ('smooth' in z^2, or the least odd power at z = 0)",
}
# How the statements are made of a callable without and with a support.
_HINTS = (
    {"decay": "decay= ('gaussian', 'exponential' or a power)"} | _EVERYWHERE,
    {"edge": "edge= (s if it ends like (support - z)^s)"} | _EVERYWHERE,
)


def stated_facts(support: sympy.Expr, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the keywords of ``radial`` state of a callable, as :class:`Opaque` has it."""
    for name in options:
        if name not in _NAMES:
            raise ParameterError(
                f"{name!r} is nothing that is stated of a callable; the names are "
                f"{', '.join(_NAMES)}. A callable has no parameters: bind them with a lambda."
            )
    edge, breaks, origin, decay = (options.get(name) for name in _NAMES)
    if edge is not None and support is sympy.oo:
        raise ParameterError("edge= is the exponent at the support: give support= too.")
    if decay is not None and support is not sympy.oo:
        raise ParameterError("decay= is about z to infinity, where a kernel with a support is 0.")
    facts: dict[str, Any] = {
        "edge": _exponent("edge", edge, least=0),
        "breaks": None if breaks is None else _breaks(breaks, support),
        "origin": sympy.oo if origin == "smooth" else _exponent("origin", origin),
        "decay": decay if decay in FAST_DECAYS else _exponent("decay", decay),
    }
    if origin is not None and (facts["origin"] / 2).is_Integer:
        raise ParameterError(
            f"origin={origin} is an even power, which is smooth: say origin='smooth', or give the "
            "least power of z that is no even integer."
        )
    return {"support": support} | {n: fact for n, fact in facts.items() if fact is not None}


def _exponent(name: str, value: Any, *, least: float = -1) -> sympy.Expr | None:
    if value is None:
        return None
    if isinstance(value, str):
        words = {"decay": "'gaussian', 'exponential' or", "origin": "'smooth' or"}.get(name, "")
        raise ParameterError(f"{name}={value!r} is unknown: give {words} an exponent.")
    number = exact_parameter(name, value)
    if not (number.is_positive or (least == 0 and number == 0)):
        raise ParameterError(f"{name} is an exponent > 0, and {value} is not.")
    return number


def _breaks(breaks: Any, support: sympy.Expr) -> tuple[tuple[sympy.Expr, sympy.Expr | None], ...]:
    """The radii and exponents of a list of radii, or of a mapping from radii to exponents."""
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
        found.append((r, _exponent("breaks", exponent, least=0)))
    return tuple(sorted(found, key=lambda pair: float(pair[0])))
