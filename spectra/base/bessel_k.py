r"""The modified Bessel function K of integer and half-integer orders in ball arithmetic.

For Re q >= 0, K_0(q) and K_1(q) are computed from the power series (DLMF 10.31.1, 10.31.2) or the
asymptotic series with a bound of its remainder (DLMF 10.40.2, 10.40.11).  This is up to a hundred
times faster than Arb's own K.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, exp, factorial, log
from typing import Any

import flint

from spectra.base.precision import Ball, working_precision

__all__ = ["bessel_k", "bessel_k_half_integer"]

# The asymptotic series is used for |q| above 0.36*bits + 8.  Its smallest term is exp(-2|q|), which
# is 2^-bits at |q| = 0.347*bits.
_FAR_PER_BIT, _FAR_LEAST = 0.36, 8.0
# Cancellation in the power series loses a factor exp(2|q|), 2.9 bits for each unit of |q|.
_BITS_LOST, _SPARE_BITS = 2.9, 24
# Series are cached by ``bucket``, an integer near log|q|; this is the least one of power series.
_LEAST_BUCKET = -40
# The recurrence is used if the radius of the ball q is below min(|q|, 1) / (10 (1 + order)).
_NARROW = 10


def bessel_k(order: int, q: Ball, bits: int) -> Ball:
    """K of an integer order by upward recurrence, which is stable; by Arb if the ball q is wide.

    ``bits`` is the target precision.

    Examples
    --------
    >>> bessel_k(2, flint.acb(1), 53).overlaps(flint.acb(1).bessel_k(2))
    True
    """
    midpoint, size = q.mid(), abs(q.mid()).mid()
    radius = abs(q - midpoint).upper()
    is_narrow = radius < min(size, flint.arb(1)) / (_NARROW * (1 + abs(order)))
    if not (q.is_finite() and q.real >= 0 and is_narrow):
        return q.bessel_k(order)
    k0, k1 = _k_zero_and_one(midpoint.log, float(size.log().mid()), bits)
    inverse = 1 / midpoint
    previous, value = (k1, k0) if order == 0 else (k0, k1)  # K_(-1) = K_1
    for n in range(1, abs(order)):
        previous, value = value, previous + 2 * n * (inverse * value)
    # K_n' is -K_(n-1) - n K_n/q (DLMF 10.29.2), and at most twice that in the whole ball.
    slope = abs(previous).upper() + abs(order) * abs(value).upper() / size
    error = flint.arb(0, 2 * radius * slope)
    return value + flint.acb(error, error)


def bessel_k_half_integer(n: int, q: Ball) -> Ball:
    r"""K of order n + 1/2, n >= 0, by its finite asymptotic series (DLMF 10.49.12).

    .. math:: K_{n+1/2}(q) = \sqrt{\frac{\pi}{2q}}\, e^{-q}
              \sum_{k \le n} \frac{(n+k)!}{k!\,(n-k)!}\, (2q)^{-k}.

    Examples
    --------
    >>> bessel_k_half_integer(1, flint.acb(1)).overlaps(flint.acb(1).bessel_k(flint.arb(3) / 2))
    True
    """
    inverse, total = 1 / (2 * q), flint.acb(0)
    for coefficient in _half_integer_coefficients(n):
        total = total * inverse + coefficient
    return (flint.arb.pi() * inverse).sqrt() * (-q).exp() * total


@lru_cache(maxsize=64)
def _half_integer_coefficients(n: int) -> tuple[int, ...]:
    """(n + k)! / (k! (n - k)!) for k = n, ..., 0."""
    return tuple(factorial(n + k) // (factorial(k) * factorial(n - k)) for k in range(n, -1, -1))


def _k_zero_and_one(get_log_q: Callable[[], Ball], log_size: float, bits: int) -> tuple[Ball, Ball]:
    """K_0(q) and K_1(q), Re q >= 0; ``get_log_q()`` is log q at the current precision."""
    size = exp(log_size)
    if size > _FAR_PER_BIT * bits + _FAR_LEAST:
        log_q = get_log_q()
        q = log_q.exp()
        factor = (flint.arb.pi() / 2).sqrt() * (-q - log_q / 2).exp()
        return factor * _asymptotic(0, 1 / q, size), factor * _asymptotic(1, 1 / q, size)
    bucket = max(ceil(log_size), _LEAST_BUCKET)
    bits += int(_BITS_LOST * exp(bucket)) + _SPARE_BITS
    with working_precision(bits):
        i0, sum0, i1, sum1 = _power_series(bits, bucket)
        log_q = get_log_q()
        q = log_q.exp()
        t = q * q / 4
        log_factor = log_q - flint.arb(2).log() + flint.arb.const_euler()  # log(q/2) + gamma
        zero = -log_factor * i0(t) + sum0(t)
        one = 1 / q + q / 2 * (log_factor * i1(t) - sum1(t))
    return zero, one


def _count_terms(bits: int, bucket: int) -> int:
    """Number of terms above 2^-bits of sum t^k/k!^2, |t| = exp(2 bucket)/4."""
    log_t, log_term, k = 2.0 * bucket - log(4.0), 0.0, 0
    while log_term > -bits * log(2.0) or k < 2:
        k += 1
        log_term += log_t - 2.0 * log(k)
    return k + 1


@lru_cache(maxsize=256)
def _power_series(bits: int, bucket: int) -> tuple[Any, Any, Any, Any]:
    """Series in t = q^2/4: I_0(q), its terms times harmonic numbers, both also for I_1(q)/(q/2)."""
    arb = flint.arb
    with working_precision(bits):
        i0, sum0, i1, sum1 = [], [], [], []
        term, harmonic = arb(1), arb(0)
        for k in range(_count_terms(bits, bucket)):
            if k:
                term = term / (k * k)
                harmonic += arb(1) / k
            i0.append(term)
            sum0.append(term * harmonic)
            i1.append(term / (k + 1))
            # psi(k+1) + psi(k+2) = H_k + H_(k+1) - 2 gamma; gamma is added to the logarithm.
            sum1.append(term / (k + 1) * (2 * harmonic + arb(1) / (k + 1)) / 2)
        return tuple(flint.acb_poly(p) for p in (i0, sum0, i1, sum1))  # type: ignore[return-value]


def _asymptotic(order: int, inverse: Ball, size: float) -> Ball:
    """sum a_k(order)/q^k (DLMF 10.40.2) at inverse = 1/q, with the bound of its remainder."""
    series, next_term, count = _asymptotic_series(order, flint.ctx.prec, int(log(size)))
    # In DLMF 10.40.11 the factor of the next term, of power k, is below 4 sqrt(k + 2) for |q| >= 8.
    bound = (next_term * abs(inverse) ** count).upper() * 4 * flint.arb(count + 2).sqrt()
    return series(inverse) + flint.acb(flint.arb(0, bound), flint.arb(0, bound))


@lru_cache(maxsize=256)
def _asymptotic_series(order: int, bits: int, bucket: int) -> tuple[Any, Ball, int]:
    """The series for |q| >= exp(bucket); the coefficient of the next term, and its power."""
    least = exp(bucket)
    terms, term = [flint.arb(1)], flint.arb(1)
    while True:
        k = len(terms)
        term = term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
        log_size = float(abs(term).log().mid()) - k * log(least)
        if k >= 2 * least or log_size < -bits * log(2.0):
            return flint.acb_poly(terms), abs(term), k
        terms.append(term)
