"""The numeric route: what no family knows is integrated, summand by summand.

Summands that the catalogue knows keep their closed forms; what is left of each piece goes to the
solvers below, and one density has the components of both.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy

from spectra.density import Atom, Component, SpectralDensity
from spectra.kernel import Kernel
from spectra.transform.compact import compact_components
from spectra.transform.compact_numeric import compact_numeric_components
from spectra.transform.half_line import half_line
from spectra.transform.lookup import known_part

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
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    integrated = False
    for piece in kernel.pieces:
        if piece.support == sympy.oo:
            known, known_atoms, rest = known_part(piece.expr, kernel, dim)
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
