r"""Interpolation of phi(x) = E cos(R x) for a random radius R, and means over strata of R.

phi, the characteristic function of R with a random sign, determines all variances.  With a
coordinate s of a uniform direction, and the mean plane wave Omega_d(x) = E cos(x s),

.. math:: E\,\Omega_d(R z) = E_s\,\phi(z s), \qquad
          H_m(z) = E\,g_m(R z) = (-1)^{m/2} \sqrt{N(m, d)}\; E_s[\phi(z s) P_m(s)]

by the Funk-Hecke formula, for even m, with Gegenbauer polynomials P_m, P_m(1) = 1, the number
N(m, d) of spherical harmonics, and the normalised coefficients g_m of a plane wave
(:mod:`spectra.base.harmonics`).  The code omits the sign, which cancels in products.

Each of n stratified radii lies in its own stratum of probability 1/n, in random order.  With the
means A_a of g_m(R z) over the strata a,

.. math:: E[g_m(R_i z)\, g_m(R_j z)] = \frac{1}{n (n - 1)}
          \sum_a \Bigl(\sum_{a'} A_{a'} - A_a\Bigr) A_a, \qquad i \ne j,

for m = 0, 2, ...
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from rf.variance.characteristic_grid import Grid, evaluate_grid, make_grid, panels_with_cusps
from spectra.base.accuracy import MASS, SAME
from spectra.base.arrays import FloatArray, panel_rule
from spectra.base.fitting import fit
from spectra.base.harmonics import orthonormal_sequence, wave_coefficients
from spectra.base.limits import check_time
from spectra.base.piecewise import Chart, Piecewise

if TYPE_CHECKING:
    from spectra.table import RadialLaw

__all__ = [
    "STRATUM_NODES",
    "CharacteristicFunction",
    "approximate_stratum_means",
    "characteristic_function_of",
    "sphere_harmonics",
    "sphere_rule",
    "stratum_means",
]

# Largest error of phi on a panel.
_TOLERANCE = MASS
# A density that falls like w^(-2 nu - 1) makes phi behave like x^(2 nu) at 0: panels are
# polynomials in x^(1/_ROOT).  After so many halvings a panel is kept whatever its error.
_ROOT, _MOST_HALVINGS = 4, 24
# Threads share these functions; one thread at a time extends them.
_EXTENDING = Lock()
# Up to this many values of phi are computed directly if the density has an oscillating tail.
_FEW_VALUES = 16
# Points at which polynomials are evaluated at one time.
_CHUNK = 1 << 15
# The part of the sphere beyond the last node has the probability exp(-70), so that coefficients
# of any degree change by at most exp(-35) (Cauchy-Schwarz inequality).
_LOG_OMITTED = 70.0
# Gauss points of one panel in the angle of a direction.
_PANEL_NODES = 16
_FIRST_PANEL_NODES = 32
# Gauss points of a panel in a stratum, fine and coarse; the difference of the results is the error.
STRATUM_NODES = (6, 4)
# Up to this many strata all have finer panels towards their ends; of more, only the first and last.
_FEW_STRATA = 8
# Number of times that these panels are halved towards an end of a stratum.
_END_HALVINGS = 12
# Values of cosines that are held at one time (32 MB).
_COSINES = 4_000_000
# Smallest jump of the inverse CDF, relative to the radius, that affects a quadrature.
_LEAST_JUMP = 1e3 * SAME
# Jumps at a probability nearer to 0 or 1 than this have a negligible effect.
_END = SAME
# Cubic splines with this step h have the error h^4 / 384 = 6e-7 for a cosine of frequency 1.  They
# end at a power of 2 between these numbers.
_STEP = 1.0 / 8.0
_LEAST_SPLINE_END, _MOST_SPLINE_END = 32.0, 512.0


class CharacteristicFunction:
    """phi(x) = E cos(R x) for one distribution of R, as polynomials in x^(1/4) on panels.

    The range doubles when larger x are evaluated.  If the density has an oscillating tail, phi is
    computed from a grid instead (:mod:`rf.variance.characteristic_grid`).
    """

    def __init__(self, law: RadialLaw) -> None:
        self._law = law
        self._reach = 0.0
        # Replaced and never modified, so that other threads can read it while one extends it.
        self._panels: Piecewise | None = None
        self._grid: Grid | None = None

    def panels_to(self, x_max: float) -> int:
        """Number of panels up to x_max, a measure of how much phi varies there."""
        if self._law.tail is not None:
            return panels_with_cusps(self._law, x_max)
        self.extend(x_max)
        if self._panels is None:
            return 0
        return int(np.searchsorted(self._panels.low, _power_of_two(x_max)))

    def extend(self, x_max: float) -> None:
        """Extend the range to [0, x_max] or more."""
        if x_max <= self._reach or x_max == 0.0:
            return
        with _EXTENDING:
            if self._reach == 0.0:
                # The first panels end at 1/4, 1/2 and 1 times the least power of 2 >= x_max.
                self._extend_by(np.array([0.0, 0.25, 0.5, 1.0]) * _power_of_two(x_max))
            while self._reach < x_max:
                self._extend_by(np.array([1.0, 1.5, 2.0]) * self._reach)

    def _extend_by(self, edges: FloatArray) -> None:
        """Add panels between adjacent edges."""

        def sample(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            # In dimension 1 the mean plane wave is phi.
            return *self._law.plane_wave_enclosure(1, t**_ROOT), np.zeros(len(t))

        new = fit(
            sample,
            edges ** (1.0 / _ROOT),
            Chart(root=_ROOT),
            tolerance=0.0,
            absolute=_TOLERANCE,
            bisections=_MOST_HALVINGS,
            keep=True,
        )
        self._panels = new if self._panels is None else Piecewise.join([self._panels, new])
        self._reach = float(edges[-1])

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """phi at x >= 0, and an estimate of its error there."""
        flat, x_max = x.ravel(), float(x.max(initial=0.0))
        if self._law.tail is not None:
            if x.size <= _FEW_VALUES or not x_max:
                return self._law.plane_wave_enclosure(1, x)
            grid = self._grid
            if grid is None or x_max > grid[0]:
                self._grid = grid = make_grid(self._law, _power_of_two(x_max))
            value, error = evaluate_grid(self._law, grid, flat)
            return value.reshape(x.shape), error.reshape(x.shape)
        self.extend(x_max)
        value, error, panels = np.ones(flat.size), np.zeros(flat.size), self._panels
        for start in range(0, 0 if panels is None else flat.size, _CHUNK):
            check_time()
            part = slice(start, start + _CHUNK)
            assert panels is not None
            i = panels.panel_at(flat[part])
            value[part] = panels.at(i, panels.position(i, flat[part]))
            error[part] = panels.series_errors[i]
        return value.reshape(x.shape), error.reshape(x.shape)


def _power_of_two(x_max: float) -> float:
    """The least power of 2 that is at least x_max; 0 for 0."""
    return float(2.0 ** np.ceil(np.log2(x_max))) if x_max > 0.0 else 0.0


_FUNCTIONS: WeakKeyDictionary[RadialLaw, CharacteristicFunction] = WeakKeyDictionary()


def characteristic_function_of(law: RadialLaw) -> CharacteristicFunction:
    """phi of the radii of a law, cached as long as the law exists."""
    if law not in _FUNCTIONS:
        _FUNCTIONS[law] = CharacteristicFunction(law)
    return _FUNCTIONS[law]


@lru_cache(maxsize=16)
def sphere_harmonics(dim: int, panels: int, degree: int) -> FloatArray:
    """sqrt(N(n, d)) P_n(s) times the weights of a rule: rows n = 0, 2, ..., degree."""
    s, weights = sphere_rule(dim, panels)
    if degree == 0:
        return weights[None]
    values = np.array(list(islice(orthonormal_sequence(dim, s), 0, degree + 1, 2)))
    values *= weights
    values.setflags(write=False)
    return values


@lru_cache(maxsize=12)
def sphere_rule(dim: int, panels: int) -> tuple[FloatArray, FloatArray]:
    r"""Nodes and weights for E f(s), f even, with a coordinate s of a uniform direction.

    The density is proportional to (1 - s^2)^((d-3)/2); for d = 1, s = 1.  The angle
    psi, s = sin(psi), has a density like cos(psi)^(d-2).  On the first panel psi is proportional to
    y^4 at Gauss points y, which resolves fractional powers of s at 0.
    """
    if dim == 1:
        return np.ones(1), np.ones(1)
    end = 0.5 * np.pi if dim == 2 else float(np.arccos(np.exp(-_LOG_OMITTED / (dim - 2))))
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
    """Means of (-1)^(m/2) g_m(R z), m = 0, 2, ..., degree, over n strata of R, at lengths z.

    Also returns the sums of the squared means of higher degrees, shape (n, lengths).
    """
    (s, weights), basis = sphere_rule(dim, panels), sphere_harmonics(dim, panels, degree).T
    means = np.empty((n, lengths.size, basis.shape[1]))
    missing = np.empty(means.shape[:2])
    for j, z in enumerate(lengths.tolist()):
        cosines = _mean_cosines(law, n, z * s, nodes)
        means[:, j] = cosines @ basis
        missing[:, j] = cosines**2 @ weights - np.sum(means[:, j] ** 2, axis=1)
    return means, np.maximum(missing, 0.0)


def approximate_stratum_means(
    law: RadialLaw, n: int, lengths: FloatArray, dim: int, degree: int, whole: FloatArray
) -> FloatArray:
    """As :func:`stratum_means`, but faster: from splines of g_m, and by the coarse rule.

    ``whole``: the means over all radii, shape (lengths, degrees).
    """
    radii, weights, starts = _stratum_rule(law, n, STRATUM_NODES[-1])
    waves = _interpolate_coefficients(dim, degree, np.multiply.outer(radii[: starts[-1]], lengths))
    waves *= weights[: starts[-1], None, None]
    means = np.empty((n, *whole.shape))
    if n > 1:
        means[:-1] = n * np.add.reduceat(waves, starts[:-1], axis=0)
    # The last stratum is unbounded: its mean follows from the others and that over all radii.
    means[-1] = n * whole - means[:-1].sum(axis=0)
    return means


def _mean_cosines(law: RadialLaw, n: int, x: FloatArray, nodes: int) -> FloatArray:
    """Means of cos(R x) over each of n strata of R, shape (n, len(x))."""
    whole, _ = characteristic_function_of(law)(x)
    means = np.empty((n, x.size))
    radii, weights, starts = _stratum_rule(law, n, nodes)
    step = max(1, _COSINES // (x.size * max(1, radii.size // n)))
    for low in range(0, n - 1, step):
        high = min(low + step, n - 1)
        part = slice(starts[low], starts[high])
        cosines = np.cos(np.multiply.outer(radii[part], x))
        cosines *= weights[part, None]
        means[low:high] = np.add.reduceat(cosines, starts[low:high] - starts[low], axis=0)
    means[:-1] *= n
    # The last stratum is unbounded: its mean follows from the others and that over all radii.
    means[-1] = n * whole - means[:-1].sum(axis=0)
    return means


@lru_cache(maxsize=64)
def _stratum_rule(
    law: RadialLaw, n: int, nodes: int
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Nodes and weights for R in the order of the strata, and the first index of each stratum."""
    edges = _panel_edges(law, n)
    u, weights = (each.ravel() for each in panel_rule(edges[:-1], edges[1:], nodes))
    return law.ppf(u), weights, np.searchsorted(u, np.arange(n) / n)


def _panel_edges(law: RadialLaw, n: int) -> FloatArray:
    """Edges of the strata, jumps of the radius, and edges of finer panels near ends of strata."""
    edges = np.arange(n + 1.0) / n
    graded = _graded_edges()
    finer = (
        np.arange(n)[:, None] + graded if n <= _FEW_STRATA else np.stack([graded, n - 2 + graded])
    )
    return np.union1d(np.union1d(edges, finer.ravel() / n), _jumps(law))


@lru_cache(maxsize=64)
def _jumps(law: RadialLaw) -> FloatArray:
    """Probabilities in (0, 1) at which the inverse CDF jumps: gaps of the distribution."""
    # The inverse CDF is smooth inside the panels of the law, whose ends are u, or u - 1 < 0.
    u = np.unique(np.where(law.edges < 0.0, 1.0 + law.edges, law.edges))
    u = u[(u > _END) & (u < 1.0 - _END)]
    below, above = law.ppf(np.nextafter(u, 0.0)), law.ppf(np.nextafter(u, 1.0))
    return np.asarray(u[above - below > _LEAST_JUMP * (above + below)])


def _graded_edges() -> FloatArray:
    """Edges of panels on [0, 1] that are halved towards both ends."""
    half = np.concatenate([[0.0], 2.0 ** -np.arange(_END_HALVINGS, 0.0, -1.0)])
    return np.concatenate([half, 1.0 - half[-2::-1]])


def _interpolate_coefficients(dim: int, degree: int, x: FloatArray) -> FloatArray:
    """(-1)^(n/2) g_n(x), n = 0, 2, ..., degree, along a last axis, with an error of 1e-6."""
    flat = x.ravel()
    on_spline = flat <= _MOST_SPLINE_END
    end = max(_LEAST_SPLINE_END, _power_of_two(float(flat[on_spline].max(initial=1.0))))
    values = _coefficient_spline(dim, degree, end)(np.where(on_spline, flat, 0.0))
    if not on_spline.all():
        values[~on_spline] = _signed_coefficients(dim, degree, flat[~on_spline])
    return np.asarray(values.reshape(*x.shape, degree // 2 + 1))


@lru_cache(maxsize=16)
def _coefficient_spline(dim: int, degree: int, end: float) -> CubicSpline:
    knots = np.arange(0.0, end + _STEP, _STEP)
    return CubicSpline(knots, _signed_coefficients(dim, degree, knots))


def _signed_coefficients(dim: int, degree: int, x: FloatArray) -> FloatArray:
    values = wave_coefficients(dim, degree, x)[::2].T
    values[:, 1::2] *= -1.0
    return values
