"""Independent directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

from rf.sampling.coupling import Coupling, Pairs
from rf.sampling.directions import iid

__all__ = ["Independent"]


@final
class Independent(Coupling):
    """Independent frequencies: plain Monte Carlo (Rahimi, Recht, NeurIPS 2007)."""

    name: ClassVar[str] = "iid"
    considered: ClassVar[bool] = True
    directions = staticmethod(iid)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """None."""
        return ()
