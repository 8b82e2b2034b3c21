"""Combine proved requirements and open gaps into FINITE, INFINITE or UNDECIDED."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import sympy

from spectra.definiteness import proved_on_space
from spectra.kernels.kernel import Kernel
from spectra.singularities.results import LocalAnalysis, PointAnalysis, Requirement, Singularity
from spectra.verdict.status import D, Status

__all__ = ["close_gaps_by_proof", "combine"]


def combine(
    points: Sequence[PointAnalysis], dim: int | None, reason_if_finite: str
) -> tuple[Status, sympy.Basic | None, tuple[str, ...], Singularity | None]:
    """Combine all points: status, condition on d or None, reasons, singularity that bounds d."""
    requirements = sorted(
        (r for p in points for r in p.requirements), key=lambda r: (r.largest_dim, r.inclusive)
    )
    gaps = [g for p in points for g in p.gaps]
    largest_dim = requirements[0].largest_dim if requirements else sympy.oo
    deciding = requirements[0].singularity if requirements else None
    tested_dim = largest_dim if dim is None else sympy.Integer(dim)
    open_gaps = [g for g in gaps if g.from_dim <= tested_dim]
    is_excluded = largest_dim == 0 if dim is None else tested_dim > largest_dim
    reasons = tuple(dict.fromkeys(r.reason for r in requirements))
    is_condition_known = largest_dim == 0 or all(g.from_dim > largest_dim for g in gaps)
    condition = _condition(requirements) if is_condition_known else None
    if is_excluded:
        return Status.INFINITE, condition, reasons, deciding
    if open_gaps:
        texts = tuple(dict.fromkeys(f"Not shown: {g.reason}." for g in open_gaps))
        return Status.UNDECIDED, None, texts + reasons, deciding
    if dim is None and largest_dim is not sympy.oo:
        text = f"The answer depends on d: it is finite exactly for {condition}."
        return Status.UNDECIDED, condition, (text, *reasons), deciding
    return Status.FINITE, condition, (reason_if_finite, *reasons), deciding


def close_gaps_by_proof(
    kernel: Kernel, analysis: LocalAnalysis, points: tuple[PointAnalysis, ...]
) -> tuple[tuple[PointAnalysis, ...], tuple[str, ...]]:
    """Close gaps by a proof of definiteness, if no requirement contradicts it; return why."""
    proof = proved_on_space(kernel, analysis)
    if proof is None:
        return points, ()
    largest_dim, reason, _ = proof
    if any(r.largest_dim < largest_dim for p in points for r in p.requirements):
        return points, ()
    from_dim = sympy.oo if largest_dim == math.inf else sympy.Integer(int(largest_dim)) + 1

    def close_gaps(point: PointAnalysis) -> PointAnalysis:
        gaps = (replace(g, from_dim=sympy.Max(g.from_dim, from_dim)) for g in point.gaps)
        return replace(point, gaps=tuple(g for g in gaps if g.from_dim is not sympy.oo))

    text = f"A positive definite kernel has the finite mass k(0). {reason}"
    return tuple(close_gaps(p) for p in points), (text,)


def _condition(requirements: list[Requirement]) -> sympy.Basic:
    if not requirements:
        return sympy.true
    largest = requirements[0].largest_dim
    if largest == 0:
        return sympy.false
    # d is an integer, so that d < 9/5 is written as d < 2; the reason has the exact bound.
    return sympy.Le(D, largest) if requirements[0].inclusive else sympy.Lt(D, largest + 1)
