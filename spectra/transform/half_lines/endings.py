"""Beyond the last panel: what has vanished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectra.numeric import FloatArray
from spectra.transform.panel import Panel
from spectra.transform.panelled import Ending
from spectra.transform.rays.beyond import Beyond

__all__ = ["Vanishing"]

# Bounds are looked at so far apart, so many times.
_APART, _LOOKS = 1.25, 40


@dataclass(frozen=True)
class Vanishing(Ending):
    """Beyond the last panel: so small up to a radius, and then less than exponential and power."""

    start: float
    log: float
    rate: float
    power: float = 0.0

    @classmethod
    def after(cls, panels: Sequence[Panel]) -> Vanishing:
        """The fall over the last panel goes on, or since the largest values if that is slower:
        between two zeros of a wave the last panel may rise."""
        last = panels[-1]
        end, log = float(np.exp(last.high)), last.height_at(last.high) - last.high
        highest = max(panels, key=lambda panel: panel.height)
        rates = [-last.slope / end]
        if highest is not last:
            rates.append((highest.height - last.height) / (end - float(np.exp(highest.high))))
        return cls(end, log, min((rate for rate in rates if rate > 0.0), default=rates[0]))

    @classmethod
    def like_a_power(cls, last: Panel, least: float) -> Vanishing:
        """The power of the last panel goes on, or w^-least if that falls faster: it is noise."""
        log = last.height_at(last.high) - last.high
        return cls(float(np.exp(last.high)), log, 0.0, max(-last.slope, least))

    @classmethod
    def unseen(
        cls, panels: Sequence[Panel], negligible: float, beyond: Beyond, pivot: float
    ) -> Vanishing | None:
        """What is negligible, w |rho| < exp(negligible), is not resolved, until no more can be
        seen; None where that is not known.

        The last panel has less, and its errors.
        """
        last = panels[-1]
        end = float(np.exp(last.high))
        level = last.level + last.slope * last.high
        log = max(level + float(np.log(last.top + last.error)), negligible - last.high)
        looks: FloatArray = pivot + end * _APART ** np.arange(float(_LOOKS))
        fall = beyond.fall(log, looks)
        return None if fall is None else cls(fall[0] - pivot, log, fall[1])

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho|: a bound of its size, since nothing more is known."""
        beyond = np.maximum(w, self.start)
        fallen = self.rate * (beyond - self.start) + self.power * np.log(beyond / self.start)
        return np.ones_like(w), self.log - fallen

    def relative_error(self, w: FloatArray) -> FloatArray:
        """All of it."""
        return np.full_like(w, 2.0)
