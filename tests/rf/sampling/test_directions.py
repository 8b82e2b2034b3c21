"""Directions: every single row is uniform on the sphere, and pairs have the law that is claimed."""

import numpy as np
import pytest

from rf.sampling.coupling import iid, orthogonal
from rf.sampling.frequencies import COUPLINGS
from spectra.base.bessel import plane_wave_mean
from spectra.errors import ParameterError

DIRECTIONS = {name: coupling.directions for name, coupling in COUPLINGS.items()}
# Phases |w||z| in units of sqrt(d), where the plane waves of dimension d live.
PHASES = np.array([1.0, 2.5])


def marginal_scores(scheme, n, dim, row, draws, seed):
    """Means over draws of cos(t row.e) - Omega_d(t), in exact standard errors; e a fixed axis.

    In dimension 1 the cosine does not see the sign, and all that is left is rounding, 1e-14.
    """
    rng = np.random.default_rng(seed)
    axis = iid(1, dim, rng)[0]
    t = PHASES * np.sqrt(dim)
    rows = np.array([scheme(n, dim, rng)[row] for _ in range(draws)])
    mean = np.cos(np.outer(rows @ axis, t)).mean(axis=0)
    expected = plane_wave_mean(dim, t)
    variance = 0.5 * (1.0 + plane_wave_mean(dim, 2.0 * t)) - expected**2
    return (mean - expected) / (np.sqrt(np.maximum(variance, 0.0) / draws) + 1e-14)


@pytest.mark.parametrize("name", DIRECTIONS)
def test_every_row_is_uniform_the_first_and_the_last_of_a_cut_block(name):
    for dim, row in ((1, 3), (2, 0), (3, 5), (16, 18)):
        n = dim + 3
        scores = marginal_scores(DIRECTIONS[name], n, dim, row, 400, seed=dim + row)
        assert np.abs(scores).max() < 6.0


@pytest.mark.parametrize("name", DIRECTIONS)
def test_rows_are_unit_rows_of_the_asked_shape_and_a_seed_repeats_them(name):
    for n, dim in ((1, 1), (5, 2), (70, 7), (5, 64), (1000, 3)):
        rows = DIRECTIONS[name](n, dim, np.random.default_rng(3))
        assert rows.shape == (n, dim)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-13)
        np.testing.assert_array_equal(rows, DIRECTIONS[name](n, dim, np.random.default_rng(3)))
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="n = 0"):
        DIRECTIONS[name](0, 3, rng)
    with pytest.raises(ParameterError, match="dim = 0"):
        DIRECTIONS[name](3, 0, rng)


@pytest.mark.parametrize("dim", [2, 7])
def test_orthogonal_blocks_are_orthonormal_and_the_cut_one_too(dim):
    rows = orthogonal(2 * dim + dim // 2, dim, np.random.default_rng(0))
    for start in range(0, len(rows), dim):
        block = rows[start : start + dim]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-13)
    assert np.abs(rows[:dim] @ rows[dim : 2 * dim].T).max() > 1e-3
