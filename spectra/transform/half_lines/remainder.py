r"""What the expansion of a kernel at zero leaves of it on the imaginary axis.

A density has the asymptotic series of that expansion, up to the integral over what is left,

.. math:: \Im\Bigl[k(it) - \sum_j c_j (it)^{a_j} \log^{q_j}\tfrac{1}{it}\Bigr],

against a Bessel function K (and what is beyond a disc).  The terms at the end of a series say
nothing of it: powers that come later may have large coefficients.
"""

from __future__ import annotations

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

# It is looked at at such steps of log t, from so far below the scale on, with so many bits.
_STEP, _DEEP, _BITS, _DIGITS = 0.25, 32.0, 1024, 320


def remainder(plane: Plane, zero: Expansion, dim: int) -> Detour | None:
    """That on the axis of the largest disc that is known; None without one."""
    top = plane.disc(dim)
    if top is None:
        return None
    log_t = np.arange(top, plane.reach.scale - _DEEP, -_STEP)
    with working(_BITS):
        terms = [(_number(a), q, _number(c)) for a, q, c in zero.terms]
        left = [_left(plane, terms, flint.arb(float(x))) for x in log_t]
    return Detour(1j * np.exp(log_t), np.array(left) + np.log(_STEP))


def _number(exact: sympy.Expr) -> Ball:
    try:
        return number(exact).real
    except FormulaError:
        return flint.arb(str(sympy.N(exact, _DIGITS)))


def _left(plane: Plane, terms: list[tuple[Ball, int, Ball]], log_t: Ball) -> float:
    """Its logarithm at one place, with what is not known of it."""
    log_z = flint.acb(log_t, flint.arb.pi() / 2)
    value = plane.kernel(flint.acb(0, log_t.exp()), _BITS)
    for a, q, c in terms:
        value -= c * (a * log_z).exp() * (-log_z) ** q
    left = abs(value.imag).upper()
    return float(left.log().mid()) if left.is_finite() and left > 0 else np.inf
