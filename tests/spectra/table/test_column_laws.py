"""The laws that every kernel of columns obeys, from the verdict to the draws."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import spectra as sp
from tests.oracles.kernels.column_problems import COLUMN_PROBLEMS
from tests.oracles.pooling import mean_score, variance_score

SIX = 6.0
DRAWS, POOLED = 6_000, 30
NAMES = [
    pytest.param(p.id, marks=pytest.mark.slow if p.slow else ()) for p in COLUMN_PROBLEMS.values()
]


@cache
def table_of(name):
    problem = COLUMN_PROBLEMS[name]
    return sp.derive(problem.kernel, problem.dim)


def differences(problem, n=6):
    D = np.random.default_rng(3).normal(size=(n, problem.dim)) / problem.dim
    D[0] = 0.0
    D[1, 1:] = 0.0  # along one column
    return D


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_and_the_values_are_the_known_ones(name):
    problem = COLUMN_PROBLEMS[name]
    verdict = sp.existence(problem.kernel, problem.dim)
    assert verdict.status is sp.Status.FINITE
    assert verdict.positive_definite.answer in (problem.positive_definite, None)
    if problem.positive_definite:
        assert verdict.positive_definite.answer is True
    D = differences(problem)
    exact = problem.formula(D)
    assert np.allclose(problem.kernel(D), exact, atol=1e-14)
    assert np.allclose(problem.kernel.gram(D)[0], exact, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_of_a_table_is_the_kernel_and_its_masses_are_the_known_ones(name):
    problem, table = COLUMN_PROBLEMS[name], table_of(name)
    D = differences(problem)
    error = table.expected_kernel_error(D) + table.bias + table.mass_error
    lack = np.abs(table.expected_kernel(D) - problem.formula(D))
    assert np.all(lack <= error + 1e-13 * table.mass)
    assert np.all(error <= 1e-5 * table.mass)
    k_zero = float(problem.formula(np.zeros((1, problem.dim)))[0])
    slack = table.mass_error + 1e-9 * table.mass
    assert abs(table.positive_mass - table.negative_mass - k_zero) <= slack
    assert table.k_zero == pytest.approx(k_zero, rel=1e-12)
    assert (table.negative_mass == 0.0) is problem.positive_definite
    if problem.mass is not None:
        assert abs(table.mass - problem.mass) <= slack
    negative = sp.derive(-1.0 * problem.kernel, problem.dim)
    assert negative.positive_mass == pytest.approx(table.negative_mass, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_unbiased_and_their_spread_is_that_of_the_law(name):
    problem, table = COLUMN_PROBLEMS[name], table_of(name)
    D = differences(problem)
    drawn = table.sample(DRAWS, rng=12345)
    waves = drawn.weights * np.cos(D @ drawn.frequencies.T + drawn.phases)
    # E cos^2 is (1 + the mean of cos 2 w.D under the sizes of the measure)/2.
    sizes = doubled(table, D)
    exact = problem.formula(D)
    variance = table.mass * (table.mass + sizes) / 2 - exact**2
    pooled = waves.reshape(len(D), -1, POOLED).mean(axis=2).T
    assert mean_score(pooled, exact, variance / POOLED) < SIX
    assert variance_score(pooled, exact, variance / POOLED, 1e-6 * table.mass**2) < SIX


def doubled(table, D):
    """The kernel of |mu|, the sum of the parts, at 2 D."""
    parts = tuple(replace(p, phase=0.0) for p in table.parts)
    points = 2 * np.linalg.norm(D, axis=1) if table.is_radial else 2 * D
    return replace(table, parts=parts, k_zero=table.mass).expected_kernel(points)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_comes_back_from_its_file_unchanged(name, tmp_path):
    table = table_of(name)
    table.save(tmp_path / "t.npz")
    again = sp.SpectralTable.load(tmp_path / "t.npz")
    one, two = table.sample(64, rng=3), again.sample(64, rng=3)
    assert np.array_equal(one.frequencies, two.frequencies)
    assert np.array_equal(one.phases, two.phases)
    assert np.array_equal(one.weights, two.weights)
