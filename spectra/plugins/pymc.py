r"""Radial kernels as covariance functions of PyMC, with the power spectral density for HSGP.

.. math:: S(\omega) = \prod_j \ell_j\, (2\pi)^d \mu\big(|\ell \omega|\big), \quad \ell_j \text{ the length scales}, \quad \mu \text{ the spectral density of the kernel}

In PyMC, most kernels and all products have no power spectral density.  Here every positive definite
kernel with a density has one, sums and products included.
"""  # noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np

from spectra.errors import ParameterError
from spectra.plugins import import_modules
from spectra.plugins.covariance import RadialCovariance

__all__ = ["StationaryCovariance", "covariance"]

pt, gradient, basic, op, pymc_cov = import_modules(
    "pymc", "pytensor.tensor", "pytensor.gradient", "pytensor.graph.basic", "pytensor.graph.op",
    "pymc.gp.cov",
)  # fmt: skip
_Stationary: Any = pymc_cov.Stationary
_Op: Any = op.Op
# Methods of RadialCovariance, and those of their derivatives.
_DERIVATIVES = {"values": "derivative", "power_spectrum": "power_spectrum_derivative"}


def covariance(
    kernel: Any, input_dim: int, *, ls: Any, active_dims: Any = None
) -> StationaryCovariance:
    """A covariance function of PyMC for any radial kernel, also for ``gp.HSGP``.

    Parameters
    ----------
    kernel : Kernel, Family or str
        Positive definite on R^d, d the number of active columns.  The variance is k(0).
    input_dim : int
        Number of columns of the data.
    ls : float, array_like or random variable of PyMC
        Length scale of all active columns, or one for each.
    active_dims : sequence of int, optional
        The columns that the covariance depends on; by default all.

    Returns
    -------
    StationaryCovariance
        A ``pymc.gp.cov.Stationary``, which can be added and multiplied.  First derivatives are
        exact; second derivatives of the covariance matrix are not available.

    Raises
    ------
    ParameterError
        If the kernel is not radial or not positive definite; with HSGP also if it has no power
        spectral density.

    Examples
    --------
    >>> import pymc as pm                                                  # doctest: +SKIP
    >>> from spectra.plugins.pymc import covariance                        # doctest: +SKIP
    >>> with pm.Model():                                                   # doctest: +SKIP
    ...     ls = pm.LogNormal("ls", 0.0, 1.0)
    ...     gp = pm.gp.HSGP(m=[40], c=2.0, cov_func=covariance("spherical", 1, ls=ls))
    """
    return StationaryCovariance(kernel, input_dim, ls=ls, active_dims=active_dims)


class StationaryCovariance(_Stationary):  # type: ignore[misc]
    """A radial kernel as a stationary covariance function of PyMC."""

    def __init__(self, kernel: Any, input_dim: int, *, ls: Any, active_dims: Any) -> None:
        super().__init__(input_dim, ls=ls, active_dims=active_dims)
        self.covariance = RadialCovariance.of(kernel, int(self.n_dims))

    def diag(self, X: Any) -> Any:
        return self._alloc(self.covariance.kernel.at_zero, X.shape[0])

    def square_dist(self, X: Any, Xs: Any) -> Any:
        # PyMC expands the square; then rounding makes the distance of equal points up to 1e-8, and
        # many of these kernels have a kink at 0.
        Xs = X if Xs is None else Xs
        differences = (pt.as_tensor(X)[:, None, :] - pt.as_tensor(Xs)[None, :, :]) / self.ls
        return pt.sum(pt.square(differences), axis=-1)

    def full_from_distance(self, dist: Any, squared: bool = False) -> Any:
        return Elementwise(self.covariance, "values")(dist if squared else dist**2)

    def power_spectral_density(self, omega: Any) -> Any:
        self.covariance.power_spectrum(1.0)  # raises if there is no density
        ls = pt.ones(self.n_dims) * self.ls
        radius = pt.sqrt(pt.dot(pt.square(omega), pt.square(ls)))
        return pt.prod(ls) * Elementwise(self.covariance, "power_spectrum")(radius)


class Elementwise(_Op):  # type: ignore[misc]
    """A method of RadialCovariance as an elementwise operation of PyTensor."""

    __props__ = ("covariance", "method")

    def __init__(self, covariance: RadialCovariance, method: str) -> None:
        self.covariance, self.method = covariance, method

    def make_node(self, x: Any) -> Any:
        x = pt.as_tensor_variable(x).astype("float64")
        return basic.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        function = getattr(self.covariance, self.method)
        outputs[0][0] = np.asarray(function(np.asarray(inputs[0], dtype=float)))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:
        if self.method not in _DERIVATIVES:
            raise ParameterError("Second derivatives of a covariance are not available.")
        if isinstance(output_gradients[0].type, gradient.DisconnectedType):
            return [inputs[0].zeros_like()]
        derivative = Elementwise(self.covariance, _DERIVATIVES[self.method])
        return [output_gradients[0] * derivative(inputs[0])]

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        return shapes
