"""Gaussian random fields on the sphere, at points (latitude, longitude) in degrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from rf.fields.conditioned import ConditionedField
from rf.fields.gaussian_field import seed_from
from rf.fields.harmonics import LEAST_ARC_DEGREE, arcs, harmonics, legendre_rows
from spectra.base.accuracy import EPS, MASS
from spectra.base.arrays import FloatArray
from spectra.base.harmonics import gegenbauer_shares
from spectra.base.numbers import real_array, whole_number
from spectra.errors import DataError, ParameterError

__all__ = ["SphereField", "SphereGrid", "unit_vectors"]

#: Shares are computed up to this degree; beyond, they follow the leading power of the kernel at 0.
_LAST_DEGREE = 2000
#: The largest degree of an arc, and entries of one block of harmonics or arcs (32 MB).
_LARGEST_DEGREE, _BLOCK_ENTRIES = 2.0**50, 1 << 22
#: The largest degree of harmonics: those of higher ones underflow near the poles.
_MOST_HARMONICS = 1500


def unit_vectors(latitude: ArrayLike, longitude: ArrayLike) -> FloatArray:
    """Points on the unit sphere, of shape (n, 3), from latitudes and longitudes in degrees.

    Examples
    --------
    >>> unit_vectors([0, 90], [180, 5]).round(12) + 0.0
    array([[-1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    points = np.stack(np.broadcast_arrays(latitude, longitude), axis=-1).reshape(-1, 2)
    return _vectors(*_radians(points))


def _vectors(lat: FloatArray, lon: FloatArray) -> FloatArray:
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


class SphereField:
    r"""A Gaussian random field on the sphere with mean 0, whose paths are functions.

    .. math:: f(x) = \sum_{l \le L} \sqrt{s_l/(2l+1)} \sum_m \xi_{lm} Y_{lm}(x)
              + \sqrt{T/n} \sum_{j \le n} \xi_j \sqrt{2 l_j + 1}\,P_{l_j}(x \cdot e_j)

    The shares s_l in :math:`k = \sum s_l P_l` add up to k(0); T is the sum of those of degrees
    l > L, from which the l_j are drawn, e_j are uniform and the xi are standard normal.  The
    covariance is k for any L and n; given its arcs (the second sum), a path is Gaussian.

    Parameters
    ----------
    kernel : Kernel, Family or str
        :func:`spectra.great_circle`, a zonal kernel, or a kernel of the distance |x - y| of unit
        vectors, as any text in z.
    degree : int
        L.  Harmonics cost (L + 1)^2 operations for each point.
    n_arcs : int
        n.  If T is a large part of k(0), take a larger ``degree`` or more arcs.
    random_state : int or None
        The seed.

    Attributes
    ----------
    cl : ndarray
        The angular power spectrum :math:`C_l = 4\pi s_l/(2l + 1)`, l = 0, ..., L.
    tail : float
        T.

    Raises
    ------
    ParameterError
        If the kernel is not positive definite on the sphere, by more than rounding.

    Examples
    --------
    >>> from spectra import great_circle
    >>> field = SphereField(great_circle("exp(-z)", length=0.3), random_state=0)
    >>> points = [[48.9, 2.4], [52.5, 13.4]]        # Paris and Berlin
    >>> field.sample(points, n_paths=5).shape
    (5, 2)
    >>> bool(np.allclose(field.condition(points, [1.0, -1.0]).mean(points), [1.0, -1.0]))
    True
    """

    def __init__(
        self, kernel: Any, *, degree: int = 64, n_arcs: int = 64, random_state: int | None = None
    ) -> None:
        from spectra.kernels.catalogue.reading import as_kernel
        from spectra.kernels.great_circle import function_of_angle
        from spectra.singularities.local import analyse_inside
        from spectra.verdict.refuted_on_sphere import refute_on_sphere

        self.kernel: Any = as_kernel(kernel, "SphereField")
        refutation = refute_on_sphere(self.kernel, 3)
        if not self.kernel.at_zero > 0.0 or (refutation and refutation.mass > EPS):
            reason = refutation.reason if refutation else f"k(0) = {self.kernel.at_zero:.6g}."
            raise ParameterError(
                f"{self.kernel} is not positive definite on the sphere: it has no field. {reason} "
                "Kernels of |x - y| that are positive definite on R^3 are valid: 'exp(-z**2/2)'."
            )
        angle = function_of_angle(self.kernel)
        analysis = analyse_inside(angle, angle.pieces[-1].support)
        kinks = [float(p.support) for p in angle.pieces] + [float(r) for r, _ in analysis.radii]
        shares, _ = gegenbauer_shares(angle, 3, _LAST_DEGREE, kinks)
        first = analysis.origin.singularities
        self._decay = float(first[0].exponent) if first else np.inf
        L = whole_number(degree, "degree", least=LEAST_ARC_DEGREE, most=_MOST_HARMONICS)
        self._set(np.maximum(shares, 0.0), L, self.kernel.at_zero, angle, random_state)
        self.n_arcs = whole_number(n_arcs, "n_arcs")

    def _set(
        self, shares: FloatArray, degree: int, k_zero: float, covariance: Any, seed: Any
    ) -> None:
        self._shares, self.degree, self.k_zero = shares, degree, k_zero
        self.covariance: Callable[[ArrayLike], FloatArray] = covariance
        self.seed = seed_from(seed)
        self.cl = 4 * np.pi * shares[: degree + 1] / (2 * np.arange(degree + 1) + 1)
        tail = k_zero - float(shares[: degree + 1].sum())
        self.tail = tail if tail > MASS * k_zero else 0.0

    @classmethod
    def from_cl(cls, C: ArrayLike, *, random_state: int | None = None) -> Self:
        r"""The field of an angular power spectrum C_0, ..., C_L >= 0, as healpy and CAMB define it.

        Its covariance is :math:`k(\theta) = \sum_l (2l + 1) C_l P_l(\cos\theta)/(4\pi)`.
        """
        cl = real_array(C, "C")
        largest = _MOST_HARMONICS
        is_list = cl.ndim == 1 and cl.size <= largest + 1
        if not (is_list and cl.any() and np.all((cl >= 0) & (cl < np.inf))):
            raise ParameterError(
                f"C is an angular power spectrum: at most {largest + 1} numbers >= 0, not all 0."
            )
        shares = cl * (2 * np.arange(cl.size) + 1) / (4 * np.pi)
        field = cls.__new__(cls)
        field.kernel, field.n_arcs, field._decay = None, 0, np.inf

        def covariance(angle: ArrayLike) -> FloatArray:
            return np.asarray(np.polynomial.legendre.legval(np.cos(angle), shares))

        field._set(shares, cl.size - 1, float(shares.sum()), covariance, random_state)
        return field

    def __repr__(self) -> str:
        what = f"C_0, ..., C_{self.degree}" if self.kernel is None else str(self.kernel)
        return f"SphereField({what}, tail={self.tail:.3g})"

    def covariance_matrix(self, X: ArrayLike, Y: ArrayLike) -> FloatArray:
        """k(x, y) for the rows of X and Y, which are points (latitude, longitude) in degrees."""
        x, y = unit_vectors(*_checked(X).T), unit_vectors(*_checked(Y).T)
        return self.covariance(2 * np.arctan2(cdist(x, y), cdist(x, -y)))

    def scaled(self, X: ArrayLike) -> FloatArray:
        """The points on the unit sphere, whose distances order those of the rows of X."""
        return unit_vectors(*_checked(X).T)

    def covariance_of_pairs(self, blocks: FloatArray) -> FloatArray:
        """The covariance matrices of blocks of points, (b, k, 2) -> (b, k, k)."""
        x = self.scaled(blocks.reshape(-1, 2)).reshape(*blocks.shape[:2], 3)
        apart = np.linalg.norm(x[:, :, None] - x[:, None], axis=-1)
        opposite = np.linalg.norm(x[:, :, None] + x[:, None], axis=-1)
        return self.covariance(2 * np.arctan2(apart, opposite))

    def _generator(self, number: int, stream: int) -> np.random.Generator:
        key = (whole_number(number, "number", least=0), stream)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def noise(self, number: int, size: int) -> FloatArray:
        """Standard normal numbers for path ``number``, independent of the path."""
        return self._generator(number, 1).standard_normal(size)

    def _coefficients(self, number: int) -> FloatArray:
        """The factors of the harmonics of a path, in the order of :func:`harmonics`."""
        sizes = np.sqrt(self.cl / (4 * np.pi))
        orders = 2 * np.arange(self.degree + 1) + 1
        return np.repeat(sizes, orders) * self._generator(number, 0).standard_normal(orders.sum())

    def _arcs(self, number: int, points: FloatArray) -> FloatArray:
        """The sum of the arcs of a path at points in radians."""
        values = np.zeros(points.shape[1])
        if not self.tail:
            return values
        rng, n = self._generator(number, 2), self.n_arcs
        mass = np.cumsum(self._shares[self.degree + 1 :])
        u = self.tail * (rng.permutation(n) + rng.random(n)) / n
        degrees: Any = self.degree + 1.0 + np.searchsorted(mass, u)
        beyond = u > mass[-1]
        rest = np.maximum((self.tail - u[beyond]) / (self.tail - mass[-1]), EPS)
        power = np.exp(np.minimum(-np.log(rest) / self._decay, np.log(_LARGEST_DEGREE)))
        degrees[beyond] = np.minimum(np.floor(len(self._shares) * power), _LARGEST_DEGREE)
        poles = rng.standard_normal((n, 3))
        poles /= np.linalg.norm(poles, axis=1, keepdims=True)
        weights = rng.standard_normal(n) * np.sqrt(self.tail / n)
        x = _vectors(*points)
        rows = max(1, _BLOCK_ENTRIES // (8 * n))
        for start in range(0, len(x), rows):
            near, far = (
                cdist(x[start : start + rows], poles),
                cdist(x[start : start + rows], -poles),
            )
            cosines = (far**2 - near**2) / 4
            values[start : start + rows] = arcs(degrees, cosines, near * far / 2) @ weights
        return values

    def path(self, number: int = 0) -> Callable[[ArrayLike], FloatArray]:
        """Path ``number`` of the seed, as a function of points (latitude, longitude)."""
        return lambda X: self._values(_radians(_checked(X)), [number])[0]

    def _values(self, points: FloatArray, numbers: Any) -> FloatArray:
        coefficients = np.array([self._coefficients(number) for number in numbers]).T
        values = np.array([self._arcs(number, points) for number in numbers])
        rows = max(1, _BLOCK_ENTRIES // len(coefficients))
        for start in range(0, points.shape[1], rows):
            block = slice(start, start + rows)
            values[:, block] += (harmonics(self.degree, *points[:, block]) @ coefficients).T
        return values

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Values of path 0 at the rows of X: shape (rows,)."""
        return self.path()(X)

    def sample(self, X: ArrayLike, *, n_paths: int = 1) -> FloatArray:
        """Values of paths 0 to n_paths - 1 at the rows of X: shape (n_paths, rows)."""
        points = _radians(_checked(X))
        return self._values(points, range(whole_number(n_paths, "n_paths")))

    def on_grid(self, lat: ArrayLike, lon: ArrayLike, *, number: int = 0) -> FloatArray:
        """Values of path ``number`` at all pairs of latitudes and longitudes in degrees."""
        X = np.stack(np.meshgrid(lat, lon, indexing="ij"), axis=-1).reshape(-1, 2)
        points = _radians(_checked(X))
        shape = len(np.atleast_1d(lat)), len(np.atleast_1d(lon))
        latitude, longitude = points[0].reshape(shape)[:, 0], np.radians(np.atleast_1d(lon))
        c, L = self._coefficients(number), self.degree
        cosines, sines = np.zeros((2, L + 1, shape[0]))
        for n, rows in enumerate(legendre_rows(L, latitude)):
            own = c[n * n : (n + 1) ** 2, None]
            cosines[: n + 1] += own[: n + 1] * rows
            sines[1 : n + 1] += own[n + 1 :] * rows[1:]
        turns = np.arange(L + 1)[:, None] * longitude
        grid = cosines.T @ np.cos(turns) + sines.T @ np.sin(turns)
        return grid + self._arcs(number, points).reshape(shape)

    def exact_grid(self, lat: ArrayLike, n_lon: int) -> SphereGrid:
        """Exactly Gaussian paths at the latitudes and n_lon equally spaced longitudes from 0.

        The covariance matrix is circulant in the longitude: one matrix of latitudes is factored for
        each of n_lon // 2 + 1 frequencies.  Call ``.sample(n_paths=)`` of the result.
        """
        n = whole_number(n_lon, "n_lon", most=4096)
        latitudes = np.atleast_1d(real_array(lat, "The latitudes", error=DataError))
        angles = _radians(_checked(np.stack([latitudes, 0 * latitudes], axis=1)))[0]
        upper = np.triu_indices(len(angles))
        a, b = angles[upper[0]], angles[upper[1]]
        turn = np.arange(n // 2 + 1)[:, None] * np.pi / n
        half = np.sin((a - b) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(turn) ** 2
        values = self.covariance(2 * np.arctan2(np.sqrt(half), np.sqrt(np.maximum(1 - half, 0.0))))
        circle = np.concatenate([values, values[1 : (n + 1) // 2][::-1]])
        spectra = np.empty((n // 2 + 1, len(angles), len(angles)))
        spectra[:, upper[0], upper[1]] = spectra[:, upper[1], upper[0]] = np.fft.rfft(
            circle, axis=0
        ).real
        masses, vectors = np.linalg.eigh(spectra)
        roots = vectors * np.sqrt(np.maximum(masses, 0.0))[:, None, :]
        longitudes: Any = np.arange(n) * (360.0 / n)
        return SphereGrid(self, latitudes, longitudes, roots)

    def condition(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        noise: ArrayLike = 0.0,
        drift: Any = None,
        solver: str = "auto",
    ) -> ConditionedField:
        """The field given its values y at the rows of X, as :meth:`rf.GaussianField.condition`.

        The drift is "constant" or columns: longitudes are periodic, so there is no linear one.
        """
        if isinstance(drift, str) and drift == "linear":
            raise ParameterError(
                "A field on the sphere has no linear drift: give its columns, such as the rows of "
                "rf.unit_vectors(latitude, longitude)."
            )
        points = _checked(X)
        return ConditionedField.from_data(self, points, y, noise=noise, drift=drift, solver=solver)


@dataclass(frozen=True, eq=False, repr=False)
class SphereGrid:
    """Exact paths on a grid of ``lat`` and ``lon``, made by :meth:`SphereField.exact_grid`."""

    field: SphereField
    lat: FloatArray
    lon: FloatArray
    _roots: FloatArray  # a root of the covariance of each frequency in the longitude

    def sample(self, *, n_paths: int = 1) -> FloatArray:
        """Paths 0 to n_paths - 1: shape (n_paths, len(lat), len(lon))."""
        n, half = len(self.lon), len(self._roots)
        paths = np.empty((whole_number(n_paths, "n_paths"), len(self.lat), n))
        for number, path in enumerate(paths):
            z = self.field._generator(number, 3).standard_normal((half, len(self.lat), 2))
            ends = [0, half - 1] if n % 2 == 0 else [0]  # the waves without a sine
            z[ends] *= [np.sqrt(2.0), 0.0]
            waves = self._roots @ z * np.sqrt(n / 2)
            path[:] = np.fft.irfft(waves[..., 0] + 1j * waves[..., 1], n, axis=0).T
        return paths


def _checked(X: ArrayLike) -> FloatArray:
    """Points (latitude, longitude) in degrees; a DataError if they are no such points."""
    points = real_array(X, "The points", error=DataError)
    if points.ndim != 2 or points.shape[1] != 2:
        raise DataError(
            f"The points have the shape {points.shape}: give rows (latitude, longitude) in degrees."
        )
    bad = ~(np.isfinite(points).all(axis=1) & (np.abs(points[:, 0]) <= 90.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"The point {points[row].tolist()} in row {row} is no (latitude, longitude) in "
            "degrees: a latitude is in [-90, 90]. The latitude comes first."
        )
    return points


def _radians(points: FloatArray) -> FloatArray:
    """Latitudes and longitudes in radians, of shape (2, n), equal for equal points."""
    lat, lon = _checked(points).T
    return np.radians([lat, np.where(np.abs(lat) == 90.0, 0.0, np.mod(lon, 360.0))])
