r"""Rational quadratic kernels in ball arithmetic: a K Bessel function of V = w^2.

For :math:`c_0(1+z^2/b^2)^{-\alpha}` and :math:`h = d/2,\ \mu = \alpha-h,\ c = b^2V/4` the density
of V is :math:`V^{h-1}g(V)`,

.. math:: g = \frac{c_0 (b^2/4)^h}{\Gamma(h)\Gamma(\alpha)}\,Y_\mu(c), \qquad
          Y_\mu(c) = \int_0^\infty \tau^{\mu-1}e^{-\tau-c/\tau}d\tau
                   = 2c^{\mu/2}K_\mu(2\sqrt c), \qquad Y_\mu' = -Y_{\mu-1}

(DLMF 10.32.10).  Every Y is positive and falls, so that its values at the ends of a ball enclose
it; and the share of [0, V] is a sum of two 1F2.
"""

from __future__ import annotations

import flint
import sympy

from spectra.certify.balls import EXACT_BITS, Ball, Unproved, exact_ball, hull, precision
from spectra.certify.laws import EXPONENTIAL, Law
from spectra.density.closed_pairs.rational_quadratic import RationalQuadratic

__all__ = ["CauchyLaw"]

# Bits beyond the working precision, and for each unit of 2 sqrt(c): the series cancel like its
# exponential, and what lies beyond c is as small once more.
_MORE_BITS, _BITS_BY_SIZE = 64, 3.0
_MOST_DOUBLINGS = 6
# The expansion in 1/x serves from this share of the bits on, and up to the other one Arb is fast.
_EXPANDED, _SLOW_FROM = 0.6, 0.14
# How far from an integer order its neighbors are, in units of what a share may be off by.
_BESIDE = 2.0**-16


class CauchyLaw(Law):
    """A rational quadratic kernel: V is a product of two Gamma variables."""

    one_signed = True
    analytic_at_zero = False

    def __init__(self, source: RationalQuadratic) -> None:
        self.source = source
        self.dim = source.dim
        self.half = flint.arb(source.dim) / 2
        self.exact_order = source.alpha - sympy.Rational(source.dim, 2)
        self.alpha, self.order = exact_ball(source.alpha), exact_ball(self.exact_order)
        with precision(EXACT_BITS):
            self.long_order = exact_ball(self.exact_order)
        self.length = self.root = exact_ball(source.scale)
        self.power_beside = flint.arb(1) / 4 - self.order / 2
        self.growth = self.power_beside.max(flint.arb(0))
        self.quarter = self.length**2 / 4
        self.total = exact_ball(source.coefficient)
        self.scale = self.half * self.alpha / self.quarter
        self.weight = self.half.gamma() * self.alpha.gamma()
        self.front = self.total * self.quarter**self.half / self.weight
        self.fall = (EXPONENTIAL, float(self.length.mid()), -float(self.order.mid()))

    # --- the function Y -----------------------------------------------------------------------

    def _y(self, c: Ball, less: int = 0) -> Ball:
        """Y of the order mu - less at an exact c > 0."""
        return 2 * c ** ((self.order - less) / 2) * self._bessel(2 * c.sqrt(), less)

    def _bessel(self, x: Ball, less: int = 0) -> Ball:
        """K of the order mu - less over a narrow ball of x > 0.

        Where the expansion in 1/x does not serve, Arb takes differences of terms of the order of
        e^x, so that what a ball does not know is multiplied by e^(2x): the order has that many
        bits more, and x its middle, where |K'/K| <= 1 + (|mu| + 1)/x.
        """
        middle, order = x.mid(), self.long_order - less
        size, bits = float(middle), flint.ctx.prec + _MORE_BITS
        if size < _EXPANDED * bits:
            # Beside, Arb takes seconds where x is between 0.2 and 0.5 of the bits.
            bits = int(max(bits + _BITS_BY_SIZE * size, size / _SLOW_FROM))
        with precision(bits):
            value = middle.bessel_k(order)
        if x.is_exact():
            return +value
        away = x.rad() * (1 + (abs(order) + 1) / x.lower())
        return value * flint.arb(0, away.abs_upper()).exp()

    def _falls(self, x: Ball) -> Ball:
        """Lower bound of K_(mu-1)/K_mu on [x, inf): it is 1 at least, or grows for mu > 1/2."""
        ratio = self._bessel(x, 1) / self._bessel(x)
        return ratio.min(flint.arb(1)).lower()

    # --- as a law -----------------------------------------------------------------------------

    def log_growth(self, v: Ball) -> Ball:
        return self.length * v.sqrt() + self.power_beside * v.log()

    def near_zero(self, v: Ball) -> tuple[Ball, Ball]:
        c = self.quarter * v
        at_zero = self.order.gamma() if self.order > 0 else flint.arb("inf")
        ends = self.front * self._y(c.upper()), self.front * at_zero
        low, high = ends if self.front > 0 else ends[::-1]
        return low.lower(), high.upper()

    def largest(self, v: Ball, slowest: Law) -> Ball:
        x = self.length * v.sqrt()
        if isinstance(slowest, CauchyLaw) and slowest.source.scale == self.source.scale:
            # e^x sqrt(x) K(x) is monotone and tends to sqrt(pi/2); what is left is a power.
            left = slowest.power_beside - self.power_beside
            if left > 0:
                return flint.arb("inf")
            top = _limit().max(x.exp() * x.sqrt() * self._bessel(x))
            return abs(self._tail_front()) * top * v**left
        # V g'/g = -x K_(mu-1)/(2 K_mu): where that outweighs the slowest it does so from v on.
        falls = self._falls(x)
        excess = self.length * falls - slowest.root
        if not (excess > 0 and excess * v.sqrt() / 2 >= slowest.growth):
            return flint.arb("inf")
        return abs(self.jet(v, slowest)[0])

    def _tail_front(self) -> Ball:
        """g = this times V^(mu/2 - 1/4) e^-x [e^x sqrt(x) K_mu(x)], x = b sqrt(V)."""
        return 2 * self.front * self.quarter ** (self.order / 2) / self.length.sqrt()

    def room(self, w: Ball) -> Ball:
        """Distance of a radius to the singularity at 0."""
        return w

    def size_in_disc(self, w: Ball, reach: Ball) -> Ball:
        near, far = w - reach, w + reach
        if not near > 0:
            return flint.arb("inf")
        # |K(z)| <= K(Re z), from its integral.
        bessel = self._bessel((self.length * near).lower())
        end = far if self.order > 0 else near
        size = 2 * abs(self.front) * (self.length * end / 2) ** self.order * bessel
        return size.abs_upper()

    def least(self, v: Ball) -> tuple[Ball, int]:
        x = self.length * v.sqrt()
        low = _limit().min(x.exp() * x.sqrt() * self._bessel(x))
        return abs(self._tail_front()) * low, 1 if self.front > 0 else -1

    def series(self, v: Ball, slowest: Law | None = None) -> Ball:
        at, cap = v[0], flint.ctx.cap
        low, high = at.lower(), at.upper()
        if not low > 0:
            raise Unproved("a piece of the table reaches the origin, where the density has none")
        ends = (low,) if at.is_exact() else (low, high)
        rows = [self._derivatives(self.quarter * end, cap) for end in ends]
        scale = self.front
        found = []
        for a, b in zip(rows[0], rows[-1], strict=True):
            found.append(scale * (a if a is b else hull(a, b)))
            scale = scale * self.quarter
        g = flint.arb_series(found)
        if cap > 1:
            g = g(flint.arb_series([0, *list(v)[1:]]))
        return g * (slowest.log_growth(v) + slowest.rate * v).exp() if slowest else g

    def _derivatives(self, c: Ball, count: int) -> list[Ball]:
        """Taylor coefficients of Y at c: (-1)^k Y_(mu-k)/k!; recurrence from order -1 down."""
        values: list[Ball] = []
        for k in range(count):
            order = self.order - k
            if k >= 2 and order < -1:
                # c Y_(nu-1) + nu Y_nu = Y_(nu+1), where all terms are positive for nu < 0.
                values.append((values[k - 2] - (order + 1) * values[k - 1]) / c)
            else:
                values.append(self._y(c, k))
        factorial = flint.arb(1)
        for k in range(1, count):
            factorial = -factorial * k
            values[k] = values[k] / factorial
        return values

    # --- masses -------------------------------------------------------------------------------

    def below(self, v: Ball) -> Ball:
        return self.total - self.above(v) if self._far(v) else self.total * self._share(v)

    def above(self, v: Ball) -> Ball:
        if not self._far(v):
            return self.total * (1 - self._share(v))
        return self.total * hull(flint.arb(0), self._tail_bound(v))

    def size_below(self, v: Ball) -> Ball:
        """Upper bound of the absolute mass of [0, v]."""
        return abs(self.below(v)).abs_upper()

    def _far(self, v: Ball) -> bool:
        """Whether less than 2^-bits lies beyond v."""
        x = self.length * v.sqrt()
        return bool(x > flint.ctx.prec + 8 * (self.half + self.alpha))

    def _tail_bound(self, v: Ball) -> Ball:
        """Bound of the share of [v, inf): c^(h-1/2) Y falls like e^(-x r/2) at least."""
        x = self.length * v.sqrt()
        falls = self._falls(x)
        if not x * falls > 2 * (2 * self.half - 1):
            raise Unproved("the tail of a rational quadratic kernel was not bounded")
        c = self.quarter * v
        return (c ** (self.half - flint.arb(1) / 2) * self._y(c) * 2 / falls / self.weight).upper()

    def _share(self, v: Ball) -> Ball:
        """The share of [0, v]; its series at a ball would cancel, and multiply what that leaves."""
        share = self._exact_share(v.mid())
        if v.is_exact():
            return share
        c = self.quarter * v
        steep = self.power(v) * self._y(c.lower()) * self.quarter**self.half / self.weight
        return share + flint.arb(0, (v.rad() * steep).abs_upper())

    def _exact_share(self, v: Ball) -> Ball:
        """The share of [0, v] at an exact v.

        The series have no integer orders.  V is a product of Gamma variables of the shapes h and
        alpha, and the second one grows with its shape, so that the share is between those of two
        orders next to it.
        """
        goal, bits = flint.arb(2) ** -flint.ctx.prec, flint.ctx.prec
        more = _MORE_BITS + int(_BITS_BY_SIZE * float((self.length * v.sqrt()).upper()))
        beside = [flint.arb(0)]
        if self.exact_order.is_Integer:
            beside = [goal * _BESIDE, -goal * _BESIDE]
            more += bits
        for _ in range(_MOST_DOUBLINGS):
            with precision(bits + more):
                ends = [self._by_series(v, by) for by in beside]
                share = hull(ends[0], ends[-1])
            if share.rad() < goal:
                return share
            more *= 2
        raise Unproved("the share of a rational quadratic kernel lost its digits")

    def _by_series(self, v: Ball, by: Ball) -> Ball:
        """The share where alpha is larger by a number."""
        alpha, half = exact_ball(self.source.alpha) + by, flint.arb(self.dim) / 2
        c = exact_ball(self.source.scale) ** 2 / 4 * v
        total = flint.arb(0)
        for power, other in ((half, alpha - half), (alpha, half - alpha)):
            series = c.hypgeom([power], [power + 1, 1 - other])
            total = total + other.gamma() * c**power / power * series
        return total / (alpha.gamma() * half.gamma())


def _limit() -> Ball:
    """What e^x sqrt(x) K(x) tends to."""
    return (flint.arb.pi() / 2).sqrt()
