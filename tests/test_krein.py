"""Krein ridge regression solves the indefinite problem that it states, through the signature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GRFF, SpectralFeatures
from rf.krein.classifier import KreinRidgeClassifier
from rf.krein.ridge import KreinRidge, krein_solve
from rf.papers.baselines import ExactPolynomial, IndefiniteNystroem
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import radial


def indefinite(X, Y):
    z2 = np.maximum((X**2).sum(1)[:, None] + (Y**2).sum(1) - 2 * X @ Y.T, 0)
    return np.exp(-z2 / 2) - 0.7 * np.exp(-z2 / 8)


def nystroem(n=40):
    return IndefiniteNystroem(indefinite, n_components=n, random_state=0)


def sampler():
    return RBFSampler(gamma=0.1, random_state=0)


@parametrize_with_checks(
    [
        KreinRidge(sampler()),
        KreinRidgeClassifier(IndefiniteNystroem(random_state=0), alpha=1e-3),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [KreinRidge(), KreinRidge(IndefiniteNystroem(random_state=0), solver="stationary")]
)
def test_scikit_learn_contract_of_other_solvers(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    Z, Z_new = rng.standard_normal((60, 12)), rng.standard_normal((20, 12))
    signature = np.where(np.arange(12) % 3 == 0, -1.0, 1.0)
    return Z, Z_new, signature, rng.standard_normal((60, 2))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_both_solves_are_the_solves_with_the_whole_kernel_matrix(problem, alpha):
    Z, Z_new, signature, y = problem
    K, K_new = (Z * signature) @ Z.T, (Z_new * signature) @ Z.T
    values, vectors = np.linalg.eigh(K)
    values[np.abs(values) < 1e-9] = 0.0
    assert values.min() < -1 < 1 < values.max()
    flip = vectors @ ((np.sign(values) / (np.abs(values) + alpha))[:, None] * (vectors.T @ y))
    stationary = np.linalg.solve(K + alpha * np.eye(60), y)
    for solver, dual in (("flip", flip), ("stationary", stationary)):
        beta, eigenvalues = krein_solve(Z, signature, y, alpha=alpha, solver=solver)
        np.testing.assert_allclose(Z_new @ beta, K_new @ dual, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(eigenvalues, np.sort(values[values != 0]), rtol=1e-9, atol=1e-9)


def test_more_columns_than_rows_is_the_same_problem(problem):
    Z, _, signature, y = problem
    Z, y = Z[:7], y[:7]
    K = (Z * signature) @ Z.T
    beta, _ = krein_solve(Z, signature, y, alpha=0.3, solver="stationary")
    np.testing.assert_allclose(Z @ beta, K @ np.linalg.solve(K + 0.3 * np.eye(7), y), atol=1e-10)


def test_stationary_is_a_stationary_point_and_not_a_minimum(problem):
    """The gradient of |y - Z b|^2 + alpha b'Sb vanishes, and it has descent directions."""
    Z, _, signature, y = problem
    Z, y = 0.1 * Z, y[:, 0]
    alpha = 7.0
    beta, _ = krein_solve(Z, signature, y, alpha=alpha, solver="stationary")
    gradient = Z.T @ (Z @ beta - y) + alpha * signature * beta
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
    assert np.linalg.eigvalsh(Z.T @ Z + alpha * np.diag(signature)).min() < 0


def test_flip_minimises_the_convex_problem(problem):
    """min over c of |y - |K| c|^2 + alpha c'|K|c has the fitted values of the flip solve."""
    Z, _, signature, y = problem
    y, alpha = y[:, 0], 0.5
    values, vectors = np.linalg.eigh((Z * signature) @ Z.T)
    modulus = (vectors * np.abs(values)) @ vectors.T
    beta, _ = krein_solve(Z, signature, y, alpha=alpha, solver="flip")
    fitted = Z @ beta
    best = modulus @ np.linalg.solve(modulus + alpha * np.eye(60), y)
    np.testing.assert_allclose(fitted, best, atol=1e-9)


def test_a_singular_stationary_problem_is_refused_and_flip_is_not():
    Z, signature = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 1.0])
    y = np.ones(3)
    with pytest.raises(AccuracyError, match="eigenvalue -4"):
        krein_solve(Z, signature, y, alpha=4.0, solver="stationary")
    beta, _ = krein_solve(Z, signature, y, alpha=4.0, solver="flip")
    np.testing.assert_allclose(Z @ beta, [1 / 5, 4 / 8, 9 / 13])


@pytest.mark.parametrize("solver", ["flip", "stationary"])
def test_a_positive_definite_kernel_gives_kernel_ridge(solver):
    rng = np.random.default_rng(1)
    X, X_new = rng.standard_normal((50, 3)), rng.standard_normal((9, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    model = KreinRidge(
        ExactPolynomial((1.0, 2.0, 1.0)), alpha=0.1, solver=solver, fit_intercept=False
    ).fit(X, y)
    exact = KernelRidge(alpha=0.1, kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X_new), exact.predict(X_new), atol=1e-9)


def test_ridge_on_the_columns_alone_learns_another_kernel():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 2))
    y = np.cos(2 * X[:, 0])
    features = nystroem().fit(X)
    Z = features.transform(X)
    assert np.any(features.signature_ < 0)
    model = KreinRidge(nystroem(), alpha=0.1, fit_intercept=False).fit(X, y)
    plain = Ridge(alpha=0.1, fit_intercept=False).fit(Z, y)
    unsigned, _ = krein_solve(Z, np.ones(Z.shape[1]), y, alpha=0.1, solver="flip")
    np.testing.assert_allclose(plain.predict(Z), Z @ unsigned, atol=1e-7)
    assert np.max(np.abs(model.predict(X) - plain.predict(Z))) > 0.01


@pytest.mark.parametrize("solver", ["flip", "stationary"])
def test_a_function_of_the_span_is_recovered_as_alpha_falls(solver):
    rng = np.random.default_rng(3)
    X, X_new = rng.standard_normal((60, 2)), rng.standard_normal((30, 2))
    centres = X[:5]
    coefficients = np.array([1.0, -2.0, 0.5, 1.5, -1.0])
    y, y_new = indefinite(X, centres) @ coefficients, indefinite(X_new, centres) @ coefficients
    error = []
    for alpha in (1e-1, 1e-5):
        model = KreinRidge(nystroem(60), alpha=alpha, solver=solver, fit_intercept=False)
        error.append(np.max(np.abs(model.fit(X, y).predict(X_new) - y_new)))
    assert error[1] < 0.1 * error[0]
    assert error[1] < 0.02


def test_signed_random_features_come_close_to_the_exact_kernel():
    """With more columns the model tends to the one with the exact matrix; nothing warns."""
    kernel = "exp(-z**2/2) - 7/10*exp(-z**2/8)"
    rng = np.random.default_rng(5)
    X, X_new = rng.standard_normal((80, 2)), rng.standard_normal((40, 2))
    y = np.sin(X[:, 0] * X[:, 1])
    exact = KreinRidge(nystroem(80), alpha=0.5).fit(X, y).predict(X_new)
    distance = []
    for columns in (40, 4000):
        features = SpectralFeatures(kernel, n_components=columns, random_state=0)
        model = KreinRidge(features, alpha=0.5).fit(X, y)
        assert np.any(model.features_.signature_ < 0)
        distance.append(np.linalg.norm(model.predict(X_new) - exact) / np.linalg.norm(exact))
    assert distance[1] < min(0.03, 0.3 * distance[0])
    sparse = model.predict(csr_array(X_new))
    np.testing.assert_allclose(sparse, model.predict(X_new), atol=1e-10)


def test_classifier_separates_moons_in_a_pipeline():
    X, y = make_moons(300, noise=0.1, random_state=0)
    labels = np.array(["left", "right"])[y]
    model = make_pipeline(StandardScaler(), KreinRidgeClassifier(nystroem(60), alpha=1e-3))
    model.fit(X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.95
    assert model.decision_function(X).shape == (300,)


def test_targets_keep_their_shape():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    one, two = KreinRidge(nystroem()).fit(X, Y[:, 0]), KreinRidge(nystroem()).fit(X, Y)
    assert one.predict(X).shape == (40,)
    assert two.predict(X).shape == (40, 2)
    np.testing.assert_allclose(two.predict(X)[:, 0], one.predict(X), atol=1e-10)
    assert np.any(one.eigenvalues_ < 0)


def test_the_signs_of_a_pipeline_are_those_of_its_last_step():
    X = np.random.default_rng(0).normal(size=(40, 3))
    signed = SpectralFeatures(
        "exp(-z**2/2) - exp(-z**2/8)", n_components=64, random_state=0, mixed_signature="ignore"
    )
    alone = KreinRidge(signed).fit(X, X[:, 0])
    scaled = StandardScaler(with_mean=False, with_std=False)
    piped = KreinRidge(make_pipeline(scaled, signed)).fit(X, X[:, 0])
    assert alone.eigenvalues_.min() < -0.1
    np.testing.assert_allclose(piped.predict(X), alone.predict(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(ParameterError, match="last step"):
        KreinRidge(make_pipeline(signed, scaled)).fit(X, X[:, 0])


def test_an_asymmetric_kernel_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 2))
    shifted = SpectralFeatures(
        radial("exp(-z**2/2)").shift([0.5, 0.0]), n_components=16, mixed_signature="ignore"
    )
    with pytest.raises(ParameterError, match="asymmetric"):
        KreinRidge(shifted).fit(X, X[:, 0])


def test_features_that_refuse_negative_signs_alone_are_welcome_where_signs_are_used():
    X = np.random.default_rng(0).normal(size=(20, 2))
    strict = SpectralFeatures(
        "exp(-z**2/2) - exp(-z**2/8)", n_components=16, random_state=0, mixed_signature="error"
    )
    assert KreinRidge(strict).fit(X, X[:, 0]).eigenvalues_.min() < 0


@pytest.mark.parametrize("mixed", ["warn", "error"])
def test_a_model_that_takes_the_signature_is_not_warned_of_it_in_a_pipeline(mixed):
    """Warnings are errors here."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    signed = GRFF(
        "exp(-z**2/2) - exp(-z**2/8)", n_components=20, mixed_signature=mixed, random_state=0
    )
    model = KreinRidge(make_pipeline(StandardScaler(), signed)).fit(X, X[:, 0])
    alone = KreinRidge(signed).fit(StandardScaler().fit_transform(X), X[:, 0])
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)
