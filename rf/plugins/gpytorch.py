r"""Our kernels as kernels of GPyTorch, exactly and through features of our frequencies.

.. math:: k(x, y) \approx \sum_i a_i \cos\big(w_i \cdot (x - y)/\ell\big)

GPyTorch's ``RFFKernel`` draws independent normal frequencies for the Gaussian kernel alone.  Here
they come from the table of any positive definite kernel, coupled and weighted as in
:func:`rf.draw_frequencies`, so that the mean over draws is the kernel and the error is smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rf.sampling import Frequencies, draw_frequencies
from rf.variance import allocate
from spectra.derivation import RadialCovariance, positive_table, radial_kernel
from spectra.errors import MissingExtraError, ParameterError

try:
    import gpytorch
    import torch
except ImportError as error:
    raise MissingExtraError(
        "rf.plugins.gpytorch makes kernels of GPyTorch, which is not installed: "
        'pip install "kernel-spectra[gpytorch]".'
    ) from error

__all__ = ["Features", "Radial", "exact_kernel", "feature_kernel", "frequencies_of"]

_Kernel: Any = gpytorch.kernels.Kernel
_RFFKernel: Any = gpytorch.kernels.RFFKernel
_Function: Any = torch.autograd.Function


def exact_kernel(kernel: Any, num_dims: int, **options: Any) -> Radial:
    """A kernel of GPyTorch with the values of any radial kernel, and exact gradients.

    Parameters
    ----------
    kernel : Kernel, Entry or str
        Positive definite on R^num_dims.
    num_dims : int
        Columns that count.
    **options
        As for every kernel there: ``ard_num_dims``, ``active_dims``, ``lengthscale_prior``, ...

    Returns
    -------
    Radial
        A ``gpytorch.kernels.Kernel``.

    Raises
    ------
    ParameterError
        Where the kernel is not radial, or not positive definite in that dimension.

    Examples
    --------
    >>> import gpytorch                                                    # doctest: +SKIP
    >>> from rf.plugins.gpytorch import exact_kernel                       # doctest: +SKIP
    >>> covar_module = gpytorch.kernels.ScaleKernel(                       # doctest: +SKIP
    ...     exact_kernel("cubic", 3, ard_num_dims=3))
    """
    return Radial(RadialCovariance.of(radial_kernel(kernel), num_dims), **options)


def feature_kernel(
    kernel: Any,
    num_dims: int,
    *,
    num_samples: int,
    coupling: str = "orthogonal",
    random_state: int | None = None,
    **options: Any,
) -> Features:
    """GPyTorch's ``RFFKernel`` with the frequencies and weights of any radial kernel.

    Parameters
    ----------
    kernel : Kernel, Entry or str
        Positive definite on R^num_dims.
    num_dims : int
    num_samples : int
        Frequencies, as in ``RFFKernel``; each has a cosine and a sine.
    coupling : str
        How they depend on one another, as in :func:`rf.draw_frequencies`.
    random_state : int, optional
    **options
        As for every kernel of GPyTorch; each of ``batch_shape`` has frequencies of its own.

    Returns
    -------
    Features
        A ``gpytorch.kernels.RFFKernel``: its matrices have low rank, lengths stay parameters.

    Raises
    ------
    ParameterError
        As :func:`exact_kernel`.
    """
    rng, radial = np.random.default_rng(random_state), radial_kernel(kernel)
    drawn = [
        frequencies_of(radial, num_dims, num_samples, coupling, rng)
        for _ in range(torch.Size(options.get("batch_shape", ())).numel())
    ]
    return Features(drawn, **options)


def frequencies_of(
    kernel: Any, dim: int, count: int, coupling: str, rng: np.random.Generator
) -> Frequencies:
    """Frequencies of a positive definite kernel, shared out over its parts by their masses."""
    table = positive_table(kernel, dim)
    counts = allocate(table, count, allocation="mass")
    return draw_frequencies(table, counts, coupling=coupling, random_state=rng)


class Radial(_Kernel):  # type: ignore[misc]
    """A radial kernel of ours."""

    has_lengthscale = True
    is_stationary = True

    def __init__(self, covariance: RadialCovariance, **options: Any) -> None:
        super().__init__(**options)
        self.covariance = covariance

    def forward(self, x1: Any, x2: Any, diag: bool = False, **options: Any) -> Any:
        if options.get("last_dim_is_batch"):
            raise ParameterError("A radial kernel of several columns is not a batch of them.")
        x1, x2 = x1 / self.lengthscale, x2 / self.lengthscale
        if not diag:
            x1, x2 = x1.unsqueeze(-2), x2.unsqueeze(-3)
        # By differences, so that equal points are at distance 0 where kernels have a kink.
        return _Values.apply(((x1 - x2) ** 2).sum(-1), self.covariance)


class Features(_RFFKernel):  # type: ignore[misc]
    """RFFKernel with frequencies and weights of ours, one draw for each kernel of the batch."""

    def __init__(self, drawn: list[Frequencies], **options: Any) -> None:
        super().__init__(num_samples=len(drawn[0]), **options)
        like = {"dtype": self.raw_lengthscale.dtype, "device": self.raw_lengthscale.device}
        waves = torch.tensor(np.array([each.frequencies.T for each in drawn]), **like)
        roots = torch.tensor(np.array([[np.tile(each.weights**0.5, 2)] for each in drawn]), **like)
        self._init_weights(randn_weights=waves.reshape(*self.batch_shape, *waves.shape[1:]))
        self.register_buffer("roots", roots.reshape(*self.batch_shape, *roots.shape[1:]))

    def _featurize(self, x: Any, normalize: bool = False) -> Any:
        return super()._featurize(x, normalize=False) * self.roots


class _Values(_Function):  # type: ignore[misc]
    """k as a function of squared distances, differentiable once."""

    @staticmethod
    def forward(context: Any, squared: Any, covariance: RadialCovariance) -> Any:
        context.save_for_backward(squared)
        context.covariance = covariance
        return _on_host(covariance.values, squared)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Any) -> Any:
        (squared,) = context.saved_tensors
        return gradient * _on_host(context.covariance.derivative, squared), None


def _on_host(function: Any, x: Any) -> Any:
    values = function(x.detach().cpu().double().numpy())
    return torch.as_tensor(values, dtype=x.dtype, device=x.device)
