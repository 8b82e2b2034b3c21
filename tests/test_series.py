"""The series route: Gamma products on the half-line and powers on the ball, in every dimension."""

from functools import cache

import mpmath
import numpy as np
import pytest
import sympy
from grids import by_turns
from mpmath import mp
from naive_hankel import hankel_quadrature
from problems import naive_density

import spectra as sp
from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.closed_pairs.pair import W
from spectra.density.gamma_sums.gamma_component import mellin_component
from spectra.density.gamma_sums.gamma_product import gamma_product
from spectra.density.lookup import lookup
from spectra.density.numeric import numeric
from spectra.density.series import gamma_products, series
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.symbolic.gamma_formula import gamma_formula

DIMS = (1, 2, 3, 5, 16)
FREQUENCIES = np.geomspace(1e-3, 1e4, 15)
DISTANCES = np.array([0.0, 1e-6, 0.03, 0.31, 0.7, 1.0, 1.27, 1.9, 2.6, 5.3])

# Kernels outside the catalogue's closed forms.
SERIES = (
    "exp(-z)*cos(3*z)",
    "sqrt(z)*exp(-z)",
    "z**(1/3)*exp(-2*z**2)",
    "z**2*besselk(1/4, z)",
    "z*exp(-z)*besselk(1/4, z)",
    "erfc(z/2)",
)
MEIJER = ("exp(-z**(3/2))", "exp(-sqrt(z))", "1/(1+z)", "(1+z**3)**(-5/6)")
BALLS = (
    ("(1-z)**(3/2)", 1),
    ("sqrt(z)*(1-z)", 1),
    ("(1-sqrt(z))**4", 1),
    ("z**(1/3)*(4-z**2)**(5/2)", 2),
)


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
    ("text", "dim"), by_turns([("1/(1+z**3)", 1), ("1/(1+z**3)", 3), ("1/(1+z)", 2)], every=3)
)
@pytest.mark.parametrize("length", [1e-30, 1e-15, 1e15, 1e30])
def test_a_length_far_from_one_moves_the_density_and_nothing_else(text, dim, length):
    kernel, unit = sp.radial(text), found(text, dim)
    moved = sp.spectral_density(kernel.rescale(length), dim, route="series")
    w = np.geomspace(1e-9, 1e9, 19)
    gap = np.abs(moved.radial(w / length) / length - unit.radial(w))
    assert np.all(gap <= moved.error(w / length) / length + unit.error(w))
    assert np.all(moved.error(w / length) / length <= 1e-9 * np.abs(unit.radial(w)))


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
    closed = complex(sympy.N(product.formula(sympy.Float(s, 30)))).real
    assert integral == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize(
    "text",
    ["cos(z)", "exp(-z**2)*cos(z)", "z**2", "exp(z)", "log(1+z)", "1/(1-z**2)", "besselj(0, z)"],
)
def test_what_is_no_gamma_product_is_not_claimed(text):
    assert gamma_product(parse_formula(text, variable="z")) is None


def test_what_is_unbounded_or_does_not_fall_is_not_claimed():
    for expr in (sympy.besselk(0, Z), sympy.exp(-Z) / Z, Z / (1 + Z), Z**2 / (1 + Z)):
        assert mellin_component([gamma_product(expr)], 2) is None


@pytest.mark.slow
def test_sums_that_cancel_are_left_to_rays():
    kernel, dim = sp.radial("exp(-z**6)"), 32
    assert series(kernel, dim) is None
    density = sp.spectral_density(kernel, dim)
    assert density.route == "numeric"
    w = np.array([np.mean(density.components[0].bulk)])
    bound = abs(density.error(w)[0] / density.radial(w)[0])
    assert bound < 1e-10
    half, at = dim // 2, mp.mpf(float(w[0]))
    with mp.workdps(30):
        exact = mp.quad(
            lambda z: mp.exp(-(z**6)) * z**half * mp.besselj(half - 1, at * z),
            mp.linspace(0, 2.5, 17),
        )
        exact *= at ** (1 - half) / (2 * mp.pi) ** half
    assert abs(density.density(w)[0] - float(exact)) <= bound * abs(float(exact))


# --- agreement and honesty --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dim"), by_turns(rotated(SERIES, (16, 2, 64, 1, 5, 3), default=(1, 3)), every=2)
)
def test_the_true_error_never_exceeds_the_stated_one(text, dim):
    density = found(text, dim)
    radial, stated = density.radial(FREQUENCIES), density.error(FREQUENCIES)
    (component,) = density.components
    size = np.exp(component.log_envelope(FREQUENCIES))
    with mp.workdps(40):
        for w, value, bound in zip(FREQUENCIES, radial, stated, strict=True):
            exact = exact_radial(text, dim, float(w))
            assert abs(mp.mpf(float(value)) - exact) <= mp.mpf(float(bound)), w
    assert np.median(stated / size) < 1e-11


@pytest.mark.parametrize(("text", "dim"), rotated(MEIJER, (1, 3, 5), default=(0,)))
def test_the_true_error_never_exceeds_the_stated_one_on_a_turned_contour(text, dim):
    density, kernel = found(text, dim), sp.radial(text)
    half = mp.mpf(dim) / 2
    for w in (1e-3, 0.7, 45.0, 1e4):
        with mp.workdps(30):
            exact = hankel_quadrature(kernel, dim, mp.mpf(w))[0]
            exact *= 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
            assert abs(mp.mpf(density.radial([w])[0]) - exact) <= density.error([w])[0], w
    assert density.error([1.0])[0] < 1e-12 * density.radial([1.0])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "support", "dim"),
    [("exp(-z**(3/2))", None, 3), ("1/(1+z)", None, 1), ("(1-z)**(3/2)", 1, 16)],
)
def test_the_series_agrees_with_quadrature_within_both_errors(text, support, dim):
    mine, other = found(text, dim, support), numeric(sp.radial(text, support=support), dim)
    miss = np.abs(mine.radial(FREQUENCIES) - other.radial(FREQUENCIES))
    assert np.all(miss <= mine.error(FREQUENCIES) + other.error(FREQUENCIES))


@pytest.mark.parametrize(("case", "dim"), rotated(BALLS, (1, 3, 16, 2), default=(1,)))
def test_powers_on_a_ball_keep_their_stated_error(case, dim):
    text, support = case
    density = found(text, dim, support)
    kernel = sp.radial(text, support=support)
    half = mp.mpf(dim) / 2
    for w in (0.4, 6.7, 31.0):
        with mp.workdps(25):
            sphere = 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
            exact = sphere * naive_density(kernel, dim, w, digits=20)
        assert abs(float(mp.mpf(density.radial([w])[0]) - exact)) <= density.error([w])[0], w


@pytest.mark.slow
@pytest.mark.parametrize(("case", "dim"), rotated(BALLS[:2], (5, 64), default=()))
def test_powers_on_a_ball_keep_their_stated_error_far_out(case, dim):
    text, support = case
    density = found(text, dim, support)
    form = ball_form(parse_formula(text, variable="z"), sympy.Integer(support))
    formula = compact_formula(form, dim)
    half = mp.mpf(dim) / 2
    for w in (150.0, 1.1e3):
        with mp.workdps(40):
            exact = mp.mpf(str(sympy.N(formula.subs(W, sympy.Rational(w)), 30, maxn=8000)))
            exact *= 2 * mp.pi**half / mp.gamma(half) * mp.mpf(w) ** (dim - 1)
        assert abs(float(mp.mpf(density.radial([w])[0]) - exact)) <= density.error([w])[0], w


@pytest.mark.slow
@pytest.mark.parametrize("text", ["exp(-z)", "exp(-z**2/2)"])
def test_in_a_thousand_dimensions_the_series_keeps_its_digits(text):
    mine, closed = found(text, 1000), lookup(sp.radial(text), 1000)
    w = np.geomspace(*closed.components[0].bulk, 9)
    miss = np.abs(mine.radial(w) - closed.radial(w))
    assert np.all(miss <= mine.error(w) + closed.error(w))
    assert np.all(mine.error(w) < 1e-10 * closed.radial(w))


# --- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 3, pytest.param(256, marks=pytest.mark.slow)])
def test_a_stable_kernel_is_positive_definite_at_every_radius(dim):
    sign, _ = found("exp(-z**(3/2))", dim).signed_log_radial(np.geomspace(1e-6, 1e8, 400))
    assert np.all(sign == 1)


@pytest.mark.parametrize("dim", [1])
def test_the_density_two_dimensions_up_is_the_slope(dim):
    w, h = 1.3, 3e-3
    here, above = found("exp(-z**(3/2))", dim), found("exp(-z**(3/2))", dim + 2)
    weights, steps = np.array([1, -8, 0, 8, -1]) / 12, np.array([-2, -1, 0, 1, 2])
    slope = weights @ here.density(w + steps * h) / h
    assert slope == pytest.approx(-2 * np.pi * w * above.density([w])[0], rel=1e-8)


@pytest.mark.slow
def test_tails_and_origins_are_those_of_the_expansions():
    for text, dim, tail, origin in (
        ("exp(-z**(3/2))", 3, 2.5, 2.0),  # k - 1 is -z^(3/2) at zero
        ("1/(1+z)", 3, 2.0, 0.0),  # k is 1/z far out
        ("sqrt(z)*exp(-z)", 16, 1.5, 15.0),
        ("(1+z**3)**(-5/6)", 1, 4.0, 0.0),
    ):
        (component,) = found(text, dim).components
        assert component.decay == tail
        assert component.origin_exponent == origin
        far, near = np.array([1e6, 1e7]), np.array([1e-7, 1e-6])
        assert np.diff(component.signed_log(far)[1])[0] == pytest.approx(
            -tail * np.log(10), rel=1e-3
        )
        if text != "1/(1+z)":
            slope = np.diff(component.signed_log(near)[1])[0] / np.log(10)
            assert slope == pytest.approx(origin, abs=1e-3)


def test_terms_that_cancel_are_added_before_they_are_computed():
    # (1 + z^(3/2)) exp(-z^(3/2)) = 1 - z^3/2 + ...: the tail w^(-5/2) of both summands cancels.
    (component,) = found("(1 + z**(3/2))*exp(-z**(3/2))", 1).components
    assert component.decay == 4.0
    assert component.relative_error(np.array([1e6]))[0] < 1e-12


@pytest.mark.parametrize(
    ("text", "support", "dim"),
    [
        ("exp(-z**(3/2))", None, 16),
        pytest.param("exp(-z**2/2) - exp(-sqrt(z))", None, 2, marks=pytest.mark.slow),
        pytest.param("(1-z)**(3/2)", 1, 3, marks=pytest.mark.slow),
    ],
)
def test_from_text_to_a_table_whose_expectation_is_the_kernel(text, support, dim):
    kernel = sp.radial(text, support=support)
    table = sp.tabulate(sp.spectral_measure(kernel, dim))
    assert np.max(np.abs(table.expected_kernel(DISTANCES) - kernel(DISTANCES))) < 1e-11


@pytest.mark.slow
def test_auto_takes_the_closed_form_where_there_is_one():
    assert sp.spectral_density(sp.radial("exp(-z)"), 3).route == "lookup"
    assert sp.spectral_density(sp.radial("exp(-z**(3/2))"), 3).route == "series"
    assert sp.spectral_density(sp.radial("exp(-z)"), 3, route="series").route == "series"
    assert series(sp.radial("cos(z)"), 1) is None
    mixed = sp.spectral_density(sp.radial("exp(-z**2) - exp(-z**(3/2)) + 1"), 2)
    assert mixed.atoms[0].mass == 1.0
    assert len(mixed.components) == 2
    with pytest.raises(sp.errors.NoRouteError, match="formula"):
        mixed.latex()


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
