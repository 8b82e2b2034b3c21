"""Whatever takes a measure takes a given spectrum: fields, features, plug-ins, the command."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Matern

import spectra as sp
from rf import GaussianField, SpectralFeatures
from spectra.cli.commands import main
from spectra.errors import NoRouteError, ParameterError
from spectra.plugins.covariance import RadialCovariance
from spectra.plugins.scikit_learn import RadialGPKernel
from tests.oracles.spectra import matern

TEXT, POWER, EXACT = matern("1/3", 3)
ROUGH = sp.spectrum(POWER, 3, kind="power")
X = np.random.default_rng(0).uniform(0.0, 2.0, (40, 3))


def smooth():
    """The Matern kernel with nu = 5/2, as scikit-learn scales it for a length of sqrt(5)."""
    return sp.spectrum(matern("5/2", 3)[0], 3, kind="power")


def test_conditioning_and_features_use_the_covariance_of_the_spectrum():
    K, pairs = EXACT(cdist(X, X)), np.triu_indices(len(X))
    field = GaussianField(ROUGH, n_components=64, random_state=0)
    np.testing.assert_allclose(field.covariance_matrix(X, X)[pairs], K[pairs], atol=1e-12)
    given = field.condition(X[:9], np.arange(9.0) / 9)
    np.testing.assert_allclose(given.mean(X[:9]), np.arange(9.0) / 9, atol=1e-12)
    features = SpectralFeatures(ROUGH, n_components=512, random_state=0).fit(X)
    miss = np.linalg.norm(features.gram(X) - K) / np.linalg.norm(K)
    assert 0.5 * features.expected_error_ < miss < 2.0 * features.expected_error_
    np.testing.assert_allclose(features.kernel_.gram(X), K, atol=1e-12)


def test_gradients_through_data_match_differences():
    field = GaussianField(smooth(), n_components=64, random_state=0)
    given, step = field.condition(X[:20], X[:20, 0], noise=0.1), 1e-4 * np.eye(3)[1]
    slope = (given.mean(X[20:] + step) - given.mean(X[20:] - step)) / 2e-4
    np.testing.assert_allclose(given.mean_gradient(X[20:])[:, 1], slope, atol=3e-7)


def test_slopes_of_unbounded_tables():
    z = np.concatenate([[0.0], np.geomspace(1e-6, 300.0, 400)])
    table = sp.tabulate(sp.spectrum("8*pi/(1 + k**2)**2", 3, kind="power"))
    slope = table.slope(z)
    np.testing.assert_allclose(slope * z**2, -z * np.exp(-z), atol=3e-12)
    assert slope[0] == 0.0


def test_other_libraries_get_values_spectra_and_gradients():
    lengths = np.array([1.0, 2.0, 3.0])
    kernel, gradient = RadialGPKernel(smooth(), length_scale=lengths)(X, eval_gradient=True)
    exact, slope = Matern(length_scale=lengths * 5**0.5, nu=2.5)(X, eval_gradient=True)
    np.testing.assert_allclose(kernel, exact, atol=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-10)
    covariance, w = RadialCovariance.of(ROUGH, 3), np.array([0.0, 0.3, 1.0, 5.0])
    np.testing.assert_allclose(covariance.power_spectrum(w), POWER(w), rtol=1e-11)
    derivative = -(11 / 3) * w / (1 + w**2) * POWER(w)
    np.testing.assert_allclose(
        covariance.power_spectrum_derivative(w[1:]), derivative[1:], rtol=1e-9
    )


def test_gstools_draws_from_the_spectrum():
    gstools = pytest.importorskip("gstools")
    from spectra.plugins.gstools import cov_model

    model, r = cov_model(ROUGH, dim=3, len_scale=2.0), np.linspace(0.0, 3.0, 7)
    np.testing.assert_allclose(model.correlation(r), EXACT(r / 2.0), atol=1e-12)
    np.testing.assert_allclose(
        model.spectral_density(r[1:]), POWER(2 * r[1:]) / np.pi**3, rtol=1e-9
    )
    assert np.isfinite(gstools.SRF(model, seed=1)(X.T[:, :2])).all()


def test_a_spectrum_of_both_signs_or_another_dimension_is_no_covariance():
    signed = sp.spectrum("exp(-w**2/2)*(1 - w**2/2)", 1, kind="density")
    for use in (GaussianField, lambda m: RadialGPKernel(m)(X[:, :1])):
        with pytest.raises(ParameterError, match=r"negative mass 0\.323115"):
            use(signed)
    with pytest.raises(NoRouteError, match="known in dimension 3 alone"):
        RadialGPKernel(ROUGH)(X[:, :2])


def test_the_command_reads_two_columns(tmp_path, capsys):
    k, file = np.geomspace(1e-3, 1e3, 200), tmp_path / "p.csv"
    table, picture = tmp_path / "p.npz", tmp_path / "p.png"
    options = ["derive", "--spectrum", str(file), "--dim", "3"]
    for header in ("k,P(k)\n", ""):
        rows = "".join(f"{a!r},{b!r}\n" for a, b in zip(k.tolist(), POWER(k).tolist(), strict=True))
        file.write_text(header + rows, encoding="utf-8")
        files = ["--out", str(table), "--plot", str(picture)] if header else []
        assert main([*options, "--kind", "power", "--extend", *files]) == 0
    assert "+ part of mass 1" in capsys.readouterr().out
    z = np.array([0.0, 1.0])
    assert sp.SpectralTable.load(table).expected_kernel(z) == pytest.approx(EXACT(z), abs=1e-6)
    assert picture.read_bytes().startswith(b"\x89PNG")
    file.write_text("k P\n1 2 3\n", encoding="utf-8")
    for wrong, text in (
        (options, "Give a kernel, or --spectrum"),
        (["derive", "--dim", "3"], "Give a kernel, or --spectrum"),
        ([*options, "--kind", "power"], "two columns of numbers"),
    ):
        assert main(wrong) == 2
        assert text in capsys.readouterr().err
