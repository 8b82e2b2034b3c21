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

from rf.sampling.coupling import Coupling, Pairs
from rf.sampling.couplings.blocks import Independent, Orthogonal, Shared
from rf.sampling.couplings.designed import Designed
from rf.sampling.couplings.haar import Haar
from rf.sampling.couplings.kerdock import Kerdock

__all__ = ["COUPLINGS", "Coupling", "Pairs"]

# Where variances are equal, "auto" prefers the first of these.
_ALL: tuple[Coupling, ...] = (Orthogonal(), Independent(), Haar(), Shared(), Designed(), Kerdock())

#: Every coupling by its name.
COUPLINGS: Mapping[str, Coupling] = MappingProxyType({each.name: each for each in _ALL})
