"""The base class of the estimators: fit, transform, gram, variance.

Fit checks the rows (:mod:`rf.inputs`), finds a scheme (:mod:`rf.schemes.scheme`), which says how
features are sampled, and draws a feature map (:mod:`rf.sampling.frequencies`) from it.  The
signature is +1 for columns of a positive part and -1 for those of a negative part.  For a symmetric
kernel, ``(Z * signature_) @ Z.T`` estimates the kernel matrix.  If the frequencies are drawn from a
table, the only bias is that of the table.  For a radial kernel and an even number of columns, the
diagonal is then exactly k(0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rf.feature_maps.feature_map import FeatureMap
from rf.feature_maps.threads import serial_blas
from rf.features.messages import USELESS_ERROR, warn_of_error, warn_of_signs
from rf.features.operators import FeatureOperator, checked_ridge
from rf.inputs.arrays import (
    asarray_like,
    by_chunks,
    is_foreign,
    on_host,
    refuse_other_library,
    validated_rows,
)
from rf.inputs.rows import (
    FITTING_ADVICE,
    check_overflow,
    divide_by_lengths,
    lengths_for,
    product_of_lengths,
)
from rf.inputs.tables import resolve_kernel, split_off_lengths
from rf.sampling.frequencies import Radii
from rf.schemes.choose import FittedPlan, Request, choose
from rf.schemes.scheme import Scheme
from rf.schemes.table_scheme import SamplingOptions, TableScheme
from spectra.base.arrays import FloatArray
from spectra.base.limits import stage
from spectra.base.numbers import real_array
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["BaseSpectralFeatures", "MixedSignature"]

MixedSignature = Literal["warn", "ignore", "error"]


class BaseSpectralFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """Base class; a subclass defines the parameters and how they set the sampling options."""

    kernel: Any
    n_components: int
    random_state: Any
    mixed_signature: MixedSignature = "ignore"
    length_scale: Any = None
    domain: Any = None
    outside: Literal["error", "ignore"] = "error"
    # Set by fit.
    table_: SpectralTable | None
    length_scale_: FloatArray | None
    scheme_: Scheme
    coupling_: str | None
    counts_: tuple[int, ...]
    report_: tuple[Any, ...]
    method_: str
    signature_: Any
    cancellation_bound_: float
    z_max_: float
    feature_map_: FeatureMap
    _row_range: Any  # a RowRange or a BoxRange
    _lengths: FloatArray | None  # what rows are divided by: length_scale_ times the kernel's own
    _unscaled: Any  # the kernel without its own length scales
    _exact: Any  # the exact kernel or its text; None if only a table is known

    @abstractmethod
    def _options(self) -> SamplingOptions:
        """Coupling, radii and allocation, from the parameters."""

    def _choose(self, request: Request) -> FittedPlan:
        """Find the scheme; the default is for symmetric kernels."""
        plan = choose(self._unscaled, request)
        if not plan.scheme.table.is_symmetric:
            raise ParameterError(
                f"{type(self).__name__} samples symmetric kernels, and "
                f"{plan.scheme.table.formula} is asymmetric. Use AsKRFF or SpectralFeatures."
            )
        return plan

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose how to sample features of the kernel for the rows X, and draw them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; coupling "auto" and allocation "optimal" depend on their distances.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If there are too few frequencies for the coupling, or ``kernel`` is not a kernel.
        DataError
            If the table was made for another dimension, rows of a zonal kernel are not on the unit
            sphere, or two rows are further apart than the table's domain.
        InfiniteMassError, UndecidedError, NoRouteError, FormulaError
            If the kernel has no table.
        """
        self._validate_params()
        rows = validated_rows(self, X, reset=True)
        self.length_scale_ = lengths_for(self.length_scale, on_host(rows))
        self._unscaled, kernel_lengths = split_off_lengths(self.kernel, rows.shape[1])
        self._lengths = product_of_lengths(kernel_lengths, self.length_scale_)
        rows = divide_by_lengths(rows, self._lengths)
        X = on_host(rows)
        seed = check_random_state(self.random_state).randint(0, 2**32, size=4, dtype=np.uint32)
        rng = np.random.default_rng(seed.tolist()).spawn(2)[1]  # [0] would change seeded results
        check_overflow(X)
        with serial_blas():  # the products are small
            request = Request(
                X,
                self.n_components,
                self._options(),
                domain=self.domain,
                positive=self.mixed_signature == "error",
                any_distance=self.outside == "ignore",
                lengths=self._lengths,
            )
            plan = self._choose(request)
            scheme, self._row_range, self.z_max_ = plan.scheme, plan.row_range, plan.z_max
            self._exact = plan.kernel if kernel_lengths is None else self.kernel
            self.scheme_, self.table_, self.method_ = scheme, scheme.table, scheme.method
            self.coupling_, self.counts_ = scheme.coupling, scheme.counts
            self.report_ = scheme.compared
            with stage("drawing features", of=self._formula, advice=FITTING_ADVICE):
                features = self.feature_map_ = scheme.draw(self.n_components, rng)
                self.cancellation_bound_ = features.cancellation_bound(X)
                error = self.expected_error_
        self.frequencies_, self.signature_ = features.frequencies, features.signature
        self._n_features_out = len(features.signature)
        if np.any(features.signature < 0.0) and self.mixed_signature != "ignore":
            warn_of_signs(features.signature, refuse=self.mixed_signature == "error")
        if error >= USELESS_ERROR:
            warn_of_error(error, self._n_features_out, self._formula)
        if is_foreign(rows):
            for name in ("signature_", "length_scale_", "_lengths"):
                if getattr(self, name) is not None:
                    setattr(self, name, asarray_like(getattr(self, name), rows, double=True))
        return self

    @property
    def _formula(self) -> str:
        return str(self.kernel_) if self.table_ is None else self.table_.formula

    @property
    def kernel_(self) -> Any:
        """The exact kernel, or None; the text of a kernel is parsed here."""
        check_is_fitted(self)
        return resolve_kernel(self._exact)

    @property
    def expected_error_(self) -> float:
        """Expected relative error of the kernel matrix of the fitted rows, in Frobenius norm."""
        check_is_fitted(self)
        return self.scheme_.expected_error(self.feature_map_.extra_variance)

    @property
    def is_unbiased_(self) -> bool:
        """Whether the mean of the estimate over draws is the kernel, for all rows."""
        check_is_fitted(self)
        return self.scheme_.is_unbiased

    @by_chunks
    def transform(self, X: Any, *, out: NDArray[Any] | None = None) -> Any:
        """The (left) features Z of rows: K is estimated by (Z * signature_) @ Z.T.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        out : ndarray of shape (n_samples, n_components), optional
            Array that Z is written to: contiguous, of the dtype of the result.  Reusing one array
            saves the allocation, which can take longer than the computation.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 if X is float32, float64 otherwise.

        Raises
        ------
        DataError
            For rows that :meth:`fit` refuses.
        ParameterError
            For an ``out`` of another shape, dtype or layout.
        """
        X = self._validated(X)
        return self.feature_map_.left(X, out)

    @by_chunks
    def transform_right(self, X: Any, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The right features: K(X, Y) ~ (transform(X) * signature_) @ transform_right(Y).T.

        They equal :meth:`transform` unless the kernel is asymmetric.
        """
        X = self._validated(X)
        return self.feature_map_.right(X, out)

    @by_chunks
    def gram(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """The estimated kernel matrix; ``kernel_.gram``, at rows / length_scale_, is exact.

        Returns
        -------
        ndarray of shape (len(X), len(Y))

        Raises
        ------
        DataError
            For rows that :meth:`fit` refuses, or a row of X and one of Y that are too far apart.
        """
        X, Y = self._validated_pair(X, Y)
        features = self.feature_map_
        left = features.left(X)
        right = left if Y is X and features.symmetric else features.right(Y)
        matrix: NDArray[Any] = (left * asarray_like(self.signature_, left)) @ right.T
        return matrix

    def operator(self, X: Any, Y: Any = None, *, ridge: float = 0.0) -> FeatureOperator:
        """The estimated kernel matrix as a linear operator; neither the matrix nor Z is stored.

        A product takes the time of two transforms and the memory of one block of features.  Use it
        with the iterative solvers of ``scipy.sparse.linalg``.

        Parameters
        ----------
        X, Y : array-like or sparse matrix of shape (n_samples, n_features)
            As for :meth:`gram`.
        ridge : float, default=0.0
            Added to the diagonal of the matrix of X with itself.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator of shape (len(X), len(Y))
            gram(X, Y) + ridge I, with products from both sides.

        Raises
        ------
        DataError
            For rows that :meth:`gram` refuses.
        ParameterError
            For a ridge that is not a finite number, or is not 0 although Y is given.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse.linalg import cg
        >>> from rf import SpectralFeatures
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> K = SpectralFeatures("gaussian", random_state=0).fit(X).operator(X, ridge=0.1)
        >>> solution, _ = cg(K, X[:, 0], rtol=1e-10)
        >>> bool(np.allclose(K @ solution, X[:, 0]))
        True
        """
        ridge = checked_ridge(ridge, has_Y=Y is not None)
        X, Y = map(on_host, self._validated_pair(X, Y, "operator"))
        features = self.feature_map_
        return FeatureOperator(X, Y, features.left, features.right, features.signature, ridge=ridge)

    def variance(self, z: ArrayLike, *, radii: Radii | None = None) -> FloatArray:
        """Exact variance, over draws of the features, of the estimate of k at distances z.

        Its numerical error, relative to the squared mass of the measure, is about 1e-8, or 1e-4 for
        a measure with an oscillating tail (:meth:`rf.variance.variance.VarianceModel.variance`
        gives the bounds).  At 256 or more distances a smooth variance is interpolated, to 1e-6.

        Parameters
        ----------
        z : array_like
            Distances of rows divided by their lengths; for an asymmetric kernel, differences x - y
            of such rows, shape (n, d).
        radii : {"iid", "stratified"}, optional
            How the radii |w| are drawn, by default as in the features.

        Raises
        ------
        ParameterError
            For features designed for the data, whose variance is not known.
        """
        check_is_fitted(self)
        z, scheme = real_array(z, "the distances"), self.scheme_
        if radii is not None and isinstance(scheme, TableScheme):
            scheme = replace(scheme, radii=radii)
        advice = "ask for the variance at fewer distances"
        with serial_blas(), stage("computing variances", of=self._formula, advice=advice):
            return scheme.variance(z)[0] + self.feature_map_.extra_variance

    def n_components_for(
        self,
        eps: float,
        delta: float,
        *,
        n_points: int | None = None,
        diameter: float | None = None,
        bound: str = "bernstein",
        allocation: str = "equal",
    ) -> int:
        """Number of columns for errors of at most eps in all entries, with probability 1 - delta.

        See :func:`rf.variance.bounds.n_components_for`.  The bounds are for coupling "iid"; other
        couplings may need fewer columns, but have no proved bound.

        Raises
        ------
        ParameterError
            For asymmetric kernels and features designed for the data, for which no bound is known.
        """
        from rf.variance.bounds import n_components_for

        check_is_fitted(self)
        table = self.scheme_.table
        options: Any = {"diameter": diameter, "bound": bound, "allocation": allocation}
        return n_components_for(table, eps, delta, n_points=n_points, **options)

    def _validated(self, X: Any, method: str = "transform") -> Any:
        """Checked rows, divided by their lengths."""
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        refuse_other_library(self, X, self.signature_, method)
        X = divide_by_lengths(X, self._lengths)
        check_overflow(X)
        self._row_range.check(X, at_any_distance=self.outside == "ignore")
        return X

    def _validated_pair(self, X: Any, Y: Any, method: str = "gram") -> tuple[Any, Any]:
        """Both sets of rows, checked with their distances; Y is X if it is None."""
        X = self._validated(X, method)
        if Y is None:
            return X, X
        Y = self._validated(Y, method)
        if self.outside == "error":
            self._row_range.check_between(X, Y)
        return X, Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
