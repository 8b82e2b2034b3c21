"""What panels ask of a density: values at their nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import flint
import numpy as np

from spectra.base.enclosures import NODES
from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working

__all__ = ["Sampled", "Sampler", "envelope", "sampled"]

_BITS, _NEIGHBOURS = 128, 2
# The width of a panel that is only looked at.
_NARROW = 1.0 / 64.0


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


class Sampler(ABC):
    """Whatever knows a density at the nodes of panels of log w with dyadic ends."""

    @abstractmethod
    def at_nodes(self, base: float, offsets: FloatArray, power: float) -> Sampled:
        """Values at log w = base + offsets, where the density goes like a power of w, or less."""

    def on_panel(self, low: float, high: float, power: float | None = None) -> Sampled:
        """Values at the nodes of a panel, or of one that is linear in w where a power is given."""
        if power is None:
            return self.at_nodes(low, 0.5 * (high - low) * (1.0 + NODES), 1.0)
        return self.at_nodes(high, np.log(0.5 * (1.0 + NODES)), power)

    def look(self, x: float) -> tuple[Sampled, FloatArray]:
        """Values at a few radii from log w = x on, which is dyadic, and their log w."""
        places = x + 0.5 * _NARROW * (1.0 + NODES)
        return self.on_panel(x, x + _NARROW), places


def sampled(values: Sequence[Ball], errors: Sequence[Ball]) -> Sampled:
    """Balls and bounds of what else they err by, as doubles with a short logarithm."""
    logs = np.array(
        [np.round(8.0 * log_of(abs(v) + e)) / 8.0 for v, e in zip(values, errors, strict=True)]
    )
    with working(_BITS):
        units = [flint.arb(-float(log)).exp() for log in logs]
        value = np.array([float((v * u).mid()) for v, u in zip(values, units, strict=True)])
        wrong = np.array(
            [
                float(((e + v.rad()) * u).upper())
                for v, e, u in zip(values, errors, units, strict=True)
            ]
        )
    return Sampled(value, wrong, logs)


def envelope(logs: Sequence[float], weights: FloatArray) -> FloatArray:
    """The largest of neighbouring sizes beside a power: a density may pass through 0 at a node."""
    weighted = np.asarray(logs) + weights
    padded = np.pad(weighted, _NEIGHBOURS, constant_values=-np.inf)
    near = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
    return np.asarray(near.max(axis=1) - weights)
