r"""The verdict: is a kernel the difference of two continuous positive definite kernels on R^d?

This holds exactly if its spectral measure has finite total mass.  The local analysis of
:mod:`spectra.singularities` finds proved requirements on d, from which FINITE and INFINITE follow,
and gaps, which were not proved; a gap that matters makes the verdict UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from spectra.base.limits import stage, staged
from spectra.base.numbers import checked_dim
from spectra.errors import ParameterError
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.catalogue.entry import Entry
from spectra.kernels.catalogue.reading import any_kernel_from_text
from spectra.kernels.grouped import GroupedKernel
from spectra.kernels.kernel import Kernel
from spectra.kernels.l1_kernel import L1Kernel
from spectra.measure import SpectralMeasure
from spectra.verdict.assumptions import analyse_with_facts, apply_assumptions, check_assumptions
from spectra.verdict.asymmetric import analyse_asymmetric
from spectra.verdict.columns import decide_groups, decide_l1
from spectra.verdict.combination import close_gaps_by_proof, combine
from spectra.verdict.status import Status
from spectra.verdict.verdict import Verdict

__all__ = ["existence", "spectral_measure"]

_REASON_IF_FINITE = (
    "Every singularity at a finite radius is weak enough, the kernel is regular at z = 0, and "
    "its behaviour at infinity allows a finite measure."
)


@staged(
    "deciding on finite mass",
    advice="make a finite measure for the distances of your data, which needs no verdict (design)",
)
def existence(
    kernel: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str,
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
    kernel : Kernel, AsymmetricKernel, GroupedKernel, L1Kernel or str
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
    if isinstance(kernel, Entry):
        raise ParameterError(
            f"{kernel.id} has parameters, and the verdict may depend on them: call it first, for "
            f"instance existence(catalogue[{kernel.id!r}](), dim)."
        )
    assumptions = check_assumptions(assume)
    if isinstance(kernel, GroupedKernel | L1Kernel):
        return _decide_by_columns(kernel, dim, assumptions)
    if isinstance(kernel, AsymmetricKernel):
        dim = kernel.dim if dim is None else kernel.check_dim(dim)
        points, notes = apply_assumptions(analyse_asymmetric(kernel, dim), assumptions)
        status, condition, reasons, deciding = combine(points, dim, _REASON_IF_FINITE)
        if dim is not None:
            condition = None  # the vectors of the kernel have this dimension only
        reasons += notes
        return Verdict(status, condition, reasons, deciding, kernel, dim, assumed=assumptions)
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"existence needs a kernel, and got {type(kernel).__name__}: make one with radial() or "
            "zonal(), from a formula or from a function of the distance with facts about it."
        )
    with stage("reading the singularities"):
        analysis, facts = analyse_with_facts(kernel)
    points, notes = apply_assumptions(analysis.points, assumptions)
    if any(p.gaps for p in points):
        points, proof_reasons = close_gaps_by_proof(kernel, analysis, points)
        notes = proof_reasons + notes
    status, condition, reasons, deciding = combine(points, dim, _REASON_IF_FINITE)
    stated = tuple(f"Stated, not shown: {name} = {value}." for name, value in facts.items())
    reasons = (*reasons, *stated, *notes)
    assumed = {**facts, **assumptions}
    return Verdict(status, condition, reasons, deciding, kernel, dim, analysis, assumed)


def _decide_by_columns(
    kernel: GroupedKernel | L1Kernel, dim: int | None, assumptions: Mapping[str, Any]
) -> Verdict:
    """Decide from the verdicts on the radial kernels of groups, or of one column."""
    if assumptions:
        raise ParameterError(
            "assume= says what the formula of a radial kernel does not show: ask existence of "
            "the kernel of a group, or of the profile of an l1 kernel, alone."
        )
    if isinstance(kernel, GroupedKernel):
        status, reasons, by_group = decide_groups(kernel, dim, existence)
    else:
        status, reasons, by_group = decide_l1(kernel, dim, existence)
    condition = None
    if isinstance(kernel, L1Kernel):  # a kernel of groups fixes its dimensions
        condition = {Status.FINITE: sympy.true, Status.INFINITE: sympy.false}.get(status)
    return Verdict(status, condition, reasons, None, kernel, dim, by_group=by_group)


def spectral_measure(kernel: Kernel | str, dim: int) -> SpectralMeasure:
    """The finite spectral measure of a kernel: ``existence(kernel, dim).measure``."""
    return existence(kernel, dim).measure
