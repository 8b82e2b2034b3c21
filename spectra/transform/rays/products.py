"""Sums of products of balls at equal steps, by one product of polynomials with whole coefficients.

Balls are cut to one fixed point, so that numbers of any size are multiplied at the speed of
integers; what is cut off and what the balls do not know is bounded beside it, by the same sums of
sizes in doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from spectra.transform.rays.precision import Ball

__all__ = ["Split", "correlated", "split"]

FloatArray = NDArray[np.float64]

# Bits below those that the balls know.
_SPARE_BITS = 8
# Sizes are bounded in doubles, and what underflows there is below that.
_ROUNDING, _UNDERFLOW = 1.0 + 1e-9, 1e-290
_MOST_EXPONENT = 1000


class Split(NamedTuple):
    """mantissa * 2**exponent, and the binary logarithms of its size and of the ball's radius."""

    mantissa: Ball
    exponent: int
    log_size: float
    log_radius: float


def split(ball: Ball) -> Split:
    """A real ball in parts.

    Examples
    --------
    >>> split(flint.arb(3) / 4)[:2]
    (3, -2)
    """
    if not ball.is_finite():
        return Split(flint.fmpz(0), 0, -inf, inf)
    mantissa, exponent = ball.mid().man_exp()
    return Split(mantissa, int(exponent), _log2(mantissa, exponent), _log2(*ball.rad().man_exp()))


def _log2(mantissa: Ball, exponent: Ball) -> float:
    """An upper bound of the binary logarithm, by less than one."""
    return int(exponent) + abs(int(mantissa)).bit_length() if mantissa else -inf


def correlated(first: Sequence[Split], second: Sequence[Split], bits: int) -> list[Ball]:
    """Balls around sum_n first[n] second[n + j], for every j at which all terms are there.

    Parameters
    ----------
    first, second : sequences of Split
        The longer one second.
    bits : int
        How far below the sums of the sizes of their terms the sums are known, at least.
    """
    (a, ra), (b, rb) = (_sizes(parts) for parts in (first, second))
    top_a, top_b = (float(x.max()) if np.isfinite(x.max()) else 0.0 for x in (a, b))
    with np.errstate(under="ignore"):
        a, ra, b, rb = (
            np.exp2(a - top_a),
            np.exp2(ra - top_a),
            np.exp2(b - top_b),
            np.exp2(rb - top_b),
        )
        sums = np.correlate(b, a)
        unknown = np.correlate(b, ra) + np.correlate(rb, a) + np.correlate(rb, ra)
    least = float(np.log2(max(float(sums.min()), _UNDERFLOW)))
    fixed = int(bits + np.log2(len(first)) - least) + _SPARE_BITS
    # Each number is cut by less than one unit of its last bit.
    cut = 3.0 * len(first) * 2.0 ** -min(fixed, _MOST_EXPONENT)
    radii = (unknown + cut + _UNDERFLOW * len(second)) * _ROUNDING
    product = flint.fmpz_poly(_integers(first, fixed - int(top_a))[::-1])
    product *= flint.fmpz_poly(_integers(second, fixed - int(top_b)))
    unit = flint.arb(2) ** (int(top_a) + int(top_b) - 2 * fixed)
    scale = flint.arb(2) ** (int(top_a) + int(top_b))
    return [
        product[len(first) - 1 + j] * unit + flint.arb(0, scale * float(radius))
        for j, radius in enumerate(radii)
    ]


def _sizes(parts: Sequence[Split]) -> tuple[FloatArray, FloatArray]:
    return np.array([p.log_size for p in parts]), np.array([p.log_radius for p in parts])


def _integers(parts: Sequence[Split], shift: int) -> list[Ball]:
    """The integer parts of numbers times 2**shift."""
    return [
        p.mantissa << (p.exponent + shift)
        if p.exponent + shift >= 0
        else p.mantissa >> -(p.exponent + shift)
        for p in parts
    ]
