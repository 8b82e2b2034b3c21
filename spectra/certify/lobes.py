"""Masses of densities with lobes without end, and the lobes that a table is proved against.

The lobes up to a far zero are differences of the antiderivative at the zeros; bisection and the
phase prove that none was missed; the rest is :mod:`.waves`.
"""

from __future__ import annotations

from itertools import pairwise

import flint
import numpy as np

from spectra.certify.ball_densities import BallDensity
from spectra.certify.ball_kernels import ball_density
from spectra.certify.balls import Ball, Unproved, exact_ball, precision
from spectra.certify.mixtures import MassBalls
from spectra.certify.signed_laws import SignedLaw
from spectra.certify.signs import enclosed_zero, proved_ranges
from spectra.certify.waves import OUTER, Wave, absolute_tail, background_tail, discs_of
from spectra.density.ball.compact import BallComponent

__all__ = ["lobed_masses", "proved_lobes"]

_BITS = 192
# Points of a double grid for each lobe, where sign changes are seen first.
_GRID = 12
# The start of a tail is enclosed to this many bits; brackets of zeros are a little wider.
_ZERO_BITS, _BRACKET_BITS = 96, 80
_NEWTON_STEPS = 8


def lobed_masses(component: BallComponent) -> MassBalls:
    """M+, M- and their sum of a kernel on a ball.

    Raises
    ------
    Unproved
        Where the kernel is of another kind, or the lobes could not be told apart.
    """
    with precision(_BITS):
        laws = proved_lobes(component, ball_density(component))
        up, down = (laws[sign].mass for sign in (1, -1))
        return up, down, up + down, None, (), True


def proved_lobes(
    component: BallComponent, density: BallDensity, up_to: float = 0.0
) -> dict[int, SignedLaw]:
    """The laws of x = R w of both signs, at the working precision.

    Their ranges are the first lobes, all of them found, up to x = ``up_to`` at least; their masses
    hold the lobes beyond.

    Raises
    ------
    Unproved
        Where the lobes could not be told apart.
    """
    start = max(density.start, up_to)
    zeros = _zeros(component, density, start)
    wave, background = density.tail(start)
    if background is None:
        end = zeros[-1]
        place = wave.argument(end) / flint.arb.pi() - flint.arb(1) / 2
        index = round(float(place.mid()))
        if not (place.contains(index) and place.rad() < 0.25):
            raise Unproved("the last zero is not one of the cosine")
    else:
        index, end = _zero_of_cosine(wave, start)
        zeros = [z for z in zeros if z < end]
    _prove_complete(density, wave, zeros, index)
    mass = absolute_tail(wave, end)
    if background is not None:
        mass = mass + background_tail(wave, background, end, 1 if index % 2 else -1)
        zeros.append(end)
    below = [flint.arb(0)] + [density.mass_below(z.mid()) for z in zeros]
    # Between a zero and the midpoint of its ball the sign is not known.
    loose = flint.arb(0)
    for z in zeros:
        loose = loose + (4 * z.rad() * density.size_over(z)).abs_upper()
    lobes = list(zip(pairwise([flint.arb(0), *zeros]), pairwise(below), strict=True))
    mass = mass + sum((abs(b - a) for _, (a, b) in lobes), flint.arb(0, loose.abs_upper()))
    unit = exact_ball(component.form.radius)
    return {
        sign: SignedLaw(
            density,
            sign,
            unit,
            [(*ends, *masses) for ends, masses in lobes if sign * (masses[1] - masses[0]) > 0],
            (mass + sign * density.total) / 2,
            loose,
        )
        for sign in (1, -1)
    }


def _zeros(component: BallComponent, density: BallDensity, start: float) -> list[Ball]:
    """Balls around sign changes up to the first one beyond x = start, by Newton's method."""
    radius = float(component.form.radius)
    grid = np.arange(1, int((start + 2 * np.pi) * _GRID / np.pi) + 1) * (np.pi / _GRID)
    sign, _ = component.signed_log(np.asarray(grid / radius))
    changes = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    return [
        enclosed_zero(density.value, density.slope, float(grid[i]), float(grid[i + 1]))
        for i in changes
    ]


def _place(wave: Wave, goal: Ball, start: float) -> Ball:
    """An x near the start where the phase is next to a goal."""
    x = flint.arb(start)
    for _ in range(_NEWTON_STEPS):
        x = (x + goal - wave.argument(x)).mid()
    return x


def _zero_of_cosine(wave: Wave, start: float) -> tuple[int, Ball]:
    """n and a ball around the x with psi(x) = (n + 1/2) pi, near the start of the tail."""
    pi = flint.arb.pi()
    index = int(float((wave.argument(flint.arb(start)) / pi).mid())) + 1
    goal = (index + flint.arb(1) / 2) * pi
    x = _place(wave, goal, start)
    # Where the remainder of the expansion is wider than the ball, one that holds it.
    off = 4 * (wave.argument(x) - goal).abs_upper()
    for width in (flint.arb(2) ** -_ZERO_BITS, flint.arb(2) ** -_ZERO_BITS + off):
        if wave.argument((x - width).mid()) < goal < wave.argument((x + width).mid()):
            return index, flint.arb(x, width.abs_upper() * 2)
    raise Unproved("the start of the tail could not be enclosed")


def _prove_complete(density: BallDensity, wave: Wave, zeros: list[Ball], index: int) -> None:
    """No zero was missed up to the point where psi = (index + 1/2) pi.

    For one Bessel function the phase theta(x) increases from -pi/2, and the n-th zero is at
    (n - 1/2) pi.  For others bisection isolates all zeros up to an extremum of the cosine, and
    the phase counts those beyond.
    """
    if not all(a.upper() < b.lower() for a, b in pairwise(zeros)):
        raise Unproved("two sign changes of the density could not be told apart")
    if density.counted_from is None:
        # A negative height turns the wave by pi, and J_m itself not.
        near, far = 0, index + 1 - bool(wave.coefficients[0].real < 0)
    else:
        near, far = _counted(density, zeros, index, density.counted_from)
    if len(zeros) - near != far:
        raise Unproved(f"{len(zeros) - near} far zeros were found where there are {far}")


def _counted(density: BallDensity, zeros: list[Ball], index: int, start: float) -> tuple[int, int]:
    """How many zeros are proved by bisection, and how many there are by the phase beyond."""
    pi = flint.arb.pi()
    wave, background = density.tail(start)
    first = int(float((wave.argument(flint.arb(start)) / pi).mid())) + 1
    x = _place(wave, first * pi, start)
    if not (x >= start and abs(wave.argument(x) - first * pi) < 0.5):
        raise Unproved("the zeros could not be counted by the phase")
    far = index - first + 1
    if background is not None:
        _require_simple(wave, background, flint.arb(start))
        # At the end the cosine is 0 and the density has the sign of the background.
        far -= bool(background.coefficients[0].real > 0) == (index % 2 == 0)
    near = [z for z in zeros if z < x]
    width = flint.arb(2) ** -_BRACKET_BITS
    found = proved_ranges(density.jet, flint.arb(0), x, width=width)
    brackets = [r for r in found if r.sign == 0]
    if not (len(near) == len(brackets) and all(r.roots == 1 for r in brackets)):
        raise Unproved("the first zeros could not be isolated")
    return len(near), far


def _require_simple(wave: Wave, background: Wave, start: Ball) -> None:
    """Raise unless each range [n pi, (n + 1) pi] of psi has one zero from a point on.

    It has where |b/A| and its derivative in psi stay below 1/2: where |sin psi| is small the
    cosine outweighs b/A, and elsewhere cos psi + b/A is monotone.
    """
    amplitude, drift = discs_of(wave, start)
    inner = (1 - flint.arb(OUTER)) * start
    least = 2 * abs(wave.coefficients[0]) - amplitude
    largest = abs(background.coefficients[0]) + background.deviation(inner)
    ratio = largest / least * inner ** (wave.power - background.power)
    # Cauchy's estimate of the derivative in x, and dx/dpsi.
    steep = ratio / (flint.arb(OUTER) * start) / (1 - drift)
    if not (ratio < 0.5 and steep < 0.5):
        raise Unproved("the zeros could not be counted by the phase")
