"""GPyTorch and BoTorch with our kernels: their matrices, their gradients, their paths."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import rf
import spectra as sp
from spectra.errors import ParameterError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of their own imports
    torch = pytest.importorskip("torch", reason="PyTorch comes with gpytorch, which is an extra")
    gpytorch = pytest.importorskip("gpytorch", reason="GPyTorch is an extra: pip install gpytorch")
    botorch = pytest.importorskip("botorch", reason="BoTorch is an extra: pip install botorch")
    from botorch.models import SingleTaskGP
    from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths
from rf.plugins.botorch import feature_map, register
from rf.plugins.gpytorch import exact_kernel, feature_kernel

pytestmark = pytest.mark.filterwarnings("ignore")  # deprecations inside linear_operator and torch
register()
RNG = np.random.default_rng(0)
DRAWS = 60


def tensor(x: object) -> object:
    return torch.tensor(np.asarray(x), dtype=torch.float64)


@pytest.mark.parametrize(("dim", "nu"), [(1, 0.5), (7, 2.5)])
def test_matrices_and_gradients_are_those_of_gpytorch(dim: int, nu: float) -> None:
    X, Y = tensor(RNG.normal(size=(9, dim))), tensor(RNG.normal(size=(4, dim)))
    found = []
    for kernel in (
        exact_kernel(sp.catalogue["matern"](nu=nu), dim, ard_num_dims=dim).double(),
        gpytorch.kernels.MaternKernel(nu=nu, ard_num_dims=dim).double(),
    ):
        kernel.lengthscale = tensor(np.linspace(0.5, 2.0, dim))
        matrix = kernel(X, Y).to_dense()
        (matrix**2).sum().backward()
        values = (matrix, kernel(X, diag=True), kernel.raw_lengthscale.grad)
        found.append([v.detach().numpy() for v in values])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("name", "dim"), [("spherical", 3), ("dagum", 7)])
def test_the_mean_of_feature_matrices_is_the_kernel_and_their_error_the_predicted_one(
    name: str, dim: int
) -> None:
    X, kernel = RNG.uniform(size=(5, dim)), sp.catalogue[name]()
    grams = []
    for seed in range(DRAWS):
        features = feature_kernel(name, dim, num_samples=64, random_state=seed).double()
        features.lengthscale = 0.8
        grams.append(features(tensor(X)).to_dense().detach().numpy())
    error = np.std(grams, axis=0, ddof=1) / np.sqrt(DRAWS)
    # Lengths are single precision until the kernel is made double.
    assert np.all(np.abs(np.mean(grams, axis=0) - kernel.gram(X / 0.8)) < 6 * error + 1e-6)
    field = rf.GaussianField(kernel, dim, n_components=128)
    z = np.linalg.norm(X[0] - X[1]) / 0.8
    predicted = field.covariance_error(z)
    square = (np.array(grams)[:, 0, 1] - kernel(z)) ** 2
    assert abs(square.mean() - predicted**2) < 6 * square.std() / np.sqrt(DRAWS) + 1e-6


def test_a_length_can_be_learnt_through_the_features() -> None:
    features = feature_kernel("cubic", 2, num_samples=32, random_state=0).double()
    X = tensor(RNG.uniform(size=(6, 2)))

    def total(length: float) -> object:
        features.lengthscale = tensor(length)  # floats go through single precision
        return (features(X).to_dense() ** 2).sum()

    total(0.7).backward()
    slope = features.raw_lengthscale.grad.item() / torch.sigmoid(features.raw_lengthscale).item()
    difference = (total(0.7 + 1e-5) - total(0.7 - 1e-5)).item() / 2e-5
    assert abs(slope - difference) < 1e-6 * abs(difference)


@pytest.mark.parametrize("make", [exact_kernel, partial(feature_kernel, num_samples=7)])
def test_a_batch_can_be_indexed_expanded_and_pickled(make) -> None:
    kernel = make("spherical", 2, batch_shape=torch.Size([3])).double()
    X = tensor(RNG.normal(size=(3, 5, 2)))
    kernel.lengthscale = tensor(RNG.uniform(0.5, 2.0, size=(3, 1, 1)))
    whole = kernel(X).to_dense()
    expanded = kernel.expand_batch(torch.Size([2, 3]))
    for found, wanted in (
        (kernel[1](X[1]), whole[1]),
        (expanded(X), torch.stack([whole, whole])),
        (pickle.loads(pickle.dumps(kernel))(X), whole),
    ):
        torch.testing.assert_close(found.to_dense(), wanted, rtol=0.0, atol=1e-13)


def test_each_kernel_of_a_batch_of_features_is_a_draw_of_its_own() -> None:
    X = tensor(RNG.uniform(size=(4, 2)))
    batch = feature_kernel(
        "spherical", 2, num_samples=16, random_state=0, batch_shape=torch.Size([80])
    ).double()
    grams = batch(X).to_dense().detach().numpy()
    error = grams.std(axis=0, ddof=1) / np.sqrt(80)
    exact = exact_kernel("spherical", 2).double()
    exact.lengthscale = batch.lengthscale[0]
    assert np.all(
        np.abs(grams.mean(axis=0) - exact(X).to_dense().detach().numpy()) < 6 * error + 1e-6
    )
    assert np.all(error[0, 1:] > 1e-3)


def model_of(name: str, X: np.ndarray, y: np.ndarray) -> object:
    kernel = gpytorch.kernels.ScaleKernel(exact_kernel(name, X.shape[1]))
    model = SingleTaskGP(
        tensor(X),
        tensor(y)[:, None],
        tensor(np.full((len(y), 1), 1e-2)),
        covar_module=kernel,
        outcome_transform=None,
    ).double()
    model.mean_module.constant.data.zero_()
    model.covar_module.outputscale = 2.0
    model.covar_module.base_kernel.lengthscale = 0.5
    return model.eval()


def test_conditional_paths_of_botorch_have_the_mean_and_variance_of_kriging() -> None:
    X, new = RNG.uniform(size=(6, 2)), RNG.uniform(size=(3, 2))
    y, kernel = np.sin(5 * X[:, 0]), sp.catalogue["spherical"]()
    model = model_of("spherical", X, y)
    torch.manual_seed(1)
    values = []
    for _ in range(DRAWS):
        paths = draw_matheron_paths(
            model,
            sample_shape=torch.Size([16]),
            prior_sampler=lambda *a, **k: draw_kernel_feature_paths(
                *a,
                num_features=256,
                weight_generator=lambda shape: torch.randn(shape, dtype=torch.float64),
                **k,
            ),
        )
        values.append(paths(tensor(new)).detach().numpy())
    matrix = 2.0 * kernel.gram(X / 0.5) + 1e-2 * np.eye(6)
    cross = 2.0 * kernel.gram(new / 0.5, X / 0.5)
    mean = cross @ np.linalg.solve(matrix, y)
    variance = 2.0 - np.sum(cross * np.linalg.solve(matrix, cross.T).T, axis=1)
    batches = np.array(values)
    means = batches.mean(axis=1)
    assert np.all(
        np.abs(means.mean(axis=0) - mean) < 6 * means.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    )
    squares = ((batches - mean) ** 2).mean(axis=1)
    assert np.all(
        np.abs(squares.mean(axis=0) - variance) < 6 * squares.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    )


def test_what_is_no_covariance_is_refused() -> None:
    with pytest.raises(ParameterError, match="not positive definite on R\\^3"):
        exact_kernel("circular", 3)
    with pytest.raises(ParameterError, match="negative mass"):
        feature_kernel("circular", 3, num_samples=8)
    with pytest.raises(ParameterError, match="even number"):
        feature_map(exact_kernel("cubic", 3), num_inputs=3, num_outputs=7)
