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

from functools import cache, partial

import flint
import sympy

from spectra.certify.ball_densities import EXACT_BITS, BallDensity
from spectra.certify.balls import Ball, Unproved, exact_ball, precision
from spectra.certify.expansions import Expansion, hankel_expansion
from spectra.certify.waves import Wave
from spectra.formula.parsing import Z
from spectra.transform.on_balls.ball import BallForm
from spectra.transform.on_balls.ball_reading import ball_form

__all__ = ["arc_cosine_density", "arc_cosine_height"]

# The tail starts near this x: what the background makes of it is then known to 1e-16.
_START = 400.0
# From this x on the phase counts the zeros, by so many terms: beyond, they grow again.
_COUNTED_FROM = (36.0, 8)


@cache
def _model() -> BallForm:
    half, u = Z / 2, 1 - Z**2 / 2
    kernel = (2 * u * sympy.acos(half) + half * sympy.sqrt(4 - Z**2)) / sympy.pi
    form = ball_form(kernel, sympy.Integer(2))
    assert isinstance(form, BallForm)
    return form


def arc_cosine_height(form: object) -> sympy.Expr | None:
    """The height of a formula on a ball that is a multiple of the kernel; None for any other."""
    if not isinstance(form, BallForm):
        return None
    ours, theirs = ({(f, m): c for f, ms in b.parts for m, c in ms} for b in (form, _model()))
    height = form.value_at_zero
    alike = height != 0 and ours.keys() == theirs.keys()
    if alike and all(sympy.simplify(ours[k] - height * c) == 0 for k, c in theirs.items()):
        return height
    return None


def arc_cosine_density(dim: int) -> BallDensity:
    """The density of the kernel of height 1, d <= 3.

    Raises
    ------
    Unproved
        In another dimension.
    """
    if dim > 3:
        raise Unproved("the kernel is no arc-cosine kernel of order 1 in d <= 3")
    half = sympy.Rational(dim, 2)
    upper, lower = sympy.Rational(dim + 3, 2), half + 2
    # S_(d-1) w^(d-1) 2 pi Phi_(d+2)(w) dw with w = x/2.
    sphere = 2 * sympy.pi**half / sympy.gamma(half)
    at_zero = sympy.gamma(upper) / (sympy.pi**upper * sympy.gamma(lower) ** 2)
    front = sympy.simplify(2 * sympy.pi * sphere * at_zero / 2**dim)
    with precision(EXACT_BITS):
        a, b = exact_ball(upper), exact_ball(lower)
        terms = ((exact_ball(front), (a,), (b, b)),)
    expansion = partial(_expansions, dim)
    return BallDensity(dim, terms, flint.arb(1), expansion, _START, _COUNTED_FROM)


def _expansions(dim: int, near: Ball, cosine: Ball, terms: int) -> tuple[Wave, Wave]:
    """The wave and the background of the density."""
    pi = flint.arb.pi()
    if dim == 2:
        return _product_expansions(near, cosine, terms)
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


def _product_expansions(near: Ball, cosine: Ball, terms: int) -> tuple[Wave, Wave]:
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


def _paired(wave: Expansion, power: Ball, phase: Ball, back: Expansion) -> tuple[Wave, Wave]:
    # The kernel is even up to z^3, so the background starts at x^-4: two terms vanish.
    flat = back.divided(2)
    return (
        Wave(power, phase, wave.coefficients, wave.remainder),
        Wave(flint.arb(4), flint.arb(0), flat.coefficients, flat.remainder),
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
