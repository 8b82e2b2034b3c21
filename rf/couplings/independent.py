"""Independent directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from rf.couplings.coupling import Coupling, Pairs
from rf.directions import iid

__all__ = ["Independent"]


@final
class Independent(Coupling):
    """Nothing has to do with anything: plain Monte Carlo (Rahimi, Recht, NeurIPS 2007)."""

    name: ClassVar[str] = "iid"
    considered: ClassVar[bool] = True

    def directions(
        self, n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None
    ) -> NDArray[np.float64]:
        """See :func:`rf.directions.iid`."""
        return iid(n, dim, rng, draws=draws)

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """None."""
        return ()
