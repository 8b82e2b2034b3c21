"""Families: formulas of densities with symbols, bounds, and what parameters scale."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import spectra as sp
from spectra.derivation import definite_bounds
from spectra.errors import FormulaError, NoRouteError, ParameterError

W = sympy.Symbol("w", positive=True)
SPHERICAL_WAVE = "c*(1 - 3*z/(2*R) + z**3/(2*R**3))"
DENSITIES = [
    ("gaussian", {}, {"length": "7/5"}),
    ("laplace", {}, {"length": "7/5"}),
    ("matern", {}, {"nu": "9/4", "length": "3/5"}),
    ("rational_quadratic", {}, {"alpha": "5/4", "length": "3/5"}),
    ("wendland_31", {}, {"length": "5/2"}),
    (SPHERICAL_WAVE, {"support": "R"}, {"c": "3/2", "R": "5/2"}),
    ("a*exp(-z/b) + c*exp(-z**2/(2*d**2))", {}, {"a": "2", "b": "1/3", "c": "1/2", "d": "3"}),
]


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize(("text", "options", "values"), DENSITIES, ids=lambda x: str(x)[:12])
def test_the_formula_with_symbols_has_the_values_of_the_numeric_density(
    text: str, options: dict, values: dict, dim: int
) -> None:
    family = sp.family(text, **options)
    exact = {name: sympy.Rational(value) for name, value in values.items()}
    formula = family.density(dim).subs({family.symbols[n]: v for n, v in exact.items()})
    numeric = sp.spectral_density(family(**exact), dim)
    w = [sympy.Rational(1, 5), sympy.Rational(11, 10), sympy.Rational(7, 2)]
    found = [float(formula.subs(W, x).evalf(30)) for x in w]
    expected = numeric.density(np.array(w, dtype=float))
    assert np.all(np.abs(found - expected) <= 1e-11 * np.abs(expected).max())


def test_text_with_a_symbol_has_the_same_formula_by_the_symbolic_route() -> None:
    text = "exp(-z**2/(2*l**2))"
    formula = sp.spectral_density(text, 3, route="symbolic")
    assert formula == sp.family(text).density(3)
    with pytest.raises(ParameterError, match="'l' has no value"):
        sp.spectral_density(text, 3)


@pytest.mark.slow
def test_a_density_without_a_formula_is_refused() -> None:
    with sp.time_limit(4), pytest.raises(NoRouteError, match="No formula is known"):
        sp.family("powered_exponential").density(2)


def test_a_parameter_that_only_scales_is_found() -> None:
    stable = sp.family("s*exp(-(z/l)**a)", a=(0, 2))
    assert (stable.length, stable.variance, stable.shape) == ("l", "s", ("a",))
    rate = sp.family("exp(-b*z)")
    assert (rate.length, rate.variance) == ("b", "variance")
    assert rate.exponents == {"z": {"b": -1.0}, "k": {}}
    joint = sp.family("a*exp(-z/b) + c*exp(-z/d)")
    assert (joint.length, joint.variance) == (None, None)
    assert joint.exponents["z"] == {"b": 1.0, "d": 1.0}
    assert sp.family("exp(-z)*cos(b*z)").length == "length"
    assert sp.family("s*exp(-z/l)", l=2).length is None


def test_values_are_those_of_the_kernel() -> None:
    z = np.array([0.0, 1e-12, 0.3, 1.0, 2.0, 50.0])
    cases = [
        (sp.family("matern"), {"nu": 0.7, "length": 2.0}),
        (sp.family(SPHERICAL_WAVE, support="R"), {"c": 2.0, "R": 1.5}),
        (sp.family("Piecewise((1 - z/(2*a), z < a), (exp(-z)/2, True))"), {"a": 1.0}),
        (sp.family("j_bessel"), {"m": 3.0, "radius": 2.0}),
    ]
    for family, values in cases:
        expected = family(**{n: sympy.Rational(str(v)) for n, v in values.items()})(z)
        np.testing.assert_allclose(family.values(z, values), expected, rtol=1e-12, atol=1e-14)


def test_bounds_keep_kernels_positive_definite() -> None:
    assert sp.family("askey").bounds(3)["power"] == (2.0, np.inf)
    assert sp.family("matern", nu=(0.5, None)).bounds()["nu"] == (0.5, 400.0)
    # exp(-z) cos(b z) is positive definite on R^3 for b <= tan(pi/6), Yaglom 1987.
    bounds = definite_bounds(sp.family("exp(-z/l)*cos(b*z/l)"), 3)["b"]
    assert bounds[0] == 0.0
    assert abs(bounds[1] - np.tan(np.pi / 6)) < 0.011
    with pytest.raises(ParameterError, match=r"on R\^4 for no value"):
        definite_bounds(sp.family("spherical"), 4)
    with pytest.raises(ParameterError, match="fix frequency"):
        sp.family("damped_cosine").bounds(2)


@pytest.mark.slow
def test_a_verdict_bounds_the_exponent_of_a_formula() -> None:
    assert definite_bounds(sp.family("s*exp(-(z/l)**a)"), 2)["a"] == (0.0, 2.0)


def test_fixed_and_bounded_parameters() -> None:
    family = sp.family("matern", nu=2.5)
    assert list(family.defaults) == ["length"]
    assert str(family()) == "matern(nu=5/2, length=1)"
    assert sp.family("matern(nu=5/2)") == family
    assert sp.family(family, length=(1, 3)).bounds() == {"length": (1.0, 3.0)}


@pytest.mark.parametrize(
    ("text", "parameters", "match"),
    [
        ("exp(-z", {}, "not complete"),
        ("exp(-z/l)", {"a": 2}, "no free parameter 'a'"),
        ("exp(-u/l)", {}, "formula in u"),
        ("matern", {"mu": 2}, "no free parameter 'mu'"),
        ("exp(-z/l)", {"l": (3, 1)}, "ascending"),
        ("gaussian_mixture", {}, "give its value"),
        (3, {}, "is a int"),
        ("besselq(1, z)", {}, "not a function"),
    ],
)
def test_what_is_no_family_is_refused(text, parameters, match) -> None:
    with pytest.raises((FormulaError, ParameterError), match=match):
        sp.family(text, **parameters).bounds()


@pytest.mark.parametrize("name", ["tl1", "sigmoid", "shift_gaussian"])
def test_a_named_kernel_of_no_distance_has_no_formula_in_z(name) -> None:
    assert sp.catalogue[name].profile is None
    with pytest.raises(NoRouteError, match="no formula in z"):
        sp.family(name).density(2)
