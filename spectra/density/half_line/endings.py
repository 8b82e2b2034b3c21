r"""How densities go on beyond their last panel: as a series of powers, or less than a bound.

A term :math:`z^a` of a kernel at zero, a not an even integer, has the radial density

.. math:: G(a) w^{-a-1}, \qquad G(a) = \frac{2^{a+1}\Gamma((d+a)/2)}{\Gamma(d/2)\Gamma(-a/2)},

and a term :math:`z^a \log^q(1/z)` has its q-th derivative by -a.  The sum over all terms is the
asymptotic series of the density for large w (Watson's lemma for Abel means; Wong, Asymptotic
Approximations of Integrals, chapter IV).  It leaves out the integral of

.. math:: \Im\Bigl[k(it) - \sum_j c_j (it)^{a_j} \log^{q_j}\tfrac{1}{it}\Bigr],

against a Bessel function K (and what is beyond a disc).  The terms at the end of a series say
nothing of it: powers that come later may have large coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, factorial, log, log10

import flint
import numpy as np
import sympy
from scipy.special import loggamma

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working
from spectra.density.components import Radial
from spectra.density.continuation.analytic_region import AnalyticRegion
from spectra.density.continuation.continuation import number
from spectra.density.continuation.negligible import Beyond, Detour
from spectra.density.half_line.ends import PowerTerms
from spectra.density.panels.panel import Panel
from spectra.errors import FormulaError, NoRouteError

__all__ = ["PowerEnding", "Vanishing", "power_ending", "remainder"]

_LEAST_TERMS = 4
# The last term of an expansion stands for its error, this many times.
_MARGIN = 10.0
# The series of a tail is used where its error is below this share of its value.
_TAIL_RESOLVED = 1e-15
# Bits of its coefficients: what they do not tell from 0 is 0.
_BITS = 128
# exp(-40) is rounding against what falls like a power.
_FLAT_DEPTH = 40.0
_FARTHEST_LOG = 345.0
# Bounds are looked at so far apart, so many times.
_APART, _LOOKS = 1.25, 40
# What a series leaves out is looked at at such steps of log t, from so far below the scale on, with
# so many bits beside twice those of what is to be seen.
_STEP, _DEEP, _SPARE = 0.25, 32.0, 512


@dataclass(frozen=True, eq=False)
class PowerEnding(Radial):
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


def power_ending(zero: PowerTerms, dim: int) -> PowerEnding | None:
    """The asymptotic series of the density for large w; None for a kernel that is even at zero.

    Raises
    ------
    NoRouteError
        Where the series does not settle at any radius of interest.
    """
    powers: list[float] = []
    polynomials: list[FloatArray] = []
    first: sympy.Expr | None = None
    with working(_BITS):
        half = flint.arb(dim) / 2
        for a, q, c in zero:
            if q == 0 and a.is_Integer and a % 2 == 0:
                continue
            s = flint.arb_series([_number(a, _BITS), 1], prec=q + 1)
            g = 2 * (s * flint.arb.const_log2()).exp() * (half + s / 2).gamma() / half.gamma()
            g = g * (-s / 2).rgamma()
            # (-d/da)^q of G(a) w^(-a-1)
            scale = _number(c, _BITS)
            polynomial = [
                scale * comb(q, j) * (-1) ** (q - j) * factorial(q - j) * g[q - j]
                for j in range(q + 1)
            ]
            if all(p.contains(0) for p in polynomial):
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
    zero: PowerTerms, dim: int, first: sympy.Expr, powers: list[float]
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


def _log_size(c: sympy.Expr) -> float:
    return float(sympy.log(sympy.Abs(c)).evalf(15))


def remainder(plane: AnalyticRegion, zero: PowerTerms, dim: int, least: float) -> Detour | None:
    """That on the axis of the largest disc that is known, so that exp(least) of it is seen; None
    without one."""
    top = plane.disc(dim)
    if top is None:
        return None
    log_t = np.arange(top, plane.scale - _DEEP, -_STEP)
    bits = _SPARE + int(max(-2.0 * least, 0.0) / log(2.0))
    with working(bits):
        terms = [(_number(a, bits), q, _number(c, bits)) for a, q, c in zero]
        left = [_left(plane, terms, flint.arb(float(x)), bits) for x in log_t]
    return Detour(1j * np.exp(log_t), np.array(left) + np.log(_STEP))


def _number(exact: sympy.Expr, bits: int) -> Ball:
    try:
        return number(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, int(bits * log10(2.0)))))


def _left(
    plane: AnalyticRegion, terms: list[tuple[Ball, int, Ball]], log_t: Ball, bits: int
) -> float:
    """Its logarithm at one place, with what is not known of it."""
    log_z = flint.acb(log_t, flint.arb.pi() / 2)
    value = plane.kernel(flint.acb(0, log_t.exp()), bits)
    for a, q, c in terms:
        value -= c * (a * log_z).exp() * (-log_z) ** q
    left = abs(value.imag).upper()
    return float(left.log().mid()) if left.is_finite() and left > 0 else np.inf


@dataclass(frozen=True)
class Vanishing(Radial):
    """Beyond the last panel: so small up to a radius, and then less than exponential and power."""

    start: float
    log: float
    rate: float
    power: float = 0.0

    @classmethod
    def after(cls, panels: Sequence[Panel]) -> Vanishing:
        """The fall over the last panel goes on, or since the largest values if that is slower:
        between two zeros of a wave the last panel may rise."""
        last = panels[-1]
        end, log = float(np.exp(last.high)), last.height_at(last.high) - last.high
        highest = max(panels, key=lambda panel: panel.height)
        rates = [-last.slope / end]
        if highest is not last:
            rates.append((highest.height - last.height) / (end - float(np.exp(highest.high))))
        return cls(end, log, min((rate for rate in rates if rate > 0.0), default=rates[0]))

    @classmethod
    def like_a_power(cls, last: Panel, least: float) -> Vanishing:
        """The power of the last panel goes on, or w^-least if that falls faster: it is noise."""
        log = last.height_at(last.high) - last.high
        return cls(float(np.exp(last.high)), log, 0.0, max(-last.slope, least))

    @classmethod
    def unseen(
        cls, panels: Sequence[Panel], negligible: float, beyond: Beyond, pivot: float
    ) -> Vanishing | None:
        """What is negligible, w |rho| < exp(negligible), is not resolved, until no more can be
        seen; None where that is not known.

        The last panel has less, and its errors.
        """
        last = panels[-1]
        end = float(np.exp(last.high))
        level = last.level + last.slope * last.high
        log = max(level + float(np.log(last.top + last.error)), negligible - last.high)
        looks: FloatArray = pivot + end * _APART ** np.arange(float(_LOOKS))
        fall = beyond.fall(log, looks)
        return None if fall is None else cls(fall[0] - pivot, log, fall[1])

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|: a bound of its size, since nothing more is known."""
        beyond = np.maximum(w, self.start)
        fallen = self.rate * (beyond - self.start) + self.power * np.log(beyond / self.start)
        return np.ones_like(w), self.log - fallen

    def relative_error(self, w: FloatArray) -> FloatArray:
        """All of it."""
        return np.full_like(w, 2.0)
