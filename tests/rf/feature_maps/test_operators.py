"""Products without matrices equal those with them, in the memory of a few blocks."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, cg, minres
from sklearn.kernel_approximation import RBFSampler

import spectra as sp
from rf import RFF, KreinRidge, SpectralFeatures
from rf.features import operators as module
from spectra.errors import AccuracyError, DataError, ParameterError
from tests.oracles.laws import gaussian_law, gaussian_mixture, table_of


@pytest.fixture(params=[None, 1 << 14], ids=["one block", "many blocks"], autouse=True)
def blocks(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(module, "_BLOCK_BYTES", request.param)


def signed(dim, columns):
    options = {"coupling": "orthogonal", "allocation": "mass", "mixed_signature": "ignore"}
    table = gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])
    return SpectralFeatures(table, n_components=columns, random_state=0, **options)


@pytest.mark.parametrize(
    ("dim", "columns", "dtype"), [(1, 6, np.float64), (3, 33, np.float32), (64, 128, np.float64)]
)
def test_products_are_those_of_the_matrix(dim, columns, dtype):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(n, dim)).astype(dtype) for n in (301, 77))
    features = signed(dim, columns).fit(X)
    K = features.gram(X, Y).astype(float)
    A = features.operator(X, Y)
    assert isinstance(A, LinearOperator)
    assert A.shape == (301, 77)
    assert A.dtype == dtype
    v, V, u = rng.normal(size=77), rng.normal(size=(77, 5)), rng.normal(size=301)
    # Entries of K are at most 2, and each rounds a sum of that many terms.
    allowed = 4.0 * columns * np.finfo(dtype).eps
    for found, exact, size in (
        (A @ v, K @ v, np.abs(v).sum()),
        (A @ V, K @ V, np.abs(V).sum(axis=0).max()),
        (A.rmatvec(u), K.T @ u, np.abs(u).sum()),
        (A.T @ u, K.T @ u, np.abs(u).sum()),
        (A.H @ np.stack([u, -u], axis=1), K.T @ np.stack([u, -u], axis=1), np.abs(u).sum()),
    ):
        assert found.dtype == dtype
        assert 0.0 < np.abs(found - exact).max() <= allowed * size


def test_right_features_are_on_the_right():
    kernel = sp.catalogue["gaussian"]().shift([0.5, -0.3])
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    features = SpectralFeatures(kernel, n_components=64, coupling="iid", random_state=0).fit(X)
    A = features.operator(X, Y)
    np.testing.assert_allclose(A @ np.eye(30), features.gram(X, Y), atol=1e-13)
    np.testing.assert_allclose(A.T @ np.eye(40), features.gram(X, Y).T, atol=1e-13)
    assert np.abs(features.gram(X) - features.gram(X).T).max() > 0.1
    np.testing.assert_allclose(features.operator(X) @ np.eye(40), features.gram(X), atol=1e-13)


def test_a_ridge_is_on_the_diagonal_and_solvers_take_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    features = RFF(table_of(3, [(1.0, gaussian_law(3))]), n_components=50, random_state=0).fit(X)
    A = features.operator(X, ridge=0.5)
    K = features.gram(X) + 0.5 * np.eye(100)
    np.testing.assert_allclose(A @ np.eye(100), K, atol=1e-13)
    np.testing.assert_allclose(A.T @ y, K @ y, atol=1e-12)
    np.testing.assert_allclose(A @ (1j * y), 1j * (K @ y), atol=1e-12)
    np.testing.assert_allclose(A @ np.arange(100), K @ np.arange(100.0), atol=1e-10)
    solution, stopped = cg(A, y, rtol=1e-12)
    assert stopped == 0
    np.testing.assert_allclose(solution, np.linalg.solve(K, y), rtol=1e-8, atol=1e-9)
    indefinite = signed(3, 40).fit(X)
    solution, stopped = minres(indefinite.operator(X, ridge=0.7), y, rtol=1e-12, maxiter=500)
    assert stopped == 0
    exact = np.linalg.solve(indefinite.gram(X) + 0.7 * np.eye(100), y)
    np.testing.assert_allclose(solution, exact, atol=1e-7 * np.abs(exact).max())


def test_the_features_of_all_rows_are_never_held(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 21)
    X = np.random.default_rng(0).normal(size=(8_000, 4)).astype(np.float32)
    features = signed(4, 1024).fit(X[:50])
    A = features.operator(X)
    v = np.ones(len(X), np.float32)
    tracemalloc.start()
    A @ v
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6 < 4 * 1024 * len(X) / 5


def test_what_is_no_ridge_is_refused():
    X = np.zeros((3, 2))
    features = signed(2, 4).fit(X)
    with pytest.raises(ParameterError, match="Leave Y out"):
        features.operator(X, X, ridge=1.0)
    for ridge in (np.nan, np.inf, np.ones(3), "1", 1j):
        with pytest.raises(ParameterError, match="ridge"):
            features.operator(X, ridge=ridge)


def test_rows_too_far_apart_are_refused():
    table = table_of(2, [(1.0, gaussian_law(2))], domain=1.0)
    features = SpectralFeatures(table, n_components=8, random_state=0).fit(np.zeros((2, 2)))
    with pytest.raises(DataError):
        features.operator(np.zeros((2, 2)), np.full((2, 2), 2.0))


class TestIterativeRidge:
    @pytest.mark.parametrize(
        ("dim", "kernel"), [(3, "gaussian"), (16, "exp(-z**2/2) - exp(-z**2/8)/2")]
    )
    def test_it_is_the_stationary_point_without_sums(self, dim, kernel):
        rng = np.random.default_rng(dim)
        X = rng.normal(size=(200, dim))
        Y = np.stack([np.sin(X[:, 0]), X.sum(axis=1)], axis=1)
        features = SpectralFeatures(
            kernel, n_components=60, mixed_signature="ignore", random_state=0
        )
        found = KreinRidge(features, alpha=2.0, solver="iterative").fit(X, Y)
        exact = KreinRidge(features, alpha=2.0, solver="stationary").fit(X, Y)
        assert 0.0 < found.residual_ <= 1e-8
        # An error of c is at most the residual over the distance of K + alpha I to a singular one.
        gap = np.abs(np.append(exact.eigenvalues_, 0.0) + 2.0).min()
        bound = found.residual_ * np.linalg.norm(Y - Y.mean(axis=0), axis=0) / gap
        largest = np.sqrt(np.abs(exact.eigenvalues_).max() * 2)
        assert np.all(np.abs(found.predict(X) - exact.predict(X)) <= largest**2 * bound + 1e-12)
        assert not hasattr(found, "sums_")
        one = KreinRidge(features, alpha=2.0, solver="iterative").fit(X, Y[:, 0])
        assert one.predict(X).shape == (200,)
        assert np.allclose(one.predict(X), found.predict(X)[:, 0], atol=1e-7)

    def test_what_needs_sums_or_an_operator_or_converges_not_is_refused(self):
        X = np.random.default_rng(0).normal(size=(30, 2))
        y = X[:, 0]
        model = KreinRidge(alpha=1.0, solver="iterative")
        with pytest.raises(ParameterError, match="keeps no sums"):
            model.fit(X, y, np.ones(30))
        with pytest.raises(ParameterError, match="keeps no sums"):
            model.fit_chunks([(X, y)])
        with pytest.raises(ParameterError, match="keeps no sums"):
            model.fit(X, y).predict(X, return_std=True)
        with pytest.raises(ParameterError, match="has none"):
            KreinRidge(RBFSampler(), solver="iterative").fit(X, y)
        with pytest.raises(AccuracyError, match="too near to a singular matrix"):
            KreinRidge(alpha=1e-16, solver="iterative").fit(X, y)
