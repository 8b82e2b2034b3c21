"""A table as a header and arrays, and back: version 4 of the file."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectra.table.part import Part
from spectra.table.parted_table import PartedTable
from spectra.table.radial.panels import Panels
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.shifts import Shifts
from spectra.table.table_file import Arrays
from spectra.table.tails.wave_sum import Wave, WaveSum
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["fields_from", "fields_of"]

_NUMBERS = ("k_zero", "u_error", "bias")
_PHASES = {"0": 0.0, "pi": float(np.pi)}
_SIDES = ("left", "right")
_PANEL_ARRAYS = ("edges", "coefficients", "kinds", "exponents")


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
    domain = header["domain"]
    return {name: float(header[name]) for name in _NUMBERS} | {
        "dim": header["dim"],
        "formula": str(header["formula"]),
        "domain": np.inf if domain is None else float(domain),
        "sphere": bool(header["sphere"]),
        "provenance": str(header["provenance"]),
        "parts": tuple(_part(p, arrays, f"part{i}") for i, p in enumerate(header["parts"])),
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
    own, shifts = entry["shifts"], None
    if own is not None:
        axis, weights = (arrays.pop(f"{name}.{array}") for array in ("axis", "weights"))
        shifts = Shifts(axis, float(own["unit"]), np.array(own["steps"], dtype=np.intp), weights)
    return Part(
        mass=float(entry["mass"]),
        mass_error=float(entry["mass_error"]),
        phase=_PHASES[entry["phase"]],
        law=_law_of(entry["tail"], arrays, name),
        shifts=shifts,
        deviation=float(entry["deviation"]),
    )


def _law_members(law: RadialLaw, arrays: Arrays, name: str) -> dict[str, Any] | None:
    """What the header holds of the tail, None without one; the arrays go to ``arrays``."""
    for side in _SIDES:
        for array in _PANEL_ARRAYS:
            arrays[f"{name}.{side}.{array}"] = getattr(getattr(law, side), array)
    return None if law.tail is None else _tail_members(law.tail, arrays, f"{name}.tail")


def _law_of(entry: dict[str, Any] | None, arrays: Arrays, name: str) -> RadialLaw:
    """The law of :func:`_law_members`; its arrays are taken out of the dict."""
    left, right = (
        Panels(*(arrays.pop(f"{name}.{side}.{array}") for array in _PANEL_ARRAYS))
        for side in _SIDES
    )
    tail = None if entry is None else _tail_of(entry, arrays, f"{name}.tail")
    return RadialLaw(left, right, tail)


def _tail_members(tail: WaveTail, arrays: Arrays, name: str) -> dict[str, Any]:
    waves = tail.density.waves
    arrays[f"{name}.waves"] = np.array([[v.frequency, v.power] for v in waves])
    series = np.concatenate([v.series for v in waves])
    arrays[f"{name}.series"] = np.stack([series.real, series.imag], axis=1)
    return {"start": tail.start, "terms": [v.series.size for v in waves]}


def _tail_of(entry: dict[str, Any], arrays: Arrays, name: str) -> WaveTail:
    waves, numbers = (arrays.pop(f"{name}.{array}") for array in ("waves", "series"))
    series = np.split(numbers[:, 0] + 1j * numbers[:, 1], np.cumsum(entry["terms"])[:-1])
    found = (Wave(float(b), float(a), c) for (b, a), c in zip(waves, series, strict=True))
    return WaveTail(WaveSum(float(entry["start"]), tuple(found)))
