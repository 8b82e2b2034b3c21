"""Formulas continued into the plane, and their Bessel functions, against Arb and mpmath."""

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.base.bessel_k import bessel_k
from spectra.base.precision import working_precision
from spectra.errors import FormulaError
from spectra.formula.ball_function import analytic_continuation, constant_ball
from spectra.formula.parsing import Z


@pytest.mark.parametrize(
    "text",
    ["exp(-2*z)*besseli(0,z)", "erfc(z**2)", "z**2/sinh(z**2)", "1/(1+z**(5/2))", "sqrt(1+z**2)-z",
     "besselk(1/3,z)*z**(1/3)", "atan(1/z)", "exp(-z)*atan(50*(z-2))"],
)  # fmt: skip
def test_a_formula_in_balls_is_the_formula(text):
    kernel = sp.radial(text)
    k = analytic_continuation(kernel.pieces[0].expr, Z)
    z = np.array([1e-3, 0.4, 1.7, 12.0])
    found = [k.to_accuracy(flint.acb(x), 128) for x in z]
    np.testing.assert_allclose([float(v.real) for v in found], kernel(z), rtol=4e-13)
    assert all(v.rel_accuracy_bits() > 80 for v in found)


def test_cancellation_costs_bits_and_no_digits():
    k = analytic_continuation(sympy.sqrt(1 + Z**2) - Z, Z)
    far = k.to_accuracy(flint.acb(10) ** 12, 128)
    with working_precision(128):
        assert abs(far.real * 2 * flint.arb(10) ** 12 - 1) < 1e-20


@pytest.mark.parametrize("order", [0, 7, -3])
@pytest.mark.parametrize("size", [1e-9, 2.0, 400.0])
def test_bessel_k_of_whole_order_lies_in_its_ball(order, size):
    for angle in (-0.4, 1.57):
        q = flint.acb(size * np.cos(angle), size * np.sin(angle))
        with working_precision(600):
            true = q.bessel_k(order)
        for wide in (q, q + flint.acb(flint.arb(0, 1e-20 * size), flint.arb(0, 1e-20 * size))):
            with working_precision(128):
                found = bessel_k(order, wide, 128)
            assert found.overlaps(true)
            assert found.rel_accuracy_bits() > (100 if wide is q else 45)


def test_functions_without_a_continuation_are_refused():
    with pytest.raises(FormulaError, match="Heaviside"):
        analytic_continuation(sympy.exp(-Z) * sympy.Heaviside(Z - 1), Z)


def test_a_number_without_a_ball_is_said_to_be_one():
    with (
        working_precision(64),
        pytest.raises(FormulaError, match="zeta is not available in ball arithmetic"),
    ):
        constant_ball(sympy.zeta(3))


def test_hypergeometric_functions_are_continued():
    half = sympy.Rational(1, 2)
    k = analytic_continuation(sympy.hyper([half], [3 * half], -Z), Z)
    found = k.to_accuracy(flint.acb(2, 1), 128)
    true = flint.acb(-2, -1).hypgeom([flint.acb(0.5)], [flint.acb(1.5)])
    with mp.workdps(30):
        exact = mp.hyp1f1(0.5, 1.5, mp.mpc(-2, -1))
    assert found.overlaps(true)
    assert abs(complex(found.real.mid(), found.imag.mid()) - complex(exact)) < 1e-15
