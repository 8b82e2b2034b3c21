"""Fields on the sphere: exact covariances, grids, spectra, kriging."""

from __future__ import annotations

import numpy as np
import pytest

import rf
import spectra as sp
from rf.fields.harmonics import arcs, harmonics
from spectra.errors import DataError, ParameterError

EXPONENTIAL = sp.great_circle("exp(-z)", length=0.3)


def points_on_sphere(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.c_[np.degrees(np.arcsin(rng.uniform(-1, 1, n))), rng.uniform(-180, 180, n)]


def deviations(paths: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Empirical minus exact covariances of all pairs, in standard errors of Gaussian paths."""
    z = (paths.T @ paths / len(paths) - K) / np.sqrt(np.outer(K.diagonal(), K.diagonal()) + K**2)
    return z[np.triu_indices(len(K))] * np.sqrt(len(paths))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [EXPONENTIAL, sp.great_circle("exp(-sqrt(z))"), "exp(-4*z)"])
def test_two_thousand_paths_have_the_covariance(kernel):
    field, X = rf.SphereField(kernel, random_state=0), points_on_sphere(500)
    z = deviations(field.sample(X, n_paths=2000), field.covariance_matrix(X, X))
    # A large mean over the sphere makes the errors of all pairs agree, so that their rms varies.
    assert field.cl[0] > 1 or abs(np.sqrt(np.mean(z**2)) - 1) < 0.02
    assert np.abs(z).max() < 6


def test_paths_have_the_covariance_at_close_points():
    field = rf.SphereField(EXPONENTIAL, degree=32, n_arcs=32, random_state=1)
    X = np.concatenate([points_on_sphere(8), points_on_sphere(8) + 0.2])
    z = deviations(field.sample(X, n_paths=400), field.covariance_matrix(X, X))
    assert np.abs(z).max() < 6
    assert abs(field.tail - 0.1005) < 1e-3  # what harmonics up to degree 32 alone would lose


def test_harmonics_and_arcs_are_those_of_their_formulas():
    lat, lon = np.radians(points_on_sphere(7)).T
    x = rf.unit_vectors(*np.degrees([lat, lon]))
    H = harmonics(20, lat, lon)
    for n in (1, 2, 20):
        own = H[:, n**2 : (n + 1) ** 2]
        exact = np.polynomial.legendre.legval(x @ x.T, np.eye(21)[n])
        assert np.abs(own @ own.T - (2 * n + 1) * exact).max() < 1e-12 * n**2
    angle = np.r_[0, 1e-9, 1e-3, np.linspace(0.01, np.pi, 50)]
    for n in (32, 33, 500):
        exact = np.polynomial.legendre.legval(np.cos(angle), np.eye(n + 1)[n]) * np.sqrt(2 * n + 1)
        assert np.abs(arcs(np.array(float(n)), np.cos(angle), np.sin(angle)) - exact).max() < 5e-7


def test_a_path_has_one_value_at_a_pole_and_across_the_date_line():
    field = rf.SphereField(EXPONENTIAL, random_state=3)
    assert np.ptp(field([[90, 0], [90, 77], [90, -180]])) < 1e-15
    assert np.ptp(field([[10, 190], [10, -170], [10, 550]])) < 1e-15
    lat, lon = [-90, 12.5, 80], [-170.0, 3.0, 190.0]
    grid = field.on_grid(lat, lon, number=2)
    X = [[a, b] for a in lat for b in lon]
    assert np.abs(grid.ravel() - field.path(2)(X)).max() < 1e-12


def test_the_exact_grid_has_the_covariance():
    field = rf.SphereField("exp(-z)", random_state=5)
    for n in (8, 7):
        grid = field.exact_grid([-90, -20, 0, 55], n)
        X = np.array([[a, b] for a in grid.lat for b in grid.lon])
        paths = grid.sample(n_paths=1000).reshape(1000, -1)
        z = deviations(paths, field.covariance_matrix(X, X))
        assert np.abs(z).max() < 6
        assert np.ptp(paths[:, :n], axis=1).max() < 1e-6  # the pole
        # The covariances of the frequencies are those of the circle.
        S = grid._roots @ grid._roots.transpose(0, 2, 1)
        first = np.fft.irfft(S, n, axis=0)
        K = field.covariance_matrix(X, X).reshape(4, n, 4, n)
        assert np.abs(first - K[:, :, :, 0].transpose(1, 0, 2)).max() < 1e-12


def test_kriging_is_exact_at_data():
    field, X = rf.SphereField(EXPONENTIAL, random_state=0), points_on_sphere(30)
    given = field.condition(X[:20], y := np.random.default_rng(1).standard_normal(20))
    assert np.abs(given.mean(X[:20]) - y).max() < 1e-13
    assert given.std(X[:20]).max() < 1e-6
    assert np.abs(given.sample(X[:20], n_paths=3) - y).max() < 1e-12
    K = field.covariance_matrix(X, X)
    mean = K[20:, :20] @ np.linalg.solve(K[:20, :20], y)
    assert np.abs(given.mean(X[20:]) - mean).max() < 1e-12
    noise = np.linspace(0.1, 0.2, 20)  # of each row, with a drift, and solved by gradients
    by = {
        solver: field.condition(X[:20], y, noise=noise, drift="constant", solver=solver)
        for solver in ("cholesky", "cg")
    }
    assert np.abs(by["cg"].mean(X[20:]) - by["cholesky"].mean(X[20:])).max() < 1e-8
    with pytest.raises(ParameterError, match="linear drift"):
        field.condition(X[:20], y, drift="linear")


def test_a_spectrum_makes_the_field_of_its_covariance():
    cl = 1 / (1 + np.arange(41.0)) ** 3
    field = rf.SphereField.from_cl(cl, random_state=0)
    assert abs(field.k_zero - ((2 * np.arange(41) + 1) @ cl) / (4 * np.pi)) < 1e-15
    assert np.abs(field.cl - cl).max() < 1e-15
    X = points_on_sphere(10)
    z = deviations(field.sample(X, n_paths=2000), field.covariance_matrix(X, X))
    assert np.abs(z).max() < 6


def test_synthesis_is_that_of_ducc():
    ducc0 = pytest.importorskip("ducc0")
    L, lat, n = 90, np.linspace(-88, 88, 23), 200
    field = rf.SphereField.from_cl(1 / (1 + np.arange(L + 1.0)) ** 2, random_state=4)
    found = field.on_grid(lat, np.arange(n) * 360 / n)
    c, alm = field._coefficients(0) * np.sqrt(4 * np.pi), []
    for m in range(L + 1):
        for degree in range(m, L + 1):
            own = c[degree**2 : (degree + 1) ** 2]
            value = own[0] if m == 0 else (own[m] - 1j * own[degree + m]) / np.sqrt(2)
            alm.append(value * (-1) ** m)
    other = ducc0.sht.synthesis(
        alm=np.array([alm], dtype=complex),
        theta=np.radians(90 - lat),
        nphi=np.full(lat.size, n, dtype=np.uint64),
        phi0=np.zeros(lat.size),
        ringstart=(np.arange(lat.size) * n).astype(np.uint64),
        spin=0,
        lmax=L,
    )[0].reshape(found.shape)
    assert np.abs(found - other).max() < 1e-12


@pytest.mark.slow
def test_features_of_a_great_circle_kernel():
    x = rf.unit_vectors(*points_on_sphere(300).T)
    features = rf.SpectralFeatures(EXPONENTIAL, n_components=512, random_state=0)
    features.set_params(mixed_signature="ignore").fit(x)
    K = EXPONENTIAL.gram(x)
    assert np.linalg.norm(features.gram(x) - K) < 3 * features.expected_error_ * np.linalg.norm(K)
    assert features.expected_error_ < 0.2


def test_what_is_no_field_is_refused():
    with pytest.raises(ParameterError, match=r"not positive definite on the sphere.*add up to"):
        rf.SphereField(sp.great_circle("exp(-z**2)"))
    rf.SphereField(sp.great_circle("exp(-z**2)", length=0.2))  # its negative mass is 1e-110
    for bad in ([[91, 0]], [[0, np.nan]], [[0, 0, 0]], [0, 0]):
        with pytest.raises(DataError, match="latitude"):
            rf.SphereField.from_cl([1.0])(bad)
    for cl in ([-1.0], [0.0], [[1.0]], [np.inf]):
        with pytest.raises(ParameterError):
            rf.SphereField.from_cl(cl)
