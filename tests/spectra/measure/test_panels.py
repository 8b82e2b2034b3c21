"""Roots of series, and the panels that densities are cut into."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Legendre, Polynomial

from spectra.base.enclosures import ORDER
from spectra.density import spectral_density
from spectra.kernels.kernel import radial
from spectra.measure.panels import fit_signed_panels, radii_at
from spectra.measure.roots import split_at_roots


def series(polynomial: Polynomial) -> np.ndarray:
    out = np.zeros(ORDER)
    coef = polynomial.convert(kind=Legendre).coef
    out[: coef.size] = coef
    return out


def test_series_are_cut_where_they_change_sign():
    simple = Polynomial.fromroots([-0.7, 0.1, 0.1 + 1e-3, 0.93])
    none = Polynomial([1.0, 0.0, 1.0])
    row, low, high = split_at_roots(np.array([series(p) for p in (simple, none)]))
    assert row.tolist() == [0] * 5 + [1]
    assert low[:5] == pytest.approx([-1.0, -0.7, 0.1, 0.101, 0.93], abs=1e-12)
    assert np.array_equal(high[:4], low[1:5])


@pytest.mark.parametrize(
    ("text", "support", "dim"),
    [("exp(-z**2/2) - 3/10*exp(-z)", None, 3), ("(1 - z**2)**2", 1, 3), ("sin(z)/z", None, 1)],
)
def test_panels_follow_one_another_and_reproduce_the_density(text, support, dim):
    density = spectral_density(radial(text, support=support), dim)
    panels = fit_signed_panels(density.components, dim, cut=40.0)
    panels = panels[(panels["sign"] != 0) & (panels["power"] == 0.0)]
    near = panels[np.abs(panels["start"]) < 10.0]
    assert np.all(panels["start"] < panels["stop"])
    for share in (0.1, 0.5, 0.77):
        t = near["start"] + share * (near["stop"] - near["start"])
        w = radii_at(near, t)
        per_t = np.exp(near["side"] * t)
        value = np.array([Legendre(c)(2.0 * share - 1.0) for c in near["series"]])
        missed = np.abs(near["sign"] * value - density.radial(w) * per_t)
        assert missed.max() <= 1e-13 * np.abs(value).max()
