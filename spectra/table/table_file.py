"""The file format of tables of all kinds: a header, arrays, and a digest of both in one .npz file.

``numpy.load(..., allow_pickle=False)`` reads the file.  Its member ``header`` is JSON text as
bytes, with the numbers of the table and of its parts.  The member ``sha256`` is the digest of the
name, type, shape and bytes of all others: the header and the arrays of the radial distributions
("laws"), little-endian doubles.  Laws and groups that parts share are stored once, and parts refer
to them by index.  Reading never runs code from the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectra.base.files import atomic_file
from spectra.base.piecewise import Piecewise
from spectra.errors import TableFileError
from spectra.table.parts import PHASES, Group, Part, Shifts
from spectra.table.radial_law import RadialLaw
from spectra.table.wave_tail import WaveSum, WaveTail

__all__ = ["Arrays", "decode_table", "encode_table", "read_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]
Table = TypeVar("Table")

# Entries of every header.
_FORMAT = {
    "format": "spectra.SpectralTable",
    "version": 7,
    "convention": "k(D) = sum over parts of mass * E cos(w.D + phase)",
}
_NUMBERS, _SHIFTS = ("k_zero", "u_error", "bias"), ("offsets", "weights")
# Errors from reading a damaged archive, with such damages as an unknown method of compression, a
# member marked as encrypted, an offset outside the file, or a size larger than the memory.
_DAMAGE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError),
    *(ValueError, OverflowError, KeyError, MemoryError),
)
_REMEDY = "Make the table again with spectra.derive, or get a new copy of the file."


def write_arrays(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to ``path``, which other processes see unchanged or complete.

    The header has finite numbers, texts, lists and dicts; arrays are doubles and 8-bit integers.
    """
    text = json.dumps(header, allow_nan=False, sort_keys=True).encode()
    stored: Arrays = {"header": np.frombuffer(text, np.uint8)}
    for name, array in arrays.items():
        dtype = "<f8" if np.issubdtype(array.dtype, np.floating) else "|i1"
        stored[name] = np.asarray(array, dtype, order="C")
    stored["sha256"] = np.frombuffer(_digest(stored), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **stored)
    with atomic_file(path) as file:
        file.write(buffer.getvalue())


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file written by :func:`write_arrays`.

    Raises a TableFileError if the file has another format, is truncated, or was changed.
    """
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if (bad := archive.testzip()) is not None:
                raise ValueError(f"the checksum of the member {bad!r} is wrong")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            members: Arrays = {name: np.asarray(file[name]) for name in file.files}
        if members.pop("sha256").tobytes() != _digest(members):
            raise ValueError("it was changed after it was saved, as its SHA-256 does not fit")
        header = dict(json.loads(members.pop("header").tobytes()))
    except _DAMAGE_ERRORS as error:
        raise TableFileError(
            f"{os.fspath(path)} is not a spectral table, or it is damaged: {error}. {_REMEDY}"
        ) from error
    return header, members


def _digest(arrays: Arrays) -> bytes:
    """SHA-256 of the names, types, shapes and bytes of arrays."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(json.dumps([name, array.dtype.str, array.shape]).encode() + b"\n")
        sha.update(array.tobytes())
    return sha.digest()


def encode_table(table: Any) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays from which :func:`decode_table` makes the table again."""
    parts: tuple[Any, ...] = table.parts
    arrays: Arrays = {}
    # The keys of a dict are distinct and keep their order.
    groups = list(dict.fromkeys(g for p in parts for g in p.groups))
    laws = list(dict.fromkeys(g.law for g in groups))
    index = {shared: i for some in (laws, groups) for i, shared in enumerate(some)}
    header = _FORMAT | {name: float(getattr(table, name)) for name in _NUMBERS}
    header |= {
        "dim": table.dim,
        "formula": table.formula,
        "provenance": table.provenance,
        "domain": None if np.isinf(table.domain) else float(table.domain),
        "sphere": bool(table.sphere),
        "laws": [_encode_law(law, arrays, f"law{i}") for i, law in enumerate(laws)],
        "groups": [
            {
                "law": index[g.law],
                "columns": g.columns and list(g.columns),
                "lengths": g.lengths.tolist(),
                "deviation": float(g.deviation),
            }
            for g in groups
        ],
        "parts": [
            {
                "mass": float(p.mass),
                "mass_error": float(p.mass_error),
                "sign": int(p.sign),
                "groups": [index[g] for g in p.groups],
                "shifts": p.shifts and {name: getattr(p.shifts, name).tolist() for name in _SHIFTS},
            }
            for p in parts
        ],
    }
    return header, arrays


def decode_table(
    make: Callable[..., Table], header: dict[str, Any], arrays: Arrays, path: str
) -> Table:
    """The table of a header and arrays; ``make`` is its class, and ``path`` is for messages."""
    found = {name: header.get(name) for name in _FORMAT}
    if found != _FORMAT:
        raise TableFileError(
            f"{path} is a file of format {found['format']!r}, version {found['version']} and "
            f"convention {found['convention']!r}. Expected is {_FORMAT['format']!r} of version "
            f"{_FORMAT['version']}. {_REMEDY}"
        )
    try:
        laws = [_decode_law(entry, arrays, f"law{i}") for i, entry in enumerate(header["laws"])]
        groups = [
            Group(laws[g["law"]], g["columns"] and tuple(g["columns"]), g["lengths"],
                  float(g["deviation"]))
            for g in header["groups"]
        ]  # fmt: skip
        if arrays:
            raise ValueError(f"it holds arrays that belong to no part: {sorted(arrays)}")
        domain = header["domain"]
        return make(
            dim=header["dim"],
            formula=str(header["formula"]),
            provenance=str(header["provenance"]),
            domain=np.inf if domain is None else float(domain),
            sphere=bool(header["sphere"]),
            parts=tuple(
                Part(
                    float(p["mass"]),
                    float(p["mass_error"]),
                    PHASES[p["sign"]],
                    tuple(groups[i] for i in p["groups"]),
                    p["shifts"] and Shifts(**p["shifts"]),
                )
                for p in header["parts"]
            ),
            **{name: float(header[name]) for name in _NUMBERS},
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise TableFileError(
            f"{path} does not hold a valid spectral table: {error}. {_REMEDY}"
        ) from error


def _encode_law(law: RadialLaw, arrays: Arrays, name: str) -> dict[str, Any] | None:
    """Add the arrays of a law to ``arrays``; returns an entry for its tail, if it has one."""
    arrays[f"{name}.charts"], arrays[f"{name}.series"] = law.panels.charts, law.panels.series
    if law.tail is None:
        return None
    waves = law.tail.density.waves
    series = np.concatenate([c for _, _, c in waves])
    arrays[f"{name}.tail.waves"] = np.array([[frequency, power] for frequency, power, _ in waves])
    arrays[f"{name}.tail.series"] = np.stack([series.real, series.imag], axis=1)
    return {"start": law.tail.start, "terms": [c.size for _, _, c in waves]}


def _decode_law(entry: dict[str, Any] | None, arrays: Arrays, name: str) -> Any:
    """The law with this name and the entry of its tail; removes its arrays from ``arrays``."""
    panels = Piecewise(arrays.pop(f"{name}.charts"), arrays.pop(f"{name}.series"))
    if entry is None:
        return RadialLaw(panels)
    pairs, numbers = arrays.pop(f"{name}.tail.waves"), arrays.pop(f"{name}.tail.series")
    series = np.split(numbers[:, 0] + 1j * numbers[:, 1], np.cumsum(entry["terms"])[:-1])
    waves = ((float(b), float(a), c) for (b, a), c in zip(pairs, series, strict=True))
    return RadialLaw(panels, WaveTail(WaveSum(float(entry["start"]), tuple(waves))))
