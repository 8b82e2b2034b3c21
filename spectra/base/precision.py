"""The working precision of Arb, for as long as it is wanted, and what doubles know of its balls."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import flint
import numpy as np

__all__ = ["Ball", "front", "log_of", "ratio", "working"]

#: An Arb ball, real or complex; the package has no types.
Ball = Any
#: Work with so many bits; then as before.
working = flint.ctx.workprec


def log_of(ball: Ball) -> float:
    """log|x| of the middle of a ball, real or complex; infinite where it is not known."""
    if not ball.is_finite():
        return np.inf
    middle = abs(ball).mid()
    return float(middle.log().mid()) if middle > 0 else -np.inf


def ratio(part: Ball, whole: Ball) -> float:
    """part/whole; infinite where it is not known, or the whole is nothing."""
    return float((part / whole).mid()) if whole > 0 and part.is_finite() else np.inf


@lru_cache(maxsize=64)
def front(dim: int, bits: int) -> Ball:
    """2^(1-d/2)/Gamma(d/2), which stands before the integral of k(z) (wz)^(d/2) J_(d/2-1)(wz)."""
    with working(bits):
        half = flint.arb(dim) / 2
        return flint.arb(2) ** (1 - half) / half.gamma()
