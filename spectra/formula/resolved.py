"""Values with as many digits as their cancellations need, found by shaking every rounding.

A formula is evaluated as it is and again with each intermediate result moved at random by about
2**20 units in its last place; where the values agree, they are unharmed by rounding, and where
they do not, the precision grows.  An absorbed term is found as well as a cancelled one: shaken,
``log(1 + z)/z`` at z = 1e-120 is all noise until 1 + z holds the z.

This is discrete stochastic arithmetic: Vignes, Numer. Algorithms 37 (2004) 377,
doi:10.1023/B:NUMA.0000049483.75679.ce.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy
from mpmath import mp

from spectra.formula.program import function_of

__all__ = ["ResolvedValue", "resolving_function"]

# Two intermediate results that should cancel are moved alike with probability 2**-20 in one run.
_SHAKE_BITS = 20
_RUNS = 2
_SEED = 20_040_377
# Digits for the shaking itself and for what a few ill-conditioned steps amplify.
_SPARE_DIGITS = 20


@dataclass(frozen=True)
class ResolvedValue:
    """A value and what is known of it.

    Attributes
    ----------
    value : mpf or mpc
        nan where the formula is undefined over the reals, however its roundings are shaken.
    error : mpf
        How far shaking moved the value; 0 where the value is infinite or nan in every run.
    digits : int
        The decimal digits it was computed with.
    is_resolved : bool
        Whether the error is as small as was wanted.
    """

    value: Any
    error: Any
    digits: int
    is_resolved: bool


def resolving_function(
    expr: sympy.Expr, symbol: sympy.Symbol
) -> Callable[[Any, int, int], ResolvedValue]:
    """Make a function of one mpmath number that raises its precision until the value stands.

    Parameters
    ----------
    expr, symbol
        As for :func:`spectra.formula.evaluate.mpmath_function`.

    Returns
    -------
    callable
        ``f(point, wanted, most)`` with ``wanted`` the significant digits of the value and ``most``
        the digits of the last attempt, whose value is returned as it is if none is resolved.

    Raises
    ------
    AccuracyError, OverflowError
        At the call, where a hypergeometric series does not converge, or an intermediate result is
        beyond what mpmath can hold.

    Examples
    --------
    >>> import sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> f = resolving_function((1 - sympy.cos(z)) / z**2, z)
    >>> found = f(mp.ldexp(1, -200), 15, 400)
    >>> print(found.value, found.digits, found.is_resolved)
    0.5 280 True
    """
    exact = function_of(expr, symbol, "mpmath")
    source = random.Random(_SEED)
    shaken = function_of(expr, symbol, "mpmath", rounding=lambda value: _moved(value, source))

    def evaluate(point: Any, wanted: int, most: int) -> ResolvedValue:
        source.seed(_SEED)
        for digits in _ladder(wanted + _SPARE_DIGITS, most):
            with mp.workdps(digits):
                value = exact(point)
                error = max(_distance(shaken(point), value) for _ in range(_RUNS))
                # A value that is infinite or nan in every run has no error.
                resolved = bool(error == 0 or error <= abs(value) * mp.mpf(10) ** -wanted)
            if resolved:
                break
        return ResolvedValue(value, error, digits, resolved)

    return evaluate


def _distance(shaken: Any, value: Any) -> Any:
    if mp.isnan(shaken) and mp.isnan(value):
        return mp.zero
    distance = mp.zero if shaken == value else abs(shaken - value)
    return mp.inf if mp.isnan(distance) else distance


def _moved(value: Any, source: random.Random) -> Any:
    units = source.randrange(1 << _SHAKE_BITS, 2 << _SHAKE_BITS) * source.choice((-1, 1))
    return value * (1 + units * mp.eps)


def _ladder(least: int, most: int) -> Iterator[int]:
    digits = least
    while digits < most:
        yield digits
        digits *= 2
    yield most
