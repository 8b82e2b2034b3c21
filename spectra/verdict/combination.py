"""Combine proved requirements and open gaps into FINITE, INFINITE or UNDECIDED."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import sympy

from spectra.kernels.kernel import Kernel
from spectra.singularities.definiteness import proved_on_space
from spectra.singularities.results import LocalAnalysis, PointAnalysis, Requirement, Singularity
from spectra.verdict.status import D, Status

__all__ = ["close_gaps_by_proof", "combine"]


def combine(
    places: Sequence[PointAnalysis], dim: int | None, finite: str
) -> tuple[Status, sympy.Basic | None, tuple[str, ...], Singularity | None]:
    """Combine requirements, which are proved, with gaps, which may be requirements or not.

    Returns status, condition on d, reasons, and what bounds d: the first fields of every verdict.
    """
    requirements = sorted(
        (r for p in places for r in p.requirements), key=lambda r: (r.largest_dim, r.inclusive)
    )
    gaps = [g for p in places for g in p.gaps]
    largest_dim = requirements[0].largest_dim if requirements else sympy.oo
    deciding = requirements[0].singularity if requirements else None
    tested_dim = largest_dim if dim is None else sympy.Integer(dim)
    open_gaps = [g for g in gaps if g.from_dim <= tested_dim]
    excluded = largest_dim == 0 if dim is None else tested_dim > largest_dim
    reasons = tuple(dict.fromkeys(r.reason for r in requirements))
    known = largest_dim == 0 or all(g.from_dim > largest_dim for g in gaps)
    condition = _condition(requirements) if known else None
    if excluded:
        return Status.INFINITE, condition, reasons, deciding
    if open_gaps:
        texts = tuple(dict.fromkeys(f"Not shown: {g.reason}." for g in open_gaps))
        return Status.UNDECIDED, None, texts + reasons, deciding
    if dim is None and largest_dim is not sympy.oo:
        text = f"The answer depends on d: it is finite exactly for {condition}."
        return Status.UNDECIDED, condition, (text, *reasons), deciding
    return Status.FINITE, condition, (finite, *reasons), deciding


def close_gaps_by_proof(
    kernel: Kernel, analysis: LocalAnalysis, places: tuple[PointAnalysis, ...]
) -> tuple[tuple[PointAnalysis, ...], tuple[str, ...]]:
    """Close the gaps up to the largest d in which a proof of positive definiteness holds."""
    proof = proved_on_space(kernel, analysis)
    if proof is None or any(r.largest_dim < proof[0] for p in places for r in p.requirements):
        return places, ()
    largest, reason, _ = proof
    beyond = sympy.oo if largest == math.inf else sympy.Integer(int(largest)) + 1

    def closed(place: PointAnalysis) -> PointAnalysis:
        gaps = (replace(g, from_dim=sympy.Max(g.from_dim, beyond)) for g in place.gaps)
        return replace(place, gaps=tuple(g for g in gaps if g.from_dim is not sympy.oo))

    text = f"A positive definite kernel has the finite mass k(0). {reason}"
    return tuple(closed(p) for p in places), (text,)


def _condition(requirements: list[Requirement]) -> sympy.Basic:
    if not requirements:
        return sympy.true
    largest = requirements[0].largest_dim
    if largest == 0:
        return sympy.false
    # d is an integer: d < 9/5 is written as d < 2, and the reason keeps the exact exponent.
    return sympy.Le(D, largest) if requirements[0].inclusive else sympy.Lt(D, largest + 1)
