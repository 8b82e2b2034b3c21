"""A table as a header and arrays, and back: version 3 of the file, with a reader of older ones.

Version 2 has radial parts alone.  Asymmetric kernels had files of a format of their own, a list of
radial tables, each with its shifts; what it said of draws belongs to who draws, and is passed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spectra.table.part import Part
from spectra.table.parted_table import PartedTable
from spectra.table.radial.panels import Panels
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.shifts import Shifts
from spectra.table.table_file import Arrays
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.mixed_tail import MixedTail

__all__ = ["ASYMMETRIC", "fields_from", "fields_of"]

#: Format and version of the older files of asymmetric kernels.
ASYMMETRIC = ("spectra.AsymmetricTable", 1)
_NUMBERS = ("k_zero", "u_error", "bias")
_PHASES = {"0": 0.0, "pi": float(np.pi)}
_SIDES = ("left", "right")
_PANEL_ARRAYS = ("edges", "coefficients", "kinds", "exponents")
_TAIL_NUMBERS = ("kappa", "period", "sigma")
_TAIL_CHOICES = ("root", "zeros")
_TAIL_ARRAYS = ("mass_series", "radius_series")


def fields_of(table: PartedTable, provenance: str) -> tuple[dict[str, Any], Arrays]:
    """What a header holds of a table, and its arrays, as :func:`fields_from` reads them."""
    arrays: Arrays = {}
    header = {name: float(getattr(table, name)) for name in _NUMBERS} | {
        "domain": None if np.isinf(table.domain) else float(table.domain),
        "sphere": bool(table.sphere),
        "provenance": provenance,
        "parts": [_entry(p, arrays, f"part{i}") for i, p in enumerate(table.parts)],
    }
    return header, arrays


def fields_from(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The parameters of a table; the arrays of its parts are taken out of the dict."""
    if "summands" in header:
        header = _renewed(header, arrays)
    domain = header["domain"]
    return {name: float(header[name]) for name in _NUMBERS} | {
        "dim": header["dim"],
        "formula": str(header["formula"]),
        "domain": np.inf if domain is None else float(domain),
        "sphere": bool(header["sphere"]),
        "provenance": str(header["provenance"]),
        "parts": tuple(_part(p, arrays, f"part{i}") for i, p in enumerate(header["parts"])),
    }


def _renewed(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Version 3 of an older file: the parts of all its radial tables, each under its shifts."""
    parts: list[dict[str, Any]] = []
    error = bias = 0.0
    for i, summand in enumerate(header["summands"]):
        radial, shifts = summand["table"], {name: summand[name] for name in ("unit", "steps")}
        axis, weights = (arrays.pop(f"summand{i}.{name}") for name in ("axis", "weights"))
        for j, entry in enumerate(radial["parts"]):
            old, new = f"summand{i}.part{j}.", f"part{len(parts)}."
            for name in [n for n in arrays if n.startswith(old)]:
                arrays[new + name.removeprefix(old)] = arrays.pop(name)
            arrays[f"{new}axis"], arrays[f"{new}weights"] = axis, weights
            parts.append(entry | {"shifts": shifts, "deviation": summand["gaussian"]})
        error = max(error, float(radial["u_error"]))
        bias += float(radial["bias"]) * float(np.abs(weights).sum())
    return header | {
        "parts": parts,
        "u_error": error,
        "bias": bias,
        "domain": None,
        "sphere": False,
    }


def _entry(part: Part, arrays: Arrays, name: str) -> dict[str, Any]:
    """Numbers of a part for the header; its arrays go to ``arrays``."""
    shifts = part.shifts
    if shifts is not None:
        arrays[f"{name}.axis"], arrays[f"{name}.weights"] = shifts.axis, shifts.weights
    return {
        "mass": part.mass,
        "mass_error": part.mass_error,
        "phase": "0" if part.phase == 0.0 else "pi",
        "deviation": part.deviation,
        "shifts": shifts and {"unit": shifts.unit, "steps": shifts.steps.tolist()},
        "tail": _law_members(part.law, arrays, name),
    }


def _part(entry: dict[str, Any], arrays: Arrays, name: str) -> Part:
    """The part of an entry; the arrays that it uses are taken out of the dict."""
    own, shifts = entry.get("shifts"), None
    if own is not None:
        axis, weights = (arrays.pop(f"{name}.{array}") for array in ("axis", "weights"))
        shifts = Shifts(axis, float(own["unit"]), np.array(own["steps"], dtype=np.intp), weights)
    return Part(
        mass=float(entry["mass"]),
        mass_error=float(entry["mass_error"]),
        phase=_PHASES[entry["phase"]],
        law=_law_of(entry["tail"], arrays, name),
        shifts=shifts,
        deviation=float(entry.get("deviation", 0.0)),
    )


def _law_members(law: RadialLaw, arrays: Arrays, name: str) -> dict[str, Any] | None:
    """What the header holds of the tail, None without one; the arrays go to ``arrays``."""
    for side in _SIDES:
        for array in _PANEL_ARRAYS:
            arrays[f"{name}.{side}.{array}"] = getattr(getattr(law, side), array)
    tail = law.tail
    if tail is None:
        return None
    if isinstance(tail, LobedTail):
        return _tail_members(tail, arrays, f"{name}.tail")
    members = [_tail_members(m, arrays, f"{name}.tail{j}") for j, m in enumerate(tail.members)]
    return {"start": tail.start, "members": members}


def _law_of(entry: dict[str, Any] | None, arrays: Arrays, name: str) -> RadialLaw:
    """The law of :func:`_law_members`; its arrays are taken out of the dict."""
    left, right = (
        Panels(*(arrays.pop(f"{name}.{side}.{array}") for array in _PANEL_ARRAYS))
        for side in _SIDES
    )
    if entry is None:
        return RadialLaw(left, right, None)
    if "members" not in entry:
        return RadialLaw(left, right, _tail_of(entry, arrays, f"{name}.tail"))
    members = tuple(
        _tail_of(one, arrays, f"{name}.tail{j}") for j, one in enumerate(entry["members"])
    )
    return RadialLaw(left, right, MixedTail(float(entry["start"]), members))


def _tail_members(tail: LobedTail, arrays: Arrays, name: str) -> dict[str, float | int]:
    for series in _TAIL_ARRAYS:
        arrays[f"{name}.{series}"] = getattr(tail, series)
    return {number: getattr(tail, number) for number in (*_TAIL_NUMBERS, *_TAIL_CHOICES)}


def _tail_of(entry: dict[str, Any], arrays: Arrays, name: str) -> LobedTail:
    kappa, period, sigma = (float(entry[number]) for number in _TAIL_NUMBERS)
    masses, radii = (arrays.pop(f"{name}.{series}") for series in _TAIL_ARRAYS)
    root, zeros = (int(entry[number]) for number in _TAIL_CHOICES)
    return LobedTail(kappa, period, sigma, masses, radii, root, zeros)
