r"""Densities of formulas on a ball without a closed form.

In x = z / R the formula is written as a sum over its exponents p at the edge,

.. math:: k(Rx) = \sum_p (1 - x^2)^p h_p(x^{1/q}) ,

with polynomials h_p through its values, whose transforms are exact (:mod:`.ball_form`).  The fit is
checked by its last coefficients or at points between its nodes; this is an estimate, not a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, log_of, working
from spectra.density.ball.ascending_series import AscendingSeries, build_panels
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.ball.compact import BallComponent
from spectra.density.ball.interpolate import interpolate
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.components import Component
from spectra.density.panels.log_panels import Panelled, Powers
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO
from spectra.formula.reader.parsing import Z

__all__ = ["fitted_form", "integrated_components"]

Function = Callable[[Ball], Ball]

# Powers kept in the exact expansions at both ends, tried in turn until a term shows.
_WINDOWS = (8, 48)
# Exponents with a larger common denominator need too long series.
_LARGEST_ROOT = 4
# Numbers of terms tried, and the bits to which they are to give the formula: expansions at the
# ends need many.
_TERMS, _BITS, _SOLVED_BITS, _FLAT_BITS = (40, 72, 120, 200, 320, 480), 250, 110, 64
# Terms of several classes at the edge are the solution of linear equations, which lose so many
# bits a term.
_MOST_SOLVED, _BITS_PER_TERM = 200, 6
# A formula that is flat at its edge is divided by this power of 1 - x^2.
_FLAT_POWER = 4
# A flat edge is followed up to this R w in such steps, until w rho is negligible beside its peak.
_FARTHEST, _FLAT_STEP, _NEGLIGIBLE = 2400.0, 1.2, 1e-13


def integrated_components(expr: sympy.Expr, support: sympy.Expr, dim: int) -> list[Component]:
    """The density of a formula in Z on z <= support that is analytic inside.

    Examples
    --------
    >>> import mpmath
    >>> (c,) = integrated_components(sympy.exp(-Z) * (1 - Z), sympy.Integer(1), 1)
    >>> sign, log = c.signed_log(np.array([2.0]))
    >>> exact = mpmath.quad(lambda z: mpmath.exp(-z) * (1 - z) * mpmath.cos(2 * z), [0, 1])
    >>> bool(abs(np.exp(log[0]) - 2 / np.pi * exact) < 1e-15)
    True
    """
    closed = ball_form(expr, support)
    if closed is not None:
        return [BallComponent.of(closed, dim)]
    form, is_flat = fitted_form(expr, support)
    return [_flat_component(form, dim) if is_flat else BallComponent.of(form, dim)]


@lru_cache(maxsize=64)
def fitted_form(expr: sympy.Expr, radius: sympy.Expr) -> tuple[BallForm, bool]:
    """A formula on a ball as a sum of powers, and whether it is flat at the edge."""
    found = _exponents(expr, radius, -1)
    # One exponent for each class modulo 1.
    edge = {e - sympy.floor(e): e for e in reversed(found or [sympy.Integer(_FLAT_POWER)])}
    leads = sorted(edge.values())
    origin = _exponents(expr, sympy.Integer(0), 1) or []
    odd = [e for e in origin if e % 2 != 0]
    power = sympy.Rational(1, math.lcm(*(int(e.q) for e in origin))) if odd else sympy.Integer(2)
    function = BallFunction(expr.subs(Z, radius * Z), Z)

    def value(x: Ball) -> Ball:
        found = function(flint.acb(x)).real
        if not found.is_finite():
            raise AccuracyError(
                f"The formula {expr} has no finite value at {float(x):.6g} of its support "
                f"z <= {radius}."
            )
        return found.mid()

    if len(leads) == 1:
        series = _interpolated(value, leads[0], power, _BITS if found else _FLAT_BITS)
    else:
        series = _solved(value, leads, power)
    form = BallForm.of_series(radius, list(zip(leads, series, strict=True)), power)
    return replace(form, exponents=tuple(leads), least_odd_power=min(odd, default=0)), not found


def _interpolated(
    function: Function, lead: sympy.Rational, power: sympy.Rational, bits: int
) -> list[Ball]:
    """The polynomial in x^power beside (1 - x^2)^lead, in a list."""

    def smooth(y: Ball) -> Ball:
        x = (y ** to_ball(1 / power)).mid()
        return function(x) * ((1 - x) * (1 + x)) ** -to_ball(lead)

    for terms in _TERMS:
        poly, last, largest = interpolate(smooth, terms, bits)
        if last <= largest * 2.0**-bits:
            return [poly]
    raise _unresolved(float(last / largest))


def _solved(function: Function, leads: list[sympy.Rational], power: sympy.Rational) -> list[Ball]:
    """The polynomials in x^power beside each (1 - x^2)^lead, from equations at single points."""
    count, miss, step = len(leads), math.inf, int(power) if power > 1 else 1
    for terms in _TERMS:
        size = count * terms
        if size > _MOST_SOLVED:
            break
        with working(_SOLVED_BITS + _BITS_PER_TERM * size):
            # Nodes are dense at both ends, also in the root of 1 - x and of x.
            angles = [
                (1 + flint.arb.cos_pi_fmpq(flint.fmpq(i, 2 * size))) * flint.arb.pi() / 4
                for i in range(1, 2 * size)
            ]
            y = [angle.sin().mid() for angle in angles]
            x = [v ** int(power.q) for v in y]
            weights = [[((1 - v) * (1 + v)) ** to_ball(p) for v in x] for p in leads]
            values = [function(v) for v in x]
            rows = [
                [w[i] * y[i] ** (step * j) for w in weights for j in range(terms)]
                for i in range(len(y))
            ]
            right = flint.arb_mat([[v] for v in values[::2]])
            found = flint.arb_mat(rows[::2]).solve(right, nonstop=True, algorithm="approx")
            table = flint.arb_mat(rows[1::2]) * found
            wrong = [abs(table[i, 0] - v) for i, v in enumerate(values[1::2])]
            miss = max(float(v.upper()) for v in wrong) / max(float(abs(v)) for v in values)
        if miss <= 2.0**-_SOLVED_BITS:
            return [
                flint.arb_poly([found[r * terms + j, 0].mid() for j in range(terms)])
                for r in range(count)
            ]
    raise _unresolved(miss)


def _unresolved(miss: float) -> AccuracyError:
    return AccuracyError(
        "A formula on a ball is no short sum of powers: it has a complex singularity near its "
        f"support, or varies too fast (a sum of {_TERMS[-1]} terms misses {miss:.1e} of its "
        "size). Write the kernel as a sum of simpler ones, or design a finite measure for the "
        "range of your data (design)."
    )


def _flat_component(form: BallForm, dim: int) -> Component:
    """The density of a formula that is flat at its edge, up to where it is negligible."""
    series, radius = AscendingSeries(form, dim), float(form.radius)
    peak = size = -math.inf
    s = 4.0
    while size >= peak + math.log(_NEGLIGIBLE):
        s *= _FLAT_STEP
        if s > _FARTHEST:
            raise AccuracyError(
                f"The density of a formula that is flat at its edge z = {radius:.6g} is not "
                f"negligible at R w = {_FARTHEST:.4g} in dimension {dim}. Design a finite measure "
                "for the range of your data (design)."
            )
        near = series([flint.arb(s * f / radius) for f in (1.0, 1.0 + 1.5 / s)])
        size = max(log_of(v) for v in near) + dim * math.log(s)
        peak = max(peak, size)
    beginning, panels = build_panels(series, s / radius)
    sizes = np.log(panels.top) + panels.level
    last = math.exp(panels.high[-1])
    return Panelled(
        panels=panels,
        total=float(form.value_at_zero),
        origin_exponent=float(beginning.exponents[0]),
        bulk=panels.bulk(),
        decay=np.inf,
        beginning=beginning,
        ending=Powers.vanishing(last, float(sizes[-1]) - math.log(last)),
    )


def _exponents(expr: sympy.Expr, place: sympy.Expr, side: int) -> list[sympy.Rational] | None:
    """The first exponents at an end, ascending; None if the formula is flat there."""
    series: tuple[tuple[tuple[sympy.Expr, sympy.Expr], sympy.Expr], ...] = ()
    for window in _WINDOWS:
        try:
            expanded = expand_at(expr, place, side, window)
        except ExpansionError as error:
            raise _no_powers(expr, place, str(error)) from error
        phases = [phase != ZERO for phase, _ in expanded.parts]
        if any(phases):
            if place != 0 and all(phases):
                return None
            raise _no_powers(expr, place, "it has an essential singularity there, next to powers")
        series = expanded.plain.terms
        if series:
            break
    if not series:
        raise _no_powers(expr, place, "no power was found there")
    if any(minus_log != 0 for (_, minus_log), _ in series):
        raise _no_powers(expr, place, "it has a logarithm there")
    found = [sympy.nsimplify(sympy.expand(e)) for (e, _), _ in series]
    first = found[0]
    if not all(e.is_Rational for e in found) or (first < 0 and place == 0):
        raise _no_powers(
            expr,
            place,
            f"it starts like z^({first}). If it is the difference of two branches, the outer one "
            "has no bounded continuation to z = 0"
            if place == 0
            else "they are not rational",
        )
    if math.lcm(*(int(e.q) for e in found)) > _LARGEST_ROOT * (1 if place == 0 else int(first.q)):
        raise _no_powers(expr, place, f"they have no common denominator up to {_LARGEST_ROOT}")
    return found


def _no_powers(expr: sympy.Expr, place: sympy.Expr, reason: str) -> NoRouteError:
    return NoRouteError(
        f"The density of {expr} on a ball is computed from its powers at z = {place}, which are "
        f"not known: {reason}. Treat its summands as kernels of their own, or design a finite "
        "measure for the range of your data (design)."
    )
