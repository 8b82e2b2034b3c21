"""The interface of schemes: how features are sampled, and their error before any draw.

A scheme leads from a kernel to a feature map.  :mod:`rf.schemes.table_scheme` draws frequencies
from a table, :mod:`rf.schemes.complex` from the parts of a complex measure; features designed for
the data have schemes as well (:mod:`rf.dot_product`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from rf.sampling.frequencies import FeatureMap
from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["DesignedScheme", "Scheme"]


class Scheme(ABC):
    """How features are sampled.

    ``table``: the distributions that frequencies are drawn from; ``method``: "radial", "shifted" or
    "weighted"; "jordan" or "polar"; "grouped"; "l1"; or the name of a method of
    :mod:`rf.dot_product`; ``coupling``: None if there are no frequencies; ``counts``: frequencies
    of each part of the table; ``compared``: what was compared, best first.
    """

    table: Any
    coupling: Any
    counts: tuple[int, ...]
    compared: Any

    @property
    @abstractmethod
    def method(self) -> str:
        """How the features are made."""

    @abstractmethod
    def draw(self, n_columns: int, rng: np.random.Generator) -> FeatureMap:
        """Draw the features: at most ``n_columns`` columns."""

    @abstractmethod
    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exact variance of the estimate at distances, or at differences of shape (n, d).

        Returns ``value``, ``error``: the error is a bound of the numerical error of the value.
        """

    @abstractmethod
    def expected_error(self, extra_variance: float = 0.0) -> float:
        """Expected relative error of the kernel matrix of the rows; nan if it is not known."""

    @abstractmethod
    def explain(self) -> str:
        """What was chosen and why, in plain text."""

    def radial_table(self, what: str) -> SpectralTable:
        """The table if it is radial; otherwise an error that ``what`` needs a radial table."""
        table: SpectralTable | None = self.table
        if table is not None and table.is_radial:
            return table
        raise ParameterError(
            f"{what} is known for radial kernels that are drawn from a table, and these features "
            f"were made by the method {self.method!r}. Compare variance(...), if it is known, with "
            "eps**2."
        )


class DesignedScheme(Scheme):
    """Features designed for the data, not drawn from a table: their error is known there only."""

    table = None
    coupling = None
    counts = ()
    compared: Any = ()

    def variance(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise ParameterError(
            "The variance at a distance is known for features that are drawn from a table, and "
            f"these were designed for the data ({self.method}). Their expected error on the data "
            "is expected_error_, and explain() shows how they were chosen."
        )
