"""Derived tables on disk: the same kernel, dimension and tolerance are derived once.

An entry is named by the SHA-256 of all that decides it: the exact formula, the dimension, the
tolerance, and the source text of this package, so that no entry outlives the code that made it.
Entries are ordinary table files: they carry their own digest, and one that is damaged or belongs
elsewhere is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from functools import lru_cache
from pathlib import Path

import platformdirs
import sympy

from spectra.errors import FormulaError, ParameterError, TableFileError
from spectra.formula.reader.parsing import parse_formula
from spectra.kernels.kernel import Kernel
from spectra.table import SpectralTable

__all__ = [
    "address_of",
    "default_cache",
    "keep_table",
    "kept_files",
    "load_kept",
    "remove_kept",
]

_VARIABLE = "SPECTRA_CACHE"
_OFF = "off"
_ENTRY = re.compile(r"[0-9a-f]{64}\.npz")
# What a killed write leaves behind, as whole_file names it.
_REMAINDER = re.compile(r"\.[0-9a-f]{64}\.npz\.[0-9a-f]{16}\.part")


def default_cache() -> Path | None:
    """The folder that the environment variable SPECTRA_CACHE names, or the user's.

    None if SPECTRA_CACHE is "off".
    """
    named = os.environ.get(_VARIABLE, "")
    if named == _OFF:
        return None
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


def kept_files(folder: Path) -> list[Path]:
    """The files of kept tables, by name."""
    return _files(folder, _ENTRY)


def remove_kept(folder: Path) -> int:
    """Remove the files that the cache wrote, remainders of killed writes too; count them."""
    files = [*kept_files(folder), *_files(folder, _REMAINDER)]
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def _files(folder: Path, name: re.Pattern[str]) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(p for p in found if name.fullmatch(p.name))


def address_of(kernel: Kernel, dim: int, *, u_error: float | None) -> str | None:
    """Name of the table of a kernel: the SHA-256 of all that decides it; None for a callable."""
    try:
        pieces = [
            [sympy.srepr(p.support), sympy.srepr(parse_formula(p.expr, variable="z"))]
            for p in kernel.pieces
        ]
    except FormulaError:
        return None
    decides = {
        "kernel": pieces,
        "zonal": None if kernel.zonal is None else sympy.srepr(kernel.zonal),
        "printed": str(kernel),
        "dim": dim,
        "u_error": None if u_error is None else float(u_error).hex(),
        "code": _code(),
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """Digest of the source of spectra."""
    return _digest(Path(__file__).parents[1])


def _digest(root: Path) -> str:
    """Digest of the names and the text of the sources in a folder."""
    sha = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        sha.update(path.relative_to(root).as_posix().encode() + b"\0")
        sha.update(path.read_bytes() + b"\0")
    return sha.hexdigest()
