"""One .npz file for tables of all kinds: a header and arrays, with a digest of both.

The file is an ordinary ``.npz`` which ``numpy.load(..., allow_pickle=False)`` reads.  Its member
``header`` is JSON text as bytes, with the numbers of the table and of its parts.  The other members
are the arrays of the radial laws, little-endian doubles and small integers, each law once; parts
name their laws by number.  ``sha256`` is the digest of the header and of the name, type, shape and
bytes of every array.  Reading never runs code from the file.
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
from spectra.errors import TableFileError
from spectra.table.l1_part import L1Part
from spectra.table.parts import PHASES, Group, Part, ProductPart, Shifts
from spectra.table.radial.panels import Panels
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.tails.wave_sum import WaveSum
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["Arrays", "decode_table", "encode_table", "read_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]
Table = TypeVar("Table")

#: What every header begins with.
_HEAD = {
    "format": "spectra.SpectralTable",
    "version": 6,
    "convention": "k(D) = sum over parts of mass * E cos(w.D + phase)",
}
_NUMBERS = ("k_zero", "u_error", "bias")
# What reading a damaged archive raises: also for an unknown method of compression, a member that is
# marked as encrypted, an offset outside the file, and a size that no memory holds.
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError),
    *(ValueError, OverflowError, KeyError, MemoryError),
)
_REMEDY = "Make the table again with spectra.derive, or fetch a fresh copy of the file."


def write_arrays(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to ``path`` in one step: a reader sees the old file or the new one.

    The header holds finite JSON numbers, texts, lists and dicts; arrays are doubles and 8-bit
    integers.
    """
    text = json.dumps(header, allow_nan=False, sort_keys=True).encode()
    stored: Arrays = {"header": np.frombuffer(text, np.uint8)}
    for name, array in arrays.items():
        stored[name] = np.asarray(array, "<f8" if array.dtype.kind == "f" else "|i1", order="C")
    stored["sha256"] = np.frombuffer(_digest(stored), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **stored)
    with atomic_file(path) as file:
        file.write(buffer.getvalue())


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file written by :func:`write_arrays`.

    A TableFileError if the file is not such a file, is truncated, or was changed.
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
    except _DAMAGES as fault:
        raise TableFileError(
            f"{os.fspath(path)} is not a spectral table, or it is damaged: {fault}. {_REMEDY}"
        ) from fault
    return header, members


def _digest(arrays: Arrays) -> bytes:
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(json.dumps([name, array.dtype.str, array.shape]).encode() + b"\n")
        sha.update(array.tobytes())
    return sha.digest()


def encode_table(table: Any) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a table, as :func:`decode_table` reads them."""
    parts: tuple[Any, ...] = table.parts
    arrays: Arrays = {}
    groups = list(dict.fromkeys(g for p in parts for g in getattr(p, "groups", ())))
    laws = list(dict.fromkeys(holder.law for holder in (*parts, *groups) if hasattr(holder, "law")))
    number = {held: i for held_in in (laws, groups) for i, held in enumerate(held_in)}
    header = _HEAD | {name: float(getattr(table, name)) for name in _NUMBERS}
    header |= {
        "dim": table.dim,
        "formula": table.formula,
        "provenance": table.provenance,
        "domain": None if np.isinf(table.domain) else float(table.domain),
        "sphere": bool(table.sphere),
        "laws": [_entry_of_law(law, arrays, f"law{i}") for i, law in enumerate(laws)],
        "groups": [
            {"law": number[g.law], "columns": list(g.columns), "lengths": g.lengths.tolist()}
            for g in groups
        ],
        "parts": [_entry_of_part(p, number) for p in parts],
    }
    return header, arrays


def decode_table(
    make: Callable[..., Table], header: dict[str, Any], arrays: Arrays, path: str
) -> Table:
    """The table that ``make`` makes of :func:`encode_table`; ``path`` names it in errors."""
    found = {name: header.get(name) for name in _HEAD}
    if found != _HEAD:
        raise TableFileError(
            f"{path} is a file of format {found['format']!r}, version {found['version']} and "
            f"convention {found['convention']!r}. Expected is {_HEAD['format']!r} of version "
            f"{_HEAD['version']}. {_REMEDY}"
        )
    try:
        laws = [_law_from(entry, arrays, f"law{i}") for i, entry in enumerate(header["laws"])]
        groups = [
            Group(laws[g["law"]], tuple(g["columns"]), g["lengths"]) for g in header["groups"]
        ]
        if arrays:
            raise ValueError(f"it holds arrays that belong to no part: {sorted(arrays)}")
        domain = header["domain"]
        return make(
            dim=header["dim"],
            formula=str(header["formula"]),
            provenance=str(header["provenance"]),
            domain=np.inf if domain is None else float(domain),
            sphere=bool(header["sphere"]),
            parts=tuple(_part_from(entry, laws, groups) for entry in header["parts"]),
            **{name: float(header[name]) for name in _NUMBERS},
        )
    except (IndexError, KeyError, TypeError, ValueError) as fault:
        raise TableFileError(
            f"{path} does not hold a valid spectral table: {fault}. {_REMEDY}"
        ) from fault


def _entry_of_part(part: Part | ProductPart | L1Part, number: dict[Any, int]) -> dict[str, Any]:
    """The numbers of a part, with those of its law or groups."""
    entry: dict[str, Any] = {
        "mass": float(part.mass),
        "mass_error": float(part.mass_error),
        "sign": int(part.sign),
    }
    if isinstance(part, L1Part):
        return entry | {"scale": float(part.scale), "side": int(part.side)}
    if isinstance(part, ProductPart):
        return entry | {"groups": [number[g] for g in part.groups]}
    shifts = part.shifts and {
        "axis": part.shifts.axis.tolist(),
        "unit": float(part.shifts.unit),
        "steps": part.shifts.steps.tolist(),
        "weights": part.shifts.weights.tolist(),
    }
    return entry | {
        "law": number[part.law],
        "deviation": float(part.deviation),
        "shifts": shifts,
    }


def _part_from(entry: dict[str, Any], laws: list[RadialLaw], groups: list[Group]) -> Any:
    """The part of an entry."""
    mass = float(entry["mass"]), float(entry["mass_error"]), PHASES[entry["sign"]]
    if "scale" in entry:
        return L1Part(*mass, float(entry["scale"]), int(entry["side"]))
    if "groups" in entry:
        return ProductPart(*mass, tuple(groups[i] for i in entry["groups"]))
    shifts = entry["shifts"] and Shifts(**entry["shifts"])
    return Part(*mass, laws[entry["law"]], shifts, float(entry["deviation"]))


def _entry_of_law(law: RadialLaw, arrays: Arrays, name: str) -> dict[str, Any] | None:
    """The numbers of the tail of a law; its arrays go to ``arrays``."""
    arrays[f"{name}.charts"], arrays[f"{name}.series"] = law.panels.charts, law.panels.series
    if law.tail is None:
        return None
    waves = law.tail.density.waves
    series = np.concatenate([c for _, _, c in waves])
    arrays[f"{name}.tail.waves"] = np.array([[b, a] for b, a, _ in waves])
    arrays[f"{name}.tail.series"] = np.stack([series.real, series.imag], axis=1)
    return {"start": law.tail.start, "terms": [c.size for _, _, c in waves]}


def _law_from(entry: dict[str, Any] | None, arrays: Arrays, name: str) -> RadialLaw:
    """The law of an entry; the arrays that it uses are taken out of the dict."""
    panels = Panels(arrays.pop(f"{name}.charts"), arrays.pop(f"{name}.series"))
    if entry is None:
        return RadialLaw(panels)
    places, numbers = arrays.pop(f"{name}.tail.waves"), arrays.pop(f"{name}.tail.series")
    series = np.split(numbers[:, 0] + 1j * numbers[:, 1], np.cumsum(entry["terms"])[:-1])
    waves = ((float(b), float(a), c) for (b, a), c in zip(places, series, strict=True))
    return RadialLaw(panels, WaveTail(WaveSum(float(entry["start"]), tuple(waves))))
