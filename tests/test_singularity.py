"""Local analysis: expansions are right, radii are complete, and the spectrum says the same."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest
import sympy
from grids import by_turns
from mpmath import mp

from spectra.density import spectral_density
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError, bessel_value
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO, Expansion, Series
from spectra.formula.expansions.kinks import resolve
from spectra.formula.expansions.verification import expansion_agrees
from spectra.formula.reader.parsing import Z, parse_formula
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import Kernel, radial
from spectra.singularities import analyse
from spectra.singularities.branches import branch_radii, is_analytic_at, value_at
from spectra.singularities.wave_formulas import is_periodic, recurs
from spectra.singularities.zeros import positive_zeros, same_radius

oo = sympy.oo


def _formula(text: str) -> sympy.Expr:
    return parse_formula(text, variable="z")


def _sum(expanded: Expansion, t: mpmath.mpf) -> mpmath.mpf:
    """An expansion in numbers, written apart from the toolkit's own check."""
    symbol, log = sympy.symbols("t L", positive=True)
    total = sympy.Integer(0)
    for phase, series in expanded.parts:
        exponent = sum(c * symbol**a * log ** (-m) for (a, m), c in phase.terms)
        total += sympy.exp(exponent) * sum(
            c * symbol**a * log ** (-m) for (a, m), c in series.terms
        )
    function = sympy.lambdify((symbol, log), total, "mpmath")
    return mpmath.mpmathify(function(t, mp.log(1 / t)))


# --- expansions -----------------------------------------------------------------------------

EXPANSIONS = [
    # formula, point, side, order of what is left out with a window of 4
    ("acos(1 - z)", 0, 1),
    ("asin(z/2)", 2, -1),
    ("(1 - z**2/4)**(5/2)*exp(-z)", 2, -1),
    ("exp(-z)*log(1 + sqrt(z))", 0, 1),
    ("z**z", 0, 1),
    ("sin(z)/z", 0, 1),
    ("tan(z)/z", 0, 1),
    ("tan(z)", 1, 1),
    ("tanh(z)", 0, 1),
    ("sinh(z)/z - cosh(z)", 0, 1),
    ("atan(1/z)", 0, 1),
    ("erf(sqrt(z))", 0, 1),
    ("erfc(1/z)*exp(1/z**2)", 0, 1),
    ("besselj(1/3, z)", 0, 1),
    ("besselj(-2, z)", 0, 1),
    ("besselj(2, z)", 3, -1),
    ("besselk(1/3, 2*z)", 0, 1),
    ("besselk(2, z)", 0, 1),
    ("besselk(0, z)", 0, 1),
    ("besseli(1, z)*besselk(1, z)", oo, 1),
    ("besselj(5/3, z)", oo, 1),
    ("besselk(1/4, z)*exp(z)", oo, 1),
    ("sqrt(1 + z**2) - z", oo, 1),
    ("cos(sqrt(z**2 + 1))", oo, 1),
    ("exp(sin(z)/z)", oo, 1),
    ("log(1 + z)/z", oo, 1),
    ("atan(z)", oo, 1),
    ("erf(z)/z + 1/cosh(z)", oo, 1),
    ("gamma(1 + z)", 1, 1),
    ("hyper([1/2], [3/2], -z**2)", oo, 1),
    ("hyper([1/2, 1/3], [3/2], -z**2)", oo, 1),
    ("hyper([1/2, 1/3], [7/4], z)", 1, -1),
    ("hyper([], [5/2], -z**2/4)", oo, 1),
    ("hyper([-2, 1/2], [3/2], z)", oo, 1),
]


@pytest.mark.parametrize(("text", "point", "side"), EXPANSIONS)
def test_the_remainder_vanishes_as_fast_as_the_expansion_says(
    text: str, point: object, side: int
) -> None:
    expr, place = _formula(text), sympy.sympify(point)
    expanded = expand_at(expr, place, side, 4)
    orders = [s.order for p, s in expanded.parts if p.growth >= 0 and s.order is not None]
    finite = [float(o[0]) for o in orders if o[0] is not oo]
    order = min(finite, default=6.0)
    function = mpmath_function(expr, Z)
    with mp.workdps(120):
        rests = []
        for t in (mp.mpf("1e-4"), mp.mpf("1e-6")):
            z = 1 / t if place is oo else mp.mpf(int(place)) + side * t
            rests.append(abs(function(z) - _sum(expanded, t)))
        if rests[1] < mp.mpf("1e-90"):
            return
        assert mp.log(rests[0] / rests[1]) / mp.log(100) > order - 0.4


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("exp(cos(z))", oo),
        ("1/(2 + cos(z))", oo),
        ("log(log(z))", oo),
        ("sqrt(z - 1)", 0),
        ("cos(log(z))", 0),
        ("exp(-sqrt(log(1 + z)))", oo),
        ("gamma(-1/2 - z)", oo),
    ],
)
def test_what_has_no_expansion_of_this_kind_is_refused(text: str, point: object) -> None:
    with pytest.raises(ExpansionError):
        expand_at(_formula(text), sympy.sympify(point), 1, 4)


def test_a_wrong_expansion_is_caught_by_numbers() -> None:
    expr = _formula("acos(1 - z)")
    expanded = expand_at(expr, sympy.Integer(0), 1, 3)
    assert expansion_agrees(expr, expanded, sympy.Integer(0), 1)
    series = expanded.part()
    size, c = series.terms[1]
    spoilt = Series((series.terms[0], (size, c * sympy.Rational(101, 100))), series.order)
    assert not expansion_agrees(expr, expanded.of([(ZERO, spoilt)]), sympy.Integer(0), 1)


# --- radii and branches ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "upper", "zeros"),
    [
        ("1 - z**2/4", oo, [2]),
        ("z**3 - 2*z - 5", oo, [2.0945514815423265]),
        ("1 + z + z**2", oo, []),
        ("z**2 - pi", oo, [np.sqrt(np.pi)]),
        ("2*exp(-z) - 1", oo, [np.log(2)]),
        ("1 - sqrt(1 - z**2/4)", 2, []),
        ("sqrt(z) - 3", oo, [9]),
        ("cos(z)", 8, [np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2]),
        ("cosh(z) + z", oo, []),
        ("Abs(z - 2) - 1", oo, [1, 3]),
        ("cos(z) + z + 1/2", 5, []),
        ("tanh(z) - 1/2", oo, [np.arctanh(0.5)]),
    ],
)
def test_the_zeros_are_all_found(text: str, upper: object, zeros: list[float]) -> None:
    found = positive_zeros(_formula(text), sympy.sympify(upper))
    assert sorted(float(r) for r in set(found)) == pytest.approx(sorted(zeros), rel=1e-12)


@pytest.mark.parametrize("text", ["cos(z)", "cos(z) - z", "besselj(0, z)", "exp(-z) - cos(z)"])
def test_zeros_that_may_be_missed_are_not_passed_over(text: str) -> None:
    with pytest.raises(ExpansionError, match="be found"):
        positive_zeros(_formula(text), oo)


def test_each_kind_of_branch_is_a_radius() -> None:
    text = (
        "Abs(z - 1) + Max(z, 2) + Heaviside(z - 3) + Piecewise((z, z < 4), (1, True))"
        " + log(Abs(z - 5)) + ((z - 6)**2)**(1/3) + 1/(z - 7) + acos(z/8)"
    )
    radii = branch_radii(_formula(text), sympy.Integer(9))
    assert radii == tuple(sympy.Integer(n) for n in range(1, 9))


def test_between_its_radii_a_formula_is_one_branch() -> None:
    expr = _formula("Max(0, 1 - Abs(z - 2))")
    places = [sympy.Rational(n, 2) for n in (1, 3, 5, 7)]
    branches = [resolve(expr, partial(value_at, z=z)) for z in places]
    assert [sympy.expand(b) for b in branches] == [0, Z - 1, 3 - Z, 0]


def test_points_are_told_analytic_meromorphic_or_branched() -> None:
    one = sympy.Integer(1)
    assert is_analytic_at(_formula("exp(-z)*sqrt(2 - z)"), one) == "analytic"
    assert is_analytic_at(_formula("sin(z - 1)/(z - 1)"), one) == "meromorphic"
    assert is_analytic_at(_formula("sqrt(1 - z)"), one) == "branch"


def test_equal_radii_in_two_forms_are_one() -> None:
    a = sympy.sqrt(3 + 2 * sympy.sqrt(2))
    assert same_radius(a, 1 + sympy.sqrt(2))
    assert not same_radius(a, 1 + sympy.sqrt(2) + sympy.Rational(1, 10**20))


def test_periodic_formulas_are_recognised() -> None:
    assert is_periodic(_formula("exp(cos(z)) + sin(2*z)**2"))
    assert not is_periodic(_formula("cos(z) + cos(sqrt(2)*z)"))
    assert not is_periodic(_formula("cos(z)**2 + sin(z)**2"))
    assert not is_periodic(_formula("cos(z)/(1 + z)"))


def test_functions_of_waves_come_back_whether_they_are_periodic_or_not():
    assert recurs(_formula("exp(cos(z) + cos(sqrt(2)*z))"))
    assert recurs(_formula("exp(cos(z))"))
    assert not recurs(_formula("exp(cos(z) + cos(sqrt(2)*z))/(1 + z)"))
    assert not recurs(_formula("cos(sqrt(2)*z)**2 + sin(sqrt(2)*z)**2"))


# --- singularities --------------------------------------------------------------------------


def test_the_papers_kernels_have_the_coefficients_of_the_theory() -> None:
    def at_edge(name: str) -> tuple[sympy.Expr, sympy.Expr]:
        last = analyse(catalogue[name]).radii[-1][1].singularities[0]
        return last.exponent, last.left

    half = sympy.Rational(1, 2)
    assert at_edge("arc_cosine_0") == (half, 2 / sympy.pi)
    assert at_edge("arc_cosine_1") == (3 * half, 8 / (3 * sympy.pi))
    assert at_edge("ntk") == (half, -2 / sympy.pi)
    origin = analyse(catalogue["arc_cosine_1"]).origin.singularities[0]
    assert (origin.exponent, origin.right) == (3, 1 / (3 * sympy.pi))


def test_an_integer_kink_is_counted_once() -> None:
    (kink,) = analyse(radial("Abs(z - 1)**3*exp(-z)")).radii[0][1].singularities
    assert kink.exponent == 3
    assert kink.left == 2 * sympy.exp(-1)
    assert kink.side == "left"


def test_two_sides_of_a_fractional_kink_are_kept_apart() -> None:
    (kink,) = analyse(radial("sqrt(Abs(z - 1))*(2 - exp(1 - z))")).radii[0][1].singularities
    assert (kink.exponent, kink.left, kink.right, kink.side) == (
        sympy.Rational(1, 2),
        1,
        1,
        "both",
    )


def test_an_even_logarithmic_kink_loses_its_logarithm() -> None:
    kernel = Kernel(radial("exp(-z)").pieces)
    assert analyse(kernel).singularities[0].location == 0
    expr = _formula("(z - 1)**2*log(Abs(z - 1))*exp(-z)")
    piece = type(kernel.pieces[0])(oo, expr)
    (kink,) = analyse(Kernel((piece,))).radii[0][1].singularities
    assert (kink.exponent, kink.log_power, kink.effective_log_power) == (2, 1, 0)


def _edge_wave(kernel: Kernel, dim: int, w: np.ndarray) -> np.ndarray:
    """rho(w) at large w from the singularity at the edge: equation (2.1) of the theory."""
    edge = analyse(kernel).radii[-1][1].singularities[0]
    s, c, radius = float(edge.exponent), float(edge.left), float(edge.location)
    log_area = np.log(2) + 0.5 * dim * np.log(np.pi) - float(mp.loggamma(dim / 2))
    log_size = (
        log_area
        - 0.5 * dim * np.log(2 * np.pi)
        + 0.5 * np.log(2 / np.pi)
        + float(mp.loggamma(s + 1))
        + 0.5 * (dim - 1) * np.log(radius)
        + (0.5 * (dim - 3) - s) * np.log(w)
    )
    phase = w * radius - 0.25 * np.pi * (dim - 1) - 0.5 * np.pi * (s + 1)
    return np.asarray(c * np.exp(log_size) * np.cos(phase))


@pytest.mark.parametrize("dim", by_turns([1, 2, 3, 7, 16], every=2))
@pytest.mark.parametrize(
    "kernel",
    [
        radial("(1 - z**2/4)**2", support=2),
        radial("1 - z**2/9", support=2),
        radial("(1 - z**2)**3", support=1) * 2,
    ],
    ids=str,
)
def test_the_spectrum_oscillates_as_the_singularity_says(kernel: Kernel, dim: int) -> None:
    w = np.linspace(4e4, 4.0001e4, 41)
    exact = spectral_density(kernel, dim).radial(w)
    model = _edge_wave(kernel, dim, w)
    envelope = np.max(np.abs(model))
    assert np.max(np.abs(exact - model)) < 5e-3 * envelope
    assert np.max(np.abs(exact)) > 0.5 * envelope


# --- coefficients as numbers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "order", "x"),
    by_turns(
        [
            (f"bessel{kind}", *place)
            for kind in "jyik"
            for place in (("0", "1/5"), ("1/3", "7/2"), ("5", "100"))
        ],
        every=2,
        dear={("besselk", "5", "100")},
    ),
)
def test_bessel_functions_of_rational_numbers_have_every_digit(name, order, x):
    function = getattr(sympy, name)
    value = bessel_value(function(sympy.Rational(order), sympy.Rational(x)), 120)
    with mp.workdps(140):
        order, x = (mp.mpf(r.p) / r.q for r in map(sympy.Rational, (order, x)))
        exact = getattr(mp, function.__name__)(order, x)
        assert abs(mp.mpf(str(value)) / exact - 1) < mp.mpf(10) ** -118


@pytest.mark.parametrize("text", ["besselk(0, sqrt(2))", "exp(2)", "besselk(0, x)"])
def test_what_is_no_bessel_function_of_rational_numbers_has_no_such_value(text):
    assert bessel_value(sympy.sympify(text), 50) is None
