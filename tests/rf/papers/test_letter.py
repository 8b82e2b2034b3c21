"""Data sets are loaded from a folder, from scikit-learn or from OpenML, with their scalings."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from rf import load_dataset
from rf.papers.datasets import DATA_VARIABLE
from spectra.errors import DataError, ParameterError


def test_digits_come_with_scikit_learn_on_the_sphere_raw_or_scaled():
    data = load_dataset("digits", folder="no such folder")
    assert data.X_train.shape == (1200, 64)
    np.testing.assert_allclose(np.linalg.norm(data.X_test, axis=1), 1.0)
    assert "scikit-learn" in data.origin
    assert load_dataset("digits", scaling="raw").X_train.max() == 16.0
    unit = load_dataset("digits", scaling="interval")
    assert unit.X_train.min() == 0.0
    assert max(unit.X_train.max(), unit.X_test.max()) == 1.0


def test_a_file_in_the_folder_wins_and_what_it_lacks_is_named(tmp_path):
    rows = np.arange(6.0).reshape(3, 2) + 1.0
    arrays = {"X_train": rows, "y_train": np.ones(3), "X_test": rows[:1], "y_test": np.ones(1)}
    np.savez(tmp_path / "usps.npz", **arrays)
    data = load_dataset("usps", scaling="raw", folder=tmp_path)
    np.testing.assert_array_equal(data.X_train, rows)
    np.savez(tmp_path / "usps.npz", X_train=rows)
    with pytest.raises(DataError, match="y_train, X_test, y_test"):
        load_dataset("usps", folder=tmp_path)
    with pytest.raises(DataError, match=DATA_VARIABLE):
        load_dataset("ijcnn1", folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "found", "labels"),
    [
        ("letter", np.arange(20000.0 * 16).reshape(20000, 16) % 16 + 1, ["A", "Z"]),
        ("cod-RNA", csr_matrix(np.tile(np.arange(8.0), (59536, 1))), ["-1", "1"]),
    ],
)
def test_rows_from_openml_are_dense_and_have_the_papers_labels(
    name, found, labels, tmp_path, monkeypatch
):
    target = np.array(labels * (found.shape[0] // 2), dtype=object)

    def fetch(asked, version, **options):
        assert (asked.lower().replace("-", ""), version) == (name.lower().replace("-", ""), 1)
        return Bunch(data=found, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = load_dataset(name, scaling="raw", folder=tmp_path)
    assert data.X_train.shape[1] == found.shape[1]
    assert isinstance(data.X_train, np.ndarray)
    assert set(data.y_train.tolist()) == {-1, 1}
    assert name != "letter" or "split at random" in data.origin


def test_an_unreachable_openml_says_so(tmp_path, monkeypatch):
    def offline(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    with pytest.raises(DataError, match="no route to host"):
        load_dataset("letter", folder=tmp_path)


def test_unknown_names_and_scalings_list_the_known_ones():
    with pytest.raises(ParameterError, match="letter"):
        load_dataset("iris")
    with pytest.raises(ParameterError, match="interval"):
        load_dataset("digits", scaling="nonsense")
