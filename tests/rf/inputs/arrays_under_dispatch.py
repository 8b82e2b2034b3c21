"""What holds for arrays of other libraries.

``test_arrays.py`` runs these with SCIPY_ARRAY_API=1, which has to be set before scipy loads.
"""

import array_api_strict
import numpy as np
import pytest
import sklearn
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import _yield_array_api_checks

from rf import GORF, AsKRFF, SpectralFeatures
from spectra.errors import ParameterError

try:
    import torch
except ImportError:
    torch = None

NO_TORCH = pytest.mark.skipif(torch is None, reason="torch is not installed")
LIBRARIES = [
    pytest.param(array_api_strict, id="array_api_strict"),
    pytest.param(torch, id="torch", marks=NO_TORCH),
]
SIGNED = {"mixed_signature": "ignore"}
ESTIMATORS = {
    "SpectralFeatures": SpectralFeatures("gaussian", n_components=32, random_state=0),
    "signed": SpectralFeatures("delta_gaussian", n_components=32, random_state=0, **SIGNED),
    "one sine less": SpectralFeatures("gaussian", n_components=33, random_state=0),
    "designed": SpectralFeatures(
        "exp(-z**2/2)", domain=20.0, coupling="orthogonal", n_components=32, random_state=0
    ),
    "GORF": GORF("delta_gaussian", n_components=32, random_state=0, **SIGNED),
    "median": SpectralFeatures(n_components=32, length_scale="median", random_state=0),
}


@pytest.fixture(autouse=True)
def dispatch():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def rows(dim, dtype=np.float64, n=30):
    return np.random.default_rng(dim).normal(size=(n, dim)).astype(dtype)


def checks():
    for name in ("SpectralFeatures", "signed", "GORF", "median"):
        estimator = ESTIMATORS[name]
        for check in _yield_array_api_checks(estimator):
            text = "-".join(str(v) for v in (name, check.func.__name__, *check.keywords.values()))
            yield pytest.param(estimator, check, id=text)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_a_matrix_of_lengths_maps_rows_in_their_library(xp):
    M, X = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]]), rows(3)
    features = SpectralFeatures("gaussian", n_components=32, random_state=0, length_scale=M)
    wanted = sklearn.clone(features).fit(X).transform(X)
    for dtype, bound in (("float64", 1e-13), ("float32", 3e-5)):
        there = xp.asarray(X.astype(dtype))
        found = sklearn.clone(features).fit(there).transform(there)
        assert type(found) is type(there)
        assert np.abs(np.asarray(found) - wanted).max() <= bound


@pytest.mark.filterwarnings("ignore", category=SkipTestWarning)
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_the_checks_of_scikit_learn(estimator, check):
    check(type(estimator).__name__, estimator)  # what is not installed is skipped, by name


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize(("dim", "dtype"), [(3, "float32"), (16, "float64")])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_columns_and_matrices_are_those_of_numpy_up_to_rounding(name, dim, dtype, xp):
    X, Y = rows(dim, dtype), rows(dim, dtype, 7)
    reference = sklearn.clone(ESTIMATORS[name]).fit(X)
    here = sklearn.clone(ESTIMATORS[name]).fit(xp.asarray(X))
    # A phase is a sum of d products, which libraries add up in orders of their own.
    bound = 40 * np.finfo(dtype).eps
    for found, wanted in (
        (here.transform(xp.asarray(Y)), reference.transform(Y)),
        (here.transform_right(xp.asarray(Y)), reference.transform_right(Y)),
        (here.gram(xp.asarray(X), xp.asarray(Y)), reference.gram(X, Y)),
        (here.gram(xp.asarray(X)), reference.gram(X)),
    ):
        assert type(found) is type(xp.asarray(X))
        assert found.dtype == getattr(xp, dtype)
        length = np.linalg.norm(X, axis=1).max()
        largest = np.linalg.norm(reference.frequencies_.frequencies, axis=1).max()
        weight = (
            np.sqrt(reference.frequencies_.weights.max()) + reference.frequencies_.weights.sum()
        )
        assert np.abs(np.asarray(found) - wanted).max() <= bound * weight * (1 + length * largest)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_features_made_to_order_and_those_of_asymmetric_kernels_come_out_too(xp):
    X = rows(3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for features in (
        SpectralFeatures("(1 + u)**2/4", n_components=16, random_state=0),
        SpectralFeatures(shifted(), n_components=16, random_state=0),
        AsKRFF(shifted(), n_components=64, random_state=0),
    ):
        reference = sklearn.clone(features).fit(X)
        here = sklearn.clone(features).fit(xp.asarray(X))
        for side in ("transform", "transform_right"):
            found = getattr(here, side)(xp.asarray(X))
            assert type(found) is type(xp.asarray(X))
            assert np.allclose(np.asarray(found), getattr(reference, side)(X), rtol=0, atol=1e-13)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_what_fit_finds_in_the_rows_is_in_their_library(xp):
    X = xp.asarray(rows(3))
    median = SpectralFeatures(n_components=8, length_scale="median", random_state=0).fit(X)
    ask = AsKRFF(shifted(), n_components=64, masses="least-squares", random_state=0).fit(X)
    for found in (median.length_scale_, median._lengths, ask.masses_):
        assert type(found) is type(X)
    assert "Rows are divided by" in median.explain()


def shifted():
    import spectra as sp

    return sp.radial("exp(-z**2/2)").shift([0.3, 0.0, -0.2])


@pytest.mark.parametrize("xp", LIBRARIES)
def test_rows_of_another_library_and_arrays_to_write_to_are_refused(xp):
    X = rows(2)
    here = SpectralFeatures(n_components=8, random_state=0).fit(xp.asarray(X))
    with pytest.raises(ParameterError, match=r"the same namespace and the same device .* numpy"):
        here.transform(X)
    with pytest.raises(ParameterError, match=r"\.operator\(\) must use the same namespace"):
        here.operator(X)
    there = SpectralFeatures(n_components=8, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="must use the same namespace"):
        there.transform(xp.asarray(X))
    with pytest.raises(ParameterError, match="arrays of numpy only"):
        here.transform(xp.asarray(X), out=np.empty((30, 8)))


@NO_TORCH
@pytest.mark.filterwarnings("ignore:torch.asarray. unspecified requires_grad")
@pytest.mark.parametrize("dim", [3])
def test_columns_have_their_derivatives_in_torch(dim):
    X = torch.asarray(rows(dim)).requires_grad_()
    if not torch.asarray(X).requires_grad:
        pytest.skip("asarray of this version of torch, which scikit-learn calls, drops derivatives")
    features = SpectralFeatures("gaussian", n_components=64, random_state=0).fit(X)
    entry = features.gram(X)[0, 1]
    (slope,) = torch.autograd.grad(entry, X)
    ends, step = np.stack([rows(dim), rows(dim)]), 1e-5
    direction = np.random.default_rng(9).normal(size=ends[0].shape)
    ends[0] += step * direction
    ends[1] -= step * direction
    high, low = (float(features.gram(torch.asarray(end))[0, 1]) for end in ends)
    along = float((slope.numpy() * direction).sum())
    assert along == pytest.approx((high - low) / (2 * step), abs=1e-7)
    assert abs(along) > 1e-4
