"""Two-sample tests: exact small cases, level and power, and what features err by."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import spectra as sp
from rf import two_sample_test
from spectra.errors import DataError, ParameterError

RNG = np.random.default_rng(0)


def by_hand(X: np.ndarray, Y: np.ndarray, kernel: sp.Kernel) -> float:
    """The unbiased statistic, pair by pair."""

    def mean(A, B, *, same):
        pairs = [(i, j) for i in range(len(A)) for j in range(len(B)) if not (same and i == j)]
        return np.mean([kernel(np.linalg.norm(A[i] - B[j])) for i, j in pairs])

    return mean(X, X, same=True) + mean(Y, Y, same=True) - 2 * mean(X, Y, same=False)


@pytest.mark.parametrize(("n", "m", "dim"), [(3, 3, 1), (4, 2, 7)])
def test_a_small_case_is_that_of_all_splits(n: int, m: int, dim: int) -> None:
    X, Y = RNG.normal(size=(n, dim)), RNG.normal(size=(m, dim)) + 0.5
    kernel, pooled = sp.catalogue["matern"](nu=1.5), np.concatenate([X, Y])
    found = two_sample_test(X, Y, kernel=kernel, length_scale=1.0, n_permutations=100)
    splits = itertools.combinations(range(n + m), n)
    all_values = np.array(
        [by_hand(pooled[list(s)], np.delete(pooled, list(s), axis=0), kernel) for s in splits]
    )
    assert found.exhaustive
    assert found.n_splits == len(all_values)
    assert abs(found.mmd2 - by_hand(X, Y, kernel)) < 1e-13
    assert found.p_value == np.mean(all_values >= found.mmd2 - 1e-12)


ENERGY = sp.variogram("z")
OF_COLUMNS = [
    sp.radial("exp(-z)").on([0, 1]) * sp.radial("exp(-z**2/2)").on([2]),
    sp.radial("exp(-z)").on([0, 1, 2]) + 0.5,
    sp.l1("exp(-z) + exp(-3*z)/2"),
]


@pytest.mark.parametrize("kernel", OF_COLUMNS)
def test_kernels_of_columns_have_their_exact_statistic_and_unbiased_features(kernel) -> None:
    X, Y = RNG.normal(size=(12, 3)), RNG.normal(size=(9, 3)) + 0.8
    options = {"kernel": kernel, "length_scale": 1.0, "n_permutations": 1}
    exact = two_sample_test(X, Y, **options).mmd2
    means = [
        (m.sum() - len(m) * kernel.at_zero * same) / (m.size - len(m) * same)
        for m, same in ((kernel.gram(X), 1), (kernel.gram(Y), 1), (kernel.gram(X, Y), 0))
    ]
    assert abs(exact - (means[0] + means[1] - 2 * means[2])) < 1e-13
    found = [two_sample_test(X, Y, n_components=64, random_state=s, **options) for s in range(40)]
    error = np.sqrt(np.mean([f.feature_error**2 for f in found]) / len(found))
    assert abs(np.mean([f.mmd2 for f in found]) - exact) < 6 * error


def test_a_variogram_gives_the_energy_distance() -> None:
    X, Y = RNG.normal(size=(20, 2)), RNG.normal(size=(15, 2)) + 1.5
    found = two_sample_test(X, Y, kernel=ENERGY, length_scale=1.0, random_state=0)
    distances = [cdist(*pair) for pair in ((X, Y), (X, X), (Y, Y))]
    across, in_x, in_y = (d.sum() for d in distances)
    assert abs(found.mmd2 - (2 * across / 300 - in_x / (20 * 19) - in_y / (15 * 14))) < 1e-13
    assert found.p_value < 0.01


def test_random_splits_find_the_share_of_all_of_them() -> None:
    X, Y, count = RNG.normal(size=(7, 2)), RNG.normal(size=(6, 2)) + 0.4, 1000
    exact = two_sample_test(X, Y, n_permutations=2000)
    drawn = two_sample_test(X, Y, n_permutations=count, random_state=0)
    assert exact.exhaustive
    assert not drawn.exhaustive
    assert abs(drawn.p_value - exact.p_value) < 6 * np.sqrt(0.25 / count) + 1 / count
    assert drawn.p_value == two_sample_test(X, Y, n_permutations=count, random_state=0).p_value


@pytest.mark.parametrize("n_components", [None, pytest.param(32, marks=pytest.mark.slow)])
def test_the_level_is_that_of_the_permutations(n_components: int | None) -> None:
    trials, alpha = 200, 0.1
    rejected = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X, Y = rng.exponential(size=(12, 2)), rng.exponential(size=(9, 2))
        found = two_sample_test(
            X, Y, n_components=n_components, n_permutations=49, random_state=seed
        )
        rejected += found.p_value <= alpha
    # Without ties a rank of 50 is uniform, so that it is 0.1 exactly.
    assert abs(rejected / trials - alpha) < 6 * np.sqrt(alpha * (1 - alpha) / trials)


def test_features_are_unbiased_and_their_error_is_the_stated_one() -> None:
    dim, draws = 3, 100
    X, Y = RNG.normal(size=(40, dim)), RNG.normal(size=(30, dim)) + 0.7
    exact = two_sample_test(X, Y, length_scale=1.0, n_permutations=1).mmd2
    found = [
        two_sample_test(
            X, Y, length_scale=1.0, n_components=64, n_permutations=1, random_state=seed
        )
        for seed in range(draws)
    ]
    values = np.array([f.mmd2 for f in found])
    stated = np.mean([f.feature_error**2 for f in found])
    assert abs(values.mean() - exact) < 6 * values.std() / np.sqrt(draws)
    square = (values - exact) ** 2
    assert abs(square.mean() - stated) < 6 * square.std() / np.sqrt(draws)


@pytest.mark.parametrize("n_components", [None, pytest.param(512, marks=pytest.mark.slow)])
def test_the_standard_error_is_that_over_samples(n_components: int | None) -> None:
    # To first order: the second is of the relative size 1/n of the variance of k.
    found, trials = [], 100
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(60, 2)), rng.normal(size=(90, 2)) + 1.0
        found.append(
            two_sample_test(
                X, Y, length_scale=1.5, n_components=n_components, n_permutations=1,
                random_state=seed,
            )
        )  # fmt: skip
    spread = np.var([f.mmd2 for f in found], ddof=1)
    stated = np.mean([f.standard_error**2 for f in found])
    assert abs(spread / stated - 1) < 6 * np.sqrt(2 / trials) + 0.05


def test_what_cannot_be_tested_is_refused() -> None:
    for X, options, error in (
        (np.zeros((1, 2)), {}, DataError),
        (np.zeros((5, 3)), {}, DataError),
        (np.full((5, 2), np.nan), {}, DataError),
        (np.zeros((5, 2)), {}, DataError),  # all rows coincide: no median
        (np.ones((20_000, 2)), {"length_scale": 1.0}, ParameterError),  # 3.2 GB
        (np.eye(2), {"kernel": "exp(-z**2/2) - exp(-z**2/8)"}, ParameterError),
        (np.eye(2), {"kernel": sp.radial("exp(-z**2)").shift([1.0, 0.0])}, ParameterError),
        (np.eye(2), {"kernel": sp.variogram("z**3")}, ParameterError),
        (np.eye(2), {"kernel": ENERGY, "n_components": 16}, ParameterError),
        (np.eye(2), {"n_components": 30}, ParameterError),
        (np.eye(2), {"length_scale": "mean"}, ParameterError),
        (np.eye(2), {"length_scale": -1.0}, ParameterError),
        (np.eye(2), {"n_permutations": 0}, ParameterError),
        (np.eye(2), {"coupling": "orthogonl"}, ParameterError),
        (np.eye(2), {"coupling": []}, ParameterError),
    ):
        with pytest.raises(error):
            two_sample_test(X, np.zeros((3, 2)), **options)
