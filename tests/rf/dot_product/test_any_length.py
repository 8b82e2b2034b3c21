"""Kernels of the inner product of rows of any length: values, sketches, split powers."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import polynomial_kernel, sigmoid_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import spectra as sp
from rf import SpectralFeatures
from rf.dot_product.split_powers import SplitFit, power_coefficients
from rf.feature_maps.sketches import PowerSketch, sketch_variance
from spectra.errors import DataError, FormulaError, ParameterError

SIX = 6.0


def rows(n, dim, seed=0, mean=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) + mean
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.5, 1.5, size=(n, 1))


def features(kernel, n):
    return SpectralFeatures(kernel, n_components=n, random_state=0, mixed_signature="ignore")


def relative(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


def test_values_names_and_sums():
    X, Y = rows(6, 3), rows(4, 3, seed=1)
    kernel = sp.dot_product("(c + t)**3", c=0.5)
    assert np.allclose(kernel.gram(X, Y), (0.5 + X @ Y.T) ** 3, rtol=1e-14)
    assert np.allclose((2 * kernel - 1).gram(X, Y), 2 * (0.5 + X @ Y.T) ** 3 - 1, rtol=1e-13)
    assert np.allclose(kernel.rescale(2).gram(X, Y), kernel.gram(X / 2, Y / 2))
    sigmoid = sp.catalogue["sigmoid"](gamma=0.3, coef0=-0.2)
    assert np.allclose(sigmoid.gram(X, Y), sigmoid_kernel(X, Y, gamma=0.3, coef0=-0.2))
    poly = sp.catalogue["poly"](gamma=0.3, coef0=1, degree=4)
    assert np.allclose(poly.gram(X, Y), polynomial_kernel(X, Y, degree=4, gamma=0.3, coef0=1))
    assert pickle.loads(pickle.dumps(poly)) == poly
    for asked in (sp.existence, sp.derive):
        with pytest.raises(ParameterError):
            asked(kernel, 3)
    with pytest.raises(FormulaError, match="no finite real value"):
        sp.dot_product("1/(1 - t)")
    with pytest.raises(ParameterError, match="degree"):
        sp.catalogue["poly"](degree=1.5)


@pytest.mark.parametrize(("dim", "degree"), [(1, 3), (2, 2), (3, 1), (2, 3)])
def test_the_variance_of_a_sketch_is_that_of_all_its_vectors(dim, degree):
    X, Y = rows(5, dim), rows(5, dim, seed=1)
    signs = np.array(list(itertools.product([1, 1j, -1, -1j], repeat=dim))).T
    one = (X @ signs) * np.conj(Y @ signs)  # each vector once
    mean, square = np.mean(one, axis=1), np.mean(np.abs(one) ** 2, axis=1)
    assert np.allclose(mean, np.sum(X * Y, axis=1), atol=1e-12)
    of_real = 0.5 * (square**degree + np.mean(one**2, axis=1).real ** degree)
    expected = of_real - np.sum(X * Y, axis=1) ** (2 * degree)
    assert np.allclose(sketch_variance(X, Y, degree), expected, atol=1e-12)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("dim", [3, 20])
def test_sketches_are_unbiased_and_blocks_lessen_the_variance(dim, blocks):
    X, rng = rows(6, dim), np.random.default_rng(dim)
    drawn = []
    for _ in range(400):
        Z = PowerSketch.draw(dim, 3, 16, rng, blocks=blocks).columns(X)
        drawn.append(Z @ Z.T)
    i, k = np.triu_indices(6, 1)
    values, exact = np.array(drawn)[:, i, k], ((X @ X.T) ** 3)[i, k]
    variance = sketch_variance(X[i], X[k], 3) / 16
    assert np.abs(values.mean(axis=0) - exact).max() < SIX * np.sqrt(variance.max() / 400)
    measured = np.mean((values - exact) ** 2, axis=0).mean() / variance.mean()
    assert (0.7 < measured < 1.4) if not blocks else measured < 1.2


@pytest.mark.parametrize("dim", [4, 40])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("formula", ["(1 + t)**5", "exp(t)", "t - (t - 1/2)**3"])
def test_split_powers_are_unbiased_with_the_predicted_error(dim, split, formula):
    kernel, X, Y = sp.dot_product(formula), rows(200, dim), rows(40, dim, seed=1)
    coefficients, error = power_coefficients(kernel, -2.5, 2.5)
    assert error == 0.0
    fit, rng = SplitFit.of(coefficients, X, 60, split=split), np.random.default_rng(0)
    exact, total, square = kernel.gram(Y), 0.0, 0.0
    for _ in range(300):
        made = fit.draw(rng)
        Z = made.columns(Y)
        assert Z.shape[1] == len(made.signature) <= 60
        difference = (Z * made.signature) @ Z.T - exact
        total, square = total + difference, square + difference**2
    deviation = np.sqrt(square / 300)
    assert np.all(
        np.abs(total) / 300 <= SIX * deviation / np.sqrt(300) + 1e-9 * np.abs(exact).max()
    )
    off = ~np.eye(40, dtype=bool)
    measured = np.sqrt(np.mean(square[off] / 300))
    predicted = np.sqrt(fit.square_error)
    assert predicted / 1.6 - 1e-9 < measured < 1.6 * predicted + 1e-9


@pytest.mark.parametrize(
    ("formula", "most"),
    [("(1+t)**3", 0.01), ("(1+t)**7", 0.09), ("exp(t)", 0.01), ("exp(2*t)", 0.05),
     ("tanh(t - 1/2)", 0.03)],
)  # fmt: skip
def test_errors_on_digits_of_several_lengths(formula, most):
    rng = np.random.default_rng(0)
    X = load_digits().data
    X = X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.5, 1.5, size=(len(X), 1))
    X = rng.permutation(X)
    fitted = features(sp.dot_product(formula), 512)
    exact = fitted.fit(X[:1000]).kernel_.gram(X[1000:1400])
    errors, rng = [], np.random.default_rng(1)
    for _ in range(6):
        made = fitted.scheme_.draw(512, rng)
        Z = made.left(X[1000:1400])
        errors.append(relative((Z * made.signature) @ Z.T, exact))
    error = np.sqrt(np.mean(np.square(errors)))
    assert error <= most
    assert 1 / 1.3 < fitted.expected_error_ / error < 1.3
    assert fitted.is_unbiased_ == (formula[:4] != "tanh")


def test_a_small_polynomial_is_exact_and_text_is_read():
    X = rows(50, 4)
    fitted = SpectralFeatures("(1 + t)**2", n_components=15).fit(X)
    assert relative(fitted.gram(100 * X), (1 + 1e4 * X @ X.T) ** 2) < 1e-12
    assert "exact" in fitted.method_


def test_long_rows_are_refused_or_a_warning():
    X = np.abs(rows(80, 30))
    polynomial = features("tanh(t)", 64).fit(X)
    for other in (3.0 * X, -X):
        with pytest.raises(DataError, match="outside='ignore'"):
            polynomial.transform(other)
    series = features("exp(t)", 64).fit(X)
    with pytest.warns(UserWarning, match="variance of its features is large"):
        series.transform(3.0 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        series.transform(1.3 * X)
    with pytest.raises(ParameterError, match="inner product"):
        SpectralFeatures("exp(t)", domain=2.0).fit(X)


def test_the_sigmoid_of_svc_agrees_with_its_features():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    gamma, train = 1.0 / 13, np.arange(len(X)) % 2 == 0
    exact = SVC(kernel="sigmoid", gamma=gamma).fit(X[train], y[train]).score(X[~train], y[~train])
    features = SpectralFeatures(
        "sigmoid", n_components=40, kernel_params={"gamma": gamma}, domain="data",
        mixed_signature="ignore", random_state=0,
    )  # fmt: skip
    Z, W = features.fit_transform(X[train]), features.transform(X[~train])
    # The Gram matrix of the features with their signs is SVC's kernel matrix.
    score = SVC(kernel="precomputed").fit((Z * features.signature_) @ Z.T, y[train])
    assert abs(score.score((W * features.signature_) @ Z.T, y[~train]) - exact) <= 0.01
    assert abs(LinearSVC().fit(Z, y[train]).score(W, y[~train]) - exact) <= 0.03
