r"""Refute that a kernel is positive definite on the sphere, from its behaviour as angle function.

If the kernel is, up to smoother terms, :math:`c_0 \theta^s` at 0, :math:`c_1 (\pi - \theta)^t` at
the antipode and :math:`|\theta - R|^r` at R between, s and t not even, its share of degree n is

.. math:: s_n \approx A_s c_0 n^{-1-s} + (-1)^n A_t c_1 n^{-1-t} + O(n^{(d-2)/2 - r - 1}) \cos(nR +
          \varphi), \qquad A_s = \frac{2^{d-1}\Gamma(d/2)}{\sqrt\pi\,\Gamma(d-1)}
          \frac{2^s\,\Gamma((s + d - 1)/2)}{\Gamma(-s/2)}

(G. Szego, Orthogonal Polynomials, chapter 8).  Waves in n have mean 0: shares are negative for some
n if the largest wave decays more slowly than the first term, or like it and has a larger factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, pi
from typing import Any

import numpy as np
import sympy
from scipy.special import gammaln, rgamma
from sympy import Expr

from spectra.base.accuracy import EPS
from spectra.base.harmonics import gegenbauer_shares, harmonic_count
from spectra.errors import SpectraError
from spectra.formula.callables import Opaque
from spectra.formula.expansions.exact_numbers import is_zero
from spectra.formula.expansions.expand import expand_at
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import Z
from spectra.kernels.great_circle import function_of_angle
from spectra.kernels.kernel import Kernel
from spectra.singularities.branches import classify_at
from spectra.singularities.local import analyse_inside

__all__ = ["Refutation", "refute_on_sphere"]

#: Shares are computed up to the first degree n here with N(n, d) below the bound: others are noise.
_DEGREES, _MOST_HARMONICS = (2000, 500, 100, 20, 0), 1e10
#: Powers of pi - theta in the expansion at the antipode.
_WINDOW = 6


@dataclass(frozen=True)
class Refutation:
    """Why a kernel is not positive definite on the sphere.

    ``mass``: the sum of |share| over the negative shares, relative to k(1); an estimate from above
    if it comes from degrees too high to compute.
    """

    reason: str
    mass: float


def refute_on_sphere(kernel: Kernel, dim: int) -> Refutation | None:
    """Refute by the leading powers at 0 and the antipode, and by shares up to a degree."""
    if any(p.expr.has(Opaque) or value_at_zero(p.expr) is None for p in kernel.pieces):
        return None
    if not kernel.at_zero > 0.0:
        return None
    angle = function_of_angle(kernel)
    try:
        reason, crossing, wave = _leading_wave(angle, dim)
    except SpectraError:  # an expansion is not known
        reason, crossing, wave = "", 0.0, (1.0, 0.0)
    radii = [float(p.support) for p in angle.pieces]
    degree = next(n for n in _DEGREES if harmonic_count(n, dim) < _MOST_HARMONICS)
    shares, errors = gegenbauer_shares(angle, dim, degree, radii)
    negative = np.flatnonzero(shares < -errors)
    if not reason and not negative.size:
        return None
    mass = float(-shares[negative].sum()) / kernel.at_zero
    if negative.size:
        text = f"Its shares of the degrees {', '.join(map(str, negative[:3]))}"
        text += ", ... " if negative.size > 3 else " "
        text += f"are negative and add up to {-mass:.2g} k(1)."
    else:
        hidden = np.flatnonzero(shares < errors)  # from here on a wave may be larger
        first = max(crossing, float(hidden[0]) if hidden.size else degree, 1.0)
        power, size = wave
        mass = size * first**-power / power / kernel.at_zero
        text = f"Its negative shares add up to less than about {mass:.2g} k(1), beyond degree "
        text += f"{first:.2g}" + (", which is harmless in double precision." if mass < EPS else ".")
    return Refutation(f"{reason} {text}".strip(), mass)


def _leading_wave(angle: Kernel, dim: int) -> tuple[str, float, tuple[float, float]]:
    """The reason, the degree where waves get larger, and (t, |A_t c_1|) of the antipode's wave.

    The reason is empty if the leading terms refute nothing.
    """
    nothing = "", 0.0, (1.0, 0.0)
    analysis = analyse_inside(angle, sympy.pi)
    origin = analysis.origin
    if analysis.gaps or origin.gaps or origin.requirements or not analysis.exprs:
        return nothing
    first = origin.singularities[0] if origin.singularities else None
    power = first.exponent if first else origin.regular_below
    if any(p.gaps or not p.singularities for _, p in analysis.radii):
        return nothing
    at_zero = "at 0 only even powers of z" + ("" if power == sympy.oo else f" below z^({power})")
    for r, p in analysis.radii:
        at = p.singularities[0]
        if at.exponent - sympy.Rational(dim - 2, 2) < power:
            text = f"At the angle z = {r} the kernel has {at.name}, and {at_zero}"
            return f"{text}: its shares of high degree oscillate in sign.", 0.0, (1.0, 0.0)
    if angle.pieces[-1].support != sympy.pi:
        return nothing
    t, q, c = _term_at_antipode(analysis.exprs[-1])
    if t <= 0 or t > power or (t == power and _is_not_larger(c, q, first)):
        return nothing
    wave = float(t), abs(float(c)) * _factor(float(t), dim)
    crossing = 0.0
    if first is not None and t < power and wave[1] > 0.0:
        size = abs(float(first.right)) * _factor(float(power), dim)
        crossing = float((size / wave[1]) ** (1 / (power - t)))
    text = f"At the antipode the kernel has the term {c.evalf(3)}*(pi - z)^({t}), z the angle, and "
    text += at_zero
    return f"{text}: its shares of high degree alternate in sign.", crossing, wave


def _term_at_antipode(expr: Expr) -> tuple[Expr, Expr, Expr]:
    """The first term c x^t log(x)^-q, x = pi - z, that is no even power; t = oo for none."""
    if classify_at(expr, sympy.pi) == "analytic":
        found: Any = (
            ((n, 0), -expr.diff(Z, n).subs(Z, sympy.pi) / factorial(n)) for n in (1, 3, 5)
        )
    else:
        found = expand_at(expr, sympy.pi, -1, _WINDOW).as_series().terms
    for (t, q), c in found:
        if (q != 0 or t % 2 != 0) and not is_zero(c):
            return sympy.sympify(t), q, c
    return sympy.oo, sympy.Integer(0), sympy.Integer(0)


def _is_not_larger(c: sympy.Expr, q: sympy.Expr, first: object) -> bool:
    log = getattr(first, "log_power", sympy.oo)
    at_zero = getattr(first, "right", sympy.oo)
    return bool(q != 0 or log != 0 or abs(c).evalf() <= abs(at_zero).evalf())


def _factor(s: float, dim: int) -> float:
    """|A_s|."""
    logs = gammaln(dim / 2) - gammaln(dim - 1) + gammaln((s + dim - 1) / 2)
    return float(abs(2.0 ** (dim - 1 + s) / pi**0.5 * np.exp(logs) * rgamma(-s / 2)))
