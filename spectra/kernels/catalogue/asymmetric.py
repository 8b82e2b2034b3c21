"""The asymmetric kernels of He et al. by name: moved Gaussians of the difference D = x - y."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np

from spectra.errors import ParameterError
from spectra.formula.reader.parameters import exact_parameter
from spectra.kernels.asymmetric import AsymmetricKernel
from spectra.kernels.kernel import Kernel, radial

__all__ = ["ASYMMETRIC", "AsymmetricFamily"]

#: Every coordinate of a vector that is not given.
_DEFAULT = 0.1
_REFERENCE = "He, He, Liu, Huang, Random Fourier features for asymmetric kernels, 2022"


@final
@dataclass(frozen=True, repr=False)
class AsymmetricFamily:
    """A named asymmetric kernel whose parameters are open; call it to get the kernel.

    ``vector`` names the parameter with one number for each column of the data, or one for all.

    Examples
    --------
    >>> ASYMMETRIC["shift_gaussian"](r=[0.5, 0.0], sigma=2)([[0.0, 0.0]]).round(6)
    array([0.969233])
    """

    id: str
    title: str
    formula: str
    vector: str
    build: Callable[[Kernel, Any], AsymmetricKernel]
    reference: str = _REFERENCE

    def __call__(self, **parameters: Any) -> AsymmetricKernel:
        """Make the kernel; parameters left out have their defaults."""
        unknown = set(parameters) - {self.vector, "sigma"}
        if unknown:
            raise ParameterError(
                f"The kernel {self.id} has no parameter {sorted(unknown)[0]!r}. It has "
                f"{self.vector} (a vector, or one number for every coordinate) and sigma."
            )
        sigma = exact_parameter("sigma", parameters.get("sigma", 1))
        if not sigma.is_positive:
            raise ParameterError(f"A length must be positive, and sigma = {sigma} is not.")
        gaussian = radial("exp(-z**2/(2*sigma**2))", sigma=sigma)
        vector = parameters.get(self.vector, _DEFAULT)
        if isinstance(vector, list):  # its entries are exact numbers where they come from text
            vector = [float(exact_parameter(self.vector, entry)) for entry in vector]
        return AsymmetricKernel(
            self.build(gaussian, vector).terms, label=f"{self.id}(sigma={sigma})"
        )

    def __repr__(self) -> str:
        return f"AsymmetricFamily {self.id}({self.vector}={_DEFAULT}, sigma=1): {self.formula}"


def _sinh(gaussian: Kernel, beta: Any) -> AsymmetricKernel:
    opposite = gaussian.tilt(-np.asarray(beta, dtype=float))
    return 0.5 * (gaussian.tilt(beta) - opposite) + gaussian


#: The named asymmetric kernels.
ASYMMETRIC: Mapping[str, AsymmetricFamily] = MappingProxyType(
    {
        family.id: family
        for family in (
            AsymmetricFamily(
                "shift_gaussian",
                "Gaussian of D + r",
                "exp(-|D + r|^2/(2*sigma^2))",
                "r",
                Kernel.shift,
            ),
            AsymmetricFamily(
                "sinh_gaussian",
                "Gaussian times 1 + sinh",
                "exp(-|D|^2/(2*sigma^2)) * (1 + sinh(beta.D))",
                "beta",
                _sinh,
            ),
            AsymmetricFamily(
                "cosh_gaussian",
                "Gaussian times an exponential, a shifted Gaussian with a factor",
                "exp(-|D|^2/(2*sigma^2)) * exp(beta.D)",
                "beta",
                Kernel.tilt,
            ),
        )
    }
)
