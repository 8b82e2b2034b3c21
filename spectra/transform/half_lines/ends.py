r"""What a kernel does at zero and at infinity, from its exact expansion there.

A term :math:`z^a` at zero, a not an even integer, has the radial density

.. math:: G(a) w^{-a-1}, \qquad G(a) = \frac{2^{a+1}\Gamma((d+a)/2)}{\Gamma(d/2)\Gamma(-a/2)},

and a term :math:`z^a \log^q(1/z)` has its q-th derivative by -a.  The sum over all terms is the
asymptotic series of the density for large w (Watson's lemma for Abel means; Wong, Asymptotic
Approximations of Integrals, chapter IV).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from mpmath import mp
from scipy.special import loggamma

from spectra.errors import NoRouteError
from spectra.formula.expansions.exact_numbers import ExpansionError
from spectra.formula.expansions.expansion import expand_at
from spectra.formula.expansions.germs import Germ
from spectra.numeric import FloatArray
from spectra.quadrature import EPS
from spectra.transform.panelled import Ending

__all__ = [
    "Expansion",
    "PowerEnding",
    "expansion_from",
    "expansion_of",
    "germ_of",
    "long_expansion_of",
    "power_ending",
]

# Powers kept in expansions: the more, the earlier they serve.  Fewer are tried where they grow
# too long, and more where they leave too few terms.
_WINDOWS = (12, 5)
_WIDE_WINDOW = 24
_LONG_WINDOW = 36
_FEW_TERMS = 8
_LEAST_TERMS = 4
# The last term of an expansion stands for its error, this many times.
_MARGIN = 10.0
# The series of a tail is used where its error is below this share of its value.
_TAIL_RESOLVED = 1e-15
_DIGITS = 34
# exp(-40) is rounding against what falls like a power.
_FLAT_DEPTH = 40.0
_FARTHEST_LOG = 345.0

#: Terms c t^a log(1/t)^q of a kernel, t = z at zero and t = 1/z at infinity, as (a, q, c) in exact
#: numbers, the largest first.
Expansion = tuple[tuple[sympy.Expr, int, sympy.Expr], ...]


def expansion_of(expr: sympy.Expr, point: sympy.Expr) -> Expansion:
    """Expand a formula at zero or at infinity.

    Raises
    ------
    NoRouteError
        Where the formula oscillates or grows there, or has no such expansion.
    """
    germ = germ_of(expr, point, plain=True)
    return expansion_from(germ, expr, point)


@lru_cache(maxsize=64)
def long_expansion_of(expr: sympy.Expr) -> Expansion:
    """Three times as many terms of a formula at zero, which serve from smaller radii on.

    Raises
    ------
    NoRouteError
        As ``expansion_of``, and where they grow too long.
    """
    zero = sympy.Integer(0)
    return expansion_from(_germ(expr, zero, (_LONG_WINDOW,), plain=True), expr, zero)


def expansion_from(germ: Germ, expr: sympy.Expr, point: sympy.Expr) -> Expansion:
    """The terms of a germ without oscillation; ``expr`` is named where they are no expansion.

    Raises
    ------
    NoRouteError
        For an essential singularity at zero, or for powers of logarithms that are not whole.
    """
    if point == 0 and any(phase.terms for phase, _ in germ.parts):
        raise NoRouteError(
            f"The formula {expr} has an essential singularity at z = 0, where the numeric route "
            "takes powers and logarithms only. Design a finite measure for your range of distances "
            "(design)."
        )
    terms = []
    for size, c in germ.plain.terms:
        a, q = size[0], -size[1]
        if not (q.is_Integer and q >= 0):
            raise NoRouteError(
                f"The formula {expr} has a term log(1/t)^({q}) at z = {point}, whose transform has "
                "no expansion in powers: the numeric route does not cover it. Design a finite "
                "measure for your range of distances (design)."
            )
        terms.append((a, int(q), c))
    return tuple(terms)


def germ_of(expr: sympy.Expr, point: sympy.Expr, *, plain: bool = False) -> Germ:
    """The local expansion of a formula; ``plain`` refuses one that oscillates or grows.

    Raises
    ------
    NoRouteError
        Where there is none.
    """
    germ = _germ(expr, point, _WINDOWS, plain)
    if plain and 1 < len(germ.plain.terms) < _FEW_TERMS:
        germ = _germ(expr, point, (_WIDE_WINDOW, *_WINDOWS), plain)
    return germ


def _germ(expr: sympy.Expr, point: sympy.Expr, windows: tuple[int, ...], plain: bool) -> Germ:
    reason = ""
    for window in windows:
        try:
            germ = expand_at(expr, point, 1, window)
            if plain:
                _ = germ.plain
            return germ
        except ExpansionError as error:
            reason = str(error)
    raise NoRouteError(
        f"The formula {expr} could not be expanded at z = {point} ({reason}), and the numeric "
        "route needs its decay and its smoothness. Give its values as a callable and state what it "
        "does at both ends (docs/callables.md), or design a finite measure for your range of "
        "distances (design)."
    )


def _log_size(c: sympy.Expr) -> float:
    return float(sympy.log(sympy.Abs(c)).evalf(15))


@dataclass(frozen=True, eq=False)
class PowerEnding(Ending):
    """The asymptotic series of a density: w^-(a+1) times polynomials in log w.

    Attributes
    ----------
    exponent : float
        a + 1 of the leading term.
    start : float
        From this radius on the series is exact to 1e-15.
    pivot : float
        Values are asked for by the distance from this radius.
    """

    exponent: float
    start: float
    _powers: FloatArray
    _polynomials: tuple[FloatArray, ...]
    _rest: tuple[float, float] | None = None
    pivot: float = 0.0
    _wrong: FloatArray | None = None

    @classmethod
    def of_powers(cls, exponents: FloatArray, values: FloatArray, wrong: FloatArray) -> PowerEnding:
        """A sum of w^-exponent times values, of which the last one stands for what follows.

        ``wrong`` are the errors of the values.
        """
        powers = exponents - exponents[0]
        with np.errstate(divide="ignore"):
            rest = float(powers[-1]), float(np.log(np.abs(values[-1]) / _MARGIN))
        each = tuple(values[:, None])
        return cls(float(exponents[0]), 0.0, powers, each, rest, _wrong=wrong)

    def _terms(self, log: FloatArray) -> FloatArray:
        """The terms at radii given by their logarithm, in units of w^-exponent."""
        return np.array(
            [
                np.polynomial.polynomial.polyval(log, p) * np.exp(-a * log)
                for a, p in zip(self._powers, self._polynomials, strict=True)
            ]
        )

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|."""
        log = np.log(self.pivot + w)
        total = self._terms(log).sum(axis=0)
        return np.sign(total), np.log(np.abs(total)) - self.exponent * log

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to |rho|: the last term, and rounding."""
        log = np.log(self.pivot + w)
        terms = self._terms(log)
        sizes = np.abs(terms)
        rounding = EPS * (8.0 + 4.0 * self.exponent * np.abs(log))
        if self._rest is None:
            last = 1 if len(sizes) < _LEAST_TERMS else 2
            left_out = _MARGIN * sizes[-last:].sum(axis=0)
        else:
            left_out = _MARGIN * np.exp(self._rest[1] - self._rest[0] * log)
        if self._wrong is not None:
            left_out = left_out + self._wrong @ np.exp(-np.multiply.outer(self._powers, log))
        return np.asarray(
            (left_out + EPS * sizes.sum(axis=0)) / np.abs(terms.sum(axis=0)) + rounding
        )


def power_ending(zero: Expansion, dim: int) -> PowerEnding | None:
    """The asymptotic series of the density for large w; None for a kernel that is even at zero.

    Raises
    ------
    NoRouteError
        Where the series does not settle at any radius of interest.
    """
    powers: list[float] = []
    polynomials: list[FloatArray] = []
    first: sympy.Expr | None = None
    with mp.workdps(_DIGITS):
        for a, q, c in zero:
            if q == 0 and a.is_Integer and a % 2 == 0:
                continue
            value, half = mp.mpmathify(sympy.N(a, _DIGITS)), mp.mpf(dim) / 2
            taylor = mp.taylor(
                lambda s, h=half: (
                    2 ** (s + 1) * mp.gammaprod([h + s / 2], [h, -s / 2])
                    if not (mp.isint(s) and s % 2 == 0)
                    else mp.mpf(0)
                ),
                value,
                q,
            )
            scale = mp.mpmathify(sympy.N(c, _DIGITS))
            # (-d/da)^q of G(a) w^(-a-1)
            polynomial = [
                scale * mp.binomial(q, j) * (-1) ** (q - j) * mp.factorial(q - j) * taylor[q - j]
                for j in range(q + 1)
            ]
            # 1/Gamma(-a/2) is sin(pi a/2) Gamma(1 + a/2)/pi up to a sign, and the sine may be 0.
            size = abs(scale) * 2**value * mp.gammaprod([half + value / 2, 1 + value / 2], [half])
            if all(is_zero_number(p, size) for p in polynomial):
                continue
            first = a if first is None else first
            powers.append(float(sympy.N(a - first, 20)))
            polynomials.append(np.array([float(p) for p in polynomial]))
    if first is None:
        return None
    rest, least = _beyond_the_last(zero, dim, first, powers)
    ending = PowerEnding(float(first) + 1.0, 0.0, np.array(powers), tuple(polynomials), rest)
    w = np.exp(np.linspace(0.0, _FARTHEST_LOG, 1381) - 40.0)
    with np.errstate(all="ignore"):
        rounding = EPS * (8.0 + 4.0 * ending.exponent * np.abs(np.log(w)))
        good = ending.relative_error(w) - rounding < _TAIL_RESOLVED
    bad = np.flatnonzero(~good)
    if bad.size and bad[-1] + 1 == w.size:
        raise NoRouteError(
            "The asymptotic series of the density does not settle before the largest radius that "
            "a double holds, so its tail is not known."
        )
    start = float(w[bad[-1] + 1]) if bad.size else float(w[0])
    return replace(ending, start=max(start, least))


def _beyond_the_last(
    zero: Expansion, dim: int, first: sympy.Expr, powers: list[float]
) -> tuple[tuple[float, float] | None, float]:
    """What a series of few terms leaves out, as (power, log size), and where it may begin.

    sqrt(1 + z^2) - z has one odd power and no more: the terms that were looked at and are even
    say how large the next odd one could be, and how far the singularities in the plane are, whose
    share falls exponentially.
    """
    even = [(float(a), _log_size(c)) for a, q, c in zero if q == 0 and a.is_even]
    if len(powers) >= _LEAST_TERMS or len(even) < _LEAST_TERMS:
        return None, 0.0
    (a, size), (b, before) = even[-1], even[-2]
    if a <= float(first) + powers[-1]:
        return None, 0.0
    half = 0.5 * dim
    growth = (a + 1.0) * np.log(2.0) + loggamma(half + 0.5 * a) + loggamma(1.0 + 0.5 * a)
    log = size + float(growth - loggamma(half))
    return (a - float(first), log), _FLAT_DEPTH * float(np.exp((size - before) / (a - b)))


def is_zero_number(value: Any, size: Any) -> bool:
    """Whether a number made of some of a size, in many digits, is a zero but for the last ones."""
    return bool(abs(value) <= abs(size) * mp.mpf(10) ** (8 - _DIGITS))
