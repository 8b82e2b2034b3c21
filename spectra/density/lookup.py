"""The look-up route: kernels that are sums of families with a known transform pair."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.compact import BallComponent
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.closed_pairs import PAIRS
from spectra.density.closed_pairs.pair import CONSTANT, Pair
from spectra.density.closed_pairs.summands import read, summands, tidy
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["known_part", "lookup", "unknown_summand"]

#: Coefficients by the pair that has them and by its own key; a constant has none.
_Claims = dict[tuple[type[Pair] | None, tuple[Any, ...]], sympy.Expr]


def lookup(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel whose summands all have a known pair, else None.

    Parameters
    ----------
    kernel : Kernel
        Any kernel; pieces of finite support go to :mod:`.on_balls.compact`.
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
    >>> from spectra.kernels.kernel import radial
    >>> density = lookup(radial("exp(-z**2/2) - 0.3*exp(-z)"), 3)
    >>> [type(c).__name__ for c in density.components]
    ['Gaussian', 'Matern']
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    formulas: list[sympy.Expr | None] = []
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            form = ball_form(piece.expr, piece.support)
            if form is None:
                return None
            components.append(BallComponent.of(form, dim))
            formulas.append(compact_formula(form, dim))
            continue
        known, rest = _claimed(piece.expr, dim)
        if rest:
            return None
        smooth, points = _transform(known, dim)
        components.extend(smooth)
        formulas.extend(c.formula() for c in smooth if isinstance(c, Pair))
        atoms.extend(points)
    expr = None if None in formulas else sympy.Add(*formulas)
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
    known, rest = _claimed(expr, dim)
    if rest:
        # The limit of what is left may be minus that, and no atom is there: 1 - sqrt(z/(1 + z)).
        rest.append(known.pop((None, CONSTANT), sympy.Integer(0)))
    try:
        smooth, atoms = _transform(known, dim)
    except NoRouteError:
        if not rest:
            raise
        return [], [], expr
    if not smooth and not atoms:
        return [], [], expr if rest else sympy.Integer(0)
    return smooth, atoms, sympy.Add(*rest)


def unknown_summand(kernel: Kernel, dim: int) -> str | None:
    """The first summand of a kernel that is in no family, as text; None where all are known."""
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            if ball_form(piece.expr, piece.support) is None:
                return f"{piece.expr} on z <= {piece.support}"
            continue
        _, rest = _claimed(piece.expr, dim)
        if rest:
            return str(rest[0])
    return None


def _claimed(expr: sympy.Expr, dim: int) -> tuple[_Claims, list[sympy.Expr]]:
    """The exact sum of the summands that each pair claims, by their keys; and the others."""
    serving = [pair for pair in PAIRS if pair.serves(dim)]
    known: _Claims = {}
    rest = []
    for term in summands(expr):
        if not term.has(Z):
            known[None, CONSTANT] = tidy(known.get((None, CONSTANT), 0) + term)
            continue
        summand = read(term)
        for pair in serving:
            parts = pair.claim(summand)
            if parts is not None:
                break
        else:
            rest.append(term)
            continue
        for key, value in parts:
            owner, tidied = (None, tidy) if key == CONSTANT else (pair, pair.tidy)
            known[owner, key] = tidied(known.get((owner, key), 0) + value)
    return {key: value for key, value in known.items() if value != 0}, rest


def _transform(known: _Claims, dim: int) -> tuple[list[Component], list[Atom]]:
    """Components and atoms of claimed summands in a dimension, in the order of the pairs."""
    made = [
        owner.made(dim, key, value)
        for owner in PAIRS
        for (pair, key), value in known.items()
        if pair is owner
    ]
    constant = known.get((None, CONSTANT))
    atoms = [] if constant is None else [Atom.of(sympy.Integer(0), constant)]
    atoms += [found for found in made if isinstance(found, Atom)]
    return [found for found in made if isinstance(found, Component)], atoms
