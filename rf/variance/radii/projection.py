r"""The law of a radius seen along a line: phi(x) = E cos(R x), from which every variance follows.

With the coordinate s of a uniform direction along the difference of two points,

.. math:: E\,\Omega_d(R z) = E_s\,\phi(z s), \qquad
          H_n(z) = E\,g_n(R z) = \pm \sqrt{N(n, d)}\; E_s[\phi(z s) P_n(s)]

(Funk and Hecke; n even, g_n of :mod:`spectra.base.special.harmonics`).  So phi is tabulated once
for a law, from values that count its whole tail, and all the rest is one matrix product.
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
from scipy.special import gammaln

from rf.sampling.coupling import CosineLaw
from spectra.base.arrays import FloatArray
from spectra.base.special.harmonics import gegenbauer_sequence, orthonormal_sequence

if TYPE_CHECKING:
    from rf.variance.radii.wave_projection import WaveProjection
    from spectra.table import RadialLaw

__all__ = [
    "Projection",
    "angular_means",
    "gegenbauer_means",
    "projection_of",
    "sphere_harmonics",
    "sphere_rule",
]

# The error of phi, weighed with the share of the range that it is made on.
_TOLERANCE = 1e-10
_DEGREE = 16
# x = width y^4 turns the power x^(2 nu) that a tail leaves at 0 into one that polynomials of this
# degree reach.
_ROOT = 4
_ROOT_DEGREE = 32
# Halvings of a panel.  The panel then weighs 2^-24 of the range, so nothing but its error counts.
_HALVINGS = 24
# A panel: its lower end and width; whether it begins at 0, where it takes the distance to the power
# 1/4; what it may lack; Chebyshev coefficients.
_PANEL = np.dtype(
    [
        ("low", float),
        ("width", float),
        ("rooted", bool),
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
# Values of Gegenbauer polynomials that the means of one distribution may cost: about 0.2 s.
_BUDGET = 20_000_000
_LAST_DEGREE = 2048


@final
class Projection:
    """phi(x) = E cos(R x) of one law on [0, reach], as Chebyshev polynomials on panels.

    The range grows by octaves as larger x are asked for; the panel at 0 is a polynomial in the
    fourth root of x, because a tail like w^(-2 nu - 1) leaves a power x^(2 nu) there.
    """

    def __init__(self, law: RadialLaw) -> None:
        self._law = law
        self._reach = 0.0
        # Replaced and never changed: who reads it while another thread extends sees what was there.
        self._panels = np.zeros(0, _PANEL)

    def panels_to(self, x_max: float) -> int:
        """Panels on the octaves up to x_max: a measure of how much phi moves there."""
        self.extend(x_max)
        return int(np.searchsorted(self._panels["low"], _octave(x_max)))

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
        low, width, rooted = (panels[name][index] for name in ("low", "width", "rooted"))
        share = np.clip((x - low) / width, 0.0, 1.0)
        value, error = np.empty_like(x), panels["tail"][index]
        rows = panels["row"]
        value[~rooted] = _series(rows[index[~rooted], : _DEGREE + 1], share[~rooted])
        value[rooted] = _series(rows[index[rooted]], share[rooted] ** (1.0 / _ROOT))
        return value, error

    def _extend_by(self, edges: FloatArray) -> None:
        """Panels between neighboring edges."""
        low, width = edges[:-1], np.diff(edges)
        more = [
            panels
            for rooted in (True, False)
            if np.any((low == 0.0) == rooted)
            for panels in self._resolved(
                low[(low == 0.0) == rooted], width[(low == 0.0) == rooted], rooted
            )
        ]
        panels = np.concatenate([self._panels, *more])
        self._panels = panels[np.argsort(panels["low"])]
        self._reach = float(edges[-1])

    def _resolved(
        self, low: FloatArray, width: FloatArray, rooted: bool
    ) -> Iterator[NDArray[np.void]]:
        """Panels from ``low``, halved until what they lack weighs nothing."""
        whole = float(width.sum())
        for halving in range(_HALVINGS + 1):
            panels = self._fit(low, width, rooted)
            weight = np.minimum(width / whole, 1.0)
            good = (panels["tail"] * weight <= _TOLERANCE) | (halving == _HALVINGS)
            yield panels[good]
            low, width = low[~good], 0.5 * width[~good]
            if not low.size:
                return
            if rooted:
                yield from self._resolved(low + width, width, False)
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
_KNOWN: WeakKeyDictionary[RadialLaw, Projection | WaveProjection] = WeakKeyDictionary()


def projection_of(law: RadialLaw) -> Projection | WaveProjection:
    """The projection of a law, which remembers what it has tabulated as long as the law lives."""
    if law in _KNOWN:
        return _KNOWN[law]
    if law.tail is None:
        _KNOWN[law] = Projection(law)
    else:
        from rf.variance.radii.wave_projection import WaveProjection

        _KNOWN[law] = WaveProjection(law)
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
    return s, mass


@lru_cache(maxsize=128)
def angular_means(law: CosineLaw, dim: int, degree: int) -> tuple[FloatArray, float, int]:
    """Means of Gegenbauer polynomials of a random cosine.

    Returns ``means``: E P_n(c), n = 2, 4, ..., degree; ``beyond``: bound of all |E P_n(c)| of
    higher degrees; ``most``: the degree up to which the means are worth their cost.
    """
    cosines, weights = law.rule(law.value, dim, degree)
    means, beyond = gegenbauer_means(dim, degree, cosines, weights)
    return means[2::2], beyond, min(_LAST_DEGREE, _BUDGET // cosines.size)


def gegenbauer_means(
    dim: int, degree: int, cosines: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    r"""Means of P_n(c) for n = 0 ... degree, and a bound of all |means| beyond ``degree``.

    The bound is the mean of min(1, Gamma((d-1)/2) / sqrt(pi) * (4 / (n (1 - c^2)))^((d-2)/2)),
    n = degree + 1 (Atkinson, Han, Spherical Harmonics and Approximations on the Unit Sphere,
    Springer 2012, section 2.7), which falls with n.
    """
    waves = islice(gegenbauer_sequence(dim, cosines), degree + 1)
    means = np.array([weights @ wave for wave in waves])
    with np.errstate(divide="ignore"):
        log_ratio = np.log(4.0 / (degree + 1)) - np.log1p(-(cosines**2))
    constant = float(gammaln(0.5 * (dim - 1))) - 0.5 * np.log(np.pi)
    # In dimension 2 the exponent is 0 and the bound is 1, also where c = 1.
    log_bound = constant + 0.5 * (dim - 2) * log_ratio if dim > 2 else np.zeros_like(cosines)
    return means, float(weights @ np.exp(np.minimum(log_bound, 0.0)))
