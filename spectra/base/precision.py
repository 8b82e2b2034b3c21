"""The working precision of Arb, for as long as it is wanted, and what doubles know of its balls."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

__all__ = ["Ball", "log_of", "working"]

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
