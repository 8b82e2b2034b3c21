"""Entries of the catalogue: families with a name, and the parameters that they share."""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy

from spectra.kernels.catalogue.families import DIMENSION, Family, Parameter, parameter_symbol

__all__ = [
    "DIMENSION", "Family", "Parameter", "compact_entry", "length_parameter", "parameter_symbol",
    "positive_definite_entry", "positive_parameter",
]  # fmt: skip


def positive_parameter(
    name: str, default: int | str, meaning: str, *, largest: int | None = None
) -> Parameter:
    """A parameter whose values are numbers above 0, up to ``largest``."""
    x = parameter_symbol(name)
    condition = x > 0 if largest is None else (x > 0) & (x <= largest)
    return Parameter(name, sympy.Rational(default), condition, meaning)


def length_parameter(meaning: str = "length scale") -> Parameter:
    """The parameter ``length``, which divides z."""
    return positive_parameter("length", 1, meaning)


#: Makes the entry of a kernel that is positive definite on every R^d.
positive_definite_entry = partial(Family, finite=sympy.true, positive_definite=sympy.true)


def compact_entry(*, formula: str, parameters: tuple[Parameter, ...] = (), **fields: Any) -> Family:
    """Make the entry of a kernel that is zero for z > length."""
    return Family(
        formula=f"{formula} on z <= length",
        parameters=(*parameters, length_parameter("radius beyond which the kernel is zero")),
        support="length",
        **fields,
    )
