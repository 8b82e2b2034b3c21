"""Derived tables on disk: the same kernel, dimension and tolerance are derived once.

An entry is named by the SHA-256 of all inputs: the exact formula, the dimension, the
tolerance, and the source text of this package, so that no entry outlives the code that made it.
Entries are ordinary table files with their own digest: one that is damaged or belongs
elsewhere is never used.  An alias file maps the text of a formula to its table, which is then
found without sympy.
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

__all__ = [
    "code_digest",
    "default_cache",
    "keep_table",
    "kept_files",
    "load_by_alias",
    "load_kept",
    "remove_kept",
    "save_alias",
]

_VARIABLE = "SPECTRA_CACHE"
_OFF = "off"
_ENTRY = re.compile(r"[0-9a-f]{64}\.npz")
# Names of the temporary files that an interrupted atomic_file leaves behind.
_REMAINDER = re.compile(r"\.[0-9a-f]{64}\.(npz|json)\.[0-9a-f]{16}\.part")
_ALIAS = re.compile(r"[0-9a-f]{64}\.json")


def default_cache() -> Path | None:
    """The folder that the environment variable SPECTRA_CACHE names, or the user's.

    None if SPECTRA_CACHE is "off".
    """
    named = os.environ.get(_VARIABLE, "")
    if named == _OFF:
        return None
    import platformdirs  # loaded where it is needed: saved tables load without it

    folder = Path(named) if named else Path(platformdirs.user_cache_dir("kernel-spectra"))
    if folder.exists() and not folder.is_dir():
        raise ParameterError(
            f"{_VARIABLE} names {folder}, which is not a folder. Name a folder for derived tables, "
            f"or {_OFF!r}."
        )
    return folder


def load_kept(folder: Path, address: str, *, formula: str, dim: int) -> SpectralTable | None:
    """The table kept at an address, or None; warns of a damaged file or another table."""
    path = folder / f"{address}.npz"
    try:
        table = SpectralTable.load(path)
        if (table.formula, table.dim) == (formula, dim):
            return table
        fault: object = f"{path} holds {table.formula} on R^{table.dim}, not {formula} on R^{dim}."
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (TableFileError, OSError) as damage:
        fault = damage
    warnings.warn(f"A cached table is derived again: {fault}", stacklevel=3)
    return None


def keep_table(folder: Path, address: str, table: SpectralTable) -> None:
    """Keep a table in a folder, which is made when the first one is kept.

    Two processes may write at once: a file appears whole or not at all, and equal addresses hold
    equal tables.  Warns if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.save(folder / f"{address}.npz")
    except OSError as fault:
        warnings.warn(
            f"A derived table could not be kept in {folder} ({fault}). Name another "
            f"folder in {_VARIABLE}, or set it to {_OFF!r}.",
            stacklevel=3,
        )


def save_alias(folder: Path, text: str, table: SpectralTable, address: str) -> None:
    """Save the table's address under a text, unless it is saved already; not on the sphere."""
    path = _alias_path(folder, text, table.dim)
    if table.sphere or path.exists() or not (folder / f"{address}.npz").exists():
        return
    entry = json.dumps([text, table.dim, address, table.formula])
    with suppress(OSError), atomic_file(path) as file:
        file.write(entry.encode())


def load_by_alias(folder: Path, text: str, dim: int) -> SpectralTable | None:
    """The kept table of a formula's text, or None."""
    try:
        *key, address, formula = json.loads(_alias_path(folder, text, dim).read_bytes())
    except (OSError, ValueError, TypeError):
        return None
    valid = key == [text, dim] and _ENTRY.fullmatch(f"{address}.npz")
    return load_kept(folder, address, formula=formula, dim=dim) if valid else None


def _alias_path(folder: Path, text: str, dim: int) -> Path:
    key = json.dumps([text, dim, code_digest()])
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def kept_files(folder: Path) -> list[Path]:
    """The files of kept tables, by name."""
    return _files(folder, _ENTRY)


def remove_kept(folder: Path) -> int:
    """Remove the files that the cache wrote, remainders of killed writes too; count them."""
    files = [f for kind in (_ENTRY, _ALIAS, _REMAINDER) for f in _files(folder, kind)]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _files(folder: Path, name: re.Pattern[str]) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(p for p in found if name.fullmatch(p.name))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of the source of spectra."""
    return _digest(Path(__file__).parents[1])


def _digest(root: Path) -> str:
    """Digest of the names and the text of the sources in a folder."""
    sha = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha.update(path.relative_to(root).as_posix().encode() + b"\0")
        sha.update(path.read_bytes() + b"\0")
    return sha.hexdigest()
