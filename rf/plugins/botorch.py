"""Random features for the pathwise sampling of BoTorch.

After :func:`register`, BoTorch can draw paths of models whose kernel comes from
:func:`rf.plugins.gpytorch.exact_kernel`, with or without a ``ScaleKernel``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rf.plugins.gpytorch import ExactKernel, kernel_frequencies
from spectra.errors import MissingExtraError, ParameterError

__all__ = ["feature_map", "register"]


def feature_map(
    kernel: Any,
    *,
    num_inputs: int,
    num_outputs: int,
    coupling: str = "orthogonal",
    random_state: int | None = None,
) -> Any:
    """BoTorch feature map of a kernel from :func:`rf.plugins.gpytorch.exact_kernel`.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        A result of ``exact_kernel``, without a batch shape.
    num_inputs, num_outputs : int
        Number of columns of the data, and number of features (two for each frequency).
    coupling : str
        How frequencies depend on one another, as in :func:`rf.draw_frequencies`.
    random_state : int, optional
        Seed; by default drawn from the generator of torch, which ``torch.manual_seed`` seeds.

    Returns
    -------
    botorch.sampling.pathwise.features.KernelFeatureMap

    Raises
    ------
    ParameterError
        If the kernel has a batch shape or is not positive definite, or ``num_outputs`` is odd.
    """
    import torch
    from botorch.sampling.pathwise.features.maps import KernelFeatureMap
    from botorch.sampling.pathwise.utils import (
        ChainedTransform,
        FeatureSelector,
        InverseLengthscaleTransform,
        SineCosineTransform,
    )

    if num_outputs % 2 or kernel.batch_shape.numel() != 1:
        raise ParameterError(
            f"num_outputs = {num_outputs} must be an even number (a cosine and a sine for each "
            f"frequency), and the batch shape {tuple(kernel.batch_shape)} must be empty."
        )
    if random_state is None:
        random_state = int(torch.randint(0, 2**31 - 1, ()))
    transform = InverseLengthscaleTransform(kernel)
    if kernel.active_dims is not None:
        num_inputs = len(kernel.active_dims)
        transform = ChainedTransform(transform, FeatureSelector(indices=kernel.active_dims))
    rng = np.random.default_rng(random_state)
    exact = kernel.covariance.kernel
    drawn = kernel_frequencies(exact, num_inputs, num_outputs // 2, coupling, rng)
    placement = {"dtype": kernel.lengthscale.dtype, "device": kernel.lengthscale.device}
    roots = torch.tensor(np.tile(np.sqrt(drawn.weights), 2), **placement)
    return KernelFeatureMap(
        kernel=kernel,
        weight=torch.tensor(np.array(drawn.frequencies), **placement),
        input_transform=transform,
        output_transform=SineCosineTransform(roots),
    )


def register() -> None:
    """Register :func:`feature_map` in BoTorch for the kernels of ``exact_kernel``.

    Raises
    ------
    MissingExtraError
        If BoTorch is not installed.

    Examples
    --------
    >>> from botorch.sampling.pathwise import draw_matheron_paths          # doctest: +SKIP
    >>> from rf.plugins import botorch                                     # doctest: +SKIP
    >>> botorch.register()                                                 # doctest: +SKIP
    >>> paths = draw_matheron_paths(model, torch.Size([16]))               # doctest: +SKIP
    """
    try:
        from botorch.sampling.pathwise.features.generators import GenKernelFeatures
    except ImportError as error:
        raise MissingExtraError(
            "rf.plugins.botorch needs BoTorch, which is not installed: "
            'pip install "kernel-spectra[botorch]".'
        ) from error
    GenKernelFeatures.register(ExactKernel)(feature_map)
