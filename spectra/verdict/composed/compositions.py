"""What verdicts on kernels that are made of radial ones share: the answer in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NoReturn

import sympy

from spectra.errors import ParameterError
from spectra.verdict.positive_definite import Definiteness
from spectra.verdict.status import Status

__all__ = ["ComposedVerdict"]


class ComposedVerdict(ABC):
    """A verdict with a kernel, a status and reasons; subclasses are frozen dataclasses."""

    kernel: Any
    dim: int | None
    status: Status
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.status)  # which refuses

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain data (text and numbers), for JSON."""
        return {
            "kernel": str(self.kernel),
            "dim": self.dim,
            "status": self.status.name,
            "reasons": list(self.reasons),
            **self._verdicts_as_data(),
        }

    @abstractmethod
    def _verdicts_as_data(self) -> dict[str, Any]:
        """The verdicts on radial kernels that it rests on."""

    @cached_property
    @abstractmethod
    def positive_definite(self) -> Definiteness:
        """Whether the kernel is positive definite, with the reason."""

    @property
    def measure(self) -> NoReturn:
        """None: a SpectralMeasure is radial."""
        raise ParameterError(
            f"The measure of {self.kernel} is no radial one, and a SpectralMeasure is: the laws of "
            "its frequencies are in the table, derive(kernel, dim)."
        )

    def __repr__(self) -> str:
        return f"Verdict on {self.kernel}: its spectral measure {self._answer}"

    def __str__(self) -> str:
        return "\n".join(
            [repr(self).removeprefix("Verdict on "), *(f"  {r}" for r in self.reasons)]
        )

    @property
    def _answer(self) -> str:
        if self.status is Status.UNDECIDED:
            return "may or may not have finite mass: undecided"
        return f"has {self.status.value} mass"

    @property
    def condition(self) -> sympy.Basic | None:
        """True, false or None, where the answer does not depend on the number of columns."""
        answers = {Status.FINITE: sympy.true, Status.INFINITE: sympy.false}
        return answers.get(self.status)
