"""Kernels from text: a name of the catalogue, a formula in z or u, or groups of columns.

A composite kernel is written as sums and products of numbers and of ``(KERNEL).on([columns],
length=...)``, ``(KERNEL).shift(...)``, ``.tilt(...)`` and ``l1(KERNEL)``, where KERNEL is a name or
a formula.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from spectra.errors import ParameterError, SpectraError
from spectra.formula.functions import CONSTANTS, Z
from spectra.formula.parsing import parse_formula
from spectra.formula.text import Parser, normalize_text
from spectra.formula.wording import shorten
from spectra.kernels.catalogue.families import Family, bounded_parameter
from spectra.kernels.catalogue.named import catalogue
from spectra.kernels.composite import CompositeKernel, of_factor
from spectra.kernels.dot_product import dot_product
from spectra.kernels.kernel import Kernel, radial, zonal
from spectra.kernels.metrics import L1

__all__ = ["any_kernel_from_text", "as_kernel", "family", "free_names", "kernel_from_text",
           "parse_name", "parse_numbers"]  # fmt: skip

# Errors of ``ast.parse`` for text that is not a Python expression, is too long or too deep.
_PARSE_ERRORS = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)
_IS_COMPOSITE = re.compile(r"\.\s*(on|shift|tilt)\s*\(|\bl1\s*\(")
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)  # name(arguments)


def kernel_from_text(
    text: str, *, support: float | str | None = None, parameters: Mapping[str, Any] | None = None
) -> Kernel:
    """Make a radial or zonal kernel from text.

    ``text`` is a formula in z = |x - y| or in u = <x, y>, or a name of the catalogue, such as
    "matern(nu=5/2, length=2)", or "matern" for the default parameters.  A formula in z is zero
    beyond ``support``.  ``parameters`` are numbers, or text such as "sqrt(3)/2", by name.

    Examples
    --------
    >>> print(kernel_from_text("matern", parameters={"nu": "3/2"}))
    matern(nu=3/2, length=1)
    """
    name, values = parse_name(text, parameters)
    if name in catalogue and catalogue.by_name[name].id in catalogue.on_data:
        raise ParameterError(
            f"{text!r} is not a function of |x - y|, and its features are made for data: pass it "
            f"to rf.SpectralFeatures, or use catalogue[{name!r}](...) with gram(X)."
        )
    if name in catalogue.asymmetric:
        raise ParameterError(
            f"{text!r} is an asymmetric kernel, which is a function of x - y, not of |x - y|. Pass "
            f"catalogue[{name!r}](...) to rf.AsKRFF or rf.SpectralFeatures."
        )
    if name in catalogue:
        if support is not None:
            raise ParameterError(
                f"The support of {name!r}, a kernel of the catalogue, cannot be changed."
            )
        kernel: Kernel = catalogue.by_name[name](**values)
        return kernel
    if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in ("z", "u", *values):
        raise ParameterError(catalogue.unknown_name_message(text))
    if re.search(r"\bu\b", text) is None:
        return radial(text, support=None if support is None else _parse_number(support), **values)
    if support is not None:
        raise ParameterError("A kernel in u = <x, y> lives on the unit sphere: omit its support.")
    return zonal(text, **values)


def family(
    source: str | Family, *, support: float | str | None = None, **parameters: Any
) -> Family:
    """Make a family of kernels from a formula with free symbols, or from a name of the catalogue.

    Call it with values to get a kernel; :class:`rf.Kriging` estimates the values.

    Parameters
    ----------
    source : str or Family
        A formula in z = |x - y|, such as ``"s*exp(-(z/l)**a)"``, a name, or a family to restrict.
    support : number or str, optional
        The radius beyond which a formula is zero: a number or the name of a parameter.
    **parameters : numbers or pairs
        ``a=1.5`` fixes a parameter, and ``a=(low, high)`` bounds it; None is no bound.  A parameter
        of a formula without bounds is positive and free.

    Examples
    --------
    >>> from spectra import family
    >>> stable = family("s*exp(-(z/l)**a)", a=(0, 2))
    >>> stable.bounds()
    {'a': (0.0, 2.0), 'l': (0.0, inf), 's': (0.0, inf)}
    >>> family("matern", nu=2.5)
    Family(matern(nu=5/2, length=1): Matern)
    """
    if isinstance(source, str) and (named := parse_name(source, parameters))[0] in catalogue:
        source, parameters = catalogue.by_name[named[0]], named[1]
    if isinstance(source, Family):
        if support is not None:
            raise ParameterError(f"{source!r} has its own support.")
        return source.restrict(**parse_numbers(parameters))
    if not isinstance(source, str):
        raise ParameterError(
            f"A family is made of a formula in z or of a name, and {source!r} is a "
            f"{type(source).__name__}."
        )
    names = free_names(source)
    end = "" if support is None else str(support)
    if re.fullmatch(r"[A-Za-z_]\w*", end):
        names.add(end)
    made = Family(
        id="",
        title="a formula",
        formula=source if support is None else f"{source} on z <= {end}",
        finite=None,
        positive_definite=None,
        reference="",
        parameters=tuple(map(bounded_parameter, sorted(names))),
        support=end,
    ).restrict(**parse_numbers(parameters))
    if made.profile is None:
        Parser(Z, made.symbols | dict(made.fixed), normalize_text(source)).parse()  # raises
    return made


def free_names(formula: str) -> set[str]:
    """The names of a formula in z that are no functions or constants; none for catalogue names."""
    if parse_name(formula)[0] in catalogue.by_name:
        return set()
    tree = _parse(normalize_text(formula))
    if tree is None:
        parse_formula(formula, variable="z")  # raises, with the place of the error
    called = {n.func for n in ast.walk(tree) if isinstance(n, ast.Call)} if tree else set()
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in called}  # type: ignore[arg-type]
    if "u" in names and "z" not in names:
        raise ParameterError(
            f"{formula} is a formula in u = <x, y>, and a family is one in z = |x - y|. On the "
            "unit sphere u = 1 - z**2/2."
        )
    return names - {"z", *CONSTANTS, "True", "False"}


def as_kernel(kernel: Kernel | Family | str, caller: str) -> Kernel:
    """The kernel of a text or an entry, or the kernel itself; errors name the caller."""
    if isinstance(kernel, str):
        return kernel_from_text(kernel)
    made = kernel() if isinstance(kernel, Family) else kernel
    if not isinstance(made, Kernel):
        raise ParameterError(
            f"{caller} takes a kernel, and got {kernel!r} of type {type(kernel).__name__}. Pass a "
            "formula, a name of the catalogue, or a kernel made by radial(...) or zonal(...)."
        )
    return made


def parse_name(
    text: str, parameters: Mapping[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """Split "matern(nu=5/2)" into "matern" and its parameters, joined with the given ones.

    Text that is not a call of a catalogue name is returned as it is.
    """
    values = parse_numbers(parameters or {})
    if not_text := [name for name in values if not isinstance(name, str)]:
        raise ParameterError(f"The name of a parameter is text, and {not_text[0]!r} is not.")
    match = _CALL.fullmatch(text)
    if match is None or match[1] not in catalogue:
        return text, values
    call = _parse(text)
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ParameterError(
            f"{text!r}: write a kernel of the catalogue as name(parameter=value, ...), and add and "
            "multiply kernels in Python: catalogue[name](...) + radial(...)."
        )
    for keyword in call.keywords:
        if keyword.arg in values:
            raise ParameterError(f"The parameter {keyword.arg!r} is given twice.")
        values[str(keyword.arg)] = _parse_number(ast.unparse(keyword.value))
    return match[1], values


def parse_numbers(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with text parsed as numbers or lists of numbers: "5/2", "[1, 2/3]"."""
    return {name: _parse_number(value) for name, value in parameters.items()}


def _parse_number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    node = _parse(value)
    if isinstance(node, ast.List | ast.Tuple):
        return [_parse_number(ast.unparse(element)) for element in node.elts]
    return parse_formula(value, variable="z")


def _parse(text: str) -> ast.expr | None:
    """The syntax tree of an expression; None if the text is not a valid one."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except _PARSE_ERRORS:
        return None


def any_kernel_from_text(
    text: str,
    *,
    metric: Literal["l2", "l1"] = "l2",
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Make a kernel from text: radial, zonal, of t = <x, y>, of l1 distances, or of groups.

    ``metric`` selects the distance z, Euclidean or l1.  Text with ``.on(`` is a kernel of groups of
    columns: ``parameters`` go to the kernel of each group that contains them, and ``options`` are
    not allowed.  Otherwise both are those of :func:`spectra.kernels.catalogue.kernel_from_text`.
    """
    if metric == "l1":
        profile = any_kernel_from_text(text, parameters=parameters, **options)
        if not isinstance(profile, Kernel) or profile.is_zonal:
            raise ParameterError(
                f"The l1 distance (--metric l1) takes a formula in z, and {profile} is not one."
            )
        return of_factor(profile, metric=L1)
    words = set(re.findall(r"[A-Za-z_]\w*", text)) - set(parameters or {})
    if "t" in words and not words & {"z", "u"}:
        return dot_product(text, **parse_numbers(parameters or {}))
    if _IS_COMPOSITE.search(text) is None:
        return kernel_from_text(text, parameters=parameters, **options)
    if given := [name for name, value in options.items() if value is not None]:
        raise ParameterError(
            f"{shorten(text)!r} is a kernel of groups of columns, which takes no {given[0]}: "
            "include it in the kernel of a group."
        )
    values, used = dict(parameters or {}), set[str]()
    source = " ".join(text.split())
    try:
        tree = ast.parse(source, mode="eval").body
        kernel: CompositeKernel = _evaluate(tree, source, values, used)
    except SpectraError:
        raise
    except (*_PARSE_ERRORS, TypeError) as error:
        raise ParameterError(
            f"{shorten(text)!r} is not a valid kernel of groups of columns: {error}. Use .on, "
            "which takes columns and length=: (exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
        ) from error
    if unused := set(values) - used:
        raise ParameterError(f"No kernel of {shorten(text)!r} has the parameter {min(unused)!r}.")
    return kernel


def _evaluate(node: ast.AST, source: str, values: Mapping[str, Any], used: set[str]) -> Any:
    """Evaluate a syntax tree of kernels and numbers; record the parameters used, in ``used``."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="on" | "shift" | "tilt" as name),
                      args=[argument], keywords=named):  # fmt: skip
            options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in named}
            method = getattr(_evaluate(inner, source, values, used), name)
            return method(ast.literal_eval(argument), **options)
        case ast.Call(func=ast.Name("l1"), args=[inner], keywords=[]):
            return of_factor(_evaluate(inner, source, values, used), metric=L1)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=op, operand=inner) if _is_sum(node, op):
            return _OPERATORS[type(op)](_evaluate(inner, source, values, used))
        case ast.BinOp(left=left, op=op, right=right) if _is_sum(node, op):
            operands = (_evaluate(side, source, values, used) for side in (left, right))
            return _OPERATORS[type(op)](*operands)
    text = ast.get_source_segment(source, node) or ""
    own = {n: v for n, v in values.items() if re.search(rf"\b{re.escape(n)}\b", text)}
    used.update(own)
    return kernel_from_text(text, parameters=own)


def _is_sum(node: ast.AST, op: ast.AST) -> bool:
    """Whether a tree is a sum or product that is no formula: of numbers, or with ``.on``."""
    is_number = not any(isinstance(each, ast.Name) for each in ast.walk(node))
    return type(op) in _OPERATORS and (is_number or bool(_IS_COMPOSITE.search(ast.unparse(node))))
