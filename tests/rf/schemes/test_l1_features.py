"""Features of kernels of the l1 distance: from its measure, or made for the data."""

import numpy as np
import pytest

import spectra as sp
from rf import RFF, SpectralFeatures
from spectra.errors import NoRouteError


def features(kernel, n=64, **parameters):
    return SpectralFeatures(kernel, n_components=n, mixed_signature="ignore", **parameters)


@pytest.mark.parametrize("dim", [1, 7])
def test_exponentials_keep_all_that_groups_have(dim):
    X = np.random.default_rng(0).normal(size=(30, dim)) / dim
    fitted = features(sp.l1("exp(-z)"), 256, random_state=0).fit(X)
    assert fitted.method_ == ("radial" if dim == 1 else "grouped")
    assert np.all(fitted.signature_ == 1.0)
    exact = np.exp(-np.abs(X[:, None] - X[None]).sum(-1))
    assert np.allclose(fitted.kernel_.gram(X), exact, atol=1e-14)
    assert np.abs(fitted.gram(X) - exact).max() < 0.6
    assert fitted.is_unbiased_


@pytest.mark.parametrize(("dim", "tau"), [(2, 1.0), (16, 8.0), (16, 40.0)])
def test_the_truncated_distance_is_approximated_on_the_data(dim, tau):
    rows = np.random.default_rng(dim).uniform(size=(1200, dim))
    X, Y = rows[:900], rows[900:]
    fitted = features("tl1", 200, kernel_params={"tau": tau}, random_state=0).fit(X)
    exact = np.maximum(tau - np.abs(Y[:, None] - Y[None]).sum(-1), 0.0)
    error = np.linalg.norm(fitted.gram(Y) - exact) / np.linalg.norm(exact)
    assert error < {1.0: 0.01, 8.0: 0.12, 40.0: 0.005}[tau]
    assert fitted.expected_error_ == pytest.approx(error, rel=0.3)
    assert fitted.method_ == "Nystroem"
    assert not fitted.is_unbiased_
    assert fitted.z_max_ == np.inf
    # Truncated distances are indefinite in two columns or more; tau - z is not, on rows so near.
    assert np.any(fitted.signature_ < 0.0) == (tau < 40.0)


def test_an_infinite_kernel_and_one_without_a_route_are_approximated_too():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    for text in ("-z", "1/(1 + z)"):
        fitted = features(sp.l1(text), 60, random_state=0).fit(X)
        exact = fitted.kernel_.gram(X)
        assert np.linalg.norm(fitted.gram(X) - exact) < 0.02 * np.linalg.norm(exact)
        with pytest.raises(ValueError, match="Nystroem"):
            fitted.variance([0.5])


def test_systems_that_draw_from_a_table_say_that_there_is_none():
    with pytest.raises(NoRouteError, match="domain='data'"):
        RFF(sp.l1("Max(2 - z, 0)")).fit(np.eye(3))


def test_text_of_the_euclidean_truncated_distance_gets_a_note():
    X = np.random.default_rng(0).uniform(size=(40, 1))
    with pytest.warns(UserWarning, match="tl1"):
        features("Max(3/2 - z, 0)", 20).fit(X)
