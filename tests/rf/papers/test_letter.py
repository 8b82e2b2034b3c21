"""Data sets are loaded from a folder, from scikit-learn or from OpenML, with their scalings."""

import numpy as np
import pytest

from rf import load_dataset
from rf.papers.datasets import DATA_VARIABLE
from spectra.errors import DataError, ParameterError


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

    def test_sparse_rows_from_openml_are_made_dense(self, tmp_path, monkeypatch):
        def fetch(name, version, **options):
            from scipy.sparse import csr_matrix
            from sklearn.utils import Bunch

            rows = csr_matrix(np.tile(np.arange(8.0), (59536, 1)))
            return Bunch(data=rows, target=np.array(["-1", "1"] * 29768, dtype=object))

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        data = load_dataset("cod-RNA", scaling="raw", folder=tmp_path)
        assert data.X_train[0].tolist() == list(range(8))
        assert set(data.y_train.tolist()) == {-1.0, 1.0}

    def test_unknown_names_list_the_known_ones(self):
        with pytest.raises(ParameterError, match="letter"):
            load_dataset("iris")
        with pytest.raises(ParameterError, match="interval"):
            load_dataset("digits", scaling="nonsense")
