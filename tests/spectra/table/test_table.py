"""Tables: the kernel that a table represents, and files that detect every change."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from spectra.base.bessel import plane_wave_mean
from spectra.errors import ParameterError, TableFileError
from spectra.table import Part, RadialLaw, SpectralTable, WaveSum, WaveTail
from spectra.table.table_file import encode_table, read_arrays, write_arrays
from tests.oracles.laws import ball_law

PI = float(np.pi)


def oscillating():
    waves = [
        (0.0, 1.5, np.array([0.01 + 0j, 0.002])),
        (3.0, 1.5, np.array([0.005 + 0.001j])),
    ]
    tail = WaveTail(WaveSum.of(15.0, waves))
    return RadialLaw(ball_law(1, 15.0).panels.scaled(1.0 - tail.mass), tail)


def signed_table(dim=3, **changes):
    parts = (
        Part(1.5, 1e-15, 0.0, ball_law(max(int(dim), 1), 2.0)),
        Part(0.5, 1e-15, PI, RadialLaw.from_atoms([1.0, 3.0], [0.25, 0.75])),
    )
    fields = {
        "dim": dim,
        "parts": parts,
        "formula": "a kernel of the tests",
        "k_zero": 1.0,
        "u_error": 1e-15,
        "provenance": "by hand",
    }
    return SpectralTable(**(fields | changes))


def bits(table):
    """All that a file of a table holds."""
    header, arrays = encode_table(table)
    return header, {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}


@pytest.mark.parametrize("dim", [1, 2, 64])
def test_the_expected_kernel_is_the_signed_sum_of_the_parts(dim):
    z = np.array([0.0, 0.1, 1.0, 5.0, 40.0])
    table = signed_table(dim)
    atoms = 0.25 * plane_wave_mean(dim, z) + 0.75 * plane_wave_mean(dim, 3.0 * z)
    truth = 1.5 * plane_wave_mean(dim + 2, 2.0 * z) - 0.5 * atoms
    assert np.max(np.abs(table.expected_kernel(z) - truth)) < 1e-13
    assert np.all(
        np.abs(table.expected_kernel(z) - truth) <= table.expected_kernel_error(z) + 2e-14
    )
    assert np.max(table.expected_kernel_error(z)) < 1e-12
    assert (table.mass, table.mass_error) == (2.0, 2e-15)


def test_a_table_must_have_the_mass_of_its_kernel():
    with pytest.raises(ParameterError, match="add up"):
        signed_table(k_zero=1.1)
    assert signed_table(k_zero=1.1, bias=0.1).bias == 0.1


def test_numbers_out_of_range_are_refused():
    wrong = {"dim": (0, True), "k_zero": (np.nan,), "u_error": (-1.0,), "bias": (-1.0,)}
    wrong |= {"domain": (np.nan,), "parts": ([Part(1.0, 0.0, 0.0, ball_law(3))],)}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError):
                signed_table(**{name: value})
    law = ball_law(3)
    for mass, error, phase in ((0.0, 0.0, 0.0), (np.inf, 0.0, 0.0), (1.0, -1.0, 0.0), (1.0, 0, 1)):
        with pytest.raises(ParameterError):
            Part(mass, error, phase, law)
    with pytest.raises(ParameterError):
        Part(1.0, 0.0, 0.0, "law")


def test_the_zero_kernel_has_a_table_without_draws():
    zero = signed_table(parts=(), k_zero=0.0)
    assert np.array_equal(zero.expected_kernel([0.0, 1.0]), [0.0, 0.0])
    with pytest.raises(ParameterError, match="zero"):
        zero.sample(3, rng=0)


# ------------------------------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "k.npz"
    signed_table().save(path)
    return path


@pytest.mark.parametrize(
    "table",
    [
        signed_table(),
        signed_table(16, domain=2.0, sphere=True, bias=1e-3, formula='exp(-z**2) "µ"'),
        signed_table(parts=(), k_zero=0.0),
        signed_table(parts=(Part(1.0, 0.0, 0.0, oscillating()),)),
    ],
)
def test_a_saved_table_is_loaded_bit_for_bit(table, tmp_path):
    path = tmp_path / "k.npz"
    table.save(path)
    loaded = SpectralTable.load(path)
    assert bits(table) == bits(loaded)
    z = np.linspace(0.0, 5.0, 7)
    assert np.array_equal(table.expected_kernel(z), loaded.expected_kernel(z))
    if table.parts:
        a, b = table.sample(100, rng=1), loaded.sample(100, rng=1)
        assert np.array_equal(a.frequencies, b.frequencies)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "k.npz"]


def test_the_file_is_an_ordinary_npz_without_pickles(saved):
    with np.load(saved, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        assert np.array_equal(file["law1.series"][:, 0], [0.25, 0.75])
    assert header["format"] == "spectra.SpectralTable"
    assert header["convention"].startswith("k(D) = sum")


def test_no_changed_byte_goes_unnoticed(saved, tmp_path):
    content = saved.read_bytes()
    table = signed_table()
    path = tmp_path / "flipped.npz"
    noticed = 0
    for place in range(0, len(content), 97):
        for mask in (0xFF, 0x01):
            changed = bytearray(content)
            changed[place] ^= mask
            path.write_bytes(changed)
            try:
                loaded = SpectralTable.load(path)
            except TableFileError:
                noticed += 1
            else:
                assert bits(table) == bits(loaded)  # a byte of the archive that carries no data
    assert noticed > len(content) // 97


def test_files_that_are_cut_or_edited_are_refused(saved, tmp_path):
    content, path = saved.read_bytes(), tmp_path / "short.npz"
    for length in (0, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(TableFileError, match=r"short\.npz"):
            SpectralTable.load(path)
    with zipfile.ZipFile(saved) as file, zipfile.ZipFile(path, "w") as other:
        for name in file.namelist():
            data = file.read(name)
            other.writestr(name, data[:-8] if name == "law0.charts.npy" else data)
    with pytest.raises(TableFileError, match="is damaged"):
        SpectralTable.load(path)
    with np.load(saved) as file:
        arrays = dict(file)
    arrays["law1.series"] = arrays["law1.series"] * 1.5
    np.savez(path, **arrays)
    with pytest.raises(TableFileError, match="SHA-256"):
        SpectralTable.load(path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "other"
    path.write_text("not a zip")
    with pytest.raises(TableFileError, match="not a spectral table"):
        SpectralTable.load(path)
    for arrays in ({"a": np.arange(3.0)}, {"a": np.array([{}], dtype=object)}, {"a": np.arange(3)}):
        with open(path, "wb") as file:
            np.savez(file, **arrays)
        with pytest.raises(TableFileError, match="not a spectral table"):
            SpectralTable.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(TableFileError, match="sha256"):
        SpectralTable.load(path)
    with pytest.raises(FileNotFoundError):
        SpectralTable.load(tmp_path / "missing.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, "version 3"),
        ({"format": "other"}, "format 'other'"),
        ({"convention": "k = int exp(2 pi i w.D)"}, "convention"),
        ({"dim": "3"}, "dimension"),
        ({"dim": None}, "dim"),
        ({"k_zero": 2.0}, "add up"),
        ({"extra": [1.0]}, "extra"),
        ({"law0.charts": None}, "law0.charts"),
        ({"law1.series": [[0.25], [np.nan]]}, "finite"),
        ({"law1.series": [[0.25], [0.5]]}, "add up"),
        ({"law1.series": [[0.25]]}, "charts of shape"),
        ({"law1.charts": [[3.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0]]}, "ascend"),
        ({"law1.charts": [[1.0, 2, 0, 0, 0], [3.0, 0, 0, 0, 0]]}, "unknown chart"),
        ({"law0.charts": [1.0, 1.0]}, "axes"),
    ],
)
def test_an_invalid_file_with_a_valid_digest_is_refused(saved, changes, message):
    """None removes an entry; the digest is that of the changed content."""
    header, arrays = read_arrays(saved)
    for name, value in changes.items():
        place = header if name in header else arrays
        place.pop(name, None)
        if value is not None:
            place[name] = value if place is header else np.asarray(value)
    write_arrays(saved, header, arrays)
    with pytest.raises(TableFileError, match=message):
        SpectralTable.load(saved)


@pytest.mark.parametrize(
    "change", [{"sign": 0}, {"groups": [2]}, {"groups": ["a"]}, {"shifts": {"offsets": [[1.0]]}}]
)
def test_a_part_with_an_unknown_sign_law_or_shift_is_refused(saved, change):
    header, arrays = read_arrays(saved)
    header["parts"][0].update(change)
    write_arrays(saved, header, arrays)
    with pytest.raises(TableFileError, match=r"valid spectral table"):
        SpectralTable.load(saved)
