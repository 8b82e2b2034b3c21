"""Features of our frequencies for the pathwise sampling of BoTorch.

After :func:`register` BoTorch knows how to draw paths of models whose kernel is an
:func:`rf.plugins.gpytorch.exact_kernel`, alone or in a ``ScaleKernel``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rf.plugins.gpytorch import Radial, frequencies_of
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
    """Features of an :func:`rf.plugins.gpytorch.exact_kernel` for BoTorch.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        One of ours, without batches.
    num_inputs, num_outputs : int
        Columns of the data, and features: a cosine and a sine for each frequency.
    coupling : str
        As in :func:`rf.draw_frequencies`.
    random_state : int, optional
        By default drawn from the generator of torch, so that ``torch.manual_seed`` decides.

    Returns
    -------
    botorch.sampling.pathwise.features.KernelFeatureMap

    Raises
    ------
    ParameterError
        For batches of kernels, an odd number of features, or a kernel that is no covariance.
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
            f"{num_outputs} features of a kernel of batch shape {tuple(kernel.batch_shape)}: give "
            "an even number, a cosine and a sine for each frequency, and one kernel."
        )
    if random_state is None:
        random_state = int(torch.randint(0, 2**31 - 1, ()))
    transform = InverseLengthscaleTransform(kernel)
    if kernel.active_dims is not None:
        num_inputs = len(kernel.active_dims)
        transform = ChainedTransform(transform, FeatureSelector(indices=kernel.active_dims))
    rng = np.random.default_rng(random_state)
    drawn = frequencies_of(kernel.covariance.kernel, num_inputs, num_outputs // 2, coupling, rng)
    like = {"dtype": kernel.lengthscale.dtype, "device": kernel.lengthscale.device}
    roots = torch.tensor(np.tile(np.sqrt(drawn.weights), 2), **like)
    return KernelFeatureMap(
        kernel=kernel,
        weight=torch.tensor(np.array(drawn.frequencies), **like),
        input_transform=transform,
        output_transform=SineCosineTransform(roots),
    )


def register() -> None:
    """Let BoTorch draw paths of models with our kernels, by :func:`feature_map`.

    Raises
    ------
    MissingExtraError
        Without BoTorch.

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
            "rf.plugins.botorch draws paths of BoTorch's models, which is not installed: "
            'pip install "kernel-spectra[botorch]".'
        ) from error
    GenKernelFeatures.register(Radial)(feature_map)
