r"""Any function on a ball whose ends are algebraic, in the shape that the compact route asks for.

Where the ascending series and the edge expansion ask a :class:`~.ball.BallForm` for exact moments
and exact coefficients, this form computes them from values of the function, to as many bits as are
asked for: moments by the double-exponential rule, expansions by power series in
:math:`\tau^{1/q}`, :math:`\tau = 1 - x^2`, at the edge and in :math:`x^{1/q}` at the origin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count

import flint
import sympy

from spectra.base.precision import Ball, log_of
from spectra.density.ball.ball_form import BallForm, to_ball
from spectra.density.ball.numeric.power_series import power_series
from spectra.density.ball.numeric.tanh_sinh import moment_stream
from spectra.errors import AccuracyError

__all__ = ["NumericBall", "RadialForm"]

# Bits of the first coefficients of series, which holds the cancellation of terms.
_SERIES_BITS = 350
# A coefficient below this share of the largest one nearby is zero.
_ZERO_BITS = 150
# The expansions start where their least term is e^-42 of the first one, which is about s^-1.
_DECAY, _FIRST_POWER = 42.0, 1.0
# Ascending series out to this take about twenty seconds.
_FARTHEST_START = 500.0
# These coefficients show the radius of convergence.
_LATE = range(40, 56)
# Classes of exponents are looked for among so many coefficients of each.
_SEARCHED = 24
# The least number of coefficients that are computed: what is asked first is not what is asked most.
_SHORTEST = 124
# Moments are computed to so many bits at least.
_LEAST_MOMENT_BITS = 384


@dataclass(eq=False)
class NumericBall:
    """A function on the unit ball known by its values, with stated exponents at both ends.

    Attributes
    ----------
    function : callable
        k(R x) at an exact x, 0 < x < 1, in a ball of Arb's precision.
    radius : sympy number
        The radius R of the ball.
    edge : sympy number
        The leading exponent of (1 - x) at the edge.
    edge_root : int
        All exponents at the edge differ from it by multiples of 1/edge_root.
    origin_root : int
        All exponents at x = 0 are multiples of 1/origin_root.

    Examples
    --------
    >>> form = NumericBall(lambda x: (-x).exp() * (1 - x) ** 2, sympy.Integer(1),
    ...                    edge=sympy.Integer(2))
    >>> form.edge_exponents, float(form.value_at_zero)
    ((2,), 1.0)
    >>> [(m, round(float(c), 12)) for m, c in form.odd_origin_terms(4)]
    [(1, -3.0), (3, -2.166666666667)]
    """

    function: Callable[[Ball], Ball]
    radius: sympy.Expr
    edge: sympy.Expr
    edge_root: int = 1
    origin_root: int = 1
    _known: dict[Callable[[Ball], Ball], list[Ball]] = field(default_factory=dict, init=False)
    _streams: dict[tuple[int, int], tuple[Iterator[Ball], list[Ball]]] = field(
        default_factory=dict, init=False
    )

    #: Its series never end, whatever the function.
    has_finite_edge = False
    has_finite_origin = False

    # --- what the routes ask for ------------------------------------------------------------

    @cached_property
    def value_at_zero(self) -> Ball:
        """The limit at z = 0."""
        return self._at_origin(1)[0]

    @cached_property
    def least_start(self) -> float:
        """R w at which the least terms of both expansions are below rounding.

        With a singularity at the distance r they are about e^(-s r/2), r in 1 - x^2, at the edge
        and e^(-s r), r in x, at the origin.

        Raises
        ------
        AccuracyError
            Where that is too far out to be reached from the ascending series.
        """
        edge = _convergence(self._at_edge(_SHORTEST), self.edge_root)
        origin = _convergence(self._at_origin(_SHORTEST), self.origin_root)
        start = max(_start(0.5 * edge), _start(origin))
        if start > _FARTHEST_START:
            raise AccuracyError(
                "A formula on a ball has a complex singularity so close to an end that its "
                f"expansion there is only useful from R w = {start:.3g} on, and the numeric route "
                f"follows the density to {_FARTHEST_START:g}. Write the kernel as a sum of one "
                "that is smoother there and one of a shorter support."
            )
        return start

    def moments(self, dim: int) -> Iterator[Ball]:
        """Integrals of x^(dim-1+2n) times the function, n = 0, 1, ..., at Arb's precision."""
        bits = max(_LEAST_MOMENT_BITS, flint.ctx.prec)
        if (dim, bits) not in self._streams:
            self._streams[dim, bits] = (moment_stream(self.function, dim, bits), [])
        stream, known = self._streams[dim, bits]
        for n in count():
            while len(known) <= n:
                known.append(next(stream))
            yield known[n]

    @cached_property
    def edge_exponents(self) -> tuple[sympy.Expr, ...]:
        """Leading exponents of 1 - x^2 at the edge, one for each class modulo 1, sorted."""
        root = self.edge_root
        series = self._at_edge(_SEARCHED * root)
        size = max(abs(c) for c in series)
        found = []
        for r in range(root):
            mine = series[r::root]
            first = next((j for j, c in enumerate(mine) if not _negligible(c, size)), None)
            if first is not None:
                found.append(self.edge + sympy.Rational(r, root) + first)
        if not found:
            raise AccuracyError(
                "A formula on a ball has no term at the edge that numbers can see: it is zero, or "
                "flat there like exp(-1/(R - z))."
            )
        return tuple(sorted(found, key=float))

    def edge_series(self, power: sympy.Expr, length: int) -> list[Ball]:
        """Coefficients of (1 - x^2)^(power + j) at the edge; ``power`` in [0, 1)."""
        root = self.edge_root
        series = self._at_edge(root * length)
        for r in range(root):
            lead = self.edge + sympy.Rational(r, root)
            if lead - sympy.floor(lead) == power:
                shift = int(sympy.floor(lead))
                return ([flint.arb(0)] * shift + series[r::root])[:length]
        return [flint.arb(0)] * length

    def odd_origin_terms(self, length: int) -> list[tuple[int | Fraction, Ball]]:
        """The powers x^m at the origin that are no even integers, sorted, with m as numbers."""
        root = self.origin_root
        series = self._at_origin(root * length)
        odd = [(Fraction(j, root), c) for j, c in enumerate(series) if j % (2 * root) and c != 0]
        size = max(abs(c) for c in series[: _SEARCHED * root])
        if all(_negligible(c, size) for m, c in odd if m < _SEARCHED):
            return []
        # The first term decides where the sum of them ends: it must be none of rounding.
        first = next(i for i, (_, c) in enumerate(odd) if not _negligible(c, size))
        return [(int(m) if m.denominator == 1 else m, c) for m, c in odd[first:]]

    # --- power series at both ends ------------------------------------------------------------

    def _series(self, near: Callable[[Ball], Ball], terms: int) -> list[Ball]:
        """The first coefficients of a function at 0."""
        known = self._known.get(near, [])
        if len(known) < terms:
            known = power_series(near, max(terms, _SHORTEST), bits=_SERIES_BITS)
            self._known[near] = known
        return known[:terms]

    def _at_edge(self, terms: int) -> list[Ball]:
        """Coefficients of tau^(edge + j/root)."""
        return self._series(self._near_edge, terms)

    def _near_edge(self, y: Ball) -> Ball:
        x = (1 - y**self.edge_root).sqrt().mid()
        return self.function(x) * ((1 - x) * (1 + x)) ** -to_ball(self.edge)

    def _at_origin(self, terms: int) -> list[Ball]:
        """Coefficients of x^(j/root)."""
        return self._series(self._near_origin, terms)

    def _near_origin(self, y: Ball) -> Ball:
        return self.function((y**self.origin_root).mid())


#: What the ascending series and the expansions at both ends ask of a formula on a ball: moments,
#: and, in x = z / radius, expansions at the edge and at the origin.
RadialForm = BallForm | NumericBall


def _convergence(series: list[Ball], root: int) -> float:
    """Radius of convergence, in y^root, that the coefficients of a power series in y show."""
    size = max(abs(c) for c in series[:_SEARCHED])
    first = next(j for j, c in enumerate(series) if not _negligible(c, size))
    lead = log_of(series[first])
    ratios = [(lead - log_of(series[j])) / (j - first) for j in _LATE if series[j] != 0]
    return math.exp(root * min(ratios)) if ratios else math.inf


def _start(rate: float) -> float:
    """The s at which s e^(-rate s) has fallen to e^-42."""
    s = _DECAY / rate
    for _ in range(20):
        s = (_DECAY + _FIRST_POWER * math.log(max(s, 1.0))) / rate
    return s


def _negligible(c: Ball, size: Ball) -> bool:
    return bool(abs(c) <= size * 2.0**-_ZERO_BITS)
