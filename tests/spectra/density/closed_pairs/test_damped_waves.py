"""Waves under an exponential: closed forms by derivatives in the complex rate."""

import numpy as np
import pytest
from mpmath import mp

import spectra as sp
from spectra.density.lookup import lookup

RADII = np.geomspace(1e-3, 1e5, 9)
# (formula, [(weight, power of z, rate)]): the kernel is Re sum weight z^power exp(-rate z).
CASES = {
    "exp(-2*z)*sin(z)": [(-1j, 0, 2 - 1j)],
    "(3 + z/4)*exp(-z/10)*cos(z)": [(3, 0, 0.1 - 1j), (0.25, 1, 0.1 - 1j)],
    "z**3*exp(-z)*cos(4*z) - exp(-z)": [(1, 3, 1 - 4j), (-1, 0, 1)],
    # The leading term of its tail vanishes: it is smooth of order 2 at z = 0.
    "exp(-z)*(cos(z) + sin(z))": [(1 - 1j, 0, 1 - 1j)],
}


def exact(parts, dim, w):
    """rho by derivatives in the rate of the transform of exp(-rate z)."""
    half, w = mp.mpf(dim + 1) / 2, mp.mpf(w)

    def pair(rate):
        return rate / (rate * rate + w * w) ** half

    total = mp.fsum(
        (weight * (-1) ** n * mp.diff(pair, mp.mpc(rate), n)).real for weight, n, rate in parts
    )
    area = 2 * mp.pi ** (mp.mpf(dim) / 2) / mp.gamma(mp.mpf(dim) / 2)
    return area * w ** (dim - 1) * mp.gamma(half) / mp.pi**half * total


@pytest.mark.parametrize("dim", [1, 64])
@pytest.mark.parametrize("formula", list(CASES))
def test_the_error_is_honest_and_small_near_the_frequency_and_far_out(formula, dim):
    density = lookup(sp.radial(formula), dim)
    w = np.concatenate([RADII, [0.97, 1.0, 1.41, 3.9, 4.0, 4.2]])
    values, stated = density.radial(w), density.error(w)
    envelope = sum(np.exp(c.log_envelope(w)) for c in density.components)
    with mp.workdps(90):
        true = [exact(CASES[formula], dim, x) for x in w]
        miss = np.array([float(abs(mp.mpf(v) - t)) for v, t in zip(values, true, strict=True)])
    assert np.all(miss <= stated)
    assert np.all(stated <= 2e-12 * envelope)
    # Far out the envelope is of the size of the density: no sign is left open there.
    assert abs(values[8]) >= 0.01 * envelope[8]


def test_the_tail_begins_with_the_first_power_that_is_there():
    density = lookup(sp.radial("exp(-z)*(cos(z) + sin(z))"), 2)
    (component,) = density.components
    assert component.decay == 4.0
    w = np.array([1e6, 1e7])
    assert np.diff(component.signed_log(w)[1])[0] == pytest.approx(-4.0 * np.log(10), rel=1e-6)


def test_masses_in_high_dimension_are_large_and_their_difference_is_the_kernel_at_zero():
    measure = sp.spectral_measure(sp.radial("exp(-z)*cos(3*z)"), dim=256)
    plus, minus = measure.positive_mass, measure.negative_mass
    assert minus.mid > 1e27
    assert abs(plus.mid - minus.mid - 1.0) <= plus.rad + minus.rad


def test_the_density_has_a_formula():
    density = sp.spectral_density(sp.radial("exp(-z)*cos(3*z)"), 5)
    (w,) = density.expr.free_symbols
    assert complex(density.expr.subs(w, 2)) == pytest.approx(density.density([2.0])[0], rel=1e-12)
