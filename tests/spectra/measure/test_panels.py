"""Roots of series, and the panels that densities are cut into."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Legendre, Polynomial

from spectra.base.piecewise import Piecewise
from spectra.base.series import ORDER
from spectra.density import spectral_density
from spectra.kernels.kernel import radial
from spectra.measure.panels import fit_signed


def series(polynomial: Polynomial) -> np.ndarray:
    out = np.zeros(ORDER)
    coef = polynomial.convert(kind=Legendre).coef
    out[: coef.size] = coef
    return out


def test_series_are_cut_where_they_change_sign():
    simple = Polynomial.fromroots([-0.7, 0.1, 0.1 + 1e-3, 0.93])
    none = Polynomial([1.0, 0.0, 1.0])
    charts = [[0.0, 1.0, -1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 2.0, 0.0]]
    pieces, _ = Piecewise(charts, [series(p) for p in (simple, none)]).split()
    assert pieces.charts[:5, 2] == pytest.approx([-1.0, -0.7, 0.1, 0.101, 0.93], abs=1e-12)
    assert pieces.charts[:, 3].tolist() == [*pieces.charts[1:, 2], 2.0]


@pytest.mark.parametrize(
    ("text", "support", "dim"),
    [("exp(-z**2/2) - 3/10*exp(-z)", None, 3), ("(1 - z**2)**2", 1, 3), ("sin(z)/z", None, 1)],
)
def test_panels_follow_one_another_and_reproduce_the_density(text, support, dim):
    density = spectral_density(radial(text, support=support), dim)
    signed = fit_signed(density.components, dim, cut=40.0)
    kept = (signed.sign != 0) & signed.pieces.are_series & (np.abs(signed.pieces.charts[:, 2]) < 10)
    near, sign = signed.pieces[kept], signed.sign[kept]
    assert np.all(near.half_widths > 0.0)
    each = np.arange(near.size)
    for x in (-0.8, 0.0, 0.54):
        w = near.radius(each, np.full(near.size, x))
        value = near.at(each, np.full(near.size, x))
        missed = np.abs(sign * value - density.radial(w) * np.abs(w - near.charts[:, 0]))
        assert missed.max() <= 1e-13 * np.abs(value).max()
