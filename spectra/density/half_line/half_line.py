r"""Spectral densities of formulas on the half-line that no closed form is known for.

One method for all: a kernel that is analytic beside the half-line is integrated along the path on
which it cancels least, each of its waves along one of its own; its exact expansions at zero and
at infinity say how the density ends, and at which frequencies it is singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import flint
import numpy as np
import sympy

from spectra.base.enclosures import EPS
from spectra.base.precision import Ball, working
from spectra.density.components import Atom, Component
from spectra.density.continuation.taylor import taylor
from spectra.density.continuation.unresolved_parts import refuse_hidden
from spectra.density.half_line.endings import power_ending
from spectra.density.half_line.ends import PowerTerms, long_expansion_of
from spectra.density.half_line.outwards import Builder
from spectra.density.half_line.prepared import Expanded, expanded, plane
from spectra.density.half_line.sums.even_kernels import EvenSums
from spectra.density.half_line.sums.ray_sums import RaySums
from spectra.density.half_line.waves.slow_waves import beside_frequencies, by_waves, without_spheres
from spectra.errors import AccuracyError, FormulaError, NoRouteError

__all__ = ["half_line"]


# Asymptotic series are best, at 1e-15, where they have about 40 terms.
_MANY_TURNS, _WIDEST, _TERMS = 1e3, 4.0, 48
_DIGITS, _BITS, _AGREEMENT = 30, 128, 1e-20
# In units far from that of the kernel, high coefficients and their powers of w leave the doubles.
_LEAST = 1e-220
# Where waves turn by more before the kernel is negligible, the bulk is sought at their frequencies,
# and each is followed on a ray of its own.
_MOST_PHASE = 200.0

_REFUSALS = (AccuracyError, FormulaError, NoRouteError)


def half_line(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom]]:
    """Component and atoms of a formula on the whole half-line, by integration in the plane.

    Parameters
    ----------
    expr : sympy expression
        A formula in Z that is analytic for z > 0, has powers (and logarithms) at zero, and tends
        to a limit at infinity like a power or faster; it may have sines, cosines and Bessel
        functions of what grows like z, as a polynomial in them.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the formula is of another class; the message says in what.
    AccuracyError
        Where it cancels on every path, in high dimension or with many waves.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> (component,), atoms = half_line(1 / (1 + Z), 3)
    >>> _, log = component.signed_log(np.array([1.0]))
    >>> round(float(np.exp(log[0])), 10)
    0.240992654
    """
    found = expanded(expr)
    refuse_hidden(found.expr, lambda: plane(found.expr).hidden(dim))
    atoms = []
    if found.limit != 0:
        mass = float(found.limit)
        atoms.append(Atom(0.0, mass, error=abs(mass) * EPS))
    spheres, rest = without_spheres(found, dim)
    atoms += spheres
    if rest is None:
        return [], atoms
    if rest.turning:
        return [beside_frequencies(rest, dim)], atoms
    return [_component(part, dim) for part in _parts(rest, dim)], atoms


def _component(found: Expanded, dim: int) -> Component:
    """The density, by the first way that has it; the first refusal is told."""
    refusals = []
    for way in _ways(found, dim):
        try:
            return way(found, dim).component()
        except _REFUSALS as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _ways(found: Expanded, dim: int) -> Iterator[Callable[[Expanded, int], Builder]]:
    # Fast waves are followed one by one on paths, since nothing may be between them and the rest;
    # rays see them all at once.
    slow = _phase(found) < _MOST_PHASE
    if slow and found.decays_fast and EvenSums.serves(plane(found.expr), dim):
        yield _by_even_sums
    if found.waves:
        yield from (_by_rays, by_waves) if slow else (by_waves, _by_rays)
    else:
        yield _by_rays


def _by_even_sums(found: Expanded, dim: int) -> Builder:
    return Builder.at_origin(found, EvenSums(plane(found.expr), dim), dim)


def _parts(found: Expanded, dim: int) -> list[Expanded]:
    """The summands that have wide sectors together, and all others, where both fall fast.

    A rough kernel has a tail that is followed far, and what waves is dear there.
    """
    if not (found.expr.is_Add and found.decays_fast) or plane(found.expr).is_tame(dim):
        return [found]
    try:
        tame = sympy.Add(*(term for term in found.expr.args if plane(term).is_tame(dim)))
        rest = found.expr - tame
        parts = [expanded(part) for part in (tame, rest) if part != 0]
    except _REFUSALS:
        return [found]
    whole = all(part.decays_fast and part.limit == 0 for part in parts)
    return parts if whole else [found]


def _phase(found: Expanded) -> float:
    """How far waves turn before the kernel is negligible."""
    fastest = max((wave.rate for wave in found.waves), default=0.0)
    return fastest * float(np.exp(plane(found.expr).end)) if fastest else 0.0


def _by_rays(found: Expanded, dim: int) -> Builder:
    rays = plane(found.expr)
    sums = RaySums(rays, dim)
    # Where waves turn that often before the series serves, more of its terms are cheaper.
    if _start_of_series(found.zero, dim) * float(np.exp(rays.end)) > _MANY_TURNS:
        found = replace(found, zero=_with_more_terms(found))
    fast = found.waves if _phase(found) > _MOST_PHASE else ()
    return Builder.at_origin(found, sums, dim, tuple(wave.rate for wave in fast))


def _start_of_series(zero: PowerTerms, dim: int) -> float:
    try:
        ending = power_ending(zero, dim)
    except NoRouteError:
        return np.inf
    return 0.0 if ending is None else ending.start


def _with_more_terms(found: Expanded) -> PowerTerms:
    """The expansion at zero, with the coefficients of a circle beyond the exact ones where the
    powers are whole, and with more of the exact ones elsewhere."""
    if all(q == 0 and a.is_Integer for a, q, _ in found.zero):
        rays = plane(found.expr)
        circle = taylor(rays.kernel, _WIDEST * float(np.exp(rays.scale)), _TERMS)
        exact = {int(a): c for a, _, c in found.zero}
        if circle is not None and all(_holds(circle[n], c) for n, c in exact.items() if n < _TERMS):
            more = [
                (n, sympy.Float(c.mid().str(_DIGITS, radius=False), _DIGITS))
                for n, c in enumerate(circle)
                if n > max(exact) and not c.contains(0) and _LEAST < abs(c).mid() < 1 / _LEAST
            ]
            terms = ((sympy.Integer(n), 0, c) for n, c in more)
            return (*found.zero, *terms)
    try:
        return long_expansion_of(found.expr)
    except NoRouteError:
        return found.zero


def _holds(ball: Ball, exact: sympy.Expr) -> bool:
    with working(_BITS):
        number = flint.arb(str(sympy.N(exact, _DIGITS)))
        return bool(abs(ball - number) <= _AGREEMENT * (1 + abs(ball)))
