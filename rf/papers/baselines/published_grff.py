"""GRFF as published, for any kernel: radii from the density on R^d, which is biased."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline
from rf.papers.baselines.samplers import grid_frequencies
from spectra.base.arrays import FloatArray
from spectra.kernels import Kernel

__all__ = ["PublishedGRFF"]


@final
@dataclass(eq=False, repr=False)
class PublishedGRFF(Baseline):
    """GRFF with the sampler of its published code.

    The radius w is drawn from the spectral density |mu(w)| on a grid over [-10, 10], without the
    factor w^(d-1), and the weights are scaled to sum 1.  The features are **biased** for d >= 2:
    they estimate :func:`rf.papers.baselines.samplers.grid_mean`.  :class:`rf.GRFF` is unbiased.

    Parameters
    ----------
    kernel : Kernel or str, default="gaussian"
    n_components : int, default=100
        Number of columns, rounded so that each sign has the same number of cosine-sine pairs.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    Liu, Huang, Chen, Suykens, "Fast learning in reproducing kernel Krein spaces via signed
    measures", AISTATS 2021, Algorithm 1.

    Examples
    --------
    >>> features = PublishedGRFF("exp(-z**2/2) - exp(-z**2/8)", n_components=8)
    >>> features.fit(np.eye(3)).signature_
    array([ 1.,  1., -1., -1.,  1.,  1., -1., -1.])
    """

    kernel: Kernel | str = "gaussian"
    _: KW_ONLY
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [Kernel, str],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _draw(self, X: FloatArray) -> FloatArray:
        # Imported here because other baselines do not derive a density.
        from spectra.density import spectral_density
        from spectra.kernels.catalogue import kernel_from_text

        kernel = kernel_from_text(self.kernel) if isinstance(self.kernel, str) else self.kernel
        density = spectral_density(kernel, X.shape[1]).density
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        drawn = grid_frequencies(density, X.shape[1], (self.n_components + 1) // 2, rng=rng)
        self.frequencies_, self._scale = drawn.frequencies, np.sqrt(drawn.weights)
        return np.tile(np.cos(drawn.phases), 2)

    def _columns(self, X: FloatArray) -> FloatArray:
        phase = X @ self.frequencies_.T
        return np.concatenate([np.cos(phase) * self._scale, np.sin(phase) * self._scale], axis=1)
