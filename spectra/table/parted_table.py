"""What tables whose parts are not radial have in common: sums over their parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from spectra.errors import ParameterError
from spectra.table.arrays import FloatArray
from spectra.table.radial_law import Seed
from spectra.table.spectral_table import FrequencySample, checked_rng, checked_size

__all__ = ["PartedTable"]


class _Part(Protocol):
    """A positive mass and its sign."""

    @property
    def mass(self) -> float: ...
    @property
    def mass_error(self) -> float: ...
    @property
    def sign(self) -> float: ...


class PartedTable(ABC):
    """A finite signed measure as a list of parts that can be drawn, and may overlap."""

    dim: int

    @property
    @abstractmethod
    def parts(self) -> Sequence[_Part]:
        """The parts, each a positive mass with a sign."""

    @abstractmethod
    def _drawn(self, part: Any, size: int, rng: np.random.Generator) -> FloatArray:
        """Frequencies of a part, of shape (size, d)."""

    @abstractmethod
    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The expectation of the estimator, and a bound of its error."""

    @property
    def mass(self) -> float:
        """The sum of the masses of the parts: the total mass where ``is_jordan``, or a bound.

        It is what the variance of features goes by in either case.
        """
        return float(sum(p.mass for p in self.parts))

    @property
    def positive_mass(self) -> float:
        """The sum of the masses of the positive parts."""
        return float(sum(p.mass for p in self.parts if p.sign > 0))

    @property
    def negative_mass(self) -> float:
        """The sum of the masses of the negative parts."""
        return float(sum(p.mass for p in self.parts if p.sign < 0))

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return float(sum(p.mass_error for p in self.parts))

    def expected_kernel(self, differences: ArrayLike) -> FloatArray:
        """Exact expectation of the estimator at differences D, shape (..., d).

        Raises
        ------
        DataError
            Where differences have another number of coordinates.
        """
        return self._expected(differences)[0]

    def expected_kernel_error(self, differences: ArrayLike) -> FloatArray:
        """Error bound of :meth:`expected_kernel` as the expectation of the estimator."""
        return self._expected(differences)[1]

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent frequencies, each of a part that is drawn by its mass.

        Raises
        ------
        ParameterError
            If there are no parts, or an argument is none of its kind.
        """
        if not self.parts:
            raise ParameterError("The measure is zero: there are no frequencies to draw.")
        count, generator = checked_size(size), checked_rng(rng)
        masses = np.array([p.mass for p in self.parts])
        ends = np.cumsum(masses)[:-1] / masses.sum()
        chosen = np.searchsorted(ends, generator.random(count), side="right")
        frequencies = np.zeros((count, self.dim))
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(chosen == number)
            frequencies[rows] = self._drawn(part, rows.size, generator)
        phases = np.array([0.0 if p.sign > 0 else np.pi for p in self.parts])[chosen]
        return FrequencySample(frequencies, np.full(count, self.mass), phases)
