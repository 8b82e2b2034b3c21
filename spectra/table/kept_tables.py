"""A cache of tables on disk: a table is derived once for each kernel, dimension and tolerance.

The file of a table is named by its *address*: the SHA-256 of the formula, the dimension, the
tolerance, and the source text of ``spectra``, so that new code never uses old tables.  Damaged
files are not used.  An alias file contains the address of a table of the default tolerance.  Its
name depends on the formula as the user wrote it, so that the table is found without sympy.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from spectra.base.files import atomic_file
from spectra.errors import ParameterError, TableFileError
from spectra.table.spectral_table import SpectralTable

__all__ = ["code_digest", "default_cache", "keep_table", "kept_files", "load_by_alias",
           "load_kept", "remove_kept", "save_alias"]  # fmt: skip

_VARIABLE = "SPECTRA_CACHE"
_OFF = "off"
# Names of the files of tables, of alias files, and of temporary files that a killed process leaves.
_TABLE_FILE = re.compile(r"[0-9a-f]{64}\.npz")
_ALIAS_FILE = re.compile(r"[0-9a-f]{64}\.json")
_TEMPORARY_FILE = re.compile(r"\.[0-9a-f]{64}\.(npz|json)\.[0-9a-f]{16}\.part")


def default_cache() -> Path | None:
    """The folder in the environment variable SPECTRA_CACHE, by default in the user's cache folder.

    None if SPECTRA_CACHE is "off".
    """
    setting = os.environ.get(_VARIABLE, "")
    if setting == _OFF:
        return None
    import platformdirs  # not needed to load saved tables

    folder = Path(setting) if setting else Path(platformdirs.user_cache_dir("kernel-spectra"))
    if folder.exists() and not folder.is_dir():
        raise ParameterError(
            f"{_VARIABLE} is {folder}, which is not a folder. Set it to a folder for derived "
            f"tables, or to {_OFF!r}."
        )
    return folder


def load_kept(folder: Path, address: str, *, formula: str, dim: int) -> SpectralTable | None:
    """The table at an address, or None; warns if the file is damaged or has another table."""
    path = folder / f"{address}.npz"
    try:
        table = SpectralTable.load(path)
        if (table.formula, table.dim) == (formula, dim):
            return table
        reason: object = f"{path} has {table.formula} on R^{table.dim}, not {formula} on R^{dim}."
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (TableFileError, OSError) as error:
        reason = error
    warnings.warn(f"A cached table is derived again: {reason}", stacklevel=3)
    return None


def keep_table(folder: Path, address: str, table: SpectralTable) -> None:
    """Save a table at an address, or warn if the folder cannot be written.

    Several processes may do this at once: none reads a partial file, and tables of one address
    are equal.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.save(folder / f"{address}.npz")
    except OSError as error:
        warnings.warn(
            f"A derived table could not be kept in {folder} ({error}). Set {_VARIABLE} to another "
            f"folder, or to {_OFF!r}.",
            stacklevel=3,
        )


def save_alias(folder: Path, text: str, table: SpectralTable, address: str) -> None:
    """Save the address of the table of a formula's text, unless the table is one on the sphere."""
    path = _alias_path(folder, text, table.dim)
    if table.sphere or path.exists() or not (folder / f"{address}.npz").exists():
        return
    entry = json.dumps([text, table.dim, address, table.formula])
    with suppress(OSError), atomic_file(path) as file:
        file.write(entry.encode())


def load_by_alias(folder: Path, text: str, dim: int) -> SpectralTable | None:
    """The kept table of a formula's text with the default tolerance, or None."""
    try:
        *key, address, formula = json.loads(_alias_path(folder, text, dim).read_bytes())
    except (OSError, ValueError, TypeError):
        return None
    valid = key == [text, dim] and _TABLE_FILE.fullmatch(f"{address}.npz")
    return load_kept(folder, address, formula=formula, dim=dim) if valid else None


def _alias_path(folder: Path, text: str, dim: int) -> Path:
    """The alias file of a formula's text."""
    key = json.dumps([text, dim, code_digest()])
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def kept_files(folder: Path) -> list[Path]:
    """The files of kept tables, sorted by name."""
    return _find_files(folder, _TABLE_FILE)


def remove_kept(folder: Path) -> int:
    """Remove all files that the cache wrote, temporary ones included; returns their number."""
    files = [f for p in (_TABLE_FILE, _ALIAS_FILE, _TEMPORARY_FILE) for f in _find_files(folder, p)]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _find_files(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Files in a folder, which may not exist, with names of a pattern, sorted."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted(p for p in paths if pattern.fullmatch(p.name))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """SHA-256 of the source files of spectra."""
    return _digest(Path(__file__).parents[1])


def _digest(root: Path) -> str:
    """SHA-256 of the names and the text of the Python files in a folder."""
    sha = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha.update(path.relative_to(root).as_posix().encode() + b"\0")
        sha.update(path.read_bytes() + b"\0")
    return sha.hexdigest()
