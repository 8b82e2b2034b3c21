"""A table as a header and arrays, and back: version 3 of the file, with a reader of older ones.

Version 2 has radial parts alone.  Asymmetric kernels had files of a format of their own, a list of
radial tables, each with its shifts; what it said of draws belongs to who draws, and is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spectra.errors import TableFileError
from spectra.table.lobed_tail import LobedTail
from spectra.table.mixed_tail import MixedTail
from spectra.table.panels import Panels
from spectra.table.part import Part
from spectra.table.radial_law import RadialLaw
from spectra.table.shifts import Shifts
from spectra.table.table_file import Arrays

if TYPE_CHECKING:
    from spectra.table.spectral_table import SpectralTable

__all__ = ["members_of", "table_of"]

T = TypeVar("T")

_FORMAT = "spectra.SpectralTable"
_VERSION = 3
_ASYMMETRIC_FORMAT = "spectra.AsymmetricTable"
# The versions that are read, by format.
_READ = {_FORMAT: (2, 3), _ASYMMETRIC_FORMAT: (1,)}
_CONVENTION = "k(D) = sum over parts of mass * E cos(w.D + phase)"
_PHASES = {"0": 0.0, "pi": float(np.pi)}
_SIDES = ("left", "right")
_PANEL_ARRAYS = ("edges", "coefficients", "kinds", "exponents")
_TAIL_NUMBERS = ("kappa", "period", "sigma")
_TAIL_CHOICES = ("root", "zeros")
_TAIL_ARRAYS = ("mass_series", "radius_series")


def members_of(table: SpectralTable) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a table, as :func:`table_of` reads them."""
    arrays: Arrays = {}
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "convention": _CONVENTION,
        "dim": table.dim,
        "formula": table.formula,
        "k_zero": float(table.k_zero),
        "u_error": float(table.u_error),
        "bias": float(table.bias),
        "domain": None if np.isinf(table.domain) else float(table.domain),
        "sphere": bool(table.sphere),
        "provenance": table.provenance,
        "parts": [_entry(p, arrays, f"part{i}") for i, p in enumerate(table.parts)],
    }
    return header, arrays


def table_of(header: dict[str, Any], arrays: Arrays, path: str, make: Callable[..., T]) -> T:
    """The table that ``make`` makes of its parameters; every array must belong to a part.

    Raises
    ------
    TableFileError
        For a foreign file, an unknown version, or what is no valid table; ``path`` names it.
    """
    kind, version = header.get("format"), header.get("version")
    if kind not in _READ:
        raise TableFileError(
            f"{path} is a file of format {kind!r}, not a spectral table ({_FORMAT!r})."
        )
    if version not in _READ[kind]:
        raise TableFileError(
            f"{path} is a file of format {kind!r} and version {version}, and this release reads "
            f"version {' and '.join(map(str, _READ[kind]))}. Use the release that saved it, or "
            "make the table again with spectra.tabulate."
        )
    try:
        fields = _asymmetric(header, arrays) if kind == _ASYMMETRIC_FORMAT else _fields(header)
        if kind == _FORMAT:
            fields["parts"] = _parts(header["parts"], arrays)
        table = make(**fields)
    except (KeyError, TypeError, ValueError) as fault:
        raise TableFileError(
            f"{path} does not hold a valid spectral table: {fault}. Make it again with "
            "spectra.tabulate."
        ) from fault
    if arrays:
        raise TableFileError(
            f"{path} holds arrays that belong to no part: {sorted(arrays)}. It was not written by "
            "SpectralTable.save."
        )
    return table


def _fields(header: dict[str, Any]) -> dict[str, Any]:
    if header["convention"] != _CONVENTION:
        raise ValueError(f"its convention is {header['convention']!r}")
    domain = header["domain"]
    return {
        "dim": header["dim"],
        "formula": str(header["formula"]),
        "k_zero": float(header["k_zero"]),
        "u_error": float(header["u_error"]),
        "bias": float(header["bias"]),
        "domain": np.inf if domain is None else float(domain),
        "sphere": bool(header["sphere"]),
        "provenance": str(header["provenance"]),
    }


def _asymmetric(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The parts of all radial tables of an older file, each under its shifts."""
    parts: list[Part] = []
    error = bias = 0.0
    for i, summand in enumerate(header["summands"]):
        name, radial = f"summand{i}.", _fields(summand["table"])
        shifts = _shifts(summand, arrays, name)
        deviation = float(summand["gaussian"])
        parts.extend(_parts(summand["table"]["parts"], arrays, name, shifts, deviation))
        error = max(error, radial["u_error"])
        bias += radial["bias"] * shifts.bound
    return {
        "dim": header["dim"],
        "parts": tuple(parts),
        "formula": str(header["formula"]),
        "k_zero": float(header["k_zero"]),
        "u_error": error,
        "bias": bias,
        "provenance": str(header["provenance"]),
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


def _parts(
    entries: Sequence[dict[str, Any]],
    arrays: Arrays,
    prefix: str = "",
    shifts: Shifts | None = None,
    deviation: float = 0.0,
) -> tuple[Part, ...]:
    """The parts of their entries; the arrays that they use are taken out of the dict."""
    parts = []
    for i, entry in enumerate(entries):
        name = f"{prefix}part{i}"
        own = entry.get("shifts")
        parts.append(
            Part(
                mass=float(entry["mass"]),
                mass_error=float(entry["mass_error"]),
                phase=_PHASES[entry["phase"]],
                law=_law_of(entry["tail"], arrays, name),
                shifts=shifts if own is None else _shifts(own, arrays, f"{name}."),
                deviation=float(entry.get("deviation", deviation)),
            )
        )
    return tuple(parts)


def _shifts(entry: dict[str, Any], arrays: Arrays, prefix: str) -> Shifts:
    steps = np.array(entry["steps"], dtype=np.intp)
    axis, weights = (arrays.pop(f"{prefix}{name}") for name in ("axis", "weights"))
    return Shifts(axis, float(entry["unit"]), steps, weights)


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
