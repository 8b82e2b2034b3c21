"""Formulas as functions of balls keep the promise that Arb's integration relies on."""

from __future__ import annotations

import flint
import pytest
import sympy

from spectra.errors import FormulaError
from spectra.formula.evaluation.ball_function import BallFunction, number
from spectra.formula.functions import FUNCTIONS
from spectra.formula.reader.parsing import Z

HALF, THIRD = sympy.Rational(1, 2), sympy.Rational(1, 3)
#: A formula for each function, and points at which it is not analytic.
SINGULAR = {
    "exp": (sympy.exp(1 / Z), [0]),
    "log": (sympy.log(Z), [0, -2]),
    "tan": (sympy.tan(sympy.pi * Z), [HALF]),
    "asin": (sympy.asin(Z), [1, -1, 2]),
    "acos": (sympy.acos(Z), [1, -1, -2]),
    "atan": (sympy.atan(Z), [sympy.I, -2 * sympy.I]),
    "tanh": (sympy.tanh(sympy.pi * Z), [sympy.I / 2]),
    "gamma": (sympy.gamma(Z), [0, -3]),
    "besselj": (sympy.besselj(THIRD, Z), [0, -2]),
    "besseli": (sympy.besseli(THIRD, Z), [0, -2]),
    "besselk": (sympy.besselk(0, Z), [0, -2]),
    "expint": (sympy.expint(2, Z), [0, -2]),
    "hyper": (sympy.hyper([1, HALF], [2], Z), [1, 3]),
    "Abs": (sympy.Abs(Z - 1), [1]),
    "Heaviside": (sympy.Heaviside(Z - 1), [1]),
    "Min": (sympy.Min(Z, 1), [1]),
    "Max": (sympy.Max(Z, 1), [1]),
    "sqrt": (sympy.sqrt(Z), [0, -2]),
    "power": (Z ** sympy.Rational(3, 10), [0, -2]),
    "half-integer power": (Z ** sympy.Rational(3, 2), [0, -2]),
    "negative power": (Z**-3, [0]),
    "variable power": (Z**Z, [0, -2]),
}
ENTIRE = {"sin", "cos", "sinh", "cosh", "erf", "erfc"}


def ball(point, radius):
    around = flint.arb(0, radius)
    return number(sympy.sympify(point)) + flint.acb(around, around)


def test_every_function_of_the_language_is_entire_or_has_an_example():
    assert {f.names[0] for f in FUNCTIONS} <= SINGULAR.keys() | ENTIRE


@pytest.mark.parametrize("name", SINGULAR)
def test_a_value_on_a_ball_with_a_singular_point_is_not_finite(name):
    expr, points = SINGULAR[name]
    function = BallFunction(expr, Z)
    for point in points:
        for radius in (1e-12, 0.01, 0.3, 3.0):
            assert not function(ball(point, radius), analytic=True).is_finite()
    # And the flag does not refuse balls on which the function is analytic.
    assert function(ball(sympy.Rational(3, 10), 0.01), analytic=True).is_finite()


def test_a_function_that_ignores_the_flag_gets_a_wrong_integral_with_a_tiny_ball():
    """The integral of z^(3/2) from 0 to 1 is 2/5."""
    power = BallFunction(Z ** sympy.Rational(3, 2), Z)
    tolerance = {"rel_tol": flint.arb(2) ** -40, "abs_tol": flint.arb(2) ** -40}
    with flint.ctx.workprec(80):
        exact = flint.arb(2) / 5
        wrong = flint.acb.integral(lambda z, analytic: power(z), 0, 1, **tolerance).real
        right = flint.acb.integral(power, 0, 1, **tolerance).real
        assert right.overlaps(exact)
        assert right.rad() < 1e-11
        assert wrong.rad() < 1e-11
        assert abs(wrong - exact) > 10 * wrong.rad()


def test_values_next_to_a_root_are_bounded_so_that_integrals_end_there():
    for power in (HALF, sympy.Rational(3, 10), sympy.Rational(5, 2)):
        value = BallFunction(Z**power, Z)(ball(0, 1e-6))
        assert value.is_finite()
        assert abs(value).upper() < 0.1


def test_conditions_are_refused():
    with pytest.raises(FormulaError, match="Piecewise"):
        BallFunction(sympy.Piecewise((Z, Z < 1), (0, True)), Z)
