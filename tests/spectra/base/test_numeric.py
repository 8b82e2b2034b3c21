"""What is no number is refused by name, whichever function it is passed to."""

import numpy as np
import pytest

import rf
import spectra as sp
from rf.variance.bounds import n_components_for
from spectra.base.bessel import plane_wave_mean
from spectra.errors import DataError, ParameterError

GAUSSIAN = sp.radial("exp(-z**2/2)")
X = np.random.default_rng(0).standard_normal((20, 2))


@pytest.fixture(scope="module")
def table():
    return sp.tabulate(sp.spectral_measure(GAUSSIAN, 2))


def test_distances_radii_and_rows_are_real_numbers(table):
    density = sp.spectral_density(GAUSSIAN, 2)
    for bad in ("a", [1j], [[1.0], [1.0, 2.0]], None, object()):
        for function in (GAUSSIAN, density.radial, density.density, table.expected_kernel):
            with pytest.raises(ParameterError, match="must be real numbers"):
                function(bad)
        with pytest.raises(DataError, match="must be real numbers"):
            GAUSSIAN.gram(bad)
    with pytest.raises(ParameterError, match="must be real numbers"):
        plane_wave_mean(3, "a")
    with pytest.raises(DataError, match="must be real numbers"):
        GAUSSIAN.gram(np.eye(2), "a")
    with pytest.raises(DataError, match="no columns"):
        GAUSSIAN.gram(np.ones((3, 0)))


def test_dimensions_sizes_and_seeds_are_whole_numbers(table):
    for bad in (0, -1, 2.5, True, "3", None, float("nan")):
        with pytest.raises(ParameterError, match="imension"):
            plane_wave_mean(bad, 1.0)
        with pytest.raises(ParameterError, match="imension"):
            sp.SpectralMeasure.from_atoms(bad, [1.0], [1.0])
        with pytest.raises(ParameterError, match="imension"):
            sp.spectral_density(GAUSSIAN, bad)
    for size in (-1, 2.5, "3", None, True, 10**30):
        with pytest.raises(ParameterError, match="size = "):
            table.sample(size)
    for rng in ("a", -1, 1.5):
        with pytest.raises(ParameterError, match="rng"):
            table.sample(3, rng)
    three = np.int64(3)
    assert sp.SpectralMeasure.from_atoms(three, [1.0], [1.0]).dim == 3
    assert plane_wave_mean(three, 1.0) == plane_wave_mean(3, 1.0)


def test_a_missing_folder_is_named_before_anything_is_written(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        table.save(tmp_path / "missing" / "k.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        table.save(tmp_path)
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        sp.SpectralTable.load(tmp_path)


def test_sign_changes_are_listed_up_to_a_radius():
    for bad in ("a", -1.0, float("nan")):
        with pytest.raises(ParameterError, match="up_to"):
            sp.spectral_measure(GAUSSIAN, 2).sign_changes(up_to=bad)


MISTAKES = {
    "random_state = 'x'": lambda table: rf.two_sample_test(X, X + 1, random_state="x"),
    "n_permutations = 1000.0": lambda table: rf.two_sample_test(X, X + 1, n_permutations=1e3),
    r"this is 'exp\(-z\)'": lambda table: rf.draw_frequencies("exp(-z)", (2,)),
    r"this is \[": lambda table: n_components_for([table], 0.1, 0.1, n_points=10),
    "counts = 2.5": lambda table: rf.draw_frequencies(table, (2.5,)),
    "tol = 'x'": lambda table: sp.design("max(1-z, 0)", 3, (0, 2), tol="x"),
    r"objective = \[\]": lambda table: sp.design("max(1-z, 0)", 3, (0, 2), tol=0.1, objective=[]),
    "at most": lambda table: sp.design("max(1-z, 0)", 10**30, (0, 2), tol=0.1),
    "name of a parameter": lambda table: rf.SpectralFeatures("gaussian", kernel_params={1: 2}).fit(
        X
    ),
    "is not a Krein model": lambda table: rf.KreinRidge().fit(X, X[:, 0]).merge(3),
    "holds no chunks": lambda table: rf.KreinRidge().fit_chunks(3),
    "Chunk 0 is of type NoneType": lambda table: rf.KreinRidge().fit_chunks([None]),
    "Chunk 0 is of type tuple": lambda table: rf.KreinRidge().fit_chunks([(X,)]),
    "no data set": lambda table: rf.load_dataset(np.zeros(3)),
    "size = 1000": lambda table: table.parts[0].law.rvs(10**30),
    "breaks = 0.5": lambda table: sp.radial(lambda z: np.exp(-z), breaks=0.5),
    r"shape \(2,\)": lambda table: rf.GaussianField(GAUSSIAN, 2).condition(
        X, X[:, 0], noise=np.array([0.1, 0.2])
    ),
    "n_paths = 0": lambda table: rf.GaussianField(GAUSSIAN, 2).sample(X, n_paths=0),
}


def test_an_invalid_argument_is_refused_by_its_name(table):
    for said, mistake in MISTAKES.items():
        with pytest.raises(ParameterError, match=said):
            mistake(table)


def test_whole_numbers_beyond_64_bits_are_numbers():
    assert GAUSSIAN(10**30) == 0.0
    with pytest.raises(ParameterError, match="is too large"):
        GAUSSIAN(10**400)


def test_a_bound_on_masses_alone_serves_every_table():
    kernels = (GAUSSIAN.on([0]) * GAUSSIAN.on([1]), sp.l1("exp(-z)"), GAUSSIAN)
    found = {
        n_components_for(sp.derive(k, 2), 0.1, 0.1, n_points=99, bound="hoeffding") for k in kernels
    }
    assert len(found) == 1  # all have one part of mass 1
    with pytest.raises(DataError, match="not a function of"):
        n_components_for(sp.derive(kernels[0], 2), 0.1, 0.1, n_points=99, diameter=1.0)


def test_whole_counts_are_counts_however_they_are_written(table):
    for counts in (5, [5], (5.0,), np.array([5]), np.array([5.0])):
        assert len(rf.draw_frequencies(table, counts, random_state=0)) == 5


def test_chunks_are_whatever_python_goes_through():
    class Chunks:
        def __getitem__(self, number):
            return [(X[:10], X[:10, 0]), [X[10:], X[10:, 0]]][number]

    whole = rf.KreinRidge().fit(X, X[:, 0])
    assert np.allclose(rf.KreinRidge().fit_chunks(Chunks()).predict(X), whole.predict(X))
