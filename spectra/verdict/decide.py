r"""The verdict: is a kernel the difference of two continuous positive definite kernels on R^d?

This holds exactly if its spectral measure has finite total mass.  FINITE and INFINITE follow from
proved requirements (facts by the local analysis of :mod:`spectra.singularities`, rules in
:mod:`spectra.singularities.rules`); what could not be proved is a gap, and a gap that matters
makes the verdict UNDECIDED.
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
from spectra.verdict.assumptions import analyse_stated, apply_assumptions, checked_assumptions
from spectra.verdict.asymmetric import asymmetric_places
from spectra.verdict.columns import decide_groups, decide_l1
from spectra.verdict.decision import close_gaps_by_proof, combine
from spectra.verdict.status import Status
from spectra.verdict.verdict import Verdict

__all__ = ["existence", "spectral_measure"]

_FINITE = (
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
    :math:`s > (d-1)/2`, k is bounded and tends to k(0) at zero, and at infinity k tends to a limit
    with waves :math:`z^{-\beta}\cos(wz + \varphi)` of :math:`\beta > (d-1)/2` only (or equal, with
    the phase of a sphere measure).

    Parameters
    ----------
    kernel : Kernel, AsymmetricKernel, GroupedKernel, L1Kernel or str
        A kernel, or text: a formula, or a name of the catalogue, "matern(nu=5/2)".  A shift keeps
        the verdict, a tilt needs a kernel that decays faster than it grows, and summands of
        infinite mass must not cancel.  A kernel of groups of columns is decided group by group,
        each in its own dimension.
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
        Where ``dim`` is not an integer >= 1, an assumption is unknown or not positive, or the
        kernel is a parametric catalogue entry that was not called.
    DataError
        Where ``dim`` is not that of the kernel's vectors, or lacks a column of its groups.

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
    stated = checked_assumptions(assume)
    if isinstance(kernel, GroupedKernel | L1Kernel):
        return _verdict_by_columns(kernel, dim, stated)
    if isinstance(kernel, AsymmetricKernel):
        dim = kernel.dim if dim is None else kernel.check_dim(dim)
        places, notes = apply_assumptions(asymmetric_places(kernel, dim), stated)
        status, condition, reasons, deciding = combine(places, dim, _FINITE)
        # Tilts have another length in another dimension: the answer in one d is for this d only.
        condition = condition if dim is None else None
        return Verdict(status, condition, reasons + notes, deciding, kernel, dim, assumed=stated)
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"existence needs a kernel, and got {type(kernel).__name__}: make one with radial() or "
            "zonal(). They take a function of the distance too, with what you know of it."
        )
    with stage("reading the singularities"):
        analysis, given = analyse_stated(kernel)
    places, notes = apply_assumptions(analysis.places, stated)
    if any(p.gaps for p in places):
        places, proof = close_gaps_by_proof(kernel, analysis, places)
        notes = proof + notes
    status, condition, reasons, deciding = combine(places, dim, _FINITE)
    facts = tuple(f"Stated, not shown: {name} = {value}." for name, value in given.items())
    reasons = (*reasons, *facts, *notes)
    assumed = {**given, **stated}
    return Verdict(status, condition, reasons, deciding, kernel, dim, analysis, assumed)


def _verdict_by_columns(
    kernel: GroupedKernel | L1Kernel, dim: int | None, stated: Mapping[str, Any]
) -> Verdict:
    """Decide from the verdicts on the radial kernels of groups, or of one column."""
    if stated:
        raise ParameterError(
            "assume= says what the formula of a radial kernel does not show: ask existence of "
            "the kernel of a group, or of the profile of an l1 kernel, alone."
        )
    if isinstance(kernel, GroupedKernel):
        status, reasons, by_group = decide_groups(kernel, dim, existence)
    else:
        status, reasons, by_group = decide_l1(kernel, dim, existence)
    condition = None
    if isinstance(kernel, L1Kernel):  # groups have dimensions of their own
        condition = {Status.FINITE: sympy.true, Status.INFINITE: sympy.false}.get(status)
    return Verdict(status, condition, reasons, None, kernel, dim, by_group=by_group)


def spectral_measure(kernel: Kernel | str, dim: int) -> SpectralMeasure:
    """The finite spectral measure of a kernel: ``existence(kernel, dim).measure``."""
    return existence(kernel, dim).measure
