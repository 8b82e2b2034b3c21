"""A function of log z on a ray from the origin, and where on the half-line a kernel is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import log

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.base.precision import Ball, log_of, working
from spectra.density.half_line.sums.products import NOTHING, Split, split
from spectra.errors import FormulaError

__all__ = ["Ray", "reach_of", "to_any_bits"]

_NEGLIGIBLE = -60.0
# Kernels are looked at from exp(-100) to exp(100); by then each has fallen by exp(-1/2) or more.
_FARTHEST, _DECAYED = 100.0, 0.5
# What falls faster than z^-12 where it becomes negligible is taken to fall fast: its sums on the
# half-line end, which is all that is asked.
_FAST = 12.0
_VANISHED = -1e4
# The logarithm of the largest double, about: what is larger grows, until Arb has no value for it.
_LARGEST = 700.0
# Logarithms at so many ranges of places are kept.
_ROWS = 64


class Ray:
    """Values of a function at exp(s + i psi), each computed once.

    Parameters
    ----------
    values : callable
        The function, of s and bits.
    angle : float
        psi.
    bits : int
        Working precision.
    """

    def __init__(self, values: Callable[[float, int], Ball], angle: float, bits: int) -> None:
        self.angle, self.bits = angle, bits
        self._values = values
        self._known: dict[float, Ball] = {}
        self._logs: dict[float, float] = {}
        self._parts: dict[float, tuple[Split, Split]] = {}
        self.log_sizes = lru_cache(maxsize=_ROWS)(self._log_sizes)

    def __call__(self, s: float) -> Ball:
        """Its value."""
        found = self._known.get(s)
        if found is None:
            with working(self.bits):
                found = self._known[s] = self._values(s, self.bits)
        return found

    def parts(self, s: float) -> tuple[Split, Split]:
        """Its real and its imaginary part, for sums of products."""
        found = self._parts.get(s)
        if found is None:
            value = self(s)
            beside = NOTHING if value.imag.is_zero() else split(value.imag)
            found = self._parts[s] = split(value.real), beside
        return found

    def log_size(self, s: float) -> float:
        """The logarithm of its size."""
        found = self._logs.get(s)
        if found is None:
            with working(self.bits):
                found = self._logs[s] = log_of(self(s))
        return found

    def _log_sizes(self, s: tuple[float, ...]) -> FloatArray:
        """Those at places."""
        return np.array([self.log_size(t) for t in s])


def to_any_bits(values: Callable[[float, int], Ball], angle: float) -> Callable[[int], Ray]:
    """A function on one ray, by the working precision."""
    return cache(lambda bits: Ray(values, angle, bits))


def reach_of(axis: Ray) -> tuple[float, float]:
    """log z where a kernel has fallen to half of its largest value, and beyond which it is
    negligible, or infinity where it decays like a power: from values on the half-line.

    Raises
    ------
    FormulaError
        Where it does not decay.
    """
    s = np.arange(-2.0 * _FARTHEST, 2.0 * _FARTHEST + 1.0) / 2.0
    sizes = np.array([axis.log_size(float(x)) for x in s])
    # What is exp(-exp(z)) or less leaves even the exponents of Arb, which has no value for it then.
    lost = np.flatnonzero(sizes == np.inf)
    if lost.size and lost[0] > 0 and sizes[lost[0] - 1] < _VANISHED:
        sizes[lost[0] :] = -np.inf
    if not np.all(sizes < np.inf):
        raise FormulaError("the kernel is not known at every distance")
    top = int(np.argmax(sizes))
    # The largest of what follows: a kernel may pass through zero.
    after = np.maximum.accumulate(sizes[::-1])[::-1]
    if after[-1] > sizes[top] - _DECAYED or sizes[top] > _LARGEST:
        raise FormulaError("the kernel does not decay")
    low = int(np.flatnonzero(after > sizes[top] - log(2.0))[-1])
    alive = int(np.flatnonzero(after > sizes[top] + _NEGLIGIBLE)[-1])
    # A power falls by less than that between the last of these places, or before them where the
    # next one is beyond the exponents of Arb.
    next_one = min(alive + 2, s.size - 1)
    if after[next_one] == -np.inf:
        next_one = alive
    slope = (after[next_one] - after[next_one - 2]) / 1.0
    end = float(s[alive + 1]) if alive + 1 < s.size and slope < -_FAST else np.inf
    return float(s[low]), end
