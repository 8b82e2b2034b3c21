"""Look-up: kernels that are sums of kernels with a known transform."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.density.ball.ball_formula import compact_formula
from spectra.density.ball.compact import ball_component
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.closed_pairs import FAMILIES, ClosedPair
from spectra.density.closed_pairs.pair import Maker, make_pair
from spectra.density.closed_pairs.summands import read, summands, tidy
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["known_part", "lookup"]

#: Coefficients by family and parameters.  A constant, which is an atom at 0, has no family.
_Known = dict[tuple[Maker | None, tuple[Any, ...]], sympy.Expr]
_CONSTANT: tuple[Maker | None, tuple[Any, ...]] = (None, ())


def lookup(kernel: Kernel, dim: int) -> SpectralDensity | None:
    """Spectral density of a kernel whose summands all have a closed form, or None.

    Examples
    --------
    >>> from spectra.kernels.kernel import radial
    >>> density = lookup(radial("exp(-z**2/2) - 0.3*exp(-z)"), 3)
    >>> sorted(c.family.__name__ for c in density.components)
    ['gaussian', 'matern']
    """
    components: list[Component] = []
    atoms: list[Atom] = []
    formulas: list[sympy.Expr | None] = []
    for piece in kernel.pieces:
        if piece.support != sympy.oo:
            form = ball_form(piece.expr, piece.support)
            if form is None:
                return None
            components.append(ball_component(form, dim))
            formulas.append(compact_formula(form, dim))
            continue
        smooth, points, rest = known_part(piece.expr, dim)
        if rest != 0:
            return None
        components.extend(smooth)
        formulas.extend(c.formula for c in smooth)
        atoms.extend(points)
    expr = None if None in formulas else sympy.Add(*formulas)
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "lookup", expr)


def known_part(expr: sympy.Expr, dim: int) -> tuple[list[ClosedPair], list[Atom], sympy.Expr]:
    """Components and atoms of the summands in closed form, and the rest of the formula.

    A formula without such a summand is returned as it was written: multiplying it out could give
    summands that are unbounded.  So is one with a wave that has no measure by itself:
    (1 - exp(-exp(-z^2))) J_0(z) falls fast, and J_0(z) does not.
    """
    known, rest = _known_summands(expr, dim)
    if rest:
        # The limit of what is left may be minus the constant: 1 - sqrt(z/(1 + z)) has no atom.
        rest.append(known.pop(_CONSTANT, sympy.Integer(0)))
    try:
        made = [
            make_pair(make, dim, *parameters, value) if make else Atom.of(sympy.Integer(0), value)
            for (make, parameters), value in known.items()
        ]
    except NoRouteError:
        if not rest:
            raise
        return [], [], expr
    smooth = [c for c in made if isinstance(c, ClosedPair)]
    atoms = [c for c in made if isinstance(c, Atom)]
    if rest and not made:
        return [], [], expr
    return smooth, atoms, sympy.Add(*rest)


def _known_summands(expr: sympy.Expr, dim: int) -> tuple[_Known, list[sympy.Expr]]:
    """The exact sums of the summands of each family, by their parameters; and other summands."""
    known: _Known = {}
    rest = []
    for term in summands(expr):
        summand = read(term)
        found = ((make, read_one(summand, dim)) for read_one, make in FAMILIES)
        make, kernels = next(((m, k) for m, k in found if k is not None), (None, []))
        if not term.has(Z):
            kernels = [((), term)]
        elif make is None:
            rest.append(term)
        for parameters, value in kernels:
            key = make, parameters
            known[key] = tidy(known.get(key, sympy.Integer(0)) + value)
    return {key: value for key, value in known.items() if value != 0}, rest
