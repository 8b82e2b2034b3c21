"""Both backends evaluate formulas accurately; undefined points give nan."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.errors import AccuracyError, FormulaError
from spectra.formula.ball_function import analytic_continuation
from spectra.formula.evaluate import mpmath_function, numpy_function
from spectra.formula.functions import ARITIES, FUNCTIONS, PIECEWISE
from spectra.formula.parsing import Z, parse_formula
from spectra.formula.program import double_function


def radial(text: str) -> sympy.Expr:
    return parse_formula(text, variable="z")


def values(text: str, points: object) -> np.ndarray:
    return numpy_function(radial(text), Z)(points)


def test_shapes_and_types_are_kept() -> None:
    for text in ("z", "3", "exp(-z)", "Piecewise((1, z < 1), (z, True))"):
        for points in (np.float64(0.5), np.zeros((2, 3)), np.zeros((0,)), [1, 2]):
            assert values(text, points).shape == np.shape(points)
            assert values(text, points).dtype == np.float64
    assert values("exp(-z)", np.zeros(3, dtype=np.float32)).dtype == np.float64


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("acos(z)", 1.5),
        ("(1 - z)**(1/3)", 2.0),
        ("sin(z)/z", 0.0),
        ("hyper([1, 1], [2], z)", 2.0),
        ("Piecewise((1, sqrt(1 - z) < 1), (0, True))", 2.0),
        ("Piecewise((1, z < 1), (0, True))", np.nan),
    ],
)
def test_undefined_is_nan_without_a_warning(text: str, point: float) -> None:
    expr = radial(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(numpy_function(expr, Z)(point))
    assert mp.isnan(mpmath_function(expr, Z)(mp.mpf(point)))


def test_branches_are_evaluated_on_their_own_points_only() -> None:
    text = "Piecewise((sqrt(1 - z), z <= 1), (log(z - 1), z < 2), (7, True))"
    assert values(text, [0.0, 1.0, 1.5, 3.0]) == pytest.approx([1, 0, np.log(0.5), 7], rel=1e-15)


@pytest.mark.parametrize(
    "head", ["Abs(1 - z)", "Min(1, z)", "Heaviside(1 - z)", "Piecewise((z, z < 1), (0, True))"]
)
def test_no_continuation_is_invented(head: str) -> None:
    expr = radial(head)
    name = head.partition("(")[0]
    with pytest.raises(FormulaError, match=name):
        analytic_continuation(expr, Z)
    with pytest.raises(TypeError, match="complex"):
        numpy_function(expr, Z)(1j * np.ones(2))


def test_foreign_symbols_and_functions_are_refused_by_name() -> None:
    a = sympy.Symbol("a")
    for make in (numpy_function, mpmath_function):
        with pytest.raises(FormulaError, match="a has no value"):
            make(a * Z, Z)
        with pytest.raises(FormulaError, match="zeta"):
            make(sympy.zeta(Z), Z)


def test_mpmath_follows_the_working_precision() -> None:
    f = mpmath_function(radial("pi/3 + exp(-z/10)"), Z)
    for digits in (15, 50, 200):
        with mp.workdps(digits):
            exact = mp.pi / 3 + mp.exp(-mp.mpf(1) / 10)
            assert abs(f(1) - exact) <= 4 * mp.eps * exact


# --- the two backends agree, to the condition of the formula --------------------------------------

_ANALYTIC = [n for n, f in FUNCTIONS.items() if n == f.__name__ and f not in (*ARITIES, *PIECEWISE)]
_ARGUMENTS = {"gamma": "1 + z", "log": "1 + z", "asin": "z/4", "acos": "z/4"}


@pytest.mark.parametrize("name", _ANALYTIC)
def test_each_function_agrees_on_the_line(name: str) -> None:
    expr = radial(f"{name}({_ARGUMENTS.get(name, 'z')})")
    assert_agree(expr, np.linspace(0.05, 3, 25), 1e-13)


@pytest.mark.parametrize(
    "text",
    [
        "besselj(7/2, z)",
        "besseli(0.3, z)",
        "hyper([], [5/2], -z**2/4)",
        "hyper([1/2], [3/2], -z)",
        "hyper([1/2], [3/2, 2], -z**2/4)",
        "1/z**2 + z**(-1/2) + z**(3/2) + z**(2/7) + z**5 + 2**z",
        "sin(z)/z",
    ],
)
def test_special_functions_agree(text: str) -> None:
    expr = radial(text)
    assert_agree(expr, np.array([0.05, 0.3, 0.8, 0.95, 1.3, 2.5, 6.0]), 1e-12)


def assert_agree(expr: sympy.Expr, points: np.ndarray, tolerance: float) -> None:
    fast, exact = numpy_function(expr, Z)(points), mpmath_function(expr, Z)
    with mp.workdps(30):
        slow = np.array([complex(exact(mp.mpmathify(x))) for x in points.tolist()])
    assert np.all(np.abs(fast - slow) <= tolerance * (np.abs(slow) + 0.1 * (np.abs(slow) < 0.1)))


# --- points where doubles overflow ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("exp(-z)*cosh(z)", "(1 + exp(-2*z))/2"),
        ("exp(-2*z)/(1 - tanh(z))", "(1 + exp(-2*z))/2"),
        ("Piecewise((1, z < 1), (exp(-z)*sinh(z), True))", "(1 - exp(-2*z))/2"),
    ],
)
def test_a_part_that_overflows_does_not_hide_the_value(text: str, same: str) -> None:
    points = np.array([711.0, 735.5, 794.3, 1000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(values(text, points), values(same, points), rtol=1e-14)


def test_values_that_no_precision_resolves_are_refused() -> None:
    with pytest.raises(AccuracyError, match="overflows at 5000"):
        values("exp(z)*(cosh(z) - sinh(z))", 5000.0)


def test_undefined_and_infinite_values_stay_so() -> None:
    assert np.isnan(values("sqrt(1 - z)*cosh(z)", 800.0))
    assert values("exp(z)", 800.0) == np.inf
    assert values("1/z", 0.0) == np.inf
    assert values("log(z)", 0.0) == -np.inf


# Alternating series of the quotient about zero, coefficient of z^n.
QUOTIENTS = {
    "(exp(-z)-1+z)/z**2": lambda n: (-1) ** n / mp.factorial(n + 2),
    "(z-sin(z))/z**3": lambda n: 0 if n % 2 else (-1) ** (n // 2) / mp.factorial(n + 3),
    "(1-exp(-sqrt(z)))/sqrt(z)": lambda n: (-1) ** n / mp.factorial(n + 1),  # in powers of sqrt(z)
}


def assert_digits(text, length, z, true, *, of_value, of_largest=0.0):
    """Values of a formula at lengths times z are true(z), which has many digits."""
    found = numpy_function(radial(text).subs(Z, Z / sympy.Rational(length)), Z)(length * z)
    with mp.workdps(300):
        exact = [true(mp.mpf(x) / mp.mpf(length)) for x in (length * z).tolist()]
        largest = max(map(abs, exact))
        for x, value, at_x in zip(z.tolist(), found.tolist(), exact, strict=True):
            assert abs(value - at_x) <= of_value * abs(at_x) + of_largest * largest, (x, value)


@pytest.mark.parametrize("length", [1, 2.0**-60])
@pytest.mark.parametrize("text", QUOTIENTS)
def test_a_quotient_of_zeros_is_accurate_near_zero(text: str, length: float) -> None:
    def true(x: mp.mpf) -> mp.mpf:
        t = mp.sqrt(x) if "sqrt" in text else x
        return mp.fsum(QUOTIENTS[text](n) * t**n for n in range(40))

    assert_digits(text, length, np.geomspace(1e-30, 0.5, 40), true, of_value=3e-13)


# Bounded formulas whose terms cancel at zero, far out, or in the middle.
CANCELLING = (
    "(besselj(0,z)-1+z**2/4)/z**4",
    "z*(sqrt(1+z**2)-z)",
    "z**4*(1-1/sqrt(1+1/z**2))-z**2/2+3/8+1/(1+z)",
)
LENGTHS = (1, 2.0**60, 0.7)


@pytest.mark.parametrize("text", CANCELLING)
def test_a_bounded_kernel_is_accurate_where_terms_cancel(text: str) -> None:
    """To 1e-14 of its largest value, in any unit."""
    z = np.geomspace(1e-20, 1e20, 83)
    for length in LENGTHS:
        true = mpmath_function(radial(text), Z)
        assert_digits(text, length, z, true, of_value=0.0, of_largest=1e-14)


def test_a_factor_that_underflows_does_not_hide_the_value() -> None:
    z = np.array([40.0, 100.0, 140.0])
    logs = 150 * np.log(z / 150) - z + 150
    found = values("z**150*exp(-z)*exp(150)/150**150", z)
    np.testing.assert_allclose(found, np.exp(logs), rtol=1e-13)
    matern = values("2**(1-350)/gamma(350)*z**350*besselk(350, z)", z / 40.0)
    with mp.workdps(30):
        true = [2**-349 / mp.gamma(350) * x**350 * mp.besselk(350, x) for x in (z / 40).tolist()]
    np.testing.assert_allclose(matern, np.array(true, dtype=float), rtol=1e-13)


@pytest.mark.parametrize("text", ["exp(-z)*(1+z)", "cos(z)+1"])
def test_doubles_are_used_where_nothing_cancels(text: str) -> None:
    """Nothing is lost where a distance moved by a little moves the value as much."""
    expr = radial(text)
    quick = double_function(expr, Z)
    z = np.geomspace(1e-8, 1e8, 1000)
    np.testing.assert_array_equal(numpy_function(expr, Z)(z), quick(z))
