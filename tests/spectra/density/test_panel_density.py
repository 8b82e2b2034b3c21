"""Panels of log w hold densities to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from spectra.density.panel_density import PanelDensity, Powers, fit_pieces
from spectra.errors import AccuracyError


def sampled(density):
    """What fit_pieces asks for, of a density as a function of w."""

    def sample(middle, offset):
        w = np.exp(middle) * np.exp(offset)
        values = w * density(w)
        return values, 4e-16 * (np.abs(values) + w**4 * np.exp(-w)), np.zeros(len(w))

    return sample


def test_a_density_through_zero_is_within_its_error():
    def density(w):
        return w**2 * np.exp(-w) * np.cos(3 * w)

    pieces = fit_pieces(sampled(density), np.linspace(np.log(0.01), np.log(40.0), 9), exact=True)
    beyond = Powers.vanishing(40.0, -np.inf)
    panels = PanelDensity(pieces, 0.0, 2.0, (1.0, 2.0), np.inf, beyond, beyond)
    w = np.geomspace(0.011, 39.0, 3000)
    sign, log = panels.signed_log(w)
    miss = np.abs(sign * np.exp(log) - density(w))
    assert np.all(miss <= np.exp(panels.log_envelope(w)) * panels.relative_error(w) + 1e-300)
    assert np.max(w * miss) < 1e-14 * np.max(w * np.abs(density(w)))
    low, high = panels.find_bulk()
    assert 0.01 < low < 4.0 < high < 40.0


def test_values_that_no_polynomial_resolves_are_refused():
    rng = np.random.default_rng(0)

    def noise(t):
        return rng.normal(size=t.shape), np.full(t.shape, 1e-16), np.zeros(len(t))

    with pytest.raises(AccuracyError, match="not smooth"):
        fit_pieces(noise, [0.0, 1.0])


def test_powers_add_up_and_their_last_term_is_the_error():
    powers = Powers(np.array([-2.0, -4.0]), np.array([1.0, -1.0]), np.log([3.0, 5.0]), np.zeros(2))
    w = np.array([2.0, 50.0])
    sign, log = powers.signed_log(w)
    np.testing.assert_allclose(sign * np.exp(log), 3.0 / w**2 - 5.0 / w**4, rtol=1e-15)
    np.testing.assert_allclose(powers.relative_error(w), 5.0 / 3.0 / w**2, rtol=1e-9)
    gone = Powers.vanishing(10.0, np.log(1e-17))
    assert gone.signed_log(np.array([20.0]))[1][0] == -np.inf
    assert np.exp(gone.log_envelope(np.array([10.0])))[0] == pytest.approx(1e-17)
