r"""The numeric route: numerical transforms of the summands that have no closed form.

A formula is split at the distances r_j where it is not analytic.  If it equals the formula e_j
below r_j and above r_{j-1}, then

.. math:: k = \sum_j (e_j - e_{j+1})\,1[z \le r_j] + e_{\mathrm{last}} ,

and each summand is one formula on a ball z <= r_j, or on the half-line.  Callables are transformed
from their values.
"""

from __future__ import annotations

import sympy

from spectra.density.ball.ball_form import read_ball_form
from spectra.density.ball.numeric import component_of_formula
from spectra.density.callables import opaque_part
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.half_line.half_line import half_line_density
from spectra.density.lookup import known_part
from spectra.errors import NoRouteError
from spectra.formula.functions import PIECEWISE
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii, classify_at
from spectra.singularities.local import analytic_intervals
from spectra.singularities.zeros import same_radius

__all__ = ["numeric", "split_at_breaks"]


def numeric(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel; None if all of its summands have a closed form."""
    components: list[Component] = []
    atoms: list[Atom] = []
    is_numeric = False
    for piece in kernel.pieces:
        from_callables, formula = opaque_part(piece.expr, piece.support, dim)
        balls, remainder = split_at_breaks(Piece(piece.support, formula))
        components += from_callables
        components += [component_of_formula(expr, radius, dim) for radius, expr in balls]
        pairs, pair_atoms, rest = known_part(remainder, dim)
        components += pairs
        atoms += pair_atoms
        if rest != 0:
            half_line_components, half_line_atoms = half_line_density(rest, dim)
            components += half_line_components
            atoms += half_line_atoms
        is_numeric = is_numeric or bool(from_callables or balls or rest != 0)
    if not is_numeric:
        return None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric")


def split_at_breaks(piece: Piece) -> tuple[list[tuple[sympy.Expr, sympy.Expr]], sympy.Expr]:
    """Write a piece as a sum of formulas on balls, (radius, formula), and one on the half-line.

    Examples
    --------
    >>> from spectra.formula.parsing import Z
    >>> split_at_breaks(Piece(sympy.oo, sympy.exp(-Z) + sympy.Max(0, 2 - Z) ** 2))
    ([(2, (2 - z)**2)], exp(-z))
    """
    if piece.expr == 0 or (piece.support == sympy.oo and not piece.expr.has(*PIECEWISE)):
        return [], piece.expr
    if piece.support != sympy.oo and read_ball_form(piece.expr, piece.support) is not None:
        return [(piece.support, piece.expr)], sympy.Integer(0)
    radii, formulas, unknown = analytic_intervals(Kernel((piece,)))
    if unknown:
        raise NoRouteError(
            f"The radii where {piece.expr} is not analytic are not all known "
            f"({unknown[0].reason}), so it cannot be split there. Write the kernel as a sum of "
            "formulas, each with its own support."
        )
    exprs = list(formulas)
    ends_at_support = len(radii) == 1 and same_radius(radii[0], piece.support)
    if ends_at_support and not piece.expr.has(*PIECEWISE):
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
    """Raise a NoRouteError if a formula is not analytic at a smaller radius."""
    for r in branch_radii(expr, radius):
        if not same_radius(r, radius) and classify_at(expr, r) != "analytic":
            raise NoRouteError(
                f"The kernel changes its formula at z = {radius}, and the formula {expr} is not "
                f"analytic at the smaller distance {r}, so it has no continuation to z = 0. Write "
                "the kernel as a sum of formulas that are analytic from z = 0 to their support."
            )
