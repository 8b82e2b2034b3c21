"""Densities of smooth callables with several peaks, and in high dimension."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

import spectra as sp
from spectra.density import spectral_density
from spectra.errors import AccuracyError
from tests.oracles.kernels.problems import naive_density

STATED = {"decay": "gaussian", "origin": "smooth", "breaks": ()}
RADII = np.concatenate([np.geomspace(1e-2, 1.0, 6), np.linspace(1.2, 24.0, 39)])


def beats(z):
    return np.exp(-(z**2) / 50) * (1 + np.cos(20 * z))


def doubled(z):
    return np.exp(-(z**2) / 2) * (1 + np.sin(z) ** 2)


def normal_peaks(w):
    """The density of ``beats`` in one dimension: normal laws at 0 and at 20 on both sides."""
    peaks = ((0, mp.mpf(1)), (20, mp.mpf(1) / 2), (-20, mp.mpf(1) / 2))
    front = 2 * 5 / mp.sqrt(2 * mp.pi)
    return mp.fsum(front * m * mp.exp(-25 * (mp.mpf(w) - c) ** 2 / 2) for c, m in peaks)


@pytest.mark.slow
def test_a_peak_beyond_a_gap_is_found():
    density = spectral_density(sp.radial(beats, **STATED), 1)
    stated, found = density.error(RADII), density.radial(RADII)
    with mp.workdps(40):
        exact = [normal_peaks(w) for w in RADII]
        missed = [float(abs(mp.mpf(float(v)) - e)) for v, e in zip(found, exact, strict=True)]
    assert np.all(missed <= stated)
    # And errors are small where the spectrum is not.
    assert stated.max() <= 1e-6 * float(max(abs(e) for e in exact))


def test_the_masses_of_a_spectrum_with_a_gap_are_those_of_its_peaks():
    measure = sp.spectral_measure(sp.radial(beats, **STATED), 1)
    assert abs(measure.mass.mid - 2.0) <= measure.mass.rad


@pytest.mark.parametrize("dim", [1, pytest.param(7, marks=pytest.mark.slow)])
def test_a_callable_is_integrated_to_where_it_is_negligible(dim):
    """In high dimension z^(d-1) k(z) goes on where k has long been below rounding."""
    density = spectral_density(sp.radial(doubled, **STATED), dim)
    formula = sp.radial("exp(-z**2/2)*(1 + sin(z)**2)")
    for w in (0.01, 0.2857):
        with mp.workdps(30):
            half = mp.mpf(dim) / 2
            area = 2 * mp.pi**half / mp.gamma(half)
            exact = area * mp.mpf(w) ** (dim - 1) * naive_density(formula, dim, w, digits=18 + dim)
            missed = abs(mp.mpf(float(density.radial([w])[0])) - exact)
        assert missed <= density.error([w])[0], w
    peak = np.max(RADII * np.abs(density.radial(RADII)))
    assert np.all(RADII * density.error(RADII) <= 1e-10 * peak)


def test_a_callable_that_varies_without_end_is_refused():
    with pytest.raises(AccuracyError, match="frequencies"):
        spectral_density(sp.radial(lambda z: np.exp(-z), origin="smooth", decay="exponential"), 1)
