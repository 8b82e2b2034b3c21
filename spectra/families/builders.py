"""How an entry of the catalogue becomes a kernel: from the text of its formula, mostly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from spectra.families.entry import Parameter, parameter_symbol
from spectra.kernel import Kernel, radial, zonal

__all__ = ["from_text", "from_zonal_text", "length"]

_LENGTH = parameter_symbol("length")


def length(meaning: str = "the length of z") -> Parameter:
    """The parameter that a distance is divided by."""
    return Parameter("length", sympy.Integer(1), _LENGTH > 0, meaning)


def from_text(formula: str, *, support: str | None = None) -> Callable[..., Kernel]:
    """Build from the text of a radial formula; ``support`` names a parameter."""

    def build(**values: Any) -> Kernel:
        radius = None if support is None else values[support]
        return radial(formula, support=radius, **values)

    return build


def from_zonal_text(formula: str) -> Callable[..., Kernel]:
    """Build from the text of a formula in u = <x, y>."""
    return lambda **values: zonal(formula, **values)
