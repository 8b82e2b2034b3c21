"""The three answers of a verdict, and the verdicts on a bounded range and on the sphere."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn

import sympy

from spectra.errors import SpectraError
from spectra.singularities.places import Singularity
from spectra.verdict.regions.sphere_coefficients import SphereCoefficients

__all__ = ["D", "Decision", "DomainVerdict", "SphereVerdict", "Status", "in_words"]

#: The dimension in conditions.
D = sympy.Symbol("d", integer=True, positive=True)


class Status(Enum):
    """Whether the spectral measure has finite mass; no truth value, as three answers have none."""

    FINITE = "finite"
    INFINITE = "infinite"
    UNDECIDED = "undecided"

    def __bool__(self) -> NoReturn:
        # Members of an Enum are true by default: "if verdict.status" would read INFINITE as yes.
        raise SpectraError(
            f"A verdict has three answers, and this one is {self.name}: as a truth value UNDECIDED "
            "would be read as no. Compare verdict.status with Status.FINITE or Status.INFINITE."
        )


@dataclass(frozen=True)
class Decision:
    """An answer, for which d it holds, why, and what bounds d."""

    status: Status
    condition: sympy.Basic | None
    reasons: tuple[str, ...]
    deciding: Singularity | None

    def __bool__(self) -> bool:
        return bool(self.status)  # which refuses


@dataclass(frozen=True)
class DomainVerdict(Decision):
    """Whether some function beyond ``z_max`` continues the kernel to one of finite mass.

    Attributes
    ----------
    status, condition, reasons, deciding :
        As in :class:`Verdict`.
    z_max : sympy expression
        The largest distance of two points of the data.
    dim : int or None
    """

    z_max: sympy.Expr
    dim: int | None

    def __repr__(self) -> str:
        return f"DomainVerdict on distances up to {self.z_max}{_where(self.dim)}: {_told(self)}"


@dataclass(frozen=True)
class SphereVerdict(Decision):
    """Whether a kernel splits into positive definite ones on the unit sphere of R^dim itself.

    Attributes
    ----------
    status : Status
        FINITE where its Gegenbauer series is proved to converge absolutely, INFINITE where it is
        proved not to.
    condition : sympy expression or None
        For which d >= 2 it converges absolutely, as its singularities tell.
    reasons : tuple of str
    deciding : Singularity or None
        What bounds the dimension.
    dim : int
    positive_definite : bool or None
        True (proved), False (a coefficient is negative beyond its error), or None.
    coefficients : SphereCoefficients or None
        None where they could not be integrated, as the reasons say.
    """

    dim: int
    positive_definite: bool | None
    coefficients: SphereCoefficients | None = field(repr=False)

    def __repr__(self) -> str:
        definite = f"positive definite: {self.positive_definite}"
        return f"SphereVerdict{_where(self.dim)}: {_told(self)}, {definite}"


def _where(dim: int | None) -> str:
    return "" if dim is None else f" in d = {dim}"


def _told(verdict: DomainVerdict | SphereVerdict) -> str:
    status, condition = verdict.status.name, verdict.condition
    return status if condition is None else f"{status} (finite for {in_words(condition)})"


def in_words(condition: sympy.Basic) -> str:
    """A condition on d in words.

    Examples
    --------
    >>> in_words(sympy.Eq(sympy.Symbol("a"), 2) & (sympy.Symbol("p") + 1 > D))
    'a = 2 and d < p + 1'
    """
    if condition in (sympy.true, sympy.false):
        return "every d" if condition else "no d"
    if isinstance(condition, sympy.And | sympy.Or):
        word = " and " if isinstance(condition, sympy.And) else " or "
        parts = sorted(condition.args, key=lambda part: (part.has(D), str(part)))
        return word.join(f"({in_words(p)})" if p.args[0].is_Boolean else in_words(p) for p in parts)
    if isinstance(condition, sympy.Eq):
        return f"{condition.lhs} = {condition.rhs}"
    return str(condition.reversed if getattr(condition, "rhs", None) == D else condition)
