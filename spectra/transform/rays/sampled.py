"""What panels ask of a density and of its kernel: values at nodes, and where the kernel is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sampled", "Sampler", "Shape"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Values of rho at the nodes of a panel, which may be beyond every double.

    Attributes
    ----------
    value, wrong : ndarray
        rho and the bound of its error, divided by exp(log).
    log : ndarray
        Logarithm of |rho| and its error together.
    """

    value: FloatArray
    wrong: FloatArray
    log: FloatArray


class Sampler(Protocol):
    """Whatever knows a density at the nodes of panels of log w with dyadic ends."""

    def on_panel(self, low: float, high: float, power: float | None = None) -> Sampled:
        """Values at the nodes of a panel, or of one that is linear in w where a power is given."""
        ...


@dataclass(frozen=True, eq=False)
class Shape:
    """Where a kernel is, as far as panels ask.

    Attributes
    ----------
    scale, reach : float
        Where it has fallen to half of its largest value, and beyond which k z^(d-1) is negligible.
    decays_fast : bool
        Whether it decays faster than every power.
    log_size : callable
        log|k| at distances, its waves counted by their amplitudes.
    frequencies : tuple of float
        Those of its waves.
    """

    scale: float
    reach: float
    decays_fast: bool
    log_size: Callable[[FloatArray], FloatArray]
    frequencies: tuple[float, ...] = ()
