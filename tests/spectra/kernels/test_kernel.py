"""Kernels: values, algebra and error messages."""

import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from spectra.errors import DataError, FormulaError, ParameterError
from spectra.kernels.kernel import Kernel, radial, zonal

ARC_COSINE_1 = "(u*(pi - acos(u)) + sqrt(1 - u**2))/pi"
DISTANCES = np.array([0.0, 1e-9, 0.3, 1.0, 1.999, 2.0, 2.5, 40.0])

numbers = st.fractions(min_value=-3, max_value=3, max_denominator=8)
formulas = st.sampled_from(["exp(-z**2/2)", "exp(-z)", "1/(1 + z**2)", "cos(z)"])
supports = st.sampled_from([None, 1, 2])


def unit_rows(n, d, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@settings(max_examples=8)
@given(formulas, supports, formulas, supports, numbers)
def test_the_algebra_of_kernels_is_the_algebra_of_their_values(f, r, g, s, c):
    a, b = radial(f, support=r), radial(g, support=s)
    z = DISTANCES
    np.testing.assert_allclose((a + b)(z), a(z) + b(z), atol=1e-14)
    np.testing.assert_allclose((a - b)(z), a(z) - b(z), atol=1e-14)
    np.testing.assert_allclose((a * b)(z), a(z) * b(z), atol=1e-14)
    np.testing.assert_allclose((c * a + 1)(z), float(c) * a(z) + 1, atol=1e-14)
    np.testing.assert_allclose(a.rescale(3)(3 * z), a(z), atol=1e-13)
    assert (a - a).pieces == ()
    assert not np.any((a - a)(z))


def test_equal_formulas_are_equal_kernels():
    k = radial("(1 - z**2/a**2)**p", support=2, a=2, p=2)
    assert k == radial("(1 - z^2/4)**2", support=2.0)
    assert hash(k) == hash(radial("(1 - z^2/4)**2", support=2.0))
    assert k != radial("(1 - z**2/4)**2")
    assert pickle.loads(pickle.dumps(k)) == k
    assert radial(sympy.exp(-sympy.Symbol("z"))) == radial("exp(-z)")


def test_a_zonal_kernel_keeps_its_digits_next_to_z_0():
    k = zonal(ARC_COSINE_1)
    z = np.array([1e-8, 1e-4, 2 - 1e-12, 2.0])
    u = [1 - sympy.Rational(float(x)) ** 2 / 2 for x in z]
    exact = [
        float(((x * (sympy.pi - sympy.acos(x)) + sympy.sqrt(1 - x**2)) / sympy.pi).evalf(40))
        for x in u
    ]
    np.testing.assert_allclose(k(z), exact, rtol=1e-13, atol=1e-16)
    assert k.at_zero == 1.0
    assert k(2.1) == 0.0


def test_the_gram_of_a_zonal_kernel_is_the_formula_of_the_inner_products():
    X = unit_rows(40, 7)
    u = np.clip(X @ X.T, -1, 1)
    expected = (u * (np.pi - np.arccos(u)) + np.sqrt(1 - u**2)) / np.pi
    np.testing.assert_allclose(zonal(ARC_COSINE_1).gram(X), expected, atol=3e-8)
    assert np.array_equal(np.diag(zonal(ARC_COSINE_1).gram(X)), np.ones(40))
    antipodes = zonal("(2 + u)/3").gram(X, -X)
    np.testing.assert_allclose(np.diag(antipodes), 1 / 3, rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "error", "offender"),
    [
        (lambda: radial("sqrt(1 - z**2)"), FormulaError, "z = 1.25893"),
        (lambda: radial("1/z").at_zero, FormulaError, "No finite limit"),
        (lambda: radial("exp(-z)", support=0), ParameterError, "support"),
        (lambda: radial("exp(-z/length)"), ParameterError, "length"),
        (lambda: radial("exp(-z)").rescale(-2), ParameterError, "-2"),
        (lambda: radial("exp(-z)") * 1j, ParameterError, "complex"),
        (lambda: radial("exp(-z)") + float("nan"), ParameterError, "not finite"),
        (lambda: radial("exp(-z)")(np.nan), ParameterError, "nan"),
        (lambda: zonal(ARC_COSINE_1).gram(2 * unit_rows(3, 4)), DataError, "norm 2"),
        (lambda: radial("exp(-z)").gram(np.ones(3)), DataError, "1 dimension"),
        (lambda: radial("exp(-z)").gram(np.ones((2, 3)), np.ones((2, 4))), DataError, "3 columns"),
        (lambda: radial("exp(-z)").gram([[np.inf, 0.0]]), DataError, r"X\[0, 0\] is inf"),
    ],
)
def test_bad_input_is_refused_by_name(make, error, offender):
    with pytest.raises(error, match=offender):
        make()


def test_a_kernel_prints_what_it_is():
    assert str(radial("exp(-z)")) == "exp(-z)"
    assert str(radial("1 - z", support=1)) == "[1 - z on z <= 1]"
    assert str(zonal("(1 + u)/2")) == "(1 + u)/2"
    assert str(zonal("(1 + u)/2") * 1) == "u/2 + 1/2 at u = <x, y>"
    assert str(Kernel(())) == "0"


def test_the_value_at_the_edge_is_the_limit_there() -> None:
    kernel = radial("(1 - z)**2*log(1 - z)", support=1)
    assert kernel([1.0, 1.5]).tolist() == [0.0, 0.0]
    assert abs(kernel(1.0 - 1e-9)) < 1e-15
    jump = radial("(z - 1)/log(z) + 0*z", support=1)  # 0/0 at the edge, where the limit is 1
    assert jump(1.0) == 1.0
    with pytest.raises(FormulaError, match="no real value"):
        radial("sqrt(4 - z)*log(4 - z)", support=5)
    with pytest.raises(FormulaError, match="no real value"):
        radial("Piecewise((1, sqrt(1 - z) < 1), (0, True))")


@pytest.mark.parametrize("length", [1e-320, 1e308])
def test_a_length_whose_frequencies_are_no_doubles_is_refused(length):
    with pytest.raises(ParameterError, match="beyond the range of double precision"):
        radial("exp(-z)*cos(4*z)").rescale(length)
