"""What tables whose parts are not radial have in common: sums over their parts."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.errors import ParameterError, TableFileError
from spectra.table.arrays import FloatArray
from spectra.table.radial_law import Seed
from spectra.table.spectral_table import FrequencySample, checked_rng, checked_size
from spectra.table.table_file import Arrays, read_arrays, write_arrays

__all__ = ["PartedTable"]

# Of the files of all of them.
_VERSION = 1


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
    formula: str

    #: What its files are called, and what their numbers mean.
    format: ClassVar[str]
    convention: ClassVar[str]

    #: As of a :class:`SpectralTable`: it is right at any distance, of rows anywhere.
    is_radial = False
    sphere = False
    domain = float("inf")

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

    @abstractmethod
    def _members(self) -> tuple[dict[str, Any], Arrays]:
        """What the header of a file holds of it, beside dimension and formula; and arrays."""

    @classmethod
    @abstractmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        """The table of a header; the arrays that it uses are taken out."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file, in one step; :meth:`load` gives the same bits back."""
        own, arrays = self._members()
        header = {
            "format": self.format,
            "version": _VERSION,
            "convention": self.convention,
            "dim": self.dim,
            "formula": self.formula,
        }
        write_arrays(path, header | own, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table that was saved at ``path``.

        Raises
        ------
        TableFileError
            If the file is truncated, edited, foreign or of an unknown version.
        FileNotFoundError
            If there is no such file.
        """
        header, arrays = read_arrays(path)
        name, found = os.fspath(path), (header.get("format"), header.get("version"))
        if found != (cls.format, _VERSION):
            raise TableFileError(
                f"{name} is a file of format {found[0]!r} and version {found[1]}, and this is "
                f"read: {cls.format!r} of version {_VERSION}. Radial tables are read by "
                "SpectralTable.load."
            )
        try:
            table = cls._of(header, arrays, name)
        except (KeyError, TypeError, ValueError) as fault:
            raise TableFileError(
                f"{name} does not hold a valid {cls.__name__}: {fault}."
            ) from fault
        if arrays:
            raise TableFileError(f"{name} holds arrays of no part of it: {sorted(arrays)}.")
        return table

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
