r"""Where a formula is analytic beside the half-line, proved in ball arithmetic on boxes of log z.

A ray and the half-line have one integral where the kernel is analytic between them and decays.  No
sum of values can tell: a pole where the kernel is 1e-60 of its size is seen in none, and still
rules a density in high dimension, or far out.  So boxes of log|z| and arg z cover what is between,
and are halved until on each of them every function in the formula is finite and meets no cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import flint
import numpy as np
import sympy

from spectra.base.precision import Ball, log_of, working
from spectra.density.continuation.amplitudes import HankelAmplitude
from spectra.density.continuation.continuation import Continuation, number, planned
from spectra.formula.evaluation.program import steps_of
from spectra.formula.reader.parsing import Z

__all__ = ["Box", "is_analytic", "log_most"]

_BITS = 192
# Boxes are halved down to this size, and no more of them than that are looked at in one strip.
_SMALLEST, _MOST_BOXES = 2.0**-11, 4000
# What remains is excused where the kernel has a removable singularity: on a circle so many times as
# large, at so many points, coefficients beyond the middle are nothing beside the largest one, and
# far less than any share of a kernel that is seen.
_AROUND, _POINTS, _CIRCLE_BITS, _NOTHING = 8.0, 160, 1024, 1e-150
# None is looked for where a kernel is beyond exp(10^4) and the circle is slow; and few boxes are
# excused: such singularities are points, and what many boxes meet is a cut.
_IMMENSE, _MOST_EXCUSED = 1e4, 24


class Box(NamedTuple):
    """Ends of log|z|, and of arg z."""

    low: float
    high: float
    inner: float
    outer: float

    @property
    def size(self) -> float:
        """The longer side."""
        return max(self.high - self.low, self.outer - self.inner)

    def halves(self) -> tuple[Box, Box]:
        """Two parts, across the longer side."""
        if self.high - self.low > self.outer - self.inner:
            middle = 0.5 * (self.low + self.high)
            return self._replace(high=middle), self._replace(low=middle)
        middle = 0.5 * (self.inner + self.outer)
        return self._replace(outer=middle), self._replace(inner=middle)

    def logs(self) -> Ball:
        """All log z."""
        (low, high), (inner, outer) = (map(flint.arb, ends) for ends in (self[:2], self[2:]))
        return flint.acb(low.union(high), inner.union(outer))

    def middle(self) -> Ball:
        """One z."""
        return flint.acb(0.5 * (self.low + self.high), 0.5 * (self.inner + self.outer)).exp()


class _Values(NamedTuple):
    """Values on a box: a rectangle around them, and the least of their moduli.

    Rectangles lose the modulus of what turns: exp(z) far out is nowhere small.
    """

    ball: Ball
    least: Ball


# Where a function is not seen to be analytic.
_UNKNOWN = _Values(flint.acb("nan"), flint.arb(0))


def is_analytic(kernel: Continuation, box: Box, *, excuses: int = _MOST_EXCUSED) -> bool:
    """Whether a kernel is proved to be analytic on a box, but for removable singularities on so
    many of its parts.

    Examples
    --------
    >>> kernel = Continuation(1 / (1 + Z**2))
    >>> is_analytic(kernel, Box(-9.0, 9.0, 0.0, 1.5)), is_analytic(kernel, Box(-9.0, 9.0, 0.0, 1.6))
    (True, False)
    """
    boxes, left, excused = [box], _MOST_BOXES, 0
    while boxes:
        box = boxes.pop()
        left -= 1
        with working(_BITS):
            if _on(kernel, box) is not None:
                continue
        if left <= 0:
            return False
        if box.size > _SMALLEST:
            boxes += box.halves()
        elif excused == excuses or not _is_removable(kernel, box):
            return False
        else:
            excused += 1
    return True


def log_most(kernel: Continuation, box: Box, little: float, halvings: int) -> float:
    """Logarithm of what a kernel is at most on a box, halved so often while that is not little;
    infinite where it is not known."""
    with working(_BITS):
        ball = _on(kernel, box)
        most = np.inf if ball is None else log_of(abs(ball).upper())
    if halvings == 0 or most < little:
        return most
    return max(log_most(kernel, half, little, halvings - 1) for half in box.halves())


def _on(kernel: Continuation, box: Box) -> Ball | None:
    """The kernel on a box; None where it is not seen to be analytic."""
    logs = box.logs()
    values = [_Values(logs.exp(), _least_exp(logs))]
    for step, operands in _steps(kernel.expr):
        values.append(step(*[values[i] for i in operands]))
        if not values[-1].ball.is_finite():
            return None
    return values[-1].ball


def _is_removable(kernel: Continuation, box: Box) -> bool:
    with working(_CIRCLE_BITS):
        centre = box.middle()
        radius = _AROUND * box.size * abs(centre)
        if not log_of(kernel(centre + radius, _BITS)) < _IMMENSE:
            return False
        roots = [(2 * flint.acb.pi() * flint.acb(0, j) / _POINTS).exp() for j in range(_POINTS)]
        around = [kernel(centre + radius * root, _CIRCLE_BITS) for root in roots]
        sizes = [
            abs(sum((v * roots[-n * j % _POINTS] for j, v in enumerate(around)), flint.acb(0)))
            for n in range(_POINTS)
        ]
        return bool(max(sizes[_POINTS // 2 :]) < _NOTHING * max(sizes))


@lru_cache(maxsize=64)
def _steps(expr: sympy.Expr) -> list[tuple[Callable[..., _Values], tuple[int, ...]]]:
    with working(_BITS):
        return steps_of(expr, Z, _step)


def _step(node: sympy.Expr) -> tuple[Callable[..., _Values], tuple[sympy.Basic, ...]]:
    if not node.free_symbols:
        known = _of(number(node))
        return (lambda: known), ()
    if node.is_Add:
        return _sum, node.args
    if node.is_Mul:
        return _product, node.args
    if node.is_Pow and node.exp.is_Integer:
        n = int(node.exp)
        return (lambda x: _power(x, n)), (node.base,)
    if node.func is sympy.exp:
        return (lambda x: _Values(x.ball.exp(), _least_exp(x.ball))), node.args
    if node.func in (sympy.cosh, sympy.sinh):
        function, _ = planned(node)
        return (lambda x: _hyperbolic(function(x.ball), x.ball)), node.args
    function, operands = planned(node)
    cut = _cut(node)

    def step(*values: _Values) -> _Values:
        argument = values[0] if node.is_Pow else values[-1]
        if cut is not None and cut(argument.ball):
            return _UNKNOWN
        return _of(function(*[v.ball for v in values]))

    return step, operands


def _least(ball: Ball) -> Ball:
    """The distance of a rectangle from zero; squares of wide balls reach it too early."""
    if not ball.is_finite():
        return flint.arb(0)
    return abs(flint.acb(ball.real.abs_lower(), ball.imag.abs_lower())).lower()


def _least_exp(ball: Ball) -> Ball:
    """|exp| at least: at the lower end, since the ball around a long interval reaches zero."""
    return ball.real.lower().exp().lower()


def _of(ball: Ball) -> _Values:
    return _Values(ball, _least(ball))


def _hyperbolic(ball: Ball, u: Ball) -> _Values:
    """sinh or cosh: |sinh Re u| <= |sinh u|, |cosh u|."""
    return _Values(ball, max(_least(ball), _least(u.real).sinh().lower()))


def _sum(*terms: _Values) -> _Values:
    ball = sum((t.ball for t in terms[1:]), terms[0].ball)
    sizes = [abs(t.ball).upper() for t in terms]
    # Sums of the others, since a difference is rounded by the largest of all.
    others = [sum(sizes[:i] + sizes[i + 1 :], flint.arb(0)) for i in range(len(sizes))]
    alone = (t.least - other for t, other in zip(terms, others, strict=True))
    return _Values(ball, max(_least(ball), *(least.lower() for least in alone)))


def _product(*factors: _Values) -> _Values:
    ball, least = factors[0]
    for factor in factors[1:]:
        ball, least = ball * factor.ball, least * factor.least
    return _Values(ball, max(_least(ball), least.lower()))


def _power(x: _Values, n: int) -> _Values:
    ball = x.ball**n
    if n >= 0:
        return _Values(ball, max(_least(ball), (x.least**n).lower()))
    if not x.least > 0:
        return _UNKNOWN
    if not ball.is_finite():
        most = flint.arb(0, (x.least**n).upper())
        ball = flint.acb(most, most)
    return _Values(ball, (abs(x.ball).upper() ** n).lower())


# --- cuts of principal branches ----------------------------------------------------------------


def _meets_negative(z: Ball) -> bool:
    return z.imag.contains(0) and not z.real > 0


def _meets_positive(z: Ball) -> bool:
    return z.imag.contains(0) and not z.real < 0


def _meets_beyond_one(z: Ball) -> bool:
    return z.imag.contains(0) and not abs(z.real) < 1


_CUTS: dict[object, Callable[[Ball], bool]] = {
    sympy.log: _meets_negative,
    sympy.bessely: _meets_negative,
    sympy.besselk: _meets_negative,
    sympy.expint: _meets_negative,
    HankelAmplitude: _meets_negative,
    sympy.asin: _meets_beyond_one,
    sympy.acos: _meets_beyond_one,
    sympy.atan: lambda z: _meets_beyond_one(z * flint.acb(0, 1)),
}


def _cut(node: sympy.Expr) -> Callable[[Ball], bool] | None:
    """What the argument of a function must not meet; of a power, its base."""
    if node.is_Pow:
        return None if node.exp.is_Integer else _meets_negative
    if node.func in (sympy.besselj, sympy.besseli):
        return None if node.order.is_Integer else _meets_negative
    if isinstance(node, sympy.hyper):
        above, below = len(node.ap), len(node.bq)
        if above <= below:
            return None
        return _meets_positive if above > below + 1 else lambda z: _meets_positive(z - 1)
    return _CUTS.get(node.func)
