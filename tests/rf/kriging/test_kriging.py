"""Kriging agrees with other libraries, with brute force, and with simulated truth."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import spectra as sp
from rf import Kriging, SpectralFeatures
from rf.kriging.likelihood import VecchiaLikelihood
from spectra.errors import DataError, ParameterError
from tests.oracles.kriging import LENGTH, NUGGET, VARIANCE, data, frozen

FIXED = sp.family("s*exp(-z/l)", s=VARIANCE, l=LENGTH)
CASES = ["ordinary", "linear", "column", "noise"]


def simulated(
    n: int, seed: int, length: float = 1.0, dim: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Points of [0, 8]^dim, and values of a Matern 3/2 field of variance 1, nugget 0.1, mean 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 8, (n, dim))
    V = sp.catalogue["matern"](nu=1.5).gram(X / length) + 0.1 * np.eye(n)
    return X, np.linalg.cholesky(V) @ rng.standard_normal(n) + 2.0


def fixed_case(name: str) -> tuple[Kriging, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A model with known parameters, its rows, values, errors, and new rows."""
    X, y, column, errors, new, new_column = data()
    drift: object = "linear" if name == "linear" else "constant"
    if name == "column":
        X, new, drift = np.column_stack([X, column]), np.column_stack([new, new_column]), [2]
    noise = errors if name == "noise" else np.full(len(y), np.sqrt(NUGGET))
    return Kriging(FIXED, drift=drift, nugget=False), X, y, noise, new


@pytest.mark.parametrize("name", CASES)
def test_kriging_is_that_of_pykrige_and_gstools_and_of_fits_without_a_row(name: str) -> None:
    model, X, y, noise, new = fixed_case(name)
    mean, std = model.fit(X, y, noise=noise).predict(new, return_std=True)
    expected_mean, expected_variance = frozen()[name]
    np.testing.assert_allclose(mean, expected_mean, atol=1e-11)
    # PyKrige predicts values, GSTools the field.
    np.testing.assert_allclose(
        std**2 + (0.0 if name == "noise" else NUGGET), expected_variance, atol=1e-11
    )
    found, i = model.cross_validate(), 7
    rest = np.arange(len(y)) != i
    other = clone(model).fit(X[rest], y[rest], noise=noise[rest])
    mean, std = other.predict(X[[i]], return_std=True)
    assert abs(found.predictions[i] - mean[0]) < 1e-10
    assert abs(found.std[i] - np.hypot(std[0], noise[i])) < 1e-10


def test_paths_have_the_kriging_mean_and_variance() -> None:
    X, y, _, errors, new, _ = data()
    model = Kriging(FIXED, drift="linear", nugget=False, random_state=0).fit(X, y, noise=errors)
    mean, std = model.predict(new, return_std=True)
    paths = model.sample(new, n_paths=400, n_components=512)
    assert np.all(np.abs(paths.mean(axis=0) - mean) < 6.0 * std / np.sqrt(400))
    spread = (paths - mean) ** 2
    error = spread.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(spread.mean(axis=0) - std**2) < 6.0 * error)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-3, 0.0), (1.0, 5e6)])
def test_the_likelihood_is_not_below_that_of_scikit_learn(scale: float, shift: float) -> None:
    X, y = simulated(100, 0)
    X, y = scale * 1000 * X + shift, y - y.mean()
    model = Kriging("matern(nu=3/2)", method="ml", drift=None).fit(X, y)
    estimate = model.parameters_
    kernel = ConstantKernel(0.5, (1e-4, 1e4)) * Matern(
        estimate["length"], (estimate["length"] / 100, estimate["length"] * 100), nu=1.5
    ) + WhiteKernel(0.3, (1e-6, 1e2))
    best = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=1, random_state=0)
    assert model.log_likelihood_ > best.fit(X, y).log_marginal_likelihood_value_ - 1e-6
    fixed = ConstantKernel(estimate["variance"]) * Matern(estimate["length"], nu=1.5)
    fixed += WhiteKernel(estimate["nugget"])
    exact = GaussianProcessRegressor(fixed, alpha=0.0, optimizer=None).fit(X, y)
    assert model.log_likelihood_ == pytest.approx(exact.log_marginal_likelihood_value_, abs=1e-6)


def restricted(X, y, F, values) -> float:
    """The restricted log likelihood of a Matern 3/2 kernel, term by term."""
    n, p = F.shape
    V = values["variance"] * sp.catalogue["matern"](nu=1.5).gram(X / values["length"])
    V += values["nugget"] * np.eye(n)
    inverse = np.linalg.inv(V)
    beta = np.linalg.solve(F.T @ inverse @ F, F.T @ inverse @ y)
    rest = y - F @ beta
    logs = np.linalg.slogdet(V)[1] + np.linalg.slogdet(F.T @ inverse @ F)[1]
    logs -= np.linalg.slogdet(F.T @ F)[1]
    return -0.5 * (logs + rest @ inverse @ rest + (n - p) * np.log(2 * np.pi))


def test_the_restricted_likelihood_is_its_formula_and_the_estimate_its_maximum() -> None:
    X, y = simulated(80, 1)
    model = Kriging("matern(nu=3/2)", drift="linear").fit(X, 3.0 * y)
    F = np.column_stack([np.ones(len(y)), X])
    assert model.log_likelihood_ == pytest.approx(restricted(X, 3 * y, F, model.parameters_))
    for name in model.parameters_:
        for factor in (0.98, 1.02):
            moved = model.parameters_ | {name: factor * model.parameters_[name]}
            assert restricted(X, 3 * y, F, moved) < model.log_likelihood_
    low, high = model.intervals()["nugget"]
    assert low < model.nugget_ < high
    # At the end of an interval the likelihood, maximised over the rest, is lower by 1.92.
    likelihood, q = model._likelihood, model._optimum.q
    j = model._model.names.index("nugget")

    def loss(rest: np.ndarray) -> float:
        return likelihood.loss(np.insert(rest, j, np.log(high)))[0]

    found = minimize(loss, np.delete(q, j), method="Nelder-Mead", options={"fatol": 1e-3})
    assert found.fun - model._optimum.loss == pytest.approx(3.84, abs=0.05)


@pytest.mark.slow
def test_intervals_cover_the_truth() -> None:
    hits = dict.fromkeys(("length", "variance", "nugget"), 0)
    for seed in range(40):
        found = Kriging("matern(nu=3/2)", n_starts=1).fit(*simulated(100, 100 + seed)).intervals()
        for name, truth in (("length", 1.0), ("variance", 1.0), ("nugget", 0.1)):
            hits[name] += found[name][0] <= truth <= found[name][1]
    # Of 40, 38 in the mean; fewer than 32 have a probability below 1e-3.
    assert min(hits.values()) >= 32, hits


# --- parameters, anisotropy, many rows ------------------------------------------------------------


def test_a_symbol_that_scales_is_the_length_or_the_variance() -> None:
    X, y = simulated(60, 2)
    plain = Kriging("matern(nu=3/2)").fit(X, y)
    text = Kriging("s*(1 + b*z)*exp(-b*z)").fit(X, y)
    expected = {"b": 3**0.5 / plain.length_scale_, "s": plain.parameters_["variance"]}
    assert text.parameters_ == pytest.approx(expected | {"nugget": plain.nugget_}, rel=1e-3)
    assert text.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-8)
    z = np.array([0.0, 0.5, 2.0])
    values = [m.kernel_(z / m.length_scale_) for m in (plain, text)]
    np.testing.assert_allclose(*values, rtol=1e-3)
    joint = Kriging("a*exp(-z/b) + c*exp(-z**2/d**2)", n_starts=1).fit(X, y)
    assert set(joint.parameters_) == {"a", "b", "c", "d", "nugget"}
    assert joint.length_scale_ == 1.0


def test_an_anisotropy_is_found_with_its_lengths_and_angle() -> None:
    rng, angle, lengths = np.random.default_rng(3), np.radians(30), np.array([3.0, 1.0])
    axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    X = rng.uniform(0, 12, (250, 2))
    V = sp.catalogue["matern"](nu=1.5).gram(X @ axes / lengths) + 0.02 * np.eye(250)
    y = np.linalg.cholesky(V) @ rng.standard_normal(250)
    model = Kriging("matern(nu=3/2)", anisotropy="rotated", n_starts=1).fit(X, y)
    found = model.parameters_
    assert abs(found["angle"] - 30) < 6
    assert 0.6 < found["length_0"] / 3 < 1.6
    assert 0.6 < found["length_1"] < 1.6
    M = model.length_scale_
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvalsh(M)), [found["length_1"], found["length_0"]], rtol=1e-8
    )
    straight = Kriging("matern(nu=3/2)", anisotropy="axes", n_starts=1).fit(X @ axes, y)
    assert straight.length_scale_ == pytest.approx([found["length_0"], found["length_1"]], rel=0.2)
    with pytest.raises(ParameterError, match="no single length"):
        Kriging("exp(-z/a) + exp(-z/b)", anisotropy="axes").fit(X, y)


@pytest.mark.filterwarnings("ignore:The")
@pytest.mark.parametrize(("dim", "anisotropy"), [(1, None), (2, "rotated")])
def test_the_gradient_of_vecchias_likelihood_is_its_slope(dim: int, anisotropy) -> None:
    X, y = simulated(120, 4, dim=dim)
    family = "rational_quadratic"
    model = Kriging(family, drift="linear", anisotropy=anisotropy, n_starts=1).fit(X, y)
    exact = model._likelihood
    arguments = (exact.model, exact.X, exact.y, exact.F, exact.noise, True)
    q, step = model._optimum.q + 0.1, 1e-5
    near = VecchiaLikelihood(*arguments, m=12)
    slope = [
        (near.loss(q + e)[0] - near.loss(q - e)[0]) / (2 * step) for e in step * np.eye(len(q))
    ]
    np.testing.assert_allclose(near.loss(q)[1], slope, rtol=1e-4, atol=1e-3)
    # With all predecessors the approximation is exact.
    everything = VecchiaLikelihood(*arguments, m=119)
    for found, expected in zip(everything.loss(q), exact.loss(q), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_few_neighbours_give_nearly_the_exact_predictions() -> None:
    X, y = simulated(150, 5)
    fixed = sp.family("s*(1 + 2*z)*exp(-2*z)", s=1)
    exact, near = (Kriging(fixed, n_neighbors=k, n_starts=1).fit(X, y) for k in (None, 25))
    assert abs(near.log_likelihood_ - exact.log_likelihood_) < 1.0
    assert near.nugget_ == pytest.approx(exact.nugget_, rel=0.1)
    new = np.random.default_rng(0).uniform(0, 8, (50, 2))
    (mean, std), (other, deviation) = (m.predict(new, return_std=True) for m in (exact, near))
    assert np.abs(mean - other).max() < 0.3 * std.min()
    np.testing.assert_allclose(deviation, std, rtol=0.1)
    assert near.cross_validate().rmse == pytest.approx(exact.cross_validate().rmse, rel=0.02)


def test_an_estimator_of_scikit_learn(tmp_path) -> None:
    pandas = pytest.importorskip("pandas", reason="data frames")
    X, y = simulated(60, 6)
    frame = pandas.DataFrame({"east": X[:, 0], "north": X[:, 1], "depth": X[:, 0] ** 2})
    model = Kriging("laplace", drift=["depth"]).fit(frame, y)
    assert list(model.coef_) == ["constant", "depth"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert model.score(frame, y) > 0.3
    text = model.summary()
    assert "drift depth" in text
    assert "95 % interval" in text
    assert "restricted" in text
    plain = Kriging("laplace", method="variogram").fit(X, y)
    plain.plot(path=tmp_path / "map.png")
    assert (tmp_path / "map.png").exists()
    assert plain.variogram_.parameters == pytest.approx(plain.parameters_)
    features = SpectralFeatures(plain.kernel_, length_scale=plain.length_scale_, n_components=64)
    assert features.fit(X).kernel_ == plain.kernel_


def test_an_interrupted_fit_has_the_best_parameters_so_far(monkeypatch) -> None:
    X, y = simulated(60, 7)
    from rf.kriging.likelihood import ExactLikelihood

    calls, original = [], ExactLikelihood._evaluate

    def evaluate(self, q):
        calls.append(q)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return original(self, q)

    monkeypatch.setattr(ExactLikelihood, "_evaluate", evaluate)
    with pytest.warns(UserWarning, match="interrupted: the parameters are the best so far"):
        model = Kriging("matern(nu=3/2)").fit(X, y)
    assert not model.converged_
    assert np.isfinite(model.predict(X)).all()


# --- refusals and warnings ------------------------------------------------------------------------

RNG = np.random.default_rng(8)
X20, Y20 = RNG.uniform(0, 1, (20, 2)), RNG.standard_normal(20)
BAD = np.where(np.arange(20) == 3, np.nan, Y20)


@pytest.mark.parametrize(
    ("options", "rows", "values", "match"),
    [
        ({}, X20, BAD, "y in row 3 is not finite"),
        ({}, np.where(np.arange(40).reshape(20, 2) == 9, np.inf, X20), Y20, "Row 4 of X"),
        ({}, X20, np.ones(20), "are constant"),
        ({"drift": "linear"}, X20, X20[:, 0], "explained by the drift"),
        ({}, X20[:3], Y20[:3], "too few"),
        ({"drift": "linear"}, X20[:, [0, 0]], Y20, "linearly dependent"),
        ({"nugget": False}, X20[[0, *range(19)]], Y20, "rows 0 and 1 coincide"),
        ({"family": "spherical"}, RNG.uniform(size=(20, 4)), Y20, r"on R\^4 for no value"),
        ({"method": "bayes"}, X20, Y20, "method = 'bayes'"),
        ({"drift": "cubic"}, X20, Y20, "drift = 'cubic'"),
        ({"drift": [5]}, X20, Y20, "the columns x0, x1"),
        ({"anisotropy": "both"}, X20, Y20, "anisotropy = 'both'"),
    ],
)
def test_data_and_options_that_cannot_be_fitted_are_refused(
    options: dict, rows, values, match: str
) -> None:
    with pytest.raises((DataError, ParameterError), match=match):
        Kriging(**options).fit(rows, values)


def test_estimates_that_the_data_do_not_determine_are_named() -> None:
    line = np.linspace(0, 1, 40)[:, None]
    walk = np.cumsum(1.0 + np.random.default_rng(9).standard_normal(40))
    with pytest.warns(UserWarning, match="only the ratio variance/length"):
        Kriging("laplace", nugget=False).fit(line, walk)
    white = np.random.default_rng(0).standard_normal(40)
    with pytest.warns(UserWarning, match="below the least distance of two points"):
        Kriging("laplace", nugget=False).fit(line, white)
    with pytest.warns(UserWarning, match="nugget is at its lower bound"):
        Kriging("gaussian").fit(line, np.sin(9 * line[:, 0]))
    rng = np.random.default_rng(1)
    germany = np.column_stack([rng.uniform(6, 15, 30), rng.uniform(47, 55, 30)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Kriging("laplace", method="variogram").fit(germany, rng.standard_normal(30))
    assert any("look like degrees" in str(w.message) for w in caught)
