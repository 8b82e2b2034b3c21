r"""Verdicts on asymmetric kernels: sums of shifted and tilted radial kernels.

A shift multiplies the measure by a phase and keeps its mass.  A tilt :math:`k(D) e^{\beta \cdot D}`
multiplies k by a smooth function without zeros, so that every singularity keeps its exponent, and
only the decay of k at infinity matters.  If k decays like :math:`e^{-cz}` up to factors of smaller
growth, the product decays exponentially in every direction for :math:`|\beta| < c`, and is
unbounded along beta for :math:`|\beta| > c`.  Equality, and sums in which two summands have
infinite mass, are undecided.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import sympy

from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Series, Size, compare
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.places import Ending, Gap, LocalAnalysis, Requirement
from spectra.verdict.status import Definiteness

__all__ = ["asymmetric_places", "definiteness_of_asymmetric"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
#: Powers kept in the expansion that shows the decay.
_WINDOW = 12
#: A relative difference of K(D) and K(-D) above this is none of rounding.
_ASYMMETRY = 1e-6
#: The size of z = 1/t in a phase: the rate of an exponential.
_LINEAR: Size = (sympy.Integer(-1), _NIL)

Vector = tuple[float, ...]


def asymmetric_places(kernel: AsymmetricKernel, dim: int | None) -> tuple[Ending, ...]:
    """What is certain and what is open of an asymmetric kernel, as for a radial one."""
    radial: dict[tuple[Vector, Vector], Kernel] = {}
    for term in kernel.terms:  # equal shifts and tilts are added exactly
        key = _in_all_coordinates(term.offset, dim), _in_all_coordinates(term.tilt, dim)
        part = exact_parameter("weight", term.weight) * term.kernel
        radial[key] = radial[key] + part if key in radial else part
    summands = [_analyse_tilted(k, tilt, dim) for (_, tilt), k in radial.items() if k.pieces]
    places = tuple(place for analysis in summands for place in analysis.places)
    tops = [min((r.largest for p in a.places for r in p.requirements), default=sympy.oo)
            for a in summands]  # fmt: skip
    infinite = [top for top in tops if top < (sympy.oo if dim is None else dim)]
    if len(infinite) <= 1:
        return places
    reason = (
        f"Of its shifted or tilted summands {len(infinite)} have infinite mass, and whether they "
        "cancel"
    )
    kept = tuple(replace(place, requirements=()) for place in places)
    return (*kept, Ending(gaps=(Gap(reason, min(infinite) + 1),)))


def _in_all_coordinates(vector: Vector, dim: int | None) -> Vector:
    """A single number as a vector, so that equal movements are equal keys; 0 stays one number."""
    if not any(vector):
        return (0.0,)
    return vector * dim if dim is not None and len(vector) == 1 else vector


def _analyse_tilted(radial: Kernel, tilt: Vector, dim: int | None) -> LocalAnalysis:
    """The local analysis of a kernel, with what its tilt asks at infinity."""
    analysis = analyse(radial)
    if not any(tilt):
        return analysis
    far = sum((p.expr for p in radial.pieces if p.support is sympy.oo), _NIL)
    far = analysis.exprs[-1] if analysis.exprs else far
    return replace(analysis, infinity=Ending() if far == 0 else _compare_decay(far, tilt, dim))


def _compare_decay(far: sympy.Expr, tilt: Vector, dim: int | None) -> Ending:
    """What a tilt asks at infinity of a formula: that it decays faster than the tilt grows."""
    rate = _decay_rate(far)
    if rate is sympy.oo:
        return Ending()
    what = "Whether the kernel decays faster at infinity than its tilt grows"
    if dim is None and len(tilt) == 1:
        what += ", whose length is that of all coordinates: ask in one dimension"
    length = sympy.sqrt(sum((exact_parameter("tilt", t) ** 2 for t in tilt), _NIL))
    excess = None if rate is None else sign(length - rate)
    if excess == -1 and (dim is not None or len(tilt) > 1):
        return Ending()
    if excess != 1:
        return Ending(gaps=(Gap(what, _ONE, sympy.oo),))
    how = f"decays like exp(-{rate}*z)" if rate != 0 else "decays more slowly than exponentials"
    reason = (
        f"At infinity the kernel {how}, and its tilt of length {length} grows faster: the product "
        "is unbounded."
    )
    return Ending((Requirement(_NIL, True, reason),))


def _decay_rate(far: sympy.Expr) -> sympy.Expr | None:
    """The rate c of the slowest exp(-c z) of a formula, or None if it was not found.

    The rate is oo for faster decay, and 0 where the kernel decays more slowly or grows.
    """
    try:
        parts = expand_at(far, sympy.oo, 1, _WINDOW).parts
        rates = [(_rate(phase), bool(series.terms)) for phase, series in parts]
        for (a, _), (b, _) in combinations(parts, 2):
            if all(is_zero(c) for _, c in (a + -b).terms):
                return None  # an exponential in two forms, which may cancel
    except ExpansionError:
        return None
    least = min((rate for rate, known in rates if known), default=sympy.oo)
    shown = all(known or rate is sympy.oo or sign(rate - least) >= 0 for rate, known in rates)
    return max(least, _NIL) if shown else None


def _rate(phase: Series) -> sympy.Expr:
    """c of |exp(phi)| = exp(-c z + smaller): oo for faster decay, -oo for faster growth."""
    for size, c in phase.terms:
        real = sympy.re(sympy.expand(c))
        if compare(size, _LINEAR) < 0 and not is_zero(real):
            return sympy.oo if sign(real) < 0 else -sympy.oo
        if size == _LINEAR:
            return -real
    return _NIL


def definiteness_of_asymmetric(kernel: AsymmetricKernel, dim: int | None) -> Definiteness:
    """A real positive definite kernel is even: one difference D with K(D) != K(-D) refutes it."""
    d = dim or kernel.dim or 1  # single numbers stand for every coordinate, also in one dimension
    largest = max((abs(v) for t in kernel.terms for v in t.offset), default=0.0)
    for length in (0.3, 1.0, 3.0, largest + 0.5):
        for line in (np.ones(d) / np.sqrt(d), np.eye(d)[0]):
            there, back = kernel([length * line, -length * line])
            if abs(there - back) > _ASYMMETRY * (abs(there) + abs(back)):
                text = f"It is not even: K(D) = {there:.6g} and K(-D) = {back:.6g} at one D."
                return Definiteness(False, text, 0)
    return Definiteness(None, "No rule decides it for sums of shifted and tilted kernels.")
