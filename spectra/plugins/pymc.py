r"""Our kernels as covariance functions of PyMC, with the power spectral density that HSGP asks for.

.. math:: S(\omega) = \prod_j \ell_j\, (2\pi)^d \mu\big(|\ell \omega|\big)

Products of kernels have no power spectral density in PyMC, and most kernels have none at all; a
product or a sum of ours is a kernel of ours, whose density is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.derivation import RadialCovariance
from spectra.errors import ParameterError
from spectra.plugins.extras import imported

if TYPE_CHECKING:
    import pymc

__all__ = ["covariance"]


def covariance(
    kernel: Any, input_dim: int, *, ls: Any, active_dims: Any = None
) -> pymc.gp.cov.Stationary:
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
    pymc.gp.cov.Stationary
        It adds and multiplies with the others.  First derivatives in everything are exact; there
        are no second ones of the covariance matrix.

    Examples
    --------
    >>> import pymc as pm                                                  # doctest: +SKIP
    >>> from spectra.plugins.pymc import covariance                        # doctest: +SKIP
    >>> with pm.Model():                                                   # doctest: +SKIP
    ...     ls = pm.LogNormal("ls", 0.0, 1.0)
    ...     gp = pm.gp.HSGP(m=[40], c=2.0, cov_func=covariance("spherical", 1, ls=ls))
    """
    return _model()(kernel, input_dim, ls=ls, active_dims=active_dims)


@lru_cache(maxsize=1)
def _model() -> Any:
    pymc, pt = imported("pymc", "pymc", "pytensor.tensor")
    base: Any = pymc.gp.cov.Stationary

    class Radial(base):  # type: ignore[misc]
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
            known = self.covariance
            return _elementwise(known.values, known.squared_slope)(dist if squared else dist**2)

        def power_spectral_density(self, omega: Any) -> Any:
            known, ls = self.covariance, pt.ones(self.n_dims) * self.ls
            radius = pt.sqrt(pt.dot(pt.square(omega), pt.square(ls)))
            return pt.prod(ls) * _elementwise(known.power, known.power_slope)(radius)

    return Radial


def _elementwise(
    values: Callable[[FloatArray], FloatArray], slope: Callable[[FloatArray], FloatArray] | None
) -> Any:
    """A function of arrays, with its derivative, as an operation of PyTensor."""
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Elementwise(Op):  # type: ignore[misc]
        __props__ = ()

        def make_node(self, x: Any) -> Any:
            x = pt.as_tensor_variable(x).astype("float64")
            return Apply(self, [x], [x.type()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = np.asarray(values(np.asarray(inputs[0], dtype=float)))

        def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:
            if slope is None:
                raise ParameterError(
                    "A second derivative of a covariance was asked for, and the first ones are "
                    "known alone."
                )
            if isinstance(output_gradients[0].type, DisconnectedType):
                return [inputs[0].zeros_like()]
            return [output_gradients[0] * _elementwise(slope, None)(inputs[0])]

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
            return shapes

    return Elementwise()
