r"""Kernels of compact support given by any formula: numbers where no closed form is known.

A formula on z <= R is cut at the radii where it is not analytic.  With e_j the formula below the
radius r_j,

.. math:: k = \sum_j (e_j - e_{j+1})\,1[z \le r_j] ,

so that each summand is one formula on one ball, which oscillates at large w with the frequency
r_j.  The exponents of its expansions at both ends come from the exact local analysis; moments and
coefficients are numbers (:mod:`.numeric_ball`).
"""

from __future__ import annotations

import math

import flint
import sympy

from spectra.density.ball.compact import BallComponent
from spectra.density.ball.numeric.numeric_ball import NumericBall
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.components import Component
from spectra.density.continuation.continuation import Continuation
from spectra.density.continuation.unresolved_parts import hidden_in_a_ball, refuse_hidden
from spectra.errors import NoRouteError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO, Series
from spectra.formula.expansions.kinks import KINKS
from spectra.formula.pieces import Piece
from spectra.formula.reader.parsing import Z
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import branch_radii, is_analytic_at
from spectra.singularities.local import profile
from spectra.singularities.zeros import same_radius

__all__ = ["compact_numeric_components", "split_at_breaks"]

# Powers kept in the exact expansions at both ends, tried in turn until a term shows.
_WINDOWS = (8, 24, 64)
# Exponents with a larger common denominator would ask for too long series.
_LARGEST_ROOT = 4
# Values may lose so many bits before they are computed again.
_CANCELLED = 40


def compact_numeric_components(expr: sympy.Expr, support: sympy.Expr, dim: int) -> list[Component]:
    """The density of any formula in Z on z <= support, one component for each break in it.

    Parameters
    ----------
    expr, support : sympy expressions
        As in :class:`spectra.kernels.kernel.Piece`, where it ends.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        Where the formula is not algebraic at an end (logarithms, essential singularities), or the
        formula beyond a break cannot be continued below it.
    AccuracyError
        Where the numbers do not settle.

    Examples
    --------
    >>> import mpmath, numpy as np
    >>> (c,) = compact_numeric_components(sympy.exp(-Z) * (1 - Z), sympy.Integer(1), 1)
    >>> sign, log = c.signed_log(np.array([2.0]))
    >>> exact = mpmath.quad(lambda z: mpmath.exp(-z) * (1 - z) * mpmath.cos(2 * z), [0, 1])
    >>> bool(abs(np.exp(log[0]) - 2 / np.pi * exact) < 1e-15)
    True
    """
    balls, rest = split_at_breaks(Piece(support, expr))
    assert rest == 0
    forms = [ball_form(expr, radius) or _numeric_form(expr, radius) for radius, expr in balls]
    return [BallComponent.of(form, dim) for form in forms]


def split_at_breaks(piece: Piece) -> tuple[list[tuple[sympy.Expr, sympy.Expr]], sympy.Expr]:
    """Write a piece as a sum of formulas on balls and one on the whole half-line.

    Returns
    -------
    balls : list of (radius, expr)
        Each formula is analytic below its radius.
    rest : sympy expression
        The formula beyond the last break, continued to z > 0; 0 for a finite support.

    Raises
    ------
    NoRouteError
        Where a formula cannot be continued below its break.

    Examples
    --------
    >>> split_at_breaks(Piece(sympy.oo, sympy.exp(-Z) + sympy.Max(0, 2 - Z) ** 2))
    ([(2, (2 - z)**2)], exp(-z))
    """
    cut = profile(Kernel((piece,)))
    if cut.gaps:
        raise NoRouteError(
            f"The radii where {piece.expr} changes its branch are not all known "
            f"({cut.gaps[0].reason}), so it cannot be cut there. Write the kernel as a sum of "
            "pieces with supports of their own."
        )
    exprs = list(cut.exprs)
    is_whole = len(cut.radii) == 1 and same_radius(cut.radii[0], piece.support)
    if is_whole and not piece.expr.has(*KINKS):
        exprs[0] = piece.expr
    balls = []
    for radius, below, above in zip(cut.radii, exprs[:-1], exprs[1:], strict=True):
        difference = below - above
        if difference == 0 or sympy.expand(difference) == 0:
            continue
        _check_continuation(difference, radius)
        balls.append((radius, difference))
    if cut.radii and exprs[-1] != 0:
        _check_continuation(exprs[-1], cut.radii[-1])
    return balls, exprs[-1]


def _check_continuation(expr: sympy.Expr, radius: sympy.Expr) -> None:
    for r in branch_radii(expr, radius):
        if not same_radius(r, radius) and is_analytic_at(expr, r) != "analytic":
            raise NoRouteError(
                f"The formula {expr} holds up to or from the radius {radius}, and is not analytic "
                f"at the smaller radius {r}: its part beyond {r} has no continuation to z = 0. No "
                "numeric route transforms such a piece; write the kernel as a sum of formulas "
                "that are analytic from z = 0 to their support."
            )


def _numeric_form(expr: sympy.Expr, radius: sympy.Expr) -> NumericBall:
    refuse_hidden(expr, lambda: hidden_in_a_ball(expr, float(radius)))
    edge, edge_root = _exponents(expr, radius, -1)
    start, origin_root = _exponents(expr, sympy.Integer(0), 1)
    if start.is_negative:
        raise NoRouteError(
            f"The formula {expr} on z <= {radius} is unbounded at z = 0 (like z^({start})). Where "
            "it is the difference of two branches, the one beyond the radius has no bounded "
            "continuation to z = 0, and no numeric route transforms it: use a finite measure made "
            "to order on the range of your data (design)."
        )
    origin_root = math.lcm(origin_root, int(start.q) if start.is_Rational else 0)
    if not 0 < origin_root <= _LARGEST_ROOT:
        raise NoRouteError(_mixed(expr, sympy.Integer(0)))
    kernel = Continuation(expr.subs(Z, radius * Z))
    return NumericBall(
        lambda x: kernel(flint.acb(x), flint.ctx.prec + _CANCELLED).real,
        radius,
        edge=edge,
        edge_root=edge_root,
        origin_root=origin_root,
    )


def _exponents(expr: sympy.Expr, place: sympy.Expr, side: int) -> tuple[sympy.Expr, int]:
    """The leading exponent at an end, and the common denominator of the gaps to the others."""
    series = _expansion(expr, place, side)
    exponents = []
    for (exponent, minus_log), _ in series.terms:
        if minus_log != 0:
            raise NoRouteError(
                f"The formula {expr} has the power {-minus_log} of a logarithm at z = {place}, "
                "and the numeric route on a ball knows powers only. Use a finite measure made to "
                "order on the range of your data (design)."
            )
        exponents.append(exponent)
    gaps = [sympy.nsimplify(sympy.expand(e - exponents[0])) for e in exponents]
    if not all(g.is_Rational for g in gaps):
        raise NoRouteError(_mixed(expr, place))
    root = math.lcm(*(int(g.q) for g in gaps))
    if root > _LARGEST_ROOT:
        raise NoRouteError(_mixed(expr, place))
    return exponents[0], root


def _mixed(expr: sympy.Expr, place: sympy.Expr) -> str:
    return (
        f"The powers in the expansion of {expr} at z = {place} have no common denominator up to "
        f"{_LARGEST_ROOT}, and the numeric route on a ball knows no others. Treat its summands as "
        "kernels of their own, or design a finite measure for the range of your data."
    )


def _expansion(expr: sympy.Expr, place: sympy.Expr, side: int) -> Series:
    for window in _WINDOWS:
        try:
            expanded = expand_at(expr, place, side, window)
        except ExpansionError as error:
            raise NoRouteError(
                f"The behaviour of {expr} at z = {place} could not be expanded ({error}), and the "
                "numeric route on a ball needs its exponents there."
            ) from error
        if any(phase != ZERO for phase, _ in expanded.parts):
            raise NoRouteError(
                f"The formula {expr} has an essential singularity at z = {place}, where the "
                "numeric route on a ball knows powers only. Use a finite measure made to order on "
                "the range of your data (design)."
            )
        if expanded.plain.terms:
            return expanded.plain
    raise NoRouteError(
        f"No power of |z - {place}| was found in {expr}: it may be zero or flat there, and the "
        "numeric route on a ball needs its exponents."
    )
