r"""The absolute integral of a wave upon a background that decays faster.

From a zero T of the cosine, where sigma is the sign of the cosine after T,

.. math:: |A\cos\psi + b| = A|\cos\psi| + b\,\mathrm{sgn}\cos\psi
          + 2(|b| - A|\cos\psi|)_+\,[b\cos\psi < 0] .

The first term is in :mod:`.waves`.  The second is a square wave, whose Fourier series is
integrated by parts with H = b dx/dpsi; the third is a row of triangles, at one side of each zero
of the cosine.
"""

from __future__ import annotations

import flint

from spectra.certify.balls import Ball, Unproved, precision
from spectra.certify.waves import (
    INNER,
    OUTER,
    Wave,
    best_order,
    by_phase,
    derivative_integral,
    discs_of,
    modulus,
    taylor,
)

__all__ = ["background_tail"]

_GOAL = 2.0**-90


def background_tail(wave: Wave, background: Wave, start: Ball, sign: int) -> Ball:
    """What the background adds to the absolute integral of the wave from T on.

    Parameters
    ----------
    wave, background
    start : arb
        A ball that holds T, a zero of the cosine.
    sign : int
        The sign of the cosine after T.

    Raises
    ------
    Unproved
        Where the expansions are too rough from there on.
    """
    _, drift = discs_of(wave, start)
    square_wave = _square_wave(wave, background, drift, start)
    return sign * square_wave + _triangles(wave, background, drift, start, sign)


def _square_wave(wave: Wave, background: Wave, drift: Ball, start: Ball) -> Ball:
    nearest = (1 - flint.arb(OUTER)) * start
    largest = abs(background.coefficients[0]) + background.deviation(nearest)

    def remainder(j: int) -> Ball:
        # (4/pi) sum over odd k of k^(-n-1) times the integral of |H^(n)|
        waves = 4 / flint.arb.pi() * flint.arb(2 * j + 1).zeta()
        return waves * derivative_integral(largest, background.power, drift, start, 2 * j)

    order, rest = best_order(remainder, _GOAL * largest)
    with precision(flint.ctx.prec, cap=2 * order + 2):
        real, _ = taylor(background.coefficients, background.remainder, start)
        h = by_phase(real / flint.arb_series([start, 1]) ** background.power, wave, start)
        total, factorial = flint.arb(0), flint.arb(1)
        for j in range(order):
            moment = (1 - flint.arb(2) ** (-2 * j - 2)) * flint.arb(2 * j + 2).zeta()
            term = 4 / flint.arb.pi() * moment * factorial * h[2 * j]
            total = total - term if j % 2 else total + term
            factorial = factorial * (2 * j + 1) * (2 * j + 2)
    return total + flint.arb(0, rest.abs_upper())


def _triangles(wave: Wave, background: Wave, drift: Ball, start: Ball, sign: int) -> Ball:
    r"""The integral of 2 (|b| - A|cos psi|)_+ from T on, where b and the cosine differ in sign.

    At the zero x_n of the cosine it is :math:`b^2/(A\psi')`, up to the relative changes of b, A and
    psi' over its width and from x_n to infinity, which one ball holds; at x_0 = T it counts only if
    b has not the sign of the cosine after T.  The sum over n is the trapezoidal rule of a convex
    function phi of psi, plus or minus half of its first term, and
    :math:`0 \le \pi\sum{}' \phi - \int\phi\,d\psi \le \pi^2|\phi'(\psi_T)|/8`.
    """
    first = abs(wave.coefficients[0])
    with precision(flint.ctx.prec, cap=3):
        # The modulus of the wave is even in 1/x up to the rounding of its second coefficient.
        linear = modulus(wave.coefficients, flint.arb(0))[1]
        square = modulus(wave.coefficients, flint.arb(0).union(1 / start))[2]
    change = abs(linear) / start + abs(square) / start**2 + wave.size(start)
    level = abs(background.coefficients[0])
    tilt = background.deviation(start)
    if not (2 * change < first and 2 * tilt < level):
        raise Unproved("the background is not settled where the tail starts")
    ratio = (level + tilt) / (first - change) * start ** (wave.power - background.power)
    if not ratio < 0.1:
        raise Unproved("the background is too large where the tail starts")
    # |t| >= |sin t| >= |t| (1 - t^2/6), |t| <= 1.01 ratio; x moves by less than 1.1 ratio.
    width = flint.arb(1.1) * ratio
    power = 2 * background.power - wave.power
    wobble = (1 + width / start) ** (2 * background.power + wave.power + 1) - 1
    wobble = wobble + width * width
    slope = _real_drift(wave, start) / (first - change)
    size = level * level / first
    spread = (1 + flint.arb(0, tilt / level)) ** 2 / (1 + flint.arb(0, change / first))
    spread = spread / (1 + flint.arb(0, slope)) * (1 + flint.arb(0, 2 * wobble))
    # phi = x^-power; dpsi = psi' dx with psi' within the drift of 1.
    integral = start ** (1 - power) / (power - 1) * (1 + flint.arb(0, slope))
    steep = power * start ** (-power - 1) / (1 - slope)
    # Convex: phi'' >= 0 in psi, where |psi''| <= drift/(0.3 x) by Cauchy's estimate.
    bend = drift / flint.arb(INNER)
    if not (power + 1) * (1 - slope) ** 3 > bend * (1 + slope) ** 2:
        raise Unproved("the zeros are not regular enough where the tail starts")
    pi = flint.arb.pi()
    excess = flint.arb(0).union(pi * steep / 8)
    at_start = start**-power / 2
    after = -1 if (background.coefficients[0].real > 0) == (sign > 0) else 1
    return size * spread * (integral / pi + excess + after * at_start)


def _real_drift(wave: Wave, start: Ball) -> Ball:
    """Bound of |e'(x)| at real x >= T, with Cauchy's estimate of the derivative of R."""
    total = wave.size((1 - flint.arb(OUTER)) * start) / (flint.arb(OUTER) * start)
    for k, c in enumerate(wave.coefficients):
        total = total + k * abs(c) / start ** (k + 1)
    return total
