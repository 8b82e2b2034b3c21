"""The interface of schemes: how features are sampled, and the expected error of the kernel matrix.

:mod:`rf.schemes.table_scheme` draws frequencies from a table, :mod:`rf.schemes.complex_scheme` from
the parts of a complex measure.  The schemes in :mod:`rf.dot_product` design features for the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rf.feature_maps.feature_map import FeatureMap
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import Points

__all__ = ["Scheme"]


class Scheme(ABC):
    """How features are sampled.

    ``table``: the distributions that frequencies are drawn from; ``coupling``: name of the
    coupling; both are None for designed features; ``counts``: number of frequencies of each part of
    the table; ``compared``: the alternatives that were compared, with their scores, best first.
    """

    table: Any = None
    coupling: Any = None
    counts: tuple[int, ...] = ()
    compared: Any = ()
    #: A sample of the rows that the features were fitted to, or None.
    rows: Any = None

    @property
    def is_unbiased(self) -> bool:
        """Whether the mean of the estimate is the kernel, for all rows."""
        return True

    @property
    @abstractmethod
    def method(self) -> str:
        """Name of the method: the kind of the table, a decomposition, or a dot-product method."""

    @abstractmethod
    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        """Draw the features: at most ``n_columns`` columns."""

    def variance(self, points: ArrayLike | Points) -> tuple[FloatArray, FloatArray]:
        """Exact variance of the estimate at points as :meth:`SpectralTable.points` takes them.

        Returns the variance, and a bound of its numerical error.
        """
        raise ParameterError(
            "The variance at a distance is known for features that are drawn from a table, and "
            f"these were designed for the data ({self.method}). Their expected error on the data "
            "is expected_error_, and explain() shows how they were chosen."
        )

    @abstractmethod
    def expected_error(self, extra_variance: float = 0.0) -> float:
        """Expected relative error of the kernel matrix, or nan if it is not known.

        ``extra_variance``: added to the variance of each entry.
        """

    @abstractmethod
    def explain(self) -> str:
        """What was chosen and why, in plain text."""
