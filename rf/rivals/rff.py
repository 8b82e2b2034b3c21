"""Random Fourier features of Rahimi and Recht."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

from sklearn.utils._param_validation import Interval

from rf.estimator import BaseSpectralFeatures
from rf.plans import Scheme
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["RFF"]


@final
class RFF(BaseSpectralFeatures):
    """Random Fourier features of Rahimi and Recht: one positive measure, iid frequencies.

    Parameters
    ----------
    kernel, n_components, random_state
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": "no_validation",
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, kernel: Any = "gaussian", *, n_components: int = 100, random_state: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _scheme(self) -> Scheme:
        return Scheme("iid", "iid", "equal")

    def _check_table(self, table: SpectralTable) -> None:
        super()._check_table(table)
        phases = [float(p.phase) for p in table.parts]
        if phases != [0.0]:
            raise ParameterError(
                f"RFF samples one positive measure, and the spectral measure of {table.formula} in "
                f"dimension {table.dim} has {len(phases)} part(s) with phases {phases} (0: "
                "positive, pi: negative). Take GRFF, or SpectralFeatures, whose features carry a "
                "signature."
            )
