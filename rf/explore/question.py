"""The form of the page: a formula, a dimension, a support and parameters, as typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

from spectra.base.numbers import checked_dim
from spectra.errors import ParameterError
from spectra.kernels import CompositeKernel, Kernel
from spectra.kernels.catalogue import any_kernel_from_text

__all__ = ["Question"]

_METRICS = ("l2", "l1")


@final
@dataclass(frozen=True)
class Question:
    """The fields of the form, which are sent in the query string of the URL.

    Attributes
    ----------
    k : str
        The kernel: a formula in z or u, a catalogue name, or a kernel of groups of columns.
    d : str
        The dimension: the number of columns of the data.
    support : str
        The distance beyond which the kernel is zero; empty if there is none.
    metric : {"l2", "l1"}
        Whether z is the Euclidean distance or the l1 distance |x - y|_1.
    parameters : str
        Values of the parameters in the formula, such as "a=3/2, b=2".

    Examples
    --------
    >>> question = Question.from_form({"k": "exp(-a*z)", "d": "2", "parameters": "a=3/2"})
    >>> print(question.kernel, question.dimension)
    exp(-3*z/2) 2
    """

    k: str = ""
    d: str = "3"
    support: str = ""
    metric: str = "l2"
    parameters: str = ""

    @classmethod
    def from_form(cls, form: Mapping[str, str]) -> Question:
        """Read the fields of a query string; unknown and empty fields are ignored."""
        return cls(**{name: form[name].strip() for name in cls.__annotations__ if form.get(name)})

    @cached_property
    def kernel(self) -> Kernel | CompositeKernel:
        """The kernel.

        Raises
        ------
        FormulaError, ParameterError
            If the text is not a valid kernel.
        """
        if self.metric not in _METRICS:
            raise ParameterError(f"metric = {self.metric!r} is not one of {', '.join(_METRICS)}.")
        return any_kernel_from_text(
            self.k,
            metric="l1" if self.metric == "l1" else "l2",
            support=self.support or None,
            parameters=self._parameter_values,
        )

    @cached_property
    def dimension(self) -> int:
        """The dimension d.

        Raises
        ------
        ParameterError
            If it is not a whole number of at least 1.
        """
        try:
            return checked_dim(int(self.d))
        except ValueError as error:
            raise ParameterError(
                f"The dimension {self.d!r} is not a whole number of at least 1."
            ) from error

    @cached_property
    def _parameter_values(self) -> dict[str, str]:
        values = {}
        for pair in filter(None, (part.strip() for part in self.parameters.split(","))):
            name, equals, value = (word.strip() for word in pair.partition("="))
            if not (name and equals and value):
                raise ParameterError(
                    f"The parameter {pair!r} has no value: write, for example, a=3/2, b=2."
                )
            values[name] = value
        return values
