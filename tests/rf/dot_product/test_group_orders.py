"""Kernels of groups of columns made to order: the errors of the terms add up, and are not exceeded.

What is stated is seen on the fitted rows; other draws have a spread of ten percent or so.
"""

import numpy as np
import pytest

import spectra as sp
from rf import SpectralFeatures
from rf.features.spectral_features import UselessFeaturesWarning
from spectra.errors import DataError, InfiniteMassError, ParameterError

GAUSS, LAPLACE, RAMP = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)"), sp.radial("z")
SPREAD = 1.3


def rows(n, d, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


def made(kernel, n, X, seed=0, **options):
    options = {"domain": "data", "mixed_signature": "ignore", "random_state": seed} | options
    return SpectralFeatures(kernel, n_components=n, **options).fit(X)


def error_of(features, kernel, X):
    exact = kernel.gram(X)
    return np.linalg.norm(features.gram(X) - exact) / np.linalg.norm(exact)


SUM = GAUSS.rescale(0.3).on([0, 1]) + 0.5 * LAPLACE.on([2])
SIGNED = GAUSS.on([0, 1]) - 0.5 * RAMP.on([2]) + 0.3
PRODUCT = GAUSS.rescale(0.5).on([0, 1]) * LAPLACE.on([2])
KERNELS = {
    "sum": (SUM, 3),
    "signed": (SIGNED, 3),
    "product and sum": (2.0 * PRODUCT - 0.3 * LAPLACE.on([3]), 4),
    "overlapping": (LAPLACE.on([0, 1]) + GAUSS.on([1, 2]) * GAUSS.rescale(3.0).on([2]), 3),
    "one column": (GAUSS.on([0]) + 0.5, 1),
}


@pytest.mark.parametrize(
    "name", [n if n == "one column" else pytest.param(n, marks=pytest.mark.slow) for n in KERNELS]
)
def test_the_error_is_at_most_the_sum_of_the_errors_of_the_terms(name):
    n = 60
    kernel, d = KERNELS[name]
    X = rows(150, d)
    found = []
    for seed in range(3):
        features = made(kernel, n, X, seed)
        assert features.transform(X).shape[1] <= n
        found.append(error_of(features, kernel, X))
    stated = features.expected_error_
    assert max(found) <= SPREAD * stated
    # It is no idle bound: errors of so few terms cancel in part alone.
    assert np.mean(found) >= stated / (4.0 * len(kernel.terms))
    assert f"{stated:.3g}" in features.explain()
    assert features.decomposition_ == "made to order"


@pytest.mark.slow
def test_an_infinite_kernel_of_groups_is_made_to_order_unasked():
    X = rows(100, 3)
    features = made(SIGNED, 100, X, domain=None)
    assert "infinite" in features.note_
    assert error_of(features, SIGNED, X) < 0.01
    finite = made(SUM, 100, X, domain=None)
    assert finite.decomposition_ == "grouped"
    with pytest.raises(ParameterError, match="have no coupling"):
        made(SIGNED, 100, X, domain=None, coupling="orthogonal")
    with pytest.raises(InfiniteMassError):
        sp.derive(SIGNED, 3)


def test_rows_beyond_those_of_a_group_are_refused_by_its_name():
    X = rows(100, 3)
    kernel = GAUSS.on([0]) + 0.5 * GAUSS.on([2])
    features = made(kernel, 20, X)
    assert features.z_max_.shape == (2,)
    with pytest.raises(DataError, match=r"In the columns \[2\]"):
        features.transform(X * [1.0, 1.0, 5.0])
    with pytest.raises(DataError, match=r"In the columns \[2\]"):
        features.gram(X, np.add(X, [0.0, 0.0, 1.5]))
    passing = made(kernel, 20, X, outside="ignore")
    assert passing.transform(X * [1.0, 1.0, 5.0]).shape[0] == 100


def test_what_has_no_meaning_is_refused():
    X = rows(50, 3)
    with pytest.raises(ParameterError, match="distances of its own"):
        made(SUM, 60, X, domain=2.0)
    with pytest.raises(ParameterError, match="at least 9 columns"):
        made(PRODUCT, 8, X)
    with pytest.raises(ParameterError, match="at least 27 columns"):
        made(sp.l1("exp(-z)"), 20, X)
    with pytest.raises(DataError, match="have 2 column"):
        made(SUM, 60, X[:, :2])
    with pytest.raises(ParameterError, match="0 everywhere"):
        made(SUM - SUM, 60, X)


def test_useless_features_give_a_warning():
    kernel = sp.radial("cos(30*z)").on([0]) + sp.radial("cos(31*z)").on([1])
    with pytest.warns(UselessFeaturesWarning, match="are expected to err by"):
        made(kernel, 6, 4.0 * rows(60, 2))


@pytest.mark.slow
def test_lengths_of_the_estimator_divide_the_rows():
    X = rows(100, 3)
    lengths = np.array([2.0, 3.0, 4.0])
    scaled = made(SUM, 60, lengths * X, length_scale=lengths)
    assert np.allclose(scaled.transform(lengths * X), made(SUM, 60, X).transform(X), atol=1e-10)
