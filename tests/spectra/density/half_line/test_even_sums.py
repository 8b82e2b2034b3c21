"""Even analytic kernels in odd dimension: equal steps of z on the whole line."""

import numpy as np
import pytest
import sympy
from mpmath import mp

from spectra.base.enclosures import NODES
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.half_line.sums.even_kernels import EvenSums
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z
from tests.oracles.real_axis import RealKernel, radial_densities

EVEN = {
    "exp(-2*sin(z)**2 - z**2/8)": sympy.exp(-2 * sympy.sin(Z) ** 2 - Z**2 / 8),
    "1/cosh(z)": 1 / sympy.cosh(Z),
    "exp(-z**2/2)/(2 + cos(3*z))": sympy.exp(-(Z**2) / 2) / (2 + sympy.cos(3 * Z)),
}
NOT_EVEN = [
    sympy.exp(-Z),
    Z**3 * sympy.exp(-(Z**2)),
    sympy.exp(-(Z**2)) * sympy.sqrt(Z**2 + Z),
    sympy.exp(-sympy.sqrt(Z)),
    sympy.besselk(0, 1 + Z),
]


def sums(expr, dim):
    return EvenSums(AnalyticRegion(expr), dim)


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("1/cosh(z)", 3),
        pytest.param("exp(-2*sin(z)**2 - z**2/8)", 1, marks=pytest.mark.slow),
        pytest.param("exp(-z**2/2)/(2 + cos(3*z))", 15, marks=pytest.mark.slow),
    ],
)
def test_values_are_those_of_the_real_axis_within_their_errors(name, dim):
    found = sums(EVEN[name], dim).on_panel(0.5, 0.75)
    w = np.exp(0.5 + 0.125 * (1.0 + NODES))
    chosen = [0, 9, 19]
    truth = radial_densities(RealKernel(name), dim, [float(w[i]) for i in chosen])
    for i, exact in zip(chosen, truth, strict=True):
        unit = mp.exp(float(found.log[i]))
        value, wrong = float(found.value[i]), float(found.wrong[i])
        # w itself is rounded in the comparison, by 1e-16 of it.
        missed = abs(mp.mpf(value) * unit - mp.mpf(exact.mid().str(30, radius=False)))
        assert missed <= (wrong + 1e-14 * dim) * unit


@pytest.mark.parametrize("expr", NOT_EVEN, ids=str)
def test_what_is_not_even_is_of_no_use_here(expr):
    assert not AnalyticRegion(expr).is_even
    assert not EvenSums.serves(AnalyticRegion(expr), 3)


def test_even_dimensions_have_an_odd_integrand():
    assert EvenSums.serves(AnalyticRegion(EVEN["1/cosh(z)"]), 3)
    assert not EvenSums.serves(AnalyticRegion(EVEN["1/cosh(z)"]), 2)


@pytest.mark.parametrize("step", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_a_wave_is_not_taken_for_one_of_another_frequency(step):
    """cos(b z) with b = 2 pi/h + 1 has the values of cos(z) at all steps h = 2^-step."""
    b = 2 * sympy.pi * 2**step + 1
    source = sums(sympy.exp(-(Z**2)) * sympy.cos(b * Z), 1)
    there = float(np.log(2.0 * np.pi * 2**step + 1.0))
    top = source.on_panel(there, there + 1 / 64).log.max()
    found = source.on_panel(-0.125, 0.125)
    # At w = 1, exp(-(b - 1)^2/4) of that and less than any digit that is asked for.
    assert (np.log(np.abs(found.value) + found.wrong) + found.log).max() < top - 90.0


def test_a_density_far_below_its_top_keeps_its_digits():
    """1/cosh(z) in d = 1 has the density 1/cosh(pi w/2), exp(-78) at w = 50."""
    source = sums(1 / sympy.cosh(Z), 1)
    source.on_panel(0.0, 0.25)
    found = source.on_panel(3.875, 3.9375)
    x = 3.875 + 0.03125 * (1.0 + NODES)
    with mp.workdps(40):
        for t, value, wrong, log in zip(x, found.value, found.wrong, found.log, strict=True):
            exact = 1 / mp.cosh(mp.pi * mp.exp(mp.mpf(float(t))) / 2) / mp.exp(float(log))
            assert abs(mp.mpf(float(value)) - exact) <= float(wrong) + 3e-14
            assert wrong <= 1e-14


@pytest.mark.slow
def test_a_kernel_that_is_singular_close_to_the_line_is_refused():
    with pytest.raises(NoRouteError, match="singular too close"):
        sums(sympy.exp(-(Z**2)) / ((Z**2 - 1) ** 2 + sympy.Rational(1, 10**12)), 1).on_panel(
            0.0, 0.25
        )
