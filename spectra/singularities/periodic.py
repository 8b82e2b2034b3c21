r"""Formulas of waves alone, and periodic kernels, of which one period tells all radii.

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
from mpmath import mp

from spectra.formula.expansions.exact_numbers import is_zero
from spectra.formula.functions import PIECEWISE
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import value_at
from spectra.singularities.places import (
    UNKNOWN,
    Ending,
    Gap,
    LocalAnalysis,
    Requirement,
    Singularity,
)

__all__ = ["is_of_waves", "is_periodic", "periodic_analysis", "recurs", "wave_rates"]

_NIL, _ONE = sympy.Integer(0), sympy.Integer(1)
#: So many sevenths of a radian are more than a turn.
_TURN = 45
#: Where the values of a formula at z and -z are compared.
_PROBE = sympy.Rational(5, 7)


def wave_rates(expr: sympy.Expr) -> list[sympy.Expr]:
    """The frequencies of sin, cos and tan of multiples of z, those inside other functions too."""
    return [wave.args[0].diff(Z) for wave in _innermost_waves(expr)]


def _innermost_waves(expr: sympy.Expr) -> list[sympy.Expr]:
    nodes = sorted(expr.atoms(sympy.sin, sympy.cos, sympy.tan), key=sympy.default_sort_key)
    return [n for n in nodes if n.has(Z) and not n.args[0].diff(Z).free_symbols]


def is_of_waves(expr: sympy.Expr) -> bool:
    """Whether z occurs, and in sin, cos and tan of its multiples only."""
    waves = _innermost_waves(expr)
    rest = expr.xreplace({wave: sympy.Symbol(f"f{i}") for i, wave in enumerate(waves)})
    return bool(waves) and not rest.has(Z)


def is_periodic(expr: sympy.Expr) -> bool:
    """Whether a formula is visibly periodic and not constant.

    z occurs in sin, cos and tan of multiples of one frequency only, and two values differ.
    """
    rates = wave_rates(expr)
    one_rate = all((r / rates[0]).is_Rational for r in rates)
    return is_of_waves(expr) and one_rate and _varies(expr, rates[0])


def recurs(expr: sympy.Expr) -> bool:
    """Whether a formula visibly has no limit at infinity, since its values come back.

    It is periodic, or a function of waves without kinks: their phases come back as near to those of
    every z as one likes (Kronecker), and with them the two values that differ.
    """
    smooth = is_of_waves(expr) and not expr.has(*PIECEWISE)
    return is_periodic(expr) or (smooth and _varies(expr, wave_rates(expr)[0]))


def _varies(expr: sympy.Expr, rate: sympy.Expr) -> bool:
    values = [value_at(expr, sympy.Rational(n, 7) / rate) for n in range(1, _TURN)]
    return any(abs(v - values[0]) > mp.mpf("1e-20") for v in values)


def periodic_analysis(
    expr: sympy.Expr, analyse: Callable[[Kernel], LocalAnalysis]
) -> LocalAnalysis:
    """The local analysis of a periodic formula, from that of two periods."""
    end = 2 * _period(expr)
    found = analyse(Kernel((Piece(end, expr),)))
    # Without the end at which it is cut.
    found = replace(found, exprs=(), radii=tuple(p for p in found.radii if p[0] != end))
    odd = expr - expr.subs(Z, -Z)
    if odd != 0:
        if is_zero(odd.subs(Z, _PROBE)):
            gap = Gap("whether the periodic kernel is an even formula", location=sympy.oo)
            return replace(found, infinity=Ending(gaps=(gap,)))
        text = (
            "The kernel is periodic and its formula is not even: its one-sided means differ for "
            "z and -z, which those of no finite measure do."
        )
        return replace(found, infinity=Ending((Requirement(_NIL, True, text),)))
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
