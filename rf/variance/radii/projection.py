r"""The law of a radius seen along a line: phi(x) = E cos(R x), from which every variance follows.

With the coordinate s of a uniform direction along the difference of two points,

.. math:: E\,\Omega_d(R z) = E_s\,\phi(z s), \qquad
          H_n(z) = E\,g_n(R z) = \pm \sqrt{N(n, d)}\; E_s[\phi(z s) P_n(s)]

(Funk and Hecke; n even, g_n of :mod:`spectra.base.special.harmonics`).  So phi is tabulated once
for a law, from values that count its whole tail, and all the rest is one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from rf.variance.radii.lobed_projection import LobedProjection
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import orthonormal_sequence
from spectra.table.tails.lobed_tail import LobedTail
from spectra.table.tails.mixed_tail import MixedTail

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["Projection", "SphereRule", "projection_of", "sphere_rule"]

# The error of phi, weighed with the share of the range that it is made on.
_TOLERANCE = 1e-10
_DEGREE = 16
# x = end +- width y^4 turns the power x^(2 nu) that a tail leaves at 0, and lobes without end where
# their waves meet in phase, into one that polynomials of this degree reach.
_ROOT = 4
_ROOT_DEGREE = 32
# A panel at such a cusp is like so many in how much phi moves there: a rule halves towards it.
_LIKE_PANELS = 16
# Halvings of a panel.  The panel then weighs 2^-24 of the range, so nothing but its error counts.
_HALVINGS = 24
# How far a cusp is rounded, as a share of its distance.
_ROUNDING = 32.0 * float(np.finfo(float).eps)
# An edge so near to a cusp is none, in halves of their distance: what is steep there reaches over
# it, and the range goes on to the cusp, or to the end of the half beyond.
_BESIDE = 1e-3
# A panel: its lower end and width; of which end it takes the distance to the power 1/4: 1 the
# lower, -1 the upper, 0 none; what it may lack; Chebyshev coefficients.
_PANEL = np.dtype(
    [
        ("low", float),
        ("width", float),
        ("side", int),
        ("tail", float),
        ("row", float, (_ROOT_DEGREE + 1,)),
    ]
)
# Estimators in threads share what is known of a law; only one of them adds to it at a time.
_EXTENDING = Lock()
# Points whose polynomials are summed at one time.
_CHUNK = 1 << 15
# The share of the sphere beyond the last node is exp(-_FAR): by Cauchy and Schwarz a harmonic of
# any degree lacks no more than exp(-_FAR / 2).
_FAR = 70.0
_NODES = 16
_FIRST_NODES = 32


@final
class Projection:
    """phi(x) = E cos(R x) of one law on [0, reach], as Chebyshev polynomials on panels.

    The range grows by octaves as larger x are asked for; the panel at 0 is a polynomial in the
    fourth root of x, because a tail like w^(-2 nu - 1) leaves a power x^(2 nu) there.  Lobes
    without end, a period p apart, leave such powers on both sides of all multiples of 2 pi / p.
    """

    def __init__(self, law: RadialLaw) -> None:
        self._law = law
        tail = law.tail
        self._apart = 2.0 * np.pi / tail.period if isinstance(tail, LobedTail) else np.inf
        self._reach = 0.0
        # Replaced and never changed: who reads it while another thread extends sees what was there.
        self._panels = np.zeros(0, _PANEL)

    def panels_to(self, x_max: float) -> int:
        """Panels on the octaves up to x_max: a measure of how much phi moves there."""
        self.extend(x_max)
        panels = self._panels
        count = int(np.searchsorted(panels["low"], _octave(x_max)))
        cusps = int(np.count_nonzero(panels["side"][:count])) - 1
        return count + (_LIKE_PANELS - 1) * max(cusps, 0)

    def extend(self, x_max: float) -> None:
        """Make [0, x_max] part of the range."""
        if x_max <= self._reach or x_max == 0.0:
            return
        with _EXTENDING:
            if self._reach == 0.0:
                # A quarter of the octave that x_max lies in begins at 0; three more make it up.
                self._extend_by(np.array([0.0, 0.25, 0.5, 1.0]) * _octave(x_max))
            while self._reach < x_max:
                self._extend_by(np.array([1.0, 1.5, 2.0]) * self._reach)

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and what its polynomials may lack there."""
        self.extend(float(x.max(initial=0.0)))
        flat = x.ravel()
        value, error = np.ones(flat.size), np.zeros(flat.size)
        if self._panels.size:
            for start in range(0, flat.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                value[part], error[part] = self._evaluate(flat[part])
        return value.reshape(x.shape), error.reshape(x.shape)

    def _evaluate(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        panels = self._panels
        index = np.searchsorted(panels["low"], x, side="right") - 1
        low, width, side = (panels[name][index] for name in ("low", "width", "side"))
        share = np.clip((x - low) / width, 0.0, 1.0)
        share[side < 0] = 1.0 - share[side < 0]
        value, error = np.empty_like(x), panels["tail"][index]
        plain, rooted = side == 0, side != 0
        rows = panels["row"]
        value[plain] = _series(rows[index[plain], : _DEGREE + 1], share[plain])
        near, rows = share[rooted], rows[index[rooted]]
        value[rooted] = _series(rows, near ** (1.0 / _ROOT))
        # The place of a cusp is rounded, and what is steep there feels it.
        cusp = low + np.where(side < 0, width, 0.0)
        moved = (near + _ROUNDING * (cusp / width)[rooted]) ** (1.0 / _ROOT)
        error[rooted] += np.abs(_series(rows, moved) - value[rooted])
        return value, error

    def _extend_by(self, edges: FloatArray) -> None:
        """Panels between neighboring edges, cut at cusps and halfway between two of them."""
        ends, is_cusp = edges, edges == 0.0
        if self._apart < np.inf:
            halves = 0.5 * self._apart
            at, whole = edges / halves, np.round(edges / halves)
            near = (np.abs(at - whole) < _BESIDE) & (whole > 0.0)
            following = np.ceil(at * (1.0 - _ROUNDING))
            grid = np.arange(following[0], np.where(near, following, np.floor(at))[-1] + 1.0)
            ends = np.union1d(edges[~near], grid * halves)
            is_cusp = np.isin(ends, grid[grid % 2 == 0] * halves)
        low, width = ends[:-1], np.diff(ends)
        side = np.where(is_cusp[:-1], 1, np.where(is_cusp[1:], -1, 0))
        more = [
            panels
            for kind in (1, -1, 0)
            if np.any(side == kind)
            for panels in self._resolved(low[side == kind], width[side == kind], kind)
        ]
        panels = np.concatenate([self._panels, *more])
        self._panels = panels[np.argsort(panels["low"])]
        self._reach = float(edges[-1])

    def _resolved(
        self, low: FloatArray, width: FloatArray, side: int
    ) -> Iterator[NDArray[np.void]]:
        """Panels from ``low``, halved until what they lack weighs nothing."""
        whole = float(width.sum())
        for halving in range(_HALVINGS + 1):
            panels = self._fit(low, width, side)
            weight = np.minimum(width / whole, 1.0)
            good = (panels["tail"] * weight <= _TOLERANCE) | (halving == _HALVINGS)
            yield panels[good]
            low, width = low[~good], 0.5 * width[~good]
            if not low.size:
                return
            if side:
                at_cusp, beside = (low, low + width) if side > 0 else (low + width, low)
                yield from self._resolved(beside, width, 0)
                low = at_cusp
            else:
                low, width = np.concatenate([low, low + width]), np.concatenate([width, width])

    def _fit(self, low: FloatArray, width: FloatArray, side: int) -> NDArray[np.void]:
        y, inverse = _chebyshev_fit(_ROOT_DEGREE if side else _DEGREE)
        share = y**_ROOT if side else y
        x = low[:, None] + width[:, None] * (share if side >= 0 else 1.0 - share)
        value, error = self._law.plane_wave_enclosure(1, x)
        rows = np.asarray(value @ inverse.T)
        panels = np.zeros(low.size, _PANEL)
        panels["low"], panels["width"], panels["side"] = low, width, side
        panels["row"][:, : y.size] = rows
        # The coefficients fall at least geometrically where they are resolved.
        panels["tail"] = 2.0 * np.abs(rows[:, -3:]).sum(axis=1) + error.max(axis=1)
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
_KNOWN: WeakKeyDictionary[RadialLaw, Projection | LobedProjection] = WeakKeyDictionary()


def projection_of(law: RadialLaw) -> Projection | LobedProjection:
    """The projection of a law, which remembers what it has tabulated as long as the law lives.

    Examples
    --------
    >>> from spectra.table import RadialLaw
    >>> phi = projection_of(RadialLaw.from_atoms([2.0], [1.0]))
    >>> value, error = phi(np.array([0.0, 1.0, 30.0]))
    >>> bool(np.all(np.abs(value - np.cos([0.0, 2.0, 60.0])) <= error + 1e-12))
    True
    """
    if law not in _KNOWN:
        mixed = isinstance(law.tail, MixedTail)
        _KNOWN[law] = LobedProjection(law) if mixed else Projection(law)
    return _KNOWN[law]


@final
@dataclass(frozen=True, eq=False)
class SphereRule:
    """Quadrature in the coordinate s >= 0 of a uniform direction, for even functions.

    Attributes
    ----------
    s, weights : ndarray of shape (m,)
        The weights sum to 1.
    """

    dim: int
    s: FloatArray
    weights: FloatArray

    def harmonics(self, degree: int) -> FloatArray:
        """sqrt(N(n, d)) P_n(s) times the weights, n = 0, 2, ..., degree: shape (n, m)."""
        return _harmonics(self, degree)


@lru_cache(maxsize=16)
def _harmonics(rule: SphereRule, degree: int) -> FloatArray:
    if degree == 0:
        return rule.weights[None]
    values = np.array(list(islice(orthonormal_sequence(rule.dim, rule.s), 0, degree + 1, 2)))
    values *= rule.weights
    values.setflags(write=False)
    return values


@lru_cache(maxsize=12)
def sphere_rule(dim: int, panels: int) -> SphereRule:
    r"""Nodes for E_s f(s) with the density proportional to (1 - s^2)^((d-3)/2); s = 1 for d = 1.

    s = sin(psi) makes the density cos(psi)^(d-2), and the first panel is taken in the fourth root
    of psi, so that a power of s at 0 costs nothing.

    Examples
    --------
    >>> rule = sphere_rule(7, 4)
    >>> bool(abs(rule.weights @ rule.s**2 - 1 / 7) < 1e-14)
    True
    """
    if dim == 1:
        return SphereRule(1, np.ones(1), np.ones(1))
    end = 0.5 * np.pi if dim == 2 else float(np.arccos(np.exp(-_FAR / (dim - 2))))
    edges = np.linspace(0.0, end, panels + 1)
    x, w = np.polynomial.legendre.leggauss(_FIRST_NODES)
    y = 0.5 * (1.0 + x)
    psi = [edges[1] * y**_ROOT]
    weights = [0.5 * w * edges[1] * _ROOT * y ** (_ROOT - 1)]
    x, w = np.polynomial.legendre.leggauss(_NODES)
    half = 0.5 * edges[1]
    psi.append((edges[1:-1, None] + half * (1.0 + x)).ravel())
    weights.append(np.tile(half * w, panels - 1))
    angle = np.concatenate(psi)
    mass = np.concatenate(weights) * np.cos(angle) ** (dim - 2)
    mass /= mass.sum()
    s = np.sin(angle)
    s.setflags(write=False)
    mass.setflags(write=False)
    return SphereRule(dim, s, mass)
