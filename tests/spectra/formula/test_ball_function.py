"""Formulas as functions of balls contain the values that sympy has."""

from __future__ import annotations

import flint
import pytest
import sympy

from spectra.formula.ball_function import BallFunction, constant_ball
from spectra.formula.functions import FUNCTIONS
from spectra.formula.parsing import Z

THIRD = sympy.Rational(1, 3)
#: Functions of two and more arguments.
FORMULAS = {
    "besselj": sympy.besselj(THIRD, Z),
    "besseli": sympy.besseli(THIRD, Z),
    "besselk": sympy.besselk(2, Z),
    "expint": sympy.expint(2, Z),
    "hyper": sympy.hyper([1, THIRD], [2], Z / 4),
    "Min": sympy.Min(Z, 1),
    "Max": sympy.Max(Z, 1),
    "half-integer power": Z ** sympy.Rational(3, 2),
    "power": Z**THIRD,
    "variable power": Z**Z,
    "half-way": sympy.besselk(sympy.Rational(5, 2), Z),
}
FORMULAS |= {n: f(Z / 2) for n, f in FUNCTIONS.items() if f.__name__ not in FORMULAS}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_ball_contains_the_value_and_is_small(name):
    for place in (sympy.Rational(3, 10), sympy.Rational(7, 5)):
        with flint.ctx.workprec(128):
            found = BallFunction(FORMULAS[name], Z)(constant_ball(place))
            true = flint.arb(str(sympy.N(FORMULAS[name].subs(Z, place), 45)))
        assert abs(found.real - true) < 1e-30
        assert abs(found.imag) < 1e-30


@pytest.mark.parametrize(
    "c", [sympy.CRootOf(Z**5 + Z - 1, 0), sympy.CRootOf(Z**3 - 2 * Z - 5, 0), sympy.erfinv(THIRD)]
)
def test_roots_that_a_formula_cannot_contain_have_tight_balls(c):
    with flint.ctx.workprec(160):
        found, true = constant_ball(c), flint.arb(str(sympy.N(c, 60)))
        assert abs(found.real - true) < 1e-44


def test_values_next_to_a_root_are_bounded_so_that_integrals_end_there():
    around_zero = flint.acb(flint.arb(0, 1e-6), flint.arb(0, 1e-6))
    for power in (sympy.S.Half, sympy.Rational(3, 10), sympy.Rational(5, 2)):
        value = BallFunction(Z**power, Z)(around_zero)
        assert value.is_finite()
        assert abs(value).upper() < 0.1
