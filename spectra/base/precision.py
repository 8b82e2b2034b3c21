"""Types and precision of ball arithmetic (Arb, by python-flint)."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

__all__ = ["Ball", "log_magnitude", "working_precision"]

#: An Arb ball, real (``flint.arb``) or complex (``flint.acb``).
Ball = Any
#: A context manager: compute with this number of bits.
working_precision = flint.ctx.workprec


def log_magnitude(ball: Ball) -> float:
    """log|x| at the midpoint of a ball x, as a double; infinite if the ball is not finite."""
    if not ball.is_finite():
        return np.inf
    midpoint = abs(ball).mid()
    return float(midpoint.log().mid()) if midpoint > 0 else -np.inf
