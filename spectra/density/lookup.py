"""The lookup route: kernels that are sums of kernels with a known transform."""

from __future__ import annotations

from typing import Any

import sympy

from spectra.density.ball.ball_form import read_ball_form
from spectra.density.ball.ball_formula import ball_formula
from spectra.density.ball.edge import ball_component
from spectra.density.closed_pairs import FAMILIES, FORMULAS, ClosedPair
from spectra.density.closed_pairs.pair import Maker, canonical, make_pair, parse_summand, summands
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.density.gamma_product import gamma_formula, gamma_products
from spectra.errors import NoRouteError
from spectra.formula.parsing import Z
from spectra.kernels.kernel import Kernel

__all__ = ["known_part", "lookup", "lookup_formula"]

#: Coefficients by family and parameters.  A constant has no family: it is an atom at radius 0.
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
            form = read_ball_form(piece.expr, piece.support)
            if form is None:
                return None
            components.append(ball_component(form, dim))
            formulas.append(ball_formula(form, dim))
            continue
        pairs, piece_atoms, rest = known_part(piece.expr, dim)
        if rest != 0:
            return None
        components.extend(pairs)
        formulas.extend(pair.formula for pair in pairs)
        atoms.extend(piece_atoms)
    expr = None if None in formulas else sympy.Add(*formulas)
    return SpectralDensity(kernel, dim, tuple(components), tuple(atoms), "lookup", expr)


def lookup_formula(expr: sympy.Expr, support: sympy.Expr, dim: int) -> sympy.Expr | None:
    """The formula mu(w) of a formula in Z whose other symbols are positive parameters, or None.

    It is not checked; sums of Gamma products are used for summands without a closed pair.

    Examples
    --------
    >>> s, l = sympy.symbols("s l", positive=True)
    >>> lookup_formula(s * sympy.exp(-Z / l), sympy.oo, 3)
    s/(pi**2*l*(w**2 + l**(-2))**2)
    """
    if support != sympy.oo:
        factor, rest = expr.as_independent(Z, as_Add=False)
        form = read_ball_form(rest, support)
        found = None if form is None else ball_formula(form, dim)
        return None if found is None else factor * found
    # sympy keeps (c z)^nu together for a symbol nu, since z may be 0.
    known, unknown = _known_summands(sympy.expand_power_base(expr, force=True), dim)
    if known.pop(_CONSTANT, None) is not None:
        return None  # an atom at w = 0
    formulas = [FORMULAS[m](dim, *p, c) for (m, p), c in known.items() if m is not None]
    if unknown:
        products = gamma_products(sympy.Add(*unknown))
        rest = None if products is None else gamma_formula(products, dim)
        if rest is None:
            return None
        formulas.append(rest)
    return sympy.Add(*formulas)


def known_part(expr: sympy.Expr, dim: int) -> tuple[list[ClosedPair], list[Atom], sympy.Expr]:
    """Components and atoms of the summands in closed form, and the sum of the other summands.

    The rest is the whole formula, not multiplied out, if it has no summand in closed form, or one
    whose transform is no measure.  An example of the latter is (1 - exp(-exp(-z^2))) J_0(z), which
    decays fast, whereas its summand J_0(z) does not.
    """
    known, rest = _known_summands(expr, dim)
    if rest:
        # The limit of the rest may cancel the constant: 1 - sqrt(z/(1 + z)) has no atom.
        rest.append(known.pop(_CONSTANT, sympy.Integer(0)))
    try:
        found = [
            make_pair(make, dim, *parameters, value) if make else Atom.of(sympy.Integer(0), value)
            for (make, parameters), value in known.items()
        ]
    except NoRouteError:
        if not rest:
            raise
        return [], [], expr
    if rest and not found:
        return [], [], expr
    pairs = [p for p in found if isinstance(p, ClosedPair)]
    return pairs, [a for a in found if isinstance(a, Atom)], sympy.Add(*rest)


def _known_summands(expr: sympy.Expr, dim: int) -> tuple[_Known, list[sympy.Expr]]:
    """Sums of the coefficients of equal kernels in closed form, and the other summands."""
    known: _Known = {}
    rest = []
    for term in summands(expr):
        summand = parse_summand(term)
        readings = ((make, read(summand, dim)) for read, make in FAMILIES)
        make, kernels = next(((m, found) for m, found in readings if found is not None), (None, []))
        if not term.has(Z):
            kernels = [((), term)]
        elif make is None:
            rest.append(term)
        for parameters, coefficient in kernels:
            key = make, parameters
            known[key] = canonical(known.get(key, sympy.Integer(0)) + coefficient)
    return {key: value for key, value in known.items() if value != 0}, rest
