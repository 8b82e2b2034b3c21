"""What the papers' systems for signed measures share: their parameters."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from rf.estimator import BaseSpectralFeatures, MixedSignature
from rf.frequencies import ALLOCATIONS, Allocation

__all__ = ["SignedSystem"]


class SignedSystem(BaseSpectralFeatures):
    """A system whose frequencies are split over the parts of a signed measure."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": "no_validation",
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "allocation": [StrOptions(set(ALLOCATIONS))],
        "mixed_signature": [StrOptions({"warn", "ignore", "error"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        allocation: Allocation = "equal",
        mixed_signature: MixedSignature = "warn",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.allocation = allocation
        self.mixed_signature = mixed_signature
        self.random_state = random_state
