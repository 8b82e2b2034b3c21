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
from typing import Any

import sympy
from mpmath import mp

from spectra.formula.evaluation.program import function_of

__all__ = ["Resolving", "resolving_function"]

#: ``f(point, wanted, most)`` of :func:`resolving_function`: a value and its error.
Resolving = Callable[[Any, int, int], tuple[Any, Any]]

# Two intermediate results that should cancel are moved alike with probability 2**-20 in one run.
_SHAKE_BITS = 20
_RUNS = 2
_SEED = 20_040_377
# Digits for the shaking itself and for what a few ill-conditioned steps amplify.
_SPARE_DIGITS = 20


def resolving_function(expr: sympy.Expr, symbol: sympy.Symbol) -> Resolving:
    """Make a function of one mpmath number that raises its precision until the value stands.

    Parameters
    ----------
    expr, symbol
        As for :func:`spectra.formula.evaluation.evaluate.mpmath_function`.

    Returns
    -------
    callable
        ``f(point, wanted, most)`` with ``wanted`` the significant digits of the value and ``most``
        the digits of the last attempt.  It returns the value, which is nan where the formula is
        undefined over the reals however its roundings are shaken, and how far shaking moved that
        of the last attempt, or 0 where it is resolved.

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
    >>> print(*f(mp.ldexp(1, -200), 15, 400))
    0.5 0.0
    """
    exact = function_of(expr, symbol, "mpmath")
    source = random.Random(_SEED)
    shaken = function_of(expr, symbol, "mpmath", rounding=lambda value: _moved(value, source))

    def evaluate(point: Any, wanted: int, most: int) -> tuple[Any, Any]:
        source.seed(_SEED)
        for digits in _ladder(wanted + _SPARE_DIGITS, most):
            with mp.workdps(digits):
                value = exact(point)
                error = max(_distance(shaken(point), value) for _ in range(_RUNS))
                # A value that is infinite or nan in every run has no error.
                if error == 0 or error <= abs(value) * mp.mpf(10) ** -wanted:
                    return value, mp.zero
        return value, error

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
