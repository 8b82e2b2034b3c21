"""Generalised orthogonal random features of Luo et al."""

from __future__ import annotations

from typing import Any, ClassVar, final

from sklearn.utils._param_validation import StrOptions

from rf.couplings import COUPLINGS
from rf.estimator import MixedSignature
from rf.frequencies import Allocation
from rf.plans import Scheme
from rf.rivals.system import SignedSystem

__all__ = ["GORF"]


@final
class GORF(SignedSystem):
    """Generalised orthogonal random features of Luo et al.: the published joint coupling.

    Directions of both signs are columns of one Haar matrix, cut to d rows: see
    :func:`rf.couplings.haar.haar`.  As the estimate is a difference, joint orthogonality makes its
    variance larger than that of separate blocks (:class:`ORF`): a system to compare with, not to
    recommend.

    Parameters
    ----------
    kernel, n_components, mixed_signature, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    coupling : str, default="haar"
        As in :class:`rf.SpectralFeatures`.
    allocation : {"equal", "mass", "optimal"}, default="equal"

    References
    ----------
    Luo, Fang, Yang, Huang, "Towards unbiased random features with lower variance for stationary
    indefinite kernels", arXiv 2104.06204, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GORF
    >>> features = GORF("exp(-z**2/2) - exp(-z**2/8)", n_components=8, mixed_signature="ignore")
    >>> features.fit(np.eye(3)).coupling_
    'haar'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SignedSystem._parameter_constraints,
        "coupling": [StrOptions({"auto", *COUPLINGS})],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        coupling: str = "haar",
        allocation: Allocation = "equal",
        mixed_signature: MixedSignature = "warn",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.coupling = coupling
        self.allocation = allocation
        self.mixed_signature = mixed_signature
        self.random_state = random_state

    def _scheme(self) -> Scheme:
        return Scheme(self.coupling, "iid", self.allocation)
