"""How many columns the bounds ask for."""

from __future__ import annotations

import numpy as np
import pytest

from rf.inputs.tables import resolve_spectrum
from rf.sampling.directions import iid
from rf.variance.bounds import BOUNDS, _radial_moments, frequencies_for, n_components_for
from spectra.errors import ParameterError
from tests.oracles.laws import gaussian_atoms, table_of


def delta_gaussian(dim, tau):
    return table_of(dim, [(1.0, gaussian_atoms(dim, 1.0)), (-1.0, gaussian_atoms(dim, tau))])


def test_the_uniform_bound_of_the_delta_gaussian_on_the_cube():
    n = frequencies_for(delta_gaussian(16, 10.0), 0.1, 0.05, diameter=4.0, bound="uniform")
    assert n / 2 == pytest.approx(7.29e4, rel=2e-3)


def test_bounds_over_points_use_the_independence_of_the_parts():
    """Grouping the parts of one sample gives 2167 and 13449; apart they give less."""
    table = delta_gaussian(16, 10.0)
    log = np.log(1000 * 999 / 0.05)
    bernstein = frequencies_for(table, 0.1, 0.05, n_points=1000, diameter=4.0) / 2
    hoeffding = frequencies_for(table, 0.1, 0.05, n_points=1000, bound="hoeffding") / 2
    assert (2 * 0.511 + 4 / 3 * 2 * 0.1) / 0.01 * log == pytest.approx(2167, abs=1)
    assert bernstein == pytest.approx((2 * 0.5109306 + 4 / 3 * 0.1) / 0.01 * log, rel=1e-6)
    assert hoeffding == pytest.approx(13449 / 2, rel=1e-3)
    assert n_components_for(table, 0.1, 0.05, n_points=1000, diameter=4.0) == 4 * 1942
    loose = frequencies_for(table, 0.1, 0.05, n_points=1000)
    assert loose > 2 * bernstein


def test_the_bernstein_bound_holds_in_an_experiment():
    table = delta_gaussian(3, 2.0)
    rng = np.random.default_rng(0)
    points = rng.random((12, 3))
    eps, delta = 0.25, 0.2
    columns = n_components_for(table, eps, delta, n_points=12, diameter=np.sqrt(3.0))
    n = columns // 4
    i, j = np.triu_indices(12, 1)
    difference = points[i] - points[j]
    length = np.linalg.norm(difference, axis=1)
    exact = sum(p.sign * p.law.expected_plane_wave(3, length) for p in table.parts)
    failures = 0
    for _ in range(100):
        estimate = np.zeros(i.size)
        for p in table.parts:
            w = iid(n, 3, rng) * p.law.ppf(rng.random((n, 1)))
            estimate += p.sign * np.cos(difference @ w.T).mean(axis=1)
        failures += np.max(np.abs(estimate - exact)) > eps
    assert failures <= 100 * delta


def test_bounds_refuse_what_they_do_not_cover():
    table = delta_gaussian(3, 2.0)
    with pytest.raises(ParameterError, match="n_points"):
        n_components_for(table, 0.1, 0.1)
    with pytest.raises(ParameterError, match="diameter"):
        n_components_for(table, 0.1, 0.1, bound="uniform")
    with pytest.raises(ParameterError, match="positive"):
        n_components_for(table, 0.0, 0.1, n_points=5)
    with pytest.raises(ParameterError, match=BOUNDS[0]):
        n_components_for(table, 0.1, 0.1, n_points=5, bound="chernoff")
    with pytest.raises(ParameterError, match="not covered"):
        n_components_for(table, 0.1, 0.1, diameter=1.0, bound="uniform", allocation="mass")


@pytest.mark.parametrize(
    ("formula", "dim", "curvature"),
    [
        ("exp(-z**2/2)", 1, 1.0),
        pytest.param("exp(-z**2/2) - exp(-z**2/8)", 16, 0.75, marks=pytest.mark.slow),
    ],
)
def test_bounds_over_a_ball_serve_tables_of_smooth_kernels(formula, dim, curvature):
    """Their second moments give -k''(0) = sum of signed m E R^2 / d."""
    table = resolve_spectrum(formula, dim).table
    moments = [_radial_moments(p.law) for p in table.parts]
    found = sum(
        p.sign * p.mass * second for p, (_, second) in zip(table.parts, moments, strict=True)
    )
    assert found / dim == pytest.approx(curvature, rel=1e-3)
    assert n_components_for(table, 0.5, 0.1, diameter=1.0, bound="uniform") > 100


@pytest.mark.parametrize(
    ("formula", "dim", "power"), [("exp(-z)", 3, "1"), ("exp(-z**1.5)", 2, "1.5")]
)
def test_bounds_over_a_ball_refuse_kernels_that_are_not_smooth(formula, dim, power):
    table = resolve_spectrum(formula, dim).table
    with pytest.raises(ParameterError, match=rf"like w\^\(-{power}\) .* second moment is infinite"):
        n_components_for(table, 0.5, 0.1, diameter=1.0, bound="uniform")


def test_invalid_numbers_are_refused():
    for words, change in (
        ("eps", {"eps": "0.1"}),
        ("eps", {"eps": np.inf}),
        ("eps", {"eps": np.nan}),
        ("delta", {"delta": 1.0}),
        ("whole number", {"n_points": 2.5}),
        ("whole number", {"n_points": np.inf}),
        ("whole number", {"n_points": "10"}),
        ("diameter", {"diameter": "1"}),
        ("larger error", {"eps": 1e-12}),
        ("larger error", {"eps": 1e-200}),
    ):
        asked = {"eps": 0.1, "delta": 0.1, "n_points": 10} | change
        with pytest.raises(ParameterError, match=words):
            n_components_for(delta_gaussian(3, 2.0), **asked)
