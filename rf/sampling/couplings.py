"""The couplings by name.

========== ============================================= =================================
coupling   dependent pairs of frequencies                cosine of their directions
========== ============================================= =================================
orthogonal within blocks of d of one part                0
iid        none
haar       all pairs: one Haar matrix for all parts      near 0 only if its order is near d
shared     within blocks of d that all parts share       0, and 1 for equal directions
designed   within a set of least energy of one part      those of the set
kerdock    within a set of d/2 + 1 bases, d = 4^k        0 and 1/sqrt(d)
========== ============================================= =================================

With the cosine c of two directions, the variance depends on E P_n(c), n = 2, 4, ... (Gegenbauer
polynomials with P_n(1) = 1), and is smallest if these are negative; see
:mod:`rf.variance.variance`.  :mod:`rf.sampling.coupling` defines the interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.sampling.coupling import Coupling
from rf.sampling.designed_directions import DESIGNED
from rf.sampling.directions import INDEPENDENT, ORTHOGONAL, SHARED
from rf.sampling.haar import HAAR
from rf.sampling.kerdock import KERDOCK

__all__ = ["COUPLINGS"]

#: Every coupling by its name.  Where variances are equal, "auto" prefers the first.
COUPLINGS: Mapping[str, Coupling] = MappingProxyType(
    {each.name: each for each in (ORTHOGONAL, INDEPENDENT, HAAR, SHARED, DESIGNED, KERDOCK)}
)
