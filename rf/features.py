"""SpectralFeatures, which we recommend: any kernel, any coupling, or features made to order."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rf.asymmetric import AsymmetricPlan, plan_asymmetric
from rf.estimator import (
    BaseSpectralFeatures,
    MixedSignature,
    Scheme,
    SignatureWarning,
    UselessFeaturesWarning,
)
from rf.frequencies import (
    ALLOCATIONS,
    COUPLINGS,
    RADII,
    Allocation,
    Radii,
)
from rf.spectrum import Spectrum, named_kernel, resolve_spectrum
from spectra.errors import ParameterError
from spectra.modulated import AsymmetricTable
from spectra.table import SpectralTable

if TYPE_CHECKING:
    from rf.portfolio.choice import Prediction, Selection
    from rf.portfolio.commission import Commission

FloatArray = NDArray[np.float64]

__all__ = ["SignatureWarning", "SpectralFeatures", "UselessFeaturesWarning"]

_N_COMPONENTS = [Interval(Integral, 1, None, closed="left")]
_MIXED = [StrOptions({"warn", "ignore", "error"})]


@final
class SpectralFeatures(BaseSpectralFeatures):
    r"""Random features of any kernel with a finite spectral measure, signed or not.

    .. math:: k(x - y) \approx \sum_i s_i\, Z_{xi} Z_{yi}, \qquad s_i = \pm 1.

    Parameters
    ----------
    spectrum : SpectralTable, SpectralMeasure, Kernel, Family or str, default="gaussian"
        What names the kernel, which may be an AsymmetricKernel or AsymmetricTable too; text is a
        name of ``spectra.catalogue`` or a formula in z = |x - y|
        or u = <x, y>.  All but tables and measures are resolved at fit, for the dimension of X.
    n_components : int, default=100
        Number of output columns: n cosines, then n sines.  An odd number leaves one frequency a
        single column with a random offset, which is unbiased but adds variance: prefer even ones.
        Features made to order take at most as many.
    coupling : str, default="auto"
        How frequencies depend on one another; see :func:`rf.frequencies.draw_frequencies`.
        "auto" takes the least mean variance over the distances of X, predicted for the radii that
        are drawn (``plans_`` and explain() show the others); for a formula in u, and for features
        made to order, the way of least error (see Notes).
    radii : {"stratified", "iid", "systematic"}, default="stratified"
    allocation : {"optimal", "mass", "equal"}, default="optimal"
        How frequencies are split over the parts; see :func:`rf.frequencies.allocate`.
    mixed_signature : {"warn", "ignore", "error"}, default="warn"
        What fit does when a column has signature -1, which a pipeline on Z alone would not see.
        With "error", features made to order for a kernel that is positive definite on the sphere
        are sought among those without.
    domain : float, "data" or None, default=None
        Largest distance of rows that is to be served, by features that are **made to order** for
        it; "data" finds it from X, with a margin.  By default that is done for a formula in u with
        coupling "auto", and for a kernel of infinite spectral mass, which has no other features.
    outside : {"error", "ignore"}, default="error"
        What transform does with rows further apart than the domain of features made to order.
    kernel_params : dict, default=None
        Parameters of a family, a name of the catalogue or a formula, such as ``{"nu": 2.5}`` for
        "matern", which a grid can search.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    signature_ : ndarray of shape (n_components,)
        +1 or -1 for each column.
    frequencies_ : rf.Frequencies
        The draw; not there for features that the portfolio made.
    table_ : SpectralTable
        The laws it was drawn from, likewise.
    z_max_ : float
        Largest distance that is served; infinite where the measure is that of the kernel.
    note_ : str
        Why features were made to order, and where z_max_ comes from; else empty.
    expected_error_ : float
        Expected relative error of the kernel matrix of X in the Frobenius norm, as seen on a
        sample; nan for features drawn from a table.
    comparison_ : tuple of rf.portfolio.choice.Prediction
        The ways that were compared, best first; empty for features drawn from a table.
    kernel_ : Kernel or None
        The exact kernel; None where only a table was given.
    coupling_ : str
        The coupling that was taken.
    plans_ : tuple of rf.ranking.Plan
        What "auto" compared, best first: coupling, frequencies of each part, predicted variance.
    decomposition_ : str
        "radial"; for an asymmetric kernel "jordan", "polar", "weighted" or "shifted", whichever
        has the least exact variance on differences of X (see :mod:`rf.asymmetric`).
    counts_ : tuple of int
        Number of frequencies of each part of the table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    A kernel on the unit sphere, such as an arc-cosine or a neural tangent kernel, may have no
    finite measure on R^d, but it only has to be right on the distances that occur.  Made to order,
    it is served in the best of several ways (:mod:`rf.portfolio`): the exact map of a polynomial,
    designed plane waves with or without exact low powers of <x, y>, steps and ramps, Gegenbauer
    features.  Each is drawn a few times and compared with the exact kernel on a sample of X;
    :meth:`explain` prints the comparison.  New data should be of the law of X: the design is best
    on the distances that X has, and right up to the bias that explain() states on all others.
    With a coupling by name, a designed measure is drawn with that coupling.

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
        "spectrum": "no_validation",
        "n_components": _N_COMPONENTS,
        "coupling": [StrOptions({"auto", *COUPLINGS})],
        "radii": [StrOptions(set(RADII))],
        "allocation": [StrOptions(set(ALLOCATIONS))],
        "mixed_signature": _MIXED,
        "domain": [Interval(Real, 0, None, closed="neither"), StrOptions({"data"}), None],
        "outside": [StrOptions({"error", "ignore"})],
        "kernel_params": [dict, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        spectrum: Any = "gaussian",
        *,
        n_components: int = 100,
        coupling: str = "auto",
        radii: Radii = "stratified",
        allocation: Allocation = "optimal",
        mixed_signature: MixedSignature = "warn",
        domain: float | Literal["data"] | None = None,
        outside: Literal["error", "ignore"] = "error",
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.spectrum = spectrum
        self.n_components = n_components
        self.coupling = coupling
        self.radii = radii
        self.allocation = allocation
        self.mixed_signature = mixed_signature
        self.domain = domain
        self.outside = outside
        self.kernel_params = kernel_params
        self.random_state = random_state

    def explain(self) -> str:
        """How the features were chosen: the portfolio with the error of each way, or the coupling.

        Examples
        --------
        >>> import numpy as np
        >>> from rf import SpectralFeatures
        >>> features = SpectralFeatures("(1 + u)/2", n_components=8).fit(np.eye(3))
        >>> features.explain().splitlines()[3][21:]
        'exact polynomial of degree 1: no bias'
        """
        check_is_fitted(self)
        if self._selection is not None:
            kernel, how = str(self._selection.kernel), self._selection.explain()
        else:
            masses = ", ".join(f"{float(p.mass):.4g}" for p in self.table_.parts)
            kernel, how = (
                self.table_.formula,
                (
                    f"Drawn from the table of its measure with coupling {self.coupling_!r}: "
                    f"{self.counts_} frequencies for parts of mass {masses}."
                ),
            )
            if plans := getattr(self, "plans_", ()):
                # A variance that is zero up to rounding can come out below it.
                compared = (
                    f"{p.coupling} {p.counts} {max(p.variance, 0.0) ** 0.5:.3g}" for p in plans
                )
                how += "\nPredicted root mean square error: " + ", ".join(compared) + "."
        head = f"{self.n_components} columns for {kernel} in dimension {self.n_features_in_}."
        return "\n".join(line for line in (head, self.note_, how) if line)

    def _scheme(self) -> Scheme:
        return Scheme(self.coupling, self.radii, self.allocation, self.mixed_signature)

    def _resolve(self, X: Any, for_draw: np.random.Generator) -> Spectrum | Selection:
        named = named_kernel(self.spectrum, self.kernel_params)
        self.note_ = ""
        self.comparison_: tuple[Prediction, ...] = ()
        if not isinstance(named, SpectralTable | AsymmetricTable):
            from rf.portfolio.commission import commission_for

            order = commission_for(named, X, domain=self.domain, coupling=self.coupling)
            if order is not None:
                self.note_, self.z_max_ = order.note, order.z_max
                return self._made(order, X, for_draw)
        elif self.domain is not None:
            raise ParameterError(
                "domain= makes features of a kernel to order, and the spectrum is a table, which "
                "is made already. Pass the kernel, or leave domain out."
            )
        spectrum = resolve_spectrum(named, X.shape[1])
        self.z_max_ = spectrum.table.domain
        return spectrum

    def _made(
        self,
        order: Commission,
        X: Any,
        for_draw: np.random.Generator,
    ) -> Spectrum | Selection:
        from rf.portfolio.commission import made_to_order, table_to_order

        if self.coupling != "auto":
            table, self._layout_counts = table_to_order(order, X, self.n_components, self.coupling)
            return Spectrum(table, order.kernel)
        strict = self.mixed_signature == "error"
        made = made_to_order(order, X, self.n_components, positive=strict, for_draw=for_draw)
        self.comparison_ = made.comparison
        if made.everywhere:
            self.z_max_ = 2.0
        return made

    @property
    def _reach(self) -> float:
        return np.inf if self.outside == "ignore" else self._domain

    def _plan_asymmetric(
        self, scheme: Scheme, table: AsymmetricTable, n: int, differences: FloatArray
    ) -> AsymmetricPlan:
        return plan_asymmetric(
            table,
            n,
            coupling=scheme.coupling,
            allocation=scheme.allocation,
            differences=differences,
            radii=scheme.radii,
        )
