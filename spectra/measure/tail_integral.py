"""The integral of what falls like a power, from any radius or index to infinity.

In t = log w it falls exponentially: panels resolve it once for all t, and beyond the last panel
the exponential law that holds there closes the integral.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spectra.numeric import FloatArray
from spectra.quadrature import EPS, Integrand, LegendrePanels, legendre_antiderivative, resolve

__all__ = ["TailIntegral"]

# The panels end this many e-folds beyond the first index, at the latest.
_E_FOLDS = 60.0
# e-folds of the mass after which what is left does not count.
_FALL = 90.0
_FIRST_PANELS = 11
_TOLERANCE = 1e-13
# The panels reach this far beyond the last index that is asked for.
_MARGIN = 4.0


@dataclass(frozen=True, eq=False)
class TailIntegral:
    """Integrals of an integrand in t from every t on that its panels hold.

    Attributes
    ----------
    panels : LegendrePanels
        The integrand, f(w) w in t = log w.
    after, after_errors : ndarray of shape (n + 1,)
        Integral from each panel edge on, and bounds of the errors.
    """

    panels: LegendrePanels
    after: FloatArray
    after_errors: FloatArray

    @classmethod
    def closed(
        cls,
        integrand: Integrand,
        edges: FloatArray,
        closing: Callable[[float], tuple[float, float]],
        *,
        tolerance: float,
    ) -> TailIntegral:
        """Resolved between edges; ``closing`` gives the integral beyond the last and its error."""
        (panels,) = resolve(integrand, [edges], tolerance=tolerance)
        value, error = closing(float(edges[-1]))
        masses, errors = np.append(panels.integrals, value), np.append(panels.errors, error)
        return cls(panels, np.cumsum(masses[::-1])[::-1], np.cumsum(errors[::-1])[::-1])

    @classmethod
    def of_lobes(cls, per_efold: Integrand, low: float, high: float) -> TailIntegral | None:
        """That of lobe masses, ``per_efold(t)`` = m(s) s at t = log s; None where m is zero.

        What is asked for later lies between ``low`` and ``high``.
        """
        probe, _ = per_efold(low + np.array([0.0, 1.0]))
        if probe[0] <= 0.0:
            return None
        rate = max(-float(np.log(probe[1] / probe[0])), 0.05)
        last = max(low + min(_E_FOLDS, _FALL / rate), high + _MARGIN)

        def closing(t: float) -> tuple[float, float]:
            f, e = per_efold(np.array([t, t - 0.5, t - 1.0]))
            near, before = 2.0 * np.log(f[1] / f[0]), 2.0 * np.log(f[2] / f[1])
            mass = f[0] / near
            return mass, mass * (abs(near - before) / near + 4.0 * EPS) + e[0] / near

        edges = np.linspace(low, last, _FIRST_PANELS + 1)
        return cls.closed(per_efold, edges, closing, tolerance=_TOLERANCE)

    def covers(self, low: float, high: float) -> bool:
        """Whether it knows the integrals from every t between ``low`` and ``high`` on."""
        return bool(self.panels.edges[0] <= low and high + _MARGIN <= self.panels.edges[-1])

    def beyond(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Integral from t on, and a bound of its error: that of the whole panel is counted."""
        edges = self.panels.edges
        i = np.minimum(np.searchsorted(edges, t, side="right"), edges.size - 1) - 1
        half = 0.5 * (edges[i + 1] - edges[i])
        x = np.minimum((t - edges[i]) / half - 1.0, 1.0)
        _, over = legendre_antiderivative(self.panels.coefficients[i], x)
        return half * over + self.after[i + 1], self.after_errors[i]
