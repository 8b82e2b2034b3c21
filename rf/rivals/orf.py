"""Orthogonal random features of Yu et al."""

from __future__ import annotations

from typing import final

from rf.plans import Scheme
from rf.rivals.system import SignedSystem

__all__ = ["ORF"]


@final
class ORF(SignedSystem):
    """Orthogonal random features of Yu et al.: orthogonal d x d blocks within each part.

    The paper treats one positive part; with signed parts the blocks of different parts are
    independent.

    Parameters
    ----------
    kernel, n_components, mixed_signature, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    allocation : {"equal", "mass", "optimal"}, default="equal"

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import ORF
    >>> ORF("matern", n_components=8, random_state=0).fit_transform(np.eye(3)).shape
    (3, 8)
    """

    def _scheme(self) -> Scheme:
        return Scheme("orthogonal", "iid", self.allocation)
