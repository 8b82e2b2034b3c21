"""What all tables have in common: parts with masses and signs, their draws, and their files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import random_source, real_array, whole_number
from spectra.errors import DataError, ParameterError, TableFileError
from spectra.table.radial.radial_law import Seed
from spectra.table.table_file import Arrays, read_arrays, write_arrays

__all__ = ["FrequencySample", "PartedTable"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrequencySample:
    """Frequencies whose weighted mean of cosines estimates the kernel without bias.

    Attributes
    ----------
    frequencies : ndarray, shape (n, dim)
        Independent draws from the measure |mu| / ||mu||.
    weights : ndarray, shape (n,)
        The total mass ||mu||, for each draw of a radial part; what its shifts leave for others.
    phases : ndarray, shape (n,)
        0 where the draw came from a positive part, pi from a negative one, and the phases of its
        shifts.
    """

    frequencies: FloatArray
    weights: FloatArray
    phases: FloatArray

    def __repr__(self) -> str:
        n, dim = self.frequencies.shape
        return f"FrequencySample: {n} frequencies in R^{dim}, with weights and phases"

    def kernel(self, differences: ArrayLike) -> FloatArray:
        """The estimate: mean of weights * cos(w.D + phase) at D, shape (..., dim)."""
        waves = np.asarray(differences, dtype=float) @ self.frequencies.T + self.phases
        return np.asarray(np.mean(self.weights * np.cos(waves), axis=-1))


class PartedTable(ABC):
    """A finite signed measure as a list of parts that can be drawn, and may overlap."""

    dim: int
    formula: str

    #: The version of its files, and what their numbers mean.
    version: ClassVar[int]
    convention: ClassVar[str]

    #: It is right at any distance, of rows anywhere, unless it says otherwise.
    sphere = False
    domain = float("inf")

    if TYPE_CHECKING:

        @property
        def parts(self) -> Sequence[Any]:
            """The parts, each with a positive ``mass``, its ``mass_error`` and a ``sign``."""

    @property
    def is_radial(self) -> bool:
        """Whether the kernel is a function of |D|."""
        return False

    @abstractmethod
    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The expectation of the estimator, and a bound of its error."""

    def _differences(self, differences: ArrayLike) -> FloatArray:
        """Differences D = x - y as an array of shape (..., d)."""
        D = real_array(differences, "D = x - y", error=DataError)
        if D.shape[-1:] != (self.dim,):
            raise DataError(
                f"The kernel of this table depends on the difference D = x - y of {self.dim} "
                f"columns, and not on its length alone: give an array of shape (..., {self.dim}). "
                f"Its shape is {D.shape}."
            )
        return D

    @abstractmethod
    def _members(self) -> tuple[dict[str, Any], Arrays]:
        """What the header of a file holds of it, beside dimension and formula; and arrays."""

    @classmethod
    @abstractmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        """The table of a header; the arrays that it uses are taken out."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file at ``path``; :meth:`load` gives the same bits back."""
        write_arrays(path, *self.members())

    def members(self) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of its file, as :meth:`of_members` reads them."""
        own, arrays = self._members()
        header = {
            "format": f"spectra.{type(self).__name__}",
            "version": self.version,
            "convention": self.convention,
            "dim": self.dim,
            "formula": self.formula,
        }
        return header | own, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table that was saved at ``path``.

        A TableFileError if the file is truncated, edited, foreign or of an unknown version.
        """
        return cls.of_members(*read_arrays(path), os.fspath(path))

    @classmethod
    def of_members(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        """The table of :meth:`members`; ``path`` names it in errors."""
        found, known = (header.get("format"), header.get("version")), f"spectra.{cls.__name__}"
        if found != (known, cls.version):
            raise TableFileError(
                f"{path} is a file of format {found[0]!r} and version {found[1]}, and this is "
                f"read: {known!r} of version {cls.version}. Load it with the class that its "
                "format names, or make the table again with spectra.derive."
            )
        try:
            if header["convention"] != cls.convention:
                raise ValueError(f"its convention is {header['convention']!r}")
            table = cls._of(header, arrays, path)
        except (KeyError, TypeError, ValueError) as fault:
            raise TableFileError(
                f"{path} does not hold a valid {cls.__name__}: {fault}. Make it again with "
                "spectra.derive."
            ) from fault
        if arrays:
            raise TableFileError(
                f"{path} holds arrays that belong to no part: {sorted(arrays)}. It was not written "
                f"by {cls.__name__}.save."
            )
        return table

    @property
    def mass(self) -> float:
        """The sum of the masses of the parts: the total mass, or a bound if they overlap."""
        return float(sum(self._sizes()))

    def _sizes(self) -> list[float]:
        """The mass by which each part is drawn."""
        return [p.mass for p in self.parts]

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
        """Exact expectation of the estimator, computed from the stored laws.

        Its difference from k is the bias of every feature that is drawn from the table.

        Parameters
        ----------
        differences : array_like
            Distances of any shape if the table is radial, else differences of shape (..., dim).
        """
        return self._expected(differences)[0]

    def expected_kernel_error(self, differences: ArrayLike) -> FloatArray:
        """Error bound of :meth:`expected_kernel` as the expectation of the estimator.

        It counts the integration only: the masses of the table are those that are sampled.
        """
        return self._expected(differences)[1]

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent frequencies from the parts, each drawn by its mass, with weights and phases.

        Those of a part with shifts have the law of its radial part, and weights of their own.
        """
        if not self.parts:
            raise ParameterError("The measure is zero: there are no frequencies to draw.")
        size, generator = whole_number(size, "size", least=0), random_source(rng, "rng")
        sizes = np.array(self._sizes())
        ends = np.cumsum(sizes)[:-1] / sizes.sum()
        chosen = np.searchsorted(ends, generator.random(size), side="right")
        phases = np.array([0.0 if p.sign > 0 else np.pi for p in self.parts])[chosen]
        drawn = FrequencySample(
            np.zeros((chosen.size, self.dim)), np.full(chosen.size, self.mass), phases
        )
        self._draw(chosen, drawn, generator)
        return drawn

    @abstractmethod
    def _draw(self, chosen: IntArray, drawn: FrequencySample, rng: np.random.Generator) -> None:
        """Write the frequencies of the chosen parts, and what weights and phases have of shifts."""
