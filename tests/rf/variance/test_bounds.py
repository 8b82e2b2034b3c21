"""How many columns the bounds ask for."""

from __future__ import annotations

import numpy as np
import pytest

import spectra as sp
from rf.sampling.frequencies import draw_repeatedly
from rf.variance.bounds import BOUNDS, n_components_for
from spectra.errors import DataError, ParameterError
from tests.oracles.laws import gaussian_atoms, table_of
from tests.oracles.pooling import estimates


def delta_gaussian(dim, tau):
    return table_of(dim, [(1.0, gaussian_atoms(dim, 1.0)), (-1.0, gaussian_atoms(dim, tau))])


def test_bounds_over_points_use_the_independence_of_the_parts():
    """Grouping the parts of one sample gives 2167 and 13449; apart they give less."""
    table = delta_gaussian(16, 10.0)
    log = np.log(1000 * 999 / 0.05)
    bernstein = n_components_for(table, 0.1, 0.05, n_points=1000, diameter=4.0) / 4
    hoeffding = n_components_for(table, 0.1, 0.05, n_points=1000, bound="hoeffding") / 4
    assert (2 * 0.511 + 4 / 3 * 2 * 0.1) / 0.01 * log == pytest.approx(2167, abs=1)
    assert bernstein == np.ceil((2 * 0.5109306 + 4 / 3 * 0.1) / 0.01 * log) == 1942
    assert hoeffding == pytest.approx(13449 / 2, rel=1e-3)
    loose = n_components_for(table, 0.1, 0.05, n_points=1000) / 4
    assert loose > 2 * bernstein


def test_shifts_count_with_their_weights():
    """|c_1 cos + c_2 cos| <= |c_1| + |c_2|, as for one part of that mass."""
    gauss = sp.radial("exp(-z**2/2)")
    table = sp.derive(gauss.shift([0.2, 0.0]) - 0.5 * gauss.shift([0.7, 0.0]), 2)
    found = n_components_for(table, 0.1, 0.05, n_points=9, bound="hoeffding")
    log = np.log(9 * 8 / 0.05)
    assert abs(found - 4 * len(table.parts) * np.ceil(table.mass**2 / 0.01 * log)) <= 4
    with pytest.raises(DataError, match=r"not a function of \|D\|"):
        n_components_for(table, 0.1, 0.05, n_points=9, diameter=1.0)


def test_the_bernstein_bound_holds_in_an_experiment():
    table = delta_gaussian(3, 2.0)
    points = np.random.default_rng(0).random((12, 3))
    eps, delta = 0.25, 0.2
    columns = n_components_for(table, eps, delta, n_points=12, diameter=np.sqrt(3.0))
    i, j = np.triu_indices(12, 1)
    counts = (columns // 4, columns // 4)
    drawn = draw_repeatedly(table, counts, 100, coupling="iid", radii="iid", random_state=0)
    found = estimates(drawn, points[i] - points[j])
    exact = table.expected_kernel(np.linalg.norm(points[i] - points[j], axis=1))
    assert np.sum(np.abs(found - exact).max(axis=1) > eps) <= 100 * delta


def test_what_the_bounds_do_not_cover_is_refused():
    for words, change in (
        ("n_points", {"n_points": None}),
        ("positive", {"eps": 0.0}),
        (BOUNDS[0], {"bound": "chernoff"}),
        ("allocation", {"allocation": "optimal"}),
        ("eps", {"eps": "0.1"}),
        ("eps", {"eps": np.nan}),
        ("delta", {"delta": 1.0}),
        ("whole number", {"n_points": 2.5}),
        ("diameter", {"diameter": "1"}),
        ("larger error", {"eps": 1e-12}),
    ):
        asked = {"eps": 0.1, "delta": 0.1, "n_points": 10} | change
        with pytest.raises(ParameterError, match=words):
            n_components_for(delta_gaussian(3, 2.0), **asked)
