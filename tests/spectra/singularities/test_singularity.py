"""Local analysis: expansions, radii of singularities and their coefficients."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.formula.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Expansion
from spectra.formula.parsing import Z, parse_formula
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import Kernel, radial
from spectra.singularities import analyse
from spectra.singularities.branches import branch_radii, classify_at
from spectra.singularities.periodic import is_periodic
from spectra.singularities.zeros import positive_zeros

oo = sympy.oo


def _formula(text: str) -> sympy.Expr:
    return parse_formula(text, variable="z")


def _sum(expanded: Expansion, t: mpmath.mpf) -> mpmath.mpf:
    """An expansion in numbers."""
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
    ("asin(z/2)", 2, -1),
    ("(1 - z**2/4)**(5/2)*exp(-z)", 2, -1),
    ("exp(-z)*log(1 + sqrt(z))", 0, 1),
    ("erfc(1/z)*exp(1/z**2)", 0, 1),
    ("besselj(2, z)", 3, -1),
    ("besselk(1/3, 2*z)", 0, 1),
    ("besseli(1, z)*besselk(1, z)", oo, 1),
    ("besselj(5/3, z)", oo, 1),
    ("sqrt(1 + z**2) - z", oo, 1),
    ("gamma(1 + z)", 1, 1),
    ("hyper([1/2, 1/3], [3/2], -z**2)", oo, 1),
    ("hyper([], [5/2], -z**2/4)", oo, 1),
    ("hyper([1/2], [7/3], -z)", oo, 1),
    ("hyper([1/2, -1/2], [3/2], z**2/4)", 2, -1),
    ("expint(1 + 1/3, z)", 0, 1),
    ("expint(2, z) + log(z)*besselk(2, z)", 0, 1),
    ("erf(z)*z**2 + atan(z)*tanh(z)", oo, 1),
    ("acos(1 - z)/(1 + cosh(z)*cos(z))", 0, 1),
    ("gamma(z)/gamma(z + 1/2)", oo, 1),
]


@pytest.mark.parametrize(("text", "point", "side"), EXPANSIONS)
def test_the_remainder_vanishes_as_fast_as_the_expansion_says(
    text: str, point: object, side: int
) -> None:
    expr, place = _formula(text), sympy.sympify(point)
    expanded = expand_at(expr, place, side, 4)
    orders = [s.remainder for p, s in expanded.parts if p.growth >= 0 and s.remainder is not None]
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
    [("exp(cos(z))", oo), ("log(log(z))", oo), ("sqrt(z - 1)", 0), ("cos(log(z))", 0),
     ("gamma(-1/2 - z)", oo)],
)  # fmt: skip
def test_formulas_without_an_expansion_are_refused(text: str, point: object) -> None:
    with pytest.raises(ExpansionError):
        expand_at(_formula(text), sympy.sympify(point), 1, 4)


# --- radii and branches ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "upper", "zeros"),
    [
        ("1 - z**2/4", oo, [2]),
        ("z**3 - 2*z - 5", oo, [2.0945514815423265]),
        ("2*exp(-z) - 1", oo, [np.log(2)]),
        ("1 - sqrt(1 - z**2/4)", 2, []),
        ("cos(z)", 8, [np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2]),
        ("Abs(z - 2) - 1", oo, [1, 3]),
    ],
)
def test_the_zeros_are_all_found(text: str, upper: object, zeros: list[float]) -> None:
    found = positive_zeros(_formula(text), sympy.sympify(upper))
    assert sorted(float(r) for r in set(found)) == pytest.approx(sorted(zeros), rel=1e-12)


@pytest.mark.parametrize("text", ["cos(z)", "exp(-z) - cos(z)"])
def test_zeros_that_may_be_missed_are_refused(text: str) -> None:
    with pytest.raises(ExpansionError, match="be found"):
        positive_zeros(_formula(text), oo)


def test_each_kind_of_branch_is_a_radius() -> None:
    text = (
        "Abs(z - 1) + Max(z, 2) + Heaviside(z - 3) + Piecewise((z, z < 4), (1, True))"
        " + log(Abs(z - 5)) + ((z - 6)**2)**(1/3) + 1/(z - 7) + acos(z/8)"
    )
    radii = branch_radii(_formula(text), sympy.Integer(9))
    assert radii == tuple(sympy.Integer(n) for n in range(1, 9))


def test_points_are_classified_as_analytic_meromorphic_or_branch() -> None:
    one = sympy.Integer(1)
    assert classify_at(_formula("exp(-z)*sqrt(2 - z)"), one) == "analytic"
    assert classify_at(_formula("sin(z - 1)/(z - 1)"), one) == "meromorphic"
    assert classify_at(_formula("sqrt(1 - z)"), one) == "branch"


def test_periodic_formulas_are_recognised() -> None:
    assert is_periodic(_formula("exp(cos(z)) + sin(2*z)**2"))
    assert not is_periodic(_formula("cos(z) + cos(sqrt(2)*z)"))
    assert not is_periodic(_formula("cos(z)**2 + sin(z)**2"))
    assert not is_periodic(_formula("cos(z)/(1 + z)"))


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
    assert (kink.left, kink.right) == (2 * sympy.exp(-1), 0)


def test_two_sides_of_a_fractional_kink_are_kept_apart() -> None:
    (kink,) = analyse(radial("sqrt(Abs(z - 1))*(2 - exp(1 - z))")).radii[0][1].singularities
    assert (kink.exponent, kink.left, kink.right) == (sympy.Rational(1, 2), 1, 1)


def test_an_even_logarithmic_kink_loses_its_logarithm() -> None:
    kernel = Kernel(radial("exp(-z)").pieces)
    assert analyse(kernel).singularities[0].location == 0
    expr = _formula("(z - 1)**2*log(Abs(z - 1))*exp(-z)")
    piece = type(kernel.pieces[0])(oo, expr)
    (kink,) = analyse(Kernel((piece,))).radii[0][1].singularities
    assert (kink.exponent, kink.log_power, kink.effective_log_power) == (2, 1, 0)
