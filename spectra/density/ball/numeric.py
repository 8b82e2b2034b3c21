r"""Densities of formulas on a ball without a closed form.

In x = z / R the formula is written as

.. math:: k(Rx) = (1 - x^2)^p h(x^{1/q}) ,

with its exponent p at the edge and a polynomial h through its values, whose transform is exact
(:mod:`.ball_form`).  The last coefficients show the error of the fit; this is no proof.
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
from spectra.density.ball.ascending_series import ascending_series, build_panels
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.ball.compact import ball_component
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.panels.log_panels import PanelDensity, Powers
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO
from spectra.formula.reader.parsing import Z

__all__ = ["fitted_form", "integrated_component"]

# Powers kept in the exact expansions at both ends, tried in turn until a term shows.
_WINDOWS = (8, 48)
# Exponents with a larger common denominator need too long series.
_LARGEST_ROOT = 4
# Numbers of terms tried, and the bits to which they are to give the formula: expansions at the
# ends need many.
_TERMS, _BITS, _FLAT_BITS = (40, 72, 120, 200, 320, 480), 250, 64
# Monomials cancel in a Chebyshev polynomial of degree n on [0, 1] by up to (3 + 8^(1/2))^n.
_BITS_PER_TERM, _SPARE_BITS = 2.55, 48
# A formula that is flat at its edge is divided by this power of 1 - x^2.
_FLAT_POWER = 4
# A flat edge is followed up to this R w in such steps, until w rho is negligible beside its peak.
_FARTHEST, _FLAT_STEP, _NEGLIGIBLE = 2400.0, 1.2, 1e-13


def integrated_component(expr: sympy.Expr, support: sympy.Expr, dim: int) -> PanelDensity:
    """The density of a formula in Z on z <= support that is analytic inside.

    Examples
    --------
    >>> import mpmath
    >>> c = integrated_component(sympy.exp(-Z) * (1 - Z), sympy.Integer(1), 1)
    >>> sign, log = c.signed_log(np.array([2.0]))
    >>> exact = mpmath.quad(lambda z: mpmath.exp(-z) * (1 - z) * mpmath.cos(2 * z), [0, 1])
    >>> bool(abs(np.exp(log[0]) - 2 / np.pi * exact) < 1e-15)
    True
    """
    closed = ball_form(expr, support)
    if closed is not None:
        return ball_component(closed, dim)
    form, is_flat = fitted_form(expr, support)
    return _flat_component(form, dim) if is_flat else ball_component(form, dim)


@lru_cache(maxsize=64)
def fitted_form(expr: sympy.Expr, radius: sympy.Expr) -> tuple[BallForm, bool]:
    """A formula on a ball as a sum of powers, and whether it is flat at the edge."""
    edge = _exponents(expr, radius, -1)
    lead = edge[0] if edge else sympy.Integer(_FLAT_POWER)
    if any((e - lead) % 1 != 0 for e in edge or []):
        raise _no_powers(expr, radius, "their differences are no integers")
    origin = _exponents(expr, sympy.Integer(0), 1) or []
    odd = [e for e in origin if e % 2 != 0]
    power = sympy.Rational(1, math.lcm(*(int(e.q) for e in origin))) if odd else sympy.Integer(2)
    function, bits = BallFunction(expr.subs(Z, radius * Z), Z), _BITS if edge else _FLAT_BITS

    def smooth(y: Ball) -> Ball:
        x = (y ** to_ball(1 / power)).mid()
        value = function(flint.acb(x)).real
        if not value.is_finite():
            raise AccuracyError(
                f"The formula {expr} has no finite value at {float(x):.6g} of its support "
                f"z <= {radius}."
            )
        return (value * ((1 - x) * (1 + x)) ** -to_ball(lead)).mid()

    for terms in _TERMS:
        series = _interpolated(smooth, terms, bits)
        sizes = [abs(c).upper() for c in series]
        left = max(sizes[-6:]) / max(sizes)
        if left <= 2.0**-bits:
            form = BallForm.of_chebyshev(radius, lead, [c.mid() for c in series], power)
            return replace(form, exponents=(lead,), least_odd_power=min(odd, default=0)), not edge
    raise AccuracyError(
        f"The formula {expr} on z <= {radius} is no short sum of powers: it has a complex "
        f"singularity near its support, or varies too fast ({_TERMS[-1]} terms leave "
        f"{float(left):.1e} of its size). Write the kernel as a sum of simpler ones, or design a "
        "finite measure for the range of your data (design)."
    )


def _interpolated(function: Callable[[Ball], Ball], count: int, bits: int) -> list[Ball]:
    """The Chebyshev series of so many terms on [0, 1] through values at Chebyshev nodes."""
    with working(int(bits + _BITS_PER_TERM * count + _SPARE_BITS)):
        values = [flint.acb(0)] * (4 * count)
        for i in range(count):
            cosine = flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * count))
            value = function(((1 + cosine) / 2).mid())
            values[2 * i + 1] = values[-2 * i - 1] = flint.acb(value)
        series = [a.real / count for a in flint.acb.dft(values)[:count]]
        return [series[0] / 2, *series[1:]]


def _flat_component(form: BallForm, dim: int) -> PanelDensity:
    """The density of a formula that is flat at its edge, up to where it is negligible."""
    values, radius = ascending_series(form, dim), float(form.radius)
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
        near = values([flint.arb(s * f / radius) for f in (1.0, 1.0 + 1.5 / s)])
        size = max(log_of(v) for v in near) + dim * math.log(s)
        peak = max(peak, size)
    beginning, panels = build_panels(form, dim, values, s / radius)
    sizes = np.log(panels.top) + panels.level
    last = math.exp(panels.high[-1])
    return PanelDensity(
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
        if place != 0 and phases and all(phases):
            return None
        if any(phases):
            raise _no_powers(expr, place, "it has an essential singularity there")
        series = expanded.plain.terms
        if series:
            break
    found = [sympy.nsimplify(sympy.expand(e)) for (e, _), _ in series]
    has_log = any(minus_log != 0 for (_, minus_log), _ in series)
    if has_log or not all(e.is_Rational for e in found):
        raise _no_powers(expr, place, "they are not rational, or have a logarithm")
    if not found or (place == 0 and found[0] < 0):
        raise _no_powers(
            expr,
            place,
            "none was found, or the first is negative. If it is the difference of two branches, "
            "the outer one has no bounded continuation to z = 0",
        )
    if math.lcm(*(int(e.q) for e in found)) > _LARGEST_ROOT * (int(found[0].q) if place else 1):
        reason = f"they have no common denominator up to {_LARGEST_ROOT}"
        raise _no_powers(expr, place, reason)
    return found


def _no_powers(expr: sympy.Expr, place: sympy.Expr, reason: str) -> NoRouteError:
    return NoRouteError(
        f"The density of {expr} on a ball is computed from its powers at z = {place}, which are "
        f"not known: {reason}. Treat its summands as kernels of their own, or design a finite "
        "measure for the range of your data (design)."
    )
