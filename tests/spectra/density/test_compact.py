"""Densities of compact formulas are within their stated errors at every radius and dimension."""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np
import pytest
import sympy

from spectra.density.ball.ball_form import read_ball_form
from spectra.density.ball.ball_formula import ball_formula
from spectra.density.ball.edge import ball_component
from spectra.formula.parsing import Z
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial, zonal

# name: (formula in z, support).  The oracle below reads sums of c z^m and c z^m asin(z/2).
POLYNOMIALS = {
    "spherical a=2 p=2": ((1 - Z**2 / 4) ** 2, 2),
    "spherical a=3 p=1": (1 - Z**2 / 9, 2),
}


def arc_cosine(name):
    u = "acos(u)"
    return {
        "arc-cosine 0": zonal(f"1 - {u}/pi"),
        "arc-cosine 1": zonal(f"(u*(pi - {u}) + sqrt(1 - u**2))/pi"),
        "NTK": zonal(f"(2*u*(pi - {u}) + sqrt(1 - u**2))/pi"),
    }[name]


@cache
def component(name, dim):
    if name in POLYNOMIALS:
        form = read_ball_form(*map(sympy.sympify, POLYNOMIALS[name]))
    else:
        (piece,) = arc_cosine(name).pieces
        form = read_ball_form(piece.expr, piece.support)
    return ball_component(form, dim)


def assert_right(c, dim, w, mu, most):
    """The error against (2 pi)^(-d/2) mu, in units of the envelope, is what is stated, or less."""
    sign, log = c.signed_log(w)
    envelope = c.log_envelope(w)
    for x, s, lg, env, bound in zip(w, sign, log, envelope, c.relative_error(w), strict=True):
        with mpmath.workdps(50):
            half, x = mpmath.mpf(dim) / 2, mpmath.mpf(float(x))
            front = 2 ** (1 - half) / mpmath.gamma(half) * x ** (dim - 1)
            scale = mpmath.exp(-mpmath.mpf(float(env)))
            found = mpmath.mpf(float(s)) * mpmath.exp(mpmath.mpf(float(lg))) * scale
            assert abs(float(front * mu(half, x) * scale - found)) <= bound < most


def test_a_weak_singularity_that_matters_only_far_out_is_within_its_error():
    """(1 - z^2)(1 + e - z^2) has the edge exponent 1 only from w = 1/e on; 1/e is 1e8 here."""
    dim = 3
    c = ball_component(
        read_ball_form((1 - Z**2) * (1 + sympy.Rational(1, 10**8) - Z**2), sympy.Integer(1)), dim
    )

    def mu(half, x):
        value = 2 * x ** (-half - 1) * mpmath.besselj(half + 1, x) / 10**8
        return value + 8 * x ** (-half - 2) * mpmath.besselj(half + 2, x)

    assert_right(c, dim, np.geomspace(1e5, 1e11, 12), mu, 1e-7)


@pytest.mark.parametrize("dim", [1, 64])
def test_far_radii_keep_their_phase(dim):
    """Up to w = 1e6 the phase R w has its digits: Sonine's J_{d/2+2}(2w)."""
    c = component("spherical a=2 p=2", dim)
    w = np.array([1e4, 54321.0, 1e6])
    assert_right(
        c,
        dim,
        w,
        lambda half, x: (2 / x) ** (half + 2) / 2 * mpmath.besselj(half + 2, 2 * x),
        1e-12,
    )


# Formulas that the ball-arithmetic oracle does not read: two classes of edge, other radii.
MIXED = {
    "half-integer": radial("(1 - z**2/4)**(3/2)", support=2),
    "any order": radial("(1 - z**2/9)**(3/10)", support=3),
    "arc-cosine times a polynomial": arc_cosine("NTK").rescale(0.7) * zonal("1/2 - u"),
    "cusp times a root": radial("z*sqrt(1 - z**2)", support=1),
}


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("any order", 1),
        *(pytest.param(name, dim, marks=pytest.mark.slow) for name in MIXED for dim in (2, 16)),
    ],
)
def test_mixed_formulas_agree_with_quadrature(name, dim):
    kernel = MIXED[name]
    (piece,) = kernel.pieces
    c = ball_component(read_ball_form(piece.expr, piece.support), dim)
    assert c.total == pytest.approx(kernel.at_zero, rel=1e-15)
    function = sympy.lambdify(Z, piece.expr, "mpmath")
    w = np.array([0.01, 1.0, 0.4 * c.tail.start, 1.1 * c.tail.start])
    sign, log = c.signed_log(w)
    value, envelope, claimed = sign * np.exp(log), np.exp(c.log_envelope(w)), c.relative_error(w)
    with mpmath.workdps(30):
        radius = mpmath.mpf(sympy.N(piece.support, 40))
        half = mpmath.mpf(dim) / 2
        for x, v, env, bound in zip(w, value, envelope, claimed, strict=True):
            y = mpmath.mpf(float(x))
            panels = mpmath.linspace(0, mpmath.pi / 2, 3 + int(x * float(radius) / 4))

            def integrand(t, y=y):
                z = radius * mpmath.sin(t)  # makes the powers at the edge smooth
                wave = mpmath.hyp0f1(half, -((y * z) ** 2) / 4)
                return function(z) * z ** (dim - 1) * wave * radius * mpmath.cos(t)

            # Rounding at the edge may push arcsin past 1.
            integral = mpmath.re(mpmath.quad(integrand, panels))
            exact = mpmath.mpf(2) ** (2 - dim) / mpmath.gamma(half) ** 2 * y ** (dim - 1) * integral
            assert abs(float(exact - mpmath.mpf(float(v)))) <= bound * env
            assert bound < 1e-13


@pytest.mark.parametrize(("name", "dim"), [("spherical a=3 p=1", 256), ("arc-cosine 1", 1)])
def test_the_tail_is_amplitude_times_cosine_plus_background(name, dim):
    c = component(name, dim)
    tail = c.tail
    far = 1e4 if dim < 100 else 30.0  # where the mass is infinite rho itself overflows
    w = tail.start * np.concatenate([1 + np.linspace(0, 2, 300), np.geomspace(3.1, far, 300)])
    sign, log = c.signed_log(w)
    (turn, log_amplitude), (side, log_background) = tail.amplitude(w), tail.background(w)
    amplitude, background = np.exp(log_amplitude), side * np.exp(log_background)
    phase = tail.frequency * w
    value = amplitude * (turn * np.exp(1j * phase)).real + background
    size = amplitude + np.abs(background)
    assert np.all(np.abs(value - sign * np.exp(log)) <= size * (1e-12 + 3e-16 * phase))
    far = tail.start * np.array([1e6, 2e6])
    # The amplitude of an infinite measure leaves the doubles, its logarithm does not.
    turn, log_amplitude = tail.amplitude(far)
    order = -np.diff(log_amplitude) / np.log(2)
    assert order == pytest.approx(tail.exponent, abs=1e-6 * max(1.0, abs(tail.exponent)))
    if dim > 100:
        return
    assert turn[0] == pytest.approx(turn[1], abs=1e-5)
    if np.isinf(tail.background_exponent):
        assert not np.any(background)
    else:
        ratio = tail.background(np.array([1e5, 2e5]))[1]
        assert -np.diff(ratio) / np.log(2) == pytest.approx(tail.background_exponent, abs=1e-6)


def test_formulas_take_their_textbook_form():
    w, d = sympy.Symbol("w", positive=True), 5
    wendland = ball_formula(read_ball_form((1 - Z) ** 4 * (4 * Z + 1), sympy.Integer(1)), d)
    (only,) = wendland.atoms(sympy.hyper)
    half = sympy.Rational(1, 2)
    assert only == sympy.hyper([4], [5 + half, 6], -(w**2) / 4)
    (piece,) = arc_cosine("arc-cosine 0").pieces
    (only,) = ball_formula(read_ball_form(piece.expr, piece.support), d).atoms(sympy.hyper)
    assert only == sympy.hyper([3], [3 + half, 3 + half], -(w**2))
    flat = read_ball_form((1 - Z**2 / 4) ** 2, sympy.Integer(2))
    assert not ball_formula(flat, d).atoms(sympy.hyper)


def test_a_density_of_zero_mean_starts_with_a_higher_power():
    """1 - 5 z^2/3 in three dimensions integrates to zero: rho ~ w^4."""
    c = ball_component(read_ball_form(1 - sympy.Rational(5, 3) * Z**2, sympy.Integer(1)), 3)
    assert c.origin_exponent == 4.0
    _, log = c.signed_log(np.array([1e-2, 2e-2]))
    assert np.diff(log) / np.log(2) == pytest.approx(4.0, abs=1e-3)


def test_a_power_of_any_order_is_recognised_in_its_integral():
    (piece,) = catalogue["superspherical"](nu=1.3).pieces
    assert read_ball_form(piece.expr, piece.support) is not None


@pytest.mark.parametrize(
    ("formula", "support"),
    [
        ("exp(-z)", 1),
        ("sqrt(1 - z)*sqrt(1 - z**2)", 1),
        ("asin(z/2)**2", 2),
        ("asin(z/3)", 2),
        ("(1 - z**2)", None),
        ("Abs(z - 1)", 2),
    ],
)
def test_other_formulas_are_not_recognised(formula, support):
    (piece,) = radial(formula, support=support).pieces
    assert read_ball_form(piece.expr, piece.support) is None
