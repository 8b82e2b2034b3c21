r"""The distribution of one coordinate of a modulated Gaussian frequency, and its exact mass.

The coordinate g of a standard Gaussian along the axis of the shifts is independent of the others.
In a part with the factor h >= 0 (:mod:`rf.schemes.complex.selection`), |g| has the density
2 phi(g) h(kappa g) / M, where phi is the normal density, h has period 2 pi in theta = kappa g, and

.. math:: M = 2 \int_0^\infty \varphi(g)\, h(\kappa g)\, dg.

Panels end at the kinks of h and the integrand is positive, so that M has full relative precision
even if it is 1e-300.  The closed form, a sum of values of the kernel, suffers from cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from spectra.base.arrays import FloatArray, panel_rule
from spectra.errors import AccuracyError

__all__ = ["AxisLaw", "stratum_ends"]

# The integral ends at this g, beyond which the normal density is not a normalised double.
_REACH = 38.0
# If kappa times the degree of h exceeds this, no part has a small mass, and g <= 10 is enough.
_FAST_MODULATION = 20.0
_SHORT_REACH = 10.0
# Gauss rules are exact on panels of at most this length and a quarter of the shortest period in h.
_PANEL = 0.5
_NODES = 20
_COARSE_NODES = 14  # for an error bound
# Largest shift in length scales of the Gaussian: it needs about a thousand panels.
_MAX_SHIFT = 1e2
_NEWTON_STEPS = 80  # bisection alone needs 52
# Panels with less than this fraction of the mass do not affect a mean.
_NEGLIGIBLE = 1e-18
# Largest change of the phase of a cosine over one panel that the 20 nodes integrate exactly.
_PHASE = 6.0
# Ends of panels with a smaller distance, relative to the reach, are merged.
_MERGED = 1e-13


@final
@dataclass(frozen=True, eq=False)
class AxisLaw:
    """The distribution on g >= 0 with density 2 phi(g) h(rate g) / mass.

    ``selected``: h(theta) >= 0, even and of period 2 pi; ``kinks``: its kinks in (0, pi); ``rate``:
    kappa > 0; ``degree``: degree of the modulation, a trigonometric polynomial.
    """

    selected: Callable[[FloatArray], FloatArray]
    kinks: FloatArray
    rate: float
    degree: int

    def __post_init__(self) -> None:
        if not 0.0 < self.rate * self.degree < _MAX_SHIFT:
            raise AccuracyError(
                f"A shift of {self.rate * self.degree:.3g} length scales of the Gaussian makes its "
                "spectral density oscillate too fast for Jordan or polar parts (the limit is "
                f"{_MAX_SHIFT:g}). Take SpectralFeatures, which weights draws of the radial "
                "distribution."
            )

    @property
    def _reach(self) -> float:
        """Upper end of the range of integration."""
        return _REACH if self.rate * self.degree < _FAST_MODULATION else _SHORT_REACH

    @cached_property
    def _all_kinks(self) -> FloatArray:
        """Points of [0, reach) at which the density has a kink."""
        period = 2.0 * np.pi / self.rate
        # An even function of period 2 pi may have kinks at 0 and pi as well.
        first = np.concatenate([[0.0, np.pi], self.kinks, 2.0 * np.pi - self.kinks]) / self.rate
        kinks = np.add.outer(period * np.arange(np.ceil(self._reach / period)), first).ravel()
        return np.asarray(kinks[kinks < self._reach])

    @cached_property
    def _panels(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Of the panels with mass: low ends, high ends, masses by the fine and the coarse rule."""
        step = min(_PANEL, 0.5 * np.pi / (self.rate * self.degree))
        grid = np.linspace(0.0, self._reach, int(np.ceil(self._reach / step)) + 1)
        ends = np.unique(np.concatenate([grid, self._all_kinks]))
        ends = ends[np.concatenate([[True], np.diff(ends) > _MERGED * self._reach])]
        low, high = ends[:-1], ends[1:]
        fine, coarse = (
            np.sum(weights * self._unnormalised_density(nodes), axis=1)
            for nodes, weights in (panel_rule(low, high, n) for n in (_NODES, _COARSE_NODES))
        )
        kept = fine > 0.0
        return low[kept], high[kept], fine[kept], coarse[kept]

    @property
    def mass(self) -> float:
        """The integral M, with a relative error of a few units of rounding."""
        return float(self._panels[2].sum())

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`: rounding, and the difference to the coarse rule."""
        _, _, fine, coarse = self._panels
        return float(np.abs(fine - coarse).sum() + 1e-13 * fine.sum())

    def rule(
        self, frequency: float, cuts: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for the mean of a function that oscillates like cos(frequency * g).

        The nodes ascend; ``cuts``, values of g, become ends of panels.
        """
        low, high, masses, _ = self._panels
        kept = masses > _NEGLIGIBLE * masses.sum()
        low, high = low[kept], high[kept]
        if cuts is not None:
            panel = np.searchsorted(low, cuts, side="right") - 1
            cuts = cuts[(panel >= 0) & (cuts > low[panel]) & (cuts < high[panel])]
            low, high = (np.sort(np.concatenate([ends, cuts])) for ends in (low, high))
        count = np.ceil(np.maximum(1.0, (high - low) * frequency / _PHASE)).astype(int)
        width = np.repeat((high - low) / count, count)
        first = np.repeat(np.cumsum(count) - count, count)
        start = np.repeat(low, count) + (np.arange(count.sum()) - first) * width
        nodes, weights = panel_rule(start, start + width, _NODES)
        return nodes.ravel(), (weights * self._unnormalised_density(nodes)).ravel() / self.mass

    def ppf(self, u: FloatArray) -> FloatArray:
        """Inverse CDF of g at probabilities in [0, 1)."""
        low, high, masses, _ = self._panels
        mass_up_to = np.cumsum(masses)
        target = u * mass_up_to[-1]
        index = np.minimum(np.searchsorted(mass_up_to, target, side="right"), masses.size - 1)
        share = (target - (mass_up_to[index] - masses[index])) / masses[index]
        # Rounding of the sums can put the share slightly outside [0, 1].
        x = _invert(self._panel_cdfs[index], np.minimum(np.maximum(share, 0.0), 1.0))
        return np.asarray(0.5 * (low[index] + high[index]) + 0.5 * (high - low)[index] * x)

    def _unnormalised_density(self, g: FloatArray) -> FloatArray:
        normal = np.exp(-0.5 * g * g) * np.sqrt(2.0 / np.pi)
        return np.asarray(normal * self.selected(self.rate * g))

    @cached_property
    def _panel_cdfs(self) -> FloatArray:
        """Legendre coefficients of the CDF inside each panel, from 0 at -1 to 1 at 1."""
        low, high, _, _ = self._panels
        x, weights = np.polynomial.legendre.leggauss(_NODES)
        g = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * x
        values = self._unnormalised_density(g)
        legendre = np.polynomial.legendre.legvander(x, _NODES - 1)
        density = (values * weights) @ legendre * (np.arange(_NODES) + 0.5)
        integral = np.polynomial.legendre.legint(density, lbnd=-1, axis=1)
        return np.asarray(integral / (2.0 * density[:, :1]))


@lru_cache(maxsize=64)
def stratum_ends(law: AxisLaw, n: int) -> FloatArray:
    """Upper ends of all but the last of n strata of equal probability (cached)."""
    ends = law.ppf(np.arange(1, n) / n)
    ends.setflags(write=False)
    return ends


def _invert(cdfs: FloatArray, share: FloatArray) -> FloatArray:
    """Points of [-1, 1] at which the CDF of each row has the value ``share``.

    Newton's method, with bisection where it leaves the bracket.
    """
    low, high = np.full(share.shape, -1.0), np.ones(share.shape)
    x = 2.0 * share - 1.0
    slope_of = np.polynomial.legendre.legder(cdfs, axis=1)
    for _ in range(_NEWTON_STEPS):
        value = np.polynomial.legendre.legval(x, cdfs.T, tensor=False) - share
        slope = np.polynomial.legendre.legval(x, slope_of.T, tensor=False)
        low, high = np.where(value < 0.0, x, low), np.where(value < 0.0, high, x)
        step = x - value / np.where(slope > 0.0, slope, 1.0)
        inside = (step > low) & (step < high) & (slope > 0.0)
        new = np.where(inside, step, 0.5 * (low + high))
        if np.all(np.abs(new - x) < 1e-15):
            return new
        x = new
    return x
