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
    """Beyond the last panel: negligible up to a radius, and then less than an exponential."""

    start: float
    log: float
    rate: float

    @classmethod
    def after(cls, panels: Sequence[Panel]) -> Vanishing:
        """The fall over the last panel goes on, or since the largest values if that is slower:
        between two zeros of a wave the last panel may rise."""
        last = panels[-1]
        end = float(np.exp(last.high))
        log = last.level + last.slope * last.high + float(np.log(last.top))
        highest = max(panels, key=lambda panel: panel.height)
        rates = [-last.slope / end]
        if highest is not last:
            rates.append((highest.height - last.height) / (end - float(np.exp(highest.high))))
        return cls(end, log, min((rate for rate in rates if rate > 0.0), default=rates[0]))

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
        return np.ones_like(w), self.log - self.rate * np.maximum(w - self.start, 0.0)

    def relative_error(self, w: FloatArray) -> FloatArray:
        """All of it."""
        return np.full_like(w, 2.0)
