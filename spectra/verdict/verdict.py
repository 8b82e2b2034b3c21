"""The result of :func:`~spectra.existence`: status, reasons, measure, and further decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy

from spectra.base.limits import limit_in_force, staged
from spectra.base.numbers import checked_dim
from spectra.density import spectral_density
from spectra.errors import InfiniteMassError, ParameterError, TimeLimitError, UndecidedError
from spectra.kernels.composite import Factor
from spectra.kernels.kernel import Kernel
from spectra.measure import SpectralMeasure, measure_of
from spectra.singularities.results import LocalAnalysis, Singularity
from spectra.verdict.positive_definite import definiteness
from spectra.verdict.range_and_sphere import decide_on_sphere, verdict_on_range, verdict_on_sphere
from spectra.verdict.status import Definiteness, RegionVerdict, Status, check_condition, in_words

__all__ = ["Verdict", "as_data", "as_text"]

_ANSWER = {True: "yes", False: "no", None: "not settled"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether the spectral measure of a kernel on R^d has finite mass, and why.

    Attributes
    ----------
    status : Status
        FINITE, INFINITE or UNDECIDED.  Without ``dim`` it is UNDECIDED if the mass is finite for
        some d only; ``condition`` says for which.
    condition : sympy expression or None
        For which d the mass is finite, in ``Symbol("d", integer=True, positive=True)``; None if
        it could not be decided, or if the kernel fixes the dimension.
    reasons : tuple of str
        Sentences, the deciding one first.
    deciding : Singularity or None
        The singularity that bounds d, if there is one.
    kernel, dim :
        The arguments of ``existence``; ``dim`` is None for a verdict on every dimension.
    analysis : LocalAnalysis or None
        The singularities, requirements and gaps of a radial kernel; None for other kernels.
    assumed : mapping
        The facts that the user stated, which were not checked.
    by_group : tuple of (Factor, Verdict)
        For groups of columns, the verdict on the kernel of each group, in the dimension of the
        group; for the l1 distance, the verdict on one column, if it was computed.
    """

    status: Status
    condition: sympy.Basic | None
    reasons: tuple[str, ...]
    deciding: Singularity | None
    kernel: Any
    dim: int | None
    analysis: LocalAnalysis | None = None
    assumed: Mapping[str, Any] = field(default_factory=dict)
    by_group: tuple[tuple[Factor, Verdict], ...] = ()

    def __post_init__(self) -> None:
        check_condition(self.status, self.condition, self.dim)

    def __bool__(self) -> bool:
        return bool(self.status)  # raises

    def __repr__(self) -> str:
        return f"Verdict on {self.kernel}: {self._answer}"

    def __str__(self) -> str:
        lines = [f"{self.kernel}: {self._headline}", *self.reasons]
        if self.status is Status.INFINITE:
            lines += self._alternatives()
        return "\n  ".join(lines)

    @property
    def _answer(self) -> str:
        """The answer in a phrase."""
        if self.dim is None and self.condition in (sympy.true, sympy.false):
            return f"its spectral measure has {self.status.value} mass in every dimension d"
        if self.dim is None and self.condition is not None:
            return f"its spectral measure has finite mass exactly for {self.condition}"
        where = "" if self.dim is None else f" in d = {self.dim}"
        if self.status is Status.UNDECIDED:
            return f"whether its spectral measure has finite mass{where} is undecided"
        return f"its spectral measure has {self.status.value} mass{where}"

    @property
    def _headline(self) -> str:
        """The answer on R^d; for a zonal kernel, first the answer on the unit sphere."""
        if self.sphere is None:
            return self._answer
        where = "the unit sphere" + ("" if self.dim is None else f" of R^{self.dim}")
        if self.sphere.condition is not None and self.dim is None:
            phrase = f"has a decomposition on {where} for {in_words(self.sphere.condition)}"
        else:
            words = {
                Status.FINITE: "has a decomposition",
                Status.INFINITE: "has no decomposition",
                Status.UNDECIDED: "may or may not have a decomposition",
            }
            phrase = f"{words[self.sphere.status]} on {where}"
        return f"{phrase}; on all of R^d {self._answer}"

    @cached_property
    def sphere(self) -> RegionVerdict | None:
        """For a kernel in u = <x, y>, the verdict on the unit sphere from its singularities.

        None for other kernels, and in d = 1.  :meth:`on_sphere` computes coefficients too.
        """
        if self.analysis is None or not self.kernel.is_zonal or self.dim == 1:
            return None
        return decide_on_sphere(self.kernel, self.analysis, self.dim)

    def _alternatives(self) -> list[str]:
        """Advice for infinite mass, unless the kernel is unbounded at 0."""
        if self.sphere is not None and self.sphere.status is Status.FINITE:
            return ["For rows on the unit sphere, SpectralFeatures makes features of this kernel."]
        if self.analysis is None or self.analysis.origin.limit is None:
            return []
        return [
            "On the range of distances in your data a finite measure may still exist: design makes "
            "one, and SpectralFeatures makes features from it."
        ]

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain data (text and numbers), for JSON."""
        return {
            "kernel": str(self.kernel),
            "dim": self.dim,
            "status": self.status.name,
            "condition": None if self.condition is None else str(self.condition),
            "reasons": list(self.reasons),
            "deciding": None if self.deciding is None else self.deciding.as_dict(),
            "singularities": [s.as_dict() for s in self.singularities],
            "assumed": {name: str(value) for name, value in self.assumed.items()},
            "groups": [
                {"columns": f.columns and list(f.columns), "lengths": list(f.lengths)} | v.as_dict()
                for f, v in self.by_group
            ],
            "sphere": None if self.sphere is None else _region_data(self.sphere),
        }

    @property
    def singularities(self) -> tuple[Singularity, ...]:
        """The singularities of a radial kernel, from zero to infinity."""
        return self.analysis.singularities if self.analysis is not None else ()

    @cached_property
    def measure(self) -> SpectralMeasure:
        """The spectral measure, if the verdict is FINITE.

        Raises
        ------
        InfiniteMassError, UndecidedError
            If the verdict is not FINITE; the message lists the alternatives.
        ParameterError
            If the verdict is for every dimension, or the kernel is not radial.
        """
        kernel, analysis = self._radial("a real measure")
        if self.dim is None:
            raise ParameterError("A measure needs a dimension: ask existence(kernel, dim=...).")
        self.raise_unless_finite()
        at_zero = analysis.origin.limit
        if at_zero and float(at_zero) in (0.0, math.inf, -math.inf):
            raise ParameterError(
                f"k(0) = {sympy.sstr(at_zero.evalf(3))} is beyond double precision: divide the "
                "kernel by it, and multiply the features' weights."
            )
        return measure_of(spectral_density(kernel, self.dim))

    def raise_unless_finite(self) -> None:
        """Raise an InfiniteMassError or UndecidedError if the verdict is not FINITE."""
        if self.status is Status.FINITE:
            return
        is_infinite = self.status is Status.INFINITE
        if not isinstance(self.kernel, Kernel):
            raise (InfiniteMassError if is_infinite else UndecidedError)(str(self))
        answer = f"{self.kernel}: {self._headline}. {' '.join(self.reasons[:1])}"
        if is_infinite:
            raise InfiniteMassError(
                f"{answer} No positive decomposition exists on R^d.",
                in_python="Ask on_domain(z_max) whether one exists on the range of your data, and "
                "make it with design(kernel, dim, domain, tol).",
                at_shell="'spectra design' makes a measure for the distances of your data, where "
                "there is one: give it the largest distance with --z-max.",
            )
        raise UndecidedError(
            answer,
            in_python="State what you know with existence(kernel, dim, assume={...}); the new "
            "verdict has a measure if a route finds the density. Or make a finite measure with "
            "design(kernel, dim, domain, tol).",
            at_shell="For a verdict, state what you know: 'spectra check' with --assume. A "
            "finite measure for the distances of your data is made by 'spectra design'.",
        )

    def _radial(self, purpose: str) -> tuple[Kernel, LocalAnalysis]:
        """Kernel and analysis; ParameterError, which names the purpose, if it is not radial."""
        if isinstance(self.kernel, Kernel) and self.analysis is not None:
            return self.kernel, self.analysis
        raise ParameterError(
            f"{self.kernel} is a function of x - y, not of |x - y|, and {purpose} needs a radial "
            f"kernel: take that of each group or term. derive(kernel, dim) tabulates its measure."
        )

    @cached_property
    @staged("deciding on positive definiteness")
    def positive_definite(self) -> Definiteness:
        """Whether the kernel is positive definite on R^d, with the reason.

        ``.answer`` is True if it is proved, False if it is refuted, None otherwise.
        """
        return definiteness(self)

    @staged("deciding on the sphere")
    def on_sphere(self, dim: int | None = None, *, degree: int = 40) -> RegionVerdict:
        """Decide whether the kernel has a decomposition on the unit sphere.

        Parameters
        ----------
        dim : int, optional
            d >= 2, by default the dimension of the verdict.
        degree : int
            How many Gegenbauer coefficients to compute.

        Notes
        -----
        A decomposition exists exactly if the Gegenbauer series converges absolutely.  A term
        |z - R|^s at 0 < R < 2 needs s > (d - 2)/2.  At z = 0 and at the antipode z = 2, every s > 0
        is allowed.  For a positive definite kernel, the absolute terms add up to k(0).
        """
        kernel, analysis = self._radial("a verdict on the sphere")
        dim = checked_dim(self.dim if dim is None else dim, least=2)
        return verdict_on_sphere(kernel, analysis, dim, degree)

    @staged("deciding on a range of distances")
    def on_domain(self, z_max: float | sympy.Expr | None = None) -> RegionVerdict:
        """Decide whether any continuation beyond ``z_max`` has finite mass.

        Parameters
        ----------
        z_max : number, optional
            The largest distance of two points of the data; 2 for a zonal kernel by default.
        """
        kernel, analysis = self._radial("a verdict on a range of distances")
        return verdict_on_range(kernel, analysis, self.dim, z_max)


def _region_data(region: RegionVerdict) -> dict[str, Any]:
    """The answer for a region as plain data."""
    condition = None if region.condition is None else str(region.condition)
    return {"status": region.status.name, "condition": condition, "reasons": list(region.reasons)}


def as_text(verdict: Verdict) -> str:
    """The verdict as lines of text: the answer, the reasons, and positive definiteness."""
    lines = [str(verdict)]
    if verdict.dim is not None and verdict.condition is not None:
        lines.append(f"  For which d the mass is finite: {in_words(verdict.condition)}.")
    where = "for every d" if verdict.dim is None else f"in d = {verdict.dim}"
    definite = _definiteness_in_time(verdict)
    lines.append(f"  Positive definite {where}: {_ANSWER[definite.answer]}. {definite.reason}")
    return "\n".join(lines)


def as_data(verdict: Verdict) -> dict[str, Any]:
    """``verdict.as_dict()`` with positive definiteness, for JSON."""
    definite = _definiteness_in_time(verdict)
    largest = definite.max_dim
    data = verdict.as_dict()
    data["positive_definite"] = {
        "answer": definite.answer,
        "reason": definite.reason,
        "max_dim": "infinity" if largest == math.inf else largest,
    }
    return data


def _definiteness_in_time(verdict: Verdict) -> Definiteness:
    """Decide positive definiteness, unless the spectral masses take longer than the time limit."""
    try:
        return verdict.positive_definite
    except TimeLimitError:
        reason = f"masses: not computed within {limit_in_force():g} s (more with --time-limit)."
        return Definiteness(None, reason)
