"""Points at which a kernel is evaluated: differences D = x - y, or their norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError

__all__ = ["Points"]


@final
@dataclass(frozen=True, eq=False)
class Points:
    """Differences D = x - y of shape (..., d), or distances |D| of any shape.

    ``values``: the array; ``axes``: the number of its last axes that belong to one point, 1 for
    differences and 0 for distances.

    Examples
    --------
    >>> points = Points(np.array([[3.0, 4.0], [0.0, 1.0]]), 1)
    >>> points.shape, points.norms.values
    ((2,), array([5., 1.]))
    """

    values: FloatArray
    axes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values of a kernel at the points."""
        return self.values.shape[: self.values.ndim - self.axes]

    @property
    def flat(self) -> Self:
        """The same points along one axis."""
        return self.moved(lambda v: v.reshape(-1, *v.shape[len(self.shape) :]))

    @property
    def norms(self) -> Points:
        """The distances."""
        return Points(np.linalg.norm(self.values, axis=-1), 0) if self.axes else self

    def checked(self) -> Self:
        """The points themselves; a ParameterError if one is not finite, or a distance negative."""
        bad = ~np.isfinite(self.values) | ((self.values < 0.0) & (self.axes == 0))
        if np.any(bad):
            raise ParameterError(
                f"A kernel was asked for at {self.values[bad][0]}: distances must be finite and at "
                "least 0, and differences finite."
            )
        return self

    def moved(self, change: Callable[[FloatArray], FloatArray]) -> Self:
        """Other points of the same sort, by a function of the array."""
        return type(self)(change(self.values), self.axes)

    def shifted(self, offset: FloatArray) -> Self:
        """The points D + offset; distances only for an offset of 0."""
        return self.moved(lambda v: v + offset) if offset.any() else self

    def and_offsets(self, offsets: FloatArray) -> Self:
        """The points D + t_j for offsets of shape (J, d), along a new last axis of points."""
        if not self.axes:  # distances have no shifts
            return self.moved(lambda z: z[..., None])
        return self.moved(lambda D: D[..., None, :] + offsets)
