"""Auto takes the coupling whose draws, as they are really made, have the least variance."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import MinMaxScaler

from rf.inputs.rows import sample_of_rows, typical_distances
from rf.sampling.coupling import iid
from rf.sampling.frequencies import COUPLINGS, draw_repeatedly
from rf.schemes.table_scheme import SamplingOptions, scheme_for
from rf.variance.allocation import auto_couplings, ranked_couplings
from rf.variance.variance import VarianceModel
from spectra.errors import ParameterError
from tests.oracles.laws import gaussian_mixture, matern_law, table_of


@cache
def distances(data):
    """Typical distances of real rows: unit rows of digits, wine scaled to the cube."""
    if data == "digits":
        X = load_digits().data[:300]
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    else:
        X = MinMaxScaler().fit_transform(load_wine().data)
        if data == "three columns of wine":
            X = 4.0 * X[:, :3]
    return X.shape[1], typical_distances(sample_of_rows(X, np.random.default_rng(0)))


KERNELS = {
    "Gaussian": lambda d: gaussian_mixture(d, [(1.0, 0.5)]),
    "delta-Gaussian (1, 10)": lambda d: gaussian_mixture(d, [(1.0, 1.0), (-1.0, 10.0)]),
    "delta-Gaussian (1, 2)": lambda d: gaussian_mixture(d, [(1.0, 1.0), (-1.0, 2.0)]),
    "Laplace": lambda d: table_of(d, [(1.0, matern_law(d, 0.5))]),
}


def model_of(kernel, data):
    dim, z = distances(data)
    return VarianceModel(KERNELS[kernel](dim), z)


def plans_of(model, n, radii="stratified", allocation="optimal", couplings=None):
    couplings = couplings or auto_couplings(len(model.table.parts), n)
    return ranked_couplings(model, n, couplings=couplings, radii=radii, allocation=allocation)


def measured(model, plan, draws, radii="stratified"):
    """The mean squared error of a plan over the distances, and its standard error."""
    table, z = model.table, model.points.values
    rng = np.random.default_rng(0)
    drawn = draw_repeatedly(
        table, plan.counts, draws, coupling=plan.coupling, radii=radii, random_state=rng
    )
    exact = sum(p.sign * p.mass * p.law.expected_plane_wave(table.dim, z) for p in table.parts)
    square = np.array(
        [
            np.mean((f.estimate(z[:, None] * iid(z.size, table.dim, rng)) - exact) ** 2)
            for f in drawn
        ]
    )
    return square.mean(), square.std() / np.sqrt(draws)


CASES = [
    ("wine", "Gaussian", 32),
    ("three columns of wine", "delta-Gaussian (1, 2)", 24),
    pytest.param("digits", "delta-Gaussian (1, 10)", 70, marks=pytest.mark.slow),
    pytest.param("three columns of wine", "Laplace", 100, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("data", "kernel", "n"), CASES)
def test_the_plan_taken_has_the_least_measured_error_and_each_prediction_is_met(data, kernel, n):
    model = model_of(kernel, data)
    plans = plans_of(model, n)
    errors = [measured(model, plan, 200) for plan in plans]
    for plan, (found, deviation) in zip(plans, errors, strict=True):
        assert abs(found - plan.variance) < 6 * deviation + 0.02 * plan.variance
    taken, its_deviation = errors[0]
    for other, deviation in errors[1:]:
        assert taken < other + 5 * np.hypot(deviation, its_deviation)
    # Where a large gap is predicted, the worst plan is worse than noise.
    if plans[-1].variance > 1.5 * plans[0].variance:
        assert errors[-1][0] > taken + 5 * np.hypot(errors[-1][1], its_deviation)


@pytest.mark.parametrize("allocation", ["equal", "mass", "optimal"])
def test_every_plan_splits_all_frequencies_and_the_best_split_wins(allocation):
    model = model_of("delta-Gaussian (1, 10)", "wine")
    plans = plans_of(model, 40, allocation=allocation)
    assert {sum(plan.counts) for plan in plans} == {40}
    assert plans[0].variance >= plans_of(model, 40)[0].variance


def test_directions_are_designed_where_that_helps_and_costs_little():
    model = model_of("Gaussian", "wine")
    assert plans_of(model, 64)[0].coupling == "designed"
    assert "designed" not in [p.coupling for p in plans_of(model, 13)]  # no more than d rows
    large = VarianceModel(gaussian_mixture(100, [(1.0, 1.0)]), np.ones(1))
    assert "designed" not in [p.coupling for p in plans_of(large, 400)]  # too dear


def test_a_coupling_that_does_not_gain_does_not_gain_with_fewer_frequencies():
    for name in COUPLINGS:
        for dim in (1, 3, 16, 64):
            gains = [COUPLINGS[name].is_worthwhile(n, dim) for n in range(1, 5 * dim)]
            assert gains == sorted(gains)


@pytest.mark.parametrize("dim", [2, 64])
def test_a_rough_variance_holds_where_phases_leave_the_table_of_waves(dim):
    """Radii of a Laplace kernel, times these distances, are in the thousands."""
    model = VarianceModel(table_of(dim, [(1.0, matern_law(dim, 0.5))]), np.array([0.5, 60.0]))
    exact = model.variance((10,), coupling="orthogonal", radii="stratified")[0]
    rough, _ = model.approximation.variance((10,), coupling="orthogonal", radii="stratified")
    np.testing.assert_allclose(rough, exact, rtol=0.01)


def test_one_frequency_has_no_coupling_and_no_part_goes_without():
    assert auto_couplings(2, 1) == ("iid",)
    model = model_of("delta-Gaussian (1, 2)", "wine")
    with pytest.raises(ParameterError, match="2 parts"):
        plans_of(model, 1)


@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_equal_rows_are_planned_for_once_and_changed_ones_anew(kind):
    table = gaussian_mixture(3, [(1.0, 1.0), (-1.0, 2.0)])
    rows = kind(np.random.default_rng(0).normal(size=(40, 3)))
    options = SamplingOptions("auto", "stratified", "optimal")
    scheme = scheme_for(table, 20, options, rows)
    assert scheme_for(table, 20, options, rows.copy()) is scheme
    assert scheme_for(table, 22, options, rows) is not scheme
    untouched = scheme_for(table, 20, options, rows.copy()).expected_error()
    rows *= 3.0  # after which the scheme still belongs to the rows that it was made for
    other = scheme_for(table, 20, options, rows)
    assert other is not scheme
    assert scheme.expected_error() == untouched
    assert other.expected_error() != pytest.approx(untouched, rel=0.01)
