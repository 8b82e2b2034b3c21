"""Base class of Fastfood, SORF, circulant and quasi-Monte Carlo features of a Gaussian kernel."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rf.papers.baselines.base import Baseline, cosines_and_sines
from spectra.base.arrays import FloatArray

__all__ = ["GaussianBlocks", "random_signs"]


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianBlocks(Baseline):
    """Features of exp(-|x - y|^2 / (2 length_scale^2)) with frequencies drawn in blocks.

    Parameters
    ----------
    length_scale : float, default=1.0
    n_components : int, default=100
        Number of columns: a cosine and a sine for each frequency; if it is odd, the last
        frequency has only a cosine with a random phase.
    random_state : int, RandomState instance or None, default=None
    """

    length_scale: float = 1.0
    n_components: int = 100
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "length_scale": [Interval(Real, 0, None, closed="neither")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _block_size(self, dim: int) -> int:
        """Number of frequencies in a block."""

    @abstractmethod
    def _draw_block(self, dim: int, random: np.random.RandomState) -> Any:
        """Draw the random numbers that define a block, for length_scale = 1."""

    @abstractmethod
    def _project(self, rows: FloatArray, block: Any) -> FloatArray:
        """The products of rows with the frequencies of a block, of shape (rows, block size)."""

    def _draw(self, X: FloatArray) -> FloatArray:
        random = check_random_state(self.random_state)
        dim = X.shape[1]
        n_frequencies = -(-self.n_components // 2)
        n_blocks = -(-n_frequencies // self._block_size(dim))
        self._blocks = [self._draw_block(dim, random) for _ in range(n_blocks)]
        self._phase = float(random.uniform(0.0, 2.0 * np.pi))
        return np.ones(self.n_components)

    def _columns(self, X: FloatArray) -> FloatArray:
        rows = X / self.length_scale
        phase = np.concatenate([self._project(rows, block) for block in self._blocks], axis=1)
        phase = phase[:, : -(-self.n_components // 2)]
        scale = math.sqrt(2.0 / self.n_components)
        return scale * cosines_and_sines(phase, self.n_components, self._phase)


def random_signs(random: np.random.RandomState, *shape: int) -> FloatArray:
    """Independent +1 and -1 with equal probability."""
    return np.asarray(2.0 * random.randint(0, 2, size=shape) - 1.0)
