r"""Transforms of any formula in the l1 distance: one integral against a divided difference.

.. math:: \mu(w) = \frac{(-1)^{d-1}}{\pi^d} \int_0^\infty f(s)\,[w_1^2, \ldots, w_d^2] K_s\,ds,
          \qquad K_s(w^2) = \begin{cases}
             (-w^2)^m \cos(w s) & d = 2m + 1, \\ (-w^2)^m \sin(w s)/w & d = 2m. \end{cases}

The difference is taken of the waves and not of integrals, in as many bits as close frequencies ask
for, so that f itself is needed to the digits of the answer alone.  On the half-line the waves are
exp(i w s) on a ray into the plane, s = exp(t + i psi), where they fall and f neither grows nor is
singular (:mod:`spectra.density.continuation.analytic_region`); on an interval they are real, and s
that of the tanh-sinh rule.  Sums over every second point tell the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from math import exp, factorial, log, pi

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.continuation.continuation import Continuation, number
from spectra.density.continuation.unresolved_parts import hidden_place, refuse_hidden
from spectra.errors import AccuracyError, FormulaError
from spectra.formula.reader.parsing import Z

__all__ = ["Share", "apart", "divided", "share_of"]

# Frequencies closer than this are moved apart by as much, and the bits that a difference then
# loses: twice as many, since squares differ less where they are small.
_APART_BITS = 96
_LOST_BITS = 2 * _APART_BITS
# Bits of f and of sums.
_BITS = 128
# Steps 2^-k of t that are tried in turn, from those at which what is narrow is looked for, and the
# e-folds that a sum may reach, in whole ones of which it is looked for.
_STEPS, _FARTHEST = range(5, 10), 150
# A sum ends an e-fold beyond the last whole one with a term above this part of its size; it is
# settled where every second point gives it to that part, and refused where it is not known to the
# last.
_NOTHING, _SETTLED, _REFUSED = 2.0**-64, 2.0**-44, 1e-4
# Between e-folds no term is larger than beside them by more; what the range of doubles leaves away.
_BETWEEN, _UNDERFLOW = 8.0, 1e-300
# With sinh(4)*pi/2 = 43 ends are nearer than 2^-120.
_SINH_END = 4.0
# What is narrow is looked for up to there, where exp(-20) of an interval is left.
_LOOKED_FOR = 2.5


def apart(row: NDArray[np.float64], bits: int) -> list[Ball]:
    """Ascending frequencies in balls, moved so that none is within 2^-bits of the last or of 0."""
    least, nodes = flint.arb(2.0**-bits), list[Ball]()
    for v in row:
        w = flint.arb(float(v))
        if not nodes and v < 2.0**-bits:
            w = least
        if nodes and not w - nodes[-1] >= least:
            w = nodes[-1] + least
        nodes.append(w)
    return nodes


def divided(values: Sequence[Ball], nodes: Sequence[Ball]) -> Ball:
    """The divided difference of values at the squares of the nodes."""
    squares, found = [w * w for w in nodes], list(values)
    for order in range(1, len(nodes)):
        found = [
            (b - a) / (squares[i + order] - squares[i]) for i, (a, b) in enumerate(pairwise(found))
        ]
    return found[0]


#: s and f(s) ds at one point of a rule, without the step.
_Point = tuple[Ball, Ball]
#: The point at t; None where that is at an end to all digits.
_Rule = Callable[[float], _Point | None]
#: What one formula of f on one interval adds to mu at one frequency, ascending and positive, and
#: the error of that.
Share = Callable[[NDArray[np.float64]], tuple[float, float]]


def _summed(rule: _Rule, row: NDArray[np.float64]) -> tuple[float, float]:
    """A share by its rule.

    Raises
    ------
    AccuracyError
        Where the sums do not settle.
    """
    dim = len(row)
    bits = _BITS + _LOST_BITS * (dim - 1)
    with working(bits):
        nodes = apart(row, _APART_BITS)
    scale = (-1) ** (dim - 1) / pi**dim
    first, last = _support(rule, nodes, bits)
    # Sums of terms, of their sizes, and of what moving frequencies and rounding lose.
    total = size = lost = 0.0
    count, value, error = 1, np.inf, np.inf
    for k in _STEPS if max(abs(first), abs(last)) < _FARTHEST else ():
        # An e-fold more on both sides: first all points of a step, then those between them.
        count, every = 1 << k, 1 if k == _STEPS[0] else 2
        for n in range((first - 1) * count + every - 1, (last + 1) * count + 1, every):
            term, here, wrong = _term(rule(n / count), nodes, bits)
            total, size = total + term, size + here
            lost += wrong + 2.0**-53 * (abs(total) + here)
        before, value = value, total / count
        error = abs(value - before) + lost / count
        if error <= _SETTLED * size / count:
            break
    size /= count
    if not (error <= _REFUSED * size < np.inf):
        raise AccuracyError(
            f"The transform at w = {[float(v) for v in row]} did not settle: its sums differ "
            f"by {error:.3g} where their terms add up to {size:.3g}. The density may be "
            "infinite there, too small to be told from 0, or f has a part between all values."
        )
    return scale * value, abs(scale) * (error + _NOTHING * size) + _UNDERFLOW


def _support(rule: _Rule, nodes: list[Ball], bits: int) -> tuple[int, int]:
    """The first and the last whole e-fold with a term that counts beside the largest.

    A sum that began anywhere would end where waves, or f, have fallen below all doubles.
    """
    logs = {}
    for t in range(-_FARTHEST, _FARTHEST + 1):
        point = rule(float(t))
        if point is not None:
            with working(bits):
                logs[t] = log_of(_whole(point, nodes).mid())
    known = {t: size for t, size in logs.items() if np.isfinite(size)}
    least = max(known.values(), default=0.0) + log(_NOTHING) - _BETWEEN
    counted = [t for t, size in known.items() if size > least]
    return min(counted, default=0), max(counted, default=0)


def _whole(point: _Point, nodes: list[Ball]) -> Ball:
    """The difference at a point, of which the real or the imaginary part counts."""
    s, weighted = point
    waves = [_wave(w, s, len(nodes)) for w in nodes]
    return divided(waves, nodes) * weighted


def _term(point: _Point | None, nodes: list[Ball], bits: int) -> tuple[float, float, float]:
    """A term, its size, and what is not known of it; zeros where there is none."""
    if point is None:
        return 0.0, 0.0, 0.0
    dim = len(nodes)
    with working(bits):
        whole = _whole(point, nodes)
        term = whole.imag if _falls(point[0]) and dim % 2 == 0 else whole.real
        size = abs(complex(whole.mid()))
    s, weighted = map(complex, point)
    reach = abs(s) ** dim * exp(-float(nodes[0]) * s.imag) * abs(weighted)
    moved = 2.0 * dim**2 * 2.0**-_APART_BITS / factorial(dim) * reach
    return float(term.mid()), size, float(term.rad()) + moved


def _falls(s: Ball) -> bool:
    """Whether waves fall at a point, as exp(i w s), and are not real."""
    return not s.imag.is_zero()


def _wave(w: Ball, s: Ball, dim: int) -> Ball:
    power, u = (-(w * w)) ** (dim // 2), w * s
    if _falls(s):
        wave = (flint.acb(0, 1) * u).exp() - _unseen(u, dim)
    else:
        wave = u.cos() if dim % 2 else u.sin()
    return power * wave if dim % 2 else power * wave / w


def _unseen(u: Ball, dim: int) -> Ball:
    """What of exp(i u) has no share in the integral, and would make differences of small w grow.

    It is exp(-u) times a polynomial, with the first terms of i sin u or of cos u in odd and in even
    dimensions: imaginary, or real, on the axis.
    """
    total, power = flint.acb(0), flint.acb(1)
    root = 1 + 1j
    for n in range(dim + 1):
        share = (root**n).imag if dim % 2 else (root**n).real
        total += round(share) * power / factorial(n)
        power *= u
    return (flint.acb(0, 1) if dim % 2 else 1) * (-u).exp() * total


def share_of(expr: sympy.Expr, start: sympy.Expr, end: sympy.Expr, dim: int) -> Share:
    """The share of a formula in Z between two radii, in a dimension.

    Raises
    ------
    FormulaError
        Where it does not decay, is not continued into the plane, or there is no ray for it.
    NoRouteError
        Where a part of it is hidden between all values.
    """
    if end is sympy.oo:
        return _outwards(expr, start, dim)
    return _between(expr, start, end)


def _outwards(expr: sympy.Expr, start: sympy.Expr, dim: int) -> Share:
    plane = AnalyticRegion(expr.subs(Z, start + Z))
    refuse_hidden(expr, lambda: plane.hidden(dim))
    angles = plane.angles(dim)
    if not angles:
        raise FormulaError("no ray into the plane has the integrals of the half-line")
    angle = angles[0]
    ray = plane.ray(angle, _BITS)
    with working(_BITS):
        first = number(start)

    def point(t: float) -> _Point:
        with working(_BITS):
            z = flint.acb(flint.arb(t), flint.arb(angle)).exp()
            return _exact(first + z), ray(t) * z

    return partial(_summed, cache(point))


def _between(expr: sympy.Expr, start: sympy.Expr, end: sympy.Expr) -> Share:
    kernel = Continuation(expr)
    with working(2 * _BITS):
        low, high = number(start).real, number(end).real

    def place(t: Ball) -> Ball:
        return low + (high - low) / (1 + (-flint.arb.pi() * t.sinh()).exp())

    refuse_hidden(expr, lambda: hidden_place(kernel, place, -_LOOKED_FOR, _LOOKED_FOR))

    def point(t: float) -> _Point | None:
        if abs(t) > _SINH_END:
            return None
        with working(2 * _BITS):
            s = place(flint.arb(t))
            share = (s - low) * (high - s) / (high - low)
            slope = flint.arb.pi() * flint.arb(t).cosh() * share
        return _exact(flint.acb(s)), kernel(flint.acb(s), 2 * _BITS) * slope

    return partial(_summed, cache(point))


def _exact(s: Ball) -> Ball:
    """A point without its rounding, whose waves at close frequencies differ by their difference."""
    return flint.acb(s.real.mid(), s.imag.mid())
