"""The distances of a design: nodes of their distribution, and the largest error on the domain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.enclosures import EPS, Enclosure
from spectra.base.numbers import FloatArray
from spectra.base.special.bessel import plane_wave_mean
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["NODE_WEIGHTS", "checked_distances", "largest_error"]

# Nodes of the distribution of distances: 4 k of them give the mean square of an error that
# oscillates k times over the domain to a few percent.  They are dense at both ends, since
# errors are largest at the rarest distances.
_DISTANCE_NODES = 48
_LEVELS = np.sin(0.5 * np.pi * np.arange(_DISTANCE_NODES + 1) / _DISTANCE_NODES) ** 2
#: The probability that each node represents.
NODE_WEIGHTS = np.diff(_LEVELS)
# Smallest node, relative to z_max: nothing varies at distance 0, and the recurrence of the waves
# divides by the distance.
_NEAREST = 1e-6
# Distances at which an error is evaluated: for each of its shortest periods, and in all at least.
_PER_WAVE, _LEAST_COUNT = 40, 500
# Between two of them, at most pi^2 / (40 w) apart, a wave rises by at most this fraction.
_RISE = float(1.0 / np.cos(0.5 * np.pi**2 / _PER_WAVE)) - 1.0
# Error of one float64 wave or kernel value, in units in the last place.
_VALUE_ULPS = 32.0


def checked_distances(
    kernel: Kernel, domain: tuple[float, float], distances: ArrayLike | None = None
) -> tuple[tuple[float, float], tuple[float, ...]]:
    """The domain as floats, and the nodes of the distribution of distances (see NODE_WEIGHTS).

    They are quantiles of a sample of distances; by default, or if all of these are 0, they are
    uniform in z, or in the angle for a zonal kernel.
    """
    low, high = _checked_domain(domain)
    middle = 0.5 * (_LEVELS[1:] + _LEVELS[:-1])
    least, most = low, high
    sample = np.zeros(1) if distances is None else np.asarray(distances, dtype=float).ravel()
    if sample.size == 0 or not np.all(np.isfinite(sample)):
        raise DataError("The distances must be finite numbers, at least one of them.")
    if np.any(sample):
        nodes, least, most = np.quantile(sample, middle), sample.min(), sample.max()
    elif kernel.is_zonal and high <= 2.0:
        start, stop = np.arcsin(0.5 * low), np.arcsin(0.5 * high)
        nodes = 2.0 * np.sin(start + (stop - start) * middle)
    else:
        nodes = low + (high - low) * middle
    slack = 1e-9 * high
    if least < low - slack or most > high + slack:
        raise DataError(
            f"Distances from {least:.6g} to {most:.6g} occur, outside the domain "
            f"{low:g} to {high:g} of the design. Widen the domain to hold them."
        )
    return (low, high), tuple(np.maximum(nodes, _NEAREST * high).tolist())


def _checked_domain(domain: tuple[float, float]) -> tuple[float, float]:
    """The ends of a domain as floats, or a ParameterError."""
    try:
        low, high = (float(end) for end in domain)
    except (TypeError, ValueError):
        raise ParameterError(
            f"domain = {domain!r} is not a pair of distances (z_min, z_max): give the range of "
            "those in your data, such as (0, 2)."
        ) from None
    if not 0.0 <= low < high < np.inf:
        raise ParameterError(
            f"The domain ({low:g}, {high:g}) is not a range of distances 0 <= z_min < z_max < inf."
        )
    return low, high


def largest_error(
    kernel: Kernel, dim: int, radii: FloatArray, masses: FloatArray, domain: tuple[float, float]
) -> Enclosure:
    """Estimate of the largest error of a design on a domain, from densely spaced distances."""
    low, high = domain
    breaks = {float(p.support) for p in kernel.pieces}
    edges = [low, *sorted(b for b in breaks if low < b < high), high]
    per_distance = _PER_WAVE * float(radii.max(initial=0.0)) / (2.0 * np.pi)
    sampled = 0.0
    for a, b in pairwise(edges):
        # Samples are dense at both ends, where a kernel may have a kink or a square root.
        angle = np.linspace(0.0, 0.5 * np.pi, _LEAST_COUNT + int(per_distance * (b - a)))
        z = np.minimum(a + (b - a) * np.sin(angle) ** 2, b)
        error = plane_wave_mean(dim, z[:, None] * radii) @ masses - kernel(z)
        sampled = max(sampled, float(np.abs(error).max()))
    rounding = _VALUE_ULPS * EPS * (1.0 + float(np.abs(masses).sum()))
    rise = 0.5 * _RISE * sampled
    return Enclosure(sampled + rise, rise + rounding)
