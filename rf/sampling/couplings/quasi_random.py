"""Scrambled Sobol points for radius and direction together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np
from scipy.special import ndtri

from rf.sampling.coupling import Coupling, Drawn, Pairs, Request
from rf.sampling.directions import unit_rows
from rf.sampling.sobol import sobol
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["QuasiRandom", "qmc"]


def qmc(n: int, dim: int, rng: np.random.Generator, *, draws: int | None = None) -> FloatArray:
    """Scrambled Sobol points through the normal inverse CDF, divided by their norms.

    Each row is exactly uniform on the sphere.  Parameters and errors as
    :func:`rf.sampling.directions.iid`.

    References
    ----------
    Yang, Sindhwani, Avron, Mahoney, "Quasi-Monte Carlo feature maps for shift-invariant kernels",
    ICML 2014.

    Examples
    --------
    >>> rows = qmc(8, 3, np.random.default_rng(0))
    >>> bool(np.allclose(np.linalg.norm(rows, axis=1), 1.0))
    True
    """
    return unit_rows(ndtri(sobol(n, dim, rng, draws=draws)))


@final
class QuasiRandom(Coupling):
    """A Sobol sequence for the radii and directions of each part (Yang et al., ICML 2014)."""

    name: ClassVar[str] = "qmc"
    known: ClassVar[bool] = False
    split_of: ClassVar[str] = "iid"
    directions = staticmethod(qmc)

    def draw(self, asked: Request) -> Drawn:
        """The first coordinate is that of the radius."""
        dim, draws, rng = asked.dim + 1, asked.draws, asked.rng
        points = [sobol(n, dim, rng, draws=draws) for n in asked.counts]
        return [(p[..., 0], unit_rows(ndtri(p[..., 1:]))) for p in points]

    def within(self, n: int, dim: int, total: int) -> Sequence[Pairs]:
        """Pairs that nobody can count: the variance has no closed form."""
        raise ParameterError(
            "The variance of scrambled quasi-random frequencies has no closed form. Measure it "
            "over a few seeds, or choose another coupling."
        )
