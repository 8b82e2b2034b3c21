r"""Masses of the arc-cosine kernel of order 1 in one, two and three dimensions.

With x = 2w (the edge is at z = 2) the densities are

.. math::
    d = 1: \quad & \tfrac8\pi\bigl[x^{-2}\mathbf H_1 - 2/(\pi x^2) + x^{-3}\mathbf H_0\bigr]\,dx \\
    d = 2: \quad & 2x^{-1}\bigl[4x^{-1}J_0J_1 - J_0^2 + J_1^2\bigr](x/2)\,dx \\
    d = 3: \quad & \tfrac8\pi\bigl[(3x^{-3}-x^{-1})\mathbf H_0 + 4x^{-2}\mathbf H_1
                   - 6/(\pi x^2)\bigr]\,dx

with Struve functions :math:`\mathbf H_\nu = Y_\nu + \mathbf K_\nu`, so that each is a wave of
frequency 1 in x upon a background of order x^-4.  In every dimension it is a multiple of
:math:`x^{d-1}\,{}_1F_2(\tfrac{d+3}2;\tfrac d2+2,\tfrac d2+2;-x^2/4)`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import sympy

from spectra.certify.backgrounds import Background, background_tail
from spectra.certify.balls import Ball, Unproved, exact_ball, flint, precision
from spectra.certify.entire import EntireFunction
from spectra.certify.expansions import Expansion, hankel_expansion
from spectra.certify.mixtures import MassBalls
from spectra.certify.signs import enclosed_zero, proved_ranges
from spectra.certify.waves import OUTER, Wave, absolute_tail, discs_of
from spectra.formula.parsing import Z
from spectra.transform.on_balls.ball import BallForm
from spectra.transform.on_balls.ball_reading import ball_form
from spectra.transform.on_balls.compact import BallComponent

__all__ = ["arc_cosine_masses", "is_arc_cosine"]

_BITS = 192
# The tail starts near this x: what the background makes of it is then known to 1e-16.
_START = 400.0
# From this x on the phase counts the zeros; below, bisection finds them.
_COUNTED_FROM = 36.0
_TERMS = 40
# Terms of the expansions where the counting starts: beyond, they grow again.
_COUNT_TERMS = 8
_GRID = 12
# The start of the tail is enclosed to this many bits, and brackets are no narrower.
_ZERO_BITS = 96
_NEWTON_STEPS = 8


def is_arc_cosine(form: object) -> bool:
    """Whether a formula on a ball is a multiple of the arc-cosine kernel of order 1."""
    return _height(form) is not None


@cache
def _model() -> BallForm:
    half, u = Z / 2, 1 - Z**2 / 2
    kernel = (2 * u * sympy.acos(half) + half * sympy.sqrt(4 - Z**2)) / sympy.pi
    form = ball_form(kernel, sympy.Integer(2))
    assert isinstance(form, BallForm)
    return form


def _height(form: object) -> sympy.Expr | None:
    if not isinstance(form, BallForm):
        return None
    model = _model()
    height = form.value_at_zero
    ours, theirs = ({f: dict(ms) for f, ms in b.parts} for b in (form, model))
    if height == 0 or set(ours) != set(theirs):
        return None
    for factor, monomials in theirs.items():
        if set(monomials) != set(ours[factor]):
            return None
        for m, c in monomials.items():
            if sympy.simplify(ours[factor][m] - height * c) != 0:
                return None
    return height


class _Density:
    """rho dw = front x^(d-1) f(x) dx, f(0) = 1."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        half = sympy.Rational(dim, 2)
        self.upper = sympy.Rational(dim + 3, 2)
        self.lower = half + 2
        # S_(d-1) w^(d-1) 2 pi Phi_(d+2)(w) dw with w = x/2.
        sphere = 2 * sympy.pi**half / sympy.gamma(half)
        at_zero = sympy.gamma(self.upper) / (sympy.pi**self.upper * sympy.gamma(self.lower) ** 2)
        self.front = sympy.simplify(2 * sympy.pi * sphere * at_zero / 2**dim)

    def value(self, x: Ball) -> Ball:
        """f at an exact x."""
        with precision(flint.ctx.prec + int(1.5 * float(x)) + 32):
            a, b = exact_ball(self.upper), exact_ball(self.lower)
            return (-x * x / 4).hypgeom([a], [b, b])

    def slope(self, x: Ball) -> Ball:
        """f' at an exact x."""
        with precision(flint.ctx.prec + int(1.5 * float(x)) + 32):
            a, b = exact_ball(self.upper), exact_ball(self.lower)
            return -x / 2 * a / (b * b) * (-x * x / 4).hypgeom([a + 1], [b + 1, b + 1])

    def mass_below(self, x: Ball) -> Ball:
        """The signed mass of [0, x] at an exact x."""
        with precision(flint.ctx.prec + int(1.5 * float(x)) + 32):
            a, b = exact_ball(self.upper), exact_ball(self.lower)
            h = flint.arb(self.dim) / 2
            front = exact_ball(self.front) * x**self.dim / self.dim
            return front * (-x * x / 4).hypgeom([a, h], [b, b, h + 1])

    def entire(self) -> EntireFunction:
        """f where the zeros are isolated: a transform of a positive kernel, so |f^(k)| <= f(0)."""

        def coefficients(terms: int) -> list[Ball]:
            a, b = exact_ball(self.upper), exact_ball(self.lower)
            found = [flint.arb(1)]
            for n in range(terms):
                found.append(-found[-1] * (a + n) / (4 * (n + 1) * (b + n) ** 2))
            return found

        return EntireFunction(coefficients, flint.arb(1), _COUNTED_FROM + 4.0)


def _expansions(dim: int, start: float, terms: int) -> tuple[Wave, Background]:
    """The wave and the background of the density in x, from ``start`` on."""
    near = (1 - flint.arb(OUTER)) * flint.arb(start)
    cosine = (1 - flint.arb(OUTER) ** 2).sqrt()
    pi = flint.arb.pi()
    if dim == 2:
        return _product_expansions(terms, cosine, near)
    h0 = hankel_expansion(flint.arb(0), terms, cosine, near)
    h1 = hankel_expansion(flint.arb(1), terms, cosine, near)
    k0, k1 = _struve(terms, cosine, near)
    root, imaginary = (2 / pi).sqrt(), flint.acb(0, 1)
    # Y_0 = Re -i (...), Y_1 = Re -(...) with the common factor e^(i(x - pi/4)).
    if dim == 1:
        wave = (h1.scaled(-1) + h0.shifted(1).scaled(-imaginary)).scaled(8 / pi * root)
        power = flint.arb(5) / 2
        # In x^-2: K_1 - 2/pi + K_0/x, with K_0 = x^-1 (...).
        flat = k1 + _constant(-2 / pi, terms, near) + k0.shifted(2)
        back = flat.scaled(8 / pi)
    else:
        wave = (
            (h0 + h0.shifted(2).scaled(-3)).scaled(imaginary) + h1.shifted(1).scaled(-4)
        ).scaled(8 / pi * root)
        power = flint.arb(3) / 2
        flat = k0.scaled(-1) + k0.shifted(2).scaled(3) + k1.scaled(4)
        back = (flat + _constant(-6 / pi, terms, near)).scaled(8 / pi)
    return _paired(wave, power, pi / 4, back)


def _product_expansions(terms: int, cosine: Ball, near: Ball) -> tuple[Wave, Background]:
    h0 = hankel_expansion(flint.arb(0), terms, cosine, near, 2)
    h1 = hankel_expansion(flint.arb(1), terms, cosine, near, 2)
    imaginary, front = flint.acb(0, 1), 4 / flint.arb.pi()
    wave = (h0 * h1).shifted(1).scaled(-4 * imaginary) + (h0 * h0 + h1 * h1).scaled(-1)
    mixed = (h0 * h1.conjugate()).shifted(1).scaled(4 * imaginary)
    even = h0 * h0.conjugate()
    odd = h1 * h1.conjugate()
    back = _real(mixed) + even.scaled(-1) + odd
    return _paired(wave.scaled(front), flint.arb(2), flint.arb.pi() / 2, back.scaled(front))


def _real(f: Expansion) -> Expansion:
    return (f + f.conjugate()).scaled(flint.arb(1) / 2)


def _constant(value: Ball, terms: int, near: Ball) -> Expansion:
    return Expansion([flint.acb(value)] + [flint.acb(0)] * (terms - 1), flint.arb(0), near)


def _paired(wave: Expansion, power: Ball, phase: Ball, back: Expansion) -> tuple[Wave, Background]:
    # The kernel is even up to z^3, so the background starts at x^-4: two terms vanish.
    flat = back.divided(2)
    return (
        Wave(power, phase, wave.coefficients, wave.remainder),
        Background(4, flat.coefficients, flat.remainder),
    )


def _struve(terms: int, cosine: Ball, near: Ball) -> tuple[Expansion, Expansion]:
    r"""x K_0 and K_1, the Struve functions of the second kind, from their Laplace integrals.

    .. math:: \mathbf K_0 = \tfrac2\pi\int_0^\infty e^{-xt}(1+t^2)^{-1/2}dt, \qquad
              \mathbf K_1 = \tfrac{2x}\pi\int_0^\infty e^{-xt}(1+t^2)^{1/2}dt

    (DLMF 11.5.2); the binomial series after n >= 1 terms is off by less than its next term.
    """
    found = []
    for exponent in (-flint.arb(1) / 2, flint.arb(1) / 2):
        coefficients = [flint.acb(0)] * terms
        term = 2 / flint.arb.pi()
        k = 0
        while 2 * k < terms:
            coefficients[2 * k] = flint.acb(term)
            # C(a, k) (2k)!
            term = term * (exponent - k) * (2 * k + 1) * (2 * k + 2) / (k + 1)
            k += 1
        # |e^(-zt)| = e^(-t Re z) and Re z >= cosine |z|; |z| stands in front of the integral.
        rest = abs(term) * cosine ** (-2 * k - 1) / near ** (2 * k - terms)
        found.append(Expansion(coefficients, rest, near))
    return found[0], found[1]


def arc_cosine_masses(component: BallComponent) -> MassBalls:
    """M+, M- and their sum of a multiple of the arc-cosine kernel of order 1, d <= 3.

    Raises
    ------
    Unproved
        For another kernel or dimension, or where a zero could not be enclosed.
    """
    height = _height(component.form)
    if height is None or component.dim > 3:
        raise Unproved("the kernel is no arc-cosine kernel of order 1 in d <= 3")
    density = _Density(component.dim)
    with precision(_BITS):
        wave, background = _expansions(component.dim, _START, _TERMS)
        index, start = _zero_of_cosine(wave)
        zeros = [z for z in _zeros(component, density) if z < start]
        _prove_complete(density, zeros, index, start)
        ends = [flint.arb(0), *(z.mid() for z in zeros), start.mid()]
        masses = [density.mass_below(x) for x in ends]
        mass = flint.arb(0)
        for a, b in pairwise(masses):
            mass = mass + abs(b - a)
        front = exact_ball(density.front)
        for z in (*zeros, start):
            # |f'| <= 1 around a zero, and |f| <= 1 around the start of the tail.
            size = abs(density.value(z.mid())) + z.rad() if z is not start else flint.arb(1)
            loose = 4 * z.rad() * front * z ** (density.dim - 1) * size
            mass = mass + flint.arb(0, loose.abs_upper())
        sign = 1 if index % 2 else -1
        mass = mass + absolute_tail(wave, start) + background_tail(wave, background, start, sign)
        total = exact_ball(height)
        mass = abs(total) * mass
        return MassBalls((mass + total) / 2, (mass - total) / 2, mass, None, (), True)


def _zero_of_cosine(wave: Wave) -> tuple[int, Ball]:
    """n and a ball around the x with psi(x) = (n + 1/2) pi, near the start of the tail."""
    pi = flint.arb.pi()
    begun = wave.argument(flint.arb(_START))
    index = int(float((begun / pi).mid())) + 1
    goal = (index + flint.arb(1) / 2) * pi
    x = flint.arb(_START)
    for _ in range(_NEWTON_STEPS):
        x = (x + goal - wave.argument(x)).mid()
    width = flint.arb(2) ** (-_ZERO_BITS)
    low, high = (x - width).mid(), (x + width).mid()
    if not (wave.argument(low) < goal < wave.argument(high)):
        # The remainder of the expansion is wider than the ball: take one that holds it.
        width = 4 * (wave.argument(x) - goal).abs_upper() + width
        low, high = (x - width).mid(), (x + width).mid()
        if not (wave.argument(low) < goal < wave.argument(high)):
            raise Unproved("the start of the tail could not be enclosed")
    return index, flint.arb(x, width.abs_upper() * 2)


def _zeros(component: BallComponent, density: _Density) -> list[Ball]:
    radius = float(component.form.radius)
    grid = np.arange(1, int((_START + 4 * np.pi) * _GRID / np.pi)) * (np.pi / _GRID)
    sign, _ = component.signed_log(np.asarray(grid / radius))
    changes = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    return [
        enclosed_zero(density.value, density.slope, float(grid[i]), float(grid[i + 1]))
        for i in changes
    ]


def _prove_complete(density: _Density, zeros: list[Ball], index: int, start: Ball) -> None:
    """No zero before the start was missed: bisection up to an extremum, then the phase.

    Where |b/A| and its derivative in psi stay below 1/2 the density has exactly one zero in each
    range [n pi, (n + 1) pi] of psi: where |sin psi| is small the cosine outweighs b/A, and
    elsewhere cos psi + b/A is monotone.
    """
    if not all(a.upper() < b.lower() for a, b in pairwise(zeros)):
        raise Unproved("two sign changes of the density could not be told apart")
    pi = flint.arb.pi()
    wave, background = _expansions(density.dim, _COUNTED_FROM, _COUNT_TERMS)
    first = flint.arb(_COUNTED_FROM)
    count = int(float((wave.argument(first) / pi).mid())) + 1
    x = first
    for _ in range(3):
        x = (x + count * pi - wave.argument(x)).mid()
    phase = wave.argument(x)
    discs = discs_of(wave, first)
    inner = (1 - flint.arb(OUTER)) * first
    away = discs.amplitude - abs(wave.coefficients[0])
    least = abs(wave.coefficients[0]) - away
    largest = abs(background.coefficients[0]) + background.deviation(inner)
    power = background.power - wave.power
    ratio = largest / least * inner**-power
    # Cauchy's estimate of the derivative in x, and dx/dpsi.
    steep = ratio / (flint.arb(OUTER) * first) / (1 - discs.drift)
    if not (x >= first and abs(phase - count * pi) < 0.5 and ratio < 0.5 and steep < 0.5):
        raise Unproved("the zeros could not be counted by the phase")
    near = [z for z in zeros if z < x]
    found = proved_ranges(density.entire().jet, flint.arb(0), x, width=flint.arb(2) ** -_ZERO_BITS)
    brackets = [r for r in found if r.sign == 0]
    if not (len(near) == len(brackets) and all(r.roots == 1 for r in brackets)):
        raise Unproved("the first zeros could not be isolated")
    far = index - count
    # At the start the cosine is 0 and the density has the sign of the background.
    if (background.coefficients[0].real > 0) != (index % 2 == 0):
        far += 1
    if len(zeros) - len(near) != far:
        raise Unproved(f"{len(zeros) - len(near)} far zeros were found where there are {far}")
