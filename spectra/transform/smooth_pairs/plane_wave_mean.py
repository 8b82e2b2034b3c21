"""Means of plane waves of a larger dimension, whose frequencies fill a ball."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import sympy
from mpmath import mp
from numpy.typing import NDArray
from scipy.special import betaincinv

from spectra.density import EndTail
from spectra.transform.smooth_pairs.centred import (
    DIGITS,
    OUTSIDE,
    CentredComponent,
    W,
    exact,
    log_ratio,
)

__all__ = ["PlaneWaveMean"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PlaneWaveMean(CentredComponent):
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

    def __post_init__(self) -> None:
        d = self.dim
        with mp.workdps(DIGITS):
            m, radius, c = exact(self.order_dim), exact(self.radius), exact(self.coefficient)
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
                tail=EndTail(float(radius), float(rest - 1)),
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
