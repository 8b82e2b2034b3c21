"""The series route: Gamma products on the half-line and powers on the ball."""

from functools import cache

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.density.closed_pairs.pair import W
from spectra.density.gamma_product import gamma_formula, gamma_product, gamma_products
from spectra.density.gamma_series import series
from spectra.errors import NoRouteError
from spectra.formula.parsing import parse_formula

FREQUENCIES = np.geomspace(1e-3, 1e4, 15)

# Kernels outside the catalogue's closed forms.
SERIES = (
    "sqrt(z)*exp(-z)",
    "z**2*besselk(1/4, z)",
    "erfc(z/2)",
)
MEIJER = ("exp(-z**(3/2))", "exp(-sqrt(z))", "1/(1+z)", "(1+z**3)**(-5/6)")


@cache
def found(text, dim):
    return series(sp.radial(text), dim)


def exact_radial(text, dim, w):
    """rho(w) by the hypergeometric formula in 40 digits; another algorithm for the same product."""
    formula = gamma_formula(gamma_products(parse_formula(text, variable="z")), dim)
    number = sympy.re(sympy.N(formula.subs(W, sympy.Rational(w)), 40, maxn=4000))
    half = mp.mpf(dim) / 2
    sphere = 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
    return mp.mpf(str(number)) * sphere


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dim", "length"), [("exp(-z**(3/2))", 3, 1e15), ("1/(1+z**3)", 1, 1e-30)]
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


@pytest.mark.parametrize("text", ["cos(z)", "exp(z)", "1/(1-z**2)", "exp(-z)*cos(3*z)"])
def test_formulas_without_gamma_products_are_not_recognised(text):
    assert gamma_product(parse_formula(text, variable="z")) is None


def test_unbounded_kernels_have_no_series():
    for text in ("exp(-z)/z", "z/(1+z)", "z**2/(1+z)"):
        assert series(sp.radial(text), 2) is None
    with pytest.raises(NoRouteError, match="no finite value at z = 0"):
        series(sp.radial("besselk(0, z)"), 2)


# --- agreement and honesty --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        pytest.param(text, dim, marks=() if dim == 2 else pytest.mark.slow)
        for text, dim in zip(SERIES, (2, 64, 1), strict=True)
    ],
)
def test_the_true_error_never_exceeds_the_stated_one(text, dim):
    density = found(text, dim)
    radial, stated = density.radial(FREQUENCIES), density.error(FREQUENCIES)
    with mp.workdps(40):
        for w, value, bound in zip(FREQUENCIES, radial, stated, strict=True):
            exact = exact_radial(text, dim, float(w))
            assert abs(mp.mpf(float(value)) - exact) <= mp.mpf(float(bound)), w
    assert np.max(stated * FREQUENCIES) < 1e-12 * np.max(np.abs(radial) * FREQUENCIES)


# --- laws -------------------------------------------------------------------------------------


def test_a_value_that_errors_hide_lies_within_the_stated_error():
    """The power law below the samples begins at a sample that its error hides."""
    density, w = found("exp(-z**(3/2))", 64), np.array([2.4])
    assert abs(density.radial(w)[0] - 1.14818133288861e-15) <= density.error(w)[0] < 1e-14


@pytest.mark.parametrize("dim", [1, 3, pytest.param(256, marks=pytest.mark.slow)])
def test_a_stable_kernel_is_positive_definite_at_every_radius(dim):
    density, w = found("exp(-z**(3/2))", dim), np.geomspace(1e-6, 1e8, 400)
    assert np.all(density.radial(w) > -density.error(w))
