r"""How a density ends: a series of powers of the radius.

A term :math:`z^a` of a kernel at zero, a not an even integer, has the radial density

.. math:: G(a) w^{-a-1}, \qquad G(a) = \frac{2^{a+1}\Gamma((d+a)/2)}{\Gamma(d/2)\Gamma(-a/2)},

and a term :math:`z^a \log^q(1/z)` has its q-th derivative by -a.  The sum over all terms is the
asymptotic series of the density for large w (Watson's lemma for Abel means; Wong, Asymptotic
Approximations of Integrals, chapter IV).
"""

from __future__ import annotations

from math import comb, factorial, log10

import flint
import numpy as np
import sympy

from spectra.base.enclosures import EPS
from spectra.base.precision import Ball, working
from spectra.density.half_line.ends.power_terms import PowerTerms
from spectra.density.panels.log_panels import Powers
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.evaluation.ball_function import number

__all__ = ["PowerTail", "power_tail"]

# The last two terms of the series, this many times, stand for its error, unless they are few.
_MARGIN, _FEW = 10.0, 4
# The series is used where its error is below this share of its value.
_RESOLVED = 1e-15
# Bits of its coefficients: a coefficient that they do not separate from 0 is 0.
_BITS = 128
# Radii at which the series is tried.
_LOGS = np.arange(-40.0, 305.0, 0.25)

#: A series and the log w from which it is accurate: ``inf`` if it has too few terms to tell.
PowerTail = tuple[Powers, float]


def power_tail(zero: PowerTerms, dim: int) -> PowerTail | None:
    """The series of a density for large w; None for a kernel that is even at zero."""
    exponents: list[float] = []
    sizes: list[float] = []
    polynomials: list[list[float]] = []
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
            exponents.append(-float(sympy.N(a, 20)) - 1.0)
            # Powers of a length far from 1 are no doubles.
            size = max(abs(p).mid() for p in polynomial)
            sizes.append(float(size.log()))
            polynomials.append([float(p / size) for p in polynomial])
    if not exponents:
        return None
    degree = max(map(len, polynomials))
    signs = np.array([p + [0.0] * (degree - len(p)) for p in polynomials]).T
    wrong = np.full(len(exponents), EPS)
    wrong[-2:] = _MARGIN if len(exponents) >= _FEW else EPS
    tail = Powers(np.array(exponents), signs, np.array(sizes), wrong)
    if len(exponents) < _FEW:
        # No term stands for the error.
        return tail.add_error(-np.inf, 0.0), np.inf
    bad = np.flatnonzero(~(tail.truncation_error(np.exp(_LOGS)) < _RESOLVED))
    if bad.size and bad[-1] + 1 == _LOGS.size:
        raise NoRouteError(
            "The asymptotic series of the density does not settle before the largest radius that "
            "a double holds, so its tail is not known: design a finite measure for the range of "
            "your data (design)."
        )
    return tail, float(_LOGS[bad[-1] + 1]) if bad.size else -40.0


def _number(exact: sympy.Expr) -> Ball:
    try:
        return number(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, int(_BITS * log10(2.0)))))
