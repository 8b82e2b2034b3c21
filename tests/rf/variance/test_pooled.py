"""Pooled over 1000 draws, every estimate that claims it is unbiased, and its variance is as stated.

Every coupling meets every structure of parts, every law of radii and every dimension; draws are
scored in exact standard errors (tests/oracles/pooling.py), so that a wrong variance fails as well.
test_mistakes.py shows that the same scores find what other libraries got wrong.
"""

from functools import cache

import numpy as np
import pytest

from rf.sampling.frequencies import COUPLINGS, RADII, draw_frequencies, draw_repeatedly
from rf.schemes.complex import AxialScheme, Decomposed
from rf.schemes.radial import RadialScheme
from rf.variance.variance import VarianceModel
from spectra.derivation.asymmetric_measure import asymmetric_table
from spectra.kernels.kernel import radial
from tests.oracles.laws import gaussian_mixture
from tests.oracles.pooling import estimates, mean_score, random_differences, variance_score

DIMS = (1, 2, 3, 16, 64)
DRAWS = 1000
DISTANCES = np.array([0.5, 1.1, 2.3])
STRUCTURES = {
    "one part": ((1.0, 1.0),),
    "two parts of opposite sign": ((1.5, 1.0), (-0.5, 2.0)),
    "three parts": ((1.5, 1.0), (-0.5, 2.0), (0.25, 0.5)),
}


def kernel_of(terms, z):
    return sum(mass * np.exp(-((z / length) ** 2) / 2) for mass, length in terms)


@cache
def model_of(dim, structure):
    return VarianceModel(gaussian_mixture(dim, list(STRUCTURES[structure])), DISTANCES)


def counts_of(dim, structure):
    """More than one block of directions, the last one cut; other parts have a cut block alone."""
    return (dim + 2, 3, 2)[: len(STRUCTURES[structure])]


def check(coupling, structure, radii, dim):
    model, counts = model_of(dim, structure), counts_of(dim, structure)
    seed = [COUPLINGS_IN_ORDER.index(coupling), len(counts), RADII_IN_ORDER.index(radii), dim]
    rng = np.random.default_rng(seed)
    drawn = draw_repeatedly(
        model.table, counts, DRAWS, coupling=coupling, radii=radii, random_state=rng
    )
    D = random_differences([0.0, *DISTANCES], dim, rng)
    values = estimates(drawn, D)
    np.testing.assert_allclose(values[:, 0], kernel_of(STRUCTURES[structure], 0.0), rtol=1e-12)
    values, expected = values[:, 1:], kernel_of(STRUCTURES[structure], DISTANCES)
    variance, error = model.variance(counts, coupling=coupling, radii=radii)
    assert mean_score(values, expected, variance + error) < 6.0
    assert variance_score(values, expected, variance, error) < 6.0


COUPLINGS_IN_ORDER, RADII_IN_ORDER = list(COUPLINGS), list(RADII)
SCHEMES = [(c, r) for c in COUPLINGS for r in RADII]
# Each coupling meets each structure and law of radii; the default run takes one in six.
GRID = [
    (c, s, r, DIMS[(i + j) % len(DIMS)])
    for i, (c, r) in enumerate(SCHEMES)
    for j, s in enumerate(STRUCTURES)
]


@pytest.mark.parametrize(
    ("coupling", "structure", "radii", "dim"),
    [pytest.param(*c, marks=[pytest.mark.slow] if i % 6 else []) for i, c in enumerate(GRID)],
)
def test_every_coupling_is_unbiased_with_the_variance_that_is_stated(
    coupling, structure, radii, dim
):
    check(coupling, structure, radii, dim)


def test_draws_at_once_are_draws_one_by_one():
    """One draw of many and a single draw are made by the same lines; a batch repeats its seed."""
    table = model_of(3, "two parts of opposite sign").table
    for coupling in COUPLINGS:
        single = draw_frequencies(table, (5, 4), coupling=coupling, radii="iid", random_state=3)
        (one,) = draw_repeatedly(table, (5, 4), 1, coupling=coupling, radii="iid", random_state=3)
        np.testing.assert_array_equal(single.frequencies, one.frequencies)
        two, three = draw_repeatedly(
            table, (5, 4), 2, coupling=coupling, radii="iid", random_state=3
        )
        assert two.counts == three.counts == (5, 4)
        assert np.abs(two.frequencies - three.frequencies).max() > 0.1


# --- asymmetric kernels: complex measures -------------------------------------------------------

GAUSSIAN = radial("exp(-z**2/8)")
# Three Jordan parts in every dimension; the modulus of two shifts.
DECOMPOSITIONS = {
    "jordan": lambda d: GAUSSIAN.tilt(0.5 * np.pi / d),
    "polar": lambda d: GAUSSIAN.shift(0.5 / d) - 0.7 * GAUSSIAN.shift(-1.0 / d),
}
ALL_DISTANCES = np.array([0.0, *DISTANCES])


def decomposed(decomposition, dim):
    kernel = DECOMPOSITIONS[decomposition](dim)
    return kernel, Decomposed(asymmetric_table(kernel, dim), decomposition)


@pytest.mark.parametrize(("decomposition", "dim"), [("jordan", 1), ("polar", 3)])
def test_every_decomposition_of_an_asymmetric_kernel_is_unbiased(decomposition, dim):
    kernel, table = decomposed(decomposition, dim)
    rng = np.random.default_rng(dim)
    D = random_differences(ALL_DISTANCES, dim, rng)
    parts = len(table.parts)
    # Independent draws of two frequencies for each part are slices of one large draw.
    scheme = AxialScheme.of(table, (2 * DRAWS,) * parts)
    drawn = scheme.frequencies(rng)
    waves = np.cos(D @ drawn.frequencies.T + drawn.phases) * drawn.weights * 2 * DRAWS
    values = waves.reshape(-1, parts, DRAWS, 2).mean(axis=3).sum(axis=1).T
    variance = AxialScheme.of(table, (2,) * parts).variance(D)[0]
    assert mean_score(values, kernel(D), variance) < 6.0
    assert variance_score(values, kernel(D), variance, 1e-9) < 6.0


@pytest.mark.slow
@pytest.mark.parametrize(("radii", "dim"), [("iid", 2), ("stratified", 16)])
def test_blocks_of_a_weighted_measure_are_unbiased(radii, dim):
    kernel = GAUSSIAN.shift(2.0 / dim)
    table = asymmetric_table(kernel, dim)
    rng = np.random.default_rng(dim)
    D = random_differences(ALL_DISTANCES, dim, rng)
    scheme = RadialScheme(table, (dim + 2,) * len(table.parts), "orthogonal", radii)
    values = np.array([scheme.frequencies(rng).estimate(D) for _ in range(DRAWS)])
    assert mean_score(values, kernel(D)) < 6.0
