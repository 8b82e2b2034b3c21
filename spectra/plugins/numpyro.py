r"""Hilbert space Gaussian processes (HSGP) of NumPyro with any radial kernel.

.. math:: f(x) = \sum_j \sqrt{S(\omega_j)}\, \phi_j(x)\, \beta_j, \qquad
          S(\omega) = \alpha \prod_i \ell_i\, (2\pi)^d \mu\big(|\ell \omega|\big)

Here :math:`\phi_j` are the eigenfunctions of the Laplacian on a box, products of sines whose
frequencies are the components of :math:`\omega_j`; the :math:`\beta_j` are standard normal,
:math:`\alpha` multiplies k, and mu is the spectral density of k.  :math:`\ell_i` are length scales:
the argument ``length``.  The argument ``ell`` is, as in NumPyro, the half-length of the box.
"""

from __future__ import annotations

from typing import Any

from spectra.plugins import import_modules
from spectra.plugins.covariance import RadialCovariance, elementwise

__all__ = ["diag_spectral_density", "hsgp"]

_LAPLACIAN = "numpyro.contrib.hsgp.laplacian"


def diag_spectral_density(kernel: Any, alpha: Any, length: Any, ell: Any, m: Any, dim: int) -> Any:
    """S at all omega_j, like NumPyro's ``diag_spectral_density_*``.

    Parameters
    ----------
    kernel : Kernel, Family or str
        Positive definite on R^dim.
    alpha, length : float or array of JAX
        Factor of the kernel, and length scales: one for all columns, or one for each; a matrix has
        the length scales of one kernel in each row.
    ell, m : float and int, or lists of them
        Half-lengths of the box and numbers of eigenfunctions, as in NumPyro.
    dim : int

    Returns
    -------
    jax.Array of shape (eigenfunctions,), or (eigenfunctions, rows of ``length``)
        Differentiable in ``alpha`` and ``length``.
    """
    jnp, laplacian = import_modules("numpyro", "jax.numpy", _LAPLACIAN)
    covariance = RadialCovariance.of(kernel, dim)
    covariance.power_spectrum(1.0)  # raises here, not in compiled code, if there is no density
    lengths = jnp.broadcast_to(length, jnp.broadcast_shapes(jnp.shape(length), (dim,)))
    omega = laplacian.sqrt_eigenvalues(ell=ell, m=m, dim=dim).T
    omega = jnp.expand_dims(omega, range(1, lengths.ndim))
    # All eigenvalues are positive, so the square root is differentiable.
    radius = jnp.sqrt(jnp.sum((omega * lengths) ** 2, axis=-1))
    spectrum = elementwise(covariance.power_spectrum, covariance.power_spectrum_derivative)
    return alpha * jnp.prod(lengths, axis=-1) * spectrum(radius)


def hsgp(
    kernel: Any, x: Any, alpha: Any, length: Any, ell: Any, m: Any, *, non_centered: bool = True
) -> Any:
    """Values f(x) of a Gaussian process in a NumPyro model, like its ``hsgp_*`` functions.

    Parameters
    ----------
    kernel : Kernel, Family or str
    x : array of shape (n,) or (n, d)
    alpha, length, ell, m : as in :func:`diag_spectral_density`
    non_centered : bool
        Whether the coefficients "beta" are sampled with variance 1 or with variance S.

    Returns
    -------
    jax.Array of shape (n,)

    Examples
    --------
    >>> import numpyro                                                     # doctest: +SKIP
    >>> import numpyro.distributions as dist                               # doctest: +SKIP
    >>> from spectra.plugins.numpyro import hsgp                           # doctest: +SKIP
    >>> def model(x, y):                                                   # doctest: +SKIP
    ...     length = numpyro.sample("length", dist.LogNormal(0, 1))
    ...     f = hsgp("spherical", x, 1.0, length, ell=2.0, m=30)
    ...     numpyro.sample("y", dist.Normal(f, 0.1), obs=y)
    """
    jnp, laplacian, approximation = import_modules(
        "numpyro", "jax.numpy", _LAPLACIAN, "numpyro.contrib.hsgp.approximation"
    )
    x = jnp.asarray(x)
    dim = x.shape[-1] if x.ndim > 1 else 1
    phi = laplacian.eigenfunctions(x=x, ell=ell, m=m)
    spectrum = diag_spectral_density(kernel, alpha, length, ell, m, dim)
    return approximation.linear_approximation(phi, jnp.sqrt(spectrum), phi.shape[-1], non_centered)
