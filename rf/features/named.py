"""Published methods for real spectral measures with different couplings: RFF, ORF, GRFF, GORF."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from rf.features.base import BaseSpectralFeatures, MixedSignature
from rf.inputs.rows import LENGTH_SCALE_CONSTRAINT
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, Allocation
from rf.schemes.choose import FittedPlan, Request
from rf.schemes.table_scheme import SamplingOptions
from spectra.errors import ParameterError

__all__ = ["GORF", "GRFF", "ORF", "RFF", "SignedFeatures"]

# Constraints of the parameters that all four methods have.
_COMMON_CONSTRAINTS: dict[str, Any] = {
    "kernel": "no_validation",
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "length_scale": LENGTH_SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}


class RFF(BaseSpectralFeatures):
    """Random Fourier features of Rahimi and Recht: one positive measure, iid frequencies.

    Parameters
    ----------
    kernel, n_components, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.

    Raises
    ------
    ParameterError
        At fit, if the kernel has negative spectral mass: use :class:`GRFF`.

    References
    ----------
    Rahimi and Recht, "Random features for large-scale kernel machines", NeurIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import RFF
    >>> RFF("laplace", n_components=8, random_state=0).fit_transform(np.eye(3)).shape
    (3, 8)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _COMMON_CONSTRAINTS

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        length_scale: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.length_scale = length_scale
        self.random_state = random_state

    def _options(self) -> SamplingOptions:
        return SamplingOptions("iid", radii="iid", allocation="equal")

    def _choose(self, request: Request) -> FittedPlan:
        plan = super()._choose(request)
        scheme, table = plan.scheme, plan.scheme.table
        negative = sum(float(part.mass) for part in table.parts if part.sign < 0)
        if negative or (scheme.method == "radial" and len(table.parts) > 1):
            raise ParameterError(
                f"RFF samples one positive measure. In dimension {table.dim}, the measure of "
                f"{table.formula} has {len(table.parts)} parts and negative mass {negative:.6g}. "
                "Use GRFF or SpectralFeatures, whose features have a signature."
            )
        return plan


class SignedFeatures(BaseSpectralFeatures):
    """Base class of methods whose frequencies are split over the parts of a signed measure.

    ``kernel``, ``n_components``, ``allocation``, ``mixed_signature``, ``length_scale``,
    ``random_state``: as in :class:`rf.SpectralFeatures`, whose attributes it has too.
    """

    #: The coupling of the paper.
    _coupling: ClassVar[str] = "iid"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_COMMON_CONSTRAINTS,
        "allocation": [StrOptions(set(ALLOCATIONS))],
        "mixed_signature": [StrOptions({"warn", "ignore", "error"})],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        allocation: Allocation = "equal",
        mixed_signature: MixedSignature = "warn",
        length_scale: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.allocation = allocation
        self.mixed_signature = mixed_signature
        self.length_scale = length_scale
        self.random_state = random_state

    def _options(self) -> SamplingOptions:
        return SamplingOptions(self._coupling, radii="iid", allocation=self.allocation)


class ORF(SignedFeatures):
    """Orthogonal random features of Yu et al.: orthogonal d x d blocks within each part.

    The paper treats one positive part; with signed parts the blocks of different parts are
    independent.  The parameters are those of :class:`GRFF`.

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, "Orthogonal random features", NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import ORF
    >>> ORF("matern", n_components=8, random_state=0).fit_transform(np.eye(3)).shape
    (3, 8)
    """

    _coupling = "orthogonal"


class GRFF(SignedFeatures):
    """Generalised random Fourier features of Liu et al.: the Jordan parts, iid frequencies.

    The papers multiply the features of the negative part by the imaginary unit; here they have
    ``signature_`` -1.  The density of the radius w has the factor w^(d-1), which their code omits.

    Parameters
    ----------
    kernel, n_components, mixed_signature, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    allocation : {"equal", "mass", "optimal"}, default="equal"
        As in :class:`rf.SpectralFeatures`.

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GRFF
    >>> features = GRFF("exp(-z**2/2) - exp(-z**2/8)", n_components=8, mixed_signature="ignore")
    >>> features.fit(np.eye(3)).signature_
    array([ 1.,  1., -1., -1.,  1.,  1., -1., -1.])
    """


class GORF(SignedFeatures):
    """Generalised orthogonal random features of Luo et al.: the published joint coupling.

    The directions of both parts are columns of one Haar-distributed orthogonal matrix, truncated
    to d rows: see :func:`rf.sampling.coupling.haar`.  Since the estimate is a difference, this
    gives a larger variance than separate blocks (:class:`ORF`): use it only as a baseline.

    Parameters
    ----------
    kernel, n_components, mixed_signature, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    coupling : str, default="haar"
        As in :class:`rf.SpectralFeatures`.
    allocation : {"equal", "mass", "optimal"}, default="equal"
        As in :class:`rf.SpectralFeatures`.

    References
    ----------
    Luo, Fang, Yang, Huang, "Towards unbiased random features with lower variance for stationary
    indefinite kernels", arXiv 2104.06204, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rf import GORF
    >>> features = GORF("exp(-z**2/2) - exp(-z**2/8)", n_components=8, mixed_signature="ignore")
    >>> features.fit(np.eye(3)).coupling_
    'haar'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SignedFeatures._parameter_constraints,
        "coupling": [StrOptions({"auto", *COUPLINGS})],
    }

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        n_components: int = 100,
        coupling: str = "haar",
        allocation: Allocation = "equal",
        mixed_signature: MixedSignature = "warn",
        length_scale: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            n_components=n_components,
            allocation=allocation,
            mixed_signature=mixed_signature,
            length_scale=length_scale,
            random_state=random_state,
        )
        self.coupling = coupling

    def _options(self) -> SamplingOptions:
        return SamplingOptions(self.coupling, radii="iid", allocation=self.allocation)
