"""SpectralFeatures, the recommended estimator: for any kernel, with any coupling."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rf.features.base import BaseSpectralFeatures, MixedSignature, Resolved
from rf.features.messages import describe_error, describe_lengths, why_group_is_refused
from rf.inputs.rows import FITTING_ADVICE, LENGTH_SCALE_CONSTRAINT, RowRange, centre_of
from rf.inputs.tables import (
    Spectrum,
    cached_spectrum,
    resolve_kernel,
    resolve_spectrum,
    warn_if_wrong_unit,
)
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, RADII, Allocation, Radii
from rf.schemes.table_scheme import SamplingOptions
from spectra.base.limits import stage
from spectra.errors import InfiniteMassError, NoRouteError, ParameterError, UndecidedError

if TYPE_CHECKING:
    from rf.dot_product.problem import Problem

__all__ = ["SpectralFeatures"]

_N_COMPONENTS = [Interval(Integral, 1, None, closed="left")]
_MIXED = [StrOptions({"warn", "ignore", "error"})]


@final
class SpectralFeatures(BaseSpectralFeatures):
    r"""Random features of any kernel with a finite spectral measure, signed or not.

    .. math:: k(x - y) \approx \sum_i s_i\, Z_{xi} Z_{yi}, \qquad s_i = \pm 1.

    Parameters
    ----------
    kernel : Kernel, Entry, str, SpectralMeasure, design or SpectralTable, default="gaussian"
        Text is a name of ``spectra.catalogue`` or a formula in z = |x - y| or u = <x, y>.  Kernels
        are resolved at fit, for the dimension of X.  A design for a number of columns is drawn
        with the coupling and the frequencies that it was made for.
    n_components : int, default=100
        Number of output columns: n cosines, then n sines.  An odd number leaves one frequency a
        single column with a random offset, which is unbiased but adds variance: prefer even ones.
        Features designed for the data take at most as many.
    coupling : str, default="auto"
        How frequencies depend on one another; see :func:`rf.sampling.frequencies.draw_frequencies`.
        "auto" takes the coupling of least mean variance over the distances of X, predicted for the
        radii that are drawn; for a formula in u, and with a domain, the method of least error (see
        Notes).
    radii : {"stratified", "iid"}, default="stratified"
    allocation : {"optimal", "mass", "equal"}, default="optimal"
        How frequencies are split over the parts; see :func:`rf.variance.allocation.allocate`.
    mixed_signature : {"warn", "ignore", "error"}, default="warn"
        What fit does if a column has signature -1, which a pipeline on Z alone would not see.
        With "error", a kernel that is positive definite on the sphere gets no such column.
    domain : float, "data" or None, default=None
        Largest distance of rows at which features designed for the data have to be right; "data"
        finds it from X, with a margin.  By default features are designed for a formula in u with
        coupling "auto", and for a radial kernel of infinite spectral mass, which has no others.
        Groups of columns have no common distance, and take no domain.
    outside : {"error", "ignore"}, default="error"
        What transform does with rows further apart than the domain.
    kernel_params : dict, default=None
        Parameters of a family, a name of the catalogue or a formula, such as ``{"nu": 2.5}`` for
        "matern", which a grid can search.
    length_scale : float, array_like of shape (d,), "median" or None, default=None
        What each column of the rows is divided by before the kernel is applied: a number, one for
        each column, or the median distance of the rows, found at fit.  z_max_, domain and the
        distances of :meth:`variance` are those of divided rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    signature_ : ndarray of shape (n_components,)
        +1 or -1 for each column.
    method_ : str
        How the features were made: "radial"; "grouped"; "l1"; for an asymmetric kernel "shifted"
        if it is k(D + r) for one radial k, "weighted" if it is a sum of several (see
        :mod:`rf.variance.variance`), "polar" or "jordan" if these parts have less variance
        (:mod:`rf.schemes.complex`); or the name of a method of :mod:`rf.dot_product`.
    coupling_ : str or None
        The coupling that was taken; None for features that are not drawn from a table.
    counts_ : tuple of int
        Number of frequencies of each part of the table.
    report_ : tuple of CouplingScore or of Candidate
        The couplings, or methods, that were compared, best first; :meth:`explain` prints it.
    expected_error_ : float
        Expected relative error of the kernel matrix of X in the Frobenius norm: as measured on a
        sample for features designed for the data; else from the variance at distances that stand
        for all (to a few percent).
    z_max_ : float
        Largest distance at which the features are right; infinite if they are right everywhere.
    kernel_ : Kernel or None
        The exact kernel; None if only a table was given.
    table_ : SpectralTable or None
        The distributions of the frequencies; None if they are not drawn from a table.
    frequencies_ : rf.Frequencies or None
        The draw, likewise.
    length_scale_ : ndarray of shape (d,) or None
        The lengths, from ``length_scale``: ``kernel_.gram(X / length_scale_)`` is the exact matrix.
    cancellation_bound_ : float
        Bound of the sum of the absolute terms of an entry of the matrix of X (see Notes).
    scheme_ : rf.schemes.scheme.Scheme
        How the features were sampled.
    feature_map_ : rf.sampling.frequencies.FeatureMap
        What makes the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    A kernel on the unit sphere, such as an arc-cosine or a neural tangent kernel, may have no
    finite measure on R^d, but it only has to be right at the distances of the data.  Several
    methods can approximate it (:mod:`rf.dot_product`): the exact map of a polynomial, designed
    plane waves with or without exact low powers of <x, y>, steps and ramps.
    Each is drawn a few times and compared with the exact kernel on a sample of X; :meth:`explain`
    prints the comparison.  New data should have the distribution of X: the features are best at the
    distances of X, and right up to the bias that explain() states at all others.  If a coupling is
    named, a designed measure is drawn with that coupling.

    Masses that cancel cost digits: rounding errs by about 8 u ``cancellation_bound_`` in an entry
    of the matrix, in addition to the rounding of the phases, with u = 1.1e-16 in double and 6e-8
    in single precision.  Masses of 1e5 leave ten digits in double precision and two in single.

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
        """How the features were made: the methods or couplings compared, and the expected error.

        Examples
        --------
        >>> import numpy as np
        >>> from rf import SpectralFeatures
        >>> features = SpectralFeatures("(1 + u)/2", n_components=8).fit(np.eye(3))
        >>> features.explain().splitlines()[3][21:]
        'exact polynomial of degree 1: no bias'
        """
        check_is_fitted(self)
        head = (
            f"{self.n_components} columns for {self._formula} in dimension {self.n_features_in_}."
        )
        if self._lengths is not None:
            head += f" Rows are divided by {describe_lengths(self._lengths)}."
        drawn = "" if self.table_ is None else describe_error(self.expected_error_)
        return "\n".join(line for line in (head, self.scheme_.explain(), drawn) if line)

    def _options(self) -> SamplingOptions:
        return SamplingOptions(self.coupling, self.radii, self.allocation)

    def _resolve(self, X: Any) -> Resolved:
        text = isinstance(self._unscaled, str) and not self.kernel_params
        if text and self.domain is None:
            kept = cached_spectrum(self._unscaled, X.shape[1])
            if kept is not None:
                return self._from_table(kept, X)
        named = resolve_kernel(self._unscaled, self.kernel_params)
        if getattr(named, "is_zonal", False):
            self._refuse_lengths(str(named))
        if hasattr(named, "profile"):
            return self._of_l1(named, X)
        if hasattr(named, "factors"):
            return self._of_groups(named, X)
        zonal_methods = getattr(named, "is_zonal", False) and self.coupling == "auto"
        has_powers = np.size(getattr(named, "powers", ())) > 0  # a design with powers of <x, y>
        if self.domain is None and not zonal_methods and not has_powers:
            try:
                of = self._unscaled if text else named
                return self._from_table(resolve_spectrum(of, X.shape[1]), X)
            except InfiniteMassError:
                if not hasattr(named, "is_zonal"):
                    raise
        from rf.dot_product.problem import problem_for

        strict = self.mixed_signature == "error"
        problem = problem_for(named, X, self.n_components, domain=self.domain, positive=strict)
        if self.coupling == "auto":
            return self._compared(problem, X)
        from rf.dot_product.designed_waves import designed_spectrum

        found = self._from_table(designed_spectrum(problem, self.coupling), X)
        noted: Any = replace(found[0], note=problem.note)  # type: ignore[type-var]
        return noted, *found[1:]

    def _from_table(self, spectrum: Spectrum, X: Any) -> Resolved:
        """As the base class; for a shifted kernel, try the parts of its complex measure too."""
        scheme, *known = super()._from_table(spectrum, X)
        if spectrum.table.kind == "shifted" and self.coupling in ("auto", "iid"):
            from rf.schemes.complex import least_axial_scheme

            options: Any = {"allocation": self.allocation, "radii": self.radii}
            with stage("fitting features", of=spectrum.table.formula, advice=FITTING_ADVICE):
                scheme = least_axial_scheme(scheme, -(-self.n_components // 2), **options)
        return (scheme, known[0], known[1], known[2])

    def _of_l1(self, named: Any, X: Any) -> Resolved:
        """Features of the kernel's measure, or waves of single columns if it is linear on X."""
        why = ""
        if self.domain is None:
            try:
                return self._from_table(resolve_spectrum(named, X.shape[1]), X)
            except (InfiniteMassError, NoRouteError, UndecidedError) as error:
                why = str(error)
        from rf.dot_product.inside_kink import kink_scheme

        try:
            made = kink_scheme(named, X, self.n_components, domain=self.domain)
        except ParameterError as error:
            raise ParameterError(f"{why} {error}".strip()) from error
        warn_if_wrong_unit(named, X)
        made.box.check(X, at_any_distance=self.outside == "ignore")
        return made, named, made.box, made.box.z_max

    def _of_groups(self, named: Any, X: Any) -> Resolved:
        """Features of the measures of the groups, each of which must have a finite mass."""
        if self.domain is not None:
            raise ParameterError(
                f"domain={self.domain!r} was asked for, and each group of columns of {named} has "
                "distances of its own. Leave domain out, or make features of one group alone."
            )
        try:
            spectrum = resolve_spectrum(named, X.shape[1])
        except InfiniteMassError as error:
            raise InfiniteMassError(why_group_is_refused(named)) from error
        return self._from_table(spectrum, X)

    def _compared(self, problem: Problem, X: Any) -> Resolved:
        """The best of several methods for the data."""
        from rf.dot_product.comparison import compare

        warn_if_wrong_unit(problem.kernel, X)
        made = compare(problem)
        sphere = str(problem.kernel) if problem.kernel.is_zonal else ""
        # The range of X was checked when the problem was made.
        rows = RowRange(np.inf if made.best.everywhere else made.z_max, sphere, centre_of(X))
        return made, problem.kernel, rows, made.z_max
