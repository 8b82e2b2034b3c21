"""The series route: Gamma products on the half-line and powers on the ball."""

from fractions import Fraction
from functools import cache

import flint
import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.closed_pairs.pair import W
from spectra.density.gamma_sums import gamma_product, gamma_products
from spectra.density.gamma_sums.series import series
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.symbolic.gamma_formula import gamma_formula
from tests.oracles.exact_densities import shifted_inverse, stable

FREQUENCIES = np.geomspace(1e-3, 1e4, 15)
DISTANCES = np.array([0.0, 1e-6, 0.03, 0.31, 0.7, 1.0, 1.27, 1.9, 2.6, 5.3])

# Kernels outside the catalogue's closed forms.
SERIES = (
    "exp(-z)*cos(3*z)",
    "sqrt(z)*exp(-z)",
    "z**2*besselk(1/4, z)",
    "erfc(z/2)",
)
MEIJER = ("exp(-z**(3/2))", "exp(-sqrt(z))", "1/(1+z)", "(1+z**3)**(-5/6)")


def rotated(names, dims, *, default):
    """Each name in one dimension, a different one from name to name; all but some are slow."""
    return [
        pytest.param(
            name,
            dims[i % len(dims)],
            id=f"{name}-{dims[i % len(dims)]}",
            marks=() if i in default else pytest.mark.slow,
        )
        for i, name in enumerate(names)
    ]


@cache
def found(text, dim, support=None):
    return series(sp.radial(text, support=support), dim)


def exact_radial(text, dim, w):
    """rho(w) by the hypergeometric formula in 40 digits; another algorithm for the same product."""
    formula = gamma_formula(
        gamma_products(parse_formula(text, variable="z")), sympy.Integer(dim), W
    )
    number = sympy.re(sympy.N(formula.subs(W, sympy.Rational(w)), 40, maxn=4000))
    half = mp.mpf(dim) / 2
    sphere = 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
    return mp.mpf(str(number)) * sphere


@pytest.mark.parametrize(
    ("text", "dim", "length"),
    [
        pytest.param("exp(-z**(3/2))", 3, 1e15, marks=pytest.mark.slow),
        pytest.param("1/(1+z**3)", 1, 1e-30, marks=pytest.mark.slow),
    ],
)
def test_a_length_scale_far_from_one_only_rescales_the_density(text, dim, length):
    kernel, unit = sp.radial(text), found(text, dim)
    moved = sp.spectral_density(kernel.rescale(length), dim, route="series")
    w = np.geomspace(1e-9, 1e9, 19)
    gap = np.abs(moved.radial(w / length) / length - unit.radial(w))
    assert np.all(gap <= moved.error(w / length) / length + unit.error(w))
    assert np.max(moved.error(w / length) * w / length) <= 1e-12 * np.max(
        np.abs(unit.radial(w)) * w
    )


# --- Mellin transforms ------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*SERIES, *MEIJER])
def test_a_gamma_product_is_the_mellin_transform(text):
    expr = parse_formula(text, variable="z")
    product = gamma_product(expr)
    value = sp.radial(text)
    # z = exp(t): the trapezoidal rule of a function that decays exponentially at both ends.
    t = np.arange(-60.0, 60.0, 1 / 32)
    left, right = (float(x) for x in product.strip)
    s = 0.4 if right > 1 else 0.5 * (max(left, 0.0) + right)
    integral = np.sum(value(np.exp(t)) * np.exp(s * t)) / 32
    closed = float(product.value(flint.acb(s)).real)
    assert integral == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize(
    "text",
    ["cos(z)", "exp(z)", "1/(1-z**2)"],
)
def test_formulas_without_gamma_products_are_not_recognised(text):
    assert gamma_product(parse_formula(text, variable="z")) is None


def test_unbounded_kernels_have_no_series():
    for text in ("exp(-z)/z", "z/(1+z)", "z**2/(1+z)"):
        assert series(sp.radial(text), 2) is None
    with pytest.raises(NoRouteError, match="no finite value at z = 0"):
        series(sp.radial("besselk(0, z)"), 2)


# --- agreement and honesty --------------------------------------------------------------------


@pytest.mark.parametrize(("text", "dim"), rotated(SERIES, (16, 2, 64, 1), default=(1,)))
def test_the_true_error_never_exceeds_the_stated_one(text, dim):
    density = found(text, dim)
    radial, stated = density.radial(FREQUENCIES), density.error(FREQUENCIES)
    with mp.workdps(40):
        for w, value, bound in zip(FREQUENCIES, radial, stated, strict=True):
            exact = exact_radial(text, dim, float(w))
            assert abs(mp.mpf(float(value)) - exact) <= mp.mpf(float(bound)), w
    assert np.max(stated * FREQUENCIES) < 1e-12 * np.max(np.abs(radial) * FREQUENCIES)


@pytest.mark.parametrize(
    ("text", "exact", "dim"),
    [
        ("exp(-z**(3/2))", stable(Fraction(3, 2)), 1),
        pytest.param("exp(-sqrt(z))", stable(Fraction(1, 2)), 3, marks=pytest.mark.slow),
        pytest.param("1/(1+z)", shifted_inverse, 16, marks=pytest.mark.slow),
    ],
)
def test_the_true_error_never_exceeds_the_stated_one_on_a_turned_contour(text, exact, dim):
    density = found(text, dim)
    half = mp.mpf(dim) / 2
    for w in (1e-3, 45.0):
        with mp.workdps(30):
            area = 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
            miss = abs(mp.mpf(density.radial([w])[0]) - area * exact(mp.mpf(w), dim))
            assert miss <= density.error([w])[0], w
    assert density.error([1.0])[0] < 1e-12 * density.radial([1.0])[0]


# --- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 3, pytest.param(256, marks=pytest.mark.slow)])
def test_a_stable_kernel_is_positive_definite_at_every_radius(dim):
    density, w = found("exp(-z**(3/2))", dim), np.geomspace(1e-6, 1e8, 400)
    assert np.all(density.radial(w) > -density.error(w))


@pytest.mark.parametrize(
    ("text", "support", "dim"),
    [
        ("exp(-z**(3/2))", None, 16),
    ],
)
def test_from_text_to_a_table_whose_expectation_is_the_kernel(text, support, dim):
    kernel = sp.radial(text, support=support)
    table = sp.tabulate(sp.spectral_measure(kernel, dim))
    assert np.max(np.abs(table.expected_kernel(DISTANCES) - kernel(DISTANCES))) < 1e-11


def test_exact_expansions_of_powers_on_a_ball():
    form = ball_form(sympy.sqrt(Z) * (1 - Z) ** sympy.Rational(3, 2), sympy.Integer(1))
    tau = mpmath.mpf("0.01")
    edge = form.edge_series(sympy.Rational(1, 2), 40, lambda c: mp.mpf(sympy.Rational(c).p) / c.q
                            if c.is_Rational else mp.mpf(str(sympy.N(c, 30))))  # fmt: skip
    x = mp.sqrt(1 - tau)
    total = mp.fsum(c * tau ** (mp.mpf(1) / 2 + j) for j, c in enumerate(edge))
    assert abs(total - mp.sqrt(x) * (1 - x) ** mp.mpf("1.5")) < 1e-14
    x = mp.mpf("0.01")
    odd = form.odd_origin_terms(12)
    total = mp.fsum(mp.mpf(int(c.p)) / int(c.q) * x ** (mp.mpf(m.numerator) / m.denominator)
                    for m, c in odd)  # fmt: skip
    assert abs(total - mp.sqrt(x) * (1 - x) ** mp.mpf("1.5")) < 1e-14
