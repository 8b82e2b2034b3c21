r"""How a density ends: a series of powers of the radius.

A term :math:`z^a` of a kernel at zero, a not an even integer, has the radial density

.. math:: G(a) w^{-a-1}, \qquad G(a) = \frac{2^{a+1}\Gamma((d+a)/2)}{\Gamma(d/2)\Gamma(-a/2)},

and a term :math:`z^a \log^q(1/z)` has its q-th derivative by -a.  The sum over all terms is the
asymptotic series of the density for large w (Watson's lemma for Abel means; Wong, Asymptotic
Approximations of Integrals, chapter IV).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, factorial, log10

import flint
import numpy as np
import sympy

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, working
from spectra.density.components import Evaluation, Radial
from spectra.density.half_line.ends.power_terms import PowerTerms
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.evaluation.ball_function import number

__all__ = ["PowerTail", "end_of_samples", "power_tail"]

# The last two terms of the series, this many times, stand for its error, unless they are few.
_MARGIN, _FEW = 10.0, 4
# The series is used where its error is below this share of its value.
_RESOLVED = 1e-15
# Bits of its coefficients: a coefficient that they do not separate from 0 is 0.
_BITS = 128
# Radii at which the series is tried.
_LOGS = np.arange(-40.0, 305.0, 0.25)


@dataclass(frozen=True, eq=False)
class PowerTail(Radial):
    """w^-exponent times a sum of w^-power times polynomials in log w, for log w > start.

    ``joint_error`` is its relative error at the start, as far as samples show.
    """

    exponent: float
    start: float
    _powers: FloatArray
    _log_sizes: FloatArray
    _polynomials: tuple[FloatArray, ...]
    joint_error: float = 0.0

    @property
    def is_short(self) -> bool:
        """Whether it has so few terms that they do not show their own error."""
        return len(self._powers) < _FEW

    def _terms(self, log: FloatArray) -> FloatArray:
        """The terms at log w, in units of w^-exponent."""
        return np.array(
            [
                np.polynomial.polynomial.polyval(log, p) * np.exp(size - a * log)
                for a, size, p in zip(self._powers, self._log_sizes, self._polynomials, strict=True)
            ]
        )

    def evaluate(self, w: FloatArray) -> Evaluation:
        """The sum at radii; its error is estimated by the last terms, and rounding."""
        log_w = np.log(w)
        terms = self._terms(log_w)
        total, sizes = terms.sum(axis=0), np.abs(terms)
        left_out = 0.0 if self.is_short else _MARGIN * sizes[-2:].sum(axis=0)
        rounding = EPS * (8.0 + 4.0 * self.exponent * np.abs(log_w))
        rounding = rounding + self.joint_error * np.exp(np.minimum(self.start - log_w, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            error = (left_out + EPS * sizes.sum(axis=0)) / np.abs(total) + rounding
            log = np.log(np.abs(total)) - self.exponent * log_w
        return np.sign(total), log, log, np.asarray(error)


def end_of_samples(ending: PowerTail | None) -> float:
    """The log w up to which samples are needed; a short series does not show where it serves."""
    return np.inf if ending is None or ending.is_short else ending.start


def power_tail(zero: PowerTerms, dim: int) -> PowerTail | None:
    """The series of a density for large w; None for a kernel that is even at zero."""
    powers: list[float] = []
    sizes: list[float] = []
    polynomials: list[FloatArray] = []
    first: sympy.Expr | None = None
    with working(_BITS):
        half = flint.arb(dim) / 2
        for a, q, c in zero:
            if q == 0 and a.is_Integer and a % 2 == 0:
                continue
            s = flint.arb_series([_number(a), 1], prec=q + 1)
            g = 2 * (s * flint.arb.const_log2()).exp() * (half + s / 2).gamma() / half.gamma()
            g = g * (-s / 2).rgamma()
            # (-d/da)^q of G(a) w^(-a-1)
            scale = _number(c)
            polynomial = [
                scale * comb(q, j) * (-1) ** (q - j) * factorial(q - j) * g[q - j]
                for j in range(q + 1)
            ]
            if all(p.contains(0) for p in polynomial):
                continue
            first = a if first is None else first
            powers.append(float(sympy.N(a - first, 20)))
            # Powers of a length far from 1 are no doubles.
            size = max(abs(p).mid() for p in polynomial)
            sizes.append(float(size.log()))
            polynomials.append(np.array([float(p / size) for p in polynomial]))
    if first is None:
        return None
    tail = PowerTail(float(first) + 1.0, 0.0, np.array(powers), np.array(sizes), tuple(polynomials))
    w = np.exp(_LOGS)
    with np.errstate(all="ignore"):
        rounding = EPS * (8.0 + 4.0 * tail.exponent * np.abs(_LOGS))
        good = tail.relative_error(w) - rounding < _RESOLVED
    bad = np.flatnonzero(~good)
    if bad.size and bad[-1] + 1 == w.size:
        raise NoRouteError(
            "The asymptotic series of the density does not settle before the largest radius that "
            "a double holds, so its tail is not known: design a finite measure for the range of "
            "your data (design)."
        )
    return replace(tail, start=float(_LOGS[bad[-1] + 1]) if bad.size else -40.0)


def _number(exact: sympy.Expr) -> Ball:
    try:
        return number(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, int(_BITS * log10(2.0)))))
