"""The look-up route: kernels that are sums of families with a known transform pair."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.density import Atom, Component, SpectralDensity
from spectra.formula.parsing import Z
from spectra.kernel import Kernel
from spectra.transform.on_balls.ball_formula import compact_formula
from spectra.transform.on_balls.ball_reading import ball_form
from spectra.transform.on_balls.compact import compact_components
from spectra.transform.smooth_pairs import PAIRS
from spectra.transform.smooth_pairs.pair import CONSTANT, Pair
from spectra.transform.smooth_pairs.plane_wave_mean import PlaneWaveMean
from spectra.transform.summands import read, summands, tidy

__all__ = ["known_part", "lookup", "unknown_summand"]


def lookup(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel whose summands all have a known pair, else None.

    Parameters
    ----------
    kernel : Kernel
        Any kernel; pieces of finite support go to :mod:`.compact`.
    dim : int
        Dimension d >= 1.

    Returns
    -------
    SpectralDensity or None
        None where a summand is in no family; :func:`unknown_summand` names it.

    Raises
    ------
    NoRouteError
        Where the transform is known and is not a measure: a plane-wave mean of fewer than d
        dimensions, such as cos(z) for d = 2.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> density = lookup(radial("exp(-z**2/2) - 0.3*exp(-z)"), 3)
    >>> [type(c).__name__ for c in density.components]
    ['Gaussian', 'Matern']
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    formulas: list[sympy.Expr | None] = []
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            compact = compact_components(piece.expr, piece.support, dim)
            if compact is None:
                return None
            components.extend(compact)
            formulas.append(compact_formula(piece.expr, piece.support, dim))
            continue
        found = _Sum()
        if not all(found.claims(term) for term in summands(piece.expr)):
            return None
        smooth, points = found.transform(dim)
        components.extend(smooth)
        formulas.extend(c.formula() for c in smooth if isinstance(c, Pair))
        atoms.extend(points)
    known = [f for f in formulas if f is not None]
    expr = sympy.Add(*known) if len(known) == len(formulas) else None
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "lookup", expr)


def known_part(expr: sympy.Expr, dim: int) -> tuple[list[Component], list[Atom], sympy.Expr]:
    """Components and atoms of the summands that a family knows, and the rest of the formula.

    A formula without such a summand is returned as it was written: multiplying it out could
    divide it into parts that are unbounded one by one.  So is one of which a summand is a wave
    that has no measure alone: (1 - exp(-exp(-z^2))) J_0(z) falls fast, and J_0(z) does not.

    Parameters
    ----------
    expr : sympy expression
        A formula in Z on the whole half-line.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        As :func:`lookup` does.
    """
    known, rest = _Sum(), []
    for term in summands(expr):
        if not known.claims(term):
            rest.append(term)
    if rest and known.has_a_short_wave(dim):
        return [], [], expr
    if rest and known.constant != 0:
        # The limit of what is left may be minus that, and no atom is there: 1 - sqrt(z/(1 + z)).
        rest.append(known.constant)
        known.constant = sympy.Integer(0)
    smooth, atoms = known.transform(dim)
    if not smooth and not atoms:
        return [], [], expr if rest else sympy.Integer(0)
    return smooth, atoms, sympy.Add(*rest)


def unknown_summand(kernel: Kernel) -> str | None:
    """The first summand of a kernel that is in no family, as text; None where all are known."""
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            if ball_form(piece.expr, piece.support) is None:
                return f"{piece.expr} on z <= {piece.support}"
            continue
        for term in summands(piece.expr):
            if not _Sum().claims(term):
                return str(term)
    return None


class _Sum:
    """The exact sum of the summands that pairs have claimed, pair by pair."""

    def __init__(self) -> None:
        self.constant = sympy.Integer(0)
        self._terms: dict[tuple[type[Pair], tuple[Any, ...]], sympy.Expr] = {}

    def claims(self, term: sympy.Expr) -> bool:
        """Whether a pair has a summand, which is then added."""
        if not term.has(Z):
            self.constant = tidy(self.constant + term)
            return True
        summand = read(term)
        for pair in PAIRS:
            parts = pair.claim(summand)
            if parts is None:
                continue
            for key, value in parts:
                if key == CONSTANT:
                    self.constant = tidy(self.constant + value)
                else:
                    known = self._terms.get((pair, key), sympy.Integer(0))
                    self._terms[pair, key] = pair.tidy(known + value)
            return True
        return False

    def has_a_short_wave(self, dim: int) -> bool:
        """Whether it holds a plane wave of fewer dimensions, which has no measure alone."""
        return any(
            pair is PlaneWaveMean and key[0] < dim and value != 0
            for (pair, key), value in self._terms.items()
        )

    def transform(self, dim: int) -> tuple[list[Component], list[Atom]]:
        """Components and atoms in a dimension."""
        ordered = sorted(self._terms.items(), key=lambda item: PAIRS.index(item[0][0]))
        made = [pair.made(dim, key, value) for (pair, key), value in ordered if value != 0]
        atoms = [found for found in made if isinstance(found, Atom)]
        if self.constant != 0:
            atoms.insert(0, Atom.of(sympy.Integer(0), self.constant))
        return [found for found in made if isinstance(found, Component)], atoms
