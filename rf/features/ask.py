"""AsK-RFF: random features of asymmetric kernels, with exact or with estimated masses."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rf.features.base import BaseSpectralFeatures, Resolved
from rf.inputs.arrays import asarray_like, is_foreign, on_host, user_stacklevel
from rf.inputs.rows import FITTING_ADVICE, LENGTH_SCALE_CONSTRAINT, sample_of_rows
from rf.inputs.tables import resolve_spectrum
from rf.sampling.frequencies import FourierMap, Frequencies, Radii
from rf.schemes.complex import NEGLIGIBLE, AxialTable, axial_scheme
from rf.schemes.table_scheme import SamplingOptions
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable

__all__ = ["AsKRFF", "DroppedPartWarning", "least_squares_masses"]

# Weight of the row that holds the constraint K(0), beside rows of unit weight.
_CONSTRAINT = 1e6


class DroppedPartWarning(UserWarning):
    """A part of the measure has so little mass that it is left out."""


@final
class AsKRFF(BaseSpectralFeatures):
    r"""Random Fourier features of asymmetric kernels, of He et al.: four parts, iid frequencies.

    The complex measure is split into its real and imaginary, positive and negative parts.  The
    two imaginary ones mirror one another and are sampled as one, with phase pi/2:

    .. math:: K(D) = M_{R+} E\cos(w \cdot D) - M_{R-} E\cos(v \cdot D) - 2 M_{I+} E\sin(u \cdot D).

    The kernel matrix of rows X and Y is ``transform(X) @ transform_right(Y).T``.  All parts that
    are not negligible get equally many frequencies.  If there are fewer frequencies than parts,
    each belongs to a part that is drawn with the masses as probabilities, which is unbiased too.

    Parameters
    ----------
    kernel : AsymmetricKernel, SpectralTable or str, default="shift_gaussian"
        Sums of shifted and tilted Gaussians; :class:`rf.SpectralFeatures` takes shifts of any
        kernel.  Text is the name of an asymmetric family of ``spectra.catalogue``.
    n_components : int, default=100
        Number of output columns, two for each frequency; the paper's M is a third (or, where a
        part is dropped, half) of the number of frequencies.
    masses : {"exact", "least-squares"}, default="exact"
        "exact" is unbiased.  "least-squares" is the paper's Algorithm 2: the masses are fitted to
        the kernel matrix of some rows, non-negative and with the right value at D = 0.  In the
        published eq. (12) the sine term has the opposite sign, with which its mass comes out as
        0; here it has the sign of the paper's eq. (7).  As the features are noisy, the fitted
        masses are too small by O(1/M): the estimate is biased towards 0 (it shrinks).
    n_samples : int, default=50
        Rows of X that "least-squares" fits.
    negligible : float, default=1e-8
        A part with less than this share of the mass is dropped, with a warning; the published
        sampler by rejection would look for it for ever.
    length_scale, random_state
        As in :class:`rf.SpectralFeatures`.

    Attributes
    ----------
    measure_ : rf.schemes.complex.AxialTable
        The four parts of the measure of ``table_``, less those that were dropped.
    masses_ : ndarray
        The masses that were used, one for each part of ``measure_.parts``.

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
        """Draw the frequencies, and fit the masses where that is asked for.

        Raises
        ------
        ParameterError
            Where the kernel is not asymmetric; where "least-squares" has more parts than
            frequencies, or a table without its kernel.
        DataError
            Where the rows do not determine the masses of "least-squares".
        """
        super().fit(X)
        self.masses_ = np.array([part.mass for part in self.measure_.parts])
        if self.masses == "least-squares":
            if self.kernel_ is None:
                raise ParameterError(
                    "masses='least-squares' fits the kernel matrix, and a table alone has no "
                    "kernel. Pass the kernel, or take masses='exact'."
                )
            self._fit_masses(X, self.kernel_)
        if is_foreign(self.signature_):
            self.masses_ = asarray_like(self.masses_, self.signature_)
        return self

    def _resolve(self, X: Any) -> Resolved:
        spectrum = resolve_spectrum(self._unscaled, X.shape[1])
        table = spectrum.table
        if table.kind != "shifted":
            raise ParameterError(
                f"AsKRFF samples asymmetric kernels, and {table.formula} is symmetric. Take GRFF "
                "or SpectralFeatures; kernel.shift and kernel.tilt make asymmetric kernels."
            )
        rows = self._checked_range(spectrum, X)
        self.measure_ = AxialTable(table, "jordan", self.negligible)
        self._check_parts()
        n = -(-self.n_components // 2)
        with stage("fitting features", of=table.formula, advice=FITTING_ADVICE):
            scheme = axial_scheme(self.measure_, n, sample_of_rows(X), X.shape[0])
        return scheme, spectrum.kernel, rows, rows.domain

    def _check_parts(self) -> None:
        """Warn of parts that are left out; refuse to fit masses of more parts than frequencies."""
        gone = [(p.kind, p.mass) for p in self.measure_.dropped if p.mass > 0.0]
        if gone:
            listed = ", ".join(f"{kind} of mass {mass:.2g}" for kind, mass in gone)
            warnings.warn(
                f"Dropped the part(s) {listed}: less than {self.negligible:g} of the mass. The "
                f"bias is at most {self.measure_.bias:.2g}.",
                DroppedPartWarning,
                stacklevel=user_stacklevel(),
            )
        n, parts = -(-self.n_components // 2), len(self.measure_.parts)
        if parts > n and self.masses == "least-squares":
            raise ParameterError(
                f"{n} frequencies cannot serve {parts} parts, and masses="
                "'least-squares' fits the mass of each to its frequencies. Ask for n_components "
                f">= {2 * parts}, or take masses='exact'."
            )

    def variance(self, z: ArrayLike, *, radii: Radii | None = None) -> FloatArray:
        """Exact variance of the estimate of K at differences D = x - y, shape (n, d).

        Raises
        ------
        ParameterError
            For fitted masses, which depend on the rows and on all frequencies at once.
        """
        if self.masses == "least-squares":
            raise ParameterError(
                "The variance is known for exact masses; fitted ones depend on the rows and on "
                "all frequencies at once. Take masses='exact'."
            )
        return super().variance(z, radii=radii)

    def _fit_masses(self, X: Any, kernel: Any) -> None:
        rng = check_random_state(self.random_state)
        X = on_host(self._validated(X))
        chosen = X[rng.permutation(X.shape[0])[: self.n_samples]]
        rows = np.asarray(chosen.toarray() if issparse(chosen) else chosen, dtype=float)
        self.masses_ = least_squares_masses(
            self.frequencies_, rows, kernel.gram(rows), self.table_.k_zero
        )
        weights = (self.masses_ / np.array(self.counts_))[self.frequencies_.part]
        assert isinstance(self.feature_map_, FourierMap)  # of every asymmetric scheme
        self.feature_map_ = self.feature_map_.reweighted(weights)
        self.frequencies_ = self.feature_map_.frequencies


def least_squares_masses(
    frequencies: Frequencies, rows: FloatArray, kernel: FloatArray, k_zero: float
) -> FloatArray:
    """Masses >= 0 of the parts whose estimate is nearest to a kernel matrix and right at D = 0.

    ``rows`` (n, d); ``kernel`` (n, n); ``k_zero``: K(0).
    """
    columns, at_zero = [], []
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
            f"{len(columns)} parts: their waves agree, or vanish, on all differences of the rows. "
            "Pass more rows that differ, or take masses='exact'."
        )
    system = np.vstack([np.column_stack(columns), _CONSTRAINT * np.array(at_zero)])
    masses, _ = nnls(system, np.append(kernel.ravel(), _CONSTRAINT * k_zero))
    return np.asarray(masses)
