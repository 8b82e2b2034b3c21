r"""Radial kernels for ``sklearn.gaussian_process``, with gradients in their length scales.

With s the squared scaled distance and :math:`\ell_l` the length scale of column l,

.. math:: K_{ij} = k\Big(\big(\textstyle\sum_l (x_{il} - y_{jl})^2/\ell_l^2\big)^{1/2}\Big), \qquad
          \frac{\partial K_{ij}}{\partial \log \ell_l} = -2 \frac{dk}{ds} \frac{(x_{il} - y_{jl})^2}{\ell_l^2}
"""  # noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

from spectra.base.numbers import FloatArray
from spectra.errors import ParameterError
from spectra.kernels.catalogue import Family
from spectra.plugins.covariance import RadialCovariance, check_shape, radial_kernel
from spectra.plugins.covariance import shape_bounds as bounds_of_shape

__all__ = ["RadialGPKernel"]

_STEP = 1e-4  # of differences in theta: an error of 1e-8


class RadialGPKernel(StationaryKernelMixin, Kernel):  # type: ignore[misc]
    """A radial kernel for ``GaussianProcessRegressor`` and ``GaussianProcessClassifier``.

    It can be added to and multiplied with kernels of scikit-learn, and has exact gradients.
    Evaluation on d columns raises a ParameterError if the kernel is not positive definite on R^d.

    Parameters
    ----------
    kernel : Kernel, Family or str
        A radial kernel, a formula in z, or a name in the catalogue.  The free parameters of a
        family (:func:`spectra.family`) other than its length and its variance, which
        ``length_scale`` and ``ConstantKernel`` fit, are learned as ``shape``.
    length_scale : float or array_like of shape (d,)
        Length scale of all columns, or one for each.
    length_scale_bounds : pair of floats or "fixed"
        As in scikit-learn.
    shape : array_like, optional
        The parameters of a family that it starts from, in the order of their names; by
        default those of the family.
    shape_bounds : array of pairs or "fixed", optional
        By default the bounds of the family, at most 0.05 to 20.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from spectra.plugins.scikit_learn import RadialGPKernel
    >>> X = np.linspace(0, 4, 9)[:, None]
    >>> model = GaussianProcessRegressor(RadialGPKernel("wendland_32", length_scale=3.0))
    >>> mean, std = model.fit(X, np.sin(X[:, 0])).predict([[1.9]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.9)) < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Any,
        length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-5, 1e5),
        shape: Any = None,
        shape_bounds: Any = None,
    ) -> None:
        self.kernel, self.shape, self.shape_bounds = kernel, shape, shape_bounds
        if isinstance(kernel, Family) and shape is None:
            # scikit-learn copies a kernel with the values that it finds here.
            self.shape = np.array([float(kernel.defaults[name]) for name in kernel.shape])
            self.shape_bounds = bounds_of_shape(kernel) if shape_bounds is None else shape_bounds
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def anisotropic(self) -> bool:
        """Whether each column has its own length scale."""
        return np.ndim(self.length_scale) > 0

    @property
    def hyperparameter_length_scale(self) -> Any:
        """The length scales, as scikit-learn declares them."""
        shape = (len(self.length_scale),) if self.anisotropic else ()
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, *shape)

    @property
    def hyperparameter_shape(self) -> Any:
        """The parameters of a family, as scikit-learn declares them; fixed for other kernels."""
        is_fixed = not np.size(self.shape) or self.shape is None
        bounds = "fixed" if is_fixed else self.shape_bounds
        return Hyperparameter("shape", "numeric", bounds, 1 if is_fixed else np.size(self.shape))

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """The kernel matrix; with ``eval_gradient`` also its gradient in log length scales."""
        X = np.atleast_2d(np.asarray(X, dtype=float))
        if Y is not None and eval_gradient:
            raise ParameterError("The gradient is available for Y = None only.")
        lengths = self._lengths(X.shape[1])
        rows = X / lengths
        other = rows if Y is None else np.atleast_2d(np.asarray(Y, dtype=float)) / lengths
        s = cdist(rows, other, "sqeuclidean")
        if isinstance(self.kernel, Family):
            check_shape(self.kernel, self.shape, X.shape[1])
            values = self.kernel.values(np.sqrt(s), self.kernel.with_shape(self.shape))
            return (values, self._differences(X)) if eval_gradient else values
        covariance = RadialCovariance.of(self.kernel, X.shape[1])
        values = covariance.values(s)
        if not eval_gradient:
            return values
        return values, self._gradient(covariance, rows, s)

    def _differences(self, X: FloatArray) -> FloatArray:
        """The gradient of the matrix of a family in theta."""
        sides = []
        for step in (*_STEP * np.eye(len(self.theta)), *-_STEP * np.eye(len(self.theta))):
            near = self.clone_with_theta(self.theta + step)
            z = cdist(X / near.length_scale, X / near.length_scale)
            sides.append(self.kernel.values(z, self.kernel.with_shape(near.shape)))
        up, down = np.array(sides).reshape(2, -1, len(X), len(X))
        return np.moveaxis((up - down) / (2 * _STEP), 0, 2)

    def _gradient(
        self, covariance: RadialCovariance, rows: FloatArray, s: FloatArray
    ) -> FloatArray:
        if self.hyperparameter_length_scale.fixed:
            return np.empty((*s.shape, 0))
        derivative = covariance.derivative(s)
        if not self.anisotropic:
            return (-2.0 * derivative * s)[:, :, None]
        squares = (rows[:, None, :] - rows[None, :, :]) ** 2
        return -2.0 * derivative[:, :, None] * squares

    def _lengths(self, dim: int) -> FloatArray:
        lengths = np.asarray(self.length_scale, dtype=float)
        if lengths.shape not in ((), (dim,)) or not np.all((lengths > 0) & (lengths < np.inf)):
            raise ParameterError(
                f"length_scale = {self.length_scale!r}: give a positive number, or one for each of "
                f"the {dim} columns."
            )
        return lengths

    def diag(self, X: ArrayLike) -> FloatArray:
        """k(0) for each row."""
        if isinstance(self.kernel, Family):
            at_zero = self.kernel.at_zero(self.kernel.with_shape(self.shape))
        else:
            at_zero = radial_kernel(self.kernel).at_zero
        return np.full(len(np.atleast_2d(np.asarray(X))), at_zero)

    def __repr__(self) -> str:
        lengths = np.array2string(np.asarray(self.length_scale), precision=3, separator=", ")
        return f"RadialGPKernel({self.kernel!s}, length_scale={lengths})"
