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
    shifts, tail, entry = part.shifts, part.law.tail, None
    if shifts is not None:
        arrays[f"{name}.axis"], arrays[f"{name}.weights"] = shifts.axis, shifts.weights
    for side in _SIDES:
        for array in _PANEL_ARRAYS:
            arrays[f"{name}.{side}.{array}"] = getattr(getattr(part.law, side), array)
    if tail is not None:
        waves = tail.density.waves
        series = np.concatenate([v.series for v in waves])
        arrays[f"{name}.tail.waves"] = np.array([[v.frequency, v.power] for v in waves])
        arrays[f"{name}.tail.series"] = np.stack([series.real, series.imag], axis=1)
        entry = {"start": tail.start, "terms": [v.series.size for v in waves]}
    return {
        "mass": part.mass,
        "mass_error": part.mass_error,
        "phase": "0" if part.phase == 0.0 else "pi",
        "deviation": part.deviation,
        "shifts": shifts and {"unit": shifts.unit, "steps": shifts.steps.tolist()},
        "tail": entry,
    }


def _part(entry: dict[str, Any], arrays: Arrays, name: str) -> Part:
    """The part of an entry; the arrays that it uses are taken out of the dict."""

    def taken(*names: str) -> list[Any]:
        return [arrays.pop(f"{name}.{array}") for array in names]

    left, right = (Panels(*taken(*(f"{side}.{a}" for a in _PANEL_ARRAYS))) for side in _SIDES)
    own, waves, shifts, tail = entry["shifts"], entry["tail"], None, None
    if own is not None:
        axis, weights = taken("axis", "weights")
        shifts = Shifts(axis, float(own["unit"]), np.array(own["steps"], dtype=np.intp), weights)
    if waves is not None:
        places, numbers = taken("tail.waves", "tail.series")
        series = np.split(numbers[:, 0] + 1j * numbers[:, 1], np.cumsum(waves["terms"])[:-1])
        found = (Wave(float(b), float(a), c) for (b, a), c in zip(places, series, strict=True))
        tail = WaveTail(WaveSum(float(waves["start"]), tuple(found)))
    return Part(
        mass=float(entry["mass"]),
        mass_error=float(entry["mass_error"]),
        phase=_PHASES[entry["phase"]],
        law=RadialLaw(left, right, tail),
        shifts=shifts,
        deviation=float(entry["deviation"]),
    )
