"""Gaussian fields of groups of columns and of the l1 distance: the covariance is theirs."""

import numpy as np
import pytest

import spectra as sp
from rf import GaussianField
from spectra.errors import NoRouteError, ParameterError
from tests.oracles.pooling import mean_score, variance_score

SIX = 6.0
SLOW = pytest.mark.slow
SPACE, TIME = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)")
TREND = sp.catalogue["matern"](nu=1.5)
PRODUCT = SPACE.rescale(0.5).on([0, 1]) * TIME.on([2])
SUM = PRODUCT + 0.3 * TREND.on([2]) + 0.1
L1 = sp.l1("exp(-z)")


def points(n, dim, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, dim))


@pytest.mark.parametrize(
    ("kernel", "dim"),
    [
        (PRODUCT, 3),
        pytest.param(SUM, 3, marks=SLOW),
        pytest.param(L1, 2, marks=SLOW),
    ],
)
def test_the_covariance_of_a_draw_is_the_kernel_with_the_error_that_is_stated(kernel, dim):
    field = GaussianField(kernel, dim=dim, n_components=20, random_state=0)
    D = np.concatenate([np.zeros((1, dim)), points(3, dim, seed=1)])
    exact = kernel(D)
    assert np.allclose(field.covariance(D), exact, atol=1e-14)
    drawn = []
    for j in range(300):
        waves = field.path(j).frequencies
        drawn.append(np.cos(D @ waves.frequencies.T) @ waves.weights)
    deviation = field.covariance_error(D)
    assert deviation[0] == 0.0
    assert mean_score(np.array(drawn), exact, deviation**2) < SIX
    assert variance_score(np.array(drawn), exact, deviation**2, 1e-6) < SIX


@pytest.mark.parametrize(("kernel", "dim"), [(L1, 2), pytest.param(SUM, 3, marks=SLOW)])
def test_grids_points_and_data_agree(kernel, dim):
    field = GaussianField(kernel, dim=dim, n_components=256, random_state=2)
    axes = [np.linspace(0.0, 1.0, 3 + j) for j in range(dim)]
    rows = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dim)
    assert np.allclose(field.on_grid(*axes).ravel(), field(rows), atol=1e-10)
    X, y = points(12, dim, seed=3), np.arange(12.0) / 12.0
    given = field.condition(X, y, noise=1e-3)
    K = kernel.gram(X) + 1e-6 * np.eye(12)
    Y = points(5, dim, seed=4)
    assert np.allclose(given.mean(Y), kernel.gram(Y, X) @ np.linalg.solve(K, y), atol=1e-8)
    variance = kernel.at_zero - np.einsum(
        "ij,ji->i", kernel.gram(Y, X), np.linalg.solve(K, kernel.gram(X, Y))
    )
    assert np.allclose(given.std(Y) ** 2, variance, atol=1e-8)
    assert np.abs(given(X) - y).max() < 1e-2


@SLOW
def test_what_is_not_positive_definite_is_refused_with_the_verdict():
    with pytest.raises(ParameterError, match="negative mass"):
        GaussianField(PRODUCT - 0.1 * TREND.on([2]), dim=3)
    with pytest.raises(ParameterError, match="not positive definite"):
        GaussianField(sp.radial("exp(-z**2) - exp(-z**2/4)/2").on([0, 1]) * TIME.on([2]), dim=3)
    with pytest.raises(NoRouteError, match="no table in several columns"):
        GaussianField(sp.l1("Max(1 - z, 0)"), dim=2)
    assert GaussianField(sp.l1("Max(1 - z, 0)"), dim=1, random_state=0).covariance(0.5) == 0.5
