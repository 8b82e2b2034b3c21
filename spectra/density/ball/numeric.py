r"""Densities of formulas on a ball without a closed form, by Arb's rigorous integration.

.. math:: F(s) = \int_0^1 k(Rx)\,x^{d-1}\,\Omega_d(sx)\,dx

is computed by ``acb.integral`` at Chebyshev points in s^2 and kept as a polynomial, from which the
panels of the density are made.  Beyond them the expansions at the ends of the ball continue it;
a formula that is flat at its edge, like exp(-1/(1 - z)), is integrated until it is negligible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, log_of, working
from spectra.density.ball.ascending_series import BallTransform, build_panels
from spectra.density.ball.ball_form import to_ball
from spectra.density.ball.compact import BallComponent
from spectra.density.ball.power_series import interpolate, power_series
from spectra.density.ball.read_ball_form import ball_form
from spectra.density.components import Component
from spectra.density.panels.log_panels import Panelled, Powers
from spectra.errors import AccuracyError, NoRouteError
from spectra.formula.evaluation.ball_function import BallFunction
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import ZERO
from spectra.formula.reader.parsing import Z

__all__ = ["NumericForm", "integrated_components"]

# Powers kept in the exact expansions at both ends, tried in turn until a term shows.
_WINDOWS = (3, 12, 48)
# Exponents with a larger common denominator need too long series.
_LARGEST_ROOT = 4
# Coefficients below this share of the largest are zero, among so many of each class.
_ZERO_BITS, _SEARCHED = 150, 24
# Terms of the expansions at the ends.
_MOST_TERMS = 124
# Bits of F relative to its size at the largest s, and bits beyond those lost in the integral.
_BITS, _SPARE = 56, 40
_EVALUATIONS = 50_000
# Below this relative accuracy an argument is a neighbourhood, for which a bound of the Bessel
# function is enough.
_WIDE_BITS = 24
# F is computed to this multiple of the radius asked for.
_AHEAD = 1.14
# A flat edge is followed up to this R w in such steps, until w rho is negligible beside its peak.
_FARTHEST, _FLAT_STEP, _NEGLIGIBLE = 1600.0, 1.2, 1e-13
_FLAT_BITS, _FLAT_SPARE = 80, 12


def integrated_components(expr: sympy.Expr, support: sympy.Expr, dim: int) -> list[Component]:
    """The density of a formula in Z on z <= support that is analytic inside.

    Parameters
    ----------
    expr, support : sympy expressions
        As in :class:`spectra.formula.pieces.Piece`, with a finite support.
    dim : int
        Dimension d >= 1.

    Raises
    ------
    NoRouteError
        If the formula is unbounded at z = 0 or has a logarithm at its edge.
    AccuracyError
        If the integrals or the expansions do not reach their accuracy.

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
    form = NumericForm(expr, support)
    series = BallIntegral(form, dim)
    return [_flat_component(series) if form.is_flat else BallComponent.of_transform(series)]


class NumericForm:
    """A formula on a ball known by its values, with exact exponents at both ends.

    Attributes
    ----------
    function : BallFunction
        k(R x) as a function of x.
    radius : sympy number
    edge : sympy number or None
        The leading exponent of 1 - x at the edge; None if the formula is flat there.
    edge_root, origin_root : int
        Exponents at the edge differ by multiples of 1/edge_root; those at 0 are multiples of
        1/origin_root.
    """

    most_terms, cancelled_bits = _MOST_TERMS, 0
    has_finite_edge = False
    has_finite_origin = False

    def __init__(self, expr: sympy.Expr, radius: sympy.Expr) -> None:
        self.radius = radius
        self.function = BallFunction(expr.subs(Z, radius * Z), Z)
        self.edge, self.edge_root = _exponents(expr, radius, -1)
        _, self.origin_root = _exponents(expr, sympy.Integer(0), 1)

    @property
    def is_flat(self) -> bool:
        """Whether all derivatives vanish at the edge."""
        return self.edge is None

    def _at(self, x: Ball) -> Ball:
        return self.function(flint.acb(x)).real

    @cached_property
    def value_at_zero(self) -> Ball:
        """The limit at z = 0."""
        return self._origin[0]

    @cached_property
    def _edge(self) -> list[Ball]:
        """Coefficients of tau^(edge + j/root), tau = 1 - x^2."""

        def near(y: Ball) -> Ball:
            x = (1 - y**self.edge_root).sqrt().mid()
            return self._at(x) * ((1 - x) * (1 + x)) ** -to_ball(self.edge)

        return power_series(near, _MOST_TERMS)

    @cached_property
    def _origin(self) -> list[Ball]:
        """Coefficients of x^(j/root)."""
        return power_series(lambda y: self._at((y**self.origin_root).mid()), _MOST_TERMS)

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Expr, ...]:
        """Leading exponents of 1 - x^2 at the edge, one for each class modulo 1, sorted."""
        root, found = self.edge_root, []
        size = max(abs(c) for c in self._edge[: _SEARCHED * root])
        for r in range(root):
            mine = self._edge[r : _SEARCHED * root : root]
            first = next((j for j, c in enumerate(mine) if not _negligible(c, size)), None)
            if first is not None:
                found.append(self.edge + sympy.Rational(r, root) + first)
        return tuple(sorted(found, key=float))

    def edge_series(self, power: sympy.Expr, length: int) -> list[Ball]:
        """Coefficients of (1 - x^2)^(power + j) at the edge; ``power`` in [0, 1)."""
        root = self.edge_root
        for r in range(root):
            lead = self.edge + sympy.Rational(r, root)
            if lead - sympy.floor(lead) == power:
                mine = [flint.arb(0)] * int(sympy.floor(lead)) + self._edge[r::root]
                return mine[:length]
        return []

    def odd_origin_terms(self, length: int) -> list[tuple[Fraction, Ball]]:
        """The powers x^m at the origin that are no even integers, with their coefficients."""
        root = self.origin_root
        size = max(abs(c) for c in self._origin[: _SEARCHED * root])
        odd = [(Fraction(j, root), c) for j, c in enumerate(self._origin) if j % (2 * root)]
        seen = [i for i, (m, c) in enumerate(odd) if m < _SEARCHED and not _negligible(c, size)]
        return odd[seen[0] :][:length] if seen else []


class BallIntegral(BallTransform):
    """F(s) of a formula on a ball, by integration at Chebyshev points in s^2."""

    def __init__(self, form: NumericForm, dim: int) -> None:
        self.form, self.dim = form, dim
        self._reach, self._poly = 0.0, flint.arb_poly([])

    def __call__(self, w: Sequence[Ball]) -> list[Ball]:
        """Values F(R w) at exact radii."""
        radius = to_ball(self.form.radius)
        largest = float((radius * max(w)).upper())
        if largest > self._reach:
            self.extend(_AHEAD * largest)
        with working(self._work):
            scale = radius / flint.arb(self._reach)
            return [self._poly((scale * x) ** 2) for x in w]

    def taylor(self, count: int) -> list[Ball]:
        """Coefficients of F in powers of s^2."""
        return [self._poly[n] / flint.arb(self._reach) ** (2 * n) for n in range(count)]

    def extend(self, reach: float, accuracy: int = _BITS) -> None:
        """The polynomial up to s = reach, of the degree that a wave of frequency 1 needs there."""
        bits, size = _BITS, flint.arb(0)
        while not size > flint.arb(2) ** (20 - bits):
            bits += _BITS
            size = max(abs(self.at(reach * f, bits).mid()) for f in (1.0, 0.985, 0.97))
        bits = accuracy + int(max(0.0, -log_of(size) / math.log(2.0)))
        nodes, decay = 0.5 * reach, 0.0
        while decay < bits * math.log(2.0):
            nodes = 1.03 * nodes + 2.0
            ratio = 2.0 * nodes / reach
            decay = reach * (ratio * math.acosh(ratio) - math.sqrt(ratio * ratio - 1.0))
        count = int(nodes) + 6
        self._poly, left_out, _ = interpolate(
            lambda q: self.at(reach * q.sqrt().mid(), bits), count, 1.0, bits
        )
        self._reach, self._work = reach, int(bits + 2.55 * count + _SPARE)
        if left_out > flint.arb(2) ** (8 - bits):
            raise AccuracyError(
                f"The density of a formula on a ball up to R w = {reach:.4g} was resolved to "
                f"{float(left_out):.1e} only. Write the kernel as a sum of simpler ones."
            )

    def at(self, s: Ball | float, bits: int) -> Ball:
        """F(s) to an absolute error of about 2^-bits."""
        # Functions like acos(1 - x^2) of a rounded argument keep half of the digits at z = 0, and
        # nested ones a third.
        around_zero = flint.acb(flint.arb(0, 0.001), flint.arb(0, 0.001))
        factor = 1 if self.form.function(around_zero, analytic=True).is_finite() else 3
        # Bessel functions of half-integer order lose digits in the middle of their range.
        for spare in (_SPARE, _SPARE + bits):
            with working(factor * bits + spare):
                value = self._integral(flint.arb(s), bits)
            if value.is_finite() and value.rad() < flint.arb(2) ** (6 - bits):
                return value
        raise AccuracyError(
            f"The integral of a formula over a ball did not converge at R w = {float(s):.4g} "
            f"within {_EVALUATIONS} evaluations: it has singularities near the support or is "
            "hard to evaluate. Write the kernel as a sum of simpler ones, or design a finite "
            "measure for the range of your data (design)."
        )

    def _integral(self, s: Ball, bits: int) -> Ball:
        k, order, cut = self.form.function, flint.acb(self.dim) / 2, flint.acb(2) ** -bits
        low = flint.acb(0) if k(flint.acb(0)).is_finite() else cut
        high = flint.acb(1) if k(flint.acb(1)).is_finite() else 1 - cut
        tolerance = flint.arb(2) ** -(bits + 6)

        def integrand(x: Ball, analytic: bool) -> Ball:
            return k(x, analytic) * x ** (self.dim - 1) * _mean_wave(order, s * x)

        value = flint.acb.integral(
            integrand, low, high, rel_tol=tolerance, abs_tol=tolerance, eval_limit=_EVALUATIONS
        )
        return value.real


def _mean_wave(order: Ball, y: Ball) -> Ball:
    """Omega_d(y) = 0F1(; d/2; -y^2/4) at a ball, with order d/2; its bound at a wide ball."""
    if y.rel_accuracy_bits() < _WIDE_BITS:
        # |J_n(y)| <= exp(|Im y|) min(1, |y/2|^n / Gamma(n+1)) for n >= 0 (DLMF 10.14.4).
        bound, least = abs(y.imag).exp(), abs(y).lower()
        if least > 1 and order.real >= 1:
            bound *= (order.real.gamma() * (2 / least) ** (order.real - 1)).min(flint.arb(1))
        disc = flint.arb(0, bound.upper())
        return flint.acb(disc, disc)
    if order.real * 2 == 1:
        return y.cos()
    if order.real * 2 == 3:
        return y.sinc()
    if y.real > 6:
        return order.gamma() * (2 / y).pow(order - 1) * y.bessel_j(order - 1)
    return (-(y * y) / 4).hypgeom_0f1(order)


def _flat_component(series: BallIntegral) -> Component:
    """The density of a formula that is flat at its edge, up to where it is negligible."""
    radius, dim, peak, s = float(series.form.radius), series.dim, -math.inf, 4.0
    size = peak
    while size >= peak + math.log(_NEGLIGIBLE):
        s *= _FLAT_STEP
        if s > _FARTHEST:
            raise AccuracyError(
                f"The density of a formula that is flat at its edge z = {radius:.6g} is not "
                f"negligible at R w = {_FARTHEST:.4g} in dimension {dim}. Design a finite measure "
                "for the range of your data (design)."
            )
        near = (series.at(s * f, _FLAT_BITS + dim) for f in (1.0, 1.0 + 1.5 / s))
        size = max(log_of(v) for v in near) + dim * math.log(s)
        peak = max(peak, size)
    series.extend(s, _FLAT_SPARE)
    beginning, panels = build_panels(series, s / radius)
    sizes = np.log(panels.top) + panels.level
    last = math.exp(panels.high[-1])
    return Panelled(
        panels=panels,
        total=float(series.form.value_at_zero),
        origin_exponent=float(beginning.exponents[0]),
        bulk=panels.bulk(),
        decay=np.inf,
        beginning=beginning,
        ending=Powers.vanishing(last, float(sizes[-1]) - math.log(last)),
    )


def _exponents(expr: sympy.Expr, place: sympy.Expr, side: int) -> tuple[sympy.Expr | None, int]:
    """The leading exponent at an end, None if the formula is flat there, and the common
    denominator of the differences to the others."""
    series: tuple[tuple[tuple[sympy.Expr, sympy.Expr], sympy.Expr], ...] = ()
    for window in _WINDOWS:
        try:
            expanded = expand_at(expr, place, side, window)
        except ExpansionError as error:
            raise _no_powers(expr, place, str(error)) from error
        phases = [phase != ZERO for phase, _ in expanded.parts]
        if any(phases):
            if place != 0 and all(phases):
                return None, 1
            raise _no_powers(expr, place, "it has an essential singularity there, next to powers")
        series = expanded.plain.terms
        if series:
            break
    if not series:
        raise _no_powers(expr, place, "no power was found there")
    if any(minus_log != 0 for (_, minus_log), _ in series):
        raise _no_powers(expr, place, "it has a logarithm there")
    first = series[0][0][0]
    gaps = [sympy.nsimplify(sympy.expand(e - first)) for (e, _), _ in series]
    root = math.lcm(*(int(g.q) if g.is_Rational else _LARGEST_ROOT + 1 for g in gaps))
    if place == 0 and (first.is_negative or not first.is_Rational):
        raise _no_powers(
            expr,
            place,
            f"it starts like z^({first}). If it is the difference of two branches, the outer one "
            "has no bounded continuation to z = 0",
        )
    root = root if place != 0 else math.lcm(root, int(first.q))
    if root > _LARGEST_ROOT:
        raise _no_powers(expr, place, f"they have no common denominator up to {_LARGEST_ROOT}")
    return first, root


def _no_powers(expr: sympy.Expr, place: sympy.Expr, reason: str) -> NoRouteError:
    return NoRouteError(
        f"The density of {expr} on a ball is computed from its powers at z = {place}, but "
        f"{reason}. Treat its summands as kernels of their own, or design a finite measure for "
        "the range of your data (design)."
    )


def _negligible(c: Ball, size: Ball) -> bool:
    return bool(abs(c) <= size * 2.0**-_ZERO_BITS)
