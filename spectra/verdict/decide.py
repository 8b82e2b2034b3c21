r"""The verdict: is a kernel the difference of two continuous positive definite kernels on R^d?

This holds exactly if its spectral measure has finite total mass.  The local analysis of
:mod:`spectra.singularities` finds proved requirements on d, from which FINITE and INFINITE follow,
and gaps, which were not proved; a gap that matters makes the verdict UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import sympy

from spectra.base.limits import stage, staged
from spectra.base.numbers import checked_dim
from spectra.errors import ParameterError
from spectra.kernels.catalogue.entry import Family
from spectra.kernels.catalogue.reading import any_kernel_from_text
from spectra.kernels.composite import CompositeKernel, Factor, of_factor
from spectra.kernels.kernel import Kernel
from spectra.kernels.metrics import EUCLIDEAN, L1Metric
from spectra.kernels.profile_terms import l1_components, no_l1_route
from spectra.kernels.tabulated import TabulatedKernel
from spectra.measure import SpectralMeasure
from spectra.singularities.zeros import with_exact_ends
from spectra.verdict.assumptions import analyse_with_facts, apply_assumptions, check_assumptions
from spectra.verdict.combination import close_gaps_by_proof, combine
from spectra.verdict.composite import combine_factors, with_tilt
from spectra.verdict.status import Status
from spectra.verdict.verdict import Verdict

__all__ = ["existence", "spectral_measure"]


@staged(
    "deciding on finite mass",
    advice="make a finite measure for the distances of your data, which needs no verdict (design)",
)
def existence(
    kernel: Kernel | CompositeKernel | str,
    dim: int | None = None,
    *,
    assume: Mapping[str, float] | None = None,
) -> Verdict:
    r"""Decide whether the spectral measure of a kernel has finite mass, from its formula.

    The mass is finite exactly if every singular term :math:`|z - R|^s` at a radius R > 0 has
    :math:`s > (d-1)/2`, k is bounded and tends to k(0) at zero, and at infinity k is a limit plus
    decaying terms, among them waves :math:`z^{-\beta}\cos(wz + \varphi)` with :math:`\beta >
    (d-1)/2`, or with :math:`\beta = (d-1)/2` and the phase of a measure on the sphere of radius w.

    Parameters
    ----------
    kernel : Kernel, CompositeKernel or str
        A kernel, or text: a formula, or a name of the catalogue, such as "matern(nu=5/2)".  For
        tilted kernels a verdict is known if the kernel has compact support or is a sum of
        Gaussians.  A kernel of groups of columns is decided group by group, each in its own
        dimension.
    dim : int, optional
        The dimension d >= 1; without it the verdict has a condition on d.  The vectors of an
        asymmetric kernel fix it.
    assume : mapping, optional
        Facts that you know and the formula does not show; the verdict records them.  "smoothness":
        every singularity that was not found, at a finite radius, has a larger exponent than this.
        "decay": k minus its limit, with derivatives, decays without oscillation like this power of
        1/z.  "origin": k - k(0), with derivatives, vanishes like this power of z.

    Returns
    -------
    Verdict

    Raises
    ------
    ParameterError
        If ``dim`` is not an integer >= 1, an assumption is unknown or not positive, or the kernel
        is a parametric catalogue entry that was not called.
    DataError
        If ``dim`` is not that of the kernel's vectors, or lacks a column of its groups.

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
        kernel = any_kernel_from_text(kernel)
    if isinstance(kernel, Family):
        raise ParameterError(
            f"{kernel.id} has parameters, and the verdict may depend on them: call it first, for "
            f"instance existence(catalogue[{kernel.id!r}](), dim)."
        )
    assumptions = check_assumptions(assume)
    if isinstance(kernel, CompositeKernel):
        return _decide_composite(kernel, dim, assumptions)
    return decide_profile(kernel, dim, assumptions, tilted=False)


@singledispatch
def decide_profile(
    kernel: Any, dim: int | None, assumptions: Mapping[str, Any], *, tilted: bool
) -> Verdict:
    """The verdict on a function of |x - y|, dispatched on its class; ``tilted``: times a tilt."""
    raise ParameterError(
        f"existence needs a kernel, and got {kernel!r}: make one with radial() or zonal(), from a "
        "formula or from a function of the distance with facts about it."
    )


@decide_profile.register
def _(kernel: Kernel, dim: int | None, assumptions: Mapping[str, Any], *, tilted: bool) -> Verdict:
    """Decide from the singularities of a formula."""
    kernel, changes = with_exact_ends(kernel)
    with stage("reading the singularities"):
        analysis, facts = analyse_with_facts(kernel)
    if tilted:
        analysis = with_tilt(kernel, analysis)
    points, notes = apply_assumptions(analysis.points, assumptions)
    if any(p.gaps for p in points) and not tilted:
        points, proof_reasons = close_gaps_by_proof(kernel, analysis, points)
        notes = proof_reasons + notes
    reason_if_finite = "Every singularity is weak enough, at z = 0, at each radius and at infinity."
    status, condition, reasons, deciding = combine(points, dim, reason_if_finite)
    stated = tuple(f"Stated, not shown: {name} = {value}." for name, value in facts.items())
    reasons = (*reasons, *changes, *stated, *notes)
    assumed = {**facts, **assumptions}
    return Verdict(status, condition, reasons, deciding, kernel, dim, analysis, assumed)


@decide_profile.register
def _(
    kernel: TabulatedKernel, dim: int | None, assumptions: Mapping[str, Any], *, tilted: bool
) -> Verdict:
    """A table is a measure of finite mass in its own dimension, and known in no other."""
    table = kernel.table
    reason = f"It is given by a measure of mass {table.mass:.6g} on R^{table.dim}."
    status = Status.FINITE if dim == table.dim and not tilted else Status.UNDECIDED
    return Verdict(status, None, (reason,), None, kernel, dim)


def _decide_composite(
    kernel: CompositeKernel, dim: int | None, assumptions: Mapping[str, Any]
) -> Verdict:
    """Decide from the verdicts on the factors, each in the dimension of its columns."""
    dim = kernel.dim if dim is None else kernel.check_dim(dim)
    owners = dict.fromkeys((f, any(t.tilt)) for t in kernel.terms for f in t.factors)
    if assumptions and any(f.columns is not None or f.metric != EUCLIDEAN for f, _ in owners):
        raise ParameterError(
            "assume= says what the formula of a radial kernel does not show: ask existence of "
            "the kernel of a group, or of the profile of an l1 kernel, alone."
        )
    verdicts = {
        (f, tilted): decide_factor(f.metric, f, f.size(dim), assumptions, tilted)
        for f, tilted in owners
    }
    single = kernel.single_factor
    if single is not None and single.metric != EUCLIDEAN and single.columns is None:
        ((_, verdict),) = verdicts.items()
        return replace(verdict, kernel=kernel)
    status, condition, reason = combine_factors(kernel, verdicts)
    reasons: tuple[str, ...] = (reason,)
    if len(verdicts) == 1 and all(f.columns is None for f, _ in verdicts):
        ((_, only),) = verdicts.items()
        reasons = only.reasons if status is only.status else (reason, *only.reasons)
    else:
        reasons += tuple(_describe(f, v) for (f, _), v in verdicts.items())
    by_group = tuple((f, v) for (f, _), v in verdicts.items())
    if dim is not None or kernel.columns:
        condition = None  # the kernel fixes its dimensions
    return Verdict(status, condition, reasons, None, kernel, dim, by_group=by_group,
                   assumed=assumptions)  # fmt: skip


def _describe(factor: Factor, verdict: Verdict) -> str:
    """The verdict on a factor in a sentence."""
    own = factor.columns
    place = "" if own is None else f"columns {list(own)}, d = {factor.size(None)}: "
    first = verdict.reasons[0] if verdict.reasons else ""
    return f"{place}{verdict.kernel}, {verdict.status.value}. {first}"


@singledispatch
def decide_factor(
    metric: Any, factor: Factor, dim: int | None, assumptions: Mapping[str, Any], tilted: bool
) -> Verdict:
    """The verdict on a factor in its own columns, dispatched on its metric."""
    return decide_profile(factor.profile, dim, assumptions, tilted=tilted)


@decide_factor.register
def _(
    metric: L1Metric, factor: Factor, dim: int | None, assumptions: Mapping[str, Any], tilted: bool
) -> Verdict:
    kernel, profile = of_factor(factor.profile, metric=metric), factor.profile
    if tilted:
        reason = "No rule decides it for tilted kernels of the l1 distance."
        return Verdict(Status.UNDECIDED, None, (reason,), None, kernel, dim)
    if dim != 1 and l1_components(profile) is not None:
        reason = "It is a sum of truncated distances and exponentials, of finite mass in every d."
        return Verdict(Status.FINITE, sympy.true, (reason,), None, kernel, dim)
    on_line = decide_profile(profile, 1, {}, tilted=False)
    by_group = ((Factor(profile, (0,), (1.0,)), on_line),)
    status, reasons = on_line.status, on_line.reasons
    if dim != 1 and status is Status.INFINITE:
        reason = "If all columns but one agree, it is f on the line, whose mass is infinite."
        reasons = (reason, *reasons)
    elif dim != 1:
        status, reasons = Status.UNDECIDED, (no_l1_route(profile),)
    condition = {Status.FINITE: sympy.true, Status.INFINITE: sympy.false}.get(status)
    return Verdict(status, condition, reasons, None, kernel, dim, by_group=by_group)


def spectral_measure(kernel: Kernel | str, dim: int) -> SpectralMeasure:
    """The finite spectral measure of a kernel: ``existence(kernel, dim).measure``."""
    return existence(kernel, dim).measure
