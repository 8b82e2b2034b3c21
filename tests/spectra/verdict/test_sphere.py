"""Gegenbauer coefficients: known values, exact sums and proved signs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_gegenbauer

from spectra.errors import ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial, zonal
from spectra.verdict import Status, existence
from spectra.verdict.sphere_coefficients import sphere_coefficients

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
    ("dim", "formula"), [(3, "(1 - z)**3*Heaviside(1 - z)"), (16, "exp(-z)"), (7, "cos(3*z)")]
)
def test_the_coefficients_agree_with_another_quadrature(formula: str, dim: int) -> None:
    kernel = radial(formula)
    found = sphere_coefficients(kernel, dim, degree=4)
    alpha = dim / 2 - 1

    def integral(n: int) -> float:
        def integrand(theta: float) -> float:
            p = eval_gegenbauer(n, alpha, np.cos(theta)) / eval_gegenbauer(n, alpha, 1.0)
            return float(kernel(2 * np.sin(theta / 2))) * p * np.sin(theta) ** (dim - 2)

        return float(quad(integrand, 0, np.pi, epsabs=1e-13, limit=200, points=[np.pi / 3])[0])

    norm = quad(lambda theta: np.sin(theta) ** (dim - 2), 0, np.pi, epsabs=1e-14)[0]
    for n in range(5):
        assert abs(found.values[n] - integral(n) / norm) < found.error[n] + 1e-11


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


@pytest.mark.parametrize(("text", "dim"), [("tanh(u)", 784), ("1/cos(u)", 3), ("1/(3 - u)", 64)])
def test_the_tail_of_an_analytic_kernel_is_bounded_whatever_its_signs(text: str, dim: int) -> None:
    few, more = (sphere_coefficients(zonal(text), dim, degree=n) for n in (12, 20))
    shares = more.values * more.multiplicity
    assert np.sum(np.abs(shares[13:])) <= few.tail_bound < 1.0
    assert abs(np.sum(shares) - zonal(text).at_zero) <= more.tail_bound + 1e-12
    assert existence(zonal(text), dim).on_sphere(degree=4).status is Status.FINITE


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
