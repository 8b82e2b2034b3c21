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

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball

__all__ = ["NOTHING", "Split", "correlated", "split"]

# Bits below those that the balls know.
_SPARE_BITS = 8
# Sums of sizes in doubles are right to 1e-9; terms may be lost below 1e-290 of the largest one.
_ROUNDING, _UNDERFLOW = 1.0 + 1e-9, 1e-290
# Where sums are that far below the largest term, they are taken of logarithms.
_FAINT = 1e-200
# Trends are taken over that part of the terms.
_TREND = 20
# Larger numbers are not known, and smaller ones are nothing: no machine has room for their digits.
_MOST_BITS = 2.0**20


class Split(NamedTuple):
    """mantissa * 2**exponent, and the binary logarithms of its size and of the ball's radius."""

    mantissa: Ball
    exponent: int
    log_size: float
    log_radius: float


#: The number 0.
NOTHING = Split(flint.fmpz(0), 0, -inf, -inf)


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
    size, radius = _log2(mantissa, exponent), _log2(*ball.rad().man_exp())
    if max(size, radius) > _MOST_BITS:
        return Split(flint.fmpz(0), 0, -inf, inf)
    if size < -_MOST_BITS and mantissa:
        return Split(flint.fmpz(0), 0, -inf, -_MOST_BITS)
    return Split(mantissa, int(exponent), size, max(radius, -_MOST_BITS) if radius > -inf else -inf)


def _log2(mantissa: Ball, exponent: Ball) -> float:
    """An upper bound of the binary logarithm, by less than one."""
    return int(exponent) + mantissa.bit_length() if mantissa else -inf


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
    log_sums, log_unknown = _bounds(a, ra, b, rb, bits)
    top_a, top_b = (int(x.max()) if np.isfinite(x.max()) else 0 for x in (a, b))
    least = min(float(log_sums.min()), float(top_a + top_b)) - (top_a + top_b)
    fixed = int(bits + np.log2(len(first)) - least) + _SPARE_BITS
    product = flint.fmpz_poly(_integers(first, fixed - top_a)[::-1])
    product *= flint.fmpz_poly(_integers(second, fixed - top_b))
    unit = flint.arb(2) ** (top_a + top_b - 2 * fixed)
    # Each number is cut by less than one unit of its last bit.
    cut = 3 * len(first) * flint.arb(2) ** (top_a + top_b - fixed)
    # Neighbours have the same power of two for a bound of what is unknown.
    exponents = np.ceil(log_unknown).tolist()
    unknown = {e: flint.arb(0, (cut + flint.arb(2) ** e).upper()) for e in set(exponents)}
    return [product[len(first) - 1 + j] * unit + unknown[e] for j, e in enumerate(exponents)]


def _bounds(
    a: FloatArray, ra: FloatArray, b: FloatArray, rb: FloatArray, bits: int
) -> tuple[FloatArray, FloatArray]:
    """Binary logarithms of the sums of sizes, and of what the balls leave of them.

    A power that the one loses and the other gains puts both largest sizes where their product is
    largest, so that nothing of account underflows.
    """
    logs, count = (a, ra, b, rb), b.size - a.size + 1
    products = a + b[count // 2 : count // 2 + a.size]
    i = int(np.argmax(products))
    # The largest of several, since parts of waves pass through zero.
    wide = max(a.size // _TREND, 1)
    before, after = a[max(i - wide, 0) : i + 1].max(), a[i : i + wide + 1].max()
    rise = float(after - before) / wide if np.isfinite(after) and np.isfinite(before) else 0.0
    tilt_a = -rise * (np.arange(a.size) - i)
    tilt_b = rise * (np.arange(b.size) - i - count // 2)
    top_a, top_b = (x.max() if np.isfinite(x.max()) else 0.0 for x in (a + tilt_a, b + tilt_b))
    # A ball without end leaves every sum unknown: infinite, or no number.
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        # Terms that vanish and are not known to are no share of anything.
        lost_a, lost_b = (float(np.nanmax(np.exp2(r - x))) for x, r in ((a, ra), (b, rb)))
        a, ra = np.exp2(a + tilt_a - top_a), np.exp2(ra + tilt_a - top_a)
        b, rb = np.exp2(b + tilt_b - top_b), np.exp2(rb + tilt_b - top_b)
        sums = np.correlate(b, a)
        if max(lost_a, lost_b) < 2.0 ** (_SPARE_BITS - bits):
            unknown = sums * (lost_a + lost_b + lost_a * lost_b) * _ROUNDING
        else:
            unknown = (np.correlate(b, ra) + np.correlate(rb, a + ra)) * _ROUNDING
    if float(sums.min()) < _FAINT:
        return _in_logs(*logs)
    unknown += _UNDERFLOW * a.size
    back = top_a + top_b - rise * (np.arange(count) - count // 2)
    return np.log2(np.maximum(sums, _UNDERFLOW)) + back, np.log2(unknown) + back


def _in_logs(
    a: FloatArray, ra: FloatArray, b: FloatArray, rb: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same where one factor falls by more than doubles hold while the other one grows."""
    of_b, of_rb = (np.lib.stride_tricks.sliding_window_view(x, a.size) for x in (b, rb))
    unknown = np.logaddexp2(_log_sums(of_b + ra), _log_sums(of_rb + np.logaddexp2(a, ra)))
    return np.maximum(_log_sums(of_b + a), -_MOST_BITS), np.maximum(unknown, -_MOST_BITS)


def _log_sums(logs: FloatArray) -> FloatArray:
    """Binary logarithms of the sums along rows, and a little more."""
    top = np.maximum(logs.max(axis=1), -_MOST_BITS)
    with np.errstate(under="ignore", invalid="ignore"):
        return np.asarray(top + np.log2(np.exp2(logs - top[:, None]).sum(axis=1) * _ROUNDING))


def _sizes(parts: Sequence[Split]) -> tuple[FloatArray, FloatArray]:
    sizes = [p.log_size for p in parts], [p.log_radius for p in parts]
    return np.array(sizes[0], dtype=float), np.array(sizes[1], dtype=float)


def _integers(parts: Sequence[Split], shift: int) -> list[Ball]:
    """The integer parts of numbers times 2**shift."""
    return [
        p.mantissa << (p.exponent + shift)
        if p.exponent + shift >= 0
        else p.mantissa >> -(p.exponent + shift)
        for p in parts
    ]
