"""Kernels of groups of columns from text: what such a kernel prints is what makes it.

A sum of terms, each a product of numbers and of ``(KERNEL).on([columns])``, with ``length=`` for
columns that are divided, and KERNEL a name of the catalogue or a formula in z.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from spectra.errors import ParameterError
from spectra.formula.reader.wording import short
from spectra.kernels.catalogue.reading import kernel_from_text, parameters_in
from spectra.kernels.column_products import Product
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel

__all__ = ["named_by_text"]

_ON = re.compile(r"\s*\.\s*on\s*\(")
_NUMBER = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)")
_ARGUMENTS = re.compile(
    r"\s*(\[\s*\d+\s*(?:,\s*\d+\s*)*,?\s*\]|\d+)\s*"
    r"(?:,\s*length\s*=\s*(\[[^\]]+\]|[^\[\],]+)\s*)?\s*"
)


def named_by_text(
    text: str,
    *,
    metric: Literal["l2", "l1"] = "l2",
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Kernel | GroupedKernel | L1Kernel:
    """The kernel that a text names, of groups of columns where it has ``.on(`` in it.

    Parameters
    ----------
    metric : "l2" or "l1"
        What z is in a formula: the Euclidean distance, or the sum of the distances of all columns.
    text, parameters, **options :
        As for :func:`spectra.kernels.catalogue.kernel_from_text`; of groups the parameters are for
        the kernel of each group that has them, and there are no other options.

    Raises
    ------
    ParameterError, FormulaError
        Where the text is no such kernel, with the piece that is not.

    Examples
    --------
    >>> kernel = named_by_text("(exp(-z**2/2)).on([0, 1])*(matern(nu=5/2)).on([2], length=30) - .5")
    >>> print(kernel)
    (exp(-z**2/2)).on([0, 1])*(matern(nu=5/2, length=1)).on([2], length=[30]) + -0.5
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
    if _ON.search(text) is None:
        return kernel_from_text(text, parameters=parameters, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"{short(text)!r} is a kernel of groups of columns, which takes no {given[0]}: write "
            "it into the kernel of a group."
        )
    reader = _Reader(text, dict(parameters or {}))
    kernel = reader.sum()
    unused = set(parameters or {}) - reader.used
    if unused:
        raise ParameterError(f"No kernel of {short(text)!r} has the parameter {min(unused)!r}.")
    return kernel


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str, parameters: dict[str, Any]) -> None:
        self._text, self._at = text, 0
        self._parameters = parameters
        self.used: set[str] = set()

    def sum(self) -> GroupedKernel:
        """The whole text."""
        total = self._product(self._sign())
        while self._next() in ("+", "-"):
            self._at += 1
            negative = self._text[self._at - 1] == "-"
            total = total + self._product(self._sign() * (-1.0 if negative else 1.0))
        if self._next():
            raise self._refusal("+, - or * is wanted")
        return total

    def _product(self, weight: float) -> GroupedKernel:
        product = GroupedKernel((Product(weight, ()),)) * self._factor()
        while self._next() == "*":
            self._at += 1
            product = product * self._factor()
        return product

    def _factor(self) -> GroupedKernel | float:
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return float(number[1])
        if self._next() != "(":
            raise self._refusal("a number or (KERNEL).on([columns]) is wanted")
        inner = self._bracket()
        found = _ON.match(self._text, self._at)
        if found is None:
            raise self._refusal(f"({short(inner)}) is followed by no .on([columns])")
        self._at = found.end() - 1
        arguments = _ARGUMENTS.fullmatch(self._bracket())
        if arguments is None:
            raise self._refusal("on takes columns, and length=, as in .on([0, 1], length=2)")
        own = parameters_in(inner, self._parameters)
        self.used |= own.keys()
        columns = [int(c) for c in arguments[1].strip("[]").split(",") if c.strip()]
        kernel = kernel_from_text(inner, parameters=own).on(columns)
        if arguments[2] is None:
            return kernel
        return self._divided(kernel, columns, arguments[2])

    def _divided(self, kernel: GroupedKernel, columns: list[int], text: str) -> GroupedKernel:
        try:
            lengths = [float(v) for v in text.strip("[] ").split(",")]
        except ValueError as error:
            raise self._refusal(f"{text!r} are no lengths") from error
        if len(lengths) == 1:
            return kernel.rescale(lengths[0])
        if len(lengths) != len(columns):
            raise self._refusal(f"{len(lengths)} lengths are given for {len(columns)} columns")
        every = [1.0] * (max(columns) + 1)
        for column, length in zip(columns, lengths, strict=True):
            every[column] = length
        # The lengths are of these columns alone, and say nothing of how many the data have.
        return GroupedKernel(kernel.rescale(every).terms)

    def _sign(self) -> float:
        if self._next() not in ("+", "-"):
            return 1.0
        self._at += 1
        return -1.0 if self._text[self._at - 1] == "-" else 1.0

    def _next(self) -> str:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _bracket(self) -> str:
        """What stands between the bracket here and its partner; reading goes on behind it."""
        start, depth = self._at + 1, 0
        for i in range(self._at, len(self._text)):
            depth += (self._text[i] == "(") - (self._text[i] == ")")
            if depth == 0:
                self._at = i + 1
                return self._text[start:i]
        raise self._refusal("this bracket is not closed")

    def _refusal(self, what: str) -> ParameterError:
        here = self._text[max(self._at - 10, 0) : self._at + 20]
        return ParameterError(
            f"{short(self._text)!r} is read as a kernel of groups of columns, and near {here!r} "
            f"{what}. Write for instance (exp(-z**2/2)).on([0, 1]) + 0.5*(exp(-z)).on([2])."
        )
