r"""The absolute integral of a wave over a half-line, with a proved remainder.

A wave is :math:`\mathrm{Re}\,E(x)e^{i(x-\varphi)}` with
:math:`E(x) = x^{-q}\bigl(\sum_{k<n}c_k x^{-k} + R(x)\bigr)`, :math:`|R(z)| \le B|z|^{-n}` in the
discs :math:`|z-x|\le 0.5\,x`, x >= T.  With A = |E|, psi = x - phi + arg E and G = A dx/dpsi,

.. math:: \int_T^\infty A\,|\cos\psi|\,dx = \frac2\pi\int_T^\infty A\,dx
          - \frac4\pi\sum_{j=1}^{J}(-1)^j\lambda_j\,G^{(2j-1)}(\psi_T) + \text{remainder}

from a zero T of the cosine, with :math:`\lambda_j = \sum_k (2k)^{-2j}/(4k^2-1)`: the Fourier
series of |sin|, integrated by parts.  The remainder is at most
:math:`\frac4\pi\sum_k(2k)^{-n}/(4k^2-1)\int|G^{(n)}|d\psi` with n = 2J + 1, and Cauchy's estimate
in the discs bounds that derivative.

Upon a background b that decays faster, from a zero T of the cosine,

.. math:: |A\cos\psi + b| = A|\cos\psi| + b\,\mathrm{sgn}\cos\psi
          + 2(|b| - A|\cos\psi|)_+\,[b\cos\psi < 0] .

The second term is a square wave, whose Fourier series is integrated by parts with H = b dx/dpsi;
the third is a row of triangles, at one side of each zero of the cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import flint

from spectra.certify.balls import Ball, Unproved, precision, sizes

__all__ = ["OUTER", "Wave", "absolute_tail", "background_tail", "discs_of", "integrated"]

#: The discs of Cauchy's estimate, and those in which remainders are bounded, relative to x.
_INNER = 0.3
OUTER = 0.5
# The most derivatives at the start, and the share of the tail that remainders may make up.
_MOST_ORDERS = 24
_GOAL, _BACKGROUND_GOAL = 2.0**-80, 2.0**-90


@dataclass(frozen=True)
class Wave:
    """The expansion of a wave, or of the background that it has: a wave that does not turn.

    Attributes
    ----------
    power : arb
        q.
    phase : arb
        phi; not read for a background.
    coefficients : list of acb
        c_0, ..., c_(n-1); c_0 is not zero.
    remainder : arb
        B.
    """

    power: Ball
    phase: Ball
    coefficients: list[Ball]
    remainder: Ball

    def size(self, x: Ball) -> Ball:
        """Upper bound of |R| at |z| = x."""
        return self.remainder / x ** len(self.coefficients)

    def deviation(self, x: Ball) -> Ball:
        """Bound of |z^q E - c_0| at |z| >= x."""
        return self.size(x) + sizes(self.coefficients[1:])(1 / x) / x

    def series(self, u: Ball) -> Ball:
        """The sum of c_k u^k."""
        return flint.acb_poly(self.coefficients)(flint.acb(u))

    def largest(self, u: Ball) -> Ball:
        """The sum of |c_k| u^k."""
        return sizes(self.coefficients)(u)

    def value(self, x: Ball) -> Ball:
        """The wave at a real x."""
        inner = (self.series(1 / x) * flint.acb(0, x - self.phase).exp()).real
        return (inner + flint.arb(0, self.size(x).abs_upper())) * x**-self.power

    def argument(self, x: Ball) -> Ball:
        """psi(x), on the branch on which psi - x + phi tends to arg c_0."""
        first = self.coefficients[0]
        off = flint.arb(0, (self.size(x) / abs(first)).abs_upper())
        ratio = self.series(1 / x) / first + flint.acb(off, off)
        if not abs(ratio - 1) < 1:
            raise Unproved("the phase of the tail is not settled where it starts")
        return x - self.phase + first.arg() + ratio.arg()


def discs_of(wave: Wave, start: Ball) -> tuple[Ball, Ball]:
    """Bounds of |z|^q |E| and of |psi' - 1| < 1 in the discs |z - x| <= 0.3 x, x >= start.

    Raises
    ------
    Unproved
        Where the expansion is too rough from there on.
    """
    nearest = (1 - flint.arb(OUTER)) * start
    first, away = abs(wave.coefficients[0]), wave.deviation(nearest)
    if not 2 * away < first:
        raise Unproved("the tail starts where its expansion is too rough")
    slope = away / ((flint.arb(OUTER) - flint.arb(_INNER)) * start)
    drift = slope / (first - away)
    if not drift < 1:
        raise Unproved("the tail starts where its phase is too rough")
    return first + away, drift


def absolute_tail(wave: Wave, start: Ball) -> Ball:
    """The integral of the absolute value of a wave from a zero of it to infinity.

    Parameters
    ----------
    wave : Wave
    start : arb
        A ball that holds the zero.

    Raises
    ------
    Unproved
        Where the expansion is too rough from there on.
    """
    amplitude, drift = discs_of(wave, start)
    mean = 2 / flint.arb.pi() * _mean_integral(wave, start)

    def remainder(j: int) -> Ball:
        # sum_k 1/((4k^2-1)(2k)^n) <= (1/3) 2^-n sum_k k^-(n+2)
        n = 2 * j + 1
        waves = 4 / flint.arb.pi() / 3 * flint.arb(n + 2).zeta() / flint.arb(2) ** n
        return waves * _derivative_integral(amplitude, wave.power, drift, start, n)

    order, bound = _best_order(remainder, _GOAL * mean)
    with precision(flint.ctx.prec, cap=2 * order + 2):
        g = _by_phase(None, wave, start)
        total = mean
        moment = flint.arb(1) / 2
        factorial = flint.arb(1)
        for j in range(1, order + 1):
            moment = moment - flint.arb(2 * j).zeta() / flint.arb(4) ** j
            # G^(2j-1) is (2j - 1)! times the coefficient.
            term = 4 / flint.arb.pi() * moment * factorial * g[2 * j - 1]
            total = total + term if j % 2 else total - term
            factorial = factorial * (2 * j) * (2 * j + 1)
    return total + flint.arb(0, bound.abs_upper())


def integrated(wave: Wave) -> Wave:
    r"""The integral of a wave from x to infinity, as a wave on the real axis.

    With :math:`\hat E' + i\hat E = E` term by term, the integral is
    :math:`-\mathrm{Re}\,\hat E(x)e^{i(x-\varphi)}` but for what the last term leaves, which is
    integrated in absolute value.  Its remainder is proved on the real axis only.
    """
    found: list[Ball] = []
    for k, c in enumerate(wave.coefficients):
        carried = (wave.power + k - 1) * found[-1] if found else flint.acb(0)
        found.append(flint.acb(0, -1) * (c + carried))
    n = len(found)
    order = wave.power + n - 1
    # What is left falls like x^-(power + n), and its integral by one power less.
    rest = (order * abs(found[-1]) + wave.remainder) / order + abs(found[-1])
    return Wave(wave.power, wave.phase, [-c for c in found[:-1]], rest)


def _mean_integral(wave: Wave, start: Ball) -> Ball:
    """The integral of the amplitude, by the Taylor series of |e| in u = 1/x and its remainder."""
    terms = len(wave.coefficients)
    with precision(flint.ctx.prec, cap=terms + 1):
        at_zero = _modulus(wave.coefficients, flint.arb(0))
        on_range = _modulus(wave.coefficients, flint.arb(0).union(1 / start))
    total = flint.arb(0)
    for k in range(terms):
        power = wave.power + k - 1
        total = total + at_zero[k] * start**-power / power
    power = wave.power + terms - 1
    scale = start**-power / power
    return total + on_range[terms] * scale + flint.arb(0, (wave.remainder * scale).abs_upper())


def _modulus(coefficients: list[Ball], u: Ball) -> Ball:
    """Power series at u of the absolute value of sum c_k u^k."""
    variable = flint.arb_series([u, 1])
    real = imag = flint.arb_series([0])
    for c in reversed(coefficients):
        real = real * variable + c.real
        imag = imag * variable + c.imag
    return (real * real + imag * imag).sqrt()


def _by_phase(function: Ball | None, wave: Wave, start: Ball) -> Ball:
    """Power series of f dx/dpsi in psi - psi_T, f being one in x - T; for None the amplitude."""
    real, imag = _taylor(wave.coefficients, wave.remainder, start)
    square = real * real + imag * imag
    slope = 1 + (real * imag.derivative() - imag * real.derivative()) / square
    if function is None:
        function = square.sqrt() * (-wave.power * flint.arb_series([start, 1]).log()).exp()
    return (function / slope)(slope.integral().reversion())


def _taylor(coefficients: list[Ball], remainder: Ball, start: Ball) -> tuple[Ball, Ball]:
    """Real and imaginary part of an expansion in 1/x, as power series in x - T."""
    inverse = 1 / flint.arb_series([start, 1])
    real = imag = flint.arb_series([0])
    for c in reversed(coefficients):
        real = real * inverse + c.real
        imag = imag * inverse + c.imag
    # Cauchy's estimate of the Taylor coefficients of the remainder.
    radius = flint.arb(OUTER) * start
    size = remainder / ((1 - flint.arb(OUTER)) * start) ** len(coefficients)
    loose = []
    for _ in range(flint.ctx.cap):
        loose.append(flint.arb(0, size.abs_upper()))
        size = size / radius
    return real + flint.arb_series(loose), imag + flint.arb_series(loose)


def _best_order(remainder: Callable[[int], Ball], goal: Ball) -> tuple[int, Ball]:
    """The first J whose remainder is small enough, or the one with the least, and the remainder."""
    best, least = 1, flint.arb("inf")
    for j in range(1, _MOST_ORDERS + 1):
        bound = remainder(j)
        if bound < least:
            best, least = j, bound
        if bound < goal:
            break
    return best, least


def _derivative_integral(size: Ball, power: Ball, drift: Ball, start: Ball, n: int) -> Ball:
    """Bound of the integral of |d^n (g dx/dpsi)/dpsi^n| over psi, where |z^power g| <= size.

    psi maps the disc |z - x| <= 0.3 x onto a region that holds the disc of radius
    0.3 x (1 - drift), on which |dx/dpsi| <= 1 / (1 - drift).
    """
    radius = flint.arb(_INNER) * (1 - drift)
    largest = size * (1 - flint.arb(_INNER)) ** -power / (1 - drift)
    order = power + n - 1
    integral = (1 + drift) * start**-order / order
    return flint.arb(n).fac() * largest / radius**n * integral


# --- upon a background ---------------------------------------------------------------------------


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
        return waves * _derivative_integral(largest, background.power, drift, start, 2 * j)

    order, rest = _best_order(remainder, _BACKGROUND_GOAL * largest)
    with precision(flint.ctx.prec, cap=2 * order + 2):
        real, _ = _taylor(background.coefficients, background.remainder, start)
        h = _by_phase(real / flint.arb_series([start, 1]) ** background.power, wave, start)
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
        linear = _modulus(wave.coefficients, flint.arb(0))[1]
        square = _modulus(wave.coefficients, flint.arb(0).union(1 / start))[2]
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
    bend = drift / flint.arb(_INNER)
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
