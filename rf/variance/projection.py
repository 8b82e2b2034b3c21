r"""Tables of phi(x) = E cos(R x) for the law of a radius R, from which every variance follows.

With the coordinate s of a uniform direction along the difference of two points,

.. math:: E\,\Omega_d(R z) = E_s\,\phi(z s), \qquad
          H_n(z) = E\,g_n(R z) = \pm \sqrt{N(n, d)}\; E_s[\phi(z s) P_n(s)]

(Funk and Hecke; n even, g_n of :mod:`spectra.base.special.harmonics`).  So phi is tabulated once
for a law, from values that include its whole tail, and the rest is one matrix product.

A stratified radius i of n lies in a stratum a_i of mass 1/n, and the strata of one part are dealt
in random order.  With the means A_a of g_m(R z) over the strata,

.. math:: E[g_m(R_i z)\, g_m(R_j z)] = \frac{1}{n (n - 1)}
          \sum_a \Bigl(\sum_{a'} A_{a'} - A_a\Bigr) A_a, \qquad i \ne j,

for m = 0, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from rf.variance.wave_projection import Grid, evaluate_grid, make_grid, panels_with_cusps
from spectra.base.arrays import FloatArray, panel_rule
from spectra.base.special.harmonics import orthonormal_sequence, wave_coefficients

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = [
    "STRATUM_NODES",
    "Projection",
    "approximate_stratum_means",
    "projection_of",
    "sphere_harmonics",
    "sphere_rule",
    "stratum_means",
]

# Largest error of phi on a panel, times the panel's share of the range.
_TOLERANCE = 1e-10
_DEGREE = 16
# x = width y^4 turns the power x^(2 nu) that a tail leaves at 0 into one that polynomials of this
# degree reach.
_ROOT = 4
_ROOT_DEGREE = 32
# Most halvings of a panel, which then has 2^-24 of the range and is kept with any error.
_HALVINGS = 24
# A panel: its lower end and width; whether it begins at 0, and so is a polynomial in x^(1/4); its
# truncation error; Chebyshev coefficients.
_PANEL = np.dtype(
    [
        ("low", float),
        ("width", float),
        ("rooted", bool),
        ("error", float),
        ("row", float, (_ROOT_DEGREE + 1,)),
    ]
)
# Estimators in threads share what is known of a law; only one of them adds to it at a time.
_EXTENDING = Lock()
# Up to this number, values of a law with a tail of waves come from the law itself.
_FEW_VALUES = 16
# Points whose polynomials are summed at one time.
_CHUNK = 1 << 15
# The share of the sphere beyond the last node is exp(-_FAR): by Cauchy and Schwarz a harmonic of
# any degree lacks no more than exp(-_FAR / 2).
_FAR = 70.0
_PANEL_NODES = 16
_FIRST_PANEL_NODES = 32
# Gauss points of one stratum, fine and coarse; the difference of the results is the error.
STRATUM_NODES = (6, 4)
# Up to this many strata all have finer panels towards their ends; of more, only the outer ones.
_FEW = 8
# Values of cosines that are held at one time (32 MB).
_COSINES = 4_000_000
# How many times these panels are halved towards an end of the stratum.
_LEVELS = 12
# The inverse CDF jumps at a break if the radius changes by more than this, relative to its size.
# Between adjoining panels it changes less, and a smaller change does not affect a quadrature.
_JUMP = 1e-6
# Jumps nearer to the ends of the law than this weigh less than the error of the strata.
_END = 2.0**-30
# Cubic splines of this step err by h^4 / 384 = 6e-7 in a wave of frequency at most 1, and are made
# up to phases between these.
_STEP = 1.0 / 8.0
_LEAST_REACH, _REACH = 32.0, 512.0


@final
class Projection:
    """phi(x) = E cos(R x) of one law on [0, reach], as Chebyshev polynomials on panels.

    The range grows by octaves as larger x are asked for; the panel at 0 is a polynomial in the
    fourth root of x, because a tail like w^(-2 nu - 1) leaves a power x^(2 nu) there.  A law with
    a tail of waves has a Fourier grid in place of panels.
    """

    def __init__(self, law: RadialLaw) -> None:
        self._law = law
        self._reach = 0.0
        # Replaced and never changed: who reads it while another thread extends sees what was there.
        self._panels = np.zeros(0, _PANEL)
        self._grid: Grid | None = None

    def panels_to(self, x_max: float) -> int:
        """Panels on the octaves up to x_max: a measure of how much phi moves there."""
        if self._law.tail is not None:
            return panels_with_cusps(self._law, x_max)
        self.extend(x_max)
        return int(np.searchsorted(self._panels["low"], _octave(x_max)))

    def extend(self, x_max: float) -> None:
        """Make [0, x_max] part of the range."""
        if x_max <= self._reach or x_max == 0.0:
            return
        with _EXTENDING:
            if self._reach == 0.0:
                # The first panels end at 1/4, 1/2 and 1 times the least power of 2 >= x_max.
                self._extend_by(np.array([0.0, 0.25, 0.5, 1.0]) * _octave(x_max))
            while self._reach < x_max:
                self._extend_by(np.array([1.0, 1.5, 2.0]) * self._reach)

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and the truncation error of its polynomials there."""
        flat, x_max = x.ravel(), float(x.max(initial=0.0))
        if self._law.tail is not None:
            if x.size <= _FEW_VALUES or not x_max:
                return self._law.plane_wave_enclosure(1, x)
            grid = self._grid
            if grid is None or x_max > grid[0]:
                self._grid = grid = make_grid(self._law, _octave(x_max))
            value, error = evaluate_grid(self._law, grid, flat)
            return value.reshape(x.shape), error.reshape(x.shape)
        self.extend(x_max)
        value, error = np.ones(flat.size), np.zeros(flat.size)
        if self._panels.size:
            for start in range(0, flat.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                value[part], error[part] = self._evaluate(flat[part])
        return value.reshape(x.shape), error.reshape(x.shape)

    def _evaluate(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        panels = self._panels
        index = np.searchsorted(panels["low"], x, side="right") - 1
        low, width, rooted = (panels[name][index] for name in ("low", "width", "rooted"))
        share = np.clip((x - low) / width, 0.0, 1.0)
        value, error = np.empty_like(x), panels["error"][index]
        rows = panels["row"]
        value[~rooted] = _series(rows[index[~rooted], : _DEGREE + 1], share[~rooted])
        value[rooted] = _series(rows[index[rooted]], share[rooted] ** (1.0 / _ROOT))
        return value, error

    def _extend_by(self, edges: FloatArray) -> None:
        """Panels between neighboring edges."""
        low, width = edges[:-1], np.diff(edges)
        first = low == 0.0
        more = [
            *self._refine(low[first], width[first], True),
            *self._refine(low[~first], width[~first], False),
        ]
        panels = np.concatenate([self._panels, *more])
        self._panels = panels[np.argsort(panels["low"])]
        self._reach = float(edges[-1])

    def _refine(
        self, low: FloatArray, width: FloatArray, rooted: bool
    ) -> Iterator[NDArray[np.void]]:
        """Panels from ``low``, halved until their errors are within the tolerance."""
        whole = float(width.sum())
        for halving in range(_HALVINGS + 1):
            panels = self._fit(low, width, rooted)
            weight = np.minimum(width / whole, 1.0)
            good = (panels["error"] * weight <= _TOLERANCE) | (halving == _HALVINGS)
            yield panels[good]
            low, width = low[~good], 0.5 * width[~good]
            if not low.size:
                return
            if rooted:
                yield from self._refine(low + width, width, False)
            else:
                low, width = np.concatenate([low, low + width]), np.concatenate([width, width])

    def _fit(self, low: FloatArray, width: FloatArray, rooted: bool) -> NDArray[np.void]:
        y, inverse = _chebyshev_fit(_ROOT_DEGREE if rooted else _DEGREE)
        x = low[:, None] + width[:, None] * (y**_ROOT if rooted else y)
        value, error = self._law.plane_wave_enclosure(1, x)
        rows = np.asarray(value @ inverse.T)
        panels = np.zeros(low.size, _PANEL)
        panels["low"], panels["width"], panels["rooted"] = low, width, rooted
        panels["row"][:, : y.size] = rows
        # The coefficients fall at least geometrically where they are resolved.
        panels["error"] = 2.0 * np.abs(rows[:, -3:]).sum(axis=1) + error.max(axis=1)
        return panels


def _series(rows: FloatArray, y: FloatArray) -> FloatArray:
    """Each row of Chebyshev coefficients at a point of [0, 1]."""
    return np.asarray(chebyshev.chebval(2.0 * y - 1.0, rows.T, tensor=False))


def _octave(x_max: float) -> float:
    """The least power of 2 that is no less, and 0 for 0."""
    return float(2.0 ** np.ceil(np.log2(x_max))) if x_max > 0.0 else 0.0


@lru_cache(maxsize=2)
def _chebyshev_fit(degree: int) -> tuple[FloatArray, FloatArray]:
    """Points on [0, 1], and the matrix from values there to coefficients."""
    t = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    return 0.5 * (1.0 + t), np.asarray(np.linalg.inv(chebyshev.chebvander(t, degree)), dtype=float)


# A table is asked for its variance again and again; the values of phi are what that costs.
_KNOWN: WeakKeyDictionary[RadialLaw, Projection] = WeakKeyDictionary()


def projection_of(law: RadialLaw) -> Projection:
    """The projection of a law, which remembers what it has tabulated as long as the law lives."""
    if law not in _KNOWN:
        _KNOWN[law] = Projection(law)
    return _KNOWN[law]


@lru_cache(maxsize=16)
def sphere_harmonics(dim: int, panels: int, degree: int) -> FloatArray:
    """sqrt(N(n, d)) P_n(s) times the weights of a rule, n = 0, 2, ..., degree: shape (n, m)."""
    s, weights = sphere_rule(dim, panels)
    if degree == 0:
        return weights[None]
    values = np.array(list(islice(orthonormal_sequence(dim, s), 0, degree + 1, 2)))
    values *= weights
    values.setflags(write=False)
    return values


@lru_cache(maxsize=12)
def sphere_rule(dim: int, panels: int) -> tuple[FloatArray, FloatArray]:
    r"""Nodes and weights for E_s f(s), f even, s the coordinate of a uniform direction.

    Its density is proportional to (1 - s^2)^((d-3)/2); s = 1 for d = 1.

    s = sin(psi) makes the density cos(psi)^(d-2), and the first panel is taken in the fourth root
    of psi, so that a power of s at 0 costs nothing.
    """
    if dim == 1:
        return np.ones(1), np.ones(1)
    end = 0.5 * np.pi if dim == 2 else float(np.arccos(np.exp(-_FAR / (dim - 2))))
    edges = np.linspace(0.0, end, panels + 1)
    x, w = np.polynomial.legendre.leggauss(_FIRST_PANEL_NODES)
    y = 0.5 * (1.0 + x)
    psi = [edges[1] * y**_ROOT]
    weights = [0.5 * w * edges[1] * _ROOT * y ** (_ROOT - 1)]
    x, w = np.polynomial.legendre.leggauss(_PANEL_NODES)
    half = 0.5 * edges[1]
    psi.append((edges[1:-1, None] + half * (1.0 + x)).ravel())
    weights.append(np.tile(half * w, panels - 1))
    angle = np.concatenate(psi)
    mass = np.concatenate(weights) * np.cos(angle) ** (dim - 2)
    mass /= mass.sum()
    s = np.sin(angle)
    s.setflags(write=False)
    mass.setflags(write=False)
    return s, mass


# --- strata ---------------------------------------------------------------------------------------


def stratum_means(
    law: RadialLaw, n: int, lengths: FloatArray, dim: int, panels: int, degree: int, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Means of g_m(R z), m = 0, 2, ..., degree, over each of the n strata of a law, at lengths z.

    Returns the means, and ``missing`` (n, points): sum of the squares of higher degrees.
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
    radii, weights, starts = _stratum_rule(law, n, STRATUM_NODES[-1])
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
    step = max(1, _COSINES // (x.size * max(1, radii.size // n)))
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
    edges = _inner_edges(law, n)
    u, weights = (each.ravel() for each in panel_rule(edges[:-1], edges[1:], nodes))
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
