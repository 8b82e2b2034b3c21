"""What features of (coef0 + gamma <x, y>)^degree share: their parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Rival

__all__ = ["PowerRival"]


class PowerRival(Rival):
    """A rival for a power of an affine function of <x, y>."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        degree: int = 2,
        gamma: float = 1.0,
        coef0: float = 0.0,
        n_components: int = 100,
        random_state: Any = None,
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state
