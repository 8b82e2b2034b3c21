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

from spectra.errors import ParameterError, SpectraError
from spectra.formula.reader.wording import short
from spectra.kernels.catalogue.reading import UNREADABLE, kernel_from_text, parameters_in
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel

__all__ = ["named_by_text"]

_HAS_GROUPS = re.compile(r"\.\s*on\s*\(")
_ON = re.compile(r"\)\s*\.\s*on\s*\(([^()]*)\)")
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
    try:
        while found := _ON.search(rest):
            start = _opening_bracket(rest, found.start())
            inner = rest[start + 1 : found.start()]
            own = parameters_in(inner, values)
            used |= own.keys()
            group = f"group_{len(groups)}"
            groups[group] = _group(kernel_from_text(inner, parameters=own), found[1])
            rest = f"{rest[:start]} {group} {rest[found.end() :]}"
        kernel: GroupedKernel = _combine(ast.parse(rest.strip(), mode="eval").body, groups)
    except SpectraError:
        raise
    except UNREADABLE as error:
        raise ParameterError(
            f"{short(text)!r} is read as a kernel of groups of columns: {error}. Here on "
            "takes columns, and length=: (exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
        ) from error
    if unused := set(values) - used:
        raise ParameterError(f"No kernel of {short(text)!r} has the parameter {min(unused)!r}.")
    return kernel


def _combine(node: ast.AST, groups: Mapping[str, GroupedKernel]) -> Any:
    """The value of an expression of numbers and groups."""
    match node:
        case ast.Name(id=name) if name in groups:
            return groups[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=op, operand=inner) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_combine(inner, groups))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_combine(left, groups), _combine(right, groups))
    raise SyntaxError(f"{ast.unparse(node)} is not a number or (KERNEL).on([columns])")


def _group(kernel: Kernel, arguments: str) -> GroupedKernel:
    """The kernel of the columns, and of the lengths, that the arguments of ``on`` name."""
    match ast.parse(f"on({arguments})", mode="eval").body:
        case ast.Call(args=[columns], keywords=[]):
            return kernel.on(ast.literal_eval(columns))
        case ast.Call(args=[columns], keywords=[ast.keyword(arg="length", value=length)]):
            return kernel.on(ast.literal_eval(columns), length=ast.literal_eval(length))
    raise SyntaxError(f"on({arguments})")


def _opening_bracket(text: str, closing: int) -> int:
    """The place of the bracket that is closed at ``closing``."""
    depth = 0
    for i in range(closing, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return i
    raise SyntaxError("a bracket is not opened")
