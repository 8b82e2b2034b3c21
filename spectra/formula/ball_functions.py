"""Special functions of mpmath numbers, summed in ball arithmetic and rounded.

mpmath has the same functions, and pays thousands of digits of Gamma's coefficients for each new
precision: seconds, where a ball takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import mpmath
from mpmath import mp

__all__ = ["in_balls"]

# Bits beyond those that are asked for, at first.
_SPARE = 32
# What cancels is summed again with twice as many bits, so often.
_DOUBLINGS = 4

Ball = Any


def in_balls(function: Callable[..., Ball], *numbers: Any) -> Any:
    """A function of real or complex numbers, right to mpmath's working precision; else None.

    Parameters
    ----------
    function : callable
        Of real balls (``flint.arb``) where every number is real, else of complex ones.
    *numbers : mpf or mpc

    Returns
    -------
    mpf, mpc or None
        None where the ball holds too few digits: at a pole, on a cut, at a zero.

    Examples
    --------
    >>> with mp.workdps(30):
    ...     print(in_balls(lambda x, s: x.expint(s), mp.mpf(1), mp.mpf(2)))
    0.148495506775922047918359994701
    """
    is_complex = any(isinstance(x, mpmath.mpc) for x in numbers)
    before = flint.ctx.prec
    bits = mp.prec + _SPARE
    try:
        for _ in range(_DOUBLINGS):
            flint.ctx.prec = bits
            found = function(*[_ball(x, is_complex) for x in numbers])
            if not found.is_finite():
                return None
            if found.rel_accuracy_bits() > mp.prec:
                return _rounded(found, is_complex)
            bits *= 2
        return None
    finally:
        flint.ctx.prec = before


def _ball(x: Any, is_complex: bool) -> Ball:
    """The number itself: a binary fraction is a ball of radius 0, however long it is."""
    if not is_complex:
        return flint.arb(x)
    x = mp.mpmathify(x)
    return flint.acb(flint.arb(x.real), flint.arb(x.imag))


def _rounded(ball: Ball, is_complex: bool) -> Any:
    if not is_complex:
        return +mp.make_mpf(ball.mid()._mpf_)
    return mp.mpc(mp.make_mpf(ball.real.mid()._mpf_), mp.make_mpf(ball.imag.mid()._mpf_)) + 0
