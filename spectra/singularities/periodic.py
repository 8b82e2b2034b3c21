r"""Periodic kernels: their radii have no end, and one period tells all of them.

A periodic kernel of period T has a discrete spectrum on the line.  Its one-sided means over z > 0
and z < 0 agree for a finite measure (dominated convergence), so that it must be even; then the mass
is finite in d = 1 exactly if its Fourier series converges absolutely, which its singularities
within a period decide.  For d >= 2 it has no limit at infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import sympy

from spectra.formula.expansions.exact_numbers import is_zero
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.places import (
    UNKNOWN,
    Ending,
    Gap,
    LocalAnalysis,
    Requirement,
    Singularity,
)
from spectra.singularities.wave_formulas import wave_rates

__all__ = ["periodic_analysis"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
#: Where the values of a formula at z and -z are compared.
_PROBE = sympy.Rational(5, 7)


def periodic_analysis(
    expr: sympy.Expr, analyse: Callable[[Kernel], LocalAnalysis]
) -> LocalAnalysis:
    """The local analysis of a periodic formula, from that of two periods."""
    end = 2 * _period(expr)
    found = analyse(Kernel((Piece(end, expr),)))
    # Without the end at which it is cut.
    found = replace(found, exprs=(), radii=tuple(p for p in found.radii if p[0] != end))
    reflected = expr.subs(Z, -Z)
    if reflected != expr and not is_zero((reflected - expr).subs(Z, _PROBE)):
        text = (
            "The kernel is periodic and its formula is not even: its one-sided means differ for "
            "z and -z, which those of no finite measure do."
        )
        return replace(found, infinity=Ending((Requirement(_NIL, True, text),)))
    if reflected != expr:
        open_ = Gap("whether the periodic kernel is an even formula", location=sympy.oo)
        return replace(found, infinity=Ending(gaps=(open_,)))
    text = (
        "The kernel is periodic: its spectrum is discrete for d = 1, and for d >= 2 every finite "
        "mass gives a kernel a limit at infinity, which this one has not."
    )
    wave = Singularity(sympy.oo, _NIL, right=UNKNOWN, frequency=2 * sympy.pi / _period(expr))
    return replace(found, infinity=Ending((Requirement(_ONE, True, text, wave),), (), (wave,)))


def _period(expr: sympy.Expr) -> sympy.Expr:
    """The period of what is periodic: the least common one of its waves."""
    rates = wave_rates(expr)
    shares = [sympy.Abs(r / rates[0]) for r in rates]
    return 2 * sympy.pi / (sympy.Abs(rates[0]) * reduce(sympy.gcd, shares))
