"""Functions of the radius that have an expansion in 1/w or in its root: one series to infinity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import OscillatingTail
from spectra.errors import AccuracyError

__all__ = ["InverseSeries"]

# Terms of an expansion in start / w that are tried in turn.
_SERIES_TERMS = (16, 32, 64)
# Where a series in 1/w is worse than this, one in its root is tried.
_ROOTLESS = 1e-12
# A series is taken when its last coefficients fall below this fraction of its size; at the longest
# one, when they fall below the second number.  Its error is what it reached.
_SERIES_GOAL, _SERIES_LIMIT = 2e-14, 1e-9


@dataclass(frozen=True, eq=False)
class InverseSeries:
    """A function of the radius as a Chebyshev series in a root of start/w, valid to infinity."""

    start: float
    root: int
    coefficients: FloatArray
    with_slopes: FloatArray
    error: float

    @classmethod
    def of(
        cls, tail: OscillatingTail, function: Callable[[FloatArray], FloatArray], name: str
    ) -> InverseSeries:
        """Fit a function of the radius from the start of a tail on, which the message names."""
        found = [cls._fitted(tail, function, name, 1)]
        if not found[0].error < _ROOTLESS:
            # Powers of w that differ by halves, such as those of z^(1/2) at the origin.
            found.append(cls._fitted(tail, function, name, 2))
        best = min(found, key=lambda series: series.error)
        if not best.error < 4.0 * _SERIES_LIMIT:
            raise AccuracyError(
                f"The {name} of an oscillating tail of frequency {tail.frequency:g} is not smooth "
                f"in 1/w or its root beyond w = {tail.start:g} (a series of "
                f"{best.coefficients.size} terms leaves {best.error / 4.0:.1e}), so its lobes "
                "cannot be summed. Let the component start its tail at a larger radius, or state "
                "the right exponents."
            )
        return best

    @classmethod
    def _fitted(
        cls,
        tail: OscillatingTail,
        function: Callable[[FloatArray], FloatArray],
        name: str,
        root: int,
    ) -> InverseSeries:
        reached = np.inf
        for terms in _SERIES_TERMS:
            nodes = chebyshev.chebpts1(terms)
            values = function(tail.start * (2.0 / (1.0 + nodes)) ** root)
            fit = np.asarray(chebyshev.chebfit(nodes, values, terms - 1), dtype=float)
            # A phase matters up to its own scale of one, whatever its size.
            size = max(1.0, float(np.ptp(values))) if name == "phase" else np.abs(values).max()
            before, reached = reached, float(np.abs(fit[-3:]).max() / size) if size > 0 else 0.0
            if reached < _SERIES_GOAL or reached > 0.3 * before:
                break
        # Below rounding, terms cost time only.
        seen = np.flatnonzero(np.abs(fit) > 0.125 * EPS * size)
        fit = fit[: 1 + int(seen[-1])] if seen.size else fit[:1]
        slopes = np.zeros_like(fit)
        slopes[: fit.size - 1] = chebyshev.chebder(fit)[: fit.size - 1]
        return cls(tail.start, root, fit, np.stack([fit, slopes], axis=1), 4.0 * reached)

    @property
    def limit(self) -> float:
        """The value at infinite radius."""
        return float(chebyshev.chebval(-1.0, self.coefficients))

    def _place(self, w: FloatArray) -> FloatArray:
        ratio = self.start / w
        return 2.0 * (ratio if self.root == 1 else ratio ** (1.0 / self.root))

    def __call__(self, w: FloatArray) -> FloatArray:
        return np.asarray(chebyshev.chebval(self._place(w) - 1.0, self.coefficients))

    def with_slope(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value and derivative with respect to w."""
        x = self._place(w)
        value, slope = chebyshev.chebval(x - 1.0, self.with_slopes)
        return np.asarray(value), np.asarray(-slope * x / (self.root * w))
