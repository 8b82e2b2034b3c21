r"""The Bessel function K of integer and half-integer orders in ball arithmetic.

Orders 0 and 1 come from the power series (DLMF 10.31.1, 10.31.2), or from the asymptotic series
with a bound of its remainder (DLMF 10.40.2, 10.40.11), in the right half plane.  Arb's own K takes
up to a hundred times as long for such orders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, exp, factorial, log
from typing import Any

import flint

from spectra.base.precision import Ball, working

__all__ = ["bessel_k", "k_half_way"]

# The asymptotic series reaches exp(-2|q|), which is 2^-bits at |q| = bits * log(2)/2.
_FAR_SHARE, _FAR_LEAST = 0.36, 8.0
# The power series of |q| cancels by exp(2|q|), so by 2.9 bits for each unit.
_BITS_LOST = 2.9
_SPARE_BITS = 24
# Arguments of one e-fold share a polynomial; below exp(-40) all do.
_LEAST_BUCKET = -40
# A ball is small if its radius is below 1/10 of its middle, divided by 1 + order.
_SMALL = 10


def bessel_k(order: int, q: Ball, bits: int) -> Ball:
    """K of an integer order, by upward recurrence, which is stable; by Arb where q is wide.

    Examples
    --------
    >>> bessel_k(2, flint.acb(1), 53).overlaps(flint.acb(1).bessel_k(2))
    True
    """
    middle, size = q.mid(), abs(q.mid()).mid()
    missed = abs(q - middle).upper()
    near = missed < min(size, flint.arb(1)) / (_SMALL * (1 + abs(order)))
    if not (q.is_finite() and q.real >= 0 and near):
        return q.bessel_k(order)
    low, high = _k_zero_and_one(middle.log, float(size.log().mid()), bits)
    inverse = 1 / middle
    below, value = (high, low) if order == 0 else (low, high)
    for n in range(1, abs(order)):
        below, value = value, below + 2 * n * (inverse * value)
    # K_n' is -K_(n-1) - n K_n/q (DLMF 10.29.2), and no more than twice that within the ball.
    slope = abs(below).upper() + abs(order) * abs(value).upper() / size
    wrong = flint.arb(0, 2 * missed * slope)
    return value + flint.acb(wrong, wrong)


def k_half_way(order: int, q: Ball) -> Ball:
    r"""K of order n + 1/2, n >= 0, by its finite asymptotic series (DLMF 10.49.12).

    .. math:: K_{n+1/2}(q) = \sqrt{\frac{\pi}{2q}}\, e^{-q}
              \sum_{k \le n} \frac{(n+k)!}{k!\,(n-k)!}\, (2q)^{-k}.

    Examples
    --------
    >>> k_half_way(1, flint.acb(1)).overlaps(flint.acb(1).bessel_k(flint.arb(3) / 2))
    True
    """
    inverse, total = 1 / (2 * q), flint.acb(0)
    for coefficient in _half_way(order):
        total = total * inverse + coefficient
    return (flint.arb.pi() * inverse).sqrt() * (-q).exp() * total


@lru_cache(maxsize=64)
def _half_way(order: int) -> tuple[int, ...]:
    """The coefficients of that sum, the last one first."""
    return tuple(
        factorial(order + k) // (factorial(k) * factorial(order - k)) for k in range(order, -1, -1)
    )


def _k_zero_and_one(log_of: Callable[[], Ball], log_size: float, bits: int) -> tuple[Ball, Ball]:
    """K_0 and K_1 at q, |arg q| <= pi/2, where ``log_of`` gives log q at any precision."""
    size = exp(log_size)
    if size > _FAR_SHARE * bits + _FAR_LEAST:
        log_q = log_of()
        q = log_q.exp()
        front = (flint.arb.pi() / 2).sqrt() * (-q - log_q / 2).exp()
        return front * _asymptotic(0, 1 / q, size), front * _asymptotic(1, 1 / q, size)
    bucket = max(ceil(log_size), _LEAST_BUCKET)
    more = bits + int(_BITS_LOST * exp(bucket)) + _SPARE_BITS
    with working(more):
        plain, logs, odd, odd_logs = _power_series(more, bucket)
        log_q = log_of()
        q = log_q.exp()
        t = q * q / 4
        log_half = log_q - flint.arb(2).log() + flint.arb.const_euler()
        zero = -log_half * plain(t) + logs(t)
        one = 1 / q + q / 2 * (log_half * odd(t) - odd_logs(t))
    return zero, one


def _count_terms(bits: int, bucket: int) -> int:
    """How many terms of sum t^k/k!^2, |t| = exp(2 bucket)/4, are above 2^-bits."""
    log_t, total, k = 2.0 * bucket - log(4.0), 0.0, 0
    while total > -bits * log(2.0) or k < 2:
        k += 1
        total += log_t - 2.0 * log(k)
    return k + 1


@lru_cache(maxsize=256)
def _power_series(bits: int, bucket: int) -> tuple[Any, Any, Any, Any]:
    """Polynomials in t = q^2/4: of I_0, of its harmonic sums, and the same for I_1/(q/2)."""
    arb = flint.arb
    with working(bits):
        plain, logs, odd, odd_logs = [], [], [], []
        term, harmonic = arb(1), arb(0)
        for k in range(_count_terms(bits, bucket)):
            if k:
                term = term / (k * k)
                harmonic += arb(1) / k
            plain.append(term)
            logs.append(term * harmonic)
            odd.append(term / (k + 1))
            # psi(k+1) + psi(k+2) = H_k + H_(k+1) - 2 gamma; gamma goes with the logarithm.
            odd_logs.append(term / (k + 1) * (2 * harmonic + arb(1) / (k + 1)) / 2)
        return tuple(flint.acb_poly(p) for p in (plain, logs, odd, odd_logs))  # type: ignore[return-value]


def _asymptotic(order: int, inverse: Ball, size: float) -> Ball:
    """sum a_k(order)/q^k, with the bound of DLMF 10.40.11 of its remainder, |arg q| <= pi/2."""
    series, left_out, count = _asymptotic_series(order, flint.ctx.prec, int(log(size)))
    # chi(k) <= sqrt(pi (k + 1)/2) + 1 bounds the factor of 10.40.11; it is below 2 sqrt(k + 2).
    bound = (left_out * abs(inverse) ** count).upper() * 4 * flint.arb(count + 2).sqrt()
    return series(inverse) + flint.acb(flint.arb(0, bound), flint.arb(0, bound))


@lru_cache(maxsize=256)
def _asymptotic_series(order: int, bits: int, bucket: int) -> tuple[Any, Ball, int]:
    """The terms needed for |q| >= exp(bucket), the size of the next one, and its power."""
    least = exp(bucket)
    terms, term, log_size = [flint.arb(1)], flint.arb(1), 0.0
    while True:
        k = len(terms)
        term = term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
        log_size = float(abs(term).log().mid()) - k * log(least)
        if k >= 2 * least or log_size < -bits * log(2.0):
            return flint.acb_poly(terms), abs(term), k
        terms.append(term)
