r"""Densities of formulas on a ball that are not sums of powers, by a fit.

In x = z / R the formula is approximated by

.. math:: k(Rx) = (1 - x^2)^p h(x^{1/q}) , \quad\text{or}\quad (1 - x^2)^p h(x^2)

if it is even.  p is the exponent of k at the edge, q the common denominator of its exponents at 0,
and h a polynomial through values of k / (1 - x^2)^p.  This is a sum of powers (:mod:`.ball_form`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import flint
import sympy

from spectra.base.accuracy import DENSITY
from spectra.base.precision import Ball, log_magnitude, working_precision
from spectra.density.ball.ball_form import BallForm, read_ball_form, to_arb
from spectra.density.ball.edge import ascending_series, ball_component, build_density
from spectra.density.panel_density import PanelDensity
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO
from spectra.formula.parsing import Z

__all__ = ["component_of_formula", "fitted_form"]

# Windows of ``expand_at``, tried in turn until the expansion at z = 0 or at z = R has a term.
_WINDOWS = (8, 48)
# Largest common denominator q of exponents: larger ones need too long series.
_LARGEST_ROOT = 4
# Numbers of terms tried in turn.
_TERMS = (40, 72, 120, 200, 320, 480)
# Bits of the fit.  A formula is called flat if all its derivatives vanish at the edge.
_BITS, _FLAT_BITS = 250, 64
# Monomials cancel in a Chebyshev polynomial of degree n on [0, 1] by up to (3 + 8^(1/2))^n.
_BITS_PER_TERM, _SPARE_BITS = 2.55, 48
# A flat formula is divided by this power of 1 - x^2.
_FLAT_POWER = 4
# For a flat formula s = R w <= _LARGEST_S grows by _FLAT_STEP until w rho is negligible.
_LARGEST_S, _FLAT_STEP, _NEGLIGIBLE = 2400.0, 1.2, DENSITY / 10.0


def component_of_formula(expr: sympy.Expr, support: sympy.Expr, dim: int) -> PanelDensity:
    """The density on R^dim of a formula in Z on z <= support that is analytic inside.

    Examples
    --------
    >>> import mpmath
    >>> import numpy as np
    >>> c = component_of_formula(sympy.exp(-Z) * (1 - Z), sympy.Integer(1), 1)
    >>> sign, log = c.signed_log(np.array([2.0]))
    >>> exact = mpmath.quad(lambda z: mpmath.exp(-z) * (1 - z) * mpmath.cos(2 * z), [0, 1])
    >>> bool(abs(np.exp(log[0]) - 2 / np.pi * exact) < 1e-15)
    True
    """
    exact = read_ball_form(expr, support)
    if exact is not None:
        return ball_component(exact, dim)
    form, is_flat = fitted_form(expr, support)
    return _flat_component(form, dim) if is_flat else ball_component(form, dim)


@lru_cache(maxsize=64)
def fitted_form(expr: sympy.Expr, radius: sympy.Expr) -> tuple[BallForm, bool]:
    """A fit of a formula on a ball, and whether the formula is flat at the edge."""
    edge = _exponents_at(expr, radius, side=-1)
    lead = edge[0] if edge else sympy.Integer(_FLAT_POWER)
    if any((e - lead) % 1 != 0 for e in edge or []):
        raise _no_powers(expr, radius, "their differences are no integers")
    origin = _exponents_at(expr, sympy.Integer(0), side=1) or []
    non_even, q = [e for e in origin if e % 2 != 0], math.lcm(*(int(e.q) for e in origin))
    power = sympy.Rational(1, q) if non_even else sympy.Integer(2)
    function, bits = BallFunction(expr.subs(Z, radius * Z), Z), _BITS if edge else _FLAT_BITS

    def polynomial(y: Ball) -> Ball:
        """The function h at y = x^power."""
        x = (y ** to_arb(1 / power)).mid()
        value = function(flint.acb(x)).real
        if not value.is_finite():
            raise AccuracyError(
                f"The formula {expr} has no finite value at z = {float(x):.6g} * {radius}, inside "
                "its support."
            )
        return (value * ((1 - x) * (1 + x)) ** -to_arb(lead)).mid()

    for terms in _TERMS:
        series = _interpolate(polynomial, terms, bits)
        sizes = [abs(c).upper() for c in series]
        left_out = max(sizes[-6:]) / max(sizes)
        if left_out <= 2.0**-bits:
            fit = BallForm.of_chebyshev(radius, lead, [c.mid() for c in series], power)
            least = min(non_even, default=0)
            return replace(fit, fitted_exponents=(lead,), least_non_even_power=least), not edge
    raise AccuracyError(
        f"The formula {expr} on z <= {radius} is no short sum of powers: it has a complex "
        f"singularity near its support, or varies too fast ({_TERMS[-1]} terms have an error of "
        f"{float(left_out):.1e} of its size). Write the kernel as a sum of simpler ones, or design "
        "a finite measure for the range of your data (design)."
    )


def _interpolate(function: Callable[[Ball], Ball], count: int, bits: int) -> list[Ball]:
    """The Chebyshev series of ``count`` terms on [0, 1] through values at Chebyshev nodes."""
    with working_precision(int(bits + _BITS_PER_TERM * count + _SPARE_BITS)):
        values = [flint.acb(0)] * (4 * count)
        for i in range(count):
            cosine = flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * count))
            value = function(((1 + cosine) / 2).mid())
            values[2 * i + 1] = values[-2 * i - 1] = flint.acb(value)
        series = [a.real / count for a in flint.acb.dft(values)[:count]]
        return [series[0] / 2, *series[1:]]


def _flat_component(form: BallForm, dim: int) -> PanelDensity:
    """The density of a flat formula, up to where it is negligible."""
    values, radius = ascending_series(form, dim), float(form.radius)
    log_peak = log_size = -math.inf
    s = 4.0
    while log_size >= log_peak + math.log(_NEGLIGIBLE):
        s *= _FLAT_STEP
        if s > _LARGEST_S:
            raise AccuracyError(
                f"All derivatives of a formula vanish at its edge z = {radius:.6g}, and its "
                f"density in dimension {dim} is not negligible at w = {_LARGEST_S / radius:.4g}. "
                "Design a finite measure for the range of your data (design)."
            )
        # Two radii a quarter of a period apart, one of which is no zero.
        pair = values([flint.arb(s * f / radius) for f in (1.0, 1.0 + 1.5 / s)])
        log_size = max(log_magnitude(v) for v in pair) + dim * math.log(s)
        log_peak = max(log_peak, log_size)
    return build_density(form, dim, values, s / radius)


def _exponents_at(expr: sympy.Expr, place: sympy.Expr, *, side: int) -> list[sympy.Rational] | None:
    """The first exponents at z = place, ascending; None if the formula is flat at the edge."""
    terms: tuple[tuple[tuple[sympy.Expr, sympy.Expr], sympy.Expr], ...] = ()
    for window in _WINDOWS:
        try:
            expansion = expand_at(expr, place, side, window)
        except ExpansionError as error:
            raise _no_powers(expr, place, str(error)) from error
        has_exponential = [phase != ZERO for phase, _ in expansion.parts]
        if place != 0 and has_exponential and all(has_exponential):
            return None
        if any(has_exponential):
            raise _no_powers(expr, place, "it has an essential singularity there")
        terms = expansion.as_series().terms
        if terms:
            break
    # A term is ((power, minus the power of the logarithm), coefficient).
    found = [sympy.nsimplify(sympy.expand(power)) for (power, _), _ in terms]
    has_log = any(log_power != 0 for (_, log_power), _ in terms)
    if has_log or not all(e.is_Rational for e in found):
        raise _no_powers(expr, place, "they are not rational, or have a logarithm")
    if not found or (place == 0 and found[0] < 0):
        raise _no_powers(
            expr,
            place,
            "none was found, or the first is negative. A formula for larger distances is used at "
            "all distances, and its difference from the kernel on a ball: both must be finite at 0",
        )
    if math.lcm(*(int(e.q) for e in found)) > _LARGEST_ROOT * (int(found[0].q) if place else 1):
        raise _no_powers(expr, place, f"they have no common denominator up to {_LARGEST_ROOT}")
    return found


def _no_powers(expr: sympy.Expr, place: sympy.Expr, reason: str) -> NoRouteError:
    """The error of a formula whose powers at z = place cannot be used."""
    return NoRouteError(
        f"The density of {expr} is computed from the powers in its expansion at z = {place}, which "
        f"cannot be used: {reason}. Transform its summands one by one, or design a finite measure "
        "for the range of your data (design)."
    )
