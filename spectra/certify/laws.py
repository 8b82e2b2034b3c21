r"""Components without oscillation in ball arithmetic, in the variable V = w^2.

With h = d/2 the signed density of V is :math:`V^{h-1} g(V)`, and here g is analytic at V = 0:

============  ==============================================================================
Gaussian      :math:`g = \lambda^h e^{-\lambda V} Q(\lambda V)/\Gamma(h)`, lambda = 1/(4a)
Matern        :math:`g = c\,a^{2\nu}(a^2+V)^{-\nu-h}\,\Gamma(\nu+h)/(\Gamma(\nu)\Gamma(h))`
============  ==============================================================================

That of a rational quadratic, which is not analytic there, is in ``cauchy_law``.  Q is the sum of
the Laguerre polynomials of the Gaussian times a polynomial.  The masses of ranges of V are
incomplete gamma and beta functions, which Arb encloses.

Before its sign is looked at a density is divided by how its slowest component falls, that is times
:math:`e^{\lambda V}` and what ``Law.log_growth`` says: this has no influence on signs, and keeps a
density of the order of 1 where it underflows every ball.  An exponential over a wide ball would
not be known to be positive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy

import flint
import sympy

from spectra.certify.balls import Ball, exact_ball, precision, sizes
from spectra.density.closed_pairs.gaussian import Gaussian
from spectra.density.closed_pairs.matern import Matern

__all__ = ["EXPONENTIAL", "POWER", "GaussianLaw", "Law", "MaternLaw"]


#: Kinds of falls, the slowest first: like a power, exponentially in w, exponentially in w^2.
POWER, EXPONENTIAL, _EXPONENTIAL_IN_SQUARE = 0.0, 1.0, 2.0


class Law(ABC):
    r"""One component of the density of V = w^2, at the precision at which it was made.

    What a method means is said here for all of them.

    Attributes
    ----------
    dim : int
    half : arb
        h = d/2.
    scale : arb
        A typical V.
    one_signed : bool
        Whether g has no zero.
    total : arb
        Its signed mass.
    analytic_at_zero : bool
        Whether g is analytic at V = 0.
    fall : tuple of float
        How fast it falls at large V; the least of these wins, which is a guess that is proved.
    rate, root, growth : arb
        Its reciprocal grows like :math:`e^{\lambda V}e^{r\sqrt V}`, times V^growth at most.
    """

    dim: int
    half: Ball
    scale: Ball
    one_signed: bool
    total: Ball
    fall: tuple[float, ...]
    analytic_at_zero = True
    rate: Ball = 0
    root: Ball = 0
    growth: Ball = 0

    def log_growth(self, v: Ball) -> Ball:
        """The logarithm of how the reciprocal grows beside the rate, at a ball or a series of V."""
        return flint.arb(0)

    def jet(self, v: Ball, slowest: Law | None = None) -> tuple[Ball, Ball]:
        """Balls of G = g / (how the slowest falls) and of G' over a ball of V, or of 0 too."""
        with precision(flint.ctx.prec, cap=2):
            found = self.series(flint.arb_series([v, 1]), slowest)
        return found[0], found[1]

    def near_zero(self, v: Ball) -> tuple[Ball, Ball]:
        """The least and the largest g on [0, v], which may be infinite."""
        value, _ = self.jet(flint.arb(0).union(v))
        return value.lower(), value.upper()

    @abstractmethod
    def largest(self, v: Ball, slowest: Law) -> Ball:
        """Upper bound of that |G| on [v, inf); infinite where it was not proved.

        Of a law that may be the slowest of a mixture every other law is asked here.
        """

    @abstractmethod
    def series(self, v: Ball, slowest: Law | None = None) -> Ball:
        """Power series of g, or of G, at a power series of V."""

    @abstractmethod
    def room(self, w: Ball) -> Ball:
        """Distance of a radius to the nearest complex singularity; infinite without one."""

    @abstractmethod
    def size_in_disc(self, w: Ball, reach: Ball) -> Ball:
        """Upper bound of |g| where sqrt(V) is in a disc; infinite where that has a singularity."""

    @abstractmethod
    def least(self, v: Ball) -> tuple[Ball, int]:
        """Lower bound of its own |G| on [v, inf) and the sign there; 0 if unproved."""

    @abstractmethod
    def below(self, v: Ball) -> Ball:
        """Signed mass of [0, v]."""

    @abstractmethod
    def above(self, v: Ball) -> Ball:
        """Signed mass of [v, inf)."""

    def size_below(self, v: Ball) -> Ball:
        """Upper bound of the absolute mass of [0, v]: v^h / h times the largest |g|."""
        g, _ = self.jet(flint.arb(0).union(v))
        return v**self.half / self.half * abs(g)

    def size_above(self, v: Ball) -> Ball:
        """Upper bound of the absolute mass of [v, inf)."""
        return abs(self.above(v)).abs_upper()

    def mass(self, low: Ball, high: Ball) -> Ball:
        """Signed mass of [low, high], which may be all, from the side that is closer."""
        if low > self.scale or not high.is_finite():
            begun = self.above(low) if low > 0 else self.total
            return begun - self.above(high) if high.is_finite() else begun
        return self.below(high) - self.below(low) if low > 0 else self.below(high)

    def size(self, low: Ball, high: Ball) -> Ball:
        """Upper bound of the absolute mass of a short range: its length times the largest value."""
        v = low.union(high)
        g, _ = self.jet(v)
        return (high - low) * self.power(v) * abs(g)

    def power(self, v: Ball) -> Ball:
        """V^(h-1)."""
        if self.dim % 2 == 0:
            return v ** (self.dim // 2 - 1)
        return v ** (self.dim // 2) / v.sqrt()


class GaussianLaw(Law):
    """exp(-a z^2) times a polynomial in z^2."""

    def __init__(self, source: Gaussian) -> None:
        self.dim = source.dim
        self.half = flint.arb(source.dim) / 2
        a = exact_ball(source.rate)
        self.rate = 1 / (4 * a)
        self.powers = _laguerre_sum(source)
        self.one_signed = len(self.powers) == 1
        self.total = exact_ball(source.coefficients[0])
        self.scale = self.half / self.rate
        # The i-th power of y integrates to the rising factorial (h)_i.
        self.weights = []
        rising = flint.arb(1)
        for i, q in enumerate(self.powers):
            self.weights.append(q * rising)
            rising = rising * (self.half + i)
        self.front = self.rate**self.half / self.half.gamma()
        self.fall = (_EXPONENTIAL_IN_SQUARE, float(self.rate.log().mid()))

    def without_zero(self) -> GaussianLaw:
        """The same signs at V > 0, without the zero that the density may have at V = 0."""
        order = next(i for i, q in enumerate(self.powers) if not q.is_zero())
        reduced = copy(self)
        reduced.powers = self.powers[order:]
        return reduced

    def largest(self, v: Ball, slowest: Law) -> Ball:
        fall = (self.rate - slowest.rate) * v
        # V^k e^(-f V) (b + V)^p e^(r sqrt(V)) falls from V = v on if f v >= k + p + r sqrt(v)/2,
        # since V/(b + V) < 1.
        if not fall >= len(self.powers) - 1 + slowest.growth + slowest.root * v.sqrt() / 2:
            return flint.arb("inf")
        exponent = slowest.log_growth(v) - fall
        return self.front * exponent.exp() * sizes(self.powers)(self.rate * v)

    def series(self, v: Ball, slowest: Law | None = None) -> Ball:
        q = flint.arb_series([0])
        for c in reversed(self.powers):
            q = q * (self.rate * v) + c
        exponent = -self.rate * v
        if slowest:
            exponent = (slowest.rate - self.rate) * v + slowest.log_growth(v)
        return self.front * exponent.exp() * q

    def room(self, w: Ball) -> Ball:
        """There is no singularity."""
        return flint.arb("inf")

    def size_in_disc(self, w: Ball, reach: Ball) -> Ball:
        """Upper bound of |g| where sqrt(V) is in a disc."""
        # Re V = Re(w + z)^2 is least on the circle, at z = -reach or where cos(arg z) = -w/(2 r).
        least = (w - reach) ** 2 if w >= 2 * reach else w * w / 2 - reach * reach
        q = sizes(self.powers)(self.rate * (w + reach) ** 2)
        return (abs(self.front) * (-self.rate * least).exp() * q).abs_upper()

    def least(self, v: Ball) -> tuple[Ball, int]:
        y, top = self.rate * v, self.powers[-1]
        lower = sizes(self.powers[:-1])(y)
        # |q_n| y^n - sum |q_i| y^i grows from where it is positive.
        bound = self.front * (abs(top) * y ** (len(self.powers) - 1) - lower)
        return bound, (1 if top > 0 else -1) if bound > 0 else 0

    def below(self, v: Ball) -> Ball:
        y = self.rate * v
        shares = (y.gamma_lower(self.half + i, regularized=1) for i in range(len(self.weights)))
        return sum((c * p for c, p in zip(self.weights, shares, strict=True)), flint.arb(0))

    def above(self, v: Ball) -> Ball:
        y = self.rate * v
        shares = (y.gamma_upper(self.half + i, regularized=1) for i in range(len(self.weights)))
        return sum((c * p for c, p in zip(self.weights, shares, strict=True)), flint.arb(0))

    def size_above(self, v: Ball) -> Ball:
        last = self.half + len(self.weights) - 1
        share = (self.rate * v).gamma_upper(last, regularized=1)
        return share * sum((abs(c) for c in self.weights), flint.arb(0))


class MaternLaw(Law):
    """A Matern kernel: V/(a^2 + V) has the law Beta(d/2, nu)."""

    one_signed = True

    def __init__(self, source: Matern) -> None:
        self.dim = source.dim
        self.half = flint.arb(source.dim) / 2
        self.nu = exact_ball(source.nu)
        self.rate2 = exact_ball(source.rate) ** 2
        self.total = exact_ball(source.coefficient)
        self.scale = self.rate2
        self.exact_order = source.nu + sympy.Rational(source.dim, 2)
        self.order = self.growth = self.nu + self.half
        self.front = (
            self.total
            * self.rate2**self.nu
            * self.order.gamma()
            / (self.nu.gamma() * self.half.gamma())
        )
        self.fall = (POWER, float(self.order.mid()), -float(abs(self.front).log().mid()))

    def log_growth(self, v: Ball) -> Ball:
        return self.order * (self.rate2 + v).log()

    def largest(self, v: Ball, slowest: Law) -> Ball:
        if not isinstance(slowest, MaternLaw):
            return flint.arb("inf")
        here = abs(self.jet(v, slowest)[0])
        if self.order > slowest.order:
            excess = (self.order - slowest.order) * v
            falls = excess + self.order * slowest.rate2 - slowest.order * self.rate2 >= 0
            return here if falls else flint.arb("inf")
        if self.exact_order == slowest.exact_order:
            # One order, for no other Matern kernel is the slowest: the ratio is monotone in V
            # and tends to its front.
            return here.max(abs(self.front))
        return flint.arb("inf")

    def series(self, v: Ball, slowest: Law | None = None) -> Ball:
        exponent = -self.log_growth(v)
        if slowest:
            exponent = exponent + slowest.log_growth(v) + slowest.rate * v
        return self.front * exponent.exp()

    def room(self, w: Ball) -> Ball:
        """Distance of a radius to the singularities at w = i a and -i a."""
        return (w * w + self.rate2).sqrt()

    def size_in_disc(self, w: Ball, reach: Ball) -> Ball:
        near = self.room(w) - reach
        if not near > 0:
            return flint.arb("inf")
        # |a^2 + V| is the product of the distances to both.
        return (abs(self.front) * near ** (-2 * self.order)).abs_upper()

    def least(self, v: Ball) -> tuple[Ball, int]:
        return abs(self.front), 1 if self.front > 0 else -1

    def below(self, v: Ball) -> Ball:
        if v > self.rate2:
            return self.total - self.above(v)
        share = v / (self.rate2 + v)
        return self.total * share.beta_lower(self.half, self.nu, regularized=True)

    def above(self, v: Ball) -> Ball:
        # Arb's incomplete beta function is slow next to 1.
        if not v > self.rate2:
            return self.total - self.below(v)
        share = self.rate2 / (self.rate2 + v)
        return self.total * share.beta_lower(self.nu, self.half, regularized=True)


def _laguerre_sum(source: Gaussian) -> list[Ball]:
    """Coefficients in y of sum_j c_j j! a^-j L_j^(d/2-1)(y), summed exactly before rounding."""
    alpha = sympy.Rational(source.dim, 2) - 1
    degree = len(source.coefficients) - 1
    powers = []
    for i in range(degree + 1):
        exact = sympy.Integer(0)
        for j in range(i, degree + 1):
            # j! [y^i] L_j^alpha = (-1)^i C(j, i) (alpha + i + 1)_(j - i)
            term = sympy.Integer(-1) ** i * sympy.binomial(j, i) * sympy.rf(alpha + i + 1, j - i)
            exact += source.coefficients[j] * term / source.rate**j
        # Cancellations are exact, so that a density that vanishes at the origin does so here.
        powers.append(exact_ball(exact if exact.is_Rational else sympy.simplify(exact)))
    return powers
