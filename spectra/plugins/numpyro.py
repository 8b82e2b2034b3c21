r"""The spectra of our kernels for the Hilbert space Gaussian processes of NumPyro.

.. math:: f(x) = \sum_j \sqrt{S(\sqrt{\lambda_j})}\, \phi_j(x)\, \beta_j, \qquad
          S(\omega) = \alpha \prod_j \ell_j\, (2\pi)^d \mu\big(|\ell \omega|\big)
"""

from __future__ import annotations

from typing import Any

from spectra.derivation import RadialCovariance
from spectra.plugins import imported
from spectra.plugins.jax_functions import elementwise

__all__ = ["diag_spectral_density", "hsgp"]

_LAPLACIAN = "numpyro.contrib.hsgp.laplacian"


def diag_spectral_density(kernel: Any, alpha: Any, length: Any, ell: Any, m: Any, dim: int) -> Any:
    """S at the square roots of the first eigenvalues, as NumPyro's own ``diag_spectral_density_*``.

    Parameters
    ----------
    kernel : Kernel, Entry or str
        Positive definite on R^dim.
    alpha, length : float or array of JAX
        Factor of the kernel, a variance, and what the coordinates are divided by, one for all or
        one for each; a matrix has lengths of one kernel in a row.
    ell, m : float and int, or lists of them
        Half-lengths of the box and numbers of functions, as in NumPyro.
    dim : int

    Returns
    -------
    jax.Array of shape (number of functions,), or (number of functions, rows of ``length``)
        Differentiable in ``alpha`` and ``length``.
    """
    jnp, laplacian = imported("numpyro", "jax.numpy", _LAPLACIAN)
    known = RadialCovariance.of(kernel, dim)
    known.power(1.0)  # refused here, where a model is made, and not where it runs
    lengths = jnp.broadcast_to(length, jnp.broadcast_shapes(jnp.shape(length), (dim,)))
    omega = laplacian.sqrt_eigenvalues(ell=ell, m=m, dim=dim).T
    omega = jnp.expand_dims(omega, range(1, lengths.ndim))
    # No eigenvalue is 0, so that the root has a derivative.
    radius = jnp.sqrt(jnp.sum((omega * lengths) ** 2, axis=-1))
    spectrum = elementwise(known.power, known.power_slope)
    return alpha * jnp.prod(lengths, axis=-1) * spectrum(radius)


def hsgp(
    kernel: Any, x: Any, alpha: Any, length: Any, ell: Any, m: Any, *, non_centered: bool = True
) -> Any:
    """A Gaussian process with any radial kernel on a box, as the ``hsgp_*`` of NumPyro.

    Parameters
    ----------
    kernel : Kernel, Entry or str
    x : array of shape (n,) or (n, d)
    alpha, length, ell, m : as in :func:`diag_spectral_density`
    non_centered : bool
        How the coefficients "beta" are sampled.

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
    jnp, laplacian, approximation = imported(
        "numpyro", "jax.numpy", _LAPLACIAN, "numpyro.contrib.hsgp.approximation"
    )
    x = jnp.asarray(x)
    dim = x.shape[-1] if x.ndim > 1 else 1
    phi = laplacian.eigenfunctions(x=x, ell=ell, m=m)
    spectrum = diag_spectral_density(kernel, alpha, length, ell, m, dim)
    return approximation.linear_approximation(phi, jnp.sqrt(spectrum), phi.shape[-1], non_centered)
