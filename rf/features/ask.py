"""AsK-RFF: random features of asymmetric kernels, with exact or with estimated masses."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.feature_maps.feature_map import FourierMap, Frequencies
from rf.features.base import BaseSpectralFeatures
from rf.inputs.arrays import asarray_like, is_foreign, on_host, user_stacklevel
from rf.inputs.rows import FITTING_ADVICE, LENGTH_SCALE_CONSTRAINT, sample_of_rows
from rf.inputs.tables import resolve_spectrum
from rf.sampling.frequencies import Radii
from rf.schemes.choose import FittedPlan, Request, range_of_table
from rf.schemes.complex_scheme import axial_scheme
from rf.schemes.decomposition import NEGLIGIBLE, AxialTable
from rf.schemes.table_scheme import SamplingOptions
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable

__all__ = ["AsKRFF", "DroppedPartWarning", "least_squares_masses"]

# Weight of the equation for K(0) in least squares; the equations for matrix entries have weight 1.
_CONSTRAINT_WEIGHT = 1e6


class DroppedPartWarning(UserWarning):
    """A part of the measure was left out, because its mass is negligible."""


class AsKRFF(BaseSpectralFeatures):
    r"""Random Fourier features of asymmetric kernels, of He et al.: four parts, iid frequencies.

    The complex spectral measure has a real and an imaginary part, each with a positive and a
    negative part.  The two imaginary ones are reflections of each other and are sampled as one:

    .. math:: K(D) = m_{R+} E\cos(w \cdot D) - m_{R-} E\cos(v \cdot D) - 2 m_{I+} E\sin(u \cdot D)

    with D = x - y, the masses m, and w, v, u from the normalized parts.  The kernel matrix of X and
    Y is ``transform(X) @ transform_right(Y).T``.  All parts get equally many frequencies; if there
    are fewer frequencies than parts, the part of each frequency is drawn in proportion to mass.

    Parameters
    ----------
    kernel : CompositeKernel, SpectralTable or str, default="shift_gaussian"
        A sum of shifted and tilted Gaussians; :class:`rf.SpectralFeatures` accepts shifts of any
        kernel.  A str is the name of an asymmetric family of ``spectra.catalogue``.
    n_components : int, default=100
        Number of output columns, two for each frequency; the paper's M is the number of
        frequencies of one part.
    masses : {"exact", "least-squares"}, default="exact"
        "exact" is unbiased.  "least-squares" is the paper's Algorithm 2: nonnegative masses are
        fitted to the kernel matrix of some rows, with the exact value at D = 0.  The sine term has
        the sign of the paper's eq. (7); with the opposite sign, as in its eq. (12), its fitted mass
        is 0.  As the features are noisy, the fitted masses are too small by O(1/M), so the estimate
        is biased towards 0.
    n_samples : int, default=50
        Number of rows of X that "least-squares" uses.
    negligible : float, default=1e-8
        A part with less than this share of the mass is dropped, with a warning (the paper's
        rejection sampler would hardly ever accept a draw of it).
    length_scale, random_state
        As in :class:`rf.SpectralFeatures`.

    Attributes
    ----------
    measure_ : rf.schemes.decomposition.AxialTable
        The measure of ``table_``, split into parts.
    masses_ : ndarray
        The exact or fitted mass of each part of ``measure_.parts``.

    References
    ----------
    He, He, Liu, Huang, "Random Fourier features for asymmetric kernels", 2022, Algorithms 1, 2.

    Examples
    --------
    >>> import numpy as np
    >>> from spectra import radial
    >>> X = np.random.default_rng(0).random((20, 2))
    >>> kernel = radial("exp(-z**2/2)").shift([0.9, 0.0])
    >>> features = AsKRFF(kernel, n_components=6000, random_state=0).fit(X)
    >>> K = features.transform(X) @ features.transform_right(X).T
    >>> bool(np.abs(K - kernel.gram(X)).max() < 0.06)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": "no_validation",
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "masses": [StrOptions({"exact", "least-squares"})],
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "negligible": [Interval(Real, 0.0, 0.1, closed="left")],
        "length_scale": LENGTH_SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "shift_gaussian",
        *,
        n_components: int = 100,
        masses: Literal["exact", "least-squares"] = "exact",
        n_samples: int = 50,
        negligible: float = NEGLIGIBLE,
        length_scale: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.masses = masses
        self.n_samples = n_samples
        self.negligible = negligible
        self.length_scale = length_scale
        self.random_state = random_state

    table_: SpectralTable

    def _options(self) -> SamplingOptions:
        return SamplingOptions("iid", "iid", "equal")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies, and fit the masses if they are "least-squares".

        Raises
        ------
        ParameterError
            If the kernel is symmetric; for "least-squares" also if there are more parts than
            frequencies, or if the kernel is a table.
        DataError
            If the rows do not determine the masses of "least-squares".
        """
        super().fit(X)
        self.masses_ = np.array([part.mass for part in self.measure_.parts])
        if self.masses == "least-squares":
            if self.kernel_ is None:
                raise ParameterError(
                    "masses='least-squares' fits the kernel matrix, and a table alone has no "
                    "kernel. Pass the kernel, or use masses='exact'."
                )
            self._fit_masses(X, self.kernel_)
        if is_foreign(self.signature_):
            self.masses_ = asarray_like(self.masses_, self.signature_)
        return self

    def _choose(self, request: Request) -> FittedPlan:
        X = request.rows
        spectrum = resolve_spectrum(self._unscaled, X.shape[1])
        table = spectrum.table
        if table.is_symmetric:
            raise ParameterError(
                f"AsKRFF samples asymmetric kernels, and {table.formula} is symmetric. Use GRFF "
                "or SpectralFeatures; kernel.shift and kernel.tilt make asymmetric kernels."
            )
        row_range = range_of_table(spectrum, request)
        self.measure_ = AxialTable(table, "jordan", self.negligible)
        self._check_parts()
        with stage("fitting features", of=table.formula, advice=FITTING_ADVICE):
            n = request.n_frequencies
            scheme = axial_scheme(self.measure_, n, sample_of_rows(X), X.shape[0])
        return FittedPlan(scheme, spectrum.kernel, row_range, row_range.domain)

    def _check_parts(self) -> None:
        """Warn of dropped parts; refuse to fit masses of more parts than frequencies."""
        dropped = [(p.selection, p.mass) for p in self.measure_.dropped if p.mass > 0.0]
        if dropped:
            names = ", ".join(f"{kind} of mass {mass:.2g}" for kind, mass in dropped)
            warnings.warn(
                f"Dropped the part(s) {names}: less than {self.negligible:g} of the mass. The "
                f"bias is at most {self.measure_.bias:.2g}.",
                DroppedPartWarning,
                stacklevel=user_stacklevel(),
            )
        n, parts = -(-self.n_components // 2), len(self.measure_.parts)
        if parts > n and self.masses == "least-squares":
            raise ParameterError(
                f"masses='least-squares' needs at least one frequency for each of {parts} parts, "
                f"and there are {n}. Use n_components >= {2 * parts}, or masses='exact'."
            )

    def variance(self, z: ArrayLike, *, radii: Radii | None = None) -> FloatArray:
        """Exact variance of the estimate of K(z) at differences z = x - y, shape (n, d).

        Raises
        ------
        ParameterError
            For masses "least-squares", whose variance is not known.
        """
        if self.masses == "least-squares":
            raise ParameterError(
                "The variance is known only for masses='exact': fitted masses depend on the rows "
                "and on all frequencies."
            )
        return super().variance(z, radii=radii)

    def _fit_masses(self, X: Any, kernel: Any) -> None:
        """Set ``masses_`` by least squares, and the weights of the feature map from them."""
        rng = check_random_state(self.random_state)
        X = on_host(self._validated(X))
        chosen = X[rng.permutation(X.shape[0])[: self.n_samples]]
        rows = np.asarray(chosen.toarray() if issparse(chosen) else chosen, dtype=float)
        self.masses_ = least_squares_masses(
            self.frequencies_, rows, kernel.gram(rows), self.table_.k_zero
        )
        weights = (self.masses_ / np.array(self.counts_))[self.frequencies_.part]
        assert isinstance(self.feature_map_, FourierMap)  # as for every asymmetric kernel
        self.feature_map_ = self.feature_map_.reweighted(weights)
        self.frequencies_ = self.feature_map_.frequencies


def least_squares_masses(
    frequencies: Frequencies, rows: FloatArray, kernel: FloatArray, k_zero: float
) -> FloatArray:
    """Nonnegative masses of the parts with the least square error of a kernel matrix.

    The estimate of K(0) = ``k_zero`` is exact.  ``kernel`` (n, n): the matrix of ``rows`` (n, d).
    """
    columns, at_zero = [], []  # the estimates of a part of mass 1: of the matrix, and at D = 0
    for part in range(len(frequencies.counts)):
        chosen = frequencies.part == part
        phases = frequencies.phases[chosen]
        angles = rows @ frequencies.frequencies[chosen].T
        left, right = angles + phases, angles
        waves = np.cos(left) @ np.cos(right).T + np.sin(left) @ np.sin(right).T
        columns.append(waves.ravel() / chosen.sum())
        at_zero.append(float(np.mean(np.cos(phases))))
    if np.linalg.matrix_rank(np.vstack([np.column_stack(columns), at_zero])) < len(columns):
        raise DataError(
            f"The kernel matrix of {len(rows)} row(s) does not determine the masses of "
            f"{len(columns)} parts: their estimates are linearly dependent on these rows. "
            "Pass more distinct rows, or use masses='exact'."
        )
    system = np.vstack([np.column_stack(columns), _CONSTRAINT_WEIGHT * np.array(at_zero)])
    masses, _ = nnls(system, np.append(kernel.ravel(), _CONSTRAINT_WEIGHT * k_zero))
    return np.asarray(masses)
