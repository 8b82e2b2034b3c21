"""The types of answers: on finite mass, positive definiteness, and a range or the sphere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

import sympy

from spectra.errors import SpectraError
from spectra.singularities.results import Singularity
from spectra.verdict.sphere_coefficients import SphereCoefficients

__all__ = ["D", "Definiteness", "RegionVerdict", "Status", "check_condition", "in_words"]

#: The symbol d for the dimension, in conditions such as d < 5.
D = sympy.Symbol("d", integer=True, positive=True)


class Status(Enum):
    """Whether the spectral measure has finite mass.  With three answers, bool() raises."""

    FINITE = "finite"
    INFINITE = "infinite"
    UNDECIDED = "undecided"

    def __bool__(self) -> NoReturn:
        # Members of an Enum are true by default, so that INFINITE would count as yes.
        raise SpectraError(
            f"A verdict has three answers, and this one is {self.name}: as a truth value UNDECIDED "
            "would be read as no. Compare verdict.status with Status.FINITE or Status.INFINITE."
        )


@dataclass(frozen=True, repr=False)
class Definiteness:
    """Whether a kernel is positive definite on R^d.

    Attributes
    ----------
    answer : bool or None
        True (proved), False (refuted), or None (neither).  Without a dimension, the question is
        whether the kernel is positive definite for every d.
    reason : str
    max_dim : float or None
        The largest d for which it is positive definite: ``math.inf`` for every d, 0 for none, and
        None if that is not known.
    """

    answer: bool | None
    reason: str
    max_dim: float | None = None

    def __repr__(self) -> str:
        answer = {True: "proved", False: "refuted", None: "not settled"}[self.answer]
        return f"Definiteness: {answer}. {self.reason}"

    def __bool__(self) -> NoReturn:
        raise SpectraError(
            "Definiteness has three answers, and as a truth value one that is not settled would "
            "be read as yes or no. Compare its .answer with True, False or None."
        )


@dataclass(frozen=True, repr=False)
class RegionVerdict:
    """Whether a kernel has a decomposition on a range of distances, or on the unit sphere.

    On a range: whether some kernel on R^d of finite mass has the same values there.  On the
    sphere: whether the Gegenbauer series converges absolutely.

    Attributes
    ----------
    status : Status
    condition : sympy expression or None
        For which d a decomposition exists; None if that could not be decided.
    reasons : tuple of str
    deciding : Singularity or None
        The singularity that bounds the dimension.
    region : str
        "distances up to ..." or "the unit sphere".
    dim : int or None
    positive_definite : bool or None
        On the sphere: True (proved), False (a coefficient is negative beyond its error), or None.
    coefficients : SphereCoefficients or None
        On the sphere; None if they could not be integrated, which the reasons then explain.
    """

    status: Status
    condition: sympy.Basic | None
    reasons: tuple[str, ...]
    deciding: Singularity | None
    region: str
    dim: int | None
    positive_definite: bool | None = None
    coefficients: SphereCoefficients | None = None

    def __post_init__(self) -> None:
        check_condition(self.status, self.condition, self.dim)

    def __bool__(self) -> bool:
        return bool(self.status)  # raises

    def __repr__(self) -> str:
        where = "" if self.dim is None else f" in d = {self.dim}"
        result = "" if self.condition is None else f" (finite for {in_words(self.condition)})"
        if self.coefficients is not None:
            result += f", positive definite: {self.positive_definite}"
        return f"Verdict on {self.region}{where}: {self.status.name}{result}"


def check_condition(status: Status, condition: sympy.Basic | None, dim: int | None) -> None:
    """Raise a SpectraError if a status is not the one that follows from its condition on d."""
    if condition is None:
        return
    holds = condition if dim is None else condition.subs(D, dim)
    implied = {sympy.true: Status.FINITE, sympy.false: Status.INFINITE}.get(holds, Status.UNDECIDED)
    if status is not implied:
        raise SpectraError(
            f"The status {status.name} for d = {dim or 'any'} contradicts the condition that the "
            f"mass is finite for {in_words(condition)}. This is an error of spectra: report it."
        )


def in_words(condition: sympy.Basic) -> str:
    """A condition on d in words."""
    if condition in (sympy.true, sympy.false):
        return "every d" if condition else "no d"
    if isinstance(condition, sympy.And | sympy.Or):
        word = " and " if isinstance(condition, sympy.And) else " or "
        parts = sorted(condition.args, key=lambda part: (part.has(D), str(part)))
        return word.join(f"({in_words(p)})" if p.args[0].is_Boolean else in_words(p) for p in parts)
    if isinstance(condition, sympy.Eq):
        return f"{condition.lhs} = {condition.rhs}"
    return str(condition.reversed if getattr(condition, "rhs", None) == D else condition)
