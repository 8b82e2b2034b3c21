r"""Verdicts on asymmetric kernels: what a shift keeps, what a tilt needs, and what sums may cancel.

A shift multiplies the measure by a phase and keeps its mass.  A tilt :math:`k(D) e^{\beta \cdot D}`
multiplies k by a smooth function without zeros, so that every singularity keeps its exponent, and
only the end of k at infinity meets the growth of the factor.  Let k decay like
:math:`z^{-\gamma} e^{-cz}`.  With :math:`|\beta| < c` the product decays exponentially in every
direction.  With :math:`|\beta| > c` it is unbounded along beta.  With :math:`|\beta| = c` it is
:math:`z^{-\gamma} e^{-c(z - x)}`, x the coordinate along beta: on :math:`x \sim 2^j` one function,
stretched by :math:`2^j` along beta and by :math:`2^{j/2}` across, times :math:`2^{-\gamma j}`.
Stretching changes no norm of a Fourier transform, so the mass is finite for :math:`\gamma > 0`.
For :math:`\gamma = 0` it is not: on the line along beta the mean values at the two ends differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy

from spectra.errors import ParameterError
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ONE, Expansion, Series, Size, compare
from spectra.formula.expansions.verification import expansion_agrees
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel
from spectra.singularities.local import analyse
from spectra.singularities.places import Ending, Gap, LocalAnalysis, Requirement

__all__ = ["moved_dimension", "moved_places"]

_NIL = sympy.Integer(0)
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
    """What is certain and what is open of an asymmetric kernel, as for a radial one.

    Examples
    --------
    >>> from spectra import radial
    >>> endings = moved_places(radial("exp(-z)").tilt(0.5), None)
    >>> [str(r.bound) for e in endings for r in e.requirements]
    ['4']
    """
    summands = [
        (offset, _tilted(radial, tilt, dim))
        for (offset, tilt), radial in _by_movement(kernel, dim).items()
    ]
    places = tuple(place for _, analysis in summands for place in analysis.places)
    limit = sympy.oo if dim is None else sympy.Integer(dim)
    infinite = [(offset, analysis) for offset, analysis in summands if _top(analysis) < limit]
    if len(infinite) <= 1 or _cannot_cancel(infinite, dim):
        return places
    first = min(_top(analysis) for _, analysis in infinite)
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


def _cannot_cancel(summands: list[tuple[Vector, LocalAnalysis]], dim: int | None) -> bool:
    """Whether spheres that are singular around different centres show that sums stay infinite.

    In d >= 2 two different spheres share no open part, so that at most points of one of them the
    other summands are smooth.  On the line spheres are pairs of points, and do cancel:
    [|D + 1| <= 1] + [|D - 1| <= 1] - [|D| <= 2] = 0 almost everywhere.
    """
    if dim == 1 or (dim is None and sum(_top(analysis) == 0 for _, analysis in summands) > 1):
        return False
    if any(p.gaps for _, analysis in summands for p in analysis.places):
        return False
    if len({offset for offset, _ in summands}) < len(summands):
        return False
    return all(
        any(r.largest == _top(analysis) for _, e in analysis.radii for r in e.requirements)
        for _, analysis in summands
    )


# --- the end of a tilted kernel -----------------------------------------------------------------


#: c of exp(-c z) times a rest that decides where the tilt is as strong: True, False or None (open).
Decay = tuple[sympy.Expr, bool | None]


def _tilted_end(radial: Kernel, analysis: LocalAnalysis, tilt: Vector, dim: int | None) -> Ending:
    far = sum((p.expr for p in radial.pieces if p.support is sympy.oo), _NIL)
    if far == 0:
        return Ending()
    if analysis.profile.exprs:
        far = analysis.profile.exprs[-1]
    known, open_rates = _decays(far)
    endings = [_for_tilt(decay, tilt, dim) for decay in known]
    gaps = tuple(gap for rate in open_rates for gap in _open(rate, tilt, dim))
    return Ending(
        tuple(r for e in endings for r in e.requirements),
        (*(g for e in endings for g in e.gaps), *gaps),
        limit=_NIL,
    )


def _decays(far: sympy.Expr) -> tuple[list[Decay], list[sympy.Expr]]:
    """The exponential rates of a formula at infinity; rates of remainders that may not vanish."""
    best: tuple[list[Decay], list[sympy.Expr]] = ([], [_NIL])
    for form in _forms(far):
        for window in _WINDOWS:
            try:
                expanded = expand_at(form, sympy.oo, 1, window)
                known, left = _rates(expanded)
            except ExpansionError:
                continue
            if not expansion_agrees(form, expanded, sympy.oo, 1):
                break
            least = min((rate for rate, _ in known), default=sympy.oo)
            left = [rate for rate in left if not _above(rate, least)]
            if not left:
                return known, left
            if min(map(float, left)) > min(map(float, best[1])):
                best = known, left
    return best


def _above(rate: sympy.Expr, least: sympy.Expr) -> bool:
    """Whether a remainder of this rate decides nothing beside a term of the least one."""
    if least is sympy.oo:
        return rate is sympy.oo
    return rate is sympy.oo or sign(rate - least) >= 0


def _forms(far: sympy.Expr) -> Iterable[sympy.Expr]:
    yield far
    # In tanh and its like exponentials hide behind a remainder below all powers.
    if far.has(sympy.tanh, sympy.sinh, sympy.cosh):
        yield sympy.factor(sympy.together(far.rewrite(sympy.exp)))


def _rates(expanded: Expansion) -> tuple[list[Decay], list[sympy.Expr]]:
    known: list[Decay] = []
    left: list[sympy.Expr] = []
    for i, (phase, series) in enumerate(expanded.parts):
        if any(_equal(phase, other) for other, _ in expanded.parts[i + 1 :]):
            raise ExpansionError("an exponential occurs in two forms")
        rate = _rate(phase)
        if not series.terms:
            left.append(rate)
            continue
        known.append((rate, _at_equality(phase, series.terms[0][0])))
    return known, left


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


def _at_equality(phase: Series, size: Size) -> bool | None:
    """Whether exp(phi) z^-gamma log^q, without its rate, is that of a finite measure."""
    rest = Series(tuple((s, c) for s, c in phase.terms if compare(s, _LINEAR) > 0))
    if any(compare(s, _LINEAR) < 0 for s, _ in phase.terms):
        return None  # a chirp
    if rest.growth:
        return rest.growth < 0
    if rest.terms or (size[0] == 0 and size[1] > 0):
        return None  # a slow oscillation, or a slow logarithm
    return compare(size, ONE) > 0


def _for_tilt(decay: Decay, tilt: Vector, dim: int | None) -> Ending:
    """What the decay requires: that it is not slower than the tilt grows."""
    rate, allowed = decay
    if rate is sympy.oo:
        return Ending()
    how = f"decays like exp(-{rate}*z)" if rate != 0 else "decays more slowly than exponentials"
    if rate is -sympy.oo or sign(rate) < 0:
        rate, how = _NIL, "grows exponentially"
    square = _square(tilt)
    if dim is None and len(tilt) == 1:  # the length of the tilt is t sqrt(d)
        bound = rate**2 / square
        reason = (
            f"At infinity the kernel {how}, and its tilt grows with the rate "
            f"{sympy.sqrt(square)}*sqrt(d): it needs d {'<=' if allowed else '<'} {bound}."
        )
        requirement = Requirement(bound, allowed is not False, reason)
        if allowed is None and bound.is_Integer and bound > 0:
            gap = Gap(f"A tilt exactly as strong as the decay, in d = {bound}", bound, sympy.oo)
            return Ending((requirement,), (gap,))
        return Ending((requirement,))
    length = sympy.sqrt(square)
    excess = sign(length - rate)
    if excess < 0 or (excess == 0 and allowed):
        return Ending()
    if excess == 0 and allowed is None:
        reason = f"At infinity the kernel {how}, exactly as fast as its tilt grows"
        return Ending(gaps=(Gap(reason, location=sympy.oo),))
    end = "as fast" if excess == 0 else "faster"
    reason = (
        f"At infinity the kernel {how}, and its tilt of length {length} grows {end}: the product "
        "does not vanish along the tilt, and does against it, which no finite mass allows."
    )
    return Ending((Requirement(_NIL, True, reason),))


def _open(rate: sympy.Expr, tilt: Vector, dim: int | None) -> tuple[Gap, ...]:
    """A remainder of which only a least rate is known: a weaker tilt is allowed."""
    reason = "How fast the kernel decays at infinity, which must be faster than its tilt grows"
    if rate is sympy.oo:
        return ()
    reach = rate**2 / _square(tilt) if rate.is_finite and sign(rate) > 0 else _NIL
    if dim is None and len(tilt) == 1:
        return (Gap(reason, max(sympy.ceiling(reach), sympy.Integer(1)), sympy.oo),)
    return () if reach > 1 else (Gap(reason, location=sympy.oo),)


def _square(tilt: Vector) -> sympy.Expr:
    return sum((exact_parameter("tilt", t) ** 2 for t in tilt), _NIL)
