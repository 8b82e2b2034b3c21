"""Gaussian random fields with a stationary covariance, sampled from its spectral table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rf.fields.conditioned import ConditionedField
from rf.fields.covariance import Covariance, why_not_positive
from rf.fields.paths import Path
from rf.inputs.rows import (
    check_cross_distances,
    checked_lengths,
    product_of_lengths,
    refuse_matrix,
)
from rf.inputs.tables import resolve_spectrum, split_off_lengths
from spectra.base.arrays import FloatArray, from_units, to_units
from spectra.base.limits import check_time
from spectra.base.numbers import checked_dim, real_array, whole_number
from spectra.errors import DataError, ParameterError
from spectra.table import Points, SpectralTable

__all__ = ["GaussianField", "seed_from"]

# The random streams of a path: its frequencies and coefficients; the noise that conditioning adds.
_WAVE_STREAM, _NOISE_STREAM = 0, 1
# The search for a number of frequencies: its range, and the relative accuracy of the result.
_FIRST_FREQUENCIES, _MOST_FREQUENCIES, _SEARCH_TOLERANCE = 32, 1 << 23, 0.125


@final
class GaussianField:
    r"""A Gaussian random field with mean 0 and covariance k(x - y), whose paths are functions.

    .. math:: f(x) = \sum_i \sqrt{a_i}\,(A_i \cos(w_i \cdot x) + B_i \sin(w_i \cdot x)),
              \qquad E f(x) f(y) = k(x - y)

    The frequencies w are drawn from the exact spectral distribution of k, so the covariance is
    unbiased at every lag for any number of components; a are their weights, and A and B are
    standard normal.  Given its frequencies, a path is Gaussian with the covariance
    :math:`\sum_i a_i \cos(w_i \cdot (x-y))`, whose standard deviation over draws is
    :meth:`covariance_error`.

    Parameters
    ----------
    kernel : Kernel, CompositeKernel, Family, str, SpectralMeasure, Design or table
        The covariance: positive definite on R^dim (for groups of columns, every term of the sum).
        For a Variogram with a sill, the covariance is the sill minus the variogram.
    dim : int, optional
        Dimension of the points; by default taken from the table or from the first points.
    n_components : int
        Number of cosines and sines of a path, two for each frequency.
    coupling : str
        How the frequencies depend on one another, as in :func:`rf.draw_frequencies`; "auto" is
        "orthogonal", or "iid" for the l1 distance, which has no other coupling.
    length_scale : float or array_like of shape (d,) or (d, d)
        Each coordinate is divided by it before the kernel is applied; for a matrix M, such as
        :func:`rf.anisotropy` makes, points x become M^-1 x.
    random_state : int or None
        The seed.  The same seed gives the same paths, for any order and any blocks of points.

    Attributes
    ----------
    seed : int
        ``random_state``, or a random seed if that is None.

    Raises
    ------
    ParameterError
        If the kernel is not positive definite on R^dim (the message suggests a lower dimension if
        there is one), or a parameter has an invalid value.
    InfiniteMassError, UndecidedError, NoRouteError, FormulaError
        If the kernel has no table.

    References
    ----------
    M. Shinozuka and C.-M. Jan, "Digital simulation of random processes and its applications",
    J. Sound Vib. 25 (1972) 111, doi:10.1016/0022-460X(72)90600-1; for the error of the covariance
    see :mod:`rf.variance.variance`.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GaussianField
    >>> field = GaussianField("exp(-z)", dim=2, n_components=512, random_state=0)
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> field(X).shape, field.sample(X, n_paths=3).shape
    ((100,), (3, 100))
    >>> bool(np.allclose(field(X[50:]), field(X)[50:]))
    True
    >>> grid = field.on_grid(np.linspace(0, 1, 30), np.linspace(0, 1, 20))
    >>> grid.shape
    (30, 20)
    """

    def __init__(
        self,
        kernel: Any,
        dim: int | None = None,
        *,
        n_components: int = 2048,
        coupling: str = "auto",
        length_scale: ArrayLike = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.kernel = _covariance_kernel(kernel)
        self.n_components = _checked_components(n_components)
        self.coupling = coupling
        self.length_scale = length_scale
        self.seed = seed_from(random_state)
        # Set once the dimension is known: the covariance, and the lengths of a rescaled kernel.
        self._covariance: Covariance | None = None
        self._own_lengths: FloatArray | None = None
        if dim is None:
            dim = getattr(kernel, "dim", None)
        if dim is not None:
            self._resolve(checked_dim(dim))

    def __repr__(self) -> str:
        domain = "" if self._covariance is None else f" on R^{self.dim}"
        return f"GaussianField({self.kernel}{domain}, n_components={self.n_components})"

    # --- covariance -------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Dimension of the points."""
        return int(self.table.dim)

    @property
    def table(self) -> SpectralTable:
        """The table that the frequencies are drawn from."""
        return self._resolved_covariance().table

    @property
    def k_zero(self) -> float:
        """k(0), the variance at a point."""
        covariance = self._resolved_covariance()
        kernel = covariance.kernel
        return float(covariance.table.k_zero if kernel is None else kernel.at_zero)

    def covariance(self, z: ArrayLike) -> FloatArray:
        """k(z): the covariance of two points whose distance after division by lengths is z.

        The lengths are ``length_scale`` times those of ``kernel.rescale``.  For groups of columns
        and the l1 distance, z are differences of the divided points, of shape (..., d).
        """
        return self._resolved_covariance().values(z)

    @property
    def is_differentiable(self) -> bool:
        """Whether the field has a gradient: the mean square of its frequencies is finite."""
        return all(g.mean_square_is_finite for part in self.table.parts for g in part.groups)

    def at_kink(self, X: ArrayLike, Y: ArrayLike) -> NDArray[np.bool_]:
        """Whether a row of X has the distance 0 to a row of Y, in all columns of a group."""
        return self._resolved_covariance().at_kink(self.scaled(X), self.scaled(Y))

    def covariance_error(self, z: ArrayLike) -> FloatArray:
        """Standard deviation of the covariance at distances z, over draws of the frequencies.

        It is exact, and 0 at z = 0: a path has the variance k(0).  For z see :meth:`covariance`.
        """
        covariance = self._resolved_covariance()
        points = covariance.points(z)
        return covariance.deviation(points, self.n_components // 2, self.coupling)

    def n_components_for(self, error: float, z: ArrayLike | None = None) -> int:
        """Number of components with which :meth:`covariance_error` is at most ``error``.

        It is even, at least 64, and at most about an eighth above the smallest sufficient number.

        Parameters
        ----------
        error : float
            Greater than 0, in units of the covariance.
        z : array_like, optional
            Distances (or differences) at which the error is bounded.  By default 17 along an axis
            of each group of columns and 17 along a diagonal, over four decades around the distance
            where the kernel falls below k(0)/2.

        Raises
        ------
        ParameterError
            If more than 2^24 components are needed.
        """
        error = float(real_array(error, "error"))
        if not 0.0 < error < np.inf:
            raise ParameterError(f"The error must be a positive number, not {error}.")
        covariance = self._resolved_covariance()
        lags = covariance.default_lags() if z is None else covariance.points(z)

        def largest_error(n: int) -> float:
            return float(covariance.deviation(lags, n, self.coupling).max())

        low, high = 0, max(_FIRST_FREQUENCIES, len(self.table.parts))
        while largest_error(high) > error:
            check_time()
            low, high = high, 2 * high
            if high > _MOST_FREQUENCIES:
                raise ParameterError(
                    f"An error of {error:g} needs more than {2 * _MOST_FREQUENCIES} components: it "
                    "falls like 1/sqrt(n_components). Choose a larger error."
                )
        while low and high - low > _SEARCH_TOLERANCE * high:
            middle = (low + high) // 2
            if largest_error(middle) > error:
                low = middle
            else:
                high = middle
        return 2 * high

    # --- paths ------------------------------------------------------------------------------

    def path(self, number: int = 0) -> Path:
        """Path ``number`` (0, 1, 2, ...) of the seed, as a function of points."""
        rng = self._generator(number, _WAVE_STREAM)
        scheme = self._resolved_covariance().scheme(self.n_components // 2, self.coupling)
        frequencies, units = scheme.frequencies(rng), self._units()
        cosines, sines = rng.standard_normal((2, len(frequencies))) * np.sqrt(frequencies.weights)
        if units.ndim == 2:
            turned = from_units(frequencies.frequencies, units)
            frequencies, units = replace(frequencies, frequencies=turned), np.ones(self.dim)
        return Path(frequencies, cosines, sines, units)

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Values of path 0 at the rows of X: shape (rows,)."""
        X = self._points(X)
        return self.path()(X)

    def sample(self, X: ArrayLike, *, n_paths: int = 1) -> FloatArray:
        """Values of paths 0 to n_paths - 1 at the rows of X: shape (n_paths, rows)."""
        X = self._points(X)
        values = np.empty((whole_number(n_paths, "n_paths"), len(X)))
        for number, row in enumerate(values):
            row[:] = self.path(number)(X)
        return values

    def on_grid(self, *axes: ArrayLike, number: int = 0) -> FloatArray:
        """Values of path ``number`` on the grid of d axes; see :meth:`rf.fields.Path.on_grid`."""
        if self._covariance is None:
            self._resolve(checked_dim(len(axes)))
        if np.isfinite(self.table.domain):
            ends = np.array([[np.min(a), np.max(a)] for a in axes], dtype=float)
            self._points(ends.T)
        return self.path(number).on_grid(*axes)

    def gradient(self, X: ArrayLike, *, number: int = 0) -> FloatArray:
        """Gradient of path ``number`` at the rows of X: shape (rows, d).

        Raises
        ------
        ParameterError
            If the mean square of the frequencies is infinite (as for exp(-z)): the field has no
            gradient, and the gradient of a path grows without bound with n_components.
        """
        X = self._points(X)
        if not self.is_differentiable:
            raise ParameterError(
                f"A field with the covariance {self.table.formula} has no gradient: the mean "
                "square of its frequencies is infinite, because the covariance is not twice "
                "differentiable at 0. Use a smoother one, such as a Matern kernel with nu > 1."
            )
        return self.path(number).gradient(X)

    def condition(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        noise: ArrayLike = 0.0,
        drift: Any = None,
        solver: str = "auto",
    ) -> ConditionedField:
        """The field given its values y at the rows of X; see :class:`rf.fields.ConditionedField`.

        Without a drift the field has mean 0.  To fit the covariance, use :class:`rf.Kriging`.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
            The observed values.
        noise : float or array_like of shape (n,)
            Standard deviation of the independent normal errors of y, for all or for each.
        drift : None, "constant", "linear" or array_like of shape (n, p)
            The mean of the field is a sum of unknown multiples of 1, of 1 and the coordinates, or
            of p columns, which are then needed at new points, too.
        solver : {"auto", "cholesky", "cg"}
            Cholesky factorization of the covariance matrix, or preconditioned conjugate gradients,
            which store the matrix for up to 16 384 rows and recompute it at every step for more.
            "auto" is "cholesky" for up to 10 000 rows, and "cg" for more.

        Warns
        -----
        UserWarning
            If the mean of y is more than four standard deviations (of field and noise) from 0.
        """
        points = self._points(X)
        return ConditionedField.from_data(self, points, y, noise=noise, drift=drift, solver=solver)

    def noise(self, number: int, size: int) -> FloatArray:
        """Standard normal numbers for path ``number``, independent of the path."""
        return self._generator(number, _NOISE_STREAM).standard_normal(size)

    def covariance_matrix(self, X: ArrayLike, Y: ArrayLike) -> FloatArray:
        """The exact k((x - y) / lengths) for the rows of X and of Y: shape (n, m)."""
        return self._resolved_covariance().matrix(self.scaled(X), self.scaled(Y))

    def covariance_of_pairs(self, blocks: FloatArray) -> FloatArray:
        """The covariance matrices of blocks of points, (b, k, d) -> (b, k, k)."""
        points = to_units(blocks, self._units())
        lags = Points(points[:, :, None] - points[:, None], 1)
        return self._resolved_covariance().values(lags)

    def scaled(self, X: ArrayLike) -> FloatArray:
        """X as a valid array of points, divided by the lengths."""
        points = self._points(X)
        return to_units(points, self._units())

    def covariance_gradient(self, X: ArrayLike, Y: ArrayLike, c: FloatArray) -> FloatArray:
        """Gradient at the rows of X of the sum of c_j k((x - y_j) / lengths): shape (rows, d)."""
        X = np.asarray(X, dtype=float)
        # Concatenated to check the distances of X to Y against the domain of the table.
        points = self.scaled(np.concatenate([X, np.asarray(Y, dtype=float)]))
        X, Y = np.split(points, [len(X)])
        return from_units(self._resolved_covariance().gradient_of_sum(X, Y, c), self._units())

    def _generator(self, number: int, stream: int) -> np.random.Generator:
        key = (whole_number(number, "number", least=0), stream)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _resolved_covariance(self) -> Covariance:
        if self._covariance is None:
            raise ParameterError(
                "The dimension of the field is not known before the first points: pass dim=..."
            )
        return self._covariance

    def _units(self) -> FloatArray:
        """The lengths that coordinates are divided by, (d,), or the inverse of a matrix M."""
        given = checked_lengths(self.length_scale, self.dim)
        lengths = np.asarray(product_of_lengths(self._own_lengths, given))
        if not self.table.is_radial:
            refuse_matrix(lengths, self.table.formula)
        return lengths if lengths.ndim == 1 else np.linalg.inv(lengths)

    def _points(self, X: ArrayLike) -> FloatArray:
        """X as a valid array of points; resolves the kernel if the dimension was unknown."""
        points = real_array(X, "The points", error=DataError)
        if points.ndim != 2 or not points.shape[1]:
            raise DataError(
                f"The points have the shape {points.shape}: give an array with one point to a row."
            )
        if self._covariance is None:
            self._resolve(points.shape[1])
        if points.shape[1] != self.dim:
            raise DataError(
                f"The points have {points.shape[1]} coordinate(s), and the field is defined on "
                f"R^{self.dim}."
            )
        if np.isfinite(self.table.domain):
            scaled = to_units(points, self._units())
            check_cross_distances(scaled, scaled, self.table.domain)
        return points

    def _resolve(self, dim: int) -> None:
        """Find the table and the lengths of the kernel in this dimension."""
        unscaled, self._own_lengths = split_off_lengths(self.kernel, dim)
        spectrum = resolve_spectrum(unscaled, dim)
        table = spectrum.table
        if table.sphere or not table.is_symmetric:
            raise ParameterError(
                f"{table.formula} is not a symmetric stationary kernel on R^{dim}, and a Gaussian "
                "field needs one. Give a radial kernel, or one of groups of columns."
            )
        if any(part.sign < 0 for part in table.parts) or not table.parts:
            raise ParameterError(why_not_positive(self.kernel, spectrum))
        self._covariance = Covariance(table, spectrum.kernel)
        self._units()  # refuses an invalid length_scale


def _covariance_kernel(kernel: Any) -> Any:
    """The covariance of a variogram; any other kernel unchanged."""
    if not hasattr(kernel, "sill"):
        return kernel
    if kernel.covariance is None:
        raise ParameterError(
            f"The variogram {kernel} has no sill, so its field has no covariance on R^d. "
            "Use a covariance with the same increments on a bounded region: "
            "GaussianField(gamma.on_region(radius, dim, tol=...))."
        )
    return kernel.covariance


def _checked_components(n_components: Any) -> int:
    n = whole_number(n_components, "n_components", least=2)
    if n % 2:
        raise ParameterError(
            f"n_components = {n} is odd, but each frequency has a cosine and a sine: give an "
            "even number."
        )
    return n


def seed_from(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return whole_number(random_state, "random_state", least=0, most=np.inf)
