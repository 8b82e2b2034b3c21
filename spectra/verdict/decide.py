r"""The verdict: is a kernel the difference of two continuous positive definite kernels on R^d?

It is exactly where its spectral measure has finite total mass.  A verdict that decides follows from
requirements that are proved (facts by the local analysis of :mod:`spectra.singularities`, rules in
:mod:`spectra.singularities.rules`); whatever could not be shown is a gap, and a gap that matters
makes the verdict UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

from spectra.base.limits import stage, staged
from spectra.base.numbers import checked_dim
from spectra.errors import ParameterError
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue.entry import Entry
from spectra.kernels.catalogue.grouped_text import named_by_text
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.measure import SpectralMeasure
from spectra.singularities.places import Ending, LocalAnalysis
from spectra.verdict.assumptions import callable_places, checked_assumptions, with_assumptions
from spectra.verdict.callables import analysed
from spectra.verdict.composed.asymmetric import moved_dimension, moved_places
from spectra.verdict.composed.grouped import GroupedVerdict, verdict_by_group
from spectra.verdict.composed.l1 import L1Verdict, verdict_by_l1
from spectra.verdict.decision import closed_by_proof, decided
from spectra.verdict.verdict import Verdict

__all__ = ["existence", "spectral_measure"]

_FINITE = (
    "Every singularity at a finite radius is weak enough, the kernel is regular at z = 0, and "
    "its behaviour at infinity allows a finite measure."
)


@overload
def existence(kernel: GroupedKernel, dim: int | None = None) -> GroupedVerdict: ...


@overload
def existence(kernel: L1Kernel, dim: int | None = None) -> L1Verdict: ...


@overload
def existence(
    kernel: Kernel | AsymmetricKernel | Callable[..., Any],
    dim: int | None = None,
    *,
    assume: Mapping[str, float] | None = None,
) -> Verdict: ...


@overload
def existence(
    kernel: str, dim: int | None = None, *, assume: Mapping[str, float] | None = None
) -> Any: ...


@staged(
    "deciding on finite mass",
    advice="make a finite measure for the distances of your data, which needs no verdict (design)",
)
def existence(
    kernel: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str | Callable[..., Any],
    dim: int | None = None,
    *,
    assume: Mapping[str, float] | None = None,
) -> Verdict | GroupedVerdict | L1Verdict:
    r"""Decide whether the spectral measure of a kernel has finite mass, from its formula.

    The mass is finite exactly if every singular term :math:`|z - R|^s` at a radius R > 0 has
    :math:`s > (d-1)/2`, k is bounded and tends to k(0) at zero, and at infinity k tends to a limit
    with waves :math:`z^{-\beta}\cos(wz + \varphi)` of :math:`\beta > (d-1)/2` only (or equal, with
    the phase of a sphere measure).

    Parameters
    ----------
    kernel : Kernel, AsymmetricKernel, GroupedKernel, L1Kernel, str or callable
        A kernel, or text: a formula, or a name of the catalogue, "matern(nu=5/2)".  A shift keeps
        the verdict, a tilt needs a kernel that decays faster than it grows, and summands of
        infinite mass must not cancel.  One of groups of columns is decided group by group, each in
        its own dimension, and one of the l1 distance by what :mod:`spectra.verdict.composed.l1`
        says.  A bare callable shows nothing of itself, and only ``assume`` decides (values of a
        function prove neither smoothness nor decay).
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
    Verdict, GroupedVerdict or L1Verdict

    Raises
    ------
    ParameterError
        Where ``dim`` is not an integer >= 1 or not that of the kernel's vectors, an assumption is
        unknown or not positive, or the kernel is a family that was not called.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> k = radial("(1 - z**2/4)**2", support=2)
    >>> existence(k).condition
    d < 5
    >>> existence(k, dim=16).status
    <Status.INFINITE: 'infinite'>
    >>> existence("exp(-z)", dim=16).status, existence("ntk", dim=16).status
    (<Status.FINITE: 'finite'>, <Status.INFINITE: 'infinite'>)
    """
    if dim is not None:
        dim = checked_dim(dim)
    if isinstance(kernel, str):
        kernel = named_by_text(kernel)
    if isinstance(kernel, GroupedKernel | L1Kernel):
        if assume:
            raise ParameterError(
                "assume= says what the formula of a radial kernel does not show: ask existence of "
                "the kernel of a group, or of the profile of an l1 kernel, alone."
            )
        if isinstance(kernel, L1Kernel):
            return verdict_by_l1(kernel, dim, lambda radial, d: existence(radial, d))
        return verdict_by_group(kernel, dim, lambda radial, d: existence(radial, d))
    stated = checked_assumptions(assume)
    dim, analysis, places, given = _facts(kernel, dim)
    places, notes = with_assumptions(places, stated)
    if isinstance(kernel, Kernel) and analysis is not None and any(p.gaps for p in places):
        places, proof = closed_by_proof(kernel, analysis, places)
        notes = proof + notes
    decision = decided(places, dim, _FINITE)
    if isinstance(kernel, AsymmetricKernel) and dim is not None:
        # Tilts have another length in another dimension: this answer is for one d only.
        decision = replace(decision, condition=None)
    told = tuple(f"Stated, not shown: {name} = {value}." for name, value in given.items())
    decision = replace(decision, reasons=(*decision.reasons, *told, *notes))
    return Verdict(
        **vars(decision), kernel=kernel, dim=dim, analysis=analysis, assumed={**given, **stated}
    )


def _facts(
    kernel: Any, dim: int | None
) -> tuple[int | None, LocalAnalysis | None, tuple[Ending, ...], dict[str, str]]:
    """The dimension that the kernel fixes, its analysis, and what is found and stated."""
    if isinstance(kernel, Kernel):
        with stage("reading the singularities"):
            analysis, given = analysed(kernel)
        return dim, analysis, analysis.places, given
    if isinstance(kernel, AsymmetricKernel):
        dim = moved_dimension(kernel, dim)
        return dim, None, moved_places(kernel, dim), {}
    if isinstance(kernel, Entry):
        raise ParameterError(
            f"{kernel.id} has parameters, and the verdict may depend on them: call it first, for "
            f"instance existence(catalogue[{kernel.id!r}](), dim)."
        )
    if not callable(kernel):
        raise ParameterError(
            f"existence needs a Kernel, and got {type(kernel).__name__}: make one with radial() or "
            "zonal()."
        )
    return dim, None, callable_places(), {}


def spectral_measure(kernel: Kernel | str, dim: int) -> SpectralMeasure:
    """The finite spectral measure of a kernel: ``existence(kernel, dim).measure``."""
    measure: SpectralMeasure = existence(kernel, dim).measure
    return measure
