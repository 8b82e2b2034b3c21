r"""Partial masses M(W) of a spectral density, against the growth that its singularities predict.

A term |z - R|^s makes the density of the radius of size w^((d-3)/2 - s), and z^s at the origin
makes it w^(-1-s): the increments M(2W) - M(W) then change by a factor 2^g at each doubling, with
g = (d-1)/2 - s or g = -s.  Finite mass is g < 0, and g = 0 is the logarithmic divergence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss

from spectra.base.numbers import FloatArray
from spectra.density.components import SpectralDensity
from spectra.singularities.places import LocalAnalysis

__all__ = ["Ladder", "mass_ladder"]

_RUNGS = 4
#: An increment of this share (a logarithm) of the mass is rounding.
_NEGLIGIBLE = -30.0
_NODES = 12
#: Growth exponents fitted at moderate W differ from their limits by O(1/W) and by beating.
_TOLERANCE = 0.3
#: In high dimension the growth is steep, and its limit is reached later still.
_RELATIVE_TOLERANCE = 0.01
#: Below this exponent the increments are too small to fit; steep decay is then all that is seen.
_STEEP = -4.0
#: Panels on which |rho| is integrated at most; each holds a few nodes.
_MOST_PANELS = 60_000


@dataclass(frozen=True, repr=False)
class Ladder:
    """Partial masses and their growth.

    Attributes
    ----------
    radii, log_masses : ndarray
        W and log M(W), the integral of |rho| up to W (atoms left out).
    fitted : float
        Growth exponent of the last increments (``-inf`` where they vanish).
    predicted : float or None
        The one that the local analysis predicts; None where it has no simple prediction.
    agrees : bool or None
        Whether they agree within the accuracy of the fit.
    """

    radii: FloatArray
    log_masses: FloatArray
    fitted: float
    predicted: float | None
    agrees: bool | None

    def __repr__(self) -> str:
        return f"Ladder: {self}"

    def __str__(self) -> str:
        pairs = zip(self.radii, self.log_masses, strict=True)
        steps = ", ".join(f"log M({w:.4g}) = {m:.5g}" for w, m in pairs)
        told = "none" if self.predicted is None else f"{self.predicted:.3g}"
        return f"{steps}; growth exponent {self.fitted:.3g}, predicted {told}"


def mass_ladder(density: SpectralDensity, analysis: LocalAnalysis) -> Ladder:
    """Integrate |rho| up to a ladder of radii, each twice the one before.

    Parameters
    ----------
    density
        The spectral density in one dimension.
    analysis
        The local analysis of its kernel, for the prediction and the scale.
    """
    spans = [float(r) for r in analysis.profile.radii]
    span = max(spans, default=0.0)
    bulk = max((c.bulk[1] for c in density.components), default=1.0)
    scale = 1.0 / span if span else 0.0
    first = max(40.0 * scale, 2.0 * density.dim * scale, 2.0 * bulk)
    radii: FloatArray = np.asarray(first * 2.0 ** np.arange(_RUNGS))
    if not density.components:
        return Ladder(radii, np.full(_RUNGS, -np.inf), -np.inf, None, None)
    width = 0.5 * np.pi / span if span else np.inf
    lows = np.concatenate([[0.0], radii[:-1]])
    logs = np.array([_log_mass(density, a, b, width) for a, b in zip(lows, radii, strict=True)])
    log_masses = np.logaddexp.accumulate(logs)
    if logs[-1] - log_masses[-1] < _NEGLIGIBLE:
        fitted = -np.inf
    else:
        fitted = float((logs[-1] - logs[-2]) / np.log(2.0))
    predicted = _predicted(analysis, density.dim)
    agrees: bool | None = None
    if predicted is not None and not np.isnan(fitted):
        apart = abs(max(fitted, _STEEP) - max(predicted, _STEEP))
        agrees = bool(apart <= _TOLERANCE + _RELATIVE_TOLERANCE * abs(max(predicted, _STEEP)))
    return Ladder(radii, log_masses, fitted, predicted, agrees)


def _log_mass(density: SpectralDensity, low: float, high: float, width: float) -> float:
    """Log of the integral of |rho|: panels geometric near 0, and short against the waves."""
    edges = high * 2.0 ** -np.arange(0.0, 40.0 if low == 0.0 else 1.01, 0.25)[::-1]
    if low > 0.0:
        edges = np.append(low, edges[edges > low])
    fine = [edges[:1]]
    for a, b in pairwise(edges):
        count = min(int(np.ceil((b - a) / width)) if np.isfinite(width) else 1, _MOST_PANELS)
        fine.append(np.linspace(a, b, max(count, 1) + 1)[1:])
    grid = np.concatenate(fine)
    nodes, weights = leggauss(_NODES)
    half = 0.5 * np.diff(grid)
    w = grid[:-1, None] + half[:, None] * (1.0 + nodes)
    log = density.signed_log_radial(w.ravel())[1].reshape(w.shape)
    top = float(np.max(log))
    if not np.isfinite(top):
        return -np.inf
    return top + float(np.log(np.sum(np.exp(log - top) * weights * half[:, None])))


def _predicted(analysis: LocalAnalysis, dim: int) -> float | None:
    """The largest growth exponent of all singularities; None beside logarithms and waves."""
    if not analysis.profile.exprs or any(place.gaps for place in analysis.places):
        return None  # its radii are not all listed, or what is there is not known
    growth = -np.inf
    for _, ending in analysis.radii:
        for s in ending.singularities:
            if s.log_power != 0:
                return None
            growth = max(growth, 0.5 * (dim - 1) - float(s.exponent))
    for s in analysis.origin.singularities:
        if s.log_power != 0 and not (s.exponent.is_Integer and s.exponent % 2 == 0):
            return None
        growth = max(growth, -float(s.exponent))
    if any(s.frequency != 0 for s in analysis.infinity.singularities):
        return None
    return float(growth)
