"""Means of plane waves of a larger dimension, whose frequencies fill a ball."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import sympy
from mpmath import mp
from scipy.special import betaincinv

from spectra.base.numbers import FloatArray
from spectra.density.closed_pairs.pair import DIGITS, OUTSIDE, CentredPair, Term, W, log_ratio
from spectra.density.closed_pairs.summands import (
    Summand,
    positive_rate,
    scaled_argument,
    tidy,
    to_mpf,
)
from spectra.density.components import Atom
from spectra.errors import NoRouteError

__all__ = ["PlaneWaveMean"]


@dataclass(frozen=True)
class PlaneWaveMean(CentredPair):
    r"""Spectral component of a plane-wave mean of a larger dimension, c Omega_m(R z), m > d.

    .. math:: \Omega_m(t) = \Gamma(m/2)(2/t)^{m/2-1}J_{m/2-1}(t), \qquad
              \mu(w) = c\,\frac{\Gamma(m/2)}{\pi^{d/2}\Gamma((m-d)/2)}
                       R^{2-m} (R^2-w^2)^{(m-d)/2-1}, \quad w < R

    Parameters
    ----------
    dim : int
        Dimension d >= 1.
    order_dim : sympy number
        m > d; it need not be an integer.
    radius : sympy number
        R > 0, a frequency; the density is 0 beyond it.
    coefficient : sympy number
        c = k(0), not zero.

    Notes
    -----
    The projection of the uniform law on a sphere of R^m: (w/R)^2 has the law
    Beta(d/2, (m - d)/2).  Sonine's first integral, DLMF 10.22.55.

    Examples
    --------
    >>> import numpy as np
    >>> one = sympy.Integer(1)
    >>> sinc = PlaneWaveMean(1, sympy.Integer(3), one, one)      # sin(z)/z in one dimension
    >>> np.exp(sinc.signed_log(np.array([0.2, 0.9, 1.1]))[1])
    array([1., 1., 0.])
    """

    has_one_sign = True

    dim: int
    order_dim: sympy.Expr
    radius: sympy.Expr
    coefficient: sympy.Expr
    _radius: float = field(init=False, repr=False, compare=False)
    _power: float = field(init=False, repr=False, compare=False)

    @classmethod
    def claim(cls, s: Summand) -> list[Term] | None:
        """z^(1 - m/2) J_(m/2-1)(R z); cos(R z) is m = 1 and sin(R z)/z is m = 3."""
        factor = s.lone_factor
        if factor is None:
            return None
        if isinstance(factor, sympy.cos | sympy.sin):
            rate = positive_rate(factor.args[0])
            wanted = 0 if isinstance(factor, sympy.cos) else -1
            if rate is None or s.power != wanted:
                return None
            return [((sympy.Integer(1 - 2 * wanted), tidy(rate)), s.coefficient * rate**-wanted)]
        match = scaled_argument(factor, sympy.besselj)
        if match is None or s.power != -match[0] or not (match[0] + 1).is_positive:
            return None
        order, rate = match
        value = s.coefficient * (rate / 2) ** order / sympy.gamma(order + 1)
        return [((2 * order + 2, tidy(rate)), value)]

    @classmethod
    def made(cls, dim: int, key: tuple[Any, ...], coefficient: sympy.Expr) -> Self | Atom:
        """A density on a ball; an atom in its own dimension."""
        m, radius = key
        if m == dim:
            return Atom.of(radius, coefficient)
        if m < dim:
            raise NoRouteError(
                f"The kernel contains {coefficient} times the mean of a plane wave over a sphere "
                f"of R^{m}, of frequency {radius}. In dimension {dim} > {m} its transform is not "
                "a measure but a derivative of one, so there is no spectral density to give. Use "
                f"dim <= {m}, or a finite measure made to order on the range of your data (design)."
            )
        return super().made(dim, key, coefficient)

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            m, radius, c = to_mpf(self.order_dim), to_mpf(self.radius), to_mpf(self.coefficient)
            half, rest = mp.mpf(d) / 2, (m - d) / 2
            centre = float(radius * mp.sqrt(d / m))
            share = (mp.mpf(centre) / radius) ** 2
            log_centre = (
                mp.log(2 * abs(c) / radius) - mp.log(mp.beta(half, rest))
                + (half - mp.mpf(1) / 2) * mp.log(share) + (rest - 1) * mp.log(1 - share)
            )  # fmt: skip
            ends = betaincinv(d / 2, float(rest), np.array([OUTSIDE, 1.0 - OUTSIDE]))
            self._set(
                total=float(c),
                origin_exponent=float(d - 1),
                bulk=tuple(float(x) for x in float(radius) * np.sqrt(ends)),
                decay=np.inf,
                breaks=((float(radius), float(rest - 1)),),
                end=float(radius),
                _sign=float(mp.sign(c)),
                _centre=centre,
                _log_centre=float(log_centre),
                _radius=float(radius),
                _power=float(rest - 1),
            )

    def _terms(self, w: FloatArray) -> tuple[FloatArray, ...]:
        w0, end = self._centre, self._radius
        inside = np.minimum(w, end)
        gap = (end - inside) * (end + inside)
        edge = np.zeros_like(w)
        if self._power != 0.0:
            edge = self._power * log_ratio(
                gap, (end - w0) * (end + w0), (w0 - inside) * (w0 + inside)
            )
        edge[w >= end] = -np.inf
        return self._origin_term(w, self.dim - 1.0), edge

    def _conditioning(self, w: FloatArray) -> FloatArray:
        # The end itself is rounded: near it the distance to it has fewer digits.
        gap = np.maximum(self._radius - w, 0.0)
        near = np.divide(self._radius, gap, out=np.zeros_like(w), where=gap > 0.0)
        at_centre = self._radius / (self._radius - self._centre)
        return np.asarray(abs(self._power) * (near + at_centre))

    def formula(self) -> sympy.Expr:
        """mu(w) as a sympy expression in ``w`` for this dimension."""
        m, radius, half = self.order_dim, self.radius, sympy.Rational(self.dim, 2)
        rest = m / 2 - half
        front = sympy.gamma(m / 2) / (sympy.pi**half * sympy.gamma(rest)) * radius ** (2 - m)
        inside = self.coefficient * front * (radius**2 - W**2) ** (rest - 1)
        return sympy.Piecewise((inside, radius > W), (0, True))
