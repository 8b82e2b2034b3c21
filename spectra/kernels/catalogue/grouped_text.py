"""Kernels of groups of columns from text, as such a kernel prints.

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
    source = " ".join(text.split())
    try:
        tree = ast.parse(source, mode="eval").body
        kernel: GroupedKernel = _evaluate(tree, source, values, used)
    except SpectraError:
        raise
    except (*UNREADABLE, TypeError) as error:
        raise ParameterError(
            f"{short(text)!r} is read as a kernel of groups of columns: {error}. Here on "
            "takes columns, and length=: (exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
        ) from error
    if unused := set(values) - used:
        raise ParameterError(f"No kernel of {short(text)!r} has the parameter {min(unused)!r}.")
    return kernel


def _evaluate(node: ast.AST, source: str, values: Mapping[str, Any], used: set[str]) -> Any:
    """The value of an expression of numbers and groups; ``used`` gathers names of parameters."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="on"), args=[columns], keywords=more):
            text = ast.get_source_segment(source, inner) or ""
            own = parameters_in(text, values)
            used.update(own)
            lengths = {str(option.arg): ast.literal_eval(option.value) for option in more}
            return kernel_from_text(text, parameters=own).on(ast.literal_eval(columns), **lengths)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=op, operand=inner) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(inner, source, values, used))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            sides = (_evaluate(side, source, values, used) for side in (left, right))
            return _OPERATORS[type(op)](*sides)
    raise SyntaxError(f"{ast.unparse(node)} is not a number or (KERNEL).on([columns])")
