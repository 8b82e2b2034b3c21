"""Cached tables are read back bit for bit; damaged and foreign entries are derived again."""

import multiprocessing
import os
import shutil

import pytest

import spectra as sp
from spectra.cli.commands import main
from spectra.derivation import kernel_to_table
from spectra.derivation.kernel_to_table import address_of
from spectra.errors import ParameterError
from spectra.table import kept_tables
from spectra.table.kept_tables import (
    default_cache,
    keep_table,
    kept_files,
    load_by_alias,
    load_kept,
    remove_kept,
)
from spectra.table.table_file import encode_table

KERNEL = "exp(-z**2/2) - exp(-z**2/8)/2"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "tables"


@pytest.fixture
def underivable(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the table was derived again")

    monkeypatch.setattr("spectra.derivation.kernel_to_table.tabulate", refuse)


def bits(table):
    header, arrays = encode_table(table)
    return header, {name: array.tobytes() for name, array in arrays.items()}


def test_cached_tables_are_not_derived_again(cache, request):
    sp.derive(sp.radial(KERNEL), 3, cache=cache)
    request.getfixturevalue("underivable")
    sp.derive(sp.radial(KERNEL), 3, cache=cache)
    with pytest.raises(AssertionError, match="derived again"):
        sp.derive(sp.radial(KERNEL), 4, cache=cache)


@pytest.mark.parametrize(
    ("named", "kernel"),
    [
        ("matern(nu=5/2)", sp.catalogue["matern"](nu=2.5)),
        (sp.catalogue["matern"], sp.catalogue["matern"]()),
    ],
)
def test_whatever_names_a_kernel_is_derived_once(cache, request, named, kernel):
    derived = sp.derive(named, dim=3, cache=cache)
    assert bits(derived) == bits(sp.derive(kernel, 3, cache=False))
    request.getfixturevalue("underivable")
    assert bits(sp.derive(kernel, 3, cache=cache)) == bits(derived)


def test_the_command_derives_once(monkeypatch, tmp_path, request, capsys):
    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path / "tables"))
    assert main(["derive", KERNEL, "--dim", "3", "--out", str(tmp_path / "a.npz")]) == 0
    request.getfixturevalue("underivable")
    assert main(["derive", KERNEL, "--dim", "3", "--out", str(tmp_path / "b.npz")]) == 0
    first, second = (sp.SpectralTable.load(tmp_path / f"{name}.npz") for name in "ab")
    assert bits(first) == bits(second)


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


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign"])
def test_a_damaged_entry_is_derived_again_and_replaced(cache, harm):
    k = sp.radial(KERNEL)
    derived = sp.derive(k, 3, cache=cache)
    (path,) = kept_files(cache)
    content = bytearray(path.read_bytes())
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "flipped":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        sp.derive(sp.radial("exp(-z**2)"), 2, cache=False).save(path)
    with pytest.warns(UserWarning, match="derived again"):
        again = sp.derive(k, 3, cache=cache)
    assert bits(again) == bits(derived)
    assert bits(sp.derive(k, 3, cache=cache)) == bits(derived)


def test_a_folder_that_cannot_be_written_only_prevents_caching(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    blocked = tmp_path / "file" / "tables"
    with pytest.warns(UserWarning, match="could not be kept"):
        table = sp.derive(sp.radial("exp(-z**2)"), 2, cache=blocked)
    assert table.mass == pytest.approx(1.0)
    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path / "file"))
    with pytest.raises(ParameterError, match="not a folder"):
        default_cache()


def test_the_version_of_the_code_is_in_the_address(tmp_path, monkeypatch):
    """Any change of any source: its text, its name, its place."""
    package, digests = tmp_path / "package", []
    for name, text in (
        ("a.py", "x = 1"),
        ("a.py", "x = 2"),
        ("b.py", "x = 2"),
        ("c/b.py", "x = 2"),
    ):
        shutil.rmtree(package, ignore_errors=True)
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text(text)
        digests.append(kept_tables._digest(package))
    assert len(set(digests)) == 4
    k, before = sp.radial(KERNEL), address_of(sp.radial(KERNEL), 3, u_error=None)
    monkeypatch.setattr(kernel_to_table, "code_digest", lambda: digests[0])
    assert address_of(k, 3, u_error=None) != before


def test_a_text_names_its_table(cache, monkeypatch):
    derived = sp.derive(KERNEL, 3, cache=cache)
    assert bits(load_by_alias(cache, KERNEL, 3)) == bits(derived)
    assert load_by_alias(cache, KERNEL, 2) is None
    (alias,) = cache.glob("*.json")
    content = alias.read_text()
    for other in (content[:-9], content.replace("/8", "/9"), "[]", "7"):
        alias.write_text(other)
        assert load_by_alias(cache, KERNEL, 3) is None
    alias.write_text(content)
    with monkeypatch.context() as patched:
        patched.setattr(kept_tables, "code_digest", lambda: "of other code")
        assert load_by_alias(cache, KERNEL, 3) is None
    assert remove_kept(cache) == 2
    assert load_by_alias(cache, KERNEL, 3) is None


def _write_again_and_again(folder, address, times, started):
    table = sp.SpectralTable.load(folder.with_suffix(".npz"))
    started.wait()
    for _ in range(times):
        keep_table(folder, address, table)


@pytest.mark.slow
def test_concurrent_writers_leave_whole_entries(tmp_path):
    """Two processes write one entry over and over; a third reads it: nothing, or all of it."""
    folder, k = tmp_path / "tables", sp.radial(KERNEL)
    derived = sp.derive(k, 3, cache=False)
    derived.save(folder.with_suffix(".npz"))
    address = address_of(k, 3, u_error=None)
    context = multiprocessing.get_context("spawn")
    started = context.Barrier(3)
    writers = [
        context.Process(target=_write_again_and_again, args=(folder, address, 60, started))
        for _ in range(2)
    ]
    for writer in writers:
        writer.start()
    seen = []
    started.wait(240)
    # A damaged entry would warn, which is an error here.
    while any(writer.is_alive() for writer in writers):
        seen.append(load_kept(folder, address, formula=derived.formula, dim=3))
    assert [w.exitcode for w in writers] == [0, 0]
    assert bits(load_kept(folder, address, formula=derived.formula, dim=3)) == bits(derived)
    assert all(table is None or bits(table) == bits(derived) for table in seen)
    assert [p.name for p in folder.iterdir()] == [f"{address}.npz"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_write_leaves_nothing(cache, monkeypatch, step):
    """Ctrl-C while a table is written, and just before it would take its place."""
    k = sp.radial(KERNEL)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            sp.derive(k, 3, cache=cache)
    assert list(cache.iterdir()) == []
    assert bits(sp.derive(k, 3, cache=cache)) == bits(sp.derive(k, 3, cache=False))


def test_the_list_names_what_is_damaged(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPECTRA_CACHE", str(tmp_path))
    sp.derive(sp.radial(KERNEL), 3)
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    assert main(["cache", "list"]) == 0
    assert "damaged: it will be derived again" in capsys.readouterr().out
    monkeypatch.setenv("SPECTRA_CACHE", "off")
    assert main(["cache", "list"]) == 0
    assert "no tables are kept" in capsys.readouterr().out


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
