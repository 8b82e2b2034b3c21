"""Each baseline is what its paper says, so that a comparison with it is fair."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import spectra
from rf.papers import baselines
from rf.papers.baselines import (
    DIGMM,
    SORF,
    ExactPolynomial,
    IndefiniteNystroem,
    OptimisedMaclaurin,
    PolynomialGRFF,
    QuadratureFeatures,
    QuasiMonteCarlo,
    RandomMaclaurin,
    SphericalRandomFeatures,
    TensorizedRandomProjection,
    TensorSketch,
)
from rf.papers.baselines.dot_product import spherical_polynomial
from spectra.errors import ParameterError


def sphere_rows(n, dim, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def polynomial(coefficients, u):
    return sum(a * u**n for n, a in enumerate(coefficients))


def pooled_z(make, X, K, draws):
    """Largest |mean error| over the entries, in standard errors of that mean over draws."""
    errors = np.array([make(seed).fit(X).gram(X) - K for seed in range(draws)])
    mean, spread = errors.mean(axis=0), errors.std(axis=0) / np.sqrt(draws - 1)
    # Entries that are exact have no spread; they must then be exact.
    assert np.all(np.abs(mean[spread < 1e-13]) < 1e-12)
    return np.max(np.abs(mean / np.where(spread < 1e-13, np.inf, spread)))


#: Every class that the package exports.
BASELINES = {name: getattr(baselines, name) for name in baselines.__all__ if name != "Baseline"}
#: These baselines meet scikit-learn in the default run, and the others in the slow one.
FEW = ("SORF", "RandomMaclaurin")
#: Features of rf itself, which test_features.py holds to the same contract.
OURS = ("RFF", "ORF", "GRFF", "GORF")


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@parametrize_with_checks([BASELINES[name]() for name in FEW])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def _needs_more_columns(estimator):
    """These baselines refuse the one or two columns that these checks set."""
    checks = """check_dont_overwrite_parameters check_methods_sample_order_invariance
        check_methods_subset_invariance check_fit2d_1sample check_fit2d_1feature
        check_fit2d_predict1d"""
    reason = "needs more columns than dimensions"
    needs_more = isinstance(estimator, DIGMM | OptimisedMaclaurin | QuadratureFeatures)
    return dict.fromkeys(checks.split(), reason) if needs_more else {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@parametrize_with_checks(
    [c() for name, c in BASELINES.items() if name not in (*FEW, *OURS)],
    expected_failed_checks=_needs_more_columns,
)
def test_scikit_learn_contract_of_the_others(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"AsKRFF", *OURS}))
def test_each_baseline_takes_sparse_rows_float32_data_frames_and_is_pickled(name):
    pandas = pytest.importorskip("pandas")
    X = sphere_rows(1030, 5) if name == "TensorizedRandomProjection" else sphere_rows(40, 5)
    maker = BASELINES[name]()
    if "random_state" in maker.get_params():
        maker.set_params(random_state=3)
    Z = clone(maker).fit(X).transform(X)
    sparse = clone(maker).fit(scipy.sparse.csr_array(X)).transform(scipy.sparse.csr_matrix(X))
    np.testing.assert_allclose(sparse, Z, atol=1e-12)
    fitted = clone(maker).fit(X)
    single = fitted.transform(X.astype(np.float32))
    assert single.dtype == fitted.gram(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single, Z, atol=1e-4 * np.abs(Z).max())
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.transform(X), again.transform(X))
    assert len(fitted.get_feature_names_out()) == Z.shape[1] == len(fitted.signature_)
    right = fitted.transform_right(X) if hasattr(fitted, "transform_right") else Z
    np.testing.assert_allclose(fitted.gram(X), (Z * fitted.signature_) @ right.T)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    out = clone(maker).set_output(transform="pandas").fit(frame).transform(frame)
    np.testing.assert_allclose(out.to_numpy(), Z, atol=1e-12)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        clone(maker).fit(frame).transform(frame.rename(columns={"a": "z"}))


# --- exact map ------------------------------------------------------------------------------------


def test_published_polynomials_have_small_exact_maps():
    X = sphere_rows(20, 16)
    z2 = 2 - 2 * X @ X.T
    for a, p, columns in ((3, 1, 17), (2, 2, 153)):
        f = ExactPolynomial(spherical_polynomial(a, p)).fit(X)
        assert f.transform(X).shape[1] == columns
        np.testing.assert_allclose(f.gram(X), (1 - z2 / a**2) ** p, atol=1e-13)
    with pytest.raises(ParameterError, match="max_columns"):
        ExactPolynomial(spherical_polynomial(4, 10)).fit(X)


# --- Random Maclaurin -----------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 16])
def test_random_maclaurin_is_unbiased_for_signed_series(dim):
    a = (0.2, -0.4, 0.5, 0.3)
    X = sphere_rows(5, dim)
    z = pooled_z(
        lambda seed: RandomMaclaurin(a, n_components=40, random_state=seed),
        X,
        polynomial(a, X @ X.T),
        300,
    )
    assert z < 6
    with pytest.raises(ParameterError, match="not all zero"):
        RandomMaclaurin((0.0, 0.0)).fit(X)


# --- sketches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dim", "maker"),
    [(16, TensorSketch), (1, TensorizedRandomProjection)],
)
def test_sketches_are_unbiased_for_the_spherical_polynomial(dim, maker):
    X = sphere_rows(5, dim)
    gamma, coef0, p = 2 / 9, 7 / 9, 3
    z = pooled_z(
        lambda seed: maker(degree=p, gamma=gamma, coef0=coef0, n_components=32, random_state=seed),
        X,
        (coef0 + gamma * X @ X.T) ** p,
        150,
    )
    assert z < 6


# --- Nystroem -------------------------------------------------------------------------------------


def delta_gaussian(X, Y):
    z2 = np.maximum((X**2).sum(1)[:, None] + (Y**2).sum(1) - 2 * X @ Y.T, 0)
    return np.exp(-z2 / 2) - np.exp(-z2 / 200)


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
def test_nystroem_is_exact_on_its_landmarks_and_keeps_the_signs(landmarks):
    X = np.random.default_rng(0).standard_normal((60, 3))
    f = IndefiniteNystroem(
        delta_gaussian, n_components=25, landmarks=landmarks, random_state=0
    ).fit(X)
    L = f.landmarks_
    K = delta_gaussian(L, L)
    np.testing.assert_allclose(f.gram(L), K, atol=1e-8)
    eigenvalues = np.linalg.eigvalsh(K)
    assert np.sum(f.signature_ < 0) == np.sum(eigenvalues < 0) > 0
    # what returns |K| is far off
    Z = f.transform(L)
    assert np.linalg.norm(Z @ Z.T - K) > 0.3 * np.linalg.norm(K)


def test_nystroem_refuses_an_asymmetric_kernel():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(ParameterError, match="not symmetric"):
        IndefiniteNystroem(lambda a, b: a[:, :1] - b[:, :1].T).fit(X)


@pytest.mark.parametrize("landmarks", ["uniform", "leverage"])
def test_an_eigenvalue_that_cancels_does_not_blow_nystroem_up(landmarks):
    """The eigenvalues of an indefinite matrix pass through 0: each draw must stay near the best."""

    def narrow(X, Y):
        z2 = np.sum((X[:, None] - Y[None]) ** 2, axis=-1)
        return np.exp(-z2 / (2 * 0.3**2)) - np.exp(-z2 / 2)

    X = sphere_rows(150, 5)
    K = narrow(X, X)
    size = np.sort(np.abs(np.linalg.eigvalsh(K)))
    for n in (20, 60):
        best = np.linalg.norm(size[:-n]) / np.linalg.norm(K)
        for seed in range(4):
            f = IndefiniteNystroem(narrow, n_components=n, landmarks=landmarks, random_state=seed)
            error = np.linalg.norm(f.fit(X).gram(X) - K) / np.linalg.norm(K)
            assert best < error < 6.0 * best  # up to 91 times with all eigenvalues


@pytest.mark.parametrize(
    ("dim", "kernel"), [(1, delta_gaussian), (7, lambda a, b: np.exp(delta_gaussian(a, b)))]
)
def test_leverage_scores_are_those_of_a_dense_inverse(kernel, dim):
    """The diagonal of |K| (|K| + ridge I)^-1, by all eigenvalues and an inverse of the matrix."""
    X = np.random.default_rng(dim).standard_normal((80, dim))
    K = kernel(X, X)
    eigenvalues, vectors = np.linalg.eigh(K)
    size = (vectors * np.abs(eigenvalues)) @ vectors.T
    for ridge in (1e-3, 1e-1):
        level = ridge * np.abs(eigenvalues).max()
        exact = np.diag(size @ np.linalg.inv(size + level * np.eye(len(X))))
        f = IndefiniteNystroem(kernel, ridge=ridge)
        found = f.leverage_scores(X, X)
        np.testing.assert_allclose(found, exact / exact.sum(), atol=1e-8)
        if dim > 2:
            continue  # so sparse that a row tells nothing of its neighbors
        # Half of the rows see nearly the same scores, which are far from equal ones.
        half = f.leverage_scores(X, X[::2])
        assert np.abs(half - found).sum() < 0.25 * np.abs(1.0 / len(X) - found).sum()


# --- two infinite mixtures ------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 16])
def test_digmm_estimates_one_gaussian_whatever_the_kernel(dim):
    X = np.random.default_rng(dim).standard_normal((80, dim)) / np.sqrt(dim)
    f = DIGMM(delta_gaussian, n_components=20_000, random_state=0).fit(X)
    mean = f.expected_gram(X, X)
    # 2 cos(w.x + b) cos(w.y + b) has a variance of at most 3/2.
    assert np.max(np.abs(f.gram(X) - mean)) < 6 * np.sqrt(1.5 / 20_000)
    np.testing.assert_allclose(np.diag(mean), 1.0, atol=1e-12)
    assert np.linalg.norm(mean - delta_gaussian(X, X)) > np.linalg.norm(delta_gaussian(X, X))
    # The covariance of a frequency: standard normal draws, of two parts, but for one direction.
    ones = np.ones(dim) / np.sqrt(dim)
    assert ones @ f.covariance_ @ ones < 0.01
    if dim > 1:
        across = np.linalg.eigvalsh(f.covariance_)[1:]
        np.testing.assert_allclose(across, 2.0, rtol=0.1)
        positive = DIGMM(n_components=20_000, random_state=0).fit(X)  # nothing is split
        np.testing.assert_allclose(np.linalg.eigvalsh(positive.covariance_)[1:], 1.0, rtol=0.1)


def test_digmm_refuses_fewer_columns_than_dimensions():
    with pytest.raises(ParameterError, match="more columns than the dimension 16"):
        DIGMM(n_components=16).fit(sphere_rows(30, 16))


# --- the biased systems ---------------------------------------------------------------------------


def test_srf_samples_its_mixture_and_keeps_the_floor_it_reports():
    X = sphere_rows(80, 16)
    z = np.sqrt(np.maximum(2 - 2 * X @ X.T, 0))
    K = (1 - z**2 / 4) ** 2
    f = SphericalRandomFeatures(n_components=20_000, random_state=0).fit(X)
    mixture = np.exp(-0.5 * (z[..., None] * f.widths_) ** 2) @ f.weights_
    gram = f.gram(X)
    assert np.max(np.abs(gram - mixture)) < 6 / np.sqrt(10_000)
    np.testing.assert_allclose(np.diag(gram), 1.0, atol=1e-12)
    assert np.max(np.abs(mixture - K)) <= f.fit_error_ * (1 + 1e-3)
    assert 0.01 < f.fit_error_ < 0.15
    gaussian = SphericalRandomFeatures(lambda z: np.exp(-(z**2)), random_state=0).fit(X)
    assert gaussian.fit_error_ < 3e-3
    with pytest.raises(ParameterError, match="k\\(0\\)"):
        SphericalRandomFeatures(lambda z: -z).fit(X)


@pytest.mark.parametrize("dim", [2, 16])
def test_srf_of_an_offset_kernel_subtracts_the_offset_by_one_column(dim):
    X = sphere_rows(60, dim)
    text = "exp(-z**2/2) - exp(-z**2/200)"
    f = SphericalRandomFeatures(text, offset=1.0, n_components=20_001, random_state=0).fit(X)
    assert f.transform(X).shape[1] == 20_001
    assert np.sum(f.signature_ < 0) == 1
    z = np.sqrt(np.maximum(2 - 2 * X @ X.T, 0))
    assert np.max(np.abs(f.gram(X) - f.expected_kernel(z))) < 6 / np.sqrt(10_000)
    assert np.max(np.abs(f.expected_kernel(z) - delta_gaussian(X, X))) <= f.fit_error_ * 1.001
    assert f.fit_error_ < 0.02
    with pytest.raises(ParameterError, match="offset=1"):
        SphericalRandomFeatures(text).fit(X)
    with pytest.raises(ParameterError, match="at least 2"):
        SphericalRandomFeatures(text, offset=1.0, n_components=1).fit(X)


def test_the_published_sampler_estimates_another_kernel():
    a, p, values = 2.0, 2, (0.9639, 0.8737, 0.7819, 0.6577)
    z = np.array([0.5, 1.0, np.sqrt(2.0), 2.0])
    # rows at the distances z from the first, on the unit sphere
    u = 1 - z**2 / 2
    X = np.zeros((5, 16))
    X[0, 0] = 1.0
    X[1:, 0], X[1:, 1] = u, np.sqrt(1 - u**2)
    fitted = PolynomialGRFF(a=a, degree=p, random_state=0).fit(X)
    np.testing.assert_allclose(fitted.expected_kernel(z), values, atol=6e-4)

    one = PolynomialGRFF(a=a, degree=p, coupling="haar", n_frequencies=64, n_grid=4000)
    draws = np.array(
        [clone(one).set_params(random_state=s).fit(X).gram(X)[0, 1:] for s in range(40)]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws) - 1)
    expected = clone(one).fit(X).expected_kernel(z)
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 6 * error)
    # ... and is off the kernel it is published for
    assert np.any(np.abs(draws.mean(axis=0) - (1 - z**2 / a**2) ** p) > 6 * error)


# --- Gaussian blocks ------------------------------------------------------------------------------


def gaussian(X, length):
    return np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=-1) / length**2)


@pytest.mark.parametrize("dim", [1, 7])
def test_quasi_monte_carlo_features_have_the_mean_of_their_kernel_alone(dim):
    X = np.random.default_rng(5).normal(size=(6, dim)) / np.sqrt(dim)

    def make(seed):
        # An odd number of columns, and more frequencies than a block has.
        return QuasiMonteCarlo(length_scale=0.8, n_components=37, random_state=seed)

    assert pooled_z(make, X, gaussian(X, 0.8), 80) < 6
    assert pooled_z(make, X, gaussian(X, 0.5), 80) > 6


@pytest.mark.parametrize("dim", [1, 2, 3, 16])
def test_sorf_has_frequencies_of_one_norm_at_right_angles(dim):
    baseline = SORF(length_scale=1.0, n_components=2 * dim, random_state=0).fit(np.eye(dim))
    W = baseline.frequencies_
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), np.sqrt(dim), rtol=1e-12)
    angles = W @ W.T / dim - np.eye(len(W))
    # Rows of three entries are cut from four: of one norm still, and no longer orthogonal.
    assert (np.abs(angles).max() > 0.1) == (dim == 3)
    assert dim == 3 or np.abs(angles).max() < 1e-12
    if dim == 2:  # both frequencies lie on the diagonals, whatever is drawn
        X = np.random.default_rng(0).normal(size=(5, 2))
        cosines = np.cos(X[:, None] - X).prod(axis=2)
        np.testing.assert_allclose(baseline.gram(X), cosines, rtol=0, atol=1e-12)


def test_quasi_monte_carlo_frequencies_fill_every_layer_of_each_coordinate():
    fitted = QuasiMonteCarlo(n_components=512, random_state=0).fit(np.eye(5))
    points = ndtr(fitted.frequencies_)
    for column in points.T:
        assert np.histogram(column, bins=256, range=(0.0, 1.0))[0].tolist() == [1] * 256


@pytest.mark.parametrize("dim", [2, 9])
@pytest.mark.parametrize("activation", ["wave", "step", "ramp"])
def test_quadrature_features_are_unbiased_and_waves_err_less_than_iid_ones(dim, activation):
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(8, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    u = np.clip(X @ X.T, -1.0, 1.0)
    exact = {
        "wave": np.exp(u - 1.0),
        "step": 1.0 - np.arccos(u) / np.pi,
        "ramp": (u * (np.pi - np.arccos(u)) + np.sqrt(1.0 - u**2)) / np.pi,
    }[activation]
    columns = 4 * (dim + 1)
    made = np.array(
        [
            QuadratureFeatures(
                activation=activation, n_components=columns, random_state=s
            ).fit(X).gram(X)
            for s in range(200)
        ]
    )  # fmt: skip
    deviation = made.std(axis=0)
    assert np.all(np.abs(made.mean(axis=0) - exact) <= 6 * deviation / np.sqrt(200) + 1e-12)
    if activation == "wave":  # iid features have the variance ((1 + k(2z))/2 - k^2) / pairs
        iid = (0.5 * (1.0 + exact**4) - exact**2) / (columns // 2)
        assert deviation.mean() < 0.95 * np.sqrt(iid).mean()


def test_maclaurin_features_of_a_gaussian_and_pivots_of_nystroem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) / 2
    X, Y = X[:200], X[200:]
    exact = np.exp(-0.5 * ((Y[:, None] - Y[None]) ** 2).sum(-1))
    a = [1.0 / math.factorial(n) for n in range(30)]

    def error(made):
        return np.linalg.norm(made.fit(X).gram(Y) - exact) / np.linalg.norm(exact)

    few, many = (
        np.mean([error(OptimisedMaclaurin(a, rate=0.5, n_components=n, random_state=s))
                 for s in range(5)])
        for n in (40, 400)
    )  # fmt: skip
    assert many < 0.02 < few < 0.5
    gaussian = spectra.radial("exp(-z**2/2)")
    by_pivots = IndefiniteNystroem(gaussian, n_components=40, landmarks="cholesky", random_state=0)
    assert error(by_pivots) < 0.06
