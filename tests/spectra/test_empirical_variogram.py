"""Empirical variograms are means over pairs, and their fits those of gstat."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import spectra as sp
from spectra.errors import DataError, ParameterError


@pytest.mark.parametrize("dim", [1, 4])
@pytest.mark.parametrize("estimator", ["matheron", "cressie"])
def test_it_is_the_mean_over_all_pairs(
    dim: int, estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spectra.variograms.empirical._BLOCK", 17)
    rng = np.random.default_rng(dim)
    X, y = rng.uniform(0, 1, (60, dim)), rng.standard_normal(60)
    found = sp.empirical_variogram(X, y, estimator=estimator)
    z, size = pdist(X), np.abs(pdist(y[:, None]))
    edges = np.linalg.norm(np.ptp(X, axis=0)) / 3 * np.arange(16) / 15
    row = 0
    for low, high in itertools.pairwise(edges):
        inside = (z > low) & (z <= high)
        if not (n := inside.sum()):
            continue
        value = 0.5 * np.mean(size[inside] ** 2)
        if estimator == "cressie":
            value = 0.5 * np.mean(size[inside] ** 0.5) ** 4 / (0.457 + 0.494 / n + 0.045 / n**2)
        row_found = found.counts[row], found.values[row], found.distances[row]
        np.testing.assert_allclose(row_found, (n, value, z[inside].mean()), rtol=1e-12)
        row += 1
    assert row == len(found.values)


def test_a_fit_of_exact_values_finds_the_parameters() -> None:
    z = np.linspace(0.1, 3, 15)
    kernel = sp.family("matern(nu=3/2)")(length=0.8)
    exact = sp.empirical_variogram(z[:, None], z, cutoff=4)
    values = 0.2 + 1.7 * (1 - kernel(exact.distances))
    made = type(exact)(exact.distances, values, exact.counts, 2)
    found = made.fit("matern")
    expected = {"nu": 1.5, "length": 0.8, "variance": 1.7, "nugget": 0.2}
    assert found.parameters == pytest.approx(expected, rel=1e-4)
    assert found(0.0) == 0.0
    assert found(1e-9) == pytest.approx(0.2, abs=1e-6)
    np.testing.assert_allclose(found.kernel(z), 1.7 * kernel(z), atol=1e-5)
    rate = made.fit("s*(1 + sqrt(3)*b*z)*exp(-sqrt(3)*b*z)")
    assert rate.parameters == pytest.approx({"b": 1.25, "s": 1.7, "nugget": 0.2}, rel=1e-5)


def test_the_spherical_fit_to_meuse_is_that_of_gstat() -> None:
    skgstat = pytest.importorskip("skgstat", reason="the data are in scikit-gstat (extra test)")
    places, zinc = skgstat.data.meuse(variable="zinc")["sample"]
    found = sp.empirical_variogram(places, np.log(np.asarray(zinc, float)[:, 0])).fit("spherical")
    expected = {"length": 897.006, "variance": 0.59061, "nugget": 0.05066}  # gstat 2.1, by hand
    for name, value in expected.items():
        assert abs(found.parameters[name] - value) < 1e-5 * max(1.0, 1e2 * value)


def test_a_picture_is_saved(tmp_path) -> None:
    rng = np.random.default_rng(0)
    fit = sp.empirical_variogram(rng.uniform(0, 9, (50, 2)), rng.standard_normal(50)).fit("laplace")
    fit.plot(path=tmp_path / "fit.png")
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert fit.empirical.plot().get_xlabel() == "distance"


@pytest.mark.parametrize(
    ("X", "y", "options", "match"),
    [
        ([[0.0], [1.0]], [0.0, np.nan], {}, "Row 1"),
        ([[0.0]], [0.0], {}, "at least two"),
        (np.eye(3), [1, 2, 3.0], {"cutoff": 0.1}, "larger"),
        (np.eye(3), [1, 1, 1.0], {"cutoff": 2}, "all values are equal"),
        (np.eye(3), [1, 2, 3.0], {"estimator": "median"}, "'matheron' or 'cressie'"),
    ],
)
def test_wrong_data_are_refused(X, y, options, match) -> None:
    with pytest.raises((DataError, ParameterError), match=match):
        sp.empirical_variogram(X, y, **options).fit("laplace")
