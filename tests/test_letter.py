"""Real data: the published experiment on letter, with no bias floor; and the loader of data."""

import os
from itertools import pairwise

import numpy as np
import pytest
from laws import gaussian_mixture

from rf import SpectralFeatures, load_dataset
from rf.datasets import DATA_VARIABLE
from spectra.errors import DataError, ParameterError

needs_letter = pytest.mark.skipif(
    DATA_VARIABLE not in os.environ, reason=f"set {DATA_VARIABLE} to a folder with letter.npz"
)


@pytest.fixture(scope="module")
def rows():
    X = load_dataset("letter").X_train
    return X[np.random.default_rng(0).choice(len(X), 1000, replace=False)]


def mean_error(rows, per_sign, seeds, **options):
    """Mean of |K - K^| / |K|, Frobenius, of delta-Gaussian (1, 10)."""
    table = gaussian_mixture(16, [(1.0, 1.0), (-1.0, 10.0)])
    z2 = np.maximum(2.0 - 2.0 * rows @ rows.T, 0.0)
    K = np.exp(-z2 / 2) - np.exp(-z2 / 200)
    errors = []
    for seed in range(seeds):
        features = SpectralFeatures(
            table,
            n_components=4 * per_sign,
            mixed_signature="ignore",
            random_state=seed,
            **options,
        )
        errors.append(np.linalg.norm(features.fit(rows).gram(rows) - K) / np.linalg.norm(K))
    return float(np.mean(errors))


@needs_letter
def test_orthogonal_blocks_reach_the_published_error(rows):
    # Published GORF at s = 2d = 32: .0760; exact blocks within each sign: .077.
    options = {"coupling": "orthogonal", "radii": "iid", "allocation": "equal"}
    assert mean_error(rows, 32, 20, **options) <= 0.09


@needs_letter
def test_the_error_falls_like_one_over_root_n_with_no_floor(rows):
    options = {"coupling": "orthogonal", "radii": "stratified", "allocation": "mass"}
    errors = [mean_error(rows, n, 8, **options) for n in (32, 128, 512)]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(2.0, rel=0.2)


@needs_letter
@pytest.mark.slow
def test_what_we_recommend_beats_the_published_algorithm(rows):
    # s = d/2, d, 2d, 8d frequencies for each sign; published GORF: .3154 .1133 .0760 .0376.
    for per_sign, most in ((8, 0.13), (16, 0.085), (32, 0.060), (128, 0.030)):
        assert mean_error(rows, per_sign, 10) <= most


class TestLoader:
    def test_digits_come_with_scikit_learn_on_the_sphere(self):
        data = load_dataset("digits", folder="no such folder")
        assert data.X_train.shape == (1200, 64)
        np.testing.assert_allclose(np.linalg.norm(data.X_test, axis=1), 1.0)
        assert "scikit-learn" in data.origin

    def test_scalings(self):
        raw = load_dataset("digits", scaling="raw")
        assert raw.X_train.max() == 16.0
        unit = load_dataset("digits", scaling="interval")
        assert unit.X_train.min() == 0.0
        assert max(unit.X_train.max(), unit.X_test.max()) == 1.0

    def test_a_folder_wins(self, tmp_path):
        rows = np.arange(6.0).reshape(3, 2) + 1.0
        np.savez(
            tmp_path / "usps.npz",
            X_train=rows,
            y_train=np.ones(3),
            X_test=rows[:1],
            y_test=np.ones(1),
        )
        data = load_dataset("usps", scaling="raw", folder=tmp_path)
        np.testing.assert_array_equal(data.X_train, rows)

    def test_a_file_that_lacks_arrays_is_named(self, tmp_path):
        np.savez(tmp_path / "usps.npz", X_train=np.eye(2))
        with pytest.raises(DataError, match="y_train, X_test, y_test"):
            load_dataset("usps", folder=tmp_path)

    def test_missing_data_say_what_to_do(self, tmp_path):
        with pytest.raises(DataError, match=DATA_VARIABLE):
            load_dataset("ijcnn1", folder=tmp_path)

    def test_an_unreachable_openml_says_so(self, tmp_path, monkeypatch):
        def offline(*args, **options):
            raise OSError("no route to host")

        monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
        with pytest.raises(DataError, match="no route to host"):
            load_dataset("letter", folder=tmp_path)

    def test_letters_from_openml_have_the_papers_labels(self, tmp_path, monkeypatch):
        def fetch(name, version, **options):
            from sklearn.utils import Bunch

            assert (name, version) == ("letter", 1)
            X = np.arange(20000.0 * 16).reshape(20000, 16) % 16 + 1
            return Bunch(data=X, target=np.array(["A", "Z"] * 10000, dtype=object))

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        data = load_dataset("letter", scaling="raw", folder=tmp_path)
        assert data.X_train.shape == (12000, 16)
        assert set(data.y_train.tolist()) == {-1, 1}
        assert "split at random" in data.origin

    def test_unknown_names_list_the_known_ones(self):
        with pytest.raises(ParameterError, match="letter"):
            load_dataset("iris")
        with pytest.raises(ParameterError, match="interval"):
            load_dataset("digits", scaling="nonsense")
