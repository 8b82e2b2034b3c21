"""What the page asks: a formula, a dimension, a range and parameters, all as they were typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from spectra.base.numbers import checked_dim
from spectra.errors import ParameterError
from spectra.formula.reader import parse_formula
from spectra.kernels import GroupedKernel, Kernel, L1Kernel
from spectra.kernels.catalogue import catalogue, named_by_text, split_call

__all__ = ["Question"]

_PREFIX = "p."
_NAME = re.compile(r"[^\W\d]\w*")
_METRICS = ("l2", "l1")
#: Distances from 0 to here are shown first (chosen), and twice as far until the kernel has fallen.
_NEAR, _FAR = 4.0, 64.0
_FALLEN = 0.05
_SPHERE = 2.0
#: A support is shown with what lies beyond it.
_BEYOND = 1.1


@final
@dataclass(frozen=True)
class Question:
    """One state of the page; links carry it.

    Attributes
    ----------
    formula : str
        A formula in z or u, a name of the catalogue, or such kernels of groups of columns.
    metric : str
        What z is: "l1" for the sum of the distances of all columns, else the Euclidean distance.
    dim, support, z_max : str
        As typed; an empty ``z_max`` means a range that shows the kernel.
    parameters : tuple of (str, str)
        Every name that has a field, in order.

    Examples
    --------
    >>> asked = Question.from_form({"k": "exp(-a*z)", "d": "2", "p.a": "3/2"})
    >>> print(asked.kernel, asked.dimension, asked.fields)
    exp(-3*z/2) 2 (('a', '3/2'),)
    """

    formula: str
    dim: str = "3"
    support: str = ""
    z_max: str = ""
    metric: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_form(cls, form: Mapping[str, str]) -> Question:
        """The question of a query string or of the body of a request."""
        parameters = tuple(
            (name.removeprefix(_PREFIX), value)
            for name, value in form.items()
            if name.startswith(_PREFIX)
        )
        return cls(
            formula=form.get("k", ""),
            dim=form.get("d", cls.dim).strip(),
            support=form.get("support", "").strip(),
            z_max=form.get("zmax", "").strip(),
            metric=form.get("metric", "").strip(),
            parameters=parameters,
        )

    @cached_property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The parameters that the formula has, with their values: those of a family by default."""
        given = dict(self.parameters)
        name, in_text = split_call(self.formula.strip())
        entry = catalogue.entries.get(name)
        if entry is not None:
            known = {p.name: given.get(p.name, str(p.default)) for p in entry.parameters}
            return tuple((p, value) for p, value in known.items() if p not in in_text)
        names = set(_NAME.findall(name))
        return tuple((p, value) for p, value in given.items() if p in names)

    @cached_property
    def kernel(self) -> Kernel | GroupedKernel | L1Kernel:
        """The kernel that is asked about.

        Raises
        ------
        FormulaError, ParameterError
            Where there is none; ``place`` says which characters are meant.
        """
        if self.metric not in ("", *_METRICS):
            raise ParameterError(
                f"There is no distance {self.metric!r} here: choose one of {', '.join(_METRICS)}."
            )
        return named_by_text(
            self.formula.strip(),
            metric="l1" if self.metric == "l1" else "l2",
            support=self.support or None,
            parameters=dict(self.fields),
        )

    @cached_property
    def dimension(self) -> int:
        """The dimension d."""
        try:
            return checked_dim(int(self.dim))
        except ValueError as error:
            raise ParameterError(
                f"The dimension {self.dim!r} is no whole number of at least 1: write one."
            ) from error

    def reach_of(self, kernel: Kernel) -> float:
        """The largest distance that is shown of a radial kernel, and for which columns are counted.

        The one that was typed, or where the kernel has ended or fallen.
        """
        if self.z_max:
            reach = float(parse_formula(self.z_max, variable="z"))
            if not 0.0 < reach < np.inf:
                raise ParameterError(
                    f"The largest distance {self.z_max!r} is not a positive number: write one."
                )
            return reach
        if kernel.is_zonal:
            return _SPHERE
        if 0.0 < kernel.support < np.inf:
            return _BEYOND * float(kernel.support)
        reach = _NEAR
        while reach < _FAR:
            values = np.abs(kernel(np.linspace(0.0, reach, 65)[1:]))
            if values[-16:].max() <= _FALLEN * values.max():
                break
            reach *= 2.0
        return reach
