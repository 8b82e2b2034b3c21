r"""Means of plane waves and of their spherical coefficients over laws of radii.

What the coupling of *directions* does to a variance is in the cosines (:mod:`rf.harmonics`); what
the law and the coupling of the *radii* do is here: H_n = E g_n(R z) for independent radii, their
products over pairs of strata, and the joint mean for radii that share one uniform number.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rf.harmonics import gegenbauer_means, haar_cosine, wave_coefficients
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "Waves", "comonotone_mean", "hadamard_order"]

FloatArray = NDArray[np.float64]

# What the laws promise for their expected plane waves; a variance needs a few of them.
MEAN_ERROR = 1e-12
# Degrees of the harmonic sum are doubled until the bound of what is left out is below this part
# of the squared mass, far below any variance that an experiment can see.
_TOLERANCE = 1e-10
_FIRST_DEGREE = 16
_LAST_DEGREE = 1024
# Wave coefficients held at one time (32 MB of doubles).
_CHUNK = 4_000_000
# Panels of the quadrature in the common u of two laws: down to 2**-_DYADIC on both sides.
_DYADIC = 50
_PANEL_NODES = 12
# Phase that one panel of _PANEL_NODES Gauss points integrates to rounding error.
_PANEL_PHASE = 6.0
_MOST_PANELS = 400
# Quadrature inside a stratum: the more strata, the less an end of the law weighs.
_STRATUM_NODES = 6
_STRATUM_LEVELS = 12
# A break counts as a jump of the radius from this relative size on: joins of panels are far below.
_JUMP = 1e-9
# Jumps nearer to the ends of the law than this weigh less than the error of the strata.
_END = 2.0**-40


class Waves:
    """H_n = E g_n(R z) of several laws, to a degree that grows until the covariances are exact."""

    def __init__(
        self, dim: int, laws: Sequence[RadialLaw], z: FloatArray, mean_square: FloatArray
    ) -> None:
        self._dim = dim
        self._laws = laws
        self._z = z
        self._mean_square = mean_square
        self._degree = 0
        self._means: list[FloatArray] = []
        self._beyond: list[FloatArray] = []
        self._leftover: list[float] = []

    def _extend(self, degree: int) -> None:
        dim = self._dim
        self._degree, self._means, self._beyond, self._leftover = degree, [], [], []
        z_max = float(self._z.max(initial=0.0))
        for number, law in enumerate(self._laws):
            # E g_n^2 holds phases of twice the distance.
            radii, weights, leftover = law.nodes(2.0 * z_max)
            means = np.empty((degree // 2, self._z.size))
            within = np.empty_like(self._z)
            rows = max(1, _CHUNK // (radii.size * (degree + 1)))
            for at in range(0, self._z.size, rows):
                here = slice(at, at + rows)
                g = wave_coefficients(dim, degree, radii * self._z[here, None])[::2]
                means[:, here] = g[1:] @ weights
                within[here] = np.sum(g**2, axis=0) @ weights
            self._means.append(means)
            # sum over even n of E g_n^2 is E cos^2: what is missing lies beyond the degree
            missing = self._mean_square[number] - within
            self._beyond.append(np.maximum(missing, 0.0) + MEAN_ERROR)
            self._leftover.append(float(leftover))

    def _resolve(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Even means E P_n(c), n = 2, 4, ..., to a degree that is enough, and what lies beyond."""
        degree = max(self._degree, _FIRST_DEGREE)
        while True:
            if degree != self._degree:
                self._extend(degree)
            means, beyond = gegenbauer_means(self._dim, degree, *_cosine(kind, self._dim, degree))
            remainder = beyond * np.sqrt(self._beyond[first] * self._beyond[second])
            if degree >= _LAST_DEGREE or np.all(remainder <= _TOLERANCE):
                return means[2::2], remainder
            degree *= 2

    def covariance(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error."""
        means, remainder = self._resolve(first, second, kind)
        products = self._means[first] * self._means[second]
        lost = self._leftover[first] + self._leftover[second]
        return means @ products, remainder + lost + MEAN_ERROR

    def strata_covariance(
        self, first: int, second: int, n: int, radii: str, kind: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        r"""Covariances of cosines i != j whose radii lie in different strata of one draw.

        Radius i of n belongs to a stratum of mass 1/n that is drawn without replacement;
        ``radii`` is "stratified" (independent within the strata) or "systematic" (one uniform
        number for all).  Both laws are read at the same strata.

        Returns
        -------
        radial, angular, error : ndarray
            What any two share through the radii, E Omega(R_i z) Omega(R_j z) - k~ k~; the sum
            over n >= 2 for a pair of the given kind of cosine ("" for none); an estimate of the
            error, from two quadratures.
        """
        means = self._resolve(first, second, kind)[0] if kind else np.zeros(0)
        results = []
        for nodes in (_STRATUM_NODES, _STRATUM_NODES - 2):
            pairs = self._strata_pairs(first, second, n, radii, means.size, nodes)
            results.append((pairs[0], means @ pairs[1:]))
        error = sum(np.abs(fine - rough) for fine, rough in zip(*results, strict=True))
        return *results[0], np.asarray(error) + MEAN_ERROR

    def _strata_pairs(
        self, first: int, second: int, n: int, radii: str, degrees: int, nodes: int
    ) -> FloatArray:
        """Mean over i != j of g_m(R_i z) g_m(R'_j z), m = 0, 2, ...; for m = 0 less the product."""
        laws = [self._laws[first]] if first == second else [self._laws[first], self._laws[second]]
        jumps = np.unique(np.concatenate([_jumps(law) for law in laws]))
        layers = (np.arange(n)[:, None] + _stratum_edges(n)) / n
        if radii == "systematic":
            # One offset for all strata: they share the places of all jumps.
            offsets, weights = _rule(np.union1d(_stratum_edges(n), (jumps * n) % 1.0), nodes)
            u = (np.arange(n)[:, None] + offsets) / n
        else:
            u, weights = _rule(np.union1d(layers, jumps), nodes)
            starts = np.searchsorted(u, np.arange(n) / n)
        radius = [law.ppf(u) for law in laws]
        result = np.empty((degrees + 1, self._z.size))
        for at, z in enumerate(self._z):
            g = [
                wave_coefficients(self._dim, 2 * degrees, r * z)[::2]
                if degrees
                else plane_wave_mean(self._dim, r * z)[None]
                for r in radius
            ]
            a, b = g[0], g[-1]
            if radii == "systematic":
                both = (a.sum(axis=1) * b.sum(axis=1) - (a * b).sum(axis=1)) @ weights
                mean_a, mean_b = (a[0] @ weights).mean(), (b[0] @ weights).mean()
            else:
                strata_a, strata_b = (np.add.reduceat(x * weights, starts, axis=1) for x in (a, b))
                both = strata_a.sum(axis=1) * strata_b.sum(axis=1) * n**2
                both = both - (strata_a * strata_b).sum(axis=1) * n**2
                mean_a, mean_b = strata_a[0].sum(), strata_b[0].sum()
            both /= n * (n - 1)
            both[0] -= mean_a * mean_b
            result[:, at] = both
        return result


def _breaks(law: RadialLaw) -> FloatArray:
    """The u in (0, 1) at which the inverse CDF passes from one panel to the next."""
    u = np.concatenate([law.left.edges, 1.0 - law.right.edges])
    return np.asarray(np.unique(u[(u > 0.0) & (u < 1.0)]))


def _jumps(law: RadialLaw) -> FloatArray:
    """Those breaks at which the radius jumps: atoms, and gaps of the density."""
    u = _breaks(law)
    u = u[(u > _END) & (u < 1.0 - _END)]
    below, above = law.ppf(np.nextafter(u, 0.0)), law.ppf(np.nextafter(u, 1.0))
    return np.asarray(u[above - below > _JUMP * (above + below)])


def _stratum_edges(n: int) -> FloatArray:
    """Panels of a unit stratum, graded to its ends where there are few strata."""
    levels = max(1, _STRATUM_LEVELS - n.bit_length())
    half = np.concatenate([[0.0], 2.0 ** -np.arange(levels, 0.0, -1.0)])
    return np.concatenate([half, 1.0 - half[-2::-1]])


def _rule(edges: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre points and weights on the panels between ``edges``."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    width = np.diff(edges)[:, None]
    points = edges[:-1, None] + 0.5 * width * (1 + x)
    return points.ravel(), (0.5 * width * w).ravel()


def hadamard_order(dim: int) -> int:
    """The power of two to which rows are padded before a Hadamard transform."""
    return 1 << (dim - 1).bit_length()


def _cosine(kind: str, dim: int, degree: int) -> tuple[FloatArray, FloatArray]:
    """The law of the cosine of a pair, as nodes and weights for even polynomials."""
    name, _, order = kind.partition(" ")
    if name == "haar":
        return haar_cosine(dim, int(order), degree)
    if name == "hadamard":
        return haar_cosine(dim, hadamard_order(dim), degree)
    value = {"orthogonal": 0.0, "same": 1.0, "simplex": -1.0 / dim}[name]
    return np.array([value]), np.ones(1)


def comonotone_mean(
    dim: int, first: RadialLaw, second: RadialLaw, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E[cos a cos b] for one direction and radii that are one function of a common uniform u.

    It is (1/2) E[Omega_d((R + R') z) + Omega_d((R - R') z)], integrated over u on panels that
    halve towards both ends; the error compares two orders and adds the mass of the panels whose
    phase no quadrature resolves.
    """
    z_max = float(z.max(initial=0.0))
    fine, coarse = np.zeros_like(z), np.zeros_like(z)
    lost = 2.0 * 2.0**-_DYADIC
    dyadic = 2.0 ** -np.arange(_DYADIC, 0.0, -1.0)
    breaks = np.union1d(_breaks(first), _breaks(second))
    lower = np.union1d(dyadic, breaks[(breaks > dyadic[0]) & (breaks < 0.5)])
    upper = np.union1d(dyadic, (1.0 - breaks)[(breaks > 0.5) & (breaks < 1.0 - dyadic[0])])
    for edges, quantiles in (
        (lower, (first.ppf, second.ppf)),
        (upper, (first.isf, second.isf)),
    ):
        for low, high in pairwise(edges):
            inside = np.array([np.nextafter(low, 1.0), np.nextafter(high, 0.0)])
            span = sum(abs(float(np.diff(quantile(inside))[0])) for quantile in quantiles)
            panels = 1 + int(min(span * z_max / _PANEL_PHASE, 1e6))
            if panels > _MOST_PANELS:
                lost += high - low
                continue
            for total, nodes in ((fine, _PANEL_NODES), (coarse, _PANEL_NODES - 4)):
                u, weights = _rule(np.linspace(low, high, panels + 1), nodes)
                a, b = (quantile(u)[:, None] for quantile in quantiles)
                waves = plane_wave_mean(dim, (a + b) * z) + plane_wave_mean(dim, (a - b) * z)
                total += 0.5 * (weights @ waves)
    return fine, np.abs(fine - coarse) + lost
