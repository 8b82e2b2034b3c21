"""The numeric route: what no family knows is integrated, summand by summand.

Summands that the catalogue knows keep their closed forms; what is left of each piece goes to the
solvers below, and one density has the components of both.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy

from spectra.density import Atom, Component, SpectralDensity
from spectra.formula.pieces import Piece
from spectra.kernel import Kernel
from spectra.singularity.zeros import KINKS
from spectra.transform.callables.opaque_kernel import opaque_part
from spectra.transform.half_lines.half_line import half_line
from spectra.transform.lookup import known_part
from spectra.transform.on_balls.compact import compact_components
from spectra.transform.on_balls.compact_numeric import compact_numeric_components, split_at_breaks

__all__ = ["numeric"]

#: A solver on the half-line: (formula in Z, dim) -> components and atoms, or None for "not mine".
HalfLineSolver = Callable[[sympy.Expr, int], tuple[list[Component], list[Atom]] | None]
#: A solver on a ball: (formula in Z, support, dim) -> components, or None for "not mine".
CompactSolver = Callable[[sympy.Expr, sympy.Expr, int], list[Component] | None]

#: Tried in this order.
HALF_LINE: tuple[HalfLineSolver, ...] = (half_line,)
COMPACT: tuple[CompactSolver, ...] = (compact_components, compact_numeric_components)


def numeric(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel with summands that only quadrature knows, else None.

    Parameters
    ----------
    kernel : Kernel
        Any kernel; each piece is solved by itself.
    dim : int
        Dimension d >= 1.

    Returns
    -------
    SpectralDensity or None
        None where no solver takes a piece, or where look-up alone knows them all.

    Raises
    ------
    NoRouteError
        Where the transform of a summand is known and is not a measure, or a solver can say why
        a piece is beyond it.

    Notes
    -----
    A piece is cut where it changes its formula, and callables are taken out of it first.
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    integrated = False
    for whole in kernel.pieces:
        piece = whole
        opaque = opaque_part(whole.expr, whole.support, dim)
        if opaque is not None:
            components += opaque[0]
            integrated = True
            if opaque[1] == 0:
                continue
            piece = Piece(whole.support, opaque[1])
        if piece.support == sympy.oo and piece.expr.has(*KINKS):
            balls, smooth = split_at_breaks(piece)
            for radius, formula in balls:
                on_ball = compact_numeric_components(formula, radius, dim)
                assert on_ball is not None  # every break has a finite radius
                components += on_ball
            integrated = True
            if smooth == 0:
                continue
            piece = Piece(sympy.oo, smooth)
        if piece.support == sympy.oo:
            known, known_atoms, rest = known_part(piece.expr, dim)
            components += known
            atoms += known_atoms
            if rest == 0:
                continue
            found = _first(HALF_LINE, rest, dim)
            if found is None:
                return None
            components += found[0]
            atoms += found[1]
            integrated = True
        else:
            solved = next(
                (c for s in COMPACT if (c := s(piece.expr, piece.support, dim)) is not None), None
            )
            if solved is None:
                return None
            components += solved
            integrated = True
    if not integrated:
        return None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric")


def _first(
    solvers: tuple[HalfLineSolver, ...], expr: sympy.Expr, dim: int
) -> tuple[list[Component], list[Atom]] | None:
    return next((found for s in solvers if (found := s(expr, dim)) is not None), None)
