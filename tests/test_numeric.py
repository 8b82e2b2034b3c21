"""What is no number is refused by name, whichever function it is passed to."""

import numpy as np
import pytest

import spectra as sp
from spectra.errors import DataError, ParameterError
from spectra.special import plane_wave_mean

GAUSSIAN = sp.radial("exp(-z**2/2)")


@pytest.fixture(scope="module")
def table():
    return sp.tabulate(sp.spectral_measure(GAUSSIAN, 2))


@pytest.mark.parametrize("bad", ["a", 1j, [1j], [[1.0], [1.0, 2.0]], None, object()])
def test_distances_radii_and_rows_are_real_numbers(bad, table):
    density = sp.spectral_density(GAUSSIAN, 2)
    for function in (GAUSSIAN, density.radial, density.density, table.expected_kernel):
        with pytest.raises(ParameterError, match="must be real numbers"):
            function(bad)
    with pytest.raises(ParameterError, match="must be real numbers"):
        plane_wave_mean(3, bad)
    with pytest.raises(DataError, match="must be real numbers"):
        GAUSSIAN.gram(bad)
    if bad is not None:  # which stands for Y = X
        with pytest.raises(DataError, match="must be real numbers"):
            GAUSSIAN.gram(np.eye(2), bad)


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3", None, float("nan")])
def test_a_dimension_is_a_whole_number_of_at_least_one(bad):
    with pytest.raises(ParameterError, match="imension"):
        plane_wave_mean(bad, 1.0)
    with pytest.raises(ParameterError, match="imension"):
        sp.SpectralMeasure.from_atoms(bad, [1.0], [1.0])
    with pytest.raises(ParameterError, match="imension"):
        sp.spectral_density(GAUSSIAN, bad)


def test_numpy_integers_are_dimensions_everywhere():
    three = np.int64(3)
    assert sp.SpectralMeasure.from_atoms(three, [1.0], [1.0]).dim == 3
    assert plane_wave_mean(three, 1.0) == plane_wave_mean(3, 1.0)


def test_rows_without_columns_have_no_distance():
    with pytest.raises(DataError, match="no columns"):
        GAUSSIAN.gram(np.ones((3, 0)))


@pytest.mark.parametrize("size", [-1, 2.5, "3", None, True])
def test_a_number_of_draws_is_a_count(size, table):
    with pytest.raises(ParameterError, match="number of draws"):
        table.sample(size)


@pytest.mark.parametrize("rng", ["a", -1, 1.5])
def test_a_source_of_randomness_is_a_generator_or_a_seed(rng, table):
    with pytest.raises(ParameterError, match="rng"):
        table.sample(3, rng)


def test_a_missing_folder_is_named_before_anything_is_written(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        table.save(tmp_path / "missing" / "k.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        table.save(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        sp.SpectralTable.load(tmp_path)


@pytest.mark.parametrize("bad", ["a", -1.0, float("nan")])
def test_sign_changes_are_listed_up_to_a_radius(bad):
    with pytest.raises(ParameterError, match="up_to"):
        sp.spectral_measure(GAUSSIAN, 2).sign_changes(up_to=bad)
