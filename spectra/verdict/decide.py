r"""The verdict: is a kernel the difference of two continuous positive definite kernels on R^d?

It is exactly where its spectral measure has finite total mass.  A verdict that decides follows from
requirements that are proved (the local analysis of :mod:`spectra.singularity`); whatever could not
be shown is a gap, and a gap that matters makes the verdict UNDECIDED.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import sympy

from spectra.asymmetric import AsymmetricKernel
from spectra.definiteness import proved_on_space, proved_on_sphere
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError, UndecidedError
from spectra.families.asymmetric import AsymmetricFamily
from spectra.families.named import Family
from spectra.formula.parameters import exact_parameter
from spectra.kernel import Kernel
from spectra.progress import stage, staged
from spectra.singularity.branches import same_radius
from spectra.singularity.germs import ExpansionError, is_zero
from spectra.singularity.local import one_sided
from spectra.singularity.places import Ending, Gap, LocalAnalysis, Profile, Requirement, Singularity
from spectra.sphere import SphereCoefficients, sphere_coefficients
from spectra.verdict.assumed import callable_places, checked_assumptions, with_assumptions
from spectra.verdict.definite import Definiteness, definiteness
from spectra.verdict.ladder import Ladder, mass_ladder
from spectra.verdict.moved import moved_dimension, moved_places
from spectra.verdict.spherical import cut_at, sphere_places, without_idle_kinks
from spectra.verdict.stated import Given, analysed, refuse_callables
from spectra.verdict.status import D, DomainVerdict, NoTruthValue, SphereVerdict, Status

if TYPE_CHECKING:
    from spectra.measure import SpectralMeasure

__all__ = [
    "D",
    "DomainVerdict",
    "SphereVerdict",
    "Status",
    "Verdict",
    "existence",
    "spectral_measure",
]

#: Masses are of the size of k(0); products of two of them must not leave the doubles.
_LEAST_VALUE = sympy.Rational(1, 10**150)


@dataclass(frozen=True)
class _Decision:
    status: Status
    condition: sympy.Basic | None
    reasons: tuple[str, ...]
    deciding: Singularity | None


@dataclass(frozen=True)
class Verdict(NoTruthValue):
    """Whether the spectral measure of a kernel on R^d has finite mass, and why.

    Attributes
    ----------
    kernel, dim :
        What was asked; ``dim`` is None where every dimension was.
    status : Status
        FINITE, INFINITE or UNDECIDED.  Without ``dim`` a condition that depends on d makes it
        UNDECIDED: the condition has the answer.
    condition : sympy expression or None
        For which d the mass is finite, in ``Symbol("d", integer=True, positive=True)``; None where
        it could not be decided.
    reasons : tuple of str
        Sentences, the deciding one first.
    deciding : Singularity or None
        What bounds the dimension.
    analysis : LocalAnalysis or None
        Everything that was found; None for a callable, and for an asymmetric kernel, which has
        one for each summand.
    assumed : mapping
        What the caller stated and the toolkit did not check.
    """

    kernel: Kernel | AsymmetricKernel | Callable[..., Any]
    dim: int | None
    status: Status
    condition: sympy.Basic | None
    reasons: tuple[str, ...]
    deciding: Singularity | None
    analysis: LocalAnalysis | None = field(repr=False)
    assumed: Mapping[str, Any] = field(default_factory=dict)

    __bool__ = NoTruthValue.__bool__

    def __repr__(self) -> str:
        return f"Verdict on {self.kernel}: {self._answer}"

    def __str__(self) -> str:
        return "\n".join([f"{self.kernel}: {self._answer}", *(f"  {r}" for r in self.reasons)])

    @property
    def _answer(self) -> str:
        """The answer in a phrase."""
        if self.dim is None and self.condition == sympy.true:
            return "its spectral measure has finite mass in every dimension d"
        if self.dim is None and self.condition == sympy.false:
            return "its spectral measure has infinite mass in every dimension d"
        if self.dim is None and self.condition is not None:
            return f"its spectral measure has finite mass exactly for {self.condition}"
        where = "" if self.dim is None else f" in d = {self.dim}"
        if self.status is Status.UNDECIDED:
            return f"whether its spectral measure has finite mass{where} is undecided"
        return f"its spectral measure has {self.status.value} mass{where}"

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
        }

    @property
    def singularities(self) -> tuple[Singularity, ...]:
        """Every place where the kernel is not smooth, from zero to infinity."""
        return self.analysis.singularities if self.analysis is not None else ()

    @cached_property
    def measure(self) -> SpectralMeasure:
        """The spectral measure, where the verdict is FINITE.

        Raises
        ------
        InfiniteMassError, UndecidedError
            Where the verdict is not FINITE; the message names the ways out.
        ParameterError
            Where the verdict is for every dimension, or for a callable.
        """
        kernel = self._radial("a real measure")
        if self.dim is None:
            raise ParameterError(
                "A measure belongs to a formula in one dimension, and this verdict has none: ask "
                "existence(kernel, dim=...)."
            )
        why = self.reasons[0] if self.reasons else ""
        if self.status is Status.INFINITE:
            raise InfiniteMassError(
                f"The spectral measure of {self.kernel} has infinite mass in d = {self.dim}. {why} "
                "No positive decomposition exists on R^d. Ask on_domain(z_max) whether one exists "
                "on the range of your data and make it with design(kernel, dim, domain, tol), or "
                "give up exactness openly with spectra.measure.truncate(density, radius)."
            )
        if self.status is Status.UNDECIDED:
            raise UndecidedError(
                f"Whether the spectral measure of {self.kernel} has finite mass in d = {self.dim} "
                f"is undecided. {why} State what you know with assume=, or make a finite measure "
                "with design(kernel, dim, domain, tol)."
            )
        from spectra.measure import measure_of
        from spectra.transform import spectral_density

        _refuse_extreme_values(kernel, self.analysis)
        return measure_of(spectral_density(kernel, self.dim))

    def _radial(self, what: str) -> Kernel:
        """The kernel, where it is a radial one with a formula."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if isinstance(self.kernel, AsymmetricKernel):
            raise ParameterError(
                f"{self.kernel} is a function of x - y, not of |x - y|, and has not {what}: ask "
                "for that of its radial kernels. The function asymmetric_table(kernel, dim) of "
                "spectra.asymmetric_measure tabulates its complex measure."
            )
        raise ParameterError(f"A callable shows no formula, and {what} needs one: use radial(...).")

    @cached_property
    @staged("deciding on positive definiteness")
    def positive_definite(self) -> Definiteness:
        """Whether the kernel is positive definite on R^d, with the reason.

        ``.answer`` is True where it is proved, False where it is refuted, None otherwise.
        """
        return definiteness(self)

    @staged("deciding on the sphere")
    def on_sphere(self, dim: int | None = None, *, degree: int = 40) -> SphereVerdict:
        """Decide the same question for the kernel on the unit sphere itself.

        Parameters
        ----------
        dim : int, optional
            d >= 2, by default the dimension of the verdict.
        degree : int
            How many Gegenbauer coefficients to compute.

        Notes
        -----
        A decomposition exists exactly where the Gegenbauer series converges absolutely.  A term
        |z - R|^s at 0 < R < 2 needs s > (d - 2)/2; at z = 0 and at the antipode z = 2 the kernel
        need only be continuous, like a power.  Positive definite kernels have the sum k(0).
        """
        kernel = self._radial("a verdict on the sphere")
        assert self.analysis is not None  # every radial kernel has one
        kernel = without_idle_kinks(kernel, self.analysis)
        dim = checked_dimension(self.dim if dim is None else dim, least=2)
        coefficients: SphereCoefficients | None = None
        texts: list[str] = []
        try:
            coefficients = sphere_coefficients(kernel, dim, degree)
        except AccuracyError as error:
            texts.append(f"Its Gegenbauer coefficients could not be integrated: {error}")
        definite = None if coefficients is None else coefficients.nonnegative
        if definite:
            texts.append("Every Gegenbauer coefficient is nonnegative: positive definite there.")
        elif definite is not False and (proof := proved_on_sphere(kernel, dim)) is not None:
            definite = True
            texts.append(f"Positive definite on the sphere: {proof}")
        elif definite is False:
            texts.append("A Gegenbauer coefficient is negative: indefinite.")
        converges = "Its Gegenbauer series converges absolutely, so a decomposition exists there."
        places, gaps = sphere_places(kernel, self.analysis)
        decision = _decide(places, gaps, dim, converges)
        if definite or (coefficients is not None and math.isfinite(coefficients.tail_bound)):
            # Proved without the singularities, which may have left a gap.
            decision = replace(decision, status=Status.FINITE, reasons=(converges,))
        if decision.status is Status.INFINITE:
            texts.append("Its Gegenbauer series does not converge absolutely: none exists there.")
        return SphereVerdict(
            dim=dim,
            status=decision.status,
            condition=decision.condition,
            positive_definite=definite,
            reasons=(*texts, *decision.reasons),
            deciding=decision.deciding,
            coefficients=coefficients,
        )

    @cached_property
    @staged("partial masses")
    def ladder(self) -> Ladder:
        """Partial masses M(W) on a growing ladder of W, beside the growth that was predicted.

        Raises
        ------
        NoRouteError
            Where no route knows the spectral density.
        ParameterError
            Where the verdict is for every dimension, or for a callable.
        """
        kernel = self._radial("a ladder of masses")
        if self.dim is None or self.analysis is None:
            raise ParameterError(
                "A ladder of masses needs a dimension: existence(kernel, dim=...)."
            )
        from spectra.transform import spectral_density

        return mass_ladder(spectral_density(kernel, self.dim), self.analysis)

    def confirmed(self) -> Verdict:
        """The verdict where the ladder does not contradict it, else an UNDECIDED one."""
        if self.ladder.agrees is not False:
            return self
        text = f"Not shown: the partial masses contradict the local analysis ({self.ladder})."
        return replace(self, status=Status.UNDECIDED, condition=None, reasons=(text, *self.reasons))

    @staged("deciding on a range of distances")
    def on_domain(self, z_max: float | sympy.Expr | None = None) -> DomainVerdict:
        """Decide whether any continuation beyond ``z_max`` has finite mass.

        Parameters
        ----------
        z_max : number, optional
            The largest distance of two points of the data; 2 for a zonal kernel by default.

        Notes
        -----
        Singularities inside the range are there in every continuation.  At its end a one-sided
        term (z_max - z)^s, s no integer, excludes every continuation where s <= (d - 1)/2, because
        finite differences of order r > s of a kernel of finite mass vanish faster than h^s there.
        """
        kernel = self._radial("a verdict on a range of distances")
        refuse_callables(kernel, "on_domain")
        assert self.analysis is not None  # every radial kernel has one
        if z_max is None:
            if not kernel.is_zonal:
                raise ParameterError(
                    "Give z_max, the largest distance in the data: only a kernel on the unit "
                    "sphere has a range of its own, [0, 2]."
                )
            z_max = 2
        end = exact_parameter("z_max", z_max)
        if not end.is_positive:
            raise ParameterError(f"z_max is a distance and must be positive, and {z_max} is not.")
        places, gaps = _inside(cut_at(kernel, self.analysis, end), end)
        finite = (
            f"Every singularity on [0, {end}] is weak enough, and the kernel can be cut off "
            "smoothly beyond."
        )
        decision = _decide(places, gaps, self.dim, finite)
        return DomainVerdict(end, self.dim, **decision.__dict__)


@staged(
    "deciding on finite mass",
    advice="make a finite measure for the distances of your data, which needs no verdict: "
    "design(kernel, dim, domain=..., tol=...)",
)
def existence(
    kernel: Kernel | AsymmetricKernel | Callable[..., Any],
    dim: int | None = None,
    *,
    assume: Mapping[str, float] | None = None,
) -> Verdict:
    r"""Decide whether the spectral measure of a kernel has finite mass, from its formula.

    The mass is finite exactly if every singular term :math:`|z - R|^s` at a radius R > 0 has
    :math:`s > (d-1)/2`, k is bounded and tends to k(0) at zero, and at infinity k tends to a limit
    with waves :math:`z^{-\beta}\cos(wz + \varphi)` of :math:`\beta > (d-1)/2` only (or equal, with
    the phase of a sphere measure).

    Parameters
    ----------
    kernel : Kernel, AsymmetricKernel or callable
        A kernel.  A shift keeps the verdict, a tilt needs a kernel that decays faster than it
        grows, and summands of infinite mass must not cancel.  A bare callable shows nothing of
        itself, and only ``assume`` decides (values of a function prove neither smoothness nor
        decay).
    dim : int, optional
        The dimension d >= 1; without it the verdict has a condition on d.  The vectors of an
        asymmetric kernel fix it.
    assume : mapping, optional
        What you know and the formula does not show, recorded in the verdict: "smoothness" (every
        singularity at a finite radius that was not found has a larger exponent than this), "decay"
        (k minus its limit, with derivatives, decays without oscillation like this power of 1/z),
        "origin" (k - k(0), with derivatives, vanishes like this power of z).

    Returns
    -------
    Verdict

    Raises
    ------
    ParameterError
        Where ``dim`` is not an integer >= 1 or not that of the kernel's vectors, an assumption is
        unknown or not positive, or the kernel is a family that was not called.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> k = radial("(1 - z**2/4)**2", support=2)
    >>> existence(k).condition
    d < 5
    >>> existence(k, dim=16).status
    <Status.INFINITE: 'infinite'>
    """
    if dim is not None:
        dim = checked_dimension(dim)
    stated = checked_assumptions(assume)
    analysis: LocalAnalysis | None = None
    places = callable_places()
    loose: tuple[Gap, ...] = ()
    given = Given()
    if isinstance(kernel, Kernel):
        with stage("reading the singularities"):
            analysis, loose, given = analysed(kernel)
        places = analysis.places
    elif isinstance(kernel, AsymmetricKernel):
        dim = moved_dimension(kernel, dim)
        places, loose = moved_places(kernel, dim)
    elif isinstance(kernel, Family | AsymmetricFamily):
        name = kernel.entry.id if isinstance(kernel, Family) else kernel.id
        raise ParameterError(
            f"{name} is a family, and the verdict may depend on its parameters: call it "
            f"first, for instance existence(catalogue[{name!r}](), dim)."
        )
    elif not callable(kernel):
        raise ParameterError(
            f"existence needs a Kernel, and got {type(kernel).__name__}: make one with radial() or "
            "zonal()."
        )
    places, gaps, notes = with_assumptions(places, loose, stated)
    if (
        isinstance(kernel, Kernel)
        and analysis is not None
        and (gaps or any(p.gaps for p in places))
    ):
        places, gaps, proof = _with_proof(kernel, analysis, places, gaps)
        notes = proof + notes
    notes = given.notes + notes
    finite = (
        "Every singularity at a finite radius is weak enough, the kernel is regular at z = 0, and "
        "its behaviour at infinity allows a finite measure."
    )
    decision = _decide(places, gaps, dim, finite)
    if isinstance(kernel, AsymmetricKernel) and dim is not None:
        # Tilts have another length in another dimension: this answer is for one d only.
        decision = replace(decision, condition=None)
    if notes:
        decision = replace(decision, reasons=decision.reasons + notes)
    return Verdict(
        kernel=kernel,
        dim=dim,
        status=decision.status,
        condition=decision.condition,
        reasons=decision.reasons,
        deciding=decision.deciding,
        analysis=analysis,
        assumed={**given.values, **stated},
    )


def spectral_measure(kernel: Kernel, dim: int) -> SpectralMeasure:
    """The finite spectral measure of a kernel: ``existence(kernel, dim).measure``.

    Raises
    ------
    InfiniteMassError, UndecidedError
        Where the verdict is not FINITE.
    """
    return existence(kernel, dim).measure


def _decide(
    places: Iterable[Ending], gaps: tuple[Gap, ...], dim: int | None, finite: str
) -> _Decision:
    """Combine requirements, which are certain, with gaps, which may matter or not."""
    places = tuple(places)
    requirements = sorted((r for p in places for r in p.requirements), key=_strictness)
    all_gaps = (*gaps, *(g for p in places for g in p.gaps))
    top = requirements[0].largest if requirements else sympy.oo
    deciding = requirements[0].singularity if requirements else None
    asked = top if dim is None else sympy.Integer(dim)
    open_gaps = tuple(g for g in all_gaps if g.from_dim <= (top if dim is None else asked))
    excluded = top == 0 if dim is None else asked > top
    bound_reasons = tuple(dict.fromkeys(r.reason for r in requirements))
    condition = _condition(requirements)
    known = top == 0 or all(g.from_dim > top for g in all_gaps)
    if excluded:
        return _Decision(Status.INFINITE, condition if known else None, bound_reasons, deciding)
    if open_gaps:
        texts = tuple(dict.fromkeys(f"Not shown: {g.reason}." for g in open_gaps))
        return _Decision(Status.UNDECIDED, None, texts + bound_reasons, deciding)
    if dim is None and top is not sympy.oo:
        text = f"The answer depends on d: it is finite exactly for {condition}."
        return _Decision(Status.UNDECIDED, condition, (text, *bound_reasons), deciding)
    return _Decision(
        Status.FINITE, condition if known else None, (finite, *bound_reasons), deciding
    )


def _with_proof(
    kernel: Kernel, analysis: LocalAnalysis, places: tuple[Ending, ...], gaps: tuple[Gap, ...]
) -> tuple[tuple[Ending, ...], tuple[Gap, ...], tuple[str, ...]]:
    """A proof of positive definiteness is one of finite mass, k(0): it closes gaps below it."""
    proof = proved_on_space(kernel, analysis)
    if proof is None or any(r.largest < proof.largest for p in places for r in p.requirements):
        return places, gaps, ()

    def beyond(open_gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
        if proof.largest == math.inf:
            return ()
        least = sympy.Integer(int(proof.largest)) + 1
        return tuple(replace(g, from_dim=max(g.from_dim, least)) for g in open_gaps)

    text = f"A positive definite kernel has the finite mass k(0). {proof.reason}"
    return tuple(replace(p, gaps=beyond(p.gaps)) for p in places), beyond(gaps), (text,)


def _refuse_extreme_values(kernel: Kernel, analysis: LocalAnalysis | None) -> None:
    """Refuse a measure whose masses no double holds, rather than give 0 or inf."""
    limit = None if analysis is None else analysis.origin.limit
    if limit is None or is_zero(limit):
        return
    size = abs(limit.evalf(15))
    if not _LEAST_VALUE <= size <= 1 / _LEAST_VALUE:
        raise ParameterError(
            f"k(0) = {sympy.sstr(limit.evalf(3))}, and masses in double precision reach from "
            f"{float(_LEAST_VALUE):g} to {float(1 / _LEAST_VALUE):g}: divide the kernel by it, and "
            "multiply the features' weights."
        )


def checked_dimension(dim: object, *, least: int = 1) -> int:
    """A dimension as a Python int; ParameterError where it is none."""
    if isinstance(dim, Integral) and not isinstance(dim, bool) and int(dim) >= least:
        return int(dim)
    raise ParameterError(
        f"A dimension is an integer d >= {least}, the number of columns of the data, and {dim!r} "
        "is not."
    )


def _strictness(requirement: Requirement) -> tuple[float, bool]:
    return (float(requirement.largest), requirement.closed)


def _condition(requirements: list[Requirement]) -> sympy.Basic:
    if not requirements:
        return sympy.true
    largest = requirements[0].largest
    if largest == 0:
        return sympy.false
    # d is an integer: d < 9/5 is told as d < 2, and the reason keeps the exact exponent.
    return sympy.Le(D, largest) if requirements[0].closed else sympy.Lt(D, largest + 1)


def _inside(analysis: LocalAnalysis, end: sympy.Expr) -> tuple[tuple[Ending, ...], tuple[Gap, ...]]:
    """The places that every continuation beyond ``end`` has."""
    cut: Profile = analysis.profile
    places = [analysis.origin]
    if not cut.exprs:
        return tuple(places), analysis.gaps
    for i, (r, ending) in enumerate(analysis.radii):
        if same_radius(r, end):
            try:
                places.append(one_sided(cut.exprs[i], r))
            except ExpansionError as error:
                places.append(Ending(gaps=(Gap(f"The kernel at z = {r}: {error}", location=r),)))
        elif r.evalf(30) < end.evalf(30):
            places.append(ending)
    return tuple(places), analysis.gaps
