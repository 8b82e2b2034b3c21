"""From what a user types to a kernel: a name of the catalogue, or a formula in z or u.

A kernel of groups of columns is a sum of terms, each a product of numbers and of
``(KERNEL).on([columns])``, with ``length=`` for columns that are divided.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from spectra.errors import ParameterError, SpectraError
from spectra.formula.reader.parsing import parse_formula
from spectra.formula.reader.wording import shorten
from spectra.kernels.catalogue.entry import Entry
from spectra.kernels.catalogue.named import catalogue
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.kernels.l1_kernel import L1Kernel

__all__ = [
    "kernel_from_text",
    "kernel_named",
    "named_by_text",
    "named_with_parameters",
    "read_numbers",
]

# What Python's parser raises for a text that it cannot read.
_UNREADABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)
_HAS_GROUPS = re.compile(r"\.\s*on\s*\(")
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)


def kernel_from_text(
    text: str,
    *,
    support: float | str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """Find or make the kernel that a text names.

    Parameters
    ----------
    text : str
        A name of the catalogue (with its default parameters), such a name with
        parameters, "matern(nu=5/2, length=2)", or a formula in z = |x - y| or in u = <x, y>.
    support : number or str, optional
        Radius beyond which a formula in z is zero.
    parameters : mapping, optional
        Values by name: numbers, or texts such as ``"sqrt(3)/2"``.

    Examples
    --------
    >>> print(kernel_from_text("matern", parameters={"nu": "3/2"}))
    matern(nu=3/2, length=1)
    """
    name, values = named_with_parameters(text, parameters)
    if name in catalogue.asymmetric:
        raise ParameterError(
            f"{text!r} is an asymmetric kernel, a function of x - y and not of |x - y|. Make it "
            f"with catalogue[{name!r}](...); rf.AsKRFF and rf.SpectralFeatures take it."
        )
    if name in catalogue:
        if support is not None:
            raise ParameterError(
                f"{name!r} is a kernel of the catalogue, whose support is known: it cannot be set."
            )
        kernel: Kernel = catalogue.by_name[name](**values)
        return kernel
    if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in ("z", "u", *values):
        raise ParameterError(catalogue.unknown(text))
    if re.search(r"\bu\b", text) is None:
        return radial(text, support=None if support is None else _number(support), **values)
    if support is not None:
        raise ParameterError("A kernel in u lives on the unit sphere: it takes no support.")
    return zonal(text, **values)


def kernel_named(named: Kernel | Entry | str, asked: str) -> Kernel:
    """The kernel itself, or of a text or an entry; ``asked`` is the caller, for the message."""
    if isinstance(named, str):
        return kernel_from_text(named)
    kernel = named() if isinstance(named, Entry) else named
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"{asked} takes a kernel, and got {named!r} of type {type(named).__name__}. Pass a "
            "formula, a name of the catalogue, or what radial(...) or zonal(...) made."
        )
    return kernel


def named_with_parameters(
    text: str, parameters: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """A name of the catalogue, or any other text, with parameters as numbers.

    The parameters are those of the text, "matern(nu=5/2)", and those given beside it.
    """
    values = read_numbers(parameters or {})
    if foreign := [name for name in values if not isinstance(name, str)]:
        raise ParameterError(f"A parameter is named by text, and {foreign[0]!r} was given.")
    found = _CALL.fullmatch(text)
    if found is None or found[1] not in catalogue:
        return text, values
    call = _parsed(text)
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ParameterError(
            f"{text!r}: a kernel of the catalogue takes parameter=value, each once, and stands by "
            "itself. Add and multiply kernels in Python, as catalogue[name](...) or radial(...)."
        )
    for keyword in call.keywords:
        if keyword.arg in values:
            raise ParameterError(f"The parameter {keyword.arg!r} is given twice: give it once.")
        values[str(keyword.arg)] = _number(ast.unparse(keyword.value))
    return found[1], values


def read_numbers(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with their texts read as numbers, or lists of them: "5/2", "[1, 2/3]"."""
    return {name: _number(value) for name, value in parameters.items()}


def _number(value: Any) -> Any:
    """A text as a number, or as a sequence of them such as [1, 2]; other values as they are."""
    if not isinstance(value, str):
        return value
    node = _parsed(value)
    if isinstance(node, ast.List | ast.Tuple):
        return [_number(ast.unparse(entry)) for entry in node.elts]
    return parse_formula(value, variable="z")


def _parsed(text: str) -> ast.expr | None:
    """The expression of a text; None if it cannot be read: the reader of formulas says why."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except _UNREADABLE:
        return None


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
            f"{shorten(text)!r} is a kernel of groups of columns, which takes no {given[0]}: write "
            "it into the kernel of a group."
        )
    values, used = dict(parameters or {}), set[str]()
    source = " ".join(text.split())
    try:
        tree = ast.parse(source, mode="eval").body
        kernel: GroupedKernel = _evaluate(tree, source, values, used)
    except SpectraError:
        raise
    except (*_UNREADABLE, TypeError) as error:
        raise ParameterError(
            f"{shorten(text)!r} is read as a kernel of groups of columns: {error}. Here on "
            "takes columns, and length=: (exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
        ) from error
    if unused := set(values) - used:
        raise ParameterError(f"No kernel of {shorten(text)!r} has the parameter {min(unused)!r}.")
    return kernel


def _evaluate(node: ast.AST, source: str, values: Mapping[str, Any], used: set[str]) -> Any:
    """The value of an expression of numbers and groups; ``used`` gathers names of parameters."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="on"), args=[columns], keywords=more):
            text = ast.get_source_segment(source, inner) or ""
            own = {n: v for n, v in values.items() if re.search(rf"\b{re.escape(n)}\b", text)}
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
