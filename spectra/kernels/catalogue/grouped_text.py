"""Kernels of groups of columns from text: what such a kernel prints is what makes it.

A sum of terms, each a product of numbers and of ``(KERNEL).on([columns])``, with ``length=`` for
columns that are divided, and KERNEL a name of the catalogue or a formula in z.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from spectra.errors import ParameterError
from spectra.formula.reader.wording import short
from spectra.kernels.catalogue.reading import kernel_from_text, parameters_in
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel

__all__ = ["named_by_text"]

_HAS_GROUPS = re.compile(r"\.\s*on\s*\(")
_ON = re.compile(r"\)\s*\.\s*on\s*\(([^()]*)\)")
_ARGUMENTS = re.compile(
    r"\s*(\[\s*\d+\s*(?:,\s*\d+\s*)*,?\s*\]|\d+)\s*"
    r"(?:,\s*length\s*=\s*(\[[^\]]+\]|[^\[\],]+)\s*)?\s*"
)
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def named_by_text(
    text: str,
    *,
    metric: Literal["l2", "l1"] = "l2",
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Kernel | GroupedKernel | L1Kernel:
    """The kernel that a text names, of groups of columns where it has ``.on(`` in it.

    ``metric`` says what z is: the Euclidean distance, or the sum of the distances of all columns
    ("l1"); the rest is as for :func:`spectra.kernels.catalogue.kernel_from_text`.  Of groups the
    parameters are for the kernel of each group that has them, and there are no other options.

    Examples
    --------
    >>> kernel = named_by_text("(exp(-z**2/2)).on([0, 1])*(matern(nu=5/2)).on([2], length=30) - .5")
    >>> named_by_text(str(kernel)) == kernel
    True
    """
    if metric == "l1":
        profile = named_by_text(text, parameters=parameters, **options)
        if not isinstance(profile, Kernel) or profile.is_zonal:
            raise ParameterError(
                f"{profile} is no formula in z, and the l1 distance (--metric l1) takes one."
            )
        return L1Kernel(profile)
    if _HAS_GROUPS.search(text) is None:
        return kernel_from_text(text, parameters=parameters, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"{short(text)!r} is a kernel of groups of columns, which takes no {given[0]}: write "
            "it into the kernel of a group."
        )
    values, used = dict(parameters or {}), set[str]()
    groups: dict[str, GroupedKernel] = {}
    rest = " ".join(text.split())
    while found := _ON.search(rest):
        start = _opening(rest, found.start())
        inner = rest[start + 1 : found.start()]
        own = parameters_in(inner, values)
        used |= own.keys()
        group = f"group_{len(groups)}"
        groups[group] = _group(kernel_from_text(inner, parameters=own), found[1], text)
        rest = f"{rest[:start]} {group} {rest[found.end() :]}"
    if unused := set(values) - used:
        raise ParameterError(f"No kernel of {short(text)!r} has the parameter {min(unused)!r}.")
    try:
        kernel: GroupedKernel = _combined(ast.parse(rest.strip(), mode="eval").body, groups)
    except (SyntaxError, OverflowError, RecursionError, MemoryError) as error:
        raise _refusal(text, str(error)) from error
    return kernel


def _combined(node: ast.AST, groups: Mapping[str, GroupedKernel]) -> Any:
    """The value of an expression of numbers and groups."""
    match node:
        case ast.Name(id=name) if name in groups:
            return groups[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=op, operand=inner) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_combined(inner, groups))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_combined(left, groups), _combined(right, groups))
    raise SyntaxError(f"{ast.unparse(node)} is not a number or (KERNEL).on([columns])")


def _group(kernel: Kernel, arguments: str, text: str) -> GroupedKernel:
    """The kernel of the columns, and of the lengths, that the arguments of ``on`` name."""
    read = _ARGUMENTS.fullmatch(arguments)
    if read is None:
        raise _refusal(text, f"on({arguments}): on takes columns, and length=")
    columns = [int(c) for c in read[1].strip("[]").split(",") if c.strip()]
    on = kernel.on(columns)
    if read[2] is None:
        return on
    try:
        lengths = [float(v) for v in read[2].strip("[] ").split(",")]
    except ValueError as error:
        raise _refusal(text, f"{read[2]!r} are no lengths") from error
    if len(lengths) == 1:
        return on.rescale(lengths[0])
    if len(lengths) != len(columns):
        raise _refusal(text, f"{len(lengths)} lengths are given for {len(columns)} columns")
    by_column = dict(zip(columns, lengths, strict=True))
    every = [by_column.get(column, 1.0) for column in range(max(columns) + 1)]
    # The lengths are of these columns alone, and do not fix how many columns the data have.
    return GroupedKernel(on.rescale(every).terms)


def _opening(text: str, closing: int) -> int:
    """The place of the bracket that is closed at ``closing``."""
    depth = 0
    for i in range(closing, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return i
    raise _refusal(text, "a bracket is not opened")


def _refusal(text: str, why: str) -> ParameterError:
    return ParameterError(
        f"{short(text)!r} is read as a kernel of groups of columns: {why}. Write for instance "
        "(exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
    )
