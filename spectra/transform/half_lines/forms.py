"""Formulas written so that doubles neither overflow nor meet a cut where the kernel is small."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from spectra.formula.parsing import Z

__all__ = ["decaying_form", "forms"]

# The sign of an argument far out is read here.
_FAR = sympy.Integer(10) ** 6


def decaying_form(expr: sympy.Expr) -> sympy.Expr:
    """Hyperbolic functions as exponentials that decay, times one that meets its neighbours.

    .. math:: \\cosh u = e^u (1 + e^{-2u})/2, \\qquad \\tanh u = (1 - e^{-2u})/(1 + e^{-2u})

    Examples
    --------
    >>> decaying_form(sympy.exp(-(Z**2)) * sympy.cosh(Z))
    (1 + exp(-2*z))*exp(-z**2 + z)/2
    """
    found = expr
    for node in expr.atoms(sympy.cosh, sympy.sinh, sympy.tanh):
        u = node.args[0]
        sign = 1
        if u.subs(Z, _FAR).evalf(15).is_negative:
            u, sign = -u, (1 if isinstance(node, sympy.cosh) else -1)
        small = sympy.exp(-2 * u)
        if isinstance(node, sympy.tanh):
            found = found.subs(node, sign * (1 - small) / (1 + small))
        else:
            inner = 1 + small if isinstance(node, sympy.cosh) else 1 - small
            found = found.subs(node, sign * sympy.exp(u) * inner / 2)
    return sympy.powsimp(found, combine="exp", deep=True)


def forms(expr: sympy.Expr) -> Iterator[sympy.Expr]:
    """The formula, and where it has hyperbolic functions others that may keep more digits."""
    yield expr
    if expr.has(sympy.tanh, sympy.cosh, sympy.sinh):
        yield decaying_form(expr)
        yield sympy.simplify(expr.rewrite([sympy.tanh, sympy.cosh, sympy.sinh], sympy.exp))
