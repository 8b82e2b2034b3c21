"""The scores that every coupling passes find mistakes of published code, made on purpose.

Each mistake is tested together with the correct step, which passes.
"""

import numpy as np
import pytest
from scipy import linalg, stats
from sklearn.kernel_approximation import Nystroem

from rf.papers.baselines import IndefiniteNystroem, RandomMaclaurin
from rf.papers.baselines.dot_product import taylor_coefficients
from rf.sampling.coupling import iid, orthogonal
from rf.sampling.frequencies import draw_repeatedly
from rf.variance.variance import VarianceModel
from tests.oracles.laws import gaussian_mixture
from tests.oracles.pooling import estimates, mean_score, random_differences, variance_score

DRAWS = 2000
DISTANCES = np.array([0.3, 1.0, 2.0])
GAUSSIAN = np.exp(-(DISTANCES**2) / 2)
MATERN = (1.0 + np.sqrt(3.0) * DISTANCES) * np.exp(-np.sqrt(3.0) * DISTANCES)


def student(rng, degrees, scale):
    """Student's t in R^16: one chi-square for each frequency."""
    shrink = np.sqrt(scale / rng.chisquare(degrees, size=(DRAWS, 16, 1)))
    return shrink * rng.standard_normal((DRAWS, 16, 16))


def blocks(rng, dim, *, by_columns=False):
    """Orthonormal rows times chi_d, a factor for each row or for each column."""
    rows = orthogonal(dim, dim, rng, draws=DRAWS)
    size = (DRAWS, 1, dim) if by_columns else (DRAWS, dim, 1)
    return rows * stats.chi.rvs(dim, size=size, random_state=rng)


def fastfood(rng, *, misplaced):
    """S H G P H B has rows of chi norms in uniform directions; H S G P H B has not."""
    dim = 4
    H = linalg.hadamard(dim) / np.sqrt(dim)
    signs = rng.choice([-1.0, 1.0], size=(DRAWS, 1, dim))
    normal = rng.standard_normal((DRAWS, dim, 1))
    order = rng.permuted(np.tile(np.arange(dim), (DRAWS, 1)), axis=1)
    inner = np.sqrt(dim) * normal * (H * signs)[np.arange(DRAWS)[:, None], order]
    chi = np.sqrt(rng.chisquare(dim, size=(DRAWS, dim, 1)))
    chi = chi / np.linalg.norm(normal, axis=1, keepdims=True)
    return H @ (chi * inner) if misplaced else chi * (H @ inner)


# Frequencies of shape (draws, n, d): wrong and right ones, and the kernel.
MISTAKES = {
    "Matern frequencies drawn for each coordinate": (
        lambda rng: rng.standard_t(3.0, size=(DRAWS, 16, 16)),
        lambda rng: student(rng, 3.0, 3.0),
        MATERN,
    ),
    "Matern with nu degrees of freedom for 2 nu": (
        lambda rng: student(rng, 1.5, 1.5),
        lambda rng: student(rng, 3.0, 3.0),
        MATERN,
    ),
    "radii without the power of w": (
        lambda rng: np.abs(rng.standard_normal((DRAWS, 16, 1))) * iid(16, 16, rng, draws=DRAWS),
        lambda rng: blocks(rng, 16),
        GAUSSIAN,
    ),
    "orthogonal blocks of fixed norm": (
        lambda rng: 4.0 * orthogonal(16, 16, rng, draws=DRAWS),
        lambda rng: blocks(rng, 16),
        GAUSSIAN,
    ),
    "orthogonal blocks scaled by columns": (
        lambda rng: blocks(rng, 3, by_columns=True),
        lambda rng: blocks(rng, 3),
        GAUSSIAN,
    ),
    "Fastfood with its scaling in the wrong place": (
        lambda rng: fastfood(rng, misplaced=True),
        lambda rng: fastfood(rng, misplaced=False),
        GAUSSIAN,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_frequencies_are_found_and_the_right_ones_pass(name):
    wrong, right, kernel = MISTAKES[name]
    for draw, passes in ((right, True), (wrong, False)):
        rng = np.random.default_rng(0)
        w = draw(rng)
        values = np.cos(w @ random_differences(DISTANCES, w.shape[2], rng).T).mean(axis=1)
        assert (mean_score(values, kernel) < 6.0) == passes


ROWS = np.random.default_rng(0).standard_normal((12, 3))


def indefinite(X, Y):
    z2 = np.sum((X[:, None] - Y[None]) ** 2, axis=-1)
    return np.exp(-z2 / 2) - np.exp(-z2 / 200)


def test_the_modulus_of_an_indefinite_matrix_is_found():
    """Every row is a landmark, so that an approximation has nothing to approximate."""
    K = indefinite(ROWS, ROWS)
    Z = Nystroem(kernel="precomputed", n_components=12, random_state=0).fit_transform(K)
    signed = IndefiniteNystroem(indefinite, n_components=12, random_state=0).fit(ROWS)
    assert np.abs(signed.gram(ROWS) - K).max() < 1e-9
    assert np.abs(Z @ Z.T - K).max() > 0.1


def test_a_power_series_without_factorials_is_found():
    unit = ROWS[:4] / np.linalg.norm(ROWS[:4], axis=1, keepdims=True)
    pairs, series = np.triu_indices(4, 1), taylor_coefficients((1.0, 1.0, 1.0, 1.0))
    kernel = np.polyval(series[::-1], (unit @ unit.T)[pairs])
    for coefficients, passes in ((series, True), ((1.0, 1.0, 1.0, 1.0), False)):
        options = {"n_components": 100}
        maps = [RandomMaclaurin(coefficients, random_state=s, **options) for s in range(400)]
        values = np.array([each.fit(unit).gram(unit)[pairs] for each in maps])
        assert (mean_score(values, kernel) < 6.0) == passes


@pytest.mark.parametrize("coupling", ["orthogonal", "haar"])
def test_the_published_signs_of_the_variance_are_found(coupling):
    """Theorem 5 of Luo et al. has the opposite sign: iid + (iid - coupled) for coupled."""
    counts, table = (16, 16), gaussian_mixture(16, [(1.0, 1.0), (-1.0, 1.3)])
    rng = np.random.default_rng(0)
    drawn = draw_repeatedly(table, counts, DRAWS, coupling=coupling, radii="iid", random_state=rng)
    values = estimates(drawn, random_differences([1.0], 16, rng))
    model, expected = VarianceModel(table, np.ones(1)), np.exp(-0.5) - np.exp(-0.5 / 1.69)
    iid_variance, right = (model.variance(counts, coupling=name)[0] for name in ("iid", coupling))
    assert variance_score(values, expected, right) < 6.0
    if coupling != "haar":  # whose gain within the signs is as large as its loss across them
        assert variance_score(values, expected, 2 * iid_variance - right) > 6.0
    assert mean_score(values, expected, right) < 6.0
