"""The published sampling schemes do what is said of them, bias included."""

import numpy as np
import pytest
from scipy.special import gamma, hyp2f1

from rf.papers.baselines import PublishedGRFF
from rf.papers.baselines.samplers import (
    grid_frequencies,
    grid_mean,
    importance_frequencies,
    leverage_frequencies,
)
from rf.sampling.frequencies import draw_frequencies
from spectra.density import spectral_density
from spectra.errors import ParameterError
from spectra.kernels.catalogue import catalogue
from spectra.kernels.kernel import radial
from spectra.measure.tabulation import tabulate
from spectra.verdict import spectral_measure
from tests.oracles.pooling import mean_score, random_differences


def test_the_grid_estimates_the_kernel_of_the_published_formula():
    """a = 3, p = 1 in d = 16: the closed form of int mu Omega dw / int |mu| dw."""
    dim, a, z = 16, 3.0, np.array([0.5, 1.0, 2**0.5, 2.0])
    kernel = catalogue["spherical_polynomial"](a=3, p=1)
    found = grid_mean(spectral_density(kernel, dim).density, dim, z, reach=100.0, points=20000)
    shape = np.zeros_like(z)
    at_zero = 0.0
    for i in (0, 1):
        alpha = dim / 2 + i
        weight = (1 - 4 / a**2) ** (1 - i) * (2 / a**2) ** i * 2 ** (alpha - 1) / gamma(alpha + 0.5)
        shape += weight * hyp2f1(0.5, 0.5 - alpha, dim / 2, z**2 / 4)
        at_zero += weight
    assert np.allclose(
        found
        / grid_mean(spectral_density(kernel, dim).density, dim, [0.0], reach=100.0, points=20000),
        shape / at_zero,
        atol=2e-3,
    )
    assert np.allclose(found, [0.9699, 0.8946, 0.8141, 0.6982], atol=2e-3)


@pytest.mark.parametrize("dim", [1, 7])
def test_importance_sampling_is_unbiased_for_signed_densities(dim):
    kernel = radial("exp(-z**2/2) - exp(-z**2/8)/2")
    density = spectral_density(kernel, dim).density

    z = np.array([0.3, 1.0, 1.7])
    D = random_differences(z, dim, np.random.default_rng(0))
    drawn = [importance_frequencies(density, dim, 300, deviation=1.2, rng=s) for s in range(100)]
    assert mean_score(np.array([one.estimate(D) for one in drawn]), kernel(z)) < 6


@pytest.mark.parametrize("rows", [30, 200])
def test_leverage_scores_of_frequencies_are_those_of_a_dense_inverse(rows):
    """The weights tell the chances; both sides of Z'Z (Z'Z + l I)^-1 = Z' (Z Z' + l I)^-1 Z."""
    table = tabulate(spectral_measure(radial("exp(-z**2/2) - exp(-z**2/8)"), 3))
    X = np.random.default_rng(0).normal(size=(rows, 3))
    pool = draw_frequencies(table, (25, 25), coupling="iid", radii="iid", random_state=1)
    drawn = leverage_frequencies(pool, X, 400, ridge=1e-2, rng=2)
    angles = X @ pool.frequencies.T
    Z = np.hstack([np.cos(angles), np.sin(angles)]) * np.sqrt(np.tile(pool.weights, 2))
    dense = np.diag(Z.T @ np.linalg.inv(Z @ Z.T + 1e-2 * rows * np.eye(rows)) @ Z)
    scores = dense[:50] + dense[50:]
    found = {tuple(w): c for w, c in zip(drawn.frequencies, drawn.weights, strict=True)}
    exact = dict(
        zip(
            map(tuple, pool.frequencies),
            pool.weights / (400 * scores / scores.sum()),
            strict=True,
        )
    )
    assert len(found) > 30
    assert {w: exact[w] for w in found} == pytest.approx(found, rel=1e-9)


def test_grff_with_the_published_law_estimates_another_kernel():
    X = np.random.default_rng(0).normal(size=(6, 16)) / 4
    kernel = catalogue["gaussian"]()
    features = PublishedGRFF(kernel, n_components=20_000, random_state=0).fit(X)
    z = np.linalg.norm(X[:, None] - X[None], axis=-1)
    other = grid_mean(spectral_density(kernel, 16).density, 16, z)
    assert np.abs(features.gram(X) - other).max() < 0.05
    assert np.abs(features.gram(X) - kernel.gram(X)).max() > 0.2
    with pytest.raises(ParameterError, match="n = 1 leaves a part"):
        PublishedGRFF("exp(-z**2/2) - exp(-z**2/8)", n_components=2).fit(X)


def test_a_density_that_is_infinite_at_zero_has_no_grid():
    with np.errstate(divide="ignore"), pytest.raises(ParameterError, match="not finite"):
        grid_frequencies(lambda w: 1.0 / w, 1, 5, points=101, rng=0)
