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

import sympy

from spectra.errors import ParameterError
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import Expansion, Series, Size, compare
from spectra.formula.expansions.verification import expansion_agrees
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.places import Ending, Gap, LocalAnalysis, Requirement

__all__ = ["moved_dimension", "moved_places"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
_WINDOWS = (5, 12, 30)
#: The size of z = 1/t in a phase: the rate of an exponential.
_LINEAR: Size = (sympy.Integer(-1), _NIL)

Vector = tuple[float, ...]


def moved_dimension(kernel: AsymmetricKernel, dim: int | None) -> int | None:
    """The dimension of the question: the one that vectors fix, if any."""
    if kernel.dim is None or dim in (None, kernel.dim):
        return kernel.dim if dim is None else dim
    raise ParameterError(
        f"The shifts and tilts of the kernel {kernel} have {kernel.dim} coordinates, and its "
        f"verdict was asked in d = {dim}. Give them as many, or a single number for every one."
    )


def moved_places(kernel: AsymmetricKernel, dim: int | None) -> tuple[Ending, ...]:
    """What is certain and what is open of an asymmetric kernel, as for a radial one."""
    summands = [
        _tilted(radial, tilt, dim) for (_, tilt), radial in _by_movement(kernel, dim).items()
    ]
    places = tuple(place for analysis in summands for place in analysis.places)
    limit = sympy.oo if dim is None else sympy.Integer(dim)
    infinite = [analysis for analysis in summands if _top(analysis) < limit]
    if len(infinite) <= 1:
        return places
    first = min(_top(analysis) for analysis in infinite)
    reason = (
        f"Of its shifted or tilted summands {len(infinite)} have infinite mass, and whether they "
        "cancel"
    )
    kept = tuple(replace(place, requirements=()) for place in places)
    return (*kept, Ending(gaps=(Gap(reason, first + 1),)))


def _top(analysis: LocalAnalysis) -> sympy.Expr:
    """The largest dimension of finite mass, gaps left aside."""
    return min((r.largest for p in analysis.places for r in p.requirements), default=sympy.oo)


def _by_movement(kernel: AsymmetricKernel, dim: int | None) -> dict[tuple[Vector, Vector], Kernel]:
    """The radial kernels of equal shift and tilt, added exactly."""
    sums: dict[tuple[Vector, Vector], Kernel] = {}
    for term in kernel.terms:
        key = (_full(term.offset, dim), _full(term.tilt, dim))
        part = exact_parameter("weight", term.weight) * term.kernel
        sums[key] = sums[key] + part if key in sums else part
    return {key: radial for key, radial in sums.items() if radial.pieces}


def _full(vector: Vector, dim: int | None) -> Vector:
    """A single number as a vector, so that equal movements are equal keys; 0 stays one number."""
    if not any(vector):
        return (0.0,)
    return vector * dim if dim is not None and len(vector) == 1 else vector


def _tilted(radial: Kernel, tilt: Vector, dim: int | None) -> LocalAnalysis:
    """The local analysis of a kernel, with what its tilt asks at infinity."""
    analysis = analyse(radial)
    if not any(tilt):
        return analysis
    return replace(analysis, infinity=_tilted_end(radial, analysis, tilt, dim))


# --- the decay of a tilted kernel ---------------------------------------------------------------


def _tilted_end(radial: Kernel, analysis: LocalAnalysis, tilt: Vector, dim: int | None) -> Ending:
    far = sum((p.expr for p in radial.pieces if p.support is sympy.oo), _NIL)
    if far == 0:
        return Ending()
    if analysis.profile.exprs:
        far = analysis.profile.exprs[-1]
    return _needed_decay(*_decay(far), tilt, dim)


def _decay(far: sympy.Expr) -> tuple[sympy.Expr, bool]:
    """The rate c of the slowest exp(-c z) of a formula, and whether it is more than a lower bound.

    The rate is oo for faster decay, and 0 where the kernel decays more slowly or grows.
    """
    best = _NIL
    for window in _WINDOWS:
        try:
            expanded = expand_at(far, sympy.oo, 1, window)
            known, open_ones = _rates(expanded)
        except ExpansionError:
            continue
        if not expansion_agrees(far, expanded, sympy.oo, 1):
            break
        least = min(known, default=sympy.oo)
        if all(rate is sympy.oo or sign(rate - least) >= 0 for rate in open_ones):
            return max(least, _NIL), True
        best = max(best, min(open_ones))
    return best, False


def _rates(expanded: Expansion) -> tuple[list[sympy.Expr], list[sympy.Expr]]:
    """The exponential rates of the parts that have a leading term, and of mere remainders."""
    known: list[sympy.Expr] = []
    open_ones: list[sympy.Expr] = []
    for i, (phase, series) in enumerate(expanded.parts):
        if any(_equal(phase, other) for other, _ in expanded.parts[i + 1 :]):
            raise ExpansionError("an exponential occurs in two forms")
        (known if series.terms else open_ones).append(_rate(phase))
    return known, open_ones


def _equal(a: Series, b: Series) -> bool:
    difference = a + -b
    return all(is_zero(c) for _, c in difference.terms)


def _rate(phase: Series) -> sympy.Expr:
    """c of |exp(phi)| = exp(-c z + smaller): oo for faster decay, -oo for faster growth."""
    for size, c in phase.terms:
        real = sympy.re(sympy.expand(c))
        if compare(size, _LINEAR) < 0 and not is_zero(real):
            return sympy.oo if sign(real) < 0 else -sympy.oo
        if size == _LINEAR:
            return -real
    return _NIL


def _needed_decay(rate: sympy.Expr, shown: bool, tilt: Vector, dim: int | None) -> Ending:
    """What a tilt asks of a kernel that decays like exp(-rate z): that it grows more slowly."""
    if rate is sympy.oo:
        return Ending()
    square = _square(tilt)
    how = f"decays like exp(-{rate}*z)" if rate != 0 else "decays more slowly than exponentials"
    gap = Gap("Whether the kernel decays faster at infinity than its tilt grows", _ONE, sympy.oo)
    if dim is None and len(tilt) == 1:  # the length of the tilt is t sqrt(d)
        bound = rate**2 / square
        gap = replace(gap, from_dim=max(sympy.ceiling(bound), _ONE))
        if not shown:
            return Ending(gaps=(gap,))
        reason = (
            f"At infinity the kernel {how}, and its tilt grows with the rate "
            f"{sympy.sqrt(square)}*sqrt(d): it needs d < {bound}."
        )
        is_open = bool(bound.is_Integer and bound > 0)
        return Ending((Requirement(bound, is_open, reason),), (gap,) if is_open else ())
    length = sympy.sqrt(square)
    excess = sign(length - rate)
    if excess < 0:
        return Ending()
    if excess == 0 or not shown:
        return Ending(gaps=(gap,))
    reason = (
        f"At infinity the kernel {how}, and its tilt of length {length} grows faster: the product "
        "is unbounded."
    )
    return Ending((Requirement(_NIL, True, reason),))


def _square(tilt: Vector) -> sympy.Expr:
    return sum((exact_parameter("tilt", t) ** 2 for t in tilt), _NIL)
