r"""GPyTorch kernels with exact values, or approximated by random features.

.. math:: k(x, y) \approx \sum_i a_i \cos\big(w_i \cdot (x - y)/\ell\big)

with weights a_i, frequencies w_i and lengthscale l.  Unlike GPyTorch's ``RFFKernel``, the features
approximate any positive definite radial kernel: :func:`rf.draw_frequencies` draws from its table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rf.sampling import Frequencies, draw_frequencies
from rf.variance import allocate
from spectra.errors import MissingExtraError, ParameterError
from spectra.plugins.covariance import RadialCovariance, positive_table, radial_kernel

try:
    import gpytorch
    import torch
except ImportError as error:
    raise MissingExtraError(
        "rf.plugins.gpytorch needs GPyTorch, which is not installed: "
        'pip install "kernel-spectra[gpytorch]".'
    ) from error

__all__ = ["ExactKernel", "Features", "exact_kernel", "feature_kernel", "kernel_frequencies"]

_Kernel: Any = gpytorch.kernels.Kernel
_RFFKernel: Any = gpytorch.kernels.RFFKernel
_Function: Any = torch.autograd.Function


def exact_kernel(kernel: Any, num_dims: int, **options: Any) -> ExactKernel:
    """Convert a radial kernel to a GPyTorch kernel, with exact values and gradients.

    Parameters
    ----------
    kernel : Kernel, Family or str
        A radial kernel that is positive definite on R^num_dims.
    num_dims : int
        Number of columns of the data that the kernel uses.
    **options
        Options of every GPyTorch kernel, such as ``ard_num_dims`` and ``active_dims``.

    Returns
    -------
    ExactKernel
        A ``gpytorch.kernels.Kernel``.

    Raises
    ------
    ParameterError
        If the kernel is not radial, or not positive definite in that dimension.

    Examples
    --------
    >>> import gpytorch                                                    # doctest: +SKIP
    >>> from rf.plugins.gpytorch import exact_kernel                       # doctest: +SKIP
    >>> covar_module = gpytorch.kernels.ScaleKernel(                       # doctest: +SKIP
    ...     exact_kernel("cubic", 3, ard_num_dims=3))
    """
    return ExactKernel(RadialCovariance.of(radial_kernel(kernel), num_dims), **options)


def feature_kernel(
    kernel: Any,
    num_dims: int,
    *,
    num_samples: int,
    coupling: str = "orthogonal",
    random_state: int | None = None,
    **options: Any,
) -> Features:
    """Approximate a radial kernel by random features, as a GPyTorch ``RFFKernel``.

    Parameters
    ----------
    kernel : Kernel, Family or str
        A radial kernel that is positive definite on R^num_dims.
    num_dims : int
        Number of columns of the data.
    num_samples : int
        Number of frequencies, as in ``RFFKernel``; each has a cosine and a sine.
    coupling : str
        How frequencies depend on one another, as in :func:`rf.draw_frequencies`.
    random_state : int, optional
        Seed of the frequencies.
    **options
        Options of every GPyTorch kernel; each kernel of a ``batch_shape`` has its own frequencies.

    Returns
    -------
    Features
        A ``gpytorch.kernels.RFFKernel`` with low-rank matrices and trainable lengthscales.

    Raises
    ------
    ParameterError
        As in :func:`exact_kernel`.
    """
    rng, radial = np.random.default_rng(random_state), radial_kernel(kernel)
    draws = [
        kernel_frequencies(radial, num_dims, num_samples, coupling, rng)
        for _ in range(torch.Size(options.get("batch_shape", ())).numel())
    ]
    return Features(draws, **options)


def kernel_frequencies(
    kernel: Any, dim: int, count: int, coupling: str, rng: np.random.Generator
) -> Frequencies:
    """Draw ``count`` frequencies of a kernel on R^dim, split by mass over its table's parts."""
    table = positive_table(kernel, dim)
    counts = allocate(table, count, allocation="mass")
    return draw_frequencies(table, counts, coupling=coupling, random_state=rng)


class ExactKernel(_Kernel):  # type: ignore[misc]
    """A GPyTorch kernel with the values and gradients of a radial kernel."""

    has_lengthscale = True
    is_stationary = True

    def __init__(self, covariance: RadialCovariance, **options: Any) -> None:
        super().__init__(**options)
        self.covariance = covariance

    def forward(self, x1: Any, x2: Any, diag: bool = False, **options: Any) -> Any:
        if options.get("last_dim_is_batch"):
            raise ParameterError("Radial kernels do not support last_dim_is_batch.")
        x1, x2 = x1 / self.lengthscale, x2 / self.lengthscale
        if not diag:
            x1, x2 = x1.unsqueeze(-2), x2.unsqueeze(-3)
        # Unlike |x|^2 + |y|^2 - 2 <x, y>, this is exactly 0 for x = y, where k may have a kink.
        return _Values.apply(((x1 - x2) ** 2).sum(-1), self.covariance)


class Features(_RFFKernel):  # type: ignore[misc]
    """An RFFKernel with weighted frequencies, one draw for each kernel of the batch."""

    def __init__(self, draws: list[Frequencies], **options: Any) -> None:
        super().__init__(num_samples=len(draws[0]), **options)
        placement = {"dtype": self.raw_lengthscale.dtype, "device": self.raw_lengthscale.device}
        w = torch.tensor(np.array([draw.frequencies.T for draw in draws]), **placement)
        tiled = np.array([[np.tile(draw.weights**0.5, 2)] for draw in draws])
        roots = torch.tensor(tiled, **placement)
        self._init_weights(randn_weights=w.reshape(*self.batch_shape, *w.shape[1:]))
        self.register_buffer("roots", roots.reshape(*self.batch_shape, *roots.shape[1:]))

    def _featurize(self, x: Any, normalize: bool = False) -> Any:
        return super()._featurize(x, normalize=False) * self.roots


class _Values(_Function):  # type: ignore[misc]
    """The kernel as a differentiable function of squared distances (first derivatives only)."""

    @staticmethod
    def forward(context: Any, squared: Any, covariance: RadialCovariance) -> Any:
        context.save_for_backward(squared)
        context.covariance = covariance
        return _evaluate_in_numpy(covariance.values, squared)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Any) -> Any:
        (squared,) = context.saved_tensors
        return gradient * _evaluate_in_numpy(context.covariance.derivative, squared), None


def _evaluate_in_numpy(function: Any, x: Any) -> Any:
    values = function(x.detach().cpu().double().numpy())
    return torch.as_tensor(values, dtype=x.dtype, device=x.device)
