r"""The numeric route: summands without a closed form are integrated.

Summands that the catalogue knows keep their closed forms.  Callables are taken out of a piece, and
a formula is cut at the radii where it is not analytic.  With e_j the formula below the radius r_j,

.. math:: k = \sum_j (e_j - e_{j+1})\,1[z \le r_j] + e_{\mathrm{last}} ,

so that each summand is one formula on one ball, or on the half-line.
"""

from __future__ import annotations

import sympy

from spectra.density.ball.numeric import integrated_component
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.callables import opaque_part
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.half_line.half_line import half_line_density
from spectra.density.lookup import known_part
from spectra.errors import NoRouteError
from spectra.formula.expansions.kinks import KINKS
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii, is_analytic_at
from spectra.singularities.local import profile
from spectra.singularities.zeros import same_radius

__all__ = ["numeric", "split_at_breaks"]


def numeric(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel with summands that need integration, else None."""
    components: list[Component] = []
    atoms: list[Atom] = []
    integrated = False
    for piece in kernel.pieces:
        opaque, formula = opaque_part(piece.expr, piece.support, dim)
        balls, smooth = split_at_breaks(Piece(piece.support, formula))
        integrated = integrated or bool(opaque or balls)
        components += opaque
        components += [integrated_component(below, radius, dim) for radius, below in balls]
        known, known_atoms, rest = known_part(smooth, dim)
        components += known
        atoms += known_atoms
        if rest != 0:
            smooth_part, points = half_line_density(rest, dim)
            components += smooth_part
            atoms += points
            integrated = True
    if not integrated:
        return None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric")


def split_at_breaks(piece: Piece) -> tuple[list[tuple[sympy.Expr, sympy.Expr]], sympy.Expr]:
    """Write a piece as a sum of formulas on balls and one on the whole half-line.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> split_at_breaks(Piece(sympy.oo, sympy.exp(-Z) + sympy.Max(0, 2 - Z) ** 2))
    ([(2, (2 - z)**2)], exp(-z))
    """
    if piece.expr == 0 or (piece.support == sympy.oo and not piece.expr.has(*KINKS)):
        return [], piece.expr
    if piece.support != sympy.oo and ball_form(piece.expr, piece.support) is not None:
        return [(piece.support, piece.expr)], sympy.Integer(0)
    radii, cut, gaps = profile(Kernel((piece,)))
    if gaps:
        raise NoRouteError(
            f"The radii where {piece.expr} changes its branch are not all known "
            f"({gaps[0].reason}), so it cannot be cut there. Write the kernel as a sum of "
            "pieces with supports of their own."
        )
    exprs = list(cut)
    is_whole = len(radii) == 1 and same_radius(radii[0], piece.support)
    if is_whole and not piece.expr.has(*KINKS):
        exprs[0] = piece.expr
    balls = []
    for radius, below, above in zip(radii, exprs[:-1], exprs[1:], strict=True):
        difference = below - above
        if difference == 0 or sympy.expand(difference) == 0:
            continue
        _check_continuation(difference, radius)
        balls.append((radius, difference))
    if radii and exprs[-1] != 0:
        _check_continuation(exprs[-1], radii[-1])
    return balls, exprs[-1]


def _check_continuation(expr: sympy.Expr, radius: sympy.Expr) -> None:
    for r in branch_radii(expr, radius):
        if not same_radius(r, radius) and is_analytic_at(expr, r) != "analytic":
            raise NoRouteError(
                f"The formula {expr} holds up to or from the radius {radius}, and is not analytic "
                f"at the smaller radius {r}: its part beyond {r} has no continuation to z = 0. "
                "Write the kernel as a sum of formulas that are analytic from z = 0 to their "
                "support."
            )
