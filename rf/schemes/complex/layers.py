r"""Layers of one coordinate of the draws of a modulated part, and the variance that they leave.

Let h be the mean of a draw X given its coordinate: the radius, or the length along the axis
(:meth:`rf.schemes.complex.AxialPart.coordinate`).  With one draw in each of n layers of equal
probability and all else independent, the mean of the draws has the variance

.. math:: \frac1n \Bigl[E X^2 - \frac1n \sum_a \mu_a^2\Bigr], \qquad
          \mu_a = E[h \mid \text{layer } a] .
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rf.sampling.radii import Radii
from rf.schemes.complex.axial_part import AxialPart
from rf.variance.radii.strata import composite_rule, jumps
from spectra.base.arrays import FloatArray

__all__ = ["layered_variance"]

# Gauss points of a panel; layers are cut until there are this many panels.
_NODES = 8
_PANELS = 32
# Panels halve towards a kink of the inverse CDF, and towards its ends, until 2^-17 is left.
_LEVELS = 17
_FEWEST_LEVELS = 3
# A kink nearer to the ends of the law than this weighs nothing.
_END = 2.0**-30
# Phase of a wave that the points of a panel resolve, and the most pieces that a panel is cut into
# for it.  Beyond, a mean is below 2 / (6 * 100) of its amplitude and taken as 0.
_PHASE = 6.0
_PIECES = 100
# Values that are held at one time (32 MB).
_CHUNK = 4_000_000


def _layer_points(
    part: AxialPart, n: int, reach: float
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Quadrature inside all of n >= 2 layers of the coordinate of a part but the last.

    ``reach`` is the largest distance whose waves it resolves.

    Returns
    -------
    coordinate, weights : ndarray of shape (points,)
        Ascending; the weights of a layer sum to 1.
    starts : ndarray of int, shape (n - 1,)
        The first point of each layer.
    """
    if not part.is_isotropic:
        return part.layers(n, reach)
    cuts = -(-_PANELS // n)
    edges = np.arange((n - 1) * cuts + 1.0) / (n * cuts)
    edges = _graded(edges, np.append(_breaks(part), 0.0), 1.0 / (n * cuts), 1.0 / n)
    u, weights = _resolving(part, edges, reach)
    return part.coordinate(u), n * weights, np.searchsorted(u, np.arange(n - 1) / n)


def layered_variance(
    part: AxialPart, n: int, differences: FloatArray, layers: Radii, *, most: int | None = None
) -> FloatArray:
    """Variance of the mean of n draws of a part with independent directions.

    Parameters
    ----------
    part : AxialPart
    n : int
    differences : ndarray of shape (m, d)
    layers : {"iid", "stratified"}
        Draws by rejection have no layers: they are independent whatever is asked for.
    most : int, optional
        Reckon as though no more layers were cut: an upper bound for many stratified draws.

    Returns
    -------
    ndarray of shape (m,)
        Right to about 1e-8 of the squared mass, as the moments of a part are, while a layer holds
        less than a hundred turns of the waves; where it holds more, to 1e-5.
    """
    D = np.asarray(differences, dtype=float)
    square, mean = part.second_moment(D), part.mean(D)
    if layers == "iid" or n == 1 or not part.has_layers:
        return np.asarray((square - mean**2) / n)
    layers_used = n if most is None else min(n, most)
    if layers_used == 1:
        return np.asarray((square - mean**2) / n)
    coordinate, weights, starts = _layer_points(part, layers_used, _reach(part, D))
    known = np.empty(len(D))
    step = max(1, _CHUNK // max(coordinate.size, 1))
    for start in range(0, len(D), step):
        rows = slice(start, start + step)
        values = part.mean_given(coordinate, D[rows]) * weights[:, None]
        means = np.add.reduceat(values, starts, axis=0)
        # The last layer is what the others leave of the whole.
        last = layers_used * mean[rows] - means.sum(axis=0)
        known[rows] = (np.sum(means**2, axis=0) + last**2) / layers_used
    return np.asarray((square - known) / n)


def _reach(part: AxialPart, D: FloatArray) -> float:
    """The largest distance whose wave the coordinate of a part meets."""
    if not part.is_isotropic:
        return float(np.abs(D @ part.modulation.axis).max(initial=0.0))
    points = D[:, None, :] + part.modulation.offsets
    return float(np.linalg.norm(points, axis=-1).max(initial=0.0))


def _breaks(part: AxialPart) -> FloatArray:
    u = jumps(part.base.law) if part.is_isotropic else part.breaks
    return np.asarray(u[(u > _END) & (u < 1.0 - _END)])


def _graded(edges: FloatArray, breaks: FloatArray, width: float, finest: float) -> FloatArray:
    """Edges with more of them on both sides of each break, nearer by halves from ``width`` on.

    ``finest`` is the probability that ``width`` stands for.
    """
    levels = max(_FEWEST_LEVELS, _LEVELS + int(np.log2(finest)))
    steps = width * 2.0 ** -np.arange(1.0, levels + 1.0)
    around = np.concatenate([-steps, [0.0], steps])
    more = np.add.outer(breaks, around).ravel()
    return np.union1d(edges, more[(more > edges[0]) & (more < edges[-1])])


def _resolving(part: AxialPart, edges: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """Points on the panels between edges, cut so that waves of the reach are resolved."""
    inside = np.minimum(edges, np.nextafter(1.0, 0.0))
    phase = np.diff(part.coordinate(inside)) * reach
    pieces = np.maximum(1.0, np.ceil(phase / _PHASE))
    lost = pieces > _PIECES
    pieces[lost] = 1.0
    cut = [
        np.linspace(low, high, int(k), endpoint=False)
        for (low, high), k in zip(pairwise(edges), pieces, strict=True)
    ]
    u, weights = composite_rule(np.append(np.concatenate(cut), edges[-1]), _NODES)
    return u, weights * np.repeat(~lost, (pieces * _NODES).astype(int))
