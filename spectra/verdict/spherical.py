r"""The verdict on the sphere itself: does the Gegenbauer series of k(<x, y>) converge absolutely?

On the unit sphere of R^d, of dimension d - 1, a term :math:`|z - R|^s` at 0 < R < 2 is singular on
a whole sphere of points.  It leaves :math:`N(n, d) |\lambda_n| \sim n^{(d-2)/2 - s - 1} |\cos|`, so
that the sum converges exactly for s > (d - 2)/2: the rule of R^(d-1).  At z = 0 and at the
antipode z = 2 it is singular at one point only, which leaves :math:`n^{-1-s}`: every s > 0 is
allowed (G. Szego, Orthogonal Polynomials, chapter 9; the sign at the antipode alternates).
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from spectra.formula.parsing import U, Z
from spectra.kernel import Kernel, Piece
from spectra.singularity.branches import KINKS, resolve, same_radius
from spectra.singularity.germs import ExpansionError
from spectra.singularity.local import analyse, one_sided
from spectra.singularity.places import Ending, Gap, LocalAnalysis, Requirement

__all__ = ["cut_at", "sphere_places", "without_idle_kinks"]

_END = sympy.Integer(2)
_ONE = sympy.Integer(1)


def cut_at(kernel: Kernel, analysis: LocalAnalysis, end: sympy.Expr) -> LocalAnalysis:
    """The analysis on [0, end]: what was open beyond its end, such as infinitely many zeros, ends.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> rectified = radial("Abs(sin(z))*exp(-z)")
    >>> [str(r) for r, _ in cut_at(rectified, analyse(rectified), sympy.Integer(5)).radii]
    ['pi', '5']
    """
    if analysis.profile.exprs and not analysis.gaps:
        return analysis
    pieces: dict[sympy.Expr, sympy.Expr] = {}
    for piece in kernel.pieces:
        support = sympy.Min(piece.support, end)
        pieces[support] = pieces.get(support, sympy.Integer(0)) + piece.expr
    ordered = sorted(pieces.items(), key=lambda item: float(item[0]))
    return analyse(Kernel(tuple(Piece(s, e) for s, e in ordered)))


def without_idle_kinks(kernel: Kernel, analysis: LocalAnalysis) -> Kernel:
    """The kernel by its only branch on the sphere: Max(0, f) is f where f >= 0 on z < 2.

    Examples
    --------
    >>> from spectra.kernel import zonal
    >>> kernel = zonal("Max(0, 1 - acos(u)/pi)")
    >>> str(without_idle_kinks(kernel, analyse(kernel)).pieces[0].expr)
    '-2*asin(z/2)/pi + 1'
    """
    profile = cut_at(kernel, analysis, _END).profile
    if not profile.exprs or len(kernel.pieces) != 1 or not kernel.pieces[0].expr.has(*KINKS):
        return kernel
    if profile.radii and profile.radii[0].evalf(30) < 2 and not same_radius(profile.radii[0], _END):
        return kernel
    formula = kernel.zonal
    if formula is not None:
        formula = resolve(formula.subs(U, 1 - Z**2 / 2), _ONE).subs(Z, sympy.sqrt(2 - 2 * U))
    return replace(kernel, pieces=(Piece(_END, profile.exprs[0]),), zonal=formula)


def sphere_places(
    kernel: Kernel, analysis: LocalAnalysis
) -> tuple[tuple[Ending, ...], tuple[Gap, ...]]:
    """What bounds the dimension of the sphere, as requirements and gaps in d."""
    analysis = cut_at(kernel, analysis, _END)
    places = [analysis.origin]
    for i, (r, ending) in enumerate(analysis.radii):
        if same_radius(r, _END):
            places.append(_antipode(analysis.profile.exprs[i]))
        elif r.evalf(30) < 2:
            places.append(_inside(ending))
    return tuple(places), analysis.gaps


def _inside(ending: Ending) -> Ending:
    """The rule of R^(d-1): every bound on d is one larger."""
    requirements = tuple(
        r if r.bound == 0 else replace(r, bound=r.bound + 1, reason=_told(r))
        for r in ending.requirements
    )
    gaps = tuple(replace(g, from_dim=g.from_dim + 1) for g in ending.gaps)
    return replace(ending, requirements=requirements, gaps=gaps)


def _told(requirement: Requirement) -> str:
    at = requirement.singularity
    sign = "<=" if requirement.closed else "<"
    text = "is not smooth" if at is None else f"has the term {at.term}"
    where = "inside" if at is None else f"at z = {at.location}"
    return (
        f"On the sphere the kernel {text} {where}; its Gegenbauer series converges absolutely "
        f"exactly for d {sign} {requirement.bound + 1}."
    )


def _antipode(expr: sympy.Expr) -> Ending:
    """Only what is unbounded matters."""
    try:
        ending = one_sided(expr, _END)
    except ExpansionError as error:
        return Ending(gaps=(Gap(f"The kernel at the antipode z = 2: {error}", location=_END),))
    unknown = not ending.singularities  # a term that tends to 0 is allowed, however slowly
    return Ending(
        tuple(r for r in ending.requirements if r.bound == 0),
        tuple(g for g in ending.gaps if unknown and g.from_dim <= _ONE and not g.narrow),
        ending.singularities,
    )
