"""Generalised random Fourier features of Liu et al., put right."""

from __future__ import annotations

from typing import final

from rf.plans import Scheme
from rf.rivals.system import SignedSystem

__all__ = ["GRFF"]


@final
class GRFF(SignedSystem):
    """Generalised random Fourier features of Liu et al.: the Jordan parts, iid frequencies.

    The papers' imaginary unit on the negative part is the -1 of ``signature_``, and the radius
    has its full law, with the factor w^(d-1).

    Parameters
    ----------
    kernel, n_components, mixed_signature, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    allocation : {"equal", "mass", "optimal"}, default="equal"

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GRFF
    >>> features = GRFF("exp(-z**2/2) - exp(-z**2/8)", n_components=8, mixed_signature="ignore")
    >>> features.fit(np.eye(3)).signature_
    array([ 1.,  1., -1., -1.,  1.,  1., -1., -1.])
    """

    def _scheme(self) -> Scheme:
        return Scheme("iid", "iid", self.allocation)
