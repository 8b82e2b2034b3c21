r"""Means of plane waves over spheres of R^m, m > d; in R^d their spectrum fills a ball.

.. math:: k(z) = c\,\Omega_m(R z), \qquad
          \Omega_m(t) = \Gamma(m/2)\,(2/t)^{m/2-1} J_{m/2-1}(t)

.. math:: \mu(w) = c\,\frac{\Gamma(m/2)}{\pi^{d/2}\Gamma((m-d)/2)}
                   R^{2-m} (R^2-w^2)^{(m-d)/2-1}, \quad w < R

The parameters are m, which need not be an integer, and the radius R > 0 of the sphere.  This is
Sonine's first integral, DLMF 10.22.55: (w/R)^2 has the distribution Beta(d/2, (m - d)/2).
"""

from __future__ import annotations

import numpy as np
import sympy
from mpmath import mp
from scipy.special import betaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import (
    TAILS,
    ClosedPair,
    FamilyKernel,
    Summand,
    TermValues,
    W,
    canonical,
    order_and_rate,
    positive_rate,
    to_mpf,
)
from spectra.density.components import Atom
from spectra.errors import NoRouteError

__all__ = ["plane_wave_mean", "plane_wave_mean_formula", "read_plane_wave_mean"]


def read_plane_wave_mean(s: Summand, dim: int) -> list[FamilyKernel] | None:
    """Read c z^(1 - m/2) J_(m/2-1)(R z), or cos(R z), which is m = 1, or sin(R z)/z, m = 3."""
    factor = s.single_factor
    if isinstance(factor, sympy.cos | sympy.sin):
        rate = positive_rate(factor.args[0])
        power = 0 if isinstance(factor, sympy.cos) else 1
        if rate is None or s.power != -power:
            return None
        return [((sympy.Integer(1 + 2 * power), canonical(rate)), s.coefficient * rate**power)]
    order, rate = order_and_rate(factor, sympy.besselj) or (None, sympy.Integer(0))
    if order is None or s.power != -order or not (order + 1).is_positive:
        return None
    value = s.coefficient * (rate / 2) ** order / sympy.gamma(order + 1)
    return [((2 * order + 2, canonical(rate)), value)]


def plane_wave_mean(
    dim: int, m: sympy.Expr, radius: sympy.Expr, c: sympy.Expr
) -> ClosedPair | Atom:
    """The density of the mean of plane waves over a sphere of R^m; an atom if m = dim."""
    if m == dim:
        return Atom.of(radius, c)
    if m < dim:
        raise NoRouteError(
            f"The kernel contains {c} times the mean of plane waves over a sphere of R^{m} with "
            f"radius {radius}. In dimension {dim} > {m} its transform is not a measure but a "
            f"derivative of one, so it has no spectral density. Use dim <= {m}, or design a finite "
            "measure for the distances in your data (design)."
        )
    half, rest = mp.mpf(dim) / 2, (to_mpf(m) - dim) / 2
    front = mp.log(2 * abs(to_mpf(c)) / to_mpf(radius)) - mp.log(mp.beta(half, rest))
    formula = plane_wave_mean_formula(dim, m, radius, c)
    end, power, sign = float(to_mpf(radius)), float(rest - 1), float(sympy.sign(c))
    low, high = end * np.sqrt(betaincinv(dim / 2, float(rest), TAILS))

    def values(w: FloatArray) -> TermValues:
        inside = w < end
        u = np.where(inside, w, 0.5 * end) / end
        # 1 - u, with a smaller error next to the end.
        gap = np.where(inside, (end - w) / end, 0.5)
        log_power = power * np.where(u < 0.5, np.log1p(-u * u), np.log(gap * (1.0 + u)))
        log_power = np.where(inside, log_power, -np.inf)
        # Rounding of the end changes the gap.
        return ((dim - 1.0) * np.log(u), log_power), sign, 1.0, abs(power) / gap + dim

    return ClosedPair(
        plane_wave_mean, dim, (m, radius), c, formula, float(front), values,
        origin_exponent=dim - 1.0,
        bulk=(low, high),
        breaks=((end, power),),
        end=end,
        has_one_sign=True,
    )  # fmt: skip


def plane_wave_mean_formula(
    dim: int, m: sympy.Expr, radius: sympy.Expr, c: sympy.Expr
) -> sympy.Expr:
    """mu(w) of the mean of plane waves over a sphere of R^m, m > dim; parameters may be symbols."""
    order = (m - dim) / 2
    formula = sympy.gamma(m / 2) / (sympy.pi ** sympy.Rational(dim, 2) * sympy.gamma(order))
    formula *= c * radius ** (2 - m) * (radius**2 - W**2) ** (order - 1)
    return sympy.Piecewise((formula, radius > W), (0, True))
