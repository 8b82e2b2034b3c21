"""Matrices of lengths: rotated axes in the convention of GSTools."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

import rf
import spectra as sp
from rf import GaussianField, SpectralFeatures, anisotropy, two_sample_test
from spectra.errors import ParameterError

GAUSS = "exp(-z**2/2)"


def case(dim, seed=0):
    """A matrix, rows, and these rows times its inverse."""
    rng = np.random.default_rng(seed)
    M = anisotropy(np.geomspace(0.5, 3.0, dim), rng.uniform(-3.0, 3.0, dim * (dim - 1) // 2))
    X = rng.normal(size=(30, dim))
    return M, X, np.linalg.solve(M, X.T).T


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_distances_are_those_of_gstools(dim):
    gstools = pytest.importorskip("gstools")
    rng = np.random.default_rng(dim)
    for _ in range(3):
        lengths, angles = np.exp(rng.normal(size=dim)), rng.uniform(-3, 3, dim * (dim - 1) // 2)
        model = gstools.Exponential(
            dim=dim, len_scale=lengths[0], anis=lengths[1:] / lengths[0], angles=angles
        )
        X = rng.normal(size=(dim, 40))
        theirs = pdist(model.isometrize(X).T / lengths[0])
        ours = pdist(np.linalg.solve(anisotropy(lengths, angles), X).T)
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.parametrize("dim", [2, 5])
def test_features_of_a_matrix_are_those_of_mapped_rows(dim):
    M, X, U = case(dim)
    options = {"n_components": 32, "random_state": 0}
    plain = SpectralFeatures(GAUSS, **options).fit(U)
    for kernel, scale in (
        (GAUSS, M),
        (sp.radial(GAUSS).rescale(np.linalg.inv(M)), None),
        (sp.radial(GAUSS).rescale(2.0 * np.linalg.inv(M)), 2.0),
        (sp.radial(GAUSS).rescale(np.full(dim, 0.5)), 2.0 * M),
    ):
        features = SpectralFeatures(kernel, length_scale=scale, **options).fit(X)
        np.testing.assert_allclose(features.transform(X), plain.transform(U), atol=1e-12)
        np.testing.assert_allclose(features.gram(X), plain.gram(U), atol=1e-12)
    assert "a matrix of lengths" in features.explain()
    sparse = features.transform(csr_array(X))
    np.testing.assert_allclose(sparse, plain.transform(U), atol=1e-12)
    test = two_sample_test(X, X + 1.0, length_scale=M, n_permutations=9)
    same = two_sample_test(U, U + np.linalg.solve(M, np.ones(dim)), length_scale=1.0)
    assert test.mmd2 == pytest.approx(same.mmd2, rel=1e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_fields_paths_grids_gradients_and_conditioning_of_mapped_points(dim):
    M, X, U = case(dim)
    A = np.linalg.inv(M)
    field = GaussianField(GAUSS, dim=dim, length_scale=M, n_components=32, random_state=0)
    plain = GaussianField(GAUSS, dim=dim, n_components=32, random_state=0)
    np.testing.assert_allclose(field(X), plain(U), atol=1e-12)
    np.testing.assert_allclose(field.gradient(X), plain.gradient(U) @ A, atol=1e-12)
    axes = [np.linspace(0.0, 1.0, 3)] * dim
    points = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    np.testing.assert_allclose(field.on_grid(*axes).ravel(), field(points), atol=1e-12)
    given = field.condition(X[:9], X[:9, 0], noise=0.1)
    mapped = plain.condition(U[:9], X[:9, 0], noise=0.1)
    np.testing.assert_allclose(given.mean(X), mapped.mean(U), atol=1e-12)
    np.testing.assert_allclose(given.std(X), mapped.std(U), atol=1e-12)
    np.testing.assert_allclose(given.mean_gradient(X), mapped.mean_gradient(U) @ A, atol=1e-11)
    np.testing.assert_allclose(given.on_grid(*axes).ravel(), given(points), atol=1e-12)


@pytest.mark.parametrize("n", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_paths_have_the_covariance_of_mapped_points(n):
    M, X, U = case(3)
    field = GaussianField(GAUSS, dim=3, length_scale=M, n_components=32, random_state=0)
    paths = field.sample(X[:8], n_paths=n)
    K, pairs = np.exp(-np.sum((U[:8, None] - U[:8]) ** 2, axis=2) / 2), np.triu_indices(8)
    # The frequencies add to the variance of normal paths: 1 + K^2 + 2 Var(covariance of a path).
    extra = 2.0 * field.covariance_error(np.linalg.norm(U[:8, None] - U[:8], axis=2)) ** 2
    error = (paths.T @ paths / n - K)[pairs] / np.sqrt((1 + K**2 + extra)[pairs] / n)
    assert np.abs(error).max() < 6.0


def test_a_diagonal_matrix_gives_the_bits_of_lengths():
    lengths, X = np.array([0.3, 2.0, 7.0]), case(3)[1]
    options = {"n_components": 16, "random_state": 0}
    for values in (
        lambda s: SpectralFeatures("exp(-z)", length_scale=s, **options).fit_transform(X),
        lambda s: GaussianField("exp(-z)", dim=3, length_scale=s, **options)(X),
    ):
        np.testing.assert_array_equal(values(lengths), values(np.diag(lengths)))


@pytest.mark.parametrize(
    ("kernel", "scale", "text"),
    [
        ("gaussian", np.ones((3, 3)), "singular"),
        ("gaussian", np.full((3, 3), np.nan), "singular"),
        ("gaussian", np.ones((2, 2)), r"shape \(3, 3\)"),
        (sp.radial("exp(-z)").on([0]) * sp.radial("exp(-z)").on([1, 2]), case(3)[0], "mixes"),
        (sp.l1("exp(-z)"), case(3)[0], "mixes the columns"),
        (sp.l1("Max(99 - z, 0)"), case(3)[0], "mixes the columns"),
        ("ntk", case(3)[0], "unit sphere"),
    ],
)
def test_a_matrix_is_refused_with_the_reason(kernel, scale, text):
    X = case(3)[1]
    X = X / np.linalg.norm(X, axis=1)[:, None]
    with pytest.raises(ParameterError, match=text):
        SpectralFeatures(kernel, length_scale=scale).fit(X)
    if kernel != "ntk" and "Max" not in str(kernel):
        with pytest.raises(ParameterError, match=text):
            GaussianField(kernel, dim=3, length_scale=scale)


def test_lengths_and_angles_are_checked():
    assert rf.anisotropy([2.0, 1.0]).tolist() == [[2.0, 0.0], [0.0, 1.0]]
    for bad in (([1, -1],), ([1],), ([1, 2], [0.1, 0.2]), ([1, 2], np.nan)):
        with pytest.raises(ParameterError, match=r"lengths = |angles = "):
            anisotropy(*bad)
