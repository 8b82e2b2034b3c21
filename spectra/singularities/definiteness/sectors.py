r"""Complete Bernstein functions of z^2, known by the sector that they keep to.

A function f of :math:`s = z^2` that is positive for s > 0 and analytic off the negative axis is a
complete Bernstein function where :math:`0 \le \arg f \le \arg s` in the upper half-plane (R. L.
Schilling, R. Song and Z. Vondracek, Bernstein Functions, De Gruyter 2012, theorem 6.2).  Bounds of
the argument follow a formula: products add them, powers multiply them, and a sum stays in the
sector of its terms.
"""

from __future__ import annotations

import sympy

from spectra.formula.reader.parsing import Z

__all__ = ["is_complete_bernstein"]

_NIL, _ONE, _HALF = sympy.Integer(0), sympy.Integer(1), sympy.Rational(1, 2)

#: Lower and upper bound of arg f / arg s.
Sector = tuple[sympy.Expr, sympy.Expr]


def is_complete_bernstein(expr: sympy.Expr) -> bool:
    """Whether a formula in z can be shown to be a complete Bernstein function of z^2."""
    sector = _sector(expr)
    return sector is not None and bool(sector[0] >= 0 and sector[1] <= 1)


def _sector(expr: sympy.Expr) -> Sector | None:
    """None where none is known, or it holds the negative axis, about which powers are cut."""
    if expr == Z:
        return _HALF, _HALF
    if expr.is_number:
        return (_NIL, _NIL) if expr.is_positive else None
    found = None
    if expr.is_Pow and expr.exp.is_Rational:
        base = _sector(expr.base)
        if base is not None:
            ends = base[0] * expr.exp, base[1] * expr.exp
            found = min(ends), max(ends)
    elif expr.is_Mul:
        factors = [_sector(a) for a in expr.args]
        if None not in factors:
            found = tuple(sum(ends) for ends in zip(*factors, strict=True))
    elif expr.is_Add:
        terms = [_sector(a) for a in expr.args]
        if None not in terms:
            lows, highs = zip(*terms, strict=True)
            found = min(lows), max(highs)
    elif expr.func == sympy.log:
        # log(1 + h)/h is a Stieltjes function of h.
        inner = _sector(expr.args[0] - 1)
        if inner is not None and inner[0] >= 0:
            found = _NIL, inner[1]
    # Beyond half a turn in all an argument is no longer that of the principal powers, nor is a
    # sector convex.
    if found is None or not (found[0] >= -1 and found[1] <= 1 and found[1] - found[0] <= 1):
        return None
    return found
