"""Paths in the plane, radii close to one another, and sums over panels of a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.numeric import FloatArray
from spectra.quadrature import ANALYSIS, EPS, NODES, ORDER, WEIGHTS

__all__ = [
    "BESSEL_ROUNDING",
    "DEPTH",
    "PHASE",
    "TINY",
    "Contour",
    "Integral",
    "Radii",
    "Sum",
    "adaptive",
    "doubling",
    "nodes",
    "summed",
]

ComplexArray = NDArray[np.complex128]

# exp(-46) = 1e-20: where H or K have fallen this far a path ends.
DEPTH = 46.0
# Twenty nodes resolve a wave of this phase to rounding.
PHASE = 8.0
_MOST_PANELS = 2000
# Relative errors of the Bessel functions of scipy, in units of rounding.
BESSEL_ROUNDING = 24.0
# Margin of the estimate of what a panel leaves out.
_SQUARED_MARGIN = 100.0
TINY = float(np.finfo(float).tiny)
# A panel is halved while it leaves out more than this share of the whole, so often at most.
_LEFT_OUT = 1e-17
_MOST_HALVINGS = 12


@dataclass(frozen=True)
class Contour:
    """A path: from 0 to ``corner``/w on the real axis, or to i ``height``; then a ray.

    ``corner`` is in y; infinite for the real axis to its end.  ``by_waves`` gives each wave of the
    kernel a ray of its own.
    """

    corner: float = 0.0
    height: float = 0.0
    angle: float = 0.0
    by_waves: bool = False


@dataclass(frozen=True, eq=False)
class Radii:
    """Radii w = pivot + offset, close to one another; the offset keeps its digits at the pivot."""

    pivot: float
    offset: FloatArray

    @property
    def w(self) -> FloatArray:
        """The radii."""
        return self.pivot + self.offset

    def beyond(self, frequency: float) -> FloatArray:
        """w - frequency."""
        return self.offset if frequency == self.pivot else self.w - frequency


@dataclass(frozen=True)
class Integral:
    """Values of rho, bounds of their errors, and the integrals of absolute values."""

    value: FloatArray
    error: FloatArray
    size: FloatArray


@dataclass(frozen=True, eq=False)
class Sum:
    """Sums over the nodes of some panels: the integral, its size and its error."""

    value: FloatArray
    size: FloatArray
    error: FloatArray

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.value + other.value, self.size + other.size, self.error + other.error)


def nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Legendre nodes of panels, in one row, and the half width of the panel of each."""
    half = 0.5 * np.diff(edges)
    x = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return x.ravel(), np.repeat(half, ORDER)


def summed(terms: ComplexArray | FloatArray, weight: FloatArray, half: FloatArray) -> Sum:
    """Integrate rows of values at the nodes of panels; ``weight`` is the rounding of each."""
    count = terms.shape[0]
    size = np.abs(terms)
    panels = (terms * half).reshape(count, -1, ORDER)
    # n nodes are exact to degree 2n - 1: coefficients that have fallen to the share q at degree n
    # have fallen to about q^2 at degree 2n.
    left_out = _left_out(panels).sum(axis=1)
    value = np.real(panels @ WEIGHTS).sum(axis=1)
    weights = np.tile(WEIGHTS, half.size // ORDER) * half
    return Sum(value, size @ weights, left_out + EPS * ((size * weight) @ weights))


def _left_out(panels: ComplexArray | FloatArray) -> FloatArray:
    last = np.abs(panels @ ANALYSIS[-3:].T).max(axis=2)
    top = np.abs(panels).max(axis=2) + TINY
    return np.asarray(last * np.minimum(_SQUARED_MARGIN * last / top, 1.0))


def adaptive(
    terms: Callable[[FloatArray], tuple[ComplexArray, FloatArray]], edges: FloatArray
) -> Sum | None:
    """The integral over panels that are halved until they leave out nothing; None if that fails.

    ``terms`` gives rows of values, and the rounding of each, at points of the path.
    """
    done: list[tuple[ComplexArray, FloatArray, FloatArray]] = []
    low, high = edges[:-1], edges[1:]
    whole = TINY
    for _ in range(_MOST_HALVINGS):
        half = 0.5 * (high - low)
        x = (low + half)[:, None] + half[:, None] * NODES
        values, weight = terms(x.ravel())
        widths = np.repeat(half, ORDER)
        count = values.shape[0]
        panels = (values * widths).reshape(count, -1, ORDER)
        whole = np.maximum(whole, np.abs(panels).sum(axis=2).max(axis=1))
        bad = np.any(_left_out(panels) > (_LEFT_OUT * whole)[:, None], axis=0)
        kept = np.repeat(~bad, ORDER)
        done.append((values[:, kept], weight[:, kept], widths[kept]))
        if not np.any(bad):
            break
        middle = (low + half)[bad]
        low = np.concatenate([low[bad], middle])
        high = np.concatenate([middle, high[bad]])
        if low.size > _MOST_PANELS:
            return None
    else:
        return None
    columns = [np.concatenate(parts, axis=-1) for parts in zip(*done, strict=True)]
    return summed(columns[0], columns[1], columns[2])


def doubling(start: float, end: float, first: float, widest: float) -> FloatArray | None:
    """Panels from start to end: the first is given, and they double up to ``widest``."""
    edges, width = [start], min(first, widest)
    while edges[-1] < end:
        if len(edges) > _MOST_PANELS:
            return None
        edges.append(edges[-1] + width)
        width = min(edges[-1] - start, widest)
    edges[-1] = end
    return np.array(edges)
