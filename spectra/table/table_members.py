"""A table as a header and arrays, and back: version 3 of the file, with a reader of older ones.

Version 2 has radial parts alone.  Asymmetric kernels had files of a format of their own, a list of
radial tables, each with its shifts; what it said of draws belongs to who draws, and is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectra.errors import TableFileError
from spectra.table.law_file import law_members, law_of
from spectra.table.part import Part
from spectra.table.shifts import Shifts

if TYPE_CHECKING:
    from spectra.table.spectral_table import SpectralTable

__all__ = ["members_of", "table_of"]

T = TypeVar("T")

Arrays = dict[str, NDArray[Any]]

_FORMAT = "spectra.SpectralTable"
_VERSION = 3
_ASYMMETRIC_FORMAT = "spectra.AsymmetricTable"
# The versions that are read, by format.
_READ = {_FORMAT: (2, 3), _ASYMMETRIC_FORMAT: (1,)}
_CONVENTION = "k(D) = sum over parts of mass * E cos(w.D + phase)"
_PHASES = {"0": 0.0, "pi": float(np.pi)}


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
        "tail": law_members(part.law, arrays, name),
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
                law=law_of(entry["tail"], arrays, name),
                shifts=shifts if own is None else _shifts(own, arrays, f"{name}."),
                deviation=float(entry.get("deviation", deviation)),
            )
        )
    return tuple(parts)


def _shifts(entry: dict[str, Any], arrays: Arrays, prefix: str) -> Shifts:
    steps = np.array(entry["steps"], dtype=np.intp)
    axis, weights = (arrays.pop(f"{prefix}{name}") for name in ("axis", "weights"))
    return Shifts(axis, float(entry["unit"]), steps, weights)
