"""Which distances a design must serve: its domain, and the law of distances inside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.errors import DataError, ParameterError
from spectra.numeric import FloatArray

if TYPE_CHECKING:
    from spectra.kernel import Kernel

__all__ = ["Distances", "check_domain", "law_of_distances"]

# Nodes that stand for the law of distances: an error that oscillates k times over the domain has
# its mean square to a few percent from 4 k of them.  They crowd at the ends of the law, since
# errors are largest at the rarest distances.
_DISTANCE_NODES = 48


# Distances count as at least this part of z_max: nothing varies at distance 0, and the recurrence
# of the waves divides by it.
_NEAREST = 1e-6


@dataclass(frozen=True, eq=False)
class Distances:
    """The domain that a design serves, and nodes and weights that stand for the law on it."""

    domain: tuple[float, float]
    nodes: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        domain: tuple[float, float],
        distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
    ) -> Self:
        """As :func:`law_of_distances` finds them."""
        domain = check_domain(domain)
        nodes, weights = law_of_distances(kernel, domain, distances)
        return cls(domain, np.maximum(nodes, _NEAREST * domain[1]), weights)

    def mean_error(
        self, made: Callable[[FloatArray], FloatArray], kernel: Callable[[FloatArray], FloatArray]
    ) -> float:
        """Root mean square of a difference over the distances."""
        return float(np.sqrt(self.weights @ (made(self.nodes) - kernel(self.nodes)) ** 2))


def law_of_distances(
    kernel: Kernel,
    domain: tuple[float, float],
    distances: ArrayLike | tuple[ArrayLike, ArrayLike] | None,
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights that stand for the law of distances on a domain.

    Parameters
    ----------
    distances : array_like, (counts, edges) as of numpy.histogram, or None
        A sample, a histogram, or the default: uniform in z, and for a zonal kernel in the angle.
        A sample of zeros, as equal rows give it, knows no distances, and gets the default.

    Raises
    ------
    DataError
        Where distances lie outside the domain, or are none.

    Examples
    --------
    >>> from spectra.kernel import radial
    >>> nodes, weights = law_of_distances(radial("exp(-z)"), (0.0, 2.0), [0.5, 1.0, 1.5])
    >>> round(float(nodes @ weights), 3)
    1.0
    """
    low, high = domain
    levels = np.sin(0.5 * np.pi * np.arange(_DISTANCE_NODES + 1) / _DISTANCE_NODES) ** 2
    middle, shares = 0.5 * (levels[1:] + levels[:-1]), np.diff(levels)
    if distances is None or _all_zero(distances):
        if kernel.is_zonal and high <= 2.0:
            start, stop = np.arcsin(0.5 * low), np.arcsin(0.5 * high)
            return 2.0 * np.sin(start + (stop - start) * middle), shares
        return low + (high - low) * middle, shares
    if isinstance(distances, tuple):
        counts, edges = (np.asarray(a, dtype=float) for a in distances)
        if counts.ndim != 1 or edges.shape != (counts.size + 1,) or not counts.sum() > 0:
            raise DataError(
                "A histogram of distances is (counts, edges) with one edge more than counts and "
                f"a positive total; got shapes {counts.shape} and {edges.shape}."
            )
        nodes, weights, least, most = (
            0.5 * (edges[1:] + edges[:-1]),
            counts / counts.sum(),
            edges[:-1][counts > 0].min(),
            edges[1:][counts > 0].max(),
        )
        nodes, weights = nodes[counts > 0], weights[counts > 0]
    else:
        sample = np.asarray(distances, dtype=float).ravel()
        if sample.size == 0 or not np.all(np.isfinite(sample)):
            raise DataError("The distances must be finite numbers, at least one of them.")
        nodes, weights = np.quantile(sample, middle), shares
        least, most = sample.min(), sample.max()
    slack = 1e-9 * high
    if least < low - slack or most > high + slack:
        raise DataError(
            f"Distances from {least:.6g} to {most:.6g} occur, and the design is right on "
            f"{low:g} to {high:g} alone. Widen the domain to hold them."
        )
    return nodes, weights


def _all_zero(distances: ArrayLike | tuple[ArrayLike, ArrayLike]) -> bool:
    if isinstance(distances, tuple):
        return False
    sample = np.asarray(distances, dtype=float)
    return sample.size > 0 and not np.any(sample)


def check_domain(domain: tuple[float, float]) -> tuple[float, float]:
    """The ends of a domain as floats, or a ParameterError.

    Examples
    --------
    >>> check_domain((0, 2))
    (0.0, 2.0)
    """
    low, high = (float(end) for end in domain)
    if not 0.0 <= low < high < np.inf:
        raise ParameterError(
            f"The domain ({low:g}, {high:g}) is not a range of distances 0 <= z_min < z_max < inf."
        )
    return low, high
