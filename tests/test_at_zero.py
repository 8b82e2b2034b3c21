"""The limit at the origin is exact, from few digits, or it is None."""

from __future__ import annotations

import pytest
import sympy
from mpmath import mp
from problems import PROBLEMS

from spectra.formula.evaluation.cancellation import resolving_function
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.reader.parsing import Z
from spectra.kernels.catalogue import catalogue

R = sympy.Rational

_MATERN = sympy.besselk(R(3, 10), Z) * Z ** R(3, 10) * 2 ** R(7, 10) / sympy.gamma(R(3, 10))


@pytest.mark.parametrize(
    ("expr", "limit"),
    [
        (sympy.exp(-Z), 1),
        (sympy.sin(Z) / Z, 1),
        ((1 - sympy.cos(Z)) / Z**2, R(1, 2)),
        (Z * sympy.log(Z), 0),
        (Z * sympy.besselk(1, Z), 1),
        (Z ** R(3, 2) * sympy.besselk(R(3, 2), Z), sympy.sqrt(sympy.pi / 2)),
        (Z ** R(1, 3) * sympy.besselk(R(1, 3), Z), 2 ** R(1, 3) * sympy.gamma(R(1, 3)) / 2),
        (_MATERN, 1),
        (sympy.besselj(2, Z) / Z**2, R(1, 8)),
        (sympy.besselj(R(2, 3), Z) * sympy.gamma(R(5, 3)) / (Z / 2) ** R(2, 3), 1),
        (sympy.hyper([R(1, 2), 1], [2], -Z), 1),
        (sympy.besselk(0, 1 + Z) / sympy.sqrt(1 + Z), sympy.besselk(0, 1)),
        (sympy.besselj(R(1, 3), 2 + Z) * sympy.exp(-Z), sympy.besselj(R(1, 3), 2)),
        (sympy.hyper([R(1, 2), R(1, 3)], [R(3, 2)], -Z), 1),
        (sympy.hyper([R(1, 2)], [R(3, 2), 1], -Z - 2), sympy.hyper([R(1, 2)], [R(3, 2), 1], -2)),
        (sympy.Heaviside(Z), 1),
        (sympy.Piecewise((1, Z < 1), (0, True)), 1),
        (sympy.sqrt(2) * sympy.exp(-Z), sympy.sqrt(2)),
        # Without its atom at 1, as sin(z)^3/z^3 is looked at in R^7: z^5 cancels.
        (
            sympy.sin(Z) ** 3 / Z**3
            + R(9, 4) * (sympy.sin(Z) - Z * sympy.cos(Z) - Z**2 * sympy.sin(Z) / 3) / Z**5,
            R(21, 20),
        ),
    ],
)
def test_the_limit_at_zero_is_exact(expr: sympy.Expr, limit: sympy.Expr) -> None:
    found = value_at_zero(expr)
    assert found is not None
    assert sympy.expand_func(found - limit) == 0


def test_a_cancellation_does_not_pass_as_a_limit() -> None:
    hidden = (sympy.exp(-Z) - sympy.exp(-2 * Z)) / Z + Z * sympy.besselk(1, Z)
    assert value_at_zero(hidden) == 2


@pytest.mark.parametrize(
    "expr",
    [
        1 / Z,
        sympy.log(Z),
        sympy.besselk(0, Z),
        sympy.sin(1 / Z),
        sympy.besselj(0, 1 + Z) * sympy.cos(1 / Z),
        sympy.besselk(0, Z) * sympy.besselj(0, 1 + Z),
        sympy.sqrt(Z - 1),
        sympy.Piecewise((1, sympy.Eq(Z, 0)), (1 / Z, True)),
    ],
)
def test_no_limit_is_none(expr: sympy.Expr) -> None:
    assert value_at_zero(expr) is None


@pytest.mark.parametrize("nu", ["0.05", "0.1", "0.7", "1", "2.5", "50"])
def test_matern_kernels_start_at_1_from_few_digits(nu: str) -> None:
    (piece,) = catalogue["matern"](nu=R(nu)).pieces
    assert value_at_zero(piece.expr) == 1
    # Bessel and gamma functions of hundreds of digits take seconds, and nothing cancels here.
    for bits in (60, 400, 1300, 13_000):
        _, error = resolving_function(piece.expr, Z)(mp.ldexp(1, -bits), 45, 130)
        assert error == 0


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=str)
def test_every_problem_starts_at_its_stated_value(problem) -> None:
    assert problem.kernel.at_zero == float(sympy.Rational(problem.k_zero))


@pytest.mark.parametrize(
    ("expr", "limit"),
    [
        # slow powers of z
        (sympy.exp(-(Z ** R(1, 50))), 1),
        ((1 + Z ** R(1, 100)) ** -100, 1),
        # two constants of Bessel functions multiplied, or beside an irrational weight
        (
            Z * sympy.besselk(R(3, 10), Z) * sympy.besselk(R(7, 10), Z),
            sympy.gamma(R(3, 10)) * sympy.gamma(R(7, 10)) / 2,
        ),
        (sympy.sqrt(3) * Z * sympy.besselk(1, Z), sympy.sqrt(3)),
        (sympy.sqrt(3) * (1 - sympy.besselj(0, Z)) / Z**2, sympy.sqrt(3) / 4),
        (
            sympy.sqrt(3) * (1 - sympy.besselj(0, Z)) / Z**2 + sympy.pi * sympy.besselj(1, Z) / Z,
            sympy.sqrt(3) / 4 + sympy.pi / 2,
        ),
        (Z**2 * sympy.besselk(0, Z), 0),
        # terms that are absorbed, not cancelled
        (sympy.log(1 + Z) / Z, 1),
        (sympy.acos(1 - Z**2 / 2) / Z, 1),
        ((1 + Z) ** (1 / Z), sympy.E),
    ],
)
def test_harder_limits_are_exact_too(expr: sympy.Expr, limit: sympy.Expr) -> None:
    found = value_at_zero(expr)
    assert found is not None
    assert sympy.simplify(sympy.powdenest(found / limit if limit else found, force=True)) == (
        1 if limit else 0
    )


def test_a_small_limit_is_not_taken_for_zero() -> None:
    found = value_at_zero(sympy.besselj(50, Z) / Z**50)
    assert found == 1 / (2**50 * sympy.factorial(50))


def test_a_large_limit_is_not_rounded_to_an_integer() -> None:
    found = value_at_zero(Z**50 * sympy.besselk(50, Z) / 3)
    assert found == 2**49 * sympy.factorial(49) / 3


def test_shaking_finds_what_the_digits_hide() -> None:
    point = mp.ldexp(1, -400)  # 1e-120
    for text in ((sympy.exp(Z) - 1) / Z, sympy.log(1 + Z) / Z, (1 + Z) ** (1 / Z) / sympy.E):
        f = resolving_function(text, Z)
        (_, blurred), (clear, error) = f(point, 15, 60), f(point, 15, 400)
        assert blurred > 0
        assert error == 0
        assert abs(clear - 1) < mp.mpf("1e-15")


def test_a_bessel_kernel_less_a_narrow_one_needs_no_thousand_digits(monkeypatch):
    asked = []

    def counted(expr, symbol):
        function = mpmath_function(expr, symbol)
        return lambda point: asked.append(mp.dps) or function(point)

    monkeypatch.setattr("spectra.formula.expansions.verification.mpmath_function", counted)
    nu, x = sympy.Rational(41, 20), sympy.sqrt(sympy.Rational(41, 10)) * Z
    matern = 2 ** (1 - nu) / sympy.gamma(nu) * x**nu * sympy.besselk(nu, x)
    assert value_at_zero(matern - sympy.exp(-2 * 10**12 * Z**2)) == 0
    assert asked
    assert max(asked) <= 400


@pytest.mark.parametrize("n", [0, 3])
def test_poles_of_gamma_cancel_against_zeros(n: int) -> None:
    """gamma(z - n) is (-1)^n/(n! z) at its pole (DLMF 5.2.1)."""
    found = value_at_zero(Z * sympy.gamma(Z - n) * sympy.exp(-Z))
    assert found == R((-1) ** n, sympy.factorial(n))
