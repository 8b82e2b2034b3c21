"""NumPyro and GPJax with our kernels: their own kernels, exact priors, exact gradients."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import spectra as sp
from spectra.errors import ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of their own imports
    jax = pytest.importorskip("jax", reason="JAX comes with numpyro and gpjax, which are extras")
    jax.config.update("jax_enable_x64", True)
    numpyro = pytest.importorskip("numpyro", reason="NumPyro is an extra: pip install numpyro")
    gpjax = pytest.importorskip("gpjax", reason="GPJax is an extra: pip install gpjax")
    from numpyro.contrib.hsgp.spectral_densities import (
        diag_spectral_density_matern,
        diag_spectral_density_squared_exponential,
    )

from spectra.plugins.gpjax import kernel_of
from spectra.plugins.numpyro import diag_spectral_density

pytestmark = pytest.mark.filterwarnings("ignore")  # deprecations inside JAX's own libraries
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dim", [1, 3])
def test_spectra_are_those_of_numpyros_own_kernels(dim: int) -> None:
    length, ell, m = RNG.uniform(0.5, 2.0, dim), [2.0] * dim, [5] * dim
    own = diag_spectral_density_squared_exponential(1.3, jax.numpy.array(length), ell, m, dim)
    ours = diag_spectral_density("gaussian", 1.3, length, ell, m, dim)
    np.testing.assert_allclose(ours, own, rtol=1e-10)
    rows = jax.numpy.array(RNG.uniform(0.5, 2.0, (3, dim)))
    for lengths in (0.9, rows):
        own = diag_spectral_density_matern(1.5, 0.7, lengths, ell, m, dim)
        ours = diag_spectral_density(sp.catalogue["matern"](nu=1.5), 0.7, lengths, ell, m, dim)
        np.testing.assert_allclose(ours, own, rtol=1e-10)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        diag_spectral_density("gaussian", 1.0, np.ones((2, dim + 1)), ell, m, 1 + 2 * dim)


@pytest.mark.parametrize(("kernel", "dim"), [("spherical", 3), ("dagum", 1), ("cubic", 2)])
def test_gradients_in_the_lengths_are_differences_under_jit(kernel: str, dim: int) -> None:
    weights = RNG.normal(size=4**dim)

    def total(length):
        return weights @ diag_spectral_density(kernel, 1.0, length, 2.0, 4, dim)

    at, step = RNG.uniform(0.5, 2.0, dim), 1e-5
    gradient = jax.jit(jax.grad(total))(at)
    difference = [(total(at + step * e) - total(at - step * e)) / (2 * step) for e in np.eye(dim)]
    np.testing.assert_allclose(gradient, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dim", [1, 3])
def test_matrices_and_gradients_are_those_of_gpjax(dim: int) -> None:
    X, lengths = RNG.normal(size=(7, dim)), RNG.uniform(0.5, 2.0, dim)

    def total(make):
        def of(lengths):
            return jax.numpy.sum(make(lengths).gram(X).as_matrix() ** 2)

        return jax.value_and_grad(of)(lengths)

    ours = total(lambda l: kernel_of(sp.catalogue["matern"](nu=1.5), dim, lengthscale=l))  # noqa: E741
    theirs = total(lambda l: gpjax.kernels.Matern32(n_dims=dim, lengthscale=l))  # noqa: E741
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_random_features_of_gpjax_have_the_kernel_for_a_mean() -> None:
    kernel, X, draws = sp.catalogue["spherical"](length=2), RNG.uniform(size=(5, 3)), 60
    base = kernel_of(kernel, 3, lengthscale=[1.0, 2.0, 0.5])
    grams = []
    for seed in range(draws):
        features = gpjax.kernels.RFF(base, num_basis_fns=64, key=jax.random.key(seed))
        grams.append(np.asarray(features.gram(X).as_matrix()))
    exact = kernel.gram(X / np.array([1.0, 2.0, 0.5]))
    error = np.std(grams, axis=0, ddof=1) / np.sqrt(draws)
    assert np.all(np.abs(np.mean(grams, axis=0) - exact) < 6.0 * error + 1e-5)


@pytest.mark.parametrize("dim", [1, 2])
def test_densities_of_frequencies_are_those_of_gpjax(dim: int) -> None:
    lengths = jax.numpy.array(RNG.uniform(0.5, 2.0, dim))
    omega = RNG.normal(size=(7, dim))
    own = gpjax.kernels.Matern32(lengthscale=lengths, n_dims=dim).spectral_density
    ours = kernel_of(sp.catalogue["matern"](nu=1.5), dim, lengthscale=lengths).spectral_density
    np.testing.assert_allclose(ours.log_prob(omega), own.log_prob(omega), rtol=1e-10)


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(ParameterError, match="not positive definite on R\\^3"):
        kernel_of("circular", 3)
    with pytest.raises(ParameterError, match="not positive definite on R\\^3"):
        diag_spectral_density("circular", 1.0, 1.0, 2.0, 4, 3)
    with pytest.raises(ParameterError, match="not a density"):
        jax.make_jaxpr(lambda length: diag_spectral_density("cosine", 1.0, length, 2.0, 4, 1))(1.0)


def test_kernels_of_gpjax_can_be_pickled() -> None:
    kernel, X = kernel_of("spherical", 2, lengthscale=[1.0, 2.0]), RNG.normal(size=(5, 2))
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again.gram(X).as_matrix(), kernel.gram(X).as_matrix())
    assert again.spectral_density.lengths.tolist() == [1.0, 2.0]
