"""Gegenbauer coefficients: known values, exact sums and proved signs."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from spectra.errors import FormulaError, ParameterError, SpectraError
from spectra.formula.parsing import U, Z
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial, zonal
from spectra.verdict import Status, Verdict, existence
from spectra.verdict import sphere_coefficients as sphere_module
from spectra.verdict.range_and_sphere import decide_on_sphere
from spectra.verdict.sphere_coefficients import sphere_coefficients
from spectra.verdict.status import D, RegionVerdict
from tests.oracles.kernels.generated_verdicts import equal_zonals
from tests.oracles.sphere_shares import sphere_shares

# Of the theory notes, checked there to more digits.
KNOWN = {
    ("arc_cosine_0", 3): [0.5, 0.125, 0, 0.0078125, 0, 0.001953125],
    ("arc_cosine_1", 3): [0.375, 1 / 6, 0.0234375, 0, 6.510416667e-4],
    ("arc_cosine_1", 16): [0.328407476, 0.03125, 0.00113635805, 0, 3.1478062e-06],
    ("ntk", 16): [0.348932943, 0.0625, 0.00348009652, 0, 1.7509672e-05],
}


@pytest.mark.parametrize(("name", "dim"), KNOWN)
def test_the_papers_kernels_have_the_known_coefficients(name: str, dim: int) -> None:
    expected = KNOWN[name, dim]
    found = sphere_coefficients(catalogue[name], dim, degree=len(expected) - 1)
    assert found.values == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert found.nonnegative is True


@pytest.mark.parametrize(
    ("dim", "formula"), [(3, "Max(1 - z, 0)**3"), (16, "exp(-z)"), (7, "cos(3*z)")]
)
def test_the_coefficients_agree_with_another_quadrature(formula: str, dim: int) -> None:
    kernel = radial(formula)
    found = sphere_coefficients(kernel, dim, degree=4)
    in_u = kernel.pieces[0].expr.subs(Z, sympy.sqrt(2 - 2 * U))
    expected = sphere_shares(in_u, [sympy.Rational(1, 2)], dim, degree=4) / found.multiplicity
    assert np.all(np.abs(found.values - expected) < found.error + 1e-15)


def test_on_the_circle_they_are_fourier_coefficients() -> None:
    found = sphere_coefficients(zonal("u**2"), 2, degree=3)
    assert found.values == pytest.approx([0.5, 0, 0.25, 0], abs=1e-14)
    assert found.multiplicity.tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("dim", [2, 64])
def test_shares_and_tail_add_up_to_the_value_at_one(dim: int) -> None:
    found = sphere_coefficients(zonal("exp(u)"), dim, degree=12)
    assert found.mass <= np.e * (1 + 1e-14)
    assert found.mass + found.tail_bound >= np.e * (1 - 1e-14)
    assert found.tail_bound < 1e-7


def test_a_polynomial_is_expanded_exactly_and_its_signs_are_decided() -> None:
    positive = sphere_coefficients(zonal("((1 + u)/2)**3"), 5, degree=6)
    assert positive.tail_bound == 0
    assert positive.nonnegative is True
    assert np.sum(positive.values * positive.multiplicity) == pytest.approx(1, abs=1e-13)
    # A negative Taylor coefficient, and yet positive definite for small d: P_2 on the sphere.
    legendre = zonal("(3*u**2 - 1)/2")
    assert sphere_coefficients(legendre, 3, degree=2).nonnegative is True
    assert sphere_coefficients(legendre, 4, degree=2).nonnegative is False


def test_the_indefinite_polynomial_of_the_papers_is_indefinite() -> None:
    kernel = zonal("(1 - (2 - 2*u)/a**2)**3", a=1.2)
    three, sixteen = (sphere_coefficients(kernel, d, degree=5) for d in (3, 16))
    assert three.nonnegative is False
    assert sixteen.nonnegative is False
    assert sixteen.values.min() == pytest.approx(-0.199470593, abs=1e-9)


def test_the_tail_is_bounded_in_many_dimensions() -> None:
    found = sphere_coefficients(catalogue["arc_cosine_0"], 784, degree=24)
    assert found.mass + found.tail_bound == pytest.approx(1.0, abs=1e-9)
    assert 0.0 < found.tail_bound < 0.1


def test_a_kernel_beyond_double_precision_has_no_coefficients() -> None:
    found = existence(zonal("exp(1e3*u)"), 3).on_sphere()
    assert (found.status, found.positive_definite) == (Status.FINITE, True)
    assert "divide the kernel" in found.reasons[0]


def test_finitely_many_signs_prove_nothing() -> None:
    found = sphere_coefficients(radial("exp(-z**2)*(1 + z**4/50)"), 3, degree=8)
    assert np.all(found.values > found.error)
    assert found.nonnegative is None
    assert found.tail_bound == float("inf")


@pytest.mark.parametrize(("dim", "degree"), [(1, 3), (2.5, 3), (3, -1), (3, 10**7)])
def test_arguments_outside_their_range_are_refused(dim: object, degree: object) -> None:
    with pytest.raises(ParameterError):
        sphere_coefficients(zonal("u"), dim, degree)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", [None, b"u**2", catalogue["matern"]])
def test_only_a_kernel_has_gegenbauer_coefficients(what):
    with pytest.raises(ParameterError, match="make one with zonal"):
        sphere_coefficients(what, 3)


def test_a_high_degree_is_integrated_as_well_as_a_low_one() -> None:
    # arc-cosine 0 in d = 2: 1 - |theta|/pi has the coefficients 2/(pi n)^2 for odd n, and 0.
    values = sphere_coefficients(catalogue["arc_cosine_0"], 2, degree=31).values
    assert values[31] == pytest.approx(2 / (np.pi * 31) ** 2, rel=1e-11)
    assert abs(values[30]) < 1e-15


# --- verdicts and tails do not depend on how a kernel is written ----------------------------------


def check_forms(forms, kinks, bound, dim, degree) -> None:
    """Each form has the known verdict, coefficients, and no tail below the next 40 degrees."""
    for form in forms:
        verdict = existence(zonal(form))
        for d in range(2, 17):
            status = decide_on_sphere(verdict.kernel, verdict.analysis, d).status
            assert status is (Status.FINITE if d < bound else Status.INFINITE), (form, d)
        found = verdict.on_sphere(dim, degree=degree)
        assert found.status is (Status.FINITE if dim < bound else Status.INFINITE), form
        shares = sphere_shares(form, kinks, dim, degree + 40)
        noise = 1e-15 * np.sum(np.abs(shares))
        assert not found.positive_definite or shares.min() > -noise, form
        values = found.coefficients.values * found.coefficients.multiplicity
        assert np.abs(values - shares[: degree + 1]).max() < 100 * noise, form
        assert np.sum(np.abs(shares[degree + 1 :])) <= found.coefficients.tail_bound + noise, form


@settings(max_examples=2)
@given(equal_zonals(), st.integers(2, 16))
def test_equal_forms_have_one_verdict(case, dim):
    statuses = {existence(zonal(form), dim).sphere.status for form in case[0]}
    assert statuses == {Status.FINITE if dim < case[2] else Status.INFINITE}


@pytest.mark.slow
@settings(max_examples=100)
@given(equal_zonals(), st.integers(2, 16), st.integers(4, 30))
def test_a_hundred_triples_of_equal_forms_have_one_verdict(case, dim, degree):
    check_forms(*case, dim, degree)


KINKS = {  # finite for d < 2p + 2, p the least power of a kink inside
    "Max(u,0)": 4, "Max(u,0)**2": 6, "Max(u,0)*exp(u)": 4, "Min(1,2*u+2)": 4, "Max(u**2,1/4)": 4,
    "Max(u,1/2)": 4, "Min(u,u**2)": 4, "Max(0,u-1/2)**5": 12, "Abs(u)**(5/2)": 7, "Heaviside(u)": 2,
    "Piecewise((u**2, u > 0), (0, True))": 6,
}  # fmt: skip


@pytest.mark.parametrize(("text", "bound"), KINKS.items())
def test_a_kink_on_the_sphere_needs_a_small_dimension(text, bound):
    assert existence(zonal(text)).sphere.condition == sympy.Lt(D, bound)
    found = existence(zonal(text), bound).on_sphere(degree=2)
    assert (found.status, found.positive_definite) == (Status.INFINITE, False)
    assert found.coefficients.tail_bound == np.inf


@pytest.mark.parametrize(
    "text",
    ["sqrt(u**2 + 1/100)", "sqrt(1 + u**2)", "(u**2 + 1/100)**(3/2)", "log(u**2 + 1/10)",
     "atan(5*u)", "1/(1 + 25*u**2)", "1/cosh(3*u)", "asin(2*u/3)", "tan(u)", "1/cos(u)",
     "expint(1, 2 - u)", "(3/2 + u)**u", "cos(3*acos(u/2))"],
)  # fmt: skip
def test_no_tail_is_below_the_degrees_that_follow(text):
    check_forms([zonal(text).zonal], [], sympy.oo, dim=5, degree=20)


@pytest.mark.parametrize("text", ["tanh(u)", "log(5 + 3*u)", "sqrt(4 + u**2)", "Max(u, -3)*exp(u)"])
def test_the_tail_of_an_analytic_kernel_is_bounded_in_every_dimension(text):
    found = sphere_coefficients(zonal(text), 784, degree=20)
    total = np.sum(found.values * found.multiplicity)
    assert abs(total - zonal(text).at_zero) <= found.tail_bound + 1e-12
    assert found.tail_bound < 0.05


@pytest.mark.parametrize(
    "text",
    ["1/(1-u)", "1/(2-2*u)", "1/(1-u**2)", "u/(1-u)", "1/(1-exp(u-1))", "exp(1/(1-u))", "-log(1-u)",
     "(1-u)**(-1/4)", "gamma(1-u)", "1/(pi/2-asin(u))", "besselk(0, 1-u)"],
)  # fmt: skip
def test_a_formula_without_a_finite_value_at_one_is_no_kernel(text):
    with pytest.raises(FormulaError, match=r"No finite limit of the formula .* at u = <x, y> = 1"):
        zonal(text)


@pytest.mark.parametrize("text", ["log(1+u)", "exp(1/(1+u))", "1/z", "1/sqrt(z)"])
def test_an_unbounded_kernel_has_no_decomposition_on_the_sphere(text):
    kernel = radial(text) if "z" in text else zonal(text)
    found = existence(kernel, 3).on_sphere(degree=2)
    assert (found.status, found.condition) == (Status.INFINITE, sympy.false)
    assert found.positive_definite is False


@pytest.mark.parametrize(
    "text", ["asin(u)", "2 - sqrt(1-u)", "1 - (1 - u**2)**(1/3)", "exp(asin(u))", "1/(11/10 - u)"]
)
def test_bounded_kernels_that_are_singular_at_one_stay_positive_definite(text):
    found = existence(zonal(text), 16).on_sphere(degree=4)
    assert (found.status, found.positive_definite) == (Status.FINITE, True)


def test_a_multiple_of_an_angle_is_a_polynomial():
    assert zonal("cos(3*acos(u))").zonal == zonal("4*u**3 - 3*u").zonal
    assert zonal("cos(2*asin(u))").zonal == zonal("1 - 2*u**2").zonal
    # On the circle it is one wave.
    found = existence(zonal("cos(20*acos(u))"), 2).on_sphere(degree=20)
    assert (found.positive_definite, found.coefficients.tail_bound) == (True, 0.0)
    np.testing.assert_allclose(found.coefficients.values[-1], 0.5, rtol=1e-12)


@pytest.mark.parametrize("status", Status)
def test_a_status_that_contradicts_its_condition_is_refused(status):
    condition = sympy.false if status is Status.FINITE else D < 6
    with pytest.raises(SpectraError, match="contradicts"):
        RegionVerdict(status, condition, (), None, "the unit sphere", 5)
    with pytest.raises(SpectraError, match="contradicts"):
        Verdict(status, condition, (), None, None, 5)


def test_a_proof_never_overrides_infinite_mass(monkeypatch):
    monkeypatch.setattr(sphere_module, "_tail_bound_from_discs", lambda formula, degree: 1e-9)
    with pytest.raises(SpectraError, match="contradict each other"):
        existence(zonal("Max(u,0)"), 5).on_sphere(degree=2)
