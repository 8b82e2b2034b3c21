r"""The density at large radii as a sum of powers, from the expansion of the kernel at zero.

A term :math:`z^a` of a kernel at zero, a not an even integer, has the radial density

.. math:: G(a) w^{-a-1}, \qquad G(a) = \frac{2^{a+1}\Gamma((d+a)/2)}{\Gamma(d/2)\Gamma(-a/2)},

and a term :math:`z^a \log^q(1/z)` has the q-th derivative of this with respect to -a.  The sum over
all terms is the asymptotic series of the density for large w (Watson's lemma for Abel means; Wong,
Asymptotic Approximations of Integrals, chapter IV).
"""

from __future__ import annotations

from dataclasses import replace
from math import comb, factorial, log10

import flint
import numpy as np
import sympy

from spectra.base.accuracy import ABSENT, EPS
from spectra.base.precision import Ball, working_precision
from spectra.density.half_line.power_terms import PowerTerms
from spectra.density.panel_density import Powers
from spectra.errors import FormulaError, NoRouteError
from spectra.formula.ball_function import constant_ball

__all__ = ["power_tail"]

# In a series of _FEW_TERMS or more, the last two terms count as error estimates, times _LAST_ERROR.
_LAST_ERROR, _FEW_TERMS = 10.0, 4
# The series is used from the radius where its relative error is below this.
_RESOLVED = 10.0 * ABSENT
# Bits of the coefficients: a coefficient whose ball holds 0 is 0.
_BITS = 128
# The log w at which the error of the series is evaluated.
_LOG_RADII = np.arange(-40.0, 305.0, 0.25)


def power_tail(expansion: PowerTerms, dim: int) -> Powers | None:
    """The density for large w by the expansion of a kernel at zero; None if all powers are even."""
    exponents: list[float] = []
    sizes: list[float] = []
    polynomials: list[list[float]] = []
    with working_precision(_BITS):
        half = flint.arb(dim) / 2
        for a, q, c in expansion:
            if q == 0 and a.is_Integer and a % 2 == 0:
                continue
            # The Taylor series of G at a.
            s = flint.arb_series([_to_ball(a), 1], prec=q + 1)
            g = 2 * (s * flint.arb.const_log2()).exp() * (half + s / 2).gamma() / half.gamma()
            g = g * (-s / 2).rgamma()
            # (-d/da)^q of G(a) w^(-a-1) is w^(-a-1) times a polynomial in log w.
            scale = _to_ball(c)
            polynomial = [
                scale * comb(q, j) * (-1) ** (q - j) * factorial(q - j) * g[q - j]
                for j in range(q + 1)
            ]
            if all(p.contains(0) for p in polynomial):
                continue
            exponents.append(-float(sympy.N(a, 20)) - 1.0)
            # The size is kept as a logarithm, since it may leave the range of doubles.
            size = max(abs(p).mid() for p in polynomial)
            sizes.append(float(size.log()))
            polynomials.append([float(p / size) for p in polynomial])
    if not exponents:
        return None
    rows = max(map(len, polynomials))
    coefficients = np.array([p + [0.0] * (rows - len(p)) for p in polynomials]).T
    is_short = len(exponents) < _FEW_TERMS
    errors = np.full(len(exponents), EPS)
    errors[-2:] = EPS if is_short else _LAST_ERROR
    powers = Powers(np.array(exponents), coefficients, np.array(sizes), errors)
    if is_short:
        # Few terms do not show the truncation error: it is 0, start = inf, until samples set both.
        return replace(powers.add_error(-np.inf, 0.0), start=np.inf)
    bad = np.flatnonzero(~(powers.error_before_rounding(np.exp(_LOG_RADII)) < _RESOLVED))
    first = int(bad[-1]) + 1 if bad.size else 0
    if first == _LOG_RADII.size:
        raise NoRouteError(
            "The asymptotic series of the density does not settle before the largest radius that "
            "a double holds, so its tail is not known: design a finite measure for the range of "
            "your data (design)."
        )
    return replace(powers, start=float(_LOG_RADII[first]))


def _to_ball(exact: sympy.Expr) -> Ball:
    try:
        return constant_ball(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, int(_BITS * log10(2.0)))))
