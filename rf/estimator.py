r"""The one estimator behind every random-feature system: fit, transform, gram, signature.

The columns of Z are :math:`\sqrt{a_i}\cos(w_i \cdot x)` for all n frequencies, then
:math:`\sqrt{a_i}\sin(w_i \cdot x)` for all n.  With the signature +1 for a positive part and -1
for a negative one, ``(Z * signature_) @ Z.T`` estimates the kernel matrix without bias, and its
diagonal is k(0) exactly (an odd number of columns leaves out one sine: see ``n_components``).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rf.arrays import beside, is_foreign, on_host, refuse_other_library, validated_rows
from rf.asymmetric import AsymmetricPlan, draw_asymmetric, typical_differences
from rf.bounds import n_components_for
from rf.callers import outside
from rf.dask_arrays import by_chunks
from rf.frequencies import (
    Allocation,
    Frequencies,
    Radii,
    allocate,
    draw_frequencies,
)
from rf.operators import FeatureOperator, checked_ridge
from rf.ranking import Plan, best_split, candidates, ranked_plans
from rf.rows import (
    FITTING_ADVICE,
    centre_of,
    check_cross_distances,
    check_distances,
    check_size,
    check_unit_rows,
    typical_distances,
)
from rf.spectrum import Spectrum, resolve_spectrum
from rf.variance import VarianceModel
from rf.waves import copied_into, wave_columns
from spectra.errors import ParameterError
from spectra.modulated import AsymmetricTable
from spectra.numeric import real_array
from spectra.progress import stage
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.portfolio.choice import Selection

__all__ = [
    "BaseSpectralFeatures",
    "MixedSignature",
    "Scheme",
    "SignatureWarning",
    "UselessFeaturesWarning",
]

FloatArray = NDArray[np.float64]
MixedSignature = Literal["warn", "ignore", "error"]

# A phase counts as 0 or pi up to rounding.
_PHASE_TOLERANCE = 1e-12


# Features are warned of from this part of the kernel matrix on, as their error: the chosen place
# between an approximation and none, which has the error 1.
_USELESS = 0.5


class UselessFeaturesWarning(UserWarning):
    """The features are known to err by half of the kernel matrix or more: zeros err by all."""


class SignatureWarning(UserWarning):
    """The features carry signs that a model on Z alone does not see."""


@dataclass(frozen=True)
class Scheme:
    """How the frequencies are drawn, read from the parameters of an estimator."""

    coupling: str
    radii: Radii
    allocation: Allocation
    mixed_signature: MixedSignature


@dataclass(frozen=True, eq=False)
class _Layout:
    """From the terms a cos(w.D + phase) to columns: their scales, phases and signs.

    A frequency fills a cosine and a sine column.  An odd number of columns leaves one frequency
    alone with one: w = 0, whose sine is 0, where a measure has it; else sqrt(2 a) cos(w.x + b)
    with b uniform, which is unbiased as well and adds the variance a^2 / 2, of the least weight.
    """

    scale: FloatArray
    left_phases: FloatArray | None
    right_phases: FloatArray | None
    signature: FloatArray
    symmetric: bool
    lone: int | None
    extra_variance: float

    @classmethod
    def of(
        cls,
        frequencies: Frequencies,
        n_components: int,
        rng: np.random.Generator,
        *,
        signed: bool,
    ) -> Self:
        """The layout; without ``signed`` the sign of a part is in its left columns."""
        n = len(frequencies)
        phases, weights = frequencies.phases, frequencies.weights
        real = np.abs(np.sin(phases)) < (_PHASE_TOLERANCE if signed else 0.0)
        sign = np.where(real & (np.cos(phases) < 0), -1.0, 1.0)
        left = np.where(real, 0.0, phases)
        right = np.zeros(n)
        scale = np.sqrt(weights)
        still = np.flatnonzero(~frequencies.frequencies.any(axis=1))
        extra = 0.0
        lone: int | None = None
        signature = np.concatenate([sign, sign])
        if n_components % 2:
            lone = int(still[0] if still.size else np.argmin(weights))
            if not still.size:
                offset = rng.uniform(0.0, 2.0 * np.pi)
                left[lone] += offset
                right[lone] += offset
                scale[lone] *= np.sqrt(2.0)
                extra = 0.5 * float(weights[lone]) ** 2
            signature = np.delete(signature, n + lone)
        return cls(
            scale=scale,
            left_phases=left if left.any() else None,
            right_phases=right if right.any() else None,
            signature=signature,
            symmetric=bool(np.array_equal(left, right)),
            lone=lone,
            extra_variance=extra,
        )


class BaseSpectralFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """All that the estimators share; a subclass names its parameters and its scheme."""

    spectrum: Any
    n_components: int
    random_state: Any
    # What fit leaves, whatever was given.
    table_: Any
    frequencies_: Any
    coupling_: Any
    counts_: tuple[int, ...]
    plans_: tuple[Plan, ...]
    expected_error_: float

    @abstractmethod
    def _scheme(self) -> Scheme:
        """The scheme that the parameters stand for."""

    # What features made to order say of themselves; tables have no such things.
    _selection: Selection | None = None
    # The frequencies of each part where the design of the table decides them.
    _layout_counts: tuple[int, ...] | None = None
    _domain: float = np.inf
    _sphere: str = ""

    def _resolve(self, X: Any, for_draw: np.random.Generator) -> Spectrum | Selection:
        """The table of the kernel, or features that are made to order for the data."""
        return resolve_spectrum(self.spectrum, X.shape[1])

    def _check_table(self, table: SpectralTable) -> None:
        """Refuse a table that this system does not cover; by default every table is covered."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel for the dimension of X, and draw the frequencies.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; their distances choose the coupling and the allocation where these are "auto"
            and "optimal".
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            For more parts than frequencies, or an unknown spectrum.
        DataError
            Where the table was made for another dimension, rows are off the sphere of a zonal
            kernel, or two rows are further apart than the table's domain.
        InfiniteMassError, UndecidedError, NoRouteError, FormulaError
            Where the kernel has no table.
        """
        self._validate_params()
        given = validated_rows(self, X, reset=True)
        X = on_host(given)
        scheme = self._scheme()
        seed = check_random_state(self.random_state).randint(0, 2**32, size=4, dtype=np.uint32)
        for_data, for_frequencies = np.random.default_rng(seed.tolist()).spawn(2)
        check_size(X)
        self._centre = centre_of(X)
        self._selection, self._layout_counts = None, None
        self.expected_error_ = float("nan")
        spectrum = self._resolve(X, for_frequencies)
        if not isinstance(spectrum, Spectrum):
            self._take(spectrum)
            return self._announced(scheme.mixed_signature, given)
        if isinstance(spectrum.table, SpectralTable):
            self._check_table(spectrum.table)
        self.table_ = spectrum.table
        self.kernel_ = spectrum.kernel
        self._domain = spectrum.table.domain
        self._sphere = spectrum.table.formula if spectrum.table.sphere else ""
        self._check_rows(X)
        table = spectrum.table
        if not table.parts:
            raise ParameterError(
                f"The spectral measure of {table.formula} is 0 to within the error of its masses, "
                "so there is nothing to draw: the kernel is 0, or a difference that cancels below "
                "what can be computed. Check the formula, or scale the difference up."
            )
        with stage("fitting features", of=table.formula, advice=FITTING_ADVICE):
            if isinstance(table, AsymmetricTable):
                self._draw_asymmetric(scheme, table, X, for_data, for_frequencies)
            else:
                self.decomposition_ = "radial"
                self.coupling_, self.counts_ = self._plan(scheme, table, X, for_data)
                self.frequencies_ = self._draw(scheme, table, X, for_frequencies)
        columns = self.n_components
        if self._layout_counts is not None:
            columns = min(columns, 2 * len(self.frequencies_))
        self._layout = _Layout.of(
            self.frequencies_,
            columns,
            for_frequencies,
            signed=isinstance(table, SpectralTable),
        )
        self.signature_ = self._layout.signature
        self._n_features_out = columns
        return self._announced(scheme.mixed_signature, given)

    def _take(self, selection: Selection) -> None:
        """Become the features that were made to order."""
        self._selection = selection
        self.table_ = self.frequencies_ = None
        self.coupling_, self.counts_ = selection.chosen.name, ()
        self.plans_ = ()
        self.kernel_ = selection.kernel
        self._domain = np.inf if selection.everywhere else selection.z_max
        self._sphere = str(selection.kernel) if selection.kernel.is_zonal else ""
        self.decomposition_ = "made to order"
        self.signature_ = selection.map.signature
        self._n_features_out = len(self.signature_)
        self.expected_error_ = selection.chosen.error
        if self.expected_error_ >= _USELESS:
            warnings.warn(
                f"The best {self._n_features_out} features of {selection.kernel} for these rows "
                f"are expected to err by {100 * self.expected_error_:.3g} % of its matrix "
                "(Frobenius norm), and a matrix of zeros errs by 100 %. Allow more columns, or "
                "take a kernel that varies less over the distances of the data; explain() shows "
                "what was tried.",
                UselessFeaturesWarning,
                stacklevel=outside(),
            )

    @by_chunks
    def transform(self, X: Any, *, out: NDArray[Any] | None = None) -> Any:
        """The (left) features Z of rows: K is estimated by (Z * signature_) @ Z.T.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        out : ndarray of shape (n_samples, n_components), optional
            Contiguous, of the type that is returned: Z is written here, which spares the fresh
            memory that costs more than the work.  Chunks of rows may share one array.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            float32 where X is float32, float64 otherwise.

        Raises
        ------
        DataError
            As :meth:`fit` does for the rows.
        ParameterError
            For an ``out`` of another shape, type or layout.
        """
        return self._columns(self._validated(X), left=True, out=out)

    @by_chunks
    def transform_right(self, X: Any, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The right features: K(X, Y) ~ (transform(X) * signature_) @ transform_right(Y).T.

        They equal :meth:`transform` unless a part has a phase other than 0 and pi.
        """
        return self._columns(self._validated(X), left=False, out=out)

    @by_chunks
    def gram(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """The estimated kernel matrix, to set beside ``kernel_.gram(X, Y)``.

        Returns
        -------
        ndarray of shape (len(X), len(Y))

        Raises
        ------
        DataError
            As :meth:`fit` does, and where a row of X and one of Y are too far apart.
        """
        X = self._validated(X)
        left = self._columns(X, left=True)
        if Y is None:
            same = self._selection is not None or self._layout.symmetric
            right = left if same else self._columns(X, left=False)
        else:
            Y = self._validated(Y)
            if np.isfinite(self._reach):
                check_cross_distances(on_host(X), on_host(Y), self._reach)
            right = self._columns(Y, left=False)
        matrix: NDArray[Any] = (left * beside(self.signature_, left)) @ right.T
        return matrix

    def operator(self, X: Any, Y: Any = None, *, ridge: float = 0.0) -> FeatureOperator:
        """The estimated kernel matrix as a linear operator, which holds neither it nor Z.

        A product takes the time of two transforms and the memory of a few blocks of features, for
        any number of rows: for the iterative solvers of ``scipy.sparse.linalg``.

        Parameters
        ----------
        X, Y : array-like or sparse matrix of shape (n_samples, n_features)
            As for :meth:`gram`.
        ridge : float, default=0.0
            Added to the diagonal of the matrix of X with itself.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator of shape (len(X), len(Y))
            Its products, and those of its transpose, equal those of gram(X, Y) + ridge I.

        Raises
        ------
        DataError
            As :meth:`gram` does.
        ParameterError
            For a ridge beside a Y, or one that is not a finite number.

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
        ridge = checked_ridge(ridge, of_two=Y is not None)
        X = on_host(self._validated(X, "operator"))
        if Y is None:
            Y = X
        else:
            Y = on_host(self._validated(Y, "operator"))
            if np.isfinite(self._reach):
                check_cross_distances(on_host(X), on_host(Y), self._reach)
        return FeatureOperator(
            X,
            Y,
            lambda rows, out: self._columns(rows, left=True, out=out),
            lambda rows, out: self._columns(rows, left=False, out=out),
            on_host(self.signature_),
            ridge=ridge,
        )

    def variance(self, z: ArrayLike, *, radii: Radii | None = None) -> FloatArray:
        """Exact variance of the estimate of k at distances z, for the fitted draw's scheme.

        With coupling "hadamard" the directions are not quite uniform, and the error depends on the
        axis of the difference: this is its mean square over all axes, the squared bias included.
        Beyond order 4 the cosines between its rows are sampled, which leaves an error of a few
        percent in d = 5 to 15 and less elsewhere; every other number is right to about 1e-8 of
        the squared mass, or 1e-4 for a kernel whose lobes beat
        (:meth:`rf.variance.VarianceModel.variance` gives the bounds).

        Parameters
        ----------
        z : array_like
            Distances; for an asymmetric kernel differences x - y, shape (n, d).
        radii : {"iid", "stratified", "systematic"}, optional
            By default those of the estimator.

        Raises
        ------
        ParameterError
            Where it is not known: coupling "qmc".
        """
        check_is_fitted(self)
        self._refuse_order("the variance at a distance")
        z = real_array(z, "the distances")
        if isinstance(self.table_, AsymmetricTable):
            spread: FloatArray = self._asymmetric_plan.variance(z, radii or self._scheme().radii)
            return spread + self._layout.extra_variance
        value, _ = VarianceModel(self.table_, z).variance(
            self.counts_, coupling=self.coupling_, radii=radii or self._scheme().radii
        )
        return (value + self._layout.extra_variance).reshape(z.shape)

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
        """Columns with which every entry errs by at most eps, with probability 1 - delta.

        See :func:`rf.bounds.frequencies_for`.  The bounds are for coupling "iid"; couplings of
        less variance need fewer columns, but no bound is proved for them.
        """
        check_is_fitted(self)
        self._refuse_order("a bound of the number of columns")
        if isinstance(self.table_, AsymmetricTable):
            raise ParameterError(
                "The bounds are stated for radial kernels. For an asymmetric one, compare "
                "variance(differences) at the differences of your data with eps**2."
            )
        return n_components_for(
            self.table_,
            eps,
            delta,
            n_points=n_points,
            diameter=diameter,
            bound=bound,
            allocation=allocation,
        )

    def _validated(self, X: Any, method: str = "transform") -> Any:
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        refuse_other_library(self, X, self.signature_, method)
        self._check_rows(X)
        return X

    def _refuse_order(self, what: str) -> None:
        if self._selection is not None:
            raise ParameterError(
                f"The features were made to order ({self._selection.chosen.name}), and {what} is "
                "known for features that are drawn from a table. Their expected error on the data "
                "is expected_error_, and explain() compares it with that of other ways."
            )

    @property
    def _reach(self) -> float:
        """The largest distance of two rows that is let pass."""
        return self._domain

    def _check_rows(self, X: Any) -> None:
        check_size(X)
        if self._sphere:
            check_unit_rows(on_host(X), self._sphere)
        if np.isfinite(self._reach):
            check_distances(on_host(X), self._reach, centre=on_host(self._centre))

    def _columns(self, X: Any, *, left: bool, out: NDArray[Any] | None = None) -> NDArray[Any]:
        if self._selection is not None:
            return copied_into(out, self._selection.map.columns(on_host(X)), X)
        layout = self._layout
        return wave_columns(
            X,
            self.frequencies_.frequencies,
            layout.scale,
            layout.left_phases if left else layout.right_phases,
            without_sine=layout.lone,
            blocks=self.frequencies_.blocks,
            out=out,
        )

    def _draw(
        self, scheme: Scheme, table: SpectralTable, X: Any, rng: np.random.Generator
    ) -> Frequencies:
        """Draw the planned frequencies of a radial kernel; some schemes look at the rows."""
        return draw_frequencies(
            table, self.counts_, coupling=self.coupling_, radii=scheme.radii, rng=rng
        )

    def _draw_asymmetric(
        self,
        scheme: Scheme,
        table: AsymmetricTable,
        X: Any,
        for_data: np.random.Generator,
        rng: np.random.Generator,
    ) -> None:
        """Plan and draw the frequencies of an asymmetric kernel."""
        plan = self._plan_asymmetric(
            scheme, table, -(-self.n_components // 2), typical_differences(X, for_data)
        )
        self._asymmetric_plan = plan
        self.table_ = plan.table
        self.coupling_, self.counts_ = plan.coupling, plan.counts
        self.decomposition_ = plan.name
        self.frequencies_ = draw_asymmetric(plan, scheme.radii, rng)

    def _plan_asymmetric(
        self, scheme: Scheme, table: AsymmetricTable, n: int, differences: FloatArray
    ) -> AsymmetricPlan:
        """How the measure of an asymmetric kernel is drawn; by default it is refused."""
        raise ParameterError(
            f"{type(self).__name__} samples symmetric kernels, and {table.formula} is asymmetric. "
            "Take AsKRFF, or SpectralFeatures."
        )

    def _plan(
        self, scheme: Scheme, table: SpectralTable, X: Any, rng: np.random.Generator
    ) -> tuple[str, tuple[int, ...]]:
        """The coupling and the number of frequencies of each part."""
        n = -(-self.n_components // 2)
        self.plans_ = ()
        if self._layout_counts is not None:
            return scheme.coupling, self._layout_counts
        if scheme.coupling != "auto" and scheme.allocation != "optimal":
            return scheme.coupling, allocate(table, n, allocation=scheme.allocation)
        model = VarianceModel(table, typical_distances(X, rng))
        if scheme.coupling != "auto":
            counts = best_split(model, n, coupling=scheme.coupling, radii=scheme.radii)
            return scheme.coupling, counts
        self.plans_ = ranked_plans(
            model,
            n,
            couplings=candidates(len(table.parts), n),
            radii=scheme.radii,
            allocation=scheme.allocation,
        )
        return self.plans_[0].coupling, self.plans_[0].counts

    def _announced(self, mixed: MixedSignature, given: Any) -> Self:
        """The fitted estimator, whose arrays lie beside the rows that were given."""
        self._announce(mixed)
        if is_foreign(given):
            self.signature_ = beside(self.signature_, given, double=True)
            self._centre = beside(self._centre, given, double=True)
        return self

    def _announce(self, mixed: MixedSignature) -> None:
        negative = int(np.sum(self.signature_ < 0))
        if negative == 0 or mixed == "ignore":
            return
        text = (
            f"{negative} of {len(self.signature_)} columns of Z have signature -1, because the "
            "kernel, or the measure made for it, has negative mass. The kernel matrix is "
            "(Z * signature_) @ Z.T; a model that is given Z alone learns with Z @ Z.T, which is "
            "another kernel. Use gram(), or a model that takes signature_ (rf.KreinRidge); "
            "mixed_signature='ignore' ends this warning."
        )
        if mixed == "error":
            raise ParameterError(text)
        warnings.warn(text, SignatureWarning, stacklevel=outside())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
