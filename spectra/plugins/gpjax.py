r"""Radial kernels as kernels of GPJax, with gradients, and frequencies for its random features.

.. math:: K(x, y) = \sigma^2\, k\Big(\big(\textstyle\sum_j (x_j - y_j)^2 / \ell_j^2\big)^{1/2}\Big),
          \quad \ell_j \text{ the length scales}, \quad \sigma^2 \text{ the variance}
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from spectra.plugins import import_modules
from spectra.plugins.covariance import RadialCovariance, elementwise, positive_table

__all__ = ["FrequencyDistribution", "StationaryKernel", "kernel_of"]

jax, equinox, base, stationary, distributions = import_modules(
    "gpjax", "jax", "equinox", "gpjax.kernels.base", "gpjax.kernels.stationary",
    "numpyro.distributions",
)  # fmt: skip
_StationaryKernel: Any = stationary.StationaryKernel
_Distribution: Any = distributions.Distribution


def kernel_of(kernel: Any, n_dims: int, **options: Any) -> StationaryKernel:
    """A kernel of GPJax for any radial kernel.

    Parameters
    ----------
    kernel : Kernel, Family or str
        Positive definite on R^n_dims; the variance of the process is k(0) times ``variance``.
    n_dims : int
        Number of active columns.
    **options
        ``lengthscale``, ``variance``, ``active_dims`` and ``compute_engine``, as in GPJax.

    Returns
    -------
    StationaryKernel
        A ``gpjax.kernels.stationary.StationaryKernel`` for all models and ``gpjax.kernels.RFF``.

    Examples
    --------
    >>> import gpjax                                                       # doctest: +SKIP
    >>> from spectra.plugins.gpjax import kernel_of                        # doctest: +SKIP
    >>> prior = gpjax.gps.Prior(                                           # doctest: +SKIP
    ...     mean_function=gpjax.mean_functions.Zero(), kernel=kernel_of("cubic", 2))
    """
    return StationaryKernel(RadialCovariance.of(kernel, n_dims), n_dims=n_dims, **options)


class StationaryKernel(_StationaryKernel):  # type: ignore[misc]
    """A radial kernel as a stationary kernel of GPJax."""

    name: ClassVar[str] = "StationaryKernel"
    covariance: RadialCovariance = equinox.field(static=True)

    def __init__(self, covariance: RadialCovariance, **options: Any) -> None:
        self.covariance = covariance
        super().__init__(**options)

    def __call__(self, x: Any, y: Any) -> Any:
        difference = (self.slice_input(x) - self.slice_input(y)) / base.val(self.lengthscale)
        values = elementwise(self.covariance.values, self.covariance.derivative)
        return base.val(self.variance) * values(jax.numpy.sum(difference**2))

    @property
    def spectral_density(self) -> FrequencyDistribution:
        return FrequencyDistribution(self.covariance, np.asarray(base.val(self.lengthscale)))


class FrequencyDistribution(_Distribution):  # type: ignore[misc]
    """The normalised spectral measure of a kernel, sampled from its table."""

    support = distributions.constraints.real_vector

    def __init__(self, covariance: RadialCovariance, lengths: Any) -> None:
        self.covariance, self.lengths = covariance, lengths
        super().__init__(event_shape=(covariance.dim,))

    def sample(self, key: Any, sample_shape: Any = ()) -> Any:
        seed = np.asarray(jax.random.key_data(key)).astype(np.uint32)
        count = int(np.prod(sample_shape, dtype=int))
        table = positive_table(self.covariance.kernel, self.covariance.dim)
        sample = table.sample(count, rng=np.random.default_rng(seed)).frequencies / self.lengths
        return jax.numpy.asarray(sample.reshape(*sample_shape, self.covariance.dim))

    def log_prob(self, value: Any) -> Any:
        covariance, dim = self.covariance, self.covariance.dim
        lengths = jax.numpy.broadcast_to(self.lengths, (dim,))
        radius = jax.numpy.sqrt(jax.numpy.sum((value * lengths) ** 2, axis=-1))
        power = elementwise(covariance.power_spectrum, covariance.power_spectrum_derivative)(radius)
        density = power / covariance.kernel.at_zero
        return jax.numpy.log(density) + jax.numpy.sum(jax.numpy.log(lengths / (2.0 * np.pi)))
