"""The distances of a design: its domain, and the distribution of distances inside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.numbers import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import Kernel

__all__ = ["Distances"]

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
        distances: ArrayLike | None,
    ) -> Self:
        """The distribution of a sample; by default uniform in z, or in a zonal angle.

        The default also replaces a sample of zeros alone.
        """
        low, high = domain = _check_domain(domain)
        levels = np.sin(0.5 * np.pi * np.arange(_DISTANCE_NODES + 1) / _DISTANCE_NODES) ** 2
        middle, weights = 0.5 * (levels[1:] + levels[:-1]), np.diff(levels)
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
        return cls(domain, np.maximum(nodes, _NEAREST * high), weights)


def _check_domain(domain: tuple[float, float]) -> tuple[float, float]:
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
