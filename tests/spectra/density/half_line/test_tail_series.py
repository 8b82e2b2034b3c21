"""Where the asymptotic series of a density takes over from its sums, and that it is right there."""

from math import exp

import flint
import numpy as np
import pytest
from mpmath import mp

import spectra as sp
from spectra.density.half_line.endings import power_ending
from spectra.density.half_line.ends import long_expansion_of
from spectra.density.half_line.half_line import half_line
from spectra.density.half_line.prepared import expanded
from tests.oracles.real_axis import RealKernel, radial_densities
from tests.tools.grids import by_turns


def _wave(w):
    return 1 - 1j * mp.mpf(w)


# Densities in d = 3, where powers at zero are broken or go with logarithms: 2w/pi times the
# imaginary part of the integral of z k(z) exp(iwz), and Matern's.
KNOWN = {
    "sqrt(z)*exp(-z)": lambda w: 2 * w / mp.pi * (mp.gamma(2.5) / _wave(w) ** 2.5).imag,
    "z*log(z)*exp(-z)": lambda w: (
        2 * w / mp.pi * (2 * (mp.digamma(3) - mp.log(_wave(w))) / _wave(w) ** 3).imag
    ),
    "z**2*besselk(2,z)": lambda w: (
        8 * mp.gamma(3.5) / mp.sqrt(mp.pi) * w**2 * (1 + w**2) ** mp.mpf(-3.5)
    ),
}


def _around_the_start(text, dim):
    """Radii, values and errors on both sides of where the series begins, which is sooner now."""
    expr = sp.radial(text).pieces[0].expr
    (component,), _ = half_line(expr, dim)
    start = exp(component.panels[-1].high)
    assert start < 0.5 * power_ending(expanded(expr).zero, dim).start
    w = start * np.array([0.95, 1.05, 2.0])
    sign, log = component.signed_log(w)
    found = sign * np.exp(log)
    error = component.relative_error(w) * np.abs(found)
    assert np.all(error <= 1e-12 * np.abs(found))
    return w, found, error


@pytest.mark.parametrize("text", by_turns(KNOWN, every=3))
def test_more_terms_serve_sooner_and_are_right_where_they_do(text):
    for w, rho, wrong in zip(*_around_the_start(text, 3), strict=True):
        with mp.workdps(40):
            assert abs(rho - KNOWN[text](mp.mpf(float(w)))) <= wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dim"), [("exp(-z**4)*cosh(z)*erfc(z)", 16), ("exp(-z-z**3)", 64)]
)
def test_coefficients_of_a_circle_serve_sooner_and_are_right_where_they_do(text, dim):
    w, found, error = _around_the_start(text, dim)
    truth = radial_densities(RealKernel(text), dim, w.tolist(), within=(error / 20).tolist())
    for rho, wrong, true in zip(found, error, truth, strict=True):
        assert true is not None
        assert abs(flint.arb(float(rho)) - true).mid() <= wrong


@pytest.mark.parametrize("text", KNOWN)
def test_a_long_expansion_begins_with_the_short_one(text):
    expr = sp.radial(text).pieces[0].expr
    short, long = expanded(expr).zero, long_expansion_of(expr)
    assert len(long) >= 1.5 * len(short)
    assert long[: len(short)] == short
