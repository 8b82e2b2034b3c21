"""RFF, ORF, GRFF and GORF: published methods for real measures, which differ in the coupling."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

from sklearn.utils._param_validation import Interval, StrOptions

from rf.features.base import BaseSpectralFeatures, MixedSignature, Resolved
from rf.inputs.rows import LENGTH_SCALE_CONSTRAINT
from rf.sampling.frequencies import ALLOCATIONS, COUPLINGS, Allocation
from rf.schemes.table_scheme import SamplingOptions
from spectra.errors import ParameterError

__all__ = ["GORF", "GRFF", "ORF", "RFF", "SignedFeatures"]

_COMMON: dict[str, Any] = {
    "kernel": "no_validation",
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "length_scale": LENGTH_SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}


@final
class RFF(BaseSpectralFeatures):
    """Random Fourier features of Rahimi and Recht: one positive measure, iid frequencies.

    Parameters
    ----------
    kernel, n_components, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.

    Raises
    ------
    ParameterError
        At fit, where the kernel has negative spectral mass: take :class:`GRFF`.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = _COMMON

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
        return SamplingOptions("iid", "iid", "equal")

    def _resolve(self, X: Any) -> Resolved:
        found = super()._resolve(X)
        scheme, table = found[0], found[0].table
        negative = sum(float(part.mass) for part in table.parts if part.sign < 0)
        if negative or (scheme.method == "radial" and len(table.parts) > 1):
            raise ParameterError(
                f"RFF samples one positive measure, and that of {table.formula} in dimension "
                f"{table.dim} has {len(table.parts)} parts and the negative mass {negative:.6g}. "
                "Take GRFF, or SpectralFeatures, whose features carry a signature."
            )
        return found


class SignedFeatures(BaseSpectralFeatures):
    """Base class of methods whose frequencies are split over the parts of a signed measure.

    ``kernel``, ``n_components``, ``mixed_signature``, ``length_scale``, ``random_state``: as in
    :class:`rf.SpectralFeatures`, whose attributes it has too.
    """

    #: The coupling of the paper.
    _coupling: ClassVar[str] = "iid"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_COMMON,
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
        return SamplingOptions(self._coupling, "iid", self.allocation)


@final
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


@final
class GRFF(SignedFeatures):
    """Generalised random Fourier features of Liu et al.: the Jordan parts, iid frequencies.

    The papers' imaginary unit on the negative part is the -1 of ``signature_``, and the radius
    has its full law, with the factor w^(d-1).

    Parameters
    ----------
    kernel, n_components, mixed_signature, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    allocation : {"equal", "mass", "optimal"}, default="equal"

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


@final
class GORF(SignedFeatures):
    """Generalised orthogonal random features of Luo et al.: the published joint coupling.

    Directions of both signs are columns of one Haar matrix, cut to d rows: see
    :func:`rf.sampling.coupling.haar`.  As the estimate is a difference, joint orthogonality
    makes its variance larger than that of separate blocks (:class:`ORF`): use it
    only as a baseline.

    Parameters
    ----------
    kernel, n_components, mixed_signature, length_scale, random_state
        As in :class:`rf.SpectralFeatures`, whose attributes it has too.
    coupling : str, default="haar"
        As in :class:`rf.SpectralFeatures`.
    allocation : {"equal", "mass", "optimal"}, default="equal"

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
        return SamplingOptions(self.coupling, "iid", self.allocation)
