"""Designed directions: uniform rows, least energy, and the low degrees integrated exactly."""

import numpy as np
import pytest
from scipy.special import eval_gegenbauer

from rf.sampling.coupling import orthogonal
from rf.sampling.designed_directions import (
    angular_means,
    coupling_sizes,
    designed,
    designed_angular_means,
    least_energy,
)


def quartic(c):
    return c**4, 4 * c**3


def quartic_energy(rows):
    return np.sum(quartic(rows @ rows.T)[0])


@pytest.mark.parametrize(("n", "dim"), [(5, 2), (40, 16)])
def test_no_set_is_below_the_welch_bound_and_designed_ones_are_below_blocks(n, dim):
    blocks = orthogonal(n, dim, np.random.default_rng(1))
    rows = least_energy(blocks, quartic)
    assert 3 * n**2 / (dim * (dim + 2)) * (1 - 1e-9) <= quartic_energy(rows)
    assert quartic_energy(rows) < 0.999 * quartic_energy(blocks)


def test_evenly_spaced_lines_of_the_plane_are_found():
    rows = designed(6, 2, np.random.default_rng(2))
    angles = np.sort(np.arctan2(rows[:, 1], rows[:, 0]) % np.pi)
    np.testing.assert_allclose(np.diff(angles), np.pi / 6, atol=1e-3)


@pytest.mark.parametrize("dim", [2, 7])
def test_angular_means_are_means_of_gegenbauer_polynomials(dim):
    rows = orthogonal(2 * dim + 1, dim, np.random.default_rng(3))
    c = np.clip(rows @ rows.T, -1, 1)
    for i, value in enumerate(angular_means(rows, 8)):
        n = 2 * i
        if dim == 2:
            oracle = np.cos(n * np.arccos(c))
        else:
            oracle = eval_gegenbauer(n, dim / 2 - 1, c) / eval_gegenbauer(n, dim / 2 - 1, 1.0)
        assert value == pytest.approx(oracle.mean(), abs=1e-12)
        assert value > -1e-13  # a sum of squares


def test_a_drawn_set_is_a_rotation_of_one_set():
    a = designed(20, 5, np.random.default_rng(5))
    b = designed(20, 5, np.random.default_rng(6))
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-12)
    assert np.abs(a - b).max() > 0.1
    np.testing.assert_array_equal(a, designed(20, 5, np.random.default_rng(5)))
    means = designed_angular_means(20, 5, degrees=6)
    np.testing.assert_allclose(means, angular_means(a, 6), atol=1e-12)
    few = designed(6, 7, np.random.default_rng(9))
    np.testing.assert_allclose(few @ few.T, np.eye(6), atol=1e-12)
    assert coupling_sizes(1500, 2) == [350, 350, 350, 450]
    assert coupling_sizes(450, 100) == [200, 250]
