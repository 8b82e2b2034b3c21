"""Formulas of waves alone: their frequencies, and whether they are periodic or almost periodic."""

from __future__ import annotations

import sympy
from mpmath import mp

from spectra.formula.expansions.kinks import KINKS
from spectra.formula.reader.parsing import Z
from spectra.singularities.branches import value_at

__all__ = ["is_of_waves", "is_periodic", "recurs", "wave_rates"]

#: So many sevenths of a radian are more than a turn.
_TURN = 45


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
    smooth = is_of_waves(expr) and not expr.has(*KINKS)
    return is_periodic(expr) or (smooth and _varies(expr, wave_rates(expr)[0]))


def _varies(expr: sympy.Expr, rate: sympy.Expr) -> bool:
    values = [value_at(expr, sympy.Rational(n, 7) / rate) for n in range(1, _TURN)]
    return any(abs(v - values[0]) > mp.mpf("1e-20") for v in values)
