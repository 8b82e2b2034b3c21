"""Our kernels in scikit-learn's Gaussian processes: its own kernels, gradients, optimizer."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import spectra as sp
from spectra.errors import MissingExtraError, ParameterError
from spectra.plugins import import_modules
from spectra.plugins.covariance import RadialCovariance
from spectra.plugins.scikit_learn import RadialGPKernel

RNG = np.random.default_rng(0)
TWINS = [
    ("gaussian", RBF),
    (sp.catalogue["matern"](nu=0.8), lambda length_scale: Matern(length_scale, nu=0.8)),
    ("exp(-z)", lambda length_scale: Matern(length_scale, nu=0.5)),
]


@pytest.mark.parametrize(("kernel", "twin"), TWINS, ids=[str(kernel) for kernel, _ in TWINS])
def test_values_and_gradients_are_those_of_scikit_learns_kernels(kernel, twin) -> None:
    dim = 3
    X, Y = RNG.normal(size=(20, dim)), RNG.normal(size=(5, dim))
    for lengths in (0.7, RNG.uniform(0.5, 3.0, dim)):
        ours, theirs = RadialGPKernel(kernel, lengths), twin(length_scale=lengths)
        np.testing.assert_allclose(ours(X, Y), theirs(X, Y), rtol=1e-10)
        value, gradient = ours(X, eval_gradient=True)
        expected, slopes = theirs(X, eval_gradient=True)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        # scikit-learn differentiates general Matern kernels by differences of 1e-10.
        np.testing.assert_allclose(gradient, slopes, atol=1e-4 if "4/5" in str(kernel) else 1e-10)
        np.testing.assert_array_equal(ours.diag(X), np.diag(value))


FORMULAS = [
    ("spherical", 3),
    ("hole_effect", 1),
    ("generalized_cauchy", 7),
    pytest.param("matern(nu=5/3)", 3, marks=pytest.mark.slow),
    pytest.param("sinc", 3, marks=pytest.mark.slow),
    pytest.param("j_bessel(m=4)", 4, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kernel", "dim"), FORMULAS)
def test_gradients_are_differences_of_the_matrix(kernel: str, dim: int) -> None:
    X, lengths, step = RNG.uniform(0, 0.5, size=(9, dim)), RNG.uniform(0.5, 2.0, dim), 1e-6
    gradient = RadialGPKernel(kernel, lengths)(X, eval_gradient=True)[1]
    for j in range(dim):
        up, down = lengths.copy(), lengths.copy()
        up[j] *= np.exp(step)
        down[j] *= np.exp(-step)
        slope = (RadialGPKernel(kernel, up)(X) - RadialGPKernel(kernel, down)(X)) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, j], slope, atol=1e-8)


@pytest.mark.slow
def test_a_fit_finds_the_optimum_that_scikit_learn_finds() -> None:
    X = RNG.uniform(0, 5, size=(40, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.05 * RNG.normal(size=40)
    noise = WhiteKernel(0.01)
    ours = GaussianProcessRegressor(
        ConstantKernel() * RadialGPKernel(sp.catalogue["matern"](nu=2.5), [1.0, 1.0]) + noise
    ).fit(X, y)
    theirs = GaussianProcessRegressor(ConstantKernel() * Matern([1.0, 1.0], nu=2.5) + noise).fit(
        X, y
    )
    found, expected = (m.log_marginal_likelihood_value_ for m in (ours, theirs))
    assert abs(found - expected) < 1e-4
    np.testing.assert_allclose(ours.predict(X[:5]), theirs.predict(X[:5]), atol=1e-4)


def test_it_behaves_as_a_kernel_of_scikit_learn() -> None:
    kernel = RadialGPKernel(sp.catalogue["spherical"](), [1.0, 2.0])
    assert kernel.is_stationary()
    assert kernel.theta == pytest.approx(np.log([1.0, 2.0]))
    moved = kernel.clone_with_theta(np.log([3.0, 4.0]))
    np.testing.assert_allclose(moved.length_scale, [3.0, 4.0])
    X = RNG.normal(size=(4, 2))
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(copy(X), kernel(X))
    fixed = RadialGPKernel("spherical", 1.0, "fixed")
    assert fixed(X, eval_gradient=True)[1].shape == (4, 4, 0)
    assert "spherical" in repr(fixed)


@pytest.mark.slow
def test_a_kernel_that_is_no_covariance_in_this_dimension_is_refused() -> None:
    kernel = RadialGPKernel("circular")
    kernel(np.zeros((2, 2)))
    with pytest.raises(ParameterError, match=r"oscillates in sign.*lower dimensions"):
        kernel(np.zeros((2, 3)))


def test_the_shape_of_a_family_is_learned() -> None:
    family = sp.family("powered_exponential")
    X, lengths = RNG.uniform(0, 4, (20, 2)), [1.0, 2.0]
    kernel, step = RadialGPKernel(family, lengths), 1e-5
    assert kernel.theta.shape == (3,)
    assert clone(kernel)(X).shape == (20, 20)
    np.testing.assert_allclose(kernel(X), RadialGPKernel("exp(-z)", lengths)(X), rtol=1e-12)
    gradient = kernel(X, eval_gradient=True)[1]
    for j, e in enumerate(step * np.eye(3)):
        up, down = (kernel.clone_with_theta(kernel.theta + s * e)(X) for s in (1, -1))
        np.testing.assert_allclose(gradient[:, :, j], (up - down) / (2 * step), atol=1e-8)
    y = np.linalg.cholesky(family(power=1.6).gram(X) + 1e-3 * np.eye(20)) @ RNG.normal(size=20)
    model = GaussianProcessRegressor(RadialGPKernel(family) + WhiteKernel(1e-3, "fixed")).fit(X, y)
    assert model.log_marginal_likelihood_value_ > model.log_marginal_likelihood(np.zeros(2))
    with pytest.raises(ParameterError, match=r"power = 2\.5"):
        RadialGPKernel(family, shape=[2.5])(X)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match="not a radial kernel"):
        RadialGPKernel(sp.zonal("exp(u)"))(np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="one for each of the 3"):
        RadialGPKernel("gaussian", [1.0, 2.0])(np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="Y = None only"):
        RadialGPKernel("gaussian")(np.zeros((2, 3)), np.zeros((2, 3)), eval_gradient=True)


def test_values_without_a_formula_have_no_slope() -> None:
    covariance = RadialCovariance(sp.radial(lambda z: np.exp(-z)), 1)
    np.testing.assert_allclose(covariance.values([4.0]), np.exp(-2.0))
    with pytest.raises(ParameterError, match="no formula to differentiate"):
        covariance.derivative([4.0])


@pytest.mark.parametrize(
    ("dim", "kernel"),
    [(1, "exp(-z**2/2)"), (3, "matern(nu=7/4)"), pytest.param(2, "dagum", marks=pytest.mark.slow)],
)
def test_the_slope_of_a_spectrum_is_the_spectrum_two_dimensions_up(kernel: str, dim: int) -> None:
    covariance, w, step = RadialCovariance.of(kernel, dim), np.array([0.1, 0.7, 2.0, 5.0]), 1e-4
    difference = covariance.power_spectrum(w + step) - covariance.power_spectrum(w - step)
    np.testing.assert_allclose(
        covariance.power_spectrum_derivative(w), difference / (2 * step), rtol=2e-5
    )


def test_a_spectrum_with_double_zeros_is_not_negative() -> None:
    covariance = RadialCovariance.of("spherical", 3)
    w = np.concatenate([[0.0], np.geomspace(1e-3, 1e5, 500)])
    assert np.all(covariance.power_spectrum(w) >= 0.0)
    with pytest.raises(ParameterError, match="not a density"):
        RadialCovariance.of("sinc", 3).power_spectrum([1.0])


def test_a_missing_library_is_named_with_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r'no_such_library.*"kernel-spectra\[gstools\]"'):
        import_modules("gstools", "no_such_library")
