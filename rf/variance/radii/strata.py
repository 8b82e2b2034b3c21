r"""Radii in strata: what the draws without replacement do to the covariance of two cosines.

The radius i of n lies in a stratum a_i of mass 1/n, and the strata of one part are dealt in random
order.  With the means A_a of g_m(R z) over the strata,

.. math:: E[g_m(R_i z)\, g_m(R_j z)] = \frac{1}{n (n - 1)}
          \sum_a \Bigl(\sum_{a'} A_{a'} - A_a\Bigr) A_a, \qquad i \ne j,

for m = 0, 2, ...
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from rf.variance.radii.projection import projection_of, sphere_harmonics, sphere_rule
from spectra.base.arrays import FloatArray, panel_rule
from spectra.base.special.harmonics import wave_coefficients

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = [
    "NODES",
    "approximate_stratum_means",
    "composite_rule",
    "stratum_means",
]

# Gauss points of one stratum, fine and coarse; the coarse ones tell the error.
NODES = (6, 4)
# Fewer strata need panels inside every one; more are far from the ends of the law.
_FEW = 8
# Values of cosines that are held at one time (32 MB).
_CHUNK = 4_000_000
# Panels of an outer stratum halve towards the end of the law so often.
_LEVELS = 12
# A break counts as a jump of the radius from this relative size on: joins of panels are below, and
# a smaller step does not affect a quadrature.
_JUMP = 1e-6
# Jumps nearer to the ends of the law than this weigh less than the error of the strata.
_END = 2.0**-30
# Cubic splines of this step err by h^4 / 384 = 6e-7 in a wave of frequency at most 1, and are made
# up to phases between these.
_STEP = 1.0 / 8.0
_LEAST_REACH, _REACH = 32.0, 512.0


def stratum_means(
    law: RadialLaw, n: int, lengths: FloatArray, dim: int, panels: int, degree: int, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Means of g_m(R z), m = 0, 2, ..., degree, over each of the n strata of a law, at lengths z.

    Returns ``missing`` (n, points): sum of the squares of higher degrees.
    """
    (s, weights), basis = sphere_rule(dim, panels), sphere_harmonics(dim, panels, degree).T
    means = np.empty((n, lengths.size, basis.shape[1]))
    missing = np.empty(means.shape[:2])
    for j, z in enumerate(lengths.tolist()):
        waves = _stratum_waves(law, n, z * s, nodes)
        means[:, j] = waves @ basis
        missing[:, j] = waves**2 @ weights - np.sum(means[:, j] ** 2, axis=1)
    return means, np.maximum(missing, 0.0)


def approximate_stratum_means(
    law: RadialLaw, n: int, lengths: FloatArray, dim: int, degree: int, whole: FloatArray
) -> FloatArray:
    """As :func:`stratum_means` at many points, from tabulated waves and the coarse nodes.

    ``whole`` are the means over the law, shape (points, degrees).
    """
    radii, weights, starts = _stratum_rule(law, n, NODES[-1])
    waves = _even_waves(dim, degree, np.multiply.outer(radii[: starts[-1]], lengths))
    waves *= weights[: starts[-1], None, None]
    out = np.empty((n, *whole.shape))
    if n > 1:
        out[:-1] = n * np.add.reduceat(waves, starts[:-1], axis=0)
    # The last stratum has the tail, which no nodes resolve: it is what the others leave.
    out[-1] = n * whole - out[:-1].sum(axis=0)
    return out


def _stratum_waves(law: RadialLaw, n: int, x: FloatArray, nodes: int) -> FloatArray:
    """Means of cos(R x) over each stratum, shape (n, len(x))."""
    whole, _ = projection_of(law)(x)
    waves = np.empty((n, x.size))
    radii, weights, starts = _stratum_rule(law, n, nodes)
    step = max(1, _CHUNK // (x.size * max(1, radii.size // n)))
    for low in range(0, n - 1, step):
        high = min(low + step, n - 1)
        part = slice(starts[low], starts[high])
        cosines = np.cos(np.multiply.outer(radii[part], x))
        cosines *= weights[part, None]
        waves[low:high] = np.add.reduceat(cosines, starts[low:high] - starts[low], axis=0)
    waves[:-1] *= n
    # The last stratum has the tail, which no nodes resolve: it is what the others leave.
    waves[-1] = n * whole - waves[:-1].sum(axis=0)
    return waves


# Kept, since all distances and several splits need the same radii.
@lru_cache(maxsize=64)
def _stratum_rule(
    law: RadialLaw, n: int, nodes: int
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Radii and weights in the order of the strata, and where each stratum starts."""
    u, weights = composite_rule(_inner_edges(law, n), nodes)
    return law.ppf(u), weights, np.searchsorted(u, np.arange(n) / n)


def _inner_edges(law: RadialLaw, n: int) -> FloatArray:
    """Edges of all strata, with the jumps of the law and, near its ends, finer panels."""
    edges = np.arange(n + 1.0) / n
    graded = _graded_edges()
    inside = np.arange(n)[:, None] + graded if n <= _FEW else np.stack([graded, n - 2 + graded])
    return np.union1d(np.union1d(edges, inside.ravel() / n), _jumps(law))


@lru_cache(maxsize=64)
def _jumps(law: RadialLaw) -> FloatArray:
    """The u in (0, 1) at which the radius jumps: atoms, and gaps of the density."""
    u = _breaks(law)
    u = u[(u > _END) & (u < 1.0 - _END)]
    below, above = law.ppf(np.nextafter(u, 0.0)), law.ppf(np.nextafter(u, 1.0))
    return np.asarray(u[above - below > _JUMP * (above + below)])


def _graded_edges() -> FloatArray:
    """Edges on [0, 1] that halve towards both ends."""
    half = np.concatenate([[0.0], 2.0 ** -np.arange(_LEVELS, 0.0, -1.0)])
    return np.concatenate([half, 1.0 - half[-2::-1]])


def composite_rule(edges: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre points and weights on the panels between ``edges``."""
    points, weights = panel_rule(edges[:-1], edges[1:], nodes)
    return points.ravel(), weights.ravel()


def _breaks(law: RadialLaw) -> FloatArray:
    """The u in (0, 1) at which the inverse CDF passes from one panel to the next."""
    u = np.where(law.edges < 0.0, 1.0 + law.edges, law.edges)
    return np.asarray(np.unique(u[(u > 0.0) & (u < 1.0)]))


def _even_waves(dim: int, degree: int, x: FloatArray) -> FloatArray:
    """(-1)^(n/2) g_n(x) of the harmonics for n = 0, 2, ..., along a last axis, to 1e-6.

    The signs are those of the expansion of one plane wave.
    """
    flat = x.ravel()
    near = flat <= _REACH
    reach = max(_LEAST_REACH, 2.0 ** np.ceil(np.log2(flat[near].max(initial=1.0))))
    values = _even_spline(dim, degree, float(reach))(np.where(near, flat, 0.0))
    if not near.all():
        values[~near] = _even_values(dim, degree, flat[~near])
    return np.asarray(values.reshape(*x.shape, degree // 2 + 1))


@lru_cache(maxsize=16)
def _even_spline(dim: int, degree: int, reach: float) -> CubicSpline:
    knots = np.arange(0.0, reach + _STEP, _STEP)
    return CubicSpline(knots, _even_values(dim, degree, knots))


def _even_values(dim: int, degree: int, x: FloatArray) -> FloatArray:
    values = wave_coefficients(dim, degree, x)[::2].T
    values[:, 1::2] *= -1.0
    return values
