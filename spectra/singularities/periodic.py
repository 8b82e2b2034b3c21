r"""Trigonometric formulas, and the analysis of periodic kernels from the radii of one period.

Let k be a periodic formula in z.  If the kernel k(|x|) on the line has finite mass, the means of
k(|x|) exp(-iwx) over x > 0 and over x < 0 agree (dominated convergence), so that k must be even.
Then the mass for d = 1 is finite exactly if the Fourier series of k converges absolutely, which the
singularities in one period decide.  For d >= 2 the mass is infinite: k has no limit at infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import sympy
from mpmath import mp

from spectra.formula.expansions.exact_numbers import is_zero
from spectra.formula.functions import PIECEWISE
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import value_at
from spectra.singularities.results import (
    UNKNOWN,
    Gap,
    LocalAnalysis,
    PointAnalysis,
    Requirement,
    Singularity,
)

__all__ = ["analyse_periodic", "frequencies_of", "is_periodic", "is_recurrent", "is_trigonometric"]

_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)
#: The values of frequency * z at which a formula is evaluated; the last exceeds the period 2 pi.
_PHASES = [sympy.Rational(n, 7) for n in range(1, 45)]
#: The z at which the values of a formula at z and -z are compared.
_TEST_POINT = sympy.Rational(5, 7)


def frequencies_of(expr: sympy.Expr) -> list[sympy.Expr]:
    """The frequencies of all sin, cos and tan of a linear argument, at any depth of a formula."""
    return [wave.args[0].diff(Z) for wave in _linear_waves(expr)]


def _linear_waves(expr: sympy.Expr) -> list[sympy.Expr]:
    nodes = sorted(expr.atoms(sympy.sin, sympy.cos, sympy.tan), key=sympy.default_sort_key)
    return [n for n in nodes if n.has(Z) and not n.args[0].diff(Z).free_symbols]


def is_trigonometric(expr: sympy.Expr) -> bool:
    """Whether z occurs, and only in sin, cos and tan of a linear argument."""
    waves = _linear_waves(expr)
    rest = expr.xreplace({wave: sympy.Symbol(f"f{i}") for i, wave in enumerate(waves)})
    return bool(waves) and not rest.has(Z)


def is_periodic(expr: sympy.Expr) -> bool:
    """Whether a formula is visibly periodic and not constant.

    It is trigonometric, the ratios of its frequencies are rational, and two of its values differ.
    """
    frequencies = frequencies_of(expr)
    commensurable = all((w / frequencies[0]).is_Rational for w in frequencies)
    return is_trigonometric(expr) and commensurable and _varies(expr, frequencies[0])


def is_recurrent(expr: sympy.Expr) -> bool:
    """Whether a formula visibly has no limit at infinity, because each of its values recurs.

    The formula is periodic, or trigonometric without kinks.  The phases of its waves return
    arbitrarily close to those at any z (Kronecker's theorem), and two of its values differ.
    """
    almost_periodic = is_trigonometric(expr) and not expr.has(*PIECEWISE)
    return is_periodic(expr) or (almost_periodic and _varies(expr, frequencies_of(expr)[0]))


def _varies(expr: sympy.Expr, frequency: sympy.Expr) -> bool:
    values = [value_at(expr, phase / frequency) for phase in _PHASES]
    return any(abs(v - values[0]) > mp.mpf("1e-20") for v in values)


def analyse_periodic(expr: sympy.Expr, analyse: Callable[[Kernel], LocalAnalysis]) -> LocalAnalysis:
    """Analyse a periodic formula; ``analyse`` is applied to its first two periods."""
    period = _period(expr)
    analysis = analyse(Kernel((Piece(2 * period, expr),)))
    radii = tuple((r, point) for r, point in analysis.radii if r != 2 * period)
    analysis = replace(analysis, exprs=(), radii=radii)
    odd = expr - expr.subs(Z, -Z)
    if odd != 0:
        if is_zero(odd.subs(Z, _TEST_POINT)):
            gap = Gap("whether the periodic kernel is an even formula", location=sympy.oo)
            return replace(analysis, infinity=PointAnalysis(gaps=(gap,)))
        reason = (
            "The kernel is periodic and its formula is not even: the Fourier coefficients of its "
            "values for x > 0 and for x < 0 differ. For a finite measure they are equal."
        )
        requirement = Requirement(_ZERO, inclusive=True, reason=reason)
        return replace(analysis, infinity=PointAnalysis((requirement,)))
    reason = (
        "The kernel is periodic: its spectrum is discrete for d = 1. For d >= 2 every kernel of "
        "finite mass has a limit at infinity; this one has none."
    )
    wave = Singularity(sympy.oo, _ZERO, right=UNKNOWN, frequency=2 * sympy.pi / period)
    requirement = Requirement(_ONE, inclusive=True, reason=reason, singularity=wave)
    infinity = PointAnalysis(requirements=(requirement,), singularities=(wave,))
    return replace(analysis, infinity=infinity)


def _period(expr: sympy.Expr) -> sympy.Expr:
    """The least common period of the waves of a periodic formula."""
    frequencies = frequencies_of(expr)
    ratios = [sympy.Abs(w / frequencies[0]) for w in frequencies]
    return 2 * sympy.pi / (sympy.Abs(frequencies[0]) * reduce(sympy.gcd, ratios))
