"""What was derived once is read back, bit for bit, and nothing damaged or foreign is believed."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

import spectra as sp
from spectra.cache import address_of, default_cache
from spectra.cli import main
from spectra.errors import InfiniteMassError, ParameterError

KERNEL = "exp(-z**2/2) - exp(-z**2/8)/2"


@pytest.fixture
def cache(tmp_path):
    return sp.TableCache(tmp_path / "tables")


@pytest.fixture
def underivable(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the table was derived again")

    monkeypatch.setattr("spectra.derivation.tabulate", refuse)


def bits(table):
    header, arrays = table.members()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def test_a_kept_table_is_the_derived_table(cache):
    k = sp.radial(KERNEL)
    derived = sp.derive(k, 3, cache=False)
    assert bits(sp.derive(k, 3, cache=cache)) == bits(derived)
    assert bits(sp.derive(k, 3, cache=cache)) == bits(derived)


def test_what_is_kept_is_not_derived_again(cache, request):
    sp.derive(sp.radial(KERNEL), 3, cache=cache)
    request.getfixturevalue("underivable")
    sp.derive(sp.radial(KERNEL), 3, cache=cache)
    with pytest.raises(AssertionError, match="derived again"):
        sp.derive(sp.radial(KERNEL), 4, cache=cache)


def test_all_that_decides_a_table_is_in_its_address():
    k = sp.radial("exp(-z**2)")
    addresses = [
        address_of(k, 3, u_error=1e-12),
        address_of(k, 4, u_error=1e-12),
        address_of(k, 3, u_error=1e-13),
        address_of(k.rescale(2), 3, u_error=1e-12),
        address_of(sp.radial("exp(-z**2)", support=9), 3, u_error=1e-12),
        address_of(sp.zonal("exp(u)"), 3, u_error=1e-12),
    ]
    assert len(set(addresses)) == len(addresses)


def test_an_address_is_the_same_in_every_process():
    code = (
        "import spectra as sp; from spectra.cache import address_of;"
        f"print(address_of(sp.radial({KERNEL!r}), 3, u_error=1e-12))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert runs == {address_of(sp.radial(KERNEL), 3, u_error=1e-12)}


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign", "empty"])
def test_a_broken_entry_is_derived_again_and_mended(cache, harm):
    k = sp.radial(KERNEL)
    derived = sp.derive(k, 3, cache=cache)
    (entry,) = cache.entries()
    content = bytearray(entry.path.read_bytes())
    if harm == "cut":
        entry.path.write_bytes(content[: len(content) // 2])
    elif harm == "flipped":
        content[len(content) // 2] ^= 1
        entry.path.write_bytes(content)
    elif harm == "empty":
        entry.path.write_bytes(b"")
    else:
        sp.derive(sp.radial("exp(-z**2)"), 2, cache=False).save(entry.path)
    with pytest.warns(UserWarning, match="derived again"):
        again = sp.derive(k, 3, cache=cache)
    assert bits(again) == bits(derived)
    assert bits(sp.derive(k, 3, cache=cache)) == bits(derived)


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    blocked = sp.TableCache(tmp_path / "file" / "tables")
    with pytest.warns(UserWarning, match="could not be kept"):
        table = sp.derive(sp.radial("exp(-z**2)"), 2, cache=blocked)
    assert table.mass == pytest.approx(1.0)


def test_an_infinite_measure_is_refused_with_or_without_a_cache(cache):
    for place in (cache, False):
        with pytest.raises(InfiniteMassError):
            sp.derive(sp.catalogue["ntk"], 16, cache=place)


def test_a_place_that_is_none_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="not a place for tables"):
        sp.derive(sp.radial("exp(-z)"), 1, cache="here")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path / "file"))
    with pytest.raises(ParameterError, match="not a folder"):
        default_cache()


def _derive_into(folder):
    sp.derive(sp.radial(KERNEL), 3, cache=sp.TableCache(folder))


def test_two_writers_leave_one_whole_table(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_derive_into, args=(tmp_path,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [w.exitcode for w in writers] == [0, 0]
    (entry,) = sp.TableCache(tmp_path).entries()
    assert entry.table is not None
    assert [p.name for p in tmp_path.iterdir()] == [entry.path.name]


def test_the_command_lists_and_clears_only_what_the_cache_wrote(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path))
    (tmp_path / "mine.npz").write_bytes(b"kept by hand")
    sp.derive(sp.radial(KERNEL), 3)
    (tmp_path / f".{'0' * 64}.npz.{'1' * 16}.part").write_bytes(b"half")
    assert main(["cache", "list"]) == 0
    assert KERNEL in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "removed 2" in capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir()] == ["mine.npz"]


def test_features_read_what_was_kept(tmp_path, monkeypatch, request):
    from rf import SpectralFeatures
    from rf.spectrum import _table_of

    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path))
    sp.derive(sp.radial(KERNEL), 3)
    request.getfixturevalue("underivable")
    _table_of.cache_clear()
    x = np.random.default_rng(0).normal(size=(20, 3))
    features = SpectralFeatures(
        KERNEL, n_components=16, coupling="iid", random_state=0, mixed_signature="ignore"
    )
    assert features.fit_transform(x).shape == (20, 16)
