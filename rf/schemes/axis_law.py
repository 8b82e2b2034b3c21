r"""The distribution of one coordinate of a modulated Gaussian frequency, and its exact mass.

The coordinate g of a standard Gaussian along the axis of the shifts is independent of the others.
In a part with the factor h >= 0 (:mod:`rf.schemes.complex_table`), |g| has the density
2 phi(g) h(kappa g) / M, where phi is the normal density, h has period 2 pi in theta = kappa g, and

.. math:: M = 2 \int_0^\infty \varphi(g)\, h(\kappa g)\, dg.

Panels end at the kinks of h and the integrand is positive, so that M has full relative precision
even if it is 1e-300.  The closed form, a sum of values of the kernel, suffers from cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from spectra.base.accuracy import ABSENT, DENSITY
from spectra.base.arrays import FloatArray, panel_rule
from spectra.base.fitting import fit
from spectra.base.piecewise import Chart, Piecewise
from spectra.base.series import ORDER
from spectra.errors import AccuracyError
from spectra.table import RadialLaw

__all__ = ["AxisLaw", "stratum_ends"]

# The integral ends at this g, beyond which the normal density is not a normalised double.
_REACH = 38.0
# If kappa times the degree of h exceeds this, no part has a small mass, and g <= 10 is enough.
_FAST_MODULATION = 20.0
_SHORT_REACH = 10.0
# Gauss rules are exact on panels of at most this length and a quarter of the shortest period in h.
_PANEL = 0.5
# Largest shift in length scales of the Gaussian: it needs about a thousand panels.
_MAX_SHIFT = 1e2
# Panels with less than this fraction of the mass do not affect a mean.
_NEGLIGIBLE = ABSENT / 100.0
# Largest change of the phase of a cosine over one panel that the 20 nodes integrate exactly.
_PHASE = 6.0
# Rounding of the sum of the masses of panels.
_ROUNDING = DENSITY / 10.0
# Ends of panels with a smaller distance, relative to the reach, are merged.
_MERGED = DENSITY / 10.0


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
    def _density(self) -> Piecewise:
        """The density times the mass, on the panels with mass."""
        step = min(_PANEL, 0.5 * np.pi / (self.rate * self.degree))
        grid = np.linspace(0.0, self._reach, int(np.ceil(self._reach / step)) + 1)
        ends = np.unique(np.concatenate([grid, self._all_kinks]))
        ends = ends[np.concatenate([[True], np.diff(ends) > _MERGED * self._reach])]
        density = fit(self._unnormalised_density, ends, Chart(root=1), bisections=0, keep=True)
        return density[density.masses > 0.0]

    @property
    def mass(self) -> float:
        """The integral M, with a relative error of a few units of rounding."""
        return float(self._density.masses.sum())

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`: rounding, and truncation of the series."""
        return float(self._density.mass_errors.sum()) + _ROUNDING * self.mass

    def rule(
        self, frequency: float, cuts: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights for the mean of a function that oscillates like cos(frequency * g).

        The nodes ascend; ``cuts``, values of g, become ends of panels.
        """
        masses = self._density.masses
        low, high = self._density.charts[masses > _NEGLIGIBLE * masses.sum(), 2:4].T
        if cuts is not None:
            panel = np.searchsorted(low, cuts, side="right") - 1
            cuts = cuts[(panel >= 0) & (cuts > low[panel]) & (cuts < high[panel])]
            low, high = (np.sort(np.concatenate([ends, cuts])) for ends in (low, high))
        count = np.ceil(np.maximum(1.0, (high - low) * frequency / _PHASE)).astype(int)
        width = np.repeat((high - low) / count, count)
        first = np.repeat(np.cumsum(count) - count, count)
        start = np.repeat(low, count) + (np.arange(count.sum()) - first) * width
        nodes, weights = panel_rule(start, start + width, ORDER)
        return nodes.ravel(), (weights * self._unnormalised_density(nodes)).ravel() / self.mass

    @cached_property
    def _law(self) -> RadialLaw:
        return RadialLaw(self._density.scaled(1.0 / self.mass))

    def ppf(self, u: FloatArray) -> FloatArray:
        """Inverse CDF of g at probabilities in [0, 1)."""
        return self._law.ppf(u)

    def _unnormalised_density(self, g: FloatArray) -> FloatArray:
        normal = np.exp(-0.5 * g * g) * np.sqrt(2.0 / np.pi)
        return np.asarray(normal * self.selected(self.rate * g))


@lru_cache(maxsize=64)
def stratum_ends(law: AxisLaw, n: int) -> FloatArray:
    """Upper ends of all but the last of n strata of equal probability (cached)."""
    ends = law.ppf(np.arange(1, n) / n)
    ends.setflags(write=False)
    return ends
