"""The scores that pass every coupling of ours find the known mistakes of others, put in on purpose.

Each mistake stands beside the right thing, made in the same way, which passes.
"""

from collections.abc import Callable
from typing import NamedTuple

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


class Mistake(NamedTuple):
    """Draws of a wrong estimate and of the right one, and what both should have as their mean."""

    wrong: Callable[[np.random.Generator], np.ndarray]
    right: Callable[[np.random.Generator], np.ndarray]
    expected: np.ndarray


def waves(dim, frequencies):
    """Means of cos(w.D) over the frequencies of each draw: from (draws, n, d) to (draws, 3)."""

    def values(rng):
        D = random_differences(DISTANCES, dim, rng)
        return np.cos(frequencies(rng) @ D.T).mean(axis=1)

    return values


def chi_rows(dim, rows, rng):
    """Unit rows of shape (draws, n, d), each scaled by a radius chi_d."""
    return stats.chi.rvs(dim, size=(*rows.shape[:2], 1), random_state=rng) * rows


# --- radii --------------------------------------------------------------------------------------

GAUSSIAN = np.exp(-(DISTANCES**2) / 2)
MATERN = (1.0 + np.sqrt(3.0) * DISTANCES) * np.exp(-np.sqrt(3.0) * DISTANCES)


def matern(degrees, scale):
    """Student's t in R^16: one chi-square for each frequency."""

    def frequencies(rng):
        shrink = np.sqrt(scale / rng.chisquare(degrees, size=(DRAWS, 16, 1)))
        return shrink * rng.standard_normal((DRAWS, 16, 16))

    return waves(16, frequencies)


def matern_by_coordinates(rng):
    return rng.standard_t(3.0, size=(DRAWS, 16, 16))


def without_the_power_of_w(rng):
    return np.abs(rng.standard_normal((DRAWS, 16, 1))) * iid(16, 16, rng, draws=DRAWS)


def blocks_with_radii(rng):
    return chi_rows(16, orthogonal(16, 16, rng, draws=DRAWS), rng)


def blocks_of_fixed_norm(rng):
    return 4.0 * orthogonal(16, 16, rng, draws=DRAWS)


# --- places -------------------------------------------------------------------------------------


def scaled_by_columns(rng):
    scale = stats.chi.rvs(3, size=(DRAWS, 1, 3), random_state=rng)
    return scale * orthogonal(3, 3, rng, draws=DRAWS)


def scaled_by_rows(rng):
    return chi_rows(3, orthogonal(3, 3, rng, draws=DRAWS), rng)


def fastfood(*, misplaced):
    """S H G P H B has rows of chi norms in uniform directions; H S G P H B has not."""
    dim = 4
    H = linalg.hadamard(dim) / np.sqrt(dim)

    def frequencies(rng):
        signs = rng.choice([-1.0, 1.0], size=(DRAWS, 1, dim))
        normal = rng.standard_normal((DRAWS, dim, 1))
        permuted = (H * signs)[
            np.arange(DRAWS)[:, None], rng.permuted(np.tile(np.arange(dim), (DRAWS, 1)), axis=1)
        ]
        inner = np.sqrt(dim) * normal * permuted
        chi = np.sqrt(rng.chisquare(dim, size=(DRAWS, dim, 1)))
        chi = chi / np.linalg.norm(normal, axis=1, keepdims=True)
        return H @ (chi * inner) if misplaced else chi * (H @ inner)

    return waves(dim, frequencies)


# --- signs --------------------------------------------------------------------------------------


def indefinite(X, Y):
    z2 = np.sum((X[:, None] - Y[None]) ** 2, axis=-1)
    return np.exp(-z2 / 2) - np.exp(-z2 / 200)


ROWS = np.random.default_rng(0).standard_normal((12, 3))


def upper(gram):
    """The entries above the diagonal, as one draw."""
    return gram[np.triu_indices(len(gram), 1)][None]


# Every row is a landmark, so that an approximation has nothing to approximate.


def nystroem_without_signs(rng):
    K = indefinite(ROWS, ROWS)
    Z = Nystroem(kernel="precomputed", n_components=12, random_state=0).fit_transform(K)
    return upper(Z @ Z.T)


def nystroem_with_signs(rng):
    return upper(
        IndefiniteNystroem(indefinite, n_components=12, random_state=0).fit(ROWS).gram(ROWS)
    )


# --- power series -------------------------------------------------------------------------------

UNIT = ROWS[:4] / np.linalg.norm(ROWS[:4], axis=1, keepdims=True)
PRODUCTS = (UNIT @ UNIT.T)[np.triu_indices(4, 1)]
DERIVATIVES = (1.0, 1.0, 1.0, 1.0)


def maclaurin(coefficients):
    def values(rng):
        grams = [
            RandomMaclaurin(coefficients, n_components=100, random_state=seed).fit(UNIT).gram(UNIT)
            for seed in range(400)
        ]
        return np.array(grams)[:, *np.triu_indices(4, 1)]

    return values


MISTAKES = {
    "Matern frequencies drawn for each coordinate": Mistake(
        waves(16, matern_by_coordinates), matern(3.0, 3.0), MATERN
    ),
    "Matern with nu degrees of freedom for 2 nu": Mistake(
        matern(1.5, 1.5), matern(3.0, 3.0), MATERN
    ),
    "radii without the power of w": Mistake(
        waves(16, without_the_power_of_w), waves(16, blocks_with_radii), GAUSSIAN
    ),
    "orthogonal blocks of fixed norm": Mistake(
        waves(16, blocks_of_fixed_norm), waves(16, blocks_with_radii), GAUSSIAN
    ),
    "orthogonal blocks scaled by columns": Mistake(
        waves(3, scaled_by_columns), waves(3, scaled_by_rows), GAUSSIAN
    ),
    "Fastfood with its scaling in the wrong place": Mistake(
        fastfood(misplaced=True), fastfood(misplaced=False), np.exp(-(DISTANCES**2) / 2)
    ),
    "|K| for an indefinite K": Mistake(
        nystroem_without_signs,
        nystroem_with_signs,
        upper(indefinite(ROWS, ROWS))[0],
    ),
    "Random Maclaurin without 1/n!": Mistake(
        maclaurin(DERIVATIVES),
        maclaurin(taylor_coefficients(DERIVATIVES)),
        np.polyval(taylor_coefficients(DERIVATIVES)[::-1], PRODUCTS),
    ),
    # P(0), P(1) = .625, .1875 in place of .5, .25, with the weights of the latter
    "Random Maclaurin with the degree of nearest cumulative probability": Mistake(
        maclaurin((0.3 * 0.625 / 0.5, 0.7 * 0.1875 / 0.25)),
        maclaurin((0.3, 0.7)),
        0.3 + 0.7 * PRODUCTS,
    ),
}


def score(values, expected):
    """The pooled score; one exact value stands for draws that do not vary."""
    variance = np.zeros(values.shape[1]) if len(values) == 1 else None
    return mean_score(values, expected, variance)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_known_mistake_is_found_and_the_right_thing_passes(name):
    mistake = MISTAKES[name]
    assert score(mistake.right(np.random.default_rng(0)), mistake.expected) < 6.0
    assert score(mistake.wrong(np.random.default_rng(0)), mistake.expected) > 6.0


# --- variances ----------------------------------------------------------------------------------


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
