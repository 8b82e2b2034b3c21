r"""The law of one coordinate of a Gaussian frequency under a modulation, with its exact mass.

For a Gaussian measure the coordinate g along the axis of a shift is standard normal and
independent of the others, so a part of the modulated measure is sampled through

.. math:: M = 2 \int_0^\infty \varphi(g)\, h(\kappa g)\, dg,

h >= 0 of period 2 pi with known kinks.  Every panel of the integral lies between kinks and its
integrand is positive, so that M keeps its relative precision down to 1e-300, where a series of
values of the kernel cancels.  Numpy only.
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

# The normal density is a denormal number beyond this.
_REACH = 38.0
# With a modulation faster than this, no part has a small mass, and ten deviations are enough.
_FAST_MODULATION = 20.0
_SHORT_REACH = 10.0
# On panels this long, and half a period of the modulation, Gauss's rule is exact to rounding.
_PANEL = 0.5
_NODES = 20
_COARSE_NODES = 14
# Largest shift in lengths of the Gaussian: it needs thousands of panels, and seconds.
_MAX_SHIFT = 1e2
_NEWTON_STEPS = 80
# Panels with less than this share of the mass do not affect a mean.
_NEGLIGIBLE = 1e-18
# Largest phase of a cosine over one panel that its nodes integrate exactly with the density.
_PHASE = 6.0
# Ends of panels that are nearer than this, relative to the reach, are merged.
_MERGED = 1e-13


@final
@dataclass(frozen=True, eq=False)
class AxisLaw:
    """The law on g >= 0 with density 2 phi(g) h(rate g) / mass.

    ``selected``: h(theta) >= 0, even and of period 2 pi; ``kinks``: its kinks in (0, pi); ``rate``:
    kappa > 0; ``degree``: degree of the modulation as a trigonometric polynomial.
    """

    selected: Callable[[FloatArray], FloatArray]
    kinks: FloatArray
    rate: float
    degree: int

    def __post_init__(self) -> None:
        if not 0.0 < self.rate * self.degree < _MAX_SHIFT:
            raise AccuracyError(
                f"A shift of {self.rate * self.degree:.3g} lengths of the Gaussian makes its "
                f"spectral density turn faster than can be resolved (the most is {_MAX_SHIFT:g}): "
                "it has no Jordan or polar parts here. Take SpectralFeatures, which weighs draws "
                "of the radial law."
            )

    @property
    def _reach(self) -> float:
        return _REACH if self.rate * self.degree < _FAST_MODULATION else _SHORT_REACH

    @cached_property
    def _all_kinks(self) -> FloatArray:
        """Where the density is not smooth on [0, reach)."""
        period = 2.0 * np.pi / self.rate
        # An even function of period 2 pi may have kinks at 0 and pi as well.
        within = np.concatenate([[0.0, np.pi], self.kinks, 2.0 * np.pi - self.kinks]) / self.rate
        kinks = np.add.outer(period * np.arange(np.ceil(self._reach / period)), within).ravel()
        return np.asarray(kinks[kinks < self._reach])

    @cached_property
    def _panels(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Low ends, high ends, masses and coarser masses of the panels that have mass."""
        step = min(_PANEL, 0.5 * np.pi / (self.rate * self.degree))
        grid = np.linspace(0.0, self._reach, int(np.ceil(self._reach / step)) + 1)
        ends = np.unique(np.concatenate([grid, self._all_kinks]))
        ends = ends[np.concatenate([[True], np.diff(ends) > _MERGED * self._reach])]
        low, high = ends[:-1], ends[1:]
        masses = [
            np.sum(weights * self._density(nodes), axis=1)
            for nodes, weights in (panel_rule(low, high, n) for n in (_NODES, _COARSE_NODES))
        ]
        kept = masses[0] > 0.0
        return low[kept], high[kept], masses[0][kept], masses[1][kept]

    @property
    def mass(self) -> float:
        """The integral M, with an error of a few units of rounding relative to itself."""
        return float(self._panels[2].sum())

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`: rounding, and the distance to a coarser rule."""
        _, _, fine, coarse = self._panels
        return float(np.abs(fine - coarse).sum() + 1e-13 * fine.sum())

    def rule(self, omega: float, cuts: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Nodes, and weights that sum to 1, for functions that oscillate like cos(omega g).

        The nodes ascend, and no panel contains a cut inside it.
        """
        low, high, masses, _ = self._panels
        kept = masses > _NEGLIGIBLE * masses.sum()
        low, high = low[kept], high[kept]
        if cuts is not None:
            at = np.searchsorted(low, cuts, side="right") - 1
            inside = (at >= 0) & (cuts > low[at]) & (cuts < high[at])
            at, cuts = at[inside], cuts[inside]
            ends = np.sort(np.concatenate([high, cuts]))
            low, high = np.sort(np.concatenate([low, cuts])), ends
        pieces = np.ceil(np.maximum(1.0, (high - low) * omega / _PHASE)).astype(int)
        width = np.repeat((high - low) / pieces, pieces)
        first = np.repeat(np.cumsum(pieces) - pieces, pieces)
        start = np.repeat(low, pieces) + (np.arange(pieces.sum()) - first) * width
        nodes, weights = panel_rule(start, start + width, _NODES)
        return nodes.ravel(), (weights * self._density(nodes)).ravel() / self.mass

    def ppf(self, u: FloatArray) -> FloatArray:
        """Inverse CDF of g at probabilities in [0, 1)."""
        low, high, masses, _ = self._panels
        ends = np.cumsum(masses)
        target = u * ends[-1]
        index = np.minimum(np.searchsorted(ends, target, side="right"), masses.size - 1)
        share = (target - (ends[index] - masses[index])) / masses[index]
        # Rounding of the sums can put the share slightly outside [0, 1].
        x = _invert(self._primitives[index], np.minimum(np.maximum(share, 0.0), 1.0))
        return np.asarray(0.5 * (low[index] + high[index]) + 0.5 * (high - low)[index] * x)

    def _density(self, g: FloatArray) -> FloatArray:
        normal = np.exp(-0.5 * g * g) * np.sqrt(2.0 / np.pi)
        return np.asarray(normal * self.selected(self.rate * g))

    @cached_property
    def _primitives(self) -> FloatArray:
        """Legendre coefficients of the CDF inside each panel, from 0 at -1 to 1 at 1."""
        low, high, _, _ = self._panels
        x, weights = np.polynomial.legendre.leggauss(_NODES)
        g = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * x
        values = self._density(g)
        waves = np.polynomial.legendre.legvander(x, _NODES - 1)
        series = (values * weights) @ waves * (np.arange(_NODES) + 0.5)
        primitive = np.polynomial.legendre.legint(series, lbnd=-1, axis=1)
        return np.asarray(primitive / (2.0 * series[:, :1]))


@lru_cache(maxsize=64)
def stratum_ends(law: AxisLaw, n: int) -> FloatArray:
    """Upper ends of all but the last of n strata of equal probability (cached)."""
    ends = law.ppf(np.arange(1, n) / n)
    ends.setflags(write=False)
    return ends


def _invert(primitives: FloatArray, share: FloatArray) -> FloatArray:
    """Points of [-1, 1] at which each row's CDF has the value ``share``: Newton in a bracket."""
    low, high = np.full(share.shape, -1.0), np.ones(share.shape)
    x = 2.0 * share - 1.0
    slope_of = np.polynomial.legendre.legder(primitives, axis=1)
    for _ in range(_NEWTON_STEPS):
        value = np.polynomial.legendre.legval(x, primitives.T, tensor=False) - share
        slope = np.polynomial.legendre.legval(x, slope_of.T, tensor=False)
        low, high = np.where(value < 0.0, x, low), np.where(value < 0.0, high, x)
        step = x - value / np.where(slope > 0.0, slope, 1.0)
        inside = (step > low) & (step < high) & (slope > 0.0)
        new = np.where(inside, step, 0.5 * (low + high))
        if np.all(np.abs(new - x) < 1e-15):
            return new
        x = new
    return x
