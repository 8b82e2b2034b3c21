"""A law of radii as numbers for a header and arrays for a file, and back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from spectra.table.lobed_tail import LobedTail
from spectra.table.mixed_tail import MixedTail
from spectra.table.panels import Panels
from spectra.table.radial_law import RadialLaw

__all__ = ["law_members", "law_of"]

_SIDES = ("left", "right")
_PANEL_ARRAYS = ("edges", "coefficients", "kinds", "exponents")
_TAIL_NUMBERS = ("kappa", "period", "sigma")
_TAIL_CHOICES = ("root", "zeros")
_TAIL_ARRAYS = ("mass_series", "radius_series")

Arrays = dict[str, NDArray[Any]]


def law_members(law: RadialLaw, arrays: Arrays, name: str) -> dict[str, Any] | None:
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


def law_of(entry: dict[str, Any] | None, arrays: Arrays, name: str) -> RadialLaw:
    """The law of :func:`law_members`; its arrays are taken out of the dict."""
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
