"""SpectralFeatures, the recommended estimator, for any kernel with any coupling."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rf.features.base import BaseSpectralFeatures, MixedSignature
from rf.features.messages import describe_error, describe_lengths
from rf.inputs.rows import LENGTH_SCALE_CONSTRAINT
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, RADII, Allocation, Radii
from rf.schemes.choose import FittedPlan, Request, choose
from rf.schemes.table_scheme import SamplingOptions

__all__ = ["SpectralFeatures"]

_N_COMPONENTS = [Interval(Integral, 1, None, closed="left")]
_MIXED = [StrOptions({"warn", "ignore", "error"})]


class SpectralFeatures(BaseSpectralFeatures):
    r"""Random features of any kernel with a finite spectral measure, signed or not.

    .. math:: k(x - y) \approx \sum_i s_i\, Z_{xi} Z_{yi}, \qquad s_i = \pm 1.

    Parameters
    ----------
    kernel : Kernel, Family, str, SpectralMeasure, design or SpectralTable, default="gaussian"
        A str is a name of ``spectra.catalogue`` or a formula in z = |x - y|, in u = <x, y> of rows
        of length 1, or in t = <x, y> of any rows.  A
        ``spectra.design(..., n_components=n)`` sets the coupling and the numbers of frequencies.
    n_components : int, default=100
        Number of output columns: n cosines, then n sines.  If it is odd, one frequency has a single
        column with a random offset, which is unbiased but adds variance.  Features designed for
        the data may have fewer columns.
    coupling : str, default="auto"
        How frequencies depend on one another; see :func:`rf.sampling.frequencies.draw_frequencies`.
        "auto" selects the coupling with the least predicted mean variance over the distances of X;
        for a formula in u, or if ``domain`` is given, the method with the least error (see Notes).
    radii : {"stratified", "iid"}, default="stratified"
        How the radii |w| of frequencies w are drawn: one in each stratum of equal probability, or
        independently.
    allocation : {"optimal", "mass", "equal"}, default="optimal"
        How frequencies are split over the parts; see :func:`rf.variance.allocation.allocate`.
    mixed_signature : {"warn", "ignore", "error"}, default="warn"
        What fit does if a column has signature -1, which a model given Z alone ignores.
        With "error" and coupling "auto", a kernel that is positive definite on the sphere gets
        features without such columns.
    domain : float, "data" or None, default=None
        Design features for the data that approximate the kernel up to this distance of rows.  With
        "data", all methods are compared on rows of X that are held out, biased ones such as
        Nystroem included, for any symmetric kernel; the best one for rows like those of X is used.
        By default features are made for the data only for formulas in u or t = <x, y>, for radial
        kernels without a finite measure, and for functions of the l1 distance without a table.
    outside : {"error", "ignore"}, default="error"
        What transform and gram do with rows further apart than ``z_max_``.
    kernel_params : dict, default=None
        Parameters of a catalogue kernel or a formula, such as ``{"nu": 2.5}`` for "matern".
    length_scale : float, array_like of shape (d,) or (d, d), "median" or None, default=None
        Rows are divided by it before the kernel is applied: one length, a length for each column,
        or the median distance of the rows.  For a matrix M, such as :func:`rf.anisotropy` makes,
        rows x become M^-1 x.  z_max_, domain and the distances of :meth:`variance` are distances of
        divided rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    signature_ : ndarray of shape (n_components,)
        +1 or -1 for each column.
    method_ : str
        How the features were made: "radial"; "grouped"; "l1"; for an asymmetric kernel "shifted"
        if it is k(x - y + r) for one radial k, "weighted" if it is a sum of several (see
        :mod:`rf.variance.variance`), "polar" or "jordan" if these decompositions have less variance
        (:mod:`rf.schemes.decomposition`); or the name of a method of :mod:`rf.dot_product`.
    coupling_ : str or None
        The selected coupling; None for features that are not drawn from a table.
    counts_ : tuple of int
        Number of frequencies of each part of the table.
    report_ : tuple of CouplingScore or of Candidate
        The couplings, or methods, that were compared, best first; :meth:`explain` prints it.
    expected_error_ : float
        Expected relative error of the kernel matrix of X in the Frobenius norm: measured on a
        sample of X for features designed for the data; otherwise computed from the variance at a
        sample of the distances, to a few percent.
    is_unbiased_ : bool
        Whether the mean of the estimate over draws is the kernel, for all rows that are accepted.
    z_max_ : float
        Largest distance at which the features approximate the kernel; may be infinite.
    kernel_ : Kernel or None
        The exact kernel; None if only a table was given.
    table_ : SpectralTable or None
        The distributions of the frequencies; None if they are not drawn from a table.
    frequencies_ : rf.Frequencies or None
        The frequencies; None if they are not drawn from a table.
    length_scale_ : ndarray of shape (d,) or (d, d), or None
        The lengths, from ``length_scale``: ``kernel_.gram(X / length_scale_)`` is the exact matrix,
        or ``kernel_.gram(np.linalg.solve(length_scale_, X.T).T)`` for a matrix.
    cancellation_bound_ : float
        Bound of the sum of absolute terms in an entry of the kernel matrix of X (see Notes).
    scheme_ : rf.schemes.scheme.Scheme
        How the features were sampled.
    feature_map_ : rf.feature_maps.feature_map.FeatureMap
        Computes the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    A kernel on the unit sphere, such as an arc-cosine or a neural tangent kernel, may have no
    finite measure on R^d, but needs to be approximated only at the distances of the data.  Several
    methods can do this (:mod:`rf.dot_product`): the exact map of a polynomial, Fourier features of
    a designed measure with or without exact low powers of <x, y>, step and ramp functions.  Each
    is drawn a few times and compared with the exact kernel on a sample of X; :meth:`explain` prints
    the comparison.  New data should have the distribution of X: the error is least at the distances
    of X; at other distances the bias is at most the one that explain() prints.  With a coupling
    other than "auto", a designed measure is used with that coupling.

    Positive and negative masses that cancel amplify rounding: in an entry of the matrix the error
    is about 8 u ``cancellation_bound_``, plus the rounding of the phases, with u = 1.1e-16 in
    double and 6e-8 in single precision.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : the Gaussian kernel alone, with iid frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import SpectralFeatures
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> features = SpectralFeatures("gaussian", n_components=2048, random_state=0).fit(X)
    >>> bool(np.abs(features.gram(X) - features.kernel_.gram(X)).max() < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": "no_validation",
        "n_components": _N_COMPONENTS,
        "coupling": [StrOptions({"auto", *COUPLINGS})],
        "radii": [StrOptions(set(RADII))],
        "allocation": [StrOptions(set(ALLOCATIONS))],
        "mixed_signature": _MIXED,
        "domain": [Interval(Real, 0, None, closed="neither"), StrOptions({"data"}), None],
        "outside": [StrOptions({"error", "ignore"})],
        "kernel_params": [dict, None],
        "length_scale": LENGTH_SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        coupling: str = "auto",
        radii: Radii = "stratified",
        allocation: Allocation = "optimal",
        mixed_signature: MixedSignature = "warn",
        domain: float | Literal["data"] | None = None,
        outside: Literal["error", "ignore"] = "error",
        kernel_params: dict[str, Any] | None = None,
        length_scale: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.coupling = coupling
        self.radii = radii
        self.allocation = allocation
        self.mixed_signature = mixed_signature
        self.domain = domain
        self.outside = outside
        self.kernel_params = kernel_params
        self.length_scale = length_scale
        self.random_state = random_state

    def explain(self) -> str:
        """Describe how the features were made: the methods or couplings compared, and the error.

        Examples
        --------
        >>> import numpy as np
        >>> from rf import SpectralFeatures
        >>> features = SpectralFeatures("(1 + u)/2", n_components=8).fit(np.eye(3))
        >>> features.explain().splitlines()[3].rpartition("  ")[2]
        'exact polynomial of degree 1: no bias'
        """
        check_is_fitted(self)
        heading = (
            f"{self.n_components} columns for {self._formula} in dimension {self.n_features_in_}."
        )
        if self._lengths is not None:
            heading += f" Rows are divided by {describe_lengths(self._lengths)}."
        error = "" if self.table_ is None else describe_error(self.expected_error_)
        lines = (heading, self.scheme_.explain(), error, self._describe_alternative())
        return "\n".join(line for line in lines if line)

    def _describe_alternative(self) -> str:
        """What domain="data" could do, for the default; empty if another choice was made."""
        rows, kernel = self.scheme_.rows, self.kernel_
        is_default = self.domain is None and self.coupling == "auto"
        if not is_default or rows is None or kernel is None or not kernel.is_symmetric:
            return ""
        from rf.dot_product.comparison import describe_nystroem

        return describe_nystroem(kernel, rows, self.n_components)

    def _options(self) -> SamplingOptions:
        return SamplingOptions(self.coupling, self.radii, self.allocation)

    def _choose(self, request: Request) -> FittedPlan:
        return choose(self._unscaled, request, parameters=self.kernel_params, design=_design)


def _design(kernel: Any, request: Request, error: Exception | None) -> FittedPlan | None:
    from rf.dot_product.plan import design_plan  # needs sympy, which a table does not need

    return design_plan(kernel, request, error)
