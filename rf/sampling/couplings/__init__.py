"""The couplings: one to a file, and one line each in the registry below.

========== ==================================================== =================================
coupling   pairs of frequencies                                 cosine of their directions
========== ==================================================== =================================
orthogonal within blocks of d of one part                       0
iid        none
haar       all, of all parts: one Haar matrix of order N, cut   near 0 only where N is near d
shared     within blocks of d that all parts share              0, and 1 for the same direction
hadamard   rows of H D H D H D: nearly uniform                  0 within a block, if not padded
qmc        Sobol points for radius and direction                no closed form
designed   within a set of least energy of one part             those of the set
kerdock    within a set of d/2 + 1 bases, d = 4^k               0 and 1/sqrt(d)
========== ==================================================== =================================

With c the cosine between two directions, the variance depends on E P_n(c), n = 2, 4, ... (P_n
Gegenbauer, P_n(1) = 1), and is least where these are negative (:mod:`rf.variance.variance`).

Files: ``independent``, ``orthogonal``, ``hadamard``, ``kerdock``, ``designed``,
``quasi_random`` (within a part); ``haar``, ``shared`` (between parts).  What a
coupling is stands in :mod:`rf.sampling.coupling`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.sampling.coupling import Coupling, Pairs
from rf.sampling.couplings.designed import Designed
from rf.sampling.couplings.haar import Haar
from rf.sampling.couplings.hadamard import Hadamard
from rf.sampling.couplings.independent import Independent
from rf.sampling.couplings.kerdock import Kerdock
from rf.sampling.couplings.orthogonal import Orthogonal
from rf.sampling.couplings.quasi_random import QuasiRandom
from rf.sampling.couplings.shared import Shared

__all__ = ["COUPLINGS", "Coupling", "Pairs"]

# In this order "auto" prefers them where their variances are equal.
_ALL: tuple[Coupling, ...] = (
    Orthogonal(),
    Independent(),
    Haar(),
    Shared(),
    Hadamard(),
    QuasiRandom(),
    Designed(),
    Kerdock(),
)

#: Every coupling by its name.
COUPLINGS: Mapping[str, Coupling] = MappingProxyType({each.name: each for each in _ALL})
