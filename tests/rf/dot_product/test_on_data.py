"""Methods compared for the data: Nystroem features, and the choice of domain="data"."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem

import spectra as sp
from rf import SpectralFeatures
from rf.dot_product.nystroem import draw_pivots, nystroem_map
from spectra.errors import ParameterError

G = sp.radial("exp(-z**2/2)")
LOW = np.random.default_rng(3).normal(size=(3, 8))


def relative(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


@cache
def digits():
    X = np.random.default_rng(0).permutation(load_digits().data)
    return X[:900], X[900:1400]


def rows(n, dim, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, dim))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("rank", [7, 60])
def test_pivots_give_a_factor_that_is_exact_where_they_are(rank):
    rng = np.random.default_rng(rank)
    F = rng.normal(size=(90, rank))
    A = F @ F.T
    pivots, factor = draw_pivots(lambda J: A[:, J], np.diag(A).copy(), 40, rng)
    assert len(set(pivots)) == len(pivots) == min(rank, 40)
    residual = A - factor @ factor.T
    assert np.abs(residual[pivots]).max() < 1e-10 * A.max()
    assert np.allclose(np.triu(factor[pivots], 1), 0.0, atol=1e-10)
    # It is the Schur complement: what the pivots do not explain.
    explained = A[:, pivots] @ np.linalg.pinv(A[np.ix_(pivots, pivots)], rcond=1e-12) @ A[pivots]
    assert np.abs(A - explained - residual).max() < 1e-8 * A.max()


@pytest.mark.parametrize("dim", [1, 30])
def test_a_kernel_of_low_rank_is_exact_with_its_signs(dim):
    X, Y = (np.random.default_rng(s).normal(size=(60, dim)) for s in (0, 1))

    class Indefinite:
        def gram(self, X, Y=None):
            Y = X if Y is None else Y
            return 1.0 + X @ Y.T - 2.0 * np.outer(X[:, 0] ** 2, Y[:, 0] ** 2)

    made = nystroem_map(Indefinite(), X, 40, np.random.default_rng(0))
    Z = made.columns(Y)
    assert relative((Z * made.signature) @ Z.T, Indefinite().gram(Y)) < 1e-9
    assert sorted(made.signature)[0] == -1.0
    assert np.sum(made.signature < 0) == 1
    assert len(made.signature) == dim + 2


@pytest.mark.parametrize("columns", [32, 256])
def test_nystroem_errs_less_than_with_uniform_pivots(columns):
    X, Y = digits()
    kernel = sp.radial("exp(-z**2/5000)")
    exact, rng = kernel.gram(Y), np.random.default_rng(0)
    Z = nystroem_map(kernel, X, columns, rng).columns(Y)
    uniform = Nystroem(gamma=1 / 5000, n_components=columns, random_state=0).fit(X).transform(Y)
    assert Z.shape[1] == columns
    assert relative(Z @ Z.T, exact) < 0.7 * relative(uniform @ uniform.T, exact)


KERNELS = {
    "gaussian": (G, np.random.default_rng(0).normal(size=(900, 3)) @ LOW, 60),
    "difference": (G - G.rescale(3), np.random.default_rng(0).normal(size=(900, 3)) @ LOW, 60),
    "sphere": (sp.zonal("(1 - u)**3 + u"), rows(900, 12), 80),
    "neurons": (sp.catalogue["arc_cosine_0"], rows(900, 5), 60),
    "groups": (G.on([0]) * sp.radial("exp(-z)").on([1]) + 0.1, rows(900, 2), 40),
    "many columns": (G, 2.0 * rows(900, 300), 30),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_choice_is_the_best_on_new_rows(name):
    kernel, X, n = KERNELS[name]
    X, Y = X[:600], X[600:]
    fitted = SpectralFeatures(
        kernel, n_components=n, domain="data", mixed_signature="ignore", random_state=0
    ).fit(X)
    exact = kernel.gram(Y)
    error = relative(fitted.gram(Y), exact)
    report = getattr(fitted.scheme_, "compared", ())
    for other in (c for c in report if c.draw is not None and hasattr(c, "error")):
        rng, errors = np.random.default_rng(1), []
        for _ in range(3):
            made = other.draw(rng)
            Z = made.left(Y)
            errors.append(relative((Z * made.signature) @ Z.T, exact))
        assert error <= 1.2 * np.sqrt(np.mean(np.square(errors))), other.name
    assert fitted.expected_error_ == pytest.approx(error, rel=0.3)
    assert len(fitted.signature_) <= n


def test_nystroem_takes_any_row_and_says_what_is_not_known():
    X, Y = digits()
    fitted = SpectralFeatures("exp(-z**2/5000)", n_components=40, domain="data", random_state=0)
    assert relative(fitted.fit(X).gram(Y), fitted.kernel_.gram(Y)) < 0.02
    assert (fitted.method_, fitted.z_max_, fitted.is_unbiased_) == ("Nystroem", np.inf, False)
    assert np.all(np.isfinite(fitted.transform(100.0 * X)))
    assert "Nystroem" in fitted.explain()
    with pytest.raises(ParameterError, match="Nystroem"):
        fitted.variance(1.0)
    single = fitted.transform(X[:9].astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, fitted.transform(X[:9]), atol=1e-4)
    assert relative(fitted.gram(X[:9], X[9:20]), fitted.kernel_.gram(X[:9], X[9:20])) < 0.05


def test_the_default_is_unbiased_and_says_what_the_data_would_give():
    X, _ = digits()
    fitted = SpectralFeatures("exp(-z**2/5000)", n_components=64, random_state=0).fit(X)
    assert fitted.is_unbiased_
    (line,) = (t for t in fitted.explain().splitlines() if t.startswith("domain='data'"))
    stated = float(line.partition("err by ")[2].partition(" %")[0]) / 100
    # It is measured on half the rows, so the features of all of them err less.
    best = SpectralFeatures("exp(-z**2/5000)", n_components=64, domain="data").fit(X)
    assert best.expected_error_ <= stated < 2.0 * best.expected_error_


def test_what_no_method_takes_is_refused():
    X = rows(50, 2)
    with pytest.raises(ParameterError, match="asymmetric"):
        SpectralFeatures(G.shift([0.5, 0.0]), domain="data").fit(X)
    with pytest.raises(ParameterError, match="domain='data'"):
        SpectralFeatures(sp.l1("exp(-z)"), domain=1.0).fit(X)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_are_approximated_exactly(n):
    X = rows(n, 3)
    fitted = SpectralFeatures(G, n_components=20, domain="data", random_state=0).fit(X)
    assert relative(fitted.gram(X), G.gram(X)) < 1e-6
