"""Features of kernels of the l1 distance: from its measure, or of single columns."""

import numpy as np
import pytest

import spectra as sp
from rf import RFF, SpectralFeatures
from rf.feature_maps.feature_map import FourierMap
from spectra.errors import DataError, ParameterError

TL1 = sp.l1("Max(tau - z, 0)", tau=2)


def features(kernel, n=64, **parameters):
    return SpectralFeatures(kernel, n_components=n, mixed_signature="ignore", **parameters)


def rows(n, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) / dim


@pytest.mark.parametrize("dim", [1, 7])
def test_exponentials_keep_all_that_groups_have(dim):
    X = rows(30, dim)
    fitted = features(sp.l1("exp(-z)"), 256, random_state=0).fit(X)
    assert fitted.method_ == ("radial" if dim == 1 else "grouped")
    assert np.all(fitted.signature_ == 1.0)
    exact = np.exp(-np.abs(X[:, None] - X[None]).sum(-1))
    assert np.allclose(fitted.kernel_.gram(X), exact, atol=1e-14)
    assert np.abs(fitted.gram(X) - exact).max() < 0.6


def test_couplings_and_systems_that_do_not_cover_it_say_so():
    X = rows(20, 2)
    with pytest.raises(ParameterError, match="It takes"):
        features(TL1, coupling="orthogonal").fit(X)
    with pytest.raises(ParameterError, match="negative"):
        RFF(TL1).fit(X)


# --- inside the kink --------------------------------------------------------------------------


@pytest.mark.parametrize(("dim", "tau"), [(2, 3.0), (16, 1.0)])
def test_inside_its_kink_it_is_a_constant_and_waves_of_single_columns(dim, tau):
    X = np.random.default_rng(dim).uniform(size=(60, dim)) ** 2 / dim
    kernel = sp.l1("Max(tau - z, 0)", tau=tau)
    exact, columns = kernel.gram(X), 40 * dim + 1
    fitted = features(kernel, columns, domain="data").fit(X)
    scheme = fitted.scheme_
    assert isinstance(fitted.feature_map_, FourierMap)
    assert np.all(np.count_nonzero(fitted.frequencies_.frequencies[1:], axis=1) == 1)
    # 20 waves of each column: of the triangle of a range P they leave 2 P / pi^2 / 20 at most.
    ranges = 1.05 * np.ptp(X, axis=0).sum()
    assert scheme.unused_weight <= 2.0 * ranges / (np.pi**2 * 20)
    error = np.abs(fitted.gram(X) - exact).max()
    assert 0.01 * scheme.unused_weight < error <= 2.0 * scheme.unused_weight
    seen = np.linalg.norm(fitted.gram(X) - exact) / np.linalg.norm(exact)
    assert fitted.expected_error_ == pytest.approx(seen, rel=0.3)
    # A constant that is below zero is one column of signature -1, and the only one.
    assert np.sum(fitted.signature_ < 0) == int(tau < 0.5 * ranges)


def test_an_infinite_kernel_that_is_straight_gets_single_columns_unasked():
    X = np.random.default_rng(0).uniform(size=(80, 5))
    fitted = features(sp.l1("-z"), 101).fit(X)
    exact = -np.abs(X[:, None] - X[None]).sum(-1)
    assert np.linalg.norm(fitted.gram(X) - exact) < 0.05 * np.linalg.norm(exact)
    many = features(TL1.rescale(4), 101).fit(X)
    assert many.method_ == "waves of single columns"
    assert "single columns" in many.explain()


def test_rows_outside_the_box_or_the_kink_are_refused():
    X = np.random.default_rng(0).uniform(size=(50, 4))
    fitted = features(sp.l1("Max(5 - z, 0)"), 41, domain="data").fit(X)
    with pytest.raises(DataError, match="column 2"):
        fitted.transform(X + np.array([0.0, 0.0, 2.0, 0.0]))
    with pytest.raises(ParameterError, match="at least 3 columns"):
        features(sp.l1("Max(5 - z, 0)"), 2, domain="data").fit(X[:, :2])
    with pytest.raises(ParameterError, match="linear up to the l1 distance 1"):
        features(sp.l1("Max(1 - z, 0)"), 41, domain="data").fit(X)
    with pytest.raises(ParameterError, match="not linear"):
        features(sp.l1("1/(1 + z)"), 41, domain="data").fit(X)
    # Within the box, and further apart than any two rows that were seen.
    seen = np.abs(X[:, None] - X[None]).sum(-1).max()
    far = features(sp.l1("Max(tau - z, 0)", tau=1.01 * seen), 41, domain="data").fit(X)
    with pytest.raises(DataError, match="l1 distance"):
        far.gram(X.min(axis=0)[None], X.max(axis=0)[None])


def test_columns_that_do_not_vary_take_no_waves():
    X = np.ones((5, 3))
    X[:, 1] = np.arange(5)
    fitted = features(sp.l1("Max(9 - z, 0)"), 41, domain="data").fit(X)
    assert not fitted.frequencies_.frequencies[:, [0, 2]].any()
    assert np.abs(fitted.gram(X) - fitted.kernel_.gram(X)).max() < 0.05
    alone = features(sp.l1("Max(9 - z, 0)"), 41, domain="data").fit(X[:1])
    assert np.allclose(alone.gram(X[:1]), 9.0)
