r"""The mean of a mode over all lengths between two, whose spectrum is a sum of positive terms.

.. math:: k(z) = \frac{2H}{b^{2H} - a^{2H}} \int_a^b e^{-(z/l)^p}\, l^{2H - 1}\, dl

Written as a difference of exponential integrals its density is a difference of two that cancel far
out.  Here it is Gauss's rule in :math:`s = \log l`, for the kernel and its measure alike: a sum of
n modes with positive weights.  The integrand is analytic and at most :math:`e^{2H\,\Re s}` where
:math:`|\Im s| \le \pi/(2p)`, whatever z is, so that one bound holds for all distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np
import sympy
from scipy.special import roots_legendre

from spectra.base.numbers import FloatArray
from spectra.density import Component, SpectralDensity, spectral_density
from spectra.kernels import Kernel, radial
from spectra.kernels.catalogue import catalogue
from spectra.measure import measure_of
from spectra.measure.tabulation import tabulate
from spectra.table import SpectralTable

__all__ = ["LengthMean"]

_EPS = float(np.finfo(float).eps)


@final
@dataclass(frozen=True)
class LengthMean:
    """A truncated power law: modes exp(-(z/l)^power) of the lengths from ``shortest`` to longest.

    Attributes
    ----------
    hurst : sympy number
        Hurst's coefficient H: the modes have the variance l^(2 H - 1) dl.
    power : sympy number
        The order p of the modes at 0, at most 2.
    shortest, longest : sympy number
        Positive lengths, the first below the second.

    Examples
    --------
    >>> law = LengthMean(sympy.Rational(1, 2), sympy.Integer(2), sympy.Integer(1), sympy.Integer(3))
    >>> table = law.table(3)
    >>> bool(abs(table.expected_kernel(0.7) - law.kernel(0.7)) < 1e-14)
    True
    """

    hurst: sympy.Expr
    power: sympy.Expr
    shortest: sympy.Expr
    longest: sympy.Expr

    @property
    def kernel(self) -> Kernel:
        """The formula, a difference of two truncated power laws without a shortest length."""
        ends = (self.longest, self.shortest)
        above, below = (length ** (2 * self.hurst) for length in ends)
        (long,), (short,) = (
            catalogue["tpl_stable"](hurst=self.hurst, power=self.power, length=length).pieces
            for length in ends
        )
        return radial((above * long.expr - below * short.expr) / (above - below))

    def density(self, dim: int) -> SpectralDensity:
        """The density on R^dim, a sum of those of the modes."""
        return _density(self, dim)

    def table(self, dim: int) -> SpectralTable:
        """The table on R^dim; its ``bias`` bounds what the rule adds to the kernel."""
        return _table(self, dim)

    def rule(self) -> tuple[FloatArray, FloatArray, float]:
        """Lengths, weights that add up to 1, and a bound of the error in k at every distance.

        Of n nodes on an interval of s with the half width h the error is at most
        (64/15) h M r^(-2n) / (1 - r^(-2)), where M bounds the integrand in the ellipse about the
        ends with the half axes h (r + 1/r)/2 and h (r - 1/r)/2 = pi/(2p): L. N. Trefethen,
        Approximation Theory and Approximation Practice (2013), theorem 19.3.
        """
        twice, order = 2.0 * float(self.hurst), float(self.power)
        low, high = math.log(self.shortest), math.log(self.longest)
        half, middle, across = (high - low) / 2, (high + low) / 2, math.pi / (2.0 * order)
        along = math.hypot(half, across)
        log_ratio = math.asinh(across / half)
        # Weights are divided by their sum, which errs by as much as the integral: hence 2.
        whole = 2.0 * math.sinh(twice * half) / twice
        front = 2.0 * (64.0 / 15.0) * half * math.exp(twice * along) / -math.expm1(-2.0 * log_ratio)
        count = max(2, math.ceil(math.log(front / (whole * _EPS)) / (2.0 * log_ratio)))
        nodes, shares = roots_legendre(count)
        weights = shares * np.exp(twice * half * nodes)
        bound = front / whole * math.exp(-2.0 * count * log_ratio) + count * _EPS
        return np.exp(middle + half * nodes), weights / weights.sum(), bound


@lru_cache(maxsize=64)
def _density(law: LengthMean, dim: int) -> SpectralDensity:
    mode = spectral_density(radial("exp(-z**power)", power=law.power), dim)
    lengths, weights, _ = law.rule()
    (component,) = (_Mean(c, lengths, weights) for c in mode.components)
    return SpectralDensity(law.kernel, dim, (component,), (), mode.route)


@lru_cache(maxsize=64)
def _table(law: LengthMean, dim: int) -> SpectralTable:
    found = tabulate(measure_of(law.density(dim)))
    return replace(found, bias=law.rule()[2])


@final
@dataclass(frozen=True, eq=False)
class _Mean(Component):
    """The mean of one positive component over lengths: sum of m_i l_i rho(w l_i)."""

    has_one_sign = True

    mode: Component
    lengths: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        (low, high), lengths = self.mode.bulk, self.lengths
        values = {
            "total": self.mode.total,
            "origin_exponent": self.mode.origin_exponent,
            "bulk": (low / float(lengths.max()), high / float(lengths.min())),
            "decay": self.mode.decay,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _summed(self, logs: FloatArray) -> FloatArray:
        """Logarithm of the sum over lengths, the last axis."""
        logs = logs + np.log(self.weights * self.lengths)
        top = logs.max(axis=-1)
        finite = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(logs - finite[..., None]).sum(axis=-1)) + finite)

    def _radii(self, w: FloatArray) -> FloatArray:
        return np.asarray(np.multiply.outer(np.asarray(w, dtype=float), self.lengths))

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and logarithm of the absolute value of the component at radii w > 0."""
        w = self._radii(w)
        log = self._summed(self.mode.signed_log(w.ravel())[1].reshape(w.shape))
        return np.ones_like(log), log

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """Logarithm of the local size."""
        w = self._radii(w)
        return self._summed(self.mode.log_envelope(w.ravel()).reshape(w.shape))

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error at w, relative to the envelope there."""
        w = self._radii(w)
        logs = self.mode.log_envelope(w.ravel()).reshape(w.shape)
        errors = self.mode.relative_error(w.ravel()).reshape(w.shape)
        total = self._summed(logs)
        finite = np.where(np.isfinite(total), total, 0.0)
        # Far out a mode counts by its share, which the shortest ones have alone.
        shares = np.exp(logs + np.log(self.weights * self.lengths) - finite[..., None])
        rounding = _EPS * (self.lengths.size + 4.0 + 4.0 * np.abs(finite))
        return np.asarray((shares * errors).sum(axis=-1) + rounding)
