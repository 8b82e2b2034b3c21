"""Nodes of the distribution of distances, and the largest error of a design on its domain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.accuracy import EPS
from spectra.base.bessel import plane_wave_mean
from spectra.base.enclosures import Enclosure
from spectra.base.numbers import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["NODE_WEIGHTS", "checked_distances", "largest_error"]

# Number of nodes: the mean square of an error with 12 oscillations on the domain is right to 1 %.
_NODES = 48
# Probabilities that separate the nodes, dense at 0 and 1: errors are largest at rare distances.
_PROBABILITIES = np.sin(0.5 * np.pi * np.arange(_NODES + 1) / _NODES) ** 2
#: The probability of each node.
NODE_WEIGHTS = np.diff(_PROBABILITIES)
# Smallest node, relative to z_max: nodes are positive, even if some of the distances are 0.
_SMALLEST_NODE = 1e-6
# Samples of an error for each of its shortest periods, and the least number of samples.
_SAMPLES_PER_PERIOD, _LEAST_SAMPLES = 40, 500
# Between two samples, the wave of largest frequency w exceeds the larger sample by at most
# this fraction.  Steps are largest halfway between two breaks of the kernel: pi^2 / (40 w).
_RISE = float(1.0 / np.cos(0.5 * np.pi**2 / _SAMPLES_PER_PERIOD)) - 1.0
# Error of one float64 wave or kernel value, in units in the last place.
_VALUE_ULPS = 32.0


def checked_distances(
    kernel: Kernel, domain: tuple[float, float], distances: ArrayLike | None = None
) -> tuple[tuple[float, float], tuple[float, ...]]:
    """The domain as floats, and nodes of the distances with the probabilities NODE_WEIGHTS.

    The nodes are quantiles of ``distances``.  Without distances, or if all are 0, z is uniform, or
    the angle between rows for a zonal kernel.
    """
    low, high = _checked_domain(domain)
    middle = 0.5 * (_PROBABILITIES[1:] + _PROBABILITIES[:-1])
    smallest, largest = low, high
    sample = np.zeros(1) if distances is None else np.asarray(distances, dtype=float).ravel()
    if sample.size == 0 or not np.all(np.isfinite(sample)):
        raise DataError("The distances must be finite numbers, and there must be at least one.")
    if np.any(sample):
        nodes, smallest, largest = np.quantile(sample, middle), sample.min(), sample.max()
    elif kernel.is_zonal and high <= 2.0:
        start, stop = np.arcsin(0.5 * low), np.arcsin(0.5 * high)
        nodes = 2.0 * np.sin(start + (stop - start) * middle)  # z = 2 sin(angle / 2)
    else:
        nodes = low + (high - low) * middle
    slack = 1e-9 * high  # for rounding
    if smallest < low - slack or largest > high + slack:
        raise DataError(
            f"The distances {smallest:.6g} to {largest:.6g} are not inside the domain {low:g} to "
            f"{high:g} of the design. Widen the domain."
        )
    return (low, high), tuple(np.maximum(nodes, _SMALLEST_NODE * high).tolist())


def _checked_domain(domain: tuple[float, float]) -> tuple[float, float]:
    """The ends of a domain as floats, or a ParameterError."""
    try:
        low, high = (float(end) for end in domain)
    except (TypeError, ValueError):
        raise ParameterError(
            f"domain = {domain!r} is not a pair of distances (z_min, z_max): pass the range of the "
            "distances in your data, such as (0, 2)."
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
    supports = {float(p.support) for p in kernel.pieces}
    breaks = [low, *sorted(s for s in supports if low < s < high), high]
    samples_per_distance = _SAMPLES_PER_PERIOD * float(radii.max(initial=0.0)) / (2.0 * np.pi)
    sampled = 0.0
    for a, b in pairwise(breaks):
        # Samples are dense at both ends, where a kernel may have a kink or a square root.
        count = _LEAST_SAMPLES + int(samples_per_distance * (b - a))
        angle = np.linspace(0.0, 0.5 * np.pi, count)
        z = np.minimum(a + (b - a) * np.sin(angle) ** 2, b)
        error = plane_wave_mean(dim, z[:, None] * radii) @ masses - kernel(z)
        sampled = max(sampled, float(np.abs(error).max()))
    rounding = _VALUE_ULPS * EPS * (1.0 + float(np.abs(masses).sum()))
    rise = 0.5 * _RISE * sampled
    return Enclosure(sampled + rise, rise + rounding)
