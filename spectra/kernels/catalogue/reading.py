"""From what a user types to a kernel: a name of the catalogue, or a formula in z or u."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from itertools import accumulate
from typing import Any

from spectra.errors import ParameterError
from spectra.formula.reader.parsing import parse_formula
from spectra.kernels.catalogue.asymmetric import AsymmetricFamily
from spectra.kernels.catalogue.named import Family, catalogue, unknown_kernel
from spectra.kernels.kernel import Kernel, radial, zonal

__all__ = ["kernel_from_text", "kernel_named", "parameters_in", "read_numbers", "split_call"]

# What a kernel that ends at a radius prints.
_PIECE = re.compile(r"\[([^\[\]]+) on z <= ([^\[\]]+)\]")
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)


def kernel_from_text(
    text: str,
    *,
    support: float | str | None = None,
    is_zonal: bool | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """Find or make the kernel that a text names.

    Parameters
    ----------
    text : str
        A name of the catalogue (a family takes its default parameters), such a name with
        parameters, "matern(nu=5/2, length=2)", or a formula in z = |x - y| or in u = <x, y>.  What
        ends at a radius may be written as it prints, "[1 - z on z <= 1] + exp(-z)".
    support : number or str, optional
        Radius beyond which a formula in z is zero.
    is_zonal : bool, optional
        Whether the formula is in u; by default it is where the text contains the name ``u``.
    parameters : mapping, optional
        Values by name: numbers, or texts such as ``"sqrt(3)/2"``.

    Examples
    --------
    >>> print(kernel_from_text("matern", parameters={"nu": "3/2"}))
    matern(nu=3/2, length=1)
    """
    text, in_text = split_call(text)
    if twice := sorted(set(in_text) & set(parameters or {})):
        raise ParameterError(
            f"The parameter {twice[0]!r} is given twice, in the text and beside it. Give it once."
        )
    values = read_numbers({**in_text, **(parameters or {})})
    if foreign := [name for name in values if not isinstance(name, str)]:
        raise ParameterError(f"A parameter is named by text, and {foreign[0]!r} was given.")
    if text in catalogue:
        if support is not None or is_zonal:
            raise ParameterError(
                f"{text!r} is a kernel of the catalogue, whose support and variable are known: "
                "they cannot be set."
            )
        named: Kernel | Family | AsymmetricFamily = catalogue[text]
        if isinstance(named, AsymmetricFamily):
            raise ParameterError(
                f"{text!r} is an asymmetric kernel, a function of x - y and not of |x - y|. Make "
                f"it with catalogue[{text!r}]({named.vector}=..., sigma=...); rf.AsKRFF and "
                "rf.SpectralFeatures take it."
            )
        if isinstance(named, Family):
            return named(**values)
        if values:
            raise ParameterError(f"The kernel {text!r} has no parameters, not {', '.join(values)}.")
        return named
    if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in ("z", "u", *values):
        raise ParameterError(unknown_kernel(text, tuple(catalogue)))
    if is_zonal is None:
        is_zonal = re.search(r"\bu\b", text) is not None
    if not is_zonal:
        if support is None and _PIECE.search(text):
            return _of_pieces(text, values)
        return radial(text, support=None if support is None else _number(support), **values)
    if support is not None:
        raise ParameterError("A kernel in u lives on the unit sphere: it takes no support.")
    return zonal(text, **values)


def _of_pieces(text: str, values: Mapping[str, Any]) -> Kernel:
    """The sum of formulas that end at radii, and of one that does not, as a kernel prints it."""
    found = []
    for part in re.split(r"(?<=\])\s*\+\s*", text.strip()):
        piece = _PIECE.fullmatch(part)
        inner, support = (part, None) if piece is None else (piece[1], _number(piece[2]))
        found.append(radial(inner, support=support, **parameters_in(inner, values)))
    return reduce(lambda a, b: a + b, found)


def kernel_named(named: Kernel | Family | str, asked: str) -> Kernel:
    """The kernel itself, or of a text or a family; ``asked`` is the caller, for the message."""
    if isinstance(named, str):
        return kernel_from_text(named)
    kernel = named() if isinstance(named, Family) else named
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"{asked} takes a kernel, and got {named!r} of type {type(named).__name__}. Pass a "
            "formula, a name of the catalogue, or what radial(...) or zonal(...) made."
        )
    return kernel


def split_call(text: str) -> tuple[str, dict[str, str]]:
    """A name of the catalogue with the texts of its parameters, or any other text without some."""
    found = _CALL.fullmatch(text)
    name = found[1] if found else ""
    if found is None or not (name in catalogue or name in catalogue.asymmetric):
        return text, {}
    values: dict[str, str] = {}
    for argument in filter(None, (part.strip() for part in _at_commas(found[2], text))):
        parameter, equals, value = (part.strip() for part in argument.partition("="))
        if not (equals and parameter.isidentifier() and value) or parameter in values:
            raise ParameterError(
                f"{text!r}: the kernel {name} of the catalogue takes parameter=value, each once, "
                f"and {argument!r} is not that."
            )
        values[parameter] = value
    return name, values


def parameters_in(text: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters whose names are in a text."""
    return {name: v for name, v in values.items() if re.search(rf"\b{re.escape(name)}\b", text)}


def read_numbers(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with their texts read as numbers, or lists of them: "5/2", "[1, 2/3]"."""
    return {name: _number(value) for name, value in parameters.items()}


def _at_commas(text: str, whole: str) -> list[str]:
    """The pieces between the commas that stand in no brackets."""
    pieces, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            raise ParameterError(
                f"{whole!r}: a kernel of the catalogue with its parameters stands by itself. Add, "
                "subtract and multiply kernels in Python, as catalogue[name](...) or radial(...)."
            )
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def _number(value: Any) -> Any:
    """A text as a number, or as a sequence of them such as [1, 2]; other values as they are."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    depths = list(accumulate((c in "([") - (c in ")]") for c in text))
    is_enclosed = bool(depths) and min(depths[:-1], default=0) > 0 == depths[-1]
    pieces = _at_commas(text[1:-1], text) if is_enclosed else []
    if len(pieces) > 1 or (pieces and text[0] == "["):
        return [_number(v) for v in pieces if v.strip()]
    return parse_formula(value, variable="z")
