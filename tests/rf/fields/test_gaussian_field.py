"""Gaussian fields have the covariance of their kernel, at every lag."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import spectra as sp
from rf import GaussianField
from rf.fields.vecchia import neighbour_blocks, vecchia_factor
from spectra.errors import AccuracyError, DataError, InfiniteMassError, ParameterError

LAGS = np.array([0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0])
SPHERICAL = sp.radial("1 - 3*z/2 + z**3/2", support=1)
EXPONENTIAL = sp.radial("exp(-z)")
SMOOTH = sp.radial("exp(-z**2/2)")
DRAWS = 100


def implied_covariances(field: GaussianField) -> np.ndarray:
    """Of every draw, along the first axis, at the lags."""
    rows = np.outer(LAGS, np.eye(field.dim)[0])
    return np.array([field.path(j).frequencies.estimate(rows) for j in range(DRAWS)])


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [(EXPONENTIAL, 1), (SMOOTH, 3), pytest.param(SPHERICAL, 3, marks=pytest.mark.slow)],
    ids=str,
)
def test_the_mean_of_what_draws_imply_is_the_kernel_and_their_spread_is_the_stated_error(
    kernel: sp.Kernel, dim: int
) -> None:
    field = GaussianField(kernel, dim, n_components=64, random_state=3)
    implied, error = implied_covariances(field), field.covariance_error(LAGS)
    off = (implied.mean(axis=0) - kernel(LAGS)) / (error / np.sqrt(DRAWS))
    assert np.abs(off).max() < 6.0
    square = (implied - kernel(LAGS)) ** 2
    spread = square.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    assert np.all(np.abs(square.mean(axis=0) - error**2) < 6.0 * spread)


def test_a_path_is_a_function_whatever_else_is_asked_and_in_whatever_order() -> None:
    X = np.random.default_rng(0).uniform(-3, 3, (5000, 3))
    order = np.random.default_rng(1).permutation(len(X))
    field, again = (GaussianField(EXPONENTIAL, 3, random_state=7) for _ in range(2))
    whole = field(X)
    assert np.abs(again(X[order]) - whole[order]).max() < 1e-12
    assert abs(again(X[4321:4322])[0] - whole[4321]) < 1e-12
    assert np.abs(field.path(1)(X[:5]) - whole[:5]).max() > 1e-3
    assert np.abs(GaussianField(EXPONENTIAL, 3, random_state=8)(X[:5]) - whole[:5]).max() > 1e-3


@pytest.mark.parametrize(("dim", "tol"), [(1, 0.02), pytest.param(3, 0.05, marks=pytest.mark.slow)])
def test_the_number_of_components_for_an_error_is_enough_and_half_of_it_is_not(
    dim: int, tol: float
) -> None:
    n = GaussianField(EXPONENTIAL, dim).n_components_for(tol, LAGS)
    enough, half = (GaussianField(EXPONENTIAL, dim, n_components=m) for m in (n, 2 * (n // 4)))
    assert enough.covariance_error(LAGS).max() <= tol < half.covariance_error(LAGS).max()


# --- conditioning -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_paths_go_through_the_data(solver: str) -> None:
    X = np.random.default_rng(3).uniform(size=(40, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    given = GaussianField(EXPONENTIAL, 2, random_state=0).condition(X, y, solver=solver)
    assert np.abs(given.sample(X, n_paths=3) - y).max() < 1e-7
    assert np.abs(given.mean(X) - y).max() < 1e-7
    again = pickle.loads(pickle.dumps(given))
    assert np.array_equal(again.sample(X, n_paths=3), given.sample(X, n_paths=3))


@pytest.mark.parametrize("held", [0, 400])
@pytest.mark.parametrize("drift", [None, "linear"])
def test_conjugate_gradients_solve_the_same_equations(
    held: int, drift: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rf.fields.conditioned._MOST_IN_MEMORY", held)
    rng = np.random.default_rng(3)
    X, noise = rng.uniform(size=(300, 2)), rng.uniform(0.05, 0.2, 300)
    field = GaussianField(EXPONENTIAL, 2, n_components=64, random_state=0)
    by_gradients, exact = (
        field.condition(X, np.sin(5 * X[:, 0]), noise=noise, drift=drift, solver=solver)
        for solver in ("cg", "cholesky")
    )
    new = X[:20] + 0.01
    assert np.abs(by_gradients.mean(new) - exact.mean(new)).max() < 1e-8
    paths = [given.sample(new, n_paths=3) for given in (by_gradients, exact)]
    assert np.abs(paths[0] - paths[1]).max() < 1e-8


@pytest.mark.parametrize("dim", [1, 3])
def test_the_vecchia_factor_is_the_inverse_if_all_predecessors_are_neighbours(dim: int) -> None:
    X = np.random.default_rng(0).uniform(size=(60, dim))
    K = EXPONENTIAL.gram(X) + 0.1 * np.eye(60)
    errors = []
    for m in (59, 15, 5):
        W = vecchia_factor(neighbour_blocks(X, m), lambda i: K[i[:, :, None], i[:, None]]).toarray()
        assert np.count_nonzero(W, axis=1).max() == m + 1
        errors.append(np.abs(W @ K @ W.T - np.eye(60)).max())
    assert errors[0] < 1e-12 < errors[1] < errors[2] < 1.0
    blocks = neighbour_blocks(X[:, :1], 5)
    rows = np.concatenate([b[:, -1] for b in blocks])
    rank = np.argsort(rows)
    assert np.array_equal(np.sort(rows), np.arange(60))
    assert all((rank[b[:, :-1]] < rank[b[:, -1:]]).all() for b in blocks)


@pytest.mark.parametrize("drift", ["constant", "linear", "columns"])
def test_a_drift_is_that_of_universal_kriging(drift: str) -> None:
    X, y, new = scattered(2, 12, np.ones(2), 3)
    noise = np.linspace(0.1, 0.4, 12)
    columns = {
        "constant": lambda Z: np.ones((len(Z), 1)),
        "linear": lambda Z: np.column_stack([np.ones(len(Z)), Z]),
        "columns": lambda Z: np.column_stack([np.ones(len(Z)), np.exp(Z)]),
    }[drift]
    given = columns(X) if drift == "columns" else drift
    at_new = columns(new) if drift == "columns" else None
    field = GaussianField(SPHERICAL, 2, n_components=64, length_scale=3.0, random_state=1)
    found = field.condition(X, y + 100.0, noise=noise, drift=given)
    # The equations with Lagrange multipliers, of which the last rows are the constraints.
    F, f, p = columns(X), columns(new), columns(X).shape[1]
    V = field.covariance_matrix(X, X) + np.diag(noise**2)
    c = field.covariance_matrix(X, new)
    system = np.block([[V, F], [F.T, np.zeros((p, p))]])
    solution = np.linalg.solve(system, np.concatenate([c, f.T]))
    mean = solution[:12].T @ (y + 100.0)
    variance = 1.0 - np.sum(solution * np.concatenate([c, f.T]), axis=0)
    assert np.abs(found.mean(new, drift=at_new) - mean).max() < 1e-9
    assert np.abs(found.std(new, drift=at_new) ** 2 - variance).max() < 1e-9
    paths = found.sample(new, n_paths=200, drift=at_new)
    assert np.all(np.abs(paths.mean(axis=0) - mean) < 6.0 * np.sqrt(variance / 200))
    if drift == "columns":
        with pytest.raises(ParameterError, match="pass drift="):
            found.mean(new)
        return
    axes = [np.linspace(0, 1, 3), np.linspace(0, 1, 4)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    assert np.abs(found.on_grid(*axes).ravel() - found(points)).max() < 1e-10
    e = np.array([1e-6, 0.0])
    slope = (found.mean(new + e) - found.mean(new - e)) / 2e-6
    assert np.abs(found.mean_gradient(new)[:, 0] - slope).max() < 1e-6


def test_wrong_noise_and_drift_are_refused() -> None:
    field, X, y = GaussianField(SMOOTH, 2, n_components=64), np.eye(2), [0.0, 1.0]
    with pytest.raises(ParameterError, match="one for each of the 2 rows"):
        field.condition(X, y, noise=[0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="finite standard deviations"):
        field.condition(X, y, noise=[0.1, -0.2])
    with pytest.raises(ParameterError, match="drift = 'cubic'"):
        field.condition(X, y, drift="cubic")
    with pytest.raises(DataError, match="too few for a drift"):
        field.condition(X, y, drift="linear")
    with pytest.raises(DataError, match="one row for each"):
        field.condition(X, y, drift=np.ones(3))


def test_data_far_from_the_mean_of_the_field_are_named() -> None:
    X = np.random.default_rng(0).uniform(size=(5, 2))
    field = GaussianField(SMOOTH, 2, n_components=64, random_state=0)
    with pytest.warns(UserWarning, match="data have the mean 10"):
        field.condition(X, np.full(5, 10.0), noise=0.1)


def test_a_grid_through_data_has_the_values_at_its_points() -> None:
    dim = 2
    X, y, _ = scattered(dim, 6, np.ones(dim), 1)
    field = GaussianField(SMOOTH, dim, n_components=64, length_scale=0.8, random_state=2)
    given = field.condition(X, y, noise=0.2)
    axes = [np.linspace(-1, 2, 4 + j) for j in range(dim)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    found = given.on_grid(*axes, number=1)
    expected = given.sample(points.reshape(-1, dim), n_paths=2)[1]
    assert np.abs(found - expected.reshape(found.shape)).max() < 1e-12


def test_mean_and_variance_of_paths_are_those_of_kriging() -> None:
    noise = 0.3
    X = np.array([[0.0, 0.0], [0.5, 0.2], [0.1, 0.9], [1.2, 1.0]])
    y, new = np.array([1.0, -0.5, 0.3, 2.0]), np.array([[0.4, 0.4], [1.0, 0.1], [3.0, 3.0]])
    given = GaussianField(SPHERICAL, 2, n_components=64, random_state=9).condition(
        X, y, noise=noise
    )
    matrix = SPHERICAL.gram(X) + noise**2 * np.eye(4)
    cross = SPHERICAL.gram(new, X)
    mean = cross @ np.linalg.solve(matrix, y)
    variance = 1.0 - np.sum(cross * np.linalg.solve(matrix, cross.T).T, axis=1)
    assert np.abs(given.mean(new) - mean).max() < 1e-12
    assert np.abs(given.std(new) - np.sqrt(variance)).max() < 1e-7
    paths = given.sample(new, n_paths=200)
    assert np.all(np.abs(paths.mean(axis=0) - mean) < 6.0 * np.sqrt(variance / 200))
    square = (paths - mean) ** 2
    assert np.all(np.abs(square.mean(axis=0) - variance) < 6.0 * square.std(axis=0) / np.sqrt(200))


def test_points_that_coincide_need_noise() -> None:
    field, rows = GaussianField(SMOOTH, 2), [[0.0, 0.0], [1e-9, 0.0]]
    with pytest.raises(AccuracyError, match="Give the noise"):
        field.condition(rows, [0.0, 1.0])
    assert np.abs(field.condition(rows, [0.0, 1.0], noise=1.0).mean(rows) - 1 / 3).max() < 1e-8


def scattered(dim: int, rows: int, lengths: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    X = lengths * rng.uniform(-1, 1, (rows, dim))
    return X, np.cos(X).sum(axis=1), lengths * rng.uniform(-1.5, 1.5, (5, dim))


@pytest.mark.parametrize(
    ("kernel", "dim", "noise"),
    [(SMOOTH, 1, 0.0), (sp.catalogue["matern"](nu=2.5), 3, 0.2)],
    ids=str,
)
def test_gradients_through_data_are_those_of_the_path(
    kernel: sp.Kernel, dim: int, noise: float
) -> None:
    lengths = np.linspace(0.7, 2.0, dim)
    X, y, new = scattered(dim, 6, lengths, dim)
    field = GaussianField(kernel, dim, n_components=64, length_scale=lengths, random_state=1)
    given, step = field.condition(X, y, noise=noise), 1e-5

    def path(points: np.ndarray) -> np.ndarray:
        return given.sample(points, n_paths=3)[2]

    slopes = [(path(new + step * e) - path(new - step * e)) / (2 * step) for e in np.eye(dim)]
    assert np.abs(given.gradient(new, number=2) - np.array(slopes).T).max() < 2e-7
    slopes = [(given.mean(new + step * e) - given.mean(new - step * e)) for e in np.eye(dim)]
    assert np.abs(given.mean_gradient(new) - np.array(slopes).T / (2 * step)).max() < 2e-7
    # At a datum, where distances are 0, the gradient has its limit.
    near = given.mean_gradient(X + 1e-9 * lengths)
    assert np.abs(given.mean_gradient(X) - near).max() < 1e-6


@pytest.mark.slow
def test_groups_of_columns_have_gradients_through_data() -> None:
    smooth, wide = SMOOTH, sp.catalogue["matern"](nu=2.5, length=2)
    kernel = smooth.on([0, 2]) * wide.on([1]) + 0.5 * wide.rescale([1.0, 2.0, 0.7])
    X, y, new = scattered(3, 7, np.ones(3), 6)
    given, step = GaussianField(kernel, 3, random_state=0).condition(X, y, noise=0.1), 1e-5
    slopes = [(given(new + step * e) - given(new - step * e)) / (2 * step) for e in np.eye(3)]
    assert np.abs(given.gradient(new) - np.array(slopes).T).max() < 2e-7
    rough = GaussianField(EXPONENTIAL.on([0]) * SMOOTH.on([1]), 2).condition(X[:, :2], y, noise=0.1)
    assert np.all(np.isfinite(rough.mean_gradient(new[:, :2])))
    with pytest.raises(ParameterError, match="may have a kink"):
        rough.mean_gradient([[X[2, 0], 0.123]])


def test_rough_fields_have_a_mean_with_a_gradient_beside_the_data_only() -> None:
    X, y, new = scattered(2, 6, np.ones(2), 0)
    given, step = GaussianField(EXPONENTIAL, 2).condition(X, y), 1e-6
    for rough in (given, GaussianField(sp.catalogue["matern"](nu=1), 2)):
        with pytest.raises(ParameterError, match="has no gradient"):
            rough.gradient(new)
    GaussianField(sp.catalogue["matern"](nu=1.5), 2, n_components=16).gradient(new)
    with pytest.raises(ParameterError, match="may have a kink"):
        given.mean_gradient(np.concatenate([new, X[3:4]]))
    slopes = [(given.mean(new + step * e) - given.mean(new - step * e)) for e in np.eye(2)]
    assert np.abs(given.mean_gradient(new) - np.array(slopes).T / (2 * step)).max() < 1e-8


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_kernel_that_is_no_covariance_is_refused_with_a_dimension_where_it_is_one() -> None:
    with pytest.raises(ParameterError, match="In dimension 3 its"):
        GaussianField(SPHERICAL, 4)
    with pytest.raises(ParameterError, match="It is not positive definite"):
        GaussianField("exp(-z**2/2) - exp(-z**2/8)", 2)
    with pytest.raises(InfiniteMassError):
        GaussianField(sp.zonal("exp(u)"), 3)


def test_a_variogram_with_a_sill_makes_a_field_and_another_is_sent_to_a_region() -> None:
    fields = [
        GaussianField(k, 2, n_components=16, random_state=0)
        for k in (sp.variogram("1 - exp(-z)"), EXPONENTIAL)
    ]
    points = [[0.0, 1.0], [2.0, 3.0]]
    assert np.array_equal(*(field(points) for field in fields))
    with pytest.raises(ParameterError, match=r"has no sill.*on_region"):
        GaussianField(sp.variogram("z"), 2)


def test_invalid_parameters_and_points_are_refused() -> None:
    for options, message in (
        ({"n_components": 3}, "even number"),
        ({"n_components": 0}, "at least 2"),
        ({"random_state": -1}, "at least 0"),
        ({"random_state": "seed"}, "whole number"),
        ({"length_scale": [1.0, 2.0, 3.0]}, "one for each of the 2"),
        ({"length_scale": 0.0}, "positive number"),
    ):
        with pytest.raises(ParameterError, match=message):
            GaussianField(SMOOTH, 2, **options)
    for X in ([[np.nan, 0.0]], [0.0, 1.0], [[0.0]], "points", [[1 + 1j, 0.0]]):
        with pytest.raises(DataError):
            GaussianField(SMOOTH, 2, n_components=16)(X)


def test_the_dimension_comes_from_the_first_points() -> None:
    field = GaussianField(SMOOTH, n_components=16, random_state=0)
    with pytest.raises(ParameterError, match="pass dim"):
        field.covariance_error([1.0])
    assert field([[0.0, 1.0]]).shape == (1,)
    assert field.dim == 2
    with pytest.raises(DataError, match="is defined on"):
        field([[0.0, 1.0, 2.0]])
