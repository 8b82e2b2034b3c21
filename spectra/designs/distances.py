"""The distances of a design: its domain, and the distribution of distances inside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["Distances", "check_domain"]

# Nodes of the distribution of distances: an error that oscillates k times over the domain has its
# mean square to a few percent from 4 k of them.  They are dense at both ends, since errors are
# largest at the rarest distances.
_DISTANCE_NODES = 48
# Distances count as at least this part of z_max: nothing varies at distance 0, and the recurrence
# of the waves divides by it.
_NEAREST = 1e-6


@dataclass(frozen=True)
class Distances:
    """The domain of a design, and nodes and weights of the distribution of distances on it."""

    domain: tuple[float, float]
    nodes: FloatArray = field(compare=False)
    weights: FloatArray = field(compare=False)
    key: tuple[bytes, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.nodes.tobytes(), self.weights.tobytes()))

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        domain: tuple[float, float],
        distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
    ) -> Self:
        """The distribution of the distances; by default uniform in z, or in a zonal angle.

        Parameters
        ----------
        distances : array_like, (counts, edges) as of numpy.histogram, or None
            A sample, a histogram, or the default, which also replaces a sample of zeros alone.
        """
        low, high = domain = check_domain(domain)
        levels = np.sin(0.5 * np.pi * np.arange(_DISTANCE_NODES + 1) / _DISTANCE_NODES) ** 2
        middle, weights = 0.5 * (levels[1:] + levels[:-1]), np.diff(levels)
        least, most = low, high
        if isinstance(distances, tuple):
            nodes, weights, least, most = _of_histogram(*distances)
        elif distances is not None and not _all_zero(distances):
            sample = np.asarray(distances, dtype=float).ravel()
            if sample.size == 0 or not np.all(np.isfinite(sample)):
                raise DataError("The distances must be finite numbers, at least one of them.")
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
        return cls(domain, np.maximum(nodes, _NEAREST * high), weights)


def _of_histogram(
    counts: ArrayLike, edges: ArrayLike
) -> tuple[FloatArray, FloatArray, float, float]:
    """Nodes, weights, and the least and the largest distance of a histogram."""
    counts, edges = np.asarray(counts, dtype=float), np.asarray(edges, dtype=float)
    if counts.ndim != 1 or edges.shape != (counts.size + 1,) or not counts.sum() > 0:
        raise DataError(
            "A histogram of distances is (counts, edges) with one edge more than counts and "
            f"a positive total; got shapes {counts.shape} and {edges.shape}."
        )
    some = counts > 0
    low, high = edges[:-1][some], edges[1:][some]
    return 0.5 * (high + low), counts[some] / counts.sum(), low.min(), high.max()


def _all_zero(distances: ArrayLike) -> bool:
    sample = np.asarray(distances, dtype=float)
    return sample.size > 0 and not np.any(sample)


def check_domain(domain: tuple[float, float]) -> tuple[float, float]:
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
