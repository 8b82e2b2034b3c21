r"""Means of plane waves and of their spherical coefficients over laws of radii.

What the coupling of *directions* does to a variance is in the cosines (:mod:`rf.harmonics`); what
the law and the coupling of the *radii* do is here: H_n = E g_n(R z) for independent radii, their
products over pairs of strata, and the joint mean for radii that share one uniform number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rf.designed_directions import designed_cosines
from rf.harmonics import gegenbauer_means, haar_cosine, wave_coefficients
from spectra.special import plane_wave_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spectra.table import RadialLaw

__all__ = ["MEAN_ERROR", "Waves", "comonotone_mean", "hadamard_order"]

FloatArray = NDArray[np.float64]

# What the laws promise for their expected plane waves; a variance needs a few of them.
MEAN_ERROR = 1e-12
# The bound of what is left out of a covariance of two cosines should come below this, far below
# any variance that an experiment can see.
_TOLERANCE = 1e-10
_FIRST_DEGREE = 16
# Radii are kept up to this phase R z at first, and to twice as much where the bound asks for it.
_FIRST_PHASE = 64.0
# Wave coefficients that one resolution may cost: about a second.
_BUDGET = 15_000_000
# Sums of weights are 1 up to this.
_ROUNDING = 1e-14
# Wave coefficients held at one time (32 MB of doubles).
_CHUNK = 4_000_000
# Panels of the quadrature in the common u of two laws: down to 2**-_DYADIC on both sides.
_DYADIC = 50
_PANEL_NODES = 12
# Phase that one panel of _PANEL_NODES Gauss points integrates to rounding error.
_PANEL_PHASE = 6.0
_MOST_PANELS = 100
# Quadrature inside a stratum: the more strata, the less an end of the law weighs.
_STRATUM_NODES = 6
_STRATUM_LEVELS = 12
# A break counts as a jump of the radius from this relative size on: joins of panels are far below.
_JUMP = 1e-9
# Jumps nearer to the ends of the law than this weigh less than the error of the strata.
_END = 2.0**-40


@dataclass(frozen=True)
class _Means:
    """What is kept of one law: H_n = E[g_n(R z); R z <= phase], n = 2, 4, ..., at each z."""

    harmonics: FloatArray
    beyond: FloatArray  # sum of E g_n^2 over the even n beyond the degree
    dropped: FloatArray  # P(R z > phase), and the share that no node stands for
    dropped_half: FloatArray  # P(R z > phase / 2)
    reach: FloatArray  # every dropped phase R z is at least this large


class Waves:
    """Covariances of pairs of cosines from H_n = E g_n(R z), to degrees that are high enough.

    Radii with R z beyond a phase are left out; what they could add is bounded through the decay of
    plane waves.  Degree and phase grow until the bound is below 1e-10 or the budget is spent,
    which only a law with a slow tail does.
    """

    def __init__(self, dim: int, laws: Sequence[RadialLaw], z: FloatArray) -> None:
        self._dim = dim
        self._laws = laws
        self._z = z
        self._degree = 0
        self._phase = _FIRST_PHASE
        self._means: list[_Means] = []
        self._elements = 0

    def _extend(self, degree: int, phase: float) -> None:
        self._degree, self._phase, self._elements = degree, phase, 0
        self._means = [self._integrate(law) for law in self._laws]

    def _integrate(self, law: RadialLaw) -> _Means:
        z, phase = self._z, self._phase
        harmonics = np.zeros((self._degree // 2, z.size))
        beyond, dropped, dropped_half = np.zeros_like(z), np.zeros_like(z), np.zeros_like(z)
        reach = np.full_like(z, phase)
        octave = np.full(z.shape, -np.inf)
        octave[z > 0] = np.floor(np.log2(z[z > 0]))
        for value in np.unique(octave[z > 0]):
            group = np.flatnonzero(octave == value)
            radii, weights, leftover = law.nodes(float(z[group].max()))
            farthest = float(radii.max(initial=0.0))
            near = radii <= phase / z[group].min()
            radii, weights = radii[near], weights[near]
            rows = max(1, _CHUNK // (max(radii.size, 1) * (self._degree + 1)))
            for at in range(0, group.size, rows):
                here = group[at : at + rows]
                x = radii * z[here, None]
                inside = np.where(x <= phase, weights, 0.0)
                g = wave_coefficients(self._dim, self._degree, x)[::2]
                self._elements += g.size
                harmonics[:, here] = np.einsum("nzr,zr->nz", g[1:], inside)
                # the squares of all even coefficients add up to E cos^2 = (1 + Omega(2x)) / 2
                whole = 0.5 + 0.5 * plane_wave_mean(self._dim, 2.0 * x)
                missing = np.maximum(whole - np.sum(g**2, axis=0), 0.0) + MEAN_ERROR
                beyond[here] = np.sum(inside * missing, axis=1)
                dropped[here] = _share(1.0 - inside.sum(axis=1))
                half = np.where(x <= 0.5 * phase, weights, 0.0)
                dropped_half[here] = _share(1.0 - half.sum(axis=1))
                if leftover > 0:
                    reach[here] = np.minimum(phase, farthest * z[here])
        return _Means(harmonics, beyond, dropped, dropped_half, reach)

    def _truncation(self, first: _Means, second: _Means, kind: str) -> FloatArray:
        """Bound of what the dropped radii add to the covariance of a pair."""
        dropped = first.dropped + second.dropped
        reach = np.minimum(first.reach, second.reach)
        product = dropped * _envelope(self._dim, reach)
        if kind == "same":
            # |R - R'| is large unless both radii are.
            joint = dropped * _envelope(self._dim, 0.5 * reach)
            return product + joint + 2.0 * first.dropped_half * second.dropped_half
        if not np.any(dropped):
            return product
        c, weights = _cosine(kind, self._dim, 2)
        # The length of R u +- R' v is at least R sqrt(1 - c^2).
        lengths = np.multiply.outer(reach, np.sqrt(1.0 - c**2))
        return product + dropped * (_envelope(self._dim, lengths) @ weights)

    def _resolve(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Even means E P_n(c), n = 2, 4, ..., to a degree that is enough, and the error bound."""
        if not self._means:
            self._extend(_FIRST_DEGREE, _FIRST_PHASE)
        while True:
            cosines, weights = _cosine(kind, self._dim, self._degree)
            means, beyond = gegenbauer_means(self._dim, self._degree, cosines, weights)
            cost = max(self._elements, cosines.size * self._degree)
            a, b = self._means[first], self._means[second]
            remainder = beyond * np.sqrt(a.beyond * b.beyond)
            truncation = self._truncation(a, b, kind)
            error = remainder + truncation + MEAN_ERROR
            if np.all(error <= _TOLERANCE) or 4 * cost > _BUDGET:
                return means[2::2], error
            if remainder.max() > max(_TOLERANCE, 0.1 * truncation.max()):
                self._extend(2 * self._degree, self._phase)
            else:
                self._extend(self._degree, 2.0 * self._phase)

    def covariance(self, first: int, second: int, kind: str) -> tuple[FloatArray, FloatArray]:
        """Sum over even n >= 2 of H_n H'_n E P_n(c), and a bound of its error."""
        means, error = self._resolve(first, second, kind)
        products = self._means[first].harmonics * self._means[second].harmonics
        return means @ products, error

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
        means, truncation = np.zeros(0), np.zeros_like(self._z)
        if kind:
            means, truncation = self._resolve(first, second, kind)
        results = []
        for nodes in (_STRATUM_NODES, _STRATUM_NODES - 2):
            pairs = self._strata_pairs(first, second, n, radii, means.size, nodes)
            results.append((pairs[0], means @ pairs[1:]))
        error = sum(np.abs(fine - rough) for fine, rough in zip(*results, strict=True))
        return *results[0], np.asarray(error) + truncation + MEAN_ERROR

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
            g = [self._even_waves(r * z, degrees) for r in radius]
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

    def _even_waves(self, x: FloatArray, degrees: int) -> FloatArray:
        """g_m(x), m = 0, 2, ..., and 0 for m > 0 where the phase is beyond the one kept."""
        waves = np.zeros((degrees + 1, *x.shape))
        near = x <= self._phase
        waves[0] = plane_wave_mean(self._dim, x)
        if degrees:
            waves[1:, near] = wave_coefficients(self._dim, 2 * degrees, x[near])[2::2]
        return waves


def _share(probability: FloatArray) -> FloatArray:
    """A probability from 1 minus a sum, or 0 where it is a rounding error."""
    return np.where(probability > _ROUNDING, probability, 0.0)


def _envelope(dim: int, x: FloatArray) -> FloatArray:
    r"""Bound of |Omega_d| on [x, inf): |J_v(x)| <= (2/pi)^(1/2) (x^2 - v^2)^(-1/4), x > v >= 0.

    Source: J_v^2 + Y_v^2 and Nicholson's integral, Watson (1944), section 13.74; v = 0 included.
    """
    order = 0.5 * dim - 1.0
    bound = np.ones_like(x)
    if dim > 1:
        far = x > order + 1.0
        y = x[far]
        log = gammaln(0.5 * dim) + order * np.log(2.0 / y) + 0.5 * np.log(2.0 / np.pi)
        bound[far] = np.exp(np.minimum(log - 0.25 * np.log(y**2 - order**2), 0.0))
    return bound


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
    if name == "designed":
        return designed_cosines(int(order), dim)
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
