r"""Our kernels as covariance functions of PyMC, with the power spectral density that HSGP asks for.

.. math:: S(\omega) = \prod_j \ell_j\, (2\pi)^d \mu\big(|\ell \omega|\big)

Products of kernels have no power spectral density in PyMC, and most kernels have none at all; a
product or a sum of ours is a kernel of ours, whose density is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spectra.derivation import RadialCovariance
from spectra.errors import ParameterError
from spectra.plugins import imported

__all__ = ["Radial", "covariance"]

pt, gradient, basic, op, pymc_cov = imported(
    "pymc", "pytensor.tensor", "pytensor.gradient", "pytensor.graph.basic", "pytensor.graph.op",
    "pymc.gp.cov",
)  # fmt: skip
_Stationary: Any = pymc_cov.Stationary
_Op: Any = op.Op
# Functions of a RadialCovariance, with their derivatives.
_SLOPES = {"values": "squared_slope", "power": "power_slope"}


def covariance(kernel: Any, input_dim: int, *, ls: Any, active_dims: Any = None) -> Radial:
    """A covariance function of PyMC for any radial kernel, for ``gp.HSGP`` and the other models.

    Parameters
    ----------
    kernel : Kernel, Entry or str
        Positive definite on R^d, d the number of active columns; its values are those of k, so that
        k(0) is the variance.
    input_dim : int
        Columns of the data.
    ls : float, array_like or random variable of PyMC
        What the columns are divided by, one for all or one for each active one.
    active_dims : sequence of int, optional
        The columns that count.

    Returns
    -------
    Radial
        A ``pymc.gp.cov.Stationary``, which adds and multiplies with the others.  Its first
        derivatives are exact; the covariance matrix has no second ones.

    Raises
    ------
    ParameterError
        If the kernel is not radial or not positive definite; and, when HSGP asks for the power
        spectral density, if there is none.

    Examples
    --------
    >>> import pymc as pm                                                  # doctest: +SKIP
    >>> from spectra.plugins.pymc import covariance                        # doctest: +SKIP
    >>> with pm.Model():                                                   # doctest: +SKIP
    ...     ls = pm.LogNormal("ls", 0.0, 1.0)
    ...     gp = pm.gp.HSGP(m=[40], c=2.0, cov_func=covariance("spherical", 1, ls=ls))
    """
    return Radial(kernel, input_dim, ls=ls, active_dims=active_dims)


class Radial(_Stationary):  # type: ignore[misc]
    """The covariance function of a radial kernel."""

    def __init__(self, kernel: Any, input_dim: int, *, ls: Any, active_dims: Any) -> None:
        super().__init__(input_dim, ls=ls, active_dims=active_dims)
        self.covariance = RadialCovariance.of(kernel, int(self.n_dims))

    def diag(self, X: Any) -> Any:
        return self._alloc(self.covariance.kernel.at_zero, X.shape[0])

    def square_dist(self, X: Any, Xs: Any) -> Any:
        # By differences: PyMC expands the square, and 1e-16 at equal points is 1e-8 in the
        # distance, where most of these kernels have a kink.
        Xs = X if Xs is None else Xs
        apart = (pt.as_tensor(X)[:, None, :] - pt.as_tensor(Xs)[None, :, :]) / self.ls
        return pt.sum(pt.square(apart), axis=-1)

    def full_from_distance(self, dist: Any, squared: bool = False) -> Any:
        return Elementwise(self.covariance, "values")(dist if squared else dist**2)

    def power_spectral_density(self, omega: Any) -> Any:
        self.covariance.power(1.0)  # refused here, where a model is made, and not where it runs
        ls = pt.ones(self.n_dims) * self.ls
        radius = pt.sqrt(pt.dot(pt.square(omega), pt.square(ls)))
        return pt.prod(ls) * Elementwise(self.covariance, "power")(radius)


class Elementwise(_Op):  # type: ignore[misc]
    """A function of a covariance, by its name, as an operation of PyTensor."""

    __props__ = ("covariance", "name")

    def __init__(self, covariance: RadialCovariance, name: str) -> None:
        self.covariance, self.name = covariance, name

    def make_node(self, x: Any) -> Any:
        x = pt.as_tensor_variable(x).astype("float64")
        return basic.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        values = getattr(self.covariance, self.name)
        outputs[0][0] = np.asarray(values(np.asarray(inputs[0], dtype=float)))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:
        if self.name not in _SLOPES:
            raise ParameterError(
                "A second derivative of a covariance was asked for, and only the first ones are "
                "known."
            )
        if isinstance(output_gradients[0].type, gradient.DisconnectedType):
            return [inputs[0].zeros_like()]
        slope = Elementwise(self.covariance, _SLOPES[self.name])
        return [output_gradients[0] * slope(inputs[0])]

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        return shapes
