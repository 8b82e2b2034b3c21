r"""A radial kernel of a law, tabulated in the distance so that thousands of values are cheap.

:math:`\tilde k(z) = E\,\Omega_d(R z)` on [0, z_max] as Chebyshev polynomials on panels that are
halved until the polynomial has converged.  Numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.polynomial import chebyshev

from spectra.table.arrays import FloatArray

__all__ = ["RadialInterpolant"]

_DEGREE = 16
# Panels are halved at most this often: a cusp at 0 is then 1e-9 of the range wide.
_HALVINGS = 30
_FIRST_PANELS = 4


@final
@dataclass(frozen=True, eq=False)
class RadialInterpolant:
    """Piecewise Chebyshev polynomials of a function on [0, z_max].

    Examples
    --------
    >>> cosine = RadialInterpolant.of(np.cos, 10.0, 1e-10)
    >>> z = np.linspace(0.0, 10.0, 99)
    >>> bool(np.abs(cosine(z) - np.cos(z)).max() < 1e-9)
    True
    """

    edges: FloatArray
    coefficients: FloatArray

    @classmethod
    def of(
        cls, function: Callable[[FloatArray], FloatArray], z_max: float, tolerance: float
    ) -> Self:
        """Tabulate ``function`` until the last coefficients of each panel are below tolerance."""
        nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
        ends = np.linspace(0.0, z_max, _FIRST_PANELS + 1)
        low, high = ends[:-1], ends[1:]
        done: list[tuple[FloatArray, FloatArray]] = []
        inverse = np.linalg.inv(chebyshev.chebvander(nodes, _DEGREE))
        for halving in range(_HALVINGS + 1):
            half, middle = 0.5 * (high - low), 0.5 * (high + low)
            z = middle[:, None] + half[:, None] * nodes
            series = function(z.ravel()).reshape(z.shape) @ inverse.T
            good = np.abs(series[:, -2:]).max(axis=1) <= tolerance
            if halving == _HALVINGS:
                good[:] = True
            done.append((low[good], series[good]))
            low, middle, high = low[~good], middle[~good], high[~good]
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            if not low.size:
                break
        starts = np.concatenate([part[0] for part in done])
        order = np.argsort(starts)
        rows = np.concatenate([part[1] for part in done])[order]
        return cls(np.append(starts[order], z_max), rows)

    def __call__(self, z: FloatArray) -> FloatArray:
        """Values at distances in [0, z_max]."""
        index = np.searchsorted(self.edges, z, side="right") - 1
        index = np.minimum(index, len(self.coefficients) - 1)
        low, high = self.edges[index], self.edges[index + 1]
        x = (2.0 * z - low - high) / (high - low)
        values = chebyshev.chebval(x, self.coefficients[index].T, tensor=False)
        return np.asarray(values)
