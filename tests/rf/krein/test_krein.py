"""Krein ridge regression solves the indefinite problem that it states, through the signature."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rf import GRFF, SpectralFeatures
from rf.krein.classifier import KreinRidgeClassifier
from rf.krein.ridge import KreinRidge
from rf.krein.sums import KreinSpace, KreinSums
from rf.papers.baselines import IndefiniteNystroem
from spectra.errors import AccuracyError, ParameterError
from spectra.kernels.kernel import radial


def indefinite(X, Y):
    z2 = np.maximum((X**2).sum(1)[:, None] + (Y**2).sum(1) - 2 * X @ Y.T, 0)
    return np.exp(-z2 / 2) - 0.7 * np.exp(-z2 / 8)


def nystroem(n=40):
    return IndefiniteNystroem(indefinite, n_components=n, random_state=0)


def sampler():
    return RBFSampler(gamma=0.1, random_state=0)


def solved(Z, signature, y, **options):
    """Coefficients for targets as they are, without an intercept, and the eigenvalues of K."""
    targets = y.reshape(len(Z), -1)
    space = KreinSpace(KreinSums.from_features(Z, targets), signature)
    beta = space.coefficients(np.zeros(targets.shape[1]), **options)
    return beta.reshape(Z.shape[1], *y.shape[1:]), space.eigenvalues


@parametrize_with_checks(
    [
        KreinRidge(sampler()),
        KreinRidgeClassifier(IndefiniteNystroem(random_state=0), alpha=1e-3),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    Z, Z_new = rng.standard_normal((60, 12)), rng.standard_normal((20, 12))
    signature = np.where(np.arange(12) % 3 == 0, -1.0, 1.0)
    return Z, Z_new, signature, rng.standard_normal((60, 2))


@pytest.mark.parametrize(("alpha", "rows"), [(1e-3, 60), (50.0, 60), (0.3, 7)])
def test_both_solves_are_the_solves_with_the_whole_kernel_matrix(problem, alpha, rows):
    Z, Z_new, signature, y = problem
    Z, y = Z[:rows], y[:rows]
    K, K_new = (Z * signature) @ Z.T, (Z_new * signature) @ Z.T
    values, vectors = np.linalg.eigh(K)
    values[np.abs(values) < 1e-9] = 0.0
    assert values.min() < -1 < 1 < values.max()
    flip = vectors @ ((np.sign(values) / (np.abs(values) + alpha))[:, None] * (vectors.T @ y))
    stationary = np.linalg.solve(K + alpha * np.eye(rows), y)
    for solver, dual in (("flip", flip), ("stationary", stationary)):
        beta, eigenvalues = solved(Z, signature, y, alpha=alpha, solver=solver)
        np.testing.assert_allclose(Z_new @ beta, K_new @ dual, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(eigenvalues, np.sort(values[values != 0]), rtol=1e-9, atol=1e-9)


def test_a_singular_stationary_problem_is_refused_and_flip_is_not():
    Z, signature = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 1.0])
    y = np.ones(3)
    with pytest.raises(AccuracyError, match="eigenvalue -4"):
        solved(Z, signature, y, alpha=4.0, solver="stationary")
    beta, _ = solved(Z, signature, y, alpha=4.0, solver="flip")
    np.testing.assert_allclose(Z @ beta, [1 / 5, 4 / 8, 9 / 13])


def test_classifier_separates_moons_in_a_pipeline():
    X, y = make_moons(300, noise=0.1, random_state=0)
    labels = np.array(["left", "right"])[y]
    model = make_pipeline(StandardScaler(), KreinRidgeClassifier(nystroem(60), alpha=1e-3))
    model.fit(X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.95
    assert model.decision_function(X).shape == (300,)
    two = KreinRidge(nystroem()).fit(X, np.stack([y, -y], axis=1))
    assert two.predict(X).shape == (300, 2)


def test_an_asymmetric_kernel_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 2))
    shifted = SpectralFeatures(
        radial("exp(-z**2/2)").shift([0.5, 0.0]), n_components=16, mixed_signature="ignore"
    )
    with pytest.raises(ParameterError, match="asymmetric"):
        KreinRidge(shifted).fit(X, X[:, 0])


@pytest.mark.parametrize("mixed", ["warn", "error"])
def test_a_model_that_uses_the_signature_accepts_negative_signs(mixed):
    """Warnings are errors here."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    signed = GRFF(
        "exp(-z**2/2) - exp(-z**2/8)", n_components=20, mixed_signature=mixed, random_state=0
    )
    model = KreinRidge(make_pipeline(StandardScaler(), signed)).fit(X, X[:, 0])
    alone = KreinRidge(signed).fit(StandardScaler().fit_transform(X), X[:, 0])
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)
