"""Every function of the language has values in doubles and balls, and known singularities."""

import flint
import pytest
import sympy
from mpmath import mp

from spectra.formula.ball_function import _FUNCTIONS as BALLS
from spectra.formula.ball_function import analytic_continuation
from spectra.formula.functions import (
    ENTIRE,
    FUNCTIONS,
    FUNCTIONS_WITH_ORDER,
    PIECEWISE,
    singular_part,
)
from spectra.formula.program import _FUNCTIONS as DOUBLES

X = sympy.Symbol("x")
THIRD = sympy.Rational(1, 3)
ANALYTIC = sorted({*FUNCTIONS.values()} - {*PIECEWISE}, key=str)
POWERS = sympy.sqrt(X), X**-2, X**-THIRD, sympy.hyper([1, 2], [3], X)
FORMULAS = [f(THIRD, X) if f in FUNCTIONS_WITH_ORDER else f(X) for f in ANALYTIC]
FORMULAS += [*POWERS, sympy.besselj(2, X), sympy.besseli(0, X), sympy.besselk(2, X)]
# A singularity of each formula that has one (DLMF 4.2, 4.23, 5.2, 8.19, 10.2, 10.25, 15.2).
SINGULAR = {
    **dict.fromkeys((sympy.log(X), *POWERS[:3], sympy.besselk(2, X)), 0),
    **{f(THIRD, X): 0 for f in FUNCTIONS_WITH_ORDER},
    sympy.tan(X): mp.pi / 2,
    sympy.tanh(X): 0.5j * mp.pi,
    sympy.gamma(X): -2,
    sympy.asin(X): 1,
    sympy.acos(X): -1,
    sympy.atan(X): 1j,
    POWERS[3]: 1,
}


def mean_error(formula, centre, radius=0.1):
    """How far the mean of a formula over a circle is from its value at the centre, by mpmath."""
    f = sympy.lambdify(X, formula, "mpmath")
    values = [f(centre + radius * mp.expjpi(mp.mpf(2 * k + 1) / 24)) for k in range(24)]
    return abs(mp.fsum(values) / 24 - f(centre)) / max(map(abs, values))


def is_known_analytic(formula, centre, radius=0.1):
    """Whether the singular part is finite on the square around a circle."""
    part = singular_part(formula)
    ball = flint.acb(flint.arb(float(centre.real), radius), flint.arb(float(centre.imag), radius))
    return part is None or analytic_continuation(part, X).at_precision(ball, 64).is_finite()


def test_every_function_has_values_in_doubles_and_in_balls():
    assert {*FUNCTIONS.values()} <= {*DOUBLES}
    assert {*FUNCTIONS.values()} <= {*BALLS}


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_every_function_is_entire_or_has_known_singularities(formula):
    is_entire = formula.func in ENTIRE or formula in (sympy.besselj(2, X), sympy.besseli(0, X))
    assert (singular_part(formula) is None) == is_entire == (formula not in SINGULAR)
    for centre in (mp.mpc(0.7, 0.4), mp.mpc(-0.4, 2.3), mp.mpc(3.1, -1.4)):  # off all cuts
        assert is_known_analytic(formula, centre)
        assert mean_error(formula, centre) < 1e-12


@pytest.mark.parametrize("formula", SINGULAR, ids=str)
def test_no_circle_around_a_singularity_counts_as_analytic(formula):
    centre = SINGULAR[formula] + mp.mpc(0.01, 0.007)
    assert mean_error(formula, centre) > 1e-4
    assert not is_known_analytic(formula, centre)
