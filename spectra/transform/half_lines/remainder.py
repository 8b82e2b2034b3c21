r"""What the expansion of a kernel at zero leaves of it on the imaginary axis.

A density has the asymptotic series of that expansion, up to the integral over what is left,

.. math:: \Im\Bigl[k(it) - \sum_j c_j (it)^{a_j} \log^{q_j}\tfrac{1}{it}\Bigr],

against a Bessel function K (and what is beyond a disc).  The terms at the end of a series say
nothing of it: powers that come later may have large coefficients.
"""

from __future__ import annotations

from math import log, log10

import flint
import numpy as np
import sympy

from spectra.errors import FormulaError
from spectra.transform.half_lines.ends import Expansion
from spectra.transform.rays.beyond import Detour
from spectra.transform.rays.continuation import number
from spectra.transform.rays.plane import Plane
from spectra.transform.rays.precision import Ball, working

__all__ = ["remainder"]

# It is looked at at such steps of log t, from so far below the scale on, with so many bits beside
# twice those of what is to be seen.
_STEP, _DEEP, _SPARE = 0.25, 32.0, 512


def remainder(plane: Plane, zero: Expansion, dim: int, least: float) -> Detour | None:
    """That on the axis of the largest disc that is known, so that exp(least) of it is seen; None
    without one."""
    top = plane.disc(dim)
    if top is None:
        return None
    log_t = np.arange(top, plane.reach.scale - _DEEP, -_STEP)
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


def _left(plane: Plane, terms: list[tuple[Ball, int, Ball]], log_t: Ball, bits: int) -> float:
    """Its logarithm at one place, with what is not known of it."""
    log_z = flint.acb(log_t, flint.arb.pi() / 2)
    value = plane.kernel(flint.acb(0, log_t.exp()), bits)
    for a, q, c in terms:
        value -= c * (a * log_z).exp() * (-log_z) ** q
    left = abs(value.imag).upper()
    return float(left.log().mid()) if left.is_finite() and left > 0 else np.inf
