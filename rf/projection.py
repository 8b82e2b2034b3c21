r"""The law of a radius seen along a line: phi(x) = E cos(R x), from which every variance follows.

With the coordinate s of a uniform direction along the difference of two points,

.. math:: E\,\Omega_d(R z) = E_s\,\phi(z s), \qquad
          H_n(z) = E\,g_n(R z) = \pm \sqrt{N(n, d)}\; E_s[\phi(z s) P_n(s)]

(Funk and Hecke; n even, g_n of :mod:`spectra.harmonics`).  So phi is tabulated once for a law, from
values that count its whole tail, and all the rest is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.polynomial import chebyshev

from rf.lobed_projection import LobedProjection
from spectra.harmonics import orthonormal_sequence
from spectra.table.arrays import FloatArray
from spectra.table.mixed_tail import MixedTail

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = ["Projection", "SphereRule", "projection_of", "sphere_rule"]

# The error of phi, weighed with the share of the range that it is made on.
_TOLERANCE = 1e-10
_DEGREE = 16
# x = low + width y^4 turns the power x^(2 nu) that a tail leaves at 0 into one that polynomials
# of this degree reach.
_ROOT = 4
_ROOT_DEGREE = 32
# Halvings of a panel.  The panel then weighs 2^-24 of the range, so nothing but its error counts.
_HALVINGS = 24
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
    fourth root of x, because a tail like w^(-2 nu - 1) leaves a power x^(2 nu) there.
    """

    def __init__(self, law: RadialLaw) -> None:
        self._law = law
        self._reach = 0.0
        self._low = np.zeros(0)
        self._width = np.zeros(0)
        self._rooted = np.zeros(0, dtype=bool)
        self._rows = np.zeros((0, _ROOT_DEGREE + 1))
        self._tails = np.zeros(0)

    def panels_to(self, x_max: float) -> int:
        """Panels on the octaves up to x_max: a measure of how much phi moves there."""
        self.extend(x_max)
        return int(np.searchsorted(self._low, _octave(x_max)))

    def extend(self, x_max: float) -> None:
        """Make [0, x_max] part of the range."""
        if x_max <= self._reach or x_max == 0.0:
            return
        if self._reach == 0.0:
            # A quarter of the octave that x_max lies in begins at 0; three more make it up.
            reach = _octave(x_max)
            self._add(np.array([0.0]), np.array([0.25 * reach]), rooted=True)
            edges = np.array([0.25, 0.5, 1.0]) * reach
            self._add(edges[:-1], np.diff(edges), rooted=False)
            self._reach = reach
        while self._reach < x_max:
            edges = np.array([1.0, 1.5, 2.0]) * self._reach
            self._add(edges[:-1], np.diff(edges), rooted=False)
            self._reach *= 2.0

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and what its polynomials may lack there."""
        self.extend(float(x.max(initial=0.0)))
        flat = x.ravel()
        value, error = np.ones(flat.size), np.zeros(flat.size)
        if self._low.size:
            for start in range(0, flat.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                value[part], error[part] = self._evaluate(flat[part])
        return value.reshape(x.shape), error.reshape(x.shape)

    def _evaluate(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        index = np.searchsorted(self._low, x, side="right") - 1
        y = (x - self._low[index]) / self._width[index]
        rooted = self._rooted[index]
        y[rooted] **= 1.0 / _ROOT
        t = 2.0 * y - 1.0
        value = np.empty_like(x)
        for chosen, degree in ((rooted, _ROOT_DEGREE), (~rooted, _DEGREE)):
            rows = self._rows[index[chosen], : degree + 1]
            value[chosen] = chebyshev.chebval(t[chosen], rows.T, tensor=False)
        return value, self._tails[index]

    def _add(self, low: FloatArray, width: FloatArray, *, rooted: bool) -> None:
        """Panels from ``low``, halved until what they lack weighs nothing."""
        whole = float(width.sum())
        for halving in range(_HALVINGS + 1):
            rows, tails = self._fit(low, width, rooted)
            good = (tails * np.minimum(width / whole, 1.0) <= _TOLERANCE) | (halving == _HALVINGS)
            self._keep(low[good], width[good], rows[good], tails[good], rooted)
            low, width = low[~good], 0.5 * width[~good]
            if not low.size:
                return
            if rooted:
                self._add(low + width, width, rooted=False)
            else:
                low, width = np.concatenate([low, low + width]), np.concatenate([width, width])

    def _fit(
        self, low: FloatArray, width: FloatArray, rooted: bool
    ) -> tuple[FloatArray, FloatArray]:
        degree = _ROOT_DEGREE if rooted else _DEGREE
        y, inverse = _chebyshev_fit(degree)
        x = low[:, None] + width[:, None] * (y**_ROOT if rooted else y)
        value, error = self._law.plane_wave_enclosure(1, x)
        rows = np.asarray(value @ inverse.T)
        # The coefficients fall at least geometrically where they are resolved.
        tails = 2.0 * np.abs(rows[:, -3:]).sum(axis=1) + error.max(axis=1)
        return rows, np.asarray(tails)

    def _keep(
        self, low: FloatArray, width: FloatArray, rows: FloatArray, tails: FloatArray, rooted: bool
    ) -> None:
        low = np.concatenate([self._low, low])
        order = np.argsort(low)
        rows = np.pad(rows, ((0, 0), (0, _ROOT_DEGREE + 1 - rows.shape[1])))
        self._low = low[order]
        self._width = np.concatenate([self._width, width])[order]
        self._rows = np.concatenate([self._rows, rows])[order]
        self._tails = np.concatenate([self._tails, tails])[order]
        self._rooted = np.concatenate([self._rooted, np.full(width.size, rooted)])[order]


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
