"""The numeric route: what no family knows is integrated, summand by summand.

Summands that the catalogue knows keep their closed forms; what is left of each piece goes to the
rooms of callables, half-lines and balls, and one density has the components of both.
"""

from __future__ import annotations

import sympy

from spectra.density.ball.compact import BallComponent
from spectra.density.ball.numeric.compact_numeric import compact_numeric_components, split_at_breaks
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.callables.density_of_callable import opaque_part
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.half_line.half_line import half_line
from spectra.density.lookup import known_part
from spectra.formula.expansions.kinks import KINKS
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel

__all__ = ["numeric"]


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
        None where look-up alone knows all pieces.

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
                components += compact_numeric_components(formula, radius, dim)
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
            smooth_part, points = half_line(rest, dim)
            components += smooth_part
            atoms += points
        elif (form := ball_form(piece.expr, piece.support)) is not None:
            components.append(BallComponent.of(form, dim))
        else:
            components += compact_numeric_components(piece.expr, piece.support, dim)
        integrated = True
    if not integrated:
        return None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "numeric")
