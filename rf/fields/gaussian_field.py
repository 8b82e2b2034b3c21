r"""Gaussian random fields with a stationary covariance, drawn through its spectral table."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from rf.fields.conditioned import ConditionedField
from rf.fields.covariance import Covariance, covariance_of, why_not_positive
from rf.fields.paths import Path
from rf.inputs.rows import check_cross_distances, checked_lengths
from rf.inputs.tables import resolve_spectrum, split_off_lengths
from spectra.base.arrays import FloatArray
from spectra.base.numbers import checked_dim, real_array, whole_number
from spectra.errors import DataError, ParameterError
from spectra.table import RadialLaw, SpectralTable

__all__ = ["GaussianField"]

# Streams of the seed: the waves of path j, and the noise that conditioning adds to it.
_WAVES, _NOISE = 0, 1
# Upper quantiles at these probabilities q grow like q^(-1/a), and the second moment is finite if
# a > 2.  These q are so small that only the tail of the law matters.
_FAR_SHARES = (1e-13, 1e-15)
_SQUARE_SUMMABLE = 0.49
_MOST_COMPONENTS = 1 << 24
_LEAST_FREQUENCIES, _SEARCH_TOLERANCE = 32, 0.125


@final
class GaussianField:
    r"""A Gaussian random field with mean 0 and covariance k(x - y), whose paths are functions.

    .. math:: f(x) = \sum_i \sqrt{a_i}\,(A_i \cos(w_i \cdot x) + B_i \sin(w_i \cdot x)),
              \qquad E f(x) f(y) = k(x - y)

    The frequencies w are drawn from the exact spectral law of k, so that the covariance is
    unbiased at every lag for any number of components; A and B are standard normal.  Given
    its frequencies a path is Gaussian with the covariance :math:`\sum_i a_i \cos(w_i \cdot (x-y))`;
    :meth:`covariance_error` is its exact standard deviation.

    Parameters
    ----------
    kernel : Kernel, GroupedKernel, L1Kernel, Entry, str, SpectralMeasure, Design or table
        The covariance: positive definite on R^dim.  For groups of columns
        each part must be.  A Variogram gives its sill minus itself.
    dim : int, optional
        Dimension of the points; by default that of the first ones, or that of the table.
    n_components : int
        Waves of a path, a cosine and a sine for each frequency.
    coupling : str
        How the frequencies depend on one another, as in :func:`rf.draw_frequencies`; "auto" is
        "orthogonal", whose variance is small in every dimension, since there are no rows to compare
        couplings on ("iid" for the l1 distance, which has no others).
    length_scale : float or array_like of shape (d,)
        What each coordinate is divided by before the kernel sees it.
    random_state : int or None
        The seed.  The same seed gives the same paths, in blocks, for any order of the points.

    Attributes
    ----------
    seed : int
        ``random_state``, or a random seed if that is None.

    Raises
    ------
    ParameterError
        Where the kernel is not positive definite on R^dim (the message says where it is), or a
        parameter has an invalid value.
    InfiniteMassError, UndecidedError, NoRouteError, FormulaError
        Where the kernel has no table.

    Notes
    -----
    Each path has its own frequencies, so the mean of f(x) f(y) over paths tends to k, not to the
    covariance given one draw of frequencies.

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
        self.kernel = _with_sill(kernel)
        self.n_components = _even(n_components)
        self.coupling = coupling
        self.length_scale = length_scale
        self.seed = _seed(random_state)
        self._law: Covariance | None = None
        self._own_lengths: FloatArray | None = None
        if dim is None:
            dim = getattr(kernel, "dim", None)
        if dim is not None:
            self._resolve(checked_dim(dim))

    def __repr__(self) -> str:
        where = "" if self._law is None else f" on R^{self.dim}"
        return f"GaussianField({self.kernel}{where}, n_components={self.n_components})"

    # --- what the field is ------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Dimension of the points."""
        return int(self.table.dim)

    @property
    def table(self) -> SpectralTable:
        """The table that the frequencies are drawn from."""
        table: SpectralTable = self._stored().table
        return table

    @property
    def k_zero(self) -> float:
        """k(0), the variance at a point."""
        law = self._stored()
        return float(law.table.k_zero if law.kernel is None else law.kernel.at_zero)

    def covariance(self, z: ArrayLike) -> FloatArray:
        """k(z): the covariance of two points at the distance z, in units of ``length_scale``.

        For groups of columns and the l1 distance, z is a difference x - y: an array of shape
        (..., d).
        """
        return self._stored().values(z)

    @property
    def is_radial(self) -> bool:
        """Whether the covariance is a function of one distance, up to the lengths."""
        return self.table.is_radial

    @property
    def is_differentiable(self) -> bool:
        """Whether the mean square of the frequencies is finite: then the field has a gradient."""
        laws = self._stored().laws()
        return laws is not None and all(_spread(law) <= _SQUARE_SUMMABLE for law in laws)

    def covariance_error(self, z: ArrayLike) -> FloatArray:
        """Exact standard deviation of the covariance that one draw implies, at distances z.

        It is 0 at z = 0: every path has the exact variance k(0).  For groups of columns and the
        l1 distance, z are differences of shape (..., d).
        """
        law = self._stored()
        points, shape = law.checked(z)
        return law.deviation(points, self.n_components // 2, self.coupling).reshape(shape)

    def n_components_for(self, error: float, z: ArrayLike | None = None) -> int:
        """Number of components with which :meth:`covariance_error` is at most ``error``.

        An even number, at most about an eighth above the least one, or 64 if fewer would do.

        Parameters
        ----------
        error : float
            Greater than 0, in units of the covariance.
        z : array_like, optional
            The distances (or differences) that matter; by default 33 of them over four decades
            about the length at which the kernel is k(0)/2; 9 along each axis and their
            diagonal where the kernel is not radial.

        Raises
        ------
        ParameterError
            Where more than 2^24 components would be needed.
        """
        error = float(real_array(error, "error"))
        if not 0.0 < error < np.inf:
            raise ParameterError(f"The error must be a positive number, and it is {error}.")
        law = self._stored()
        at = law.check_points() if z is None else law.checked(z)[0]

        def worst(n: int) -> float:
            return float(law.deviation(at, n, self.coupling).max())

        low, high = 0, max(_LEAST_FREQUENCIES, len(self.table.parts))
        while worst(high) > error:
            low, high = high, 2 * high
            if high > _MOST_COMPONENTS // 2:
                raise ParameterError(
                    f"An error of {error:g} needs more than {_MOST_COMPONENTS} components: the "
                    "error falls like the square root of their number. Ask for less accuracy."
                )
        while low and high - low > _SEARCH_TOLERANCE * high:
            middle = (low + high) // 2
            if worst(middle) > error:
                low = middle
            else:
                high = middle
        return 2 * high

    # --- paths ------------------------------------------------------------------------------

    def path(self, number: int = 0) -> Path:
        """Path number 0, 1, 2, ... of the seed: a function of points."""
        rng = self._stream(number, _WAVES)
        scheme = self._stored().scheme(self.n_components // 2, self.coupling)
        drawn = scheme.frequencies(rng)
        a, b = rng.standard_normal((2, len(drawn))) * np.sqrt(drawn.weights)
        return Path(drawn, a, b, self._lengths())

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Values of path 0 at the rows of X: shape (rows,)."""
        X = self._points(X)
        return self.path()(X)

    def sample(self, X: ArrayLike, *, n_paths: int = 1) -> FloatArray:
        """Values of the first paths at the rows of X: shape (n_paths, rows)."""
        X = self._points(X)
        values = np.empty((whole_number(n_paths, "n_paths"), len(X)))
        for number, row in enumerate(values):
            row[:] = self.path(number)(X)
        return values

    def on_grid(self, *axes: ArrayLike, number: int = 0) -> FloatArray:
        """Values of a path on the grid of d axes; see :meth:`rf.fields.Path.on_grid`."""
        if self._law is None:
            self._resolve(checked_dim(len(axes)))
        if np.isfinite(self.table.domain):
            ends = np.array([[np.min(a), np.max(a)] for a in axes], dtype=float)
            self._points(ends.T)
        return self.path(number).on_grid(*axes)

    def gradient(self, X: ArrayLike, *, number: int = 0) -> FloatArray:
        """Gradient of a path at the rows of X: shape (rows, d).

        Raises
        ------
        ParameterError
            Where the frequencies have no finite mean square, so that the field has no gradient
            (as for exp(-z)), and that of a path grows without bound with n_components.
        """
        X = self._points(X)
        if not self.is_differentiable:
            raise ParameterError(
                f"A field with the covariance {self.table.formula} has no gradient: the mean "
                "square of its frequencies is infinite, because the covariance is not twice "
                "differentiable at 0. Take a smoother one, such as a Matern kernel of nu > 1."
            )
        return self.path(number).gradient(X)

    def condition(
        self, X: ArrayLike, y: ArrayLike, *, noise: float = 0.0, solver: str = "auto"
    ) -> ConditionedField:
        """The field given its values y at the rows of X; see :class:`rf.fields.ConditionedField`.

        The mean of the field is 0: if the data have another one, subtract it before and add it
        to the predictions.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
            What was observed there.
        noise : float
            Standard deviation of the independent normal errors of y, at least 0.
        solver : {"auto", "cholesky", "cg"}
            An exact factor of the covariance matrix, preconditioned conjugate gradients (which
            hold the matrix up to 16 384 rows and compute it at every step beyond), or the first
            for up to 10 000 rows and the second beyond.

        Warns
        -----
        UserWarning
            If the mean of y is more than four standard deviations of the field away from 0.
        """
        points = self._points(X)
        return ConditionedField.of(self, points, y, noise=noise, solver=solver)

    # --- inside -----------------------------------------------------------------------------

    def noise(self, number: int, size: int) -> FloatArray:
        """Standard normal numbers of a path, independent of its waves."""
        return self._stream(number, _NOISE).standard_normal(size)

    def covariance_matrix(self, X: ArrayLike, Y: ArrayLike) -> FloatArray:
        """The exact k((x - y) / lengths) for the rows of X and of Y: shape (n, m)."""
        lengths = self._lengths()
        return self._stored().matrix(self._points(X) / lengths, self._points(Y) / lengths)

    def covariance_gradient(self, X: ArrayLike, Y: ArrayLike, c: FloatArray) -> FloatArray:
        """Gradient at the rows of X of the sum over j of c_j k(x - y_j): shape (rows, d)."""
        X = np.asarray(X, dtype=float)
        # Together, so that their distances are checked against the domain of the table.
        both = self._points(np.concatenate([X, np.asarray(Y, dtype=float)])) / self._lengths()
        slopes = self._stored().gradient_of_sum(both[: len(X)], both[len(X) :], c)
        return slopes / self._lengths()

    def _stream(self, number: int, stream: int) -> np.random.Generator:
        key = (whole_number(number, "number", least=0), stream)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _stored(self) -> Covariance:
        if self._law is None:
            raise ParameterError(
                "The dimension of the field is not known before it has seen points: pass dim=..."
            )
        return self._law

    def _lengths(self) -> FloatArray:
        lengths = checked_lengths(self.length_scale, self.dim)
        return lengths if self._own_lengths is None else lengths * self._own_lengths

    def _points(self, X: ArrayLike) -> FloatArray:
        points = real_array(X, "The points", error=DataError)
        if points.ndim != 2 or not points.shape[1]:
            raise DataError(
                f"The points have the shape {points.shape}: give an array with one point to a row."
            )
        if self._law is None:
            self._resolve(points.shape[1])
        if points.shape[1] != self.dim:
            raise DataError(
                f"The points have {points.shape[1]} coordinate(s), and the field lives on "
                f"R^{self.dim}."
            )
        if np.isfinite(self.table.domain):
            check_cross_distances(
                points / self._lengths(), points / self._lengths(), self.table.domain
            )
        return points

    def _resolve(self, dim: int) -> None:
        radial, self._own_lengths = split_off_lengths(self.kernel, dim)
        spectrum = resolve_spectrum(radial, dim)
        table = spectrum.table
        if table.sphere or table.kind == "shifted":
            raise ParameterError(
                f"{table.formula} is not a function of |x - y| on all of R^{dim}, and a Gaussian "
                "field here is stationary. Give a radial kernel, or one of groups of columns."
            )
        if any(part.sign < 0 for part in table.parts) or not table.parts:
            raise ParameterError(why_not_positive(self.kernel, spectrum))
        self._law = covariance_of(table, spectrum.kernel)
        self._lengths()


def _with_sill(kernel: Any) -> Any:
    """The covariance of a variogram; anything else as it is."""
    if not hasattr(kernel, "sill"):
        return kernel
    if kernel.covariance is None:
        raise ParameterError(
            f"The variogram {kernel} has no sill, so a field with it has no covariance on all of "
            "R^d. Draw it on a region through a covariance with the same increments there: "
            "GaussianField(gamma.on_region(radius, dim, tol=...))."
        )
    return kernel.covariance


def _spread(law: RadialLaw) -> float:
    """The exponent 1/a of a tail P(radius > R) ~ R^(-a), from two extreme quantiles."""
    near, far = law.isf(np.array(_FAR_SHARES))
    return float(np.log(far / near) / np.log(_FAR_SHARES[0] / _FAR_SHARES[1]))


def _even(n_components: Any) -> int:
    n = whole_number(n_components, "n_components", least=2)
    if n % 2:
        raise ParameterError(
            f"n_components = {n} is odd, but each wave has a cosine and a sine: give an "
            "even number."
        )
    return n


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return whole_number(random_state, "random_state", least=0, most=np.inf)
