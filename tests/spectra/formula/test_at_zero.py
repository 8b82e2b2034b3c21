"""Limits of formulas at z = 0 are exact, or None if there is none."""

from __future__ import annotations

import pytest
import sympy

from spectra import radial
from spectra.errors import FormulaError
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import Z
from tests.oracles.kernels.problems import PROBLEMS

R = sympy.Rational

_MATERN = sympy.besselk(R(3, 10), Z) * Z ** R(3, 10) * 2 ** R(7, 10) / sympy.gamma(R(3, 10))


@pytest.mark.parametrize(
    ("expr", "limit"),
    [
        ((1 - sympy.cos(Z)) / Z**2, R(1, 2)),
        (Z * sympy.log(Z), 0),
        (Z ** R(1, 3) * sympy.besselk(R(1, 3), Z), 2 ** R(1, 3) * sympy.gamma(R(1, 3)) / 2),
        (_MATERN, 1),
        (sympy.besselj(R(2, 3), Z) * sympy.gamma(R(5, 3)) / (Z / 2) ** R(2, 3), 1),
        (sympy.hyper([R(1, 2), 1], [2], -Z), 1),
        (sympy.besselk(0, 1 + Z) / sympy.sqrt(1 + Z), sympy.besselk(0, 1)),
        (sympy.Heaviside(Z), 1),
        (sympy.Piecewise((1, Z < 1), (0, True)), 1),
        # Without its atom at 1, as sin(z)^3/z^3 is looked at in R^7: z^5 cancels.
        (
            sympy.sin(Z) ** 3 / Z**3
            + R(9, 4) * (sympy.sin(Z) - Z * sympy.cos(Z) - Z**2 * sympy.sin(Z) / 3) / Z**5,
            R(21, 20),
        ),
        # slow powers of z
        (sympy.exp(-(Z ** R(1, 50))), 1),
        # two constants of Bessel functions multiplied, or beside an irrational weight
        (
            Z * sympy.besselk(R(3, 10), Z) * sympy.besselk(R(7, 10), Z),
            sympy.gamma(R(3, 10)) * sympy.gamma(R(7, 10)) / 2,
        ),
        (
            sympy.sqrt(3) * (1 - sympy.besselj(0, Z)) / Z**2 + sympy.pi * sympy.besselj(1, Z) / Z,
            sympy.sqrt(3) / 4 + sympy.pi / 2,
        ),
        # terms that are absorbed, not cancelled
        (sympy.acos(1 - Z**2 / 2) / Z, 1),
        ((1 + Z) ** (1 / Z), sympy.E),
        # terms of size 1/z that cancel, and a small limit that is not 0
        ((sympy.exp(-Z) - sympy.exp(-2 * Z)) / Z + Z * sympy.besselk(1, Z), 2),
        (sympy.besselj(50, Z) / Z**50, 1 / (2**50 * sympy.factorial(50))),
    ],
)
def test_the_limit_at_zero_is_exact(expr: sympy.Expr, limit: sympy.Expr) -> None:
    found = value_at_zero(expr)
    assert found is not None
    assert sympy.simplify(sympy.powdenest(sympy.expand_func(found - limit), force=True)) == 0


@pytest.mark.parametrize(
    "expr",
    [
        sympy.log(Z),
        sympy.besselk(0, Z),
        sympy.sin(1 / Z),
        sympy.sqrt(Z - 1),
        sympy.Piecewise((1, sympy.Eq(Z, 0)), (1 / Z, True)),
    ],
)
def test_no_limit_is_none(expr: sympy.Expr) -> None:
    assert value_at_zero(expr) is None


def test_every_problem_starts_at_its_stated_value() -> None:
    for problem in list(PROBLEMS.values())[::3]:
        assert problem.kernel.at_zero == float(sympy.Rational(problem.k_zero)), problem


def test_a_formula_that_jumps_at_zero_is_refused() -> None:
    with pytest.raises(FormulaError, match=r"is 2 at z = 0, but its limit .* is 1\..* nugget"):
        radial("exp(-z) + Piecewise((1, z <= 0), (0, True))")
    for steps in ("Heaviside(-z, 1)/2 + exp(-z**2)", "exp(-z) + 1 - Heaviside(z)"):
        with pytest.raises(FormulaError, match=r"is 1\.5 at z = 0, but its limit .* is 1\."):
            radial(steps)
    assert radial("Piecewise((1 - z, z <= 1), (0, True))")(0.0) == 1.0
    assert radial("exp(-z)*Heaviside(1 - z)")(0.0) == 1.0
