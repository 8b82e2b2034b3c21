"""Pooled over 2000 draws, every estimate that claims it is unbiased, in every structure of parts.

The score is the mean over draws of the estimate minus the kernel, in standard errors of that mean;
each draw serves five differences.  That six of them catch what other libraries got wrong is shown
in test_frequencies.py and test_baselines.py, where the mistakes are put in.
"""

import numpy as np
import pytest
from laws import gaussian_mixture

from rf.asymmetric import AsymmetricPlan, draw_asymmetric, plan_asymmetric
from rf.directions import iid
from rf.frequencies import COUPLINGS, RADII, draw_frequencies
from spectra.asymmetric_measure import asymmetric_table
from spectra.kernel import radial

DIMS = (1, 2, 3, 7, 16, 64)
DRAWS = 2000
UNBIASED = [c for c in COUPLINGS if c != "hadamard"]
DISTANCES = np.array([0.0, 0.3, 1.0, 1.7, 2.5])


def differences(dim, rng):
    return DISTANCES[:, None] * iid(DISTANCES.size, dim, rng)


def score(values, expected):
    """Largest |mean error| in standard errors; where nothing varies, nothing may be off."""
    error = values.mean(axis=0) - expected
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.abs(error / (spread + 1e-9)).max()


# --- every coupling, every structure of parts ---------------------------------------------------


MIXTURES = {
    "one part": [(1.0, 1.0)],
    "two parts": [(1.5, 1.0), (-0.5, 2.0)],
    "three parts": [(1.5, 1.0), (-0.5, 2.0), (0.25, 0.5)],
}


def mixture(terms, z):
    return sum(mass * np.exp(-((z / length) ** 2) / 2) for mass, length in terms)


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("coupling", UNBIASED)
def test_every_coupling_is_unbiased_for_every_structure(coupling, dim):
    """The structures take turns: each coupling meets each of them in two dimensions."""
    turn = DIMS.index(dim) + UNBIASED.index(coupling)
    terms = list(MIXTURES.values())[turn % 3]
    table = gaussian_mixture(dim, terms)
    rng = np.random.default_rng(turn)
    D = differences(dim, rng)
    counts = (4, 3, 2)[: len(terms)]
    # The laws of radii take turns as well, within each test.
    laws = ["iid", "stratified"] if coupling == "qmc" else list(RADII)
    # Scrambling Sobol points in 65 dimensions takes milliseconds for each draw.
    draws = 400 if coupling == "qmc" and dim == 64 else DRAWS
    values = np.array(
        [
            draw_frequencies(
                table, counts, coupling=coupling, radii=laws[i % len(laws)], rng=rng
            ).estimate(D)
            for i in range(draws)
        ]
    )
    assert score(values, mixture(terms, DISTANCES)) < 6


DECOMPOSITIONS = ("jordan", "polar", "weighted")
GAUSSIAN = radial("exp(-z**2/8)")
ASYMMETRIC = {
    "shift": lambda d: GAUSSIAN.shift(2 / d),
    "tilt": lambda d: GAUSSIAN.tilt(0.5 * np.pi / d),
    "two shifts": lambda d: GAUSSIAN.shift(0.5 / d) - 0.7 * GAUSSIAN.shift(-1.0 / d),
}


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_every_decomposition_of_an_asymmetric_kernel_is_unbiased(decomposition, dim):
    turn = DIMS.index(dim) + DECOMPOSITIONS.index(decomposition)
    kernel = list(ASYMMETRIC.values())[turn % 3](dim)
    table = asymmetric_table(kernel, dim, decomposition=decomposition)
    rng = np.random.default_rng(turn)
    D = differences(dim, rng)
    parts = len(table.parts)
    # Independent draws of two frequencies for each part are slices of one large draw.
    plan = AsymmetricPlan(table, "iid", (2 * DRAWS,) * parts, False)
    drawn = draw_asymmetric(plan, "iid", rng)
    waves = np.cos(D @ drawn.frequencies.T + drawn.phases) * drawn.weights * 2 * DRAWS
    values = waves.reshape(-1, parts, DRAWS, 2).mean(axis=3).sum(axis=1).T
    assert score(values, kernel(D)) < 6
    plan = AsymmetricPlan(table, "iid", (2,) * parts, False)
    values = np.array([draw_asymmetric(plan, "stratified", rng).estimate(D) for _ in range(100)])
    assert score(values, kernel(D)) < 6


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 3, 16])
@pytest.mark.parametrize("coupling", ["orthogonal", "shared", "comonotone", "haar", "simplex"])
def test_shifted_rows_are_unbiased_with_every_coupling(coupling, dim):
    kernel = radial("exp(-z**2/2) - exp(-z**2/8)").shift(0.4 / dim)
    rng = np.random.default_rng(dim)
    D = differences(dim, rng)
    plan = plan_asymmetric(
        asymmetric_table(kernel, dim), 6, coupling=coupling, allocation="mass", differences=D
    )
    values = np.array([draw_asymmetric(plan, "stratified", rng).estimate(D) for _ in range(DRAWS)])
    assert score(values, kernel(D)) < 6
