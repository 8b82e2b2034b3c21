"""Proofs of positive definiteness, and cases that must not be proved."""

from __future__ import annotations

from itertools import pairwise

import flint
import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.definiteness import (
    has_nonnegative_taylor_series,
    is_completely_monotone,
    proofs,
    proved_on_space,
    proved_on_sphere,
)
from spectra.definiteness.monotone import is_complete_bernstein
from spectra.errors import TimeLimitError
from spectra.formula.ball_function import analytic_continuation
from spectra.formula.evaluate import mpmath_function
from spectra.formula.parsing import U, Z, parse_formula
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.singularities import analyse
from spectra.verdict import D, Status, existence
from spectra.verdict.sphere_coefficients import sphere_coefficients
from tests.oracles.sphere_shares import sphere_shares


def arc_0(inner: str) -> str:
    """A layer of steps: the kernel of its signs."""
    return f"(1 - acos({inner})/pi)"


def arc_1(inner: str) -> str:
    """A layer of rectifiers."""
    return f"((({inner})*(pi - acos({inner})) + sqrt(1 - ({inner})**2))/pi)"


def tangent(layers: int) -> str:
    """The neural tangent kernel of a network of rectifiers."""
    covariance = kernel = "u"
    for _ in range(layers):
        kernel = f"({kernel}*{arc_0(covariance)} + {arc_1(covariance)})"
        covariance = arc_1(covariance)
    return kernel


# --- functions of z^2 that keep to a sector -------------------------------------------------

IN_SECTORS = (
    "z", "z**(3/2)/(1 + z)", "z*log(1 + log(1 + z))", "1/(sqrt(z)*(2 + z))", "z**3",
    "1/(1 + z**2)**2", "(1 + z)**(1/3)/(1 + z**2)",
)  # fmt: skip


@pytest.mark.parametrize("text", IN_SECTORS)
def test_functions_that_preserve_sectors_are_recognised(text: str) -> None:
    expr = parse_formula(text, variable="z")
    function = sympy.lambdify(Z, expr, "numpy")
    radius, turn = np.geomspace(1e-9, 1e9, 181)[:, None], np.linspace(0.005, 0.995, 199) * np.pi
    share = np.angle(function(np.sqrt(radius) * np.exp(0.5j * turn))) / turn
    inside = share.min() > -1e-9, share.max() < 1.0 + 1e-9
    assert is_complete_bernstein(expr) is all(inside)


# --- completely monotone functions of z^2 ---------------------------------------------------

MONOTONE = (
    "2**(-z)", "erfc(z)", "1/cosh(z)", "exp(-z) - exp(-2*z)/2", "besselk(0, 1 + z)", "1/log(2 + z)",
    "exp(z**2)*erfc(z)", "exp(-2*z)*besseli(0, z)", "erf(z)/z", "pi/2 - atan(z)",
    "z**(1/3)*besselk(1/3, 2*z)", "hyper([1/2, 1/3], [3/2], -z**2)",
)  # fmt: skip
NOT_MONOTONE = (
    "exp(-z**3)", "cos(z)", "exp(-z) - 2*exp(-2*z)/3", "exp(-z)*(1 + 2*z)",
    "exp(-2*z)*besseli(0, 3*z)", "exp(-z)*(1 - z)", "1/(2 - cos(z))",
)  # fmt: skip


@pytest.mark.parametrize("text", MONOTONE)
def test_a_completely_monotone_kernel_is_proved_and_its_differences_alternate(text: str) -> None:
    expr = parse_formula(text, variable="z")
    assert is_completely_monotone(expr)
    function = mpmath_function(expr, Z)
    with mp.workdps(60):
        for step in ("0.001", "0.3", "40"):
            values = [function(mp.sqrt(mp.mpf(step) * n)) for n in range(1, 14)]
            while values:
                assert min(values) > 0
                values = [a - b for a, b in pairwise(values)]


@pytest.mark.parametrize("text", NOT_MONOTONE)
def test_functions_that_are_not_completely_monotone_are_not_proved(text: str) -> None:
    assert not is_completely_monotone(parse_formula(text, variable="z"))


# --- on R^d ---------------------------------------------------------------------------------

PROVED = (
    (radial("Max(0, 1 - z)"), 1),
    (radial("1 - 3*z/2 + z**3/2", support=1), 3),
    (radial("Max(exp(-z), 1/2)"), 1),
    (radial("(1 - z)**2*exp(-z)", support=1), 3),
    (radial("exp(-z**2)*cos(z)"), 3),
    (radial("besselj(0, z)*exp(-z)"), 2),
    (radial("exp(cos(z))"), 1),
    (radial("exp(-z)*(cos(3*z) + 3/10*sin(3*z))"), 1),  # the spectrum is as (190 + w^2)/...
    (radial("(1 - z)*exp(-z)"), 1),
)


@pytest.mark.parametrize(("kernel", "largest"), PROVED, ids=lambda x: str(x)[:40])
def test_the_largest_dimension_of_a_proof_is_the_known_one(kernel: Kernel, largest: float) -> None:
    proof = proved_on_space(kernel, analyse(kernel))
    assert proof is not None
    assert proof[0] == largest, proof[1]


@pytest.mark.parametrize(
    "kernel",
    [
        radial("exp(-z**4)"),
        radial("1 - z", support=1) - radial("(1 - z)**2", support=1),
        radial("cos(z)/sqrt(z)"),
        radial("exp(-z**2)*sin(z)"),
        radial("exp(-z)*(cos(3*z) + 2/5*sin(3*z))"),  # as 220 - w^2
        radial("exp(-z)*(1 - z - z**2)"),
    ],
    ids=str,
)
def test_indefinite_kernels_are_not_proved_positive(kernel: Kernel) -> None:
    proof = proved_on_space(kernel, analyse(kernel))
    assert proof is None or proof[0] == 0, proof[1]


def test_the_dimension_after_the_largest_is_refuted_where_a_theorem_does_it() -> None:
    found = existence(radial("1 - 3*z/2 + z**3/2", support=1)).positive_definite
    assert (found.answer, found.max_dim) == (False, 3)
    assert "In d = 4 it is not" in found.reason
    periodic = existence(radial("exp(cos(z))")).positive_definite
    assert periodic.max_dim == 1


# --- on the sphere --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["besseli(0, 2*u)", "exp(-acos(u))", "1 - sqrt(1 - u)", arc_0(arc_1("u")), tangent(2)],
    ids=lambda text: text[:40],
)
def test_networks_of_any_depth_have_a_nonnegative_taylor_series(text: str) -> None:
    formula = parse_formula(text, variable="u")
    assert has_nonnegative_taylor_series(formula)
    with flint.ctx.workprec(120):  # Cauchy's formula on |u| = 1/2
        function = analytic_continuation(formula, U)
        points = [flint.acb(2 * j / 64).exp_pi_i() for j in range(64)]
        values = [function(x / 2) for x in points]
        for n in range(12):
            terms = (v * x**-n for v, x in zip(values, points, strict=True))
            assert sum(terms, flint.acb(0)).real / 64 * 2**n > -1e-12


@pytest.mark.parametrize(
    "text", [arc_1(arc_0("u")), pytest.param(tangent(2), marks=pytest.mark.slow)], ids=len
)
def test_the_coefficients_of_a_network_agree_with_another_quadrature(text: str) -> None:
    found = sphere_coefficients(zonal(text), 5, degree=1)
    assert found.nonnegative is True
    exact = sphere_shares(zonal(text).zonal, [], 5, 1) / found.multiplicity
    assert np.all(np.abs(found.values - exact) < found.error + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("text", [arc_0(arc_0("u")), tangent(2)], ids=len)
def test_a_network_is_positive_definite_on_every_sphere_and_bounded_by_its_end(text: str) -> None:
    """The end of a step is like (2 - z)^(1/2), so that some continuation is finite in d = 1."""
    verdict = existence(zonal(text))
    for dim in (2, 16):
        on_sphere = verdict.on_sphere(dim, degree=1)
        assert (on_sphere.status, on_sphere.positive_definite) == (Status.FINITE, True)
    assert verdict.on_domain().condition == (D < 2)
    assert verdict.on_domain(sympy.sqrt(2)).condition == sympy.true
    assert verdict.condition == sympy.false  # cut off at z = 2, where it is not zero


@pytest.mark.parametrize(
    "text",
    [
        *("u - u**2", "exp(u) - exp(2*u)", "asin(u) - u**2", "exp(u**2) - u**3 - 1"),
        *("acos(acos(u)/pi)", "sqrt(1 - u**2)", arc_0("-u"), "cos(u)", arc_1("1 - u")),
    ],
)
def test_series_with_negative_coefficients_are_not_proved(text: str) -> None:
    assert not has_nonnegative_taylor_series(parse_formula(text, variable="u"))


@pytest.mark.parametrize(
    ("text", "proved"), [("u**2 + exp(-sqrt(1 - u))", True), ("exp(-(2 - 2*u)**(3/2))", False)]
)
def test_positive_definite_kernels_of_the_space_are_so_on_the_sphere(
    text: str, proved: bool
) -> None:
    kernel = zonal(text)
    assert (proved_on_sphere(kernel, 5) is not None) is proved
    found = sphere_coefficients(kernel, 5, degree=4)
    assert bool(np.all(found.values > -found.error)) is proved
    assert existence(kernel, 5).on_sphere(degree=4).positive_definite is proved


# --- models of geostatistics, and sums and products with them ---------------------------------

SPHERICAL = catalogue["spherical"]()


@pytest.mark.parametrize(
    ("kernel", "largest"),
    [
        (catalogue["cubic"](length=3), 3),
        (catalogue["circular"](), 2),
        (
            sympy.Rational(3, 10) * radial("exp(-z)")
            + sympy.Rational(1, 2) * SPHERICAL
            + radial("exp(-z**2)/5"),
            3,
        ),
        (SPHERICAL + SPHERICAL.rescale(2), 3),
        (radial("(1 - 3*z/2 + z**3/2)*exp(-z)", support=1), 3),
        (catalogue["gaussian"]() + SPHERICAL, 3),
        (radial("exp(-z**2) + (1 - 3*z/2 + z**3/2)*Heaviside(1 - z)"), 3),
        (radial("exp(-z**2) + Max(1 - z, 0)/2"), 1),
        (catalogue["matern"]() * catalogue["wendland_31"](), 3),
        (radial("(1 + z)*exp(-z)*exp(-2*sin(pi*z)**2)"), 1),
    ],
    ids=str,
)
def test_models_and_their_sums_and_products_are_proved(kernel: Kernel, largest: int) -> None:
    assert existence(kernel, largest).positive_definite.answer is True
    assert existence(kernel, largest + 1).positive_definite.answer is not True


# --- what is decided by convexity, splines, rational spectra, and the series of one period -------

PARZEN = "Piecewise((1 - 6*z**2 + 6*z**3, z <= 1/2), (2*(1 - z)**3, z <= 1), (0, True))"
DECIDED = (
    ("Max(0, 1/2 - tanh(z))", 1, True),  # convex, and 0 from a radius on that has no short formula
    ("Max(0, 1/2 - erf(z))", 1, True),
    ("Max(0, 1 - z - z**5)", 1, False),
    ("Max(0, 1 - tanh(z/2))", 9, True),
    (PARZEN, 1, True),
    (PARZEN, 2, False),
    # (1 - x) (1 - c (1 + x)), x = cos(w), is nonnegative for c <= 1/2.
    ("Max(1 - z, 0) - 1/2*Max(1 - z/2, 0)", 1, True),
    ("Max(1 - z, 0) - 51/100*Max(1 - z/2, 0)", 1, False),
    # exp(-z^2) cos(b z) in R^3: its spectrum is as w - b tanh(b w/2), so that b^2 <= 2.
    ("exp(-z**2)*cos(sqrt(1999/1000)*z)", 3, True),
    ("exp(-z**2)*cos(sqrt(51/25)*z)", 3, False),
    ("exp(-z**2)*cos(sqrt(51/25)*z)", 1, True),
    ("3*(sin(z) - z*cos(z))/z**3", 5, True),
    ("3*(sin(z) - z*cos(z))/z**3", 6, False),
    ("25/(12*pi**2*z**2)*(sin(6*pi*z/5)/(6*pi*z/5) - cos(6*pi*z/5))", 1, True),
    ("(z*cos(z) - sin(z))/z**3", 1, False),
    # exp(-2) I_0(2) is 0.3085083.
    ("exp(-4*sin(pi*z/3)**2) - 3085/10000", 1, True),
    ("exp(-4*sin(pi*z/3)**2) - 3086/10000", 1, False),
    ("exp(-2*acos(cos(2*pi*z))**2/pi**2)", 1, False),
    ("3/5 - Abs(sin(z))", 1, False),  # its mean is 3/5 - 2/pi
    ("exp(-1.6706*z)*cos(1.9098*z) + 2.3*exp(-1.3573*z)*cos(0.3812*z)", 1, True),
    ("exp(-1.6706*z)*cos(1.9098*z) - 0.45*exp(-1.3573*z)*cos(0.3812*z)", 1, False),
)


@pytest.mark.parametrize(("text", "dim", "answer"), DECIDED, ids=lambda x: str(x)[:50])
def test_what_a_theorem_decides_is_decided(text: str, dim: int, answer: bool) -> None:
    found = existence(radial(text), dim).positive_definite
    assert found.answer is answer, found.reason
    for word in ("CRootOf", "ComplexRootOf", "atanh", "erfinv", "'length'"):
        assert word not in found.reason


def test_the_spectra_of_the_damped_cosines_have_the_signs_of_the_table() -> None:
    """The truth of the last two rows: the spectra of exp(-az) cos(bz) in closed form."""

    def lorentz(a: float, b: float, w: np.ndarray) -> np.ndarray:
        return a / (a**2 + (w - b) ** 2) + a / (a**2 + (w + b) ** 2)

    w = np.linspace(0.0, 50.0, 5001)
    first, second = lorentz(1.6706, 1.9098, w), lorentz(1.3573, 0.3812, w)
    assert (first + 2.3 * second).min() > 0.0
    assert (first - 0.45 * second).min() < 0.0


def test_a_proof_out_of_time_leaves_the_quick_rules_and_the_masses(monkeypatch) -> None:
    def run_out(_: object) -> int:
        raise TimeLimitError("stopped")

    monkeypatch.setattr(proofs, "rational_spectrum_dimension", run_out)
    monkeypatch.setattr(proofs, "hat_mixture_dimension", run_out)
    sums = existence(radial("exp(-3*z/7)*cos(z) + exp(-2*z)*cos(4*z)/9"), 1)
    assert sums.positive_definite.answer is True
    negative = existence(radial("exp(-3*z/7)*cos(z) - exp(-2*z)*cos(4*z)/9"), 1)
    assert negative.positive_definite.answer is False
    assert "negative mass" in negative.positive_definite.reason
