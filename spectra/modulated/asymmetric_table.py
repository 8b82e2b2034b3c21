r"""The table of an asymmetric kernel: radial tables, what modulates them, and the parts of that.

.. math:: K(D) = \sum_i \int e^{i w \cdot D}\, a_i(e_i \cdot w)\, \mu_i(dw)

with radial measures mu_i and modulations a_i.  One table holds three decompositions: "jordan"
(real and imaginary, positive and negative: four parts, of which the two imaginary ones are
mirror images and are sampled as one), "polar" (|measure|, with a phase for each frequency) and
"weighted" (the radial measure, with |a| as a weight of each frequency).  Numpy and scipy only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.errors import AccuracyError, ParameterError, TableFileError
from spectra.modulated.axial_part import AxialPart, PartKind
from spectra.modulated.modulation import Modulation
from spectra.table import FrequencySample, Part, SpectralTable
from spectra.table.arrays import FloatArray
from spectra.table.radial_law import Seed
from spectra.table.table_file import read_arrays, write_arrays

__all__ = ["DECOMPOSITIONS", "AsymmetricTable", "Decomposition", "Modulated"]

Decomposition = Literal["jordan", "polar", "weighted"]

#: The parts of each decomposition of a complex measure.
DECOMPOSITIONS: dict[Decomposition, tuple[PartKind, ...]] = {
    "jordan": ("real+", "real-", "imaginary+"),
    "polar": ("modulus",),
    "weighted": ("weighted",),
}
#: Share of the mass below which a part is left out: its bias is unseen in single precision.
NEGLIGIBLE = 1e-8

_FORMAT = "spectra.AsymmetricTable"
_VERSION = 1
# The value at 0 of the parts may differ from K(0) by their errors and this much of the mass.
_CLOSURE = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Modulated:
    """A radial table, what modulates it, and the deviation of a coordinate if it is Gaussian."""

    table: SpectralTable
    modulation: Modulation
    gaussian: float = 0.0

    def __post_init__(self) -> None:
        if self.modulation.axis.size != self.table.dim:
            raise ParameterError(
                f"A modulation of {self.modulation.axis.size} coordinates cannot modulate a table "
                f"of dimension {self.table.dim}."
            )
        if not 0.0 <= self.gaussian < np.inf or (self.gaussian and len(self.table.parts) != 1):
            raise ParameterError(
                f"gaussian = {self.gaussian} must be finite and >= 0, and the table of a Gaussian "
                "has one part."
            )


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class AsymmetricTable:
    """A tabulated complex measure on R^dim: what features of an asymmetric kernel are drawn from.

    Parameters
    ----------
    dim : int
    summands : tuple of Modulated
    formula : str
        The kernel as text.
    k_zero : float
        K(0).
    decomposition : {"jordan", "polar", "weighted"}
        What :attr:`parts` are.
    negligible : float
        A part with less than this share of the mass is left out; :attr:`bias` counts it.
    provenance : str
        How the table was made.

    Raises
    ------
    ParameterError
        Where the parts do not add up to K(0).
    """

    dim: int
    summands: tuple[Modulated, ...]
    formula: str
    k_zero: float
    decomposition: Decomposition = "jordan"
    negligible: float = NEGLIGIBLE
    provenance: str = ""

    def __post_init__(self) -> None:
        if self.decomposition not in DECOMPOSITIONS:
            raise ParameterError(
                f"decomposition = {self.decomposition!r} is not one of {list(DECOMPOSITIONS)}."
            )
        if not 0.0 <= self.negligible < 0.1:
            raise ParameterError(
                f"negligible = {self.negligible} is a share of the mass: give a number in [0, 0.1)."
            )
        if any(s.table.sphere or np.isfinite(s.table.domain) for s in self.summands):
            raise ParameterError(
                "A table on the sphere, or designed on a range of distances, cannot be shifted: "
                "the shift leaves its domain."
            )
        if any(s.table.dim != self.dim for s in self.summands) or not self.summands:
            raise ParameterError(
                f"A table of dimension {self.dim} needs summands of that dimension, at least one."
            )
        origin = np.zeros((1, self.dim))
        value = sum(float(p.mean(origin)[0]) for p in self._parts_of("weighted"))
        scale = sum(s.table.mass * s.modulation.bound for s in self.summands)
        error = sum(s.table.mass_error * s.modulation.bound for s in self.summands)
        if abs(value - self.k_zero) > error + _CLOSURE * scale + sum(
            s.table.bias * s.modulation.bound for s in self.summands
        ):
            raise ParameterError(
                f"The measure adds up to {value} at D = 0, but K(0) is {self.k_zero}. A table "
                "must have the value of its kernel: look at how the summands were made."
            )

    @cached_property
    def parts(self) -> tuple[AxialPart, ...]:
        """The parts that are sampled; those of negligible mass are in :attr:`dropped`."""
        return self._split[0]

    @property
    def dropped(self) -> tuple[AxialPart, ...]:
        """Parts with so small a mass that they are left out."""
        return self._split[1]

    @property
    def bias(self) -> float:
        """Bound of the difference between K and the mean of the estimate."""
        base = sum(s.table.bias * s.modulation.bound for s in self.summands)
        return float(base + sum(p.mass + p.mass_error for p in self.dropped))

    @property
    def mass(self) -> float:
        """Sum of the masses of the parts."""
        return float(sum(p.mass for p in self.parts))

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return float(sum(p.mass_error for p in self.parts))

    @cached_property
    def _split(self) -> tuple[tuple[AxialPart, ...], tuple[AxialPart, ...]]:
        every = self._parts_of(self.decomposition)
        least = self.negligible * sum(p.mass for p in every)
        # A mass within its own error is not known to be there at all.
        keep = [p.mass > max(least, p.mass_error) for p in every]
        parts = tuple(p for p, kept in zip(every, keep, strict=True) if kept)
        for p in parts:
            if not p.can_be_drawn:
                raise AccuracyError(
                    f"A part of mass {p.mass:.3g} of {self.formula} is too small a share of its "
                    "measure to be drawn by rejection. Raise `negligible`, or take the "
                    "decomposition 'weighted', as SpectralFeatures does by itself."
                )
        return parts, tuple(p for p, kept in zip(every, keep, strict=True) if not kept)

    def _parts_of(self, decomposition: Decomposition) -> tuple[AxialPart, ...]:
        return tuple(
            AxialPart(base, s.modulation, kind, s.gaussian)
            for kind in DECOMPOSITIONS[decomposition]
            for s in self.summands
            for base in s.table.parts
        )

    @property
    def domain(self) -> float:
        """Largest distance |x - y| that the table represents: infinite."""
        return float("inf")

    @property
    def sphere(self) -> bool:
        """False: shifts leave the sphere."""
        return False

    def part_masses(self) -> dict[str, float]:
        """Masses of the papers: M_R+, M_R- and M_I+ (which counts one of two mirror images).

        For one kernel with all its shifts along one axis they are those of the Jordan
        decompositions of the real and imaginary measures; otherwise a valid splitting of more
        mass.
        """
        masses = {"real+": 0.0, "real-": 0.0, "imaginary+": 0.0}
        for p in self._parts_of("jordan"):
            kind = p.kind
            if kind != "imaginary+" and p.base.sign < 0:
                kind = "real-" if kind == "real+" else "real+"
            masses[kind] += p.mass * (0.5 if kind == "imaginary+" else 1.0)
        return masses

    def decomposed(self, decomposition: Decomposition) -> AsymmetricTable:
        """The same measure with another decomposition."""
        return replace(self, decomposition=decomposition)

    def shifted_table(self) -> tuple[SpectralTable, FloatArray] | None:
        """The radial table and the shift r where K(D) = k(D + r) for one k; None elsewhere.

        Then every coupling of radial kernels serves, with rows x + r in place of x.
        """
        first = self.summands[0].modulation.offsets[0]
        parts = []
        for s in self.summands:
            same = np.allclose(s.modulation.offsets[0], first, rtol=1e-14, atol=0.0)
            if s.modulation.steps.size != 1 or not same:
                return None
            weight = float(s.modulation.weights[0])
            for p in s.table.parts:
                phase = p.phase if weight > 0 else (np.pi if p.phase == 0.0 else 0.0)
                parts.append(Part(abs(weight) * p.mass, abs(weight) * p.mass_error, phase, p.law))
        weights = [float(s.modulation.weights[0]) for s in self.summands]
        table = SpectralTable(
            dim=self.dim,
            parts=tuple(parts),
            formula=self.formula,
            k_zero=sum(a * s.table.k_zero for a, s in zip(weights, self.summands, strict=True)),
            u_error=max(s.table.u_error for s in self.summands),
            bias=sum(abs(a) * s.table.bias for a, s in zip(weights, self.summands, strict=True)),
            provenance=self.provenance,
        )
        return table, first

    def expected_kernel(self, differences: ArrayLike) -> FloatArray:
        """Exact mean of the estimate at differences D = x - y, shape (n, d)."""
        D = np.atleast_2d(np.asarray(differences, dtype=float))
        return np.asarray(sum((p.mean(D) for p in self.parts), np.zeros(len(D))))

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent frequencies of the parts in proportion to their masses, with phases."""
        generator = np.random.default_rng(rng)
        masses = np.array([p.mass for p in self.parts])
        share = masses / masses.sum()
        counts = np.bincount(generator.choice(masses.size, size, p=share), minlength=masses.size)
        draws = [p.draw(int(n), generator) for p, n in zip(self.parts, counts, strict=True) if n]
        kept = share[counts > 0]
        order = generator.permutation(size)
        return FrequencySample(
            np.concatenate([d.frequencies for d in draws])[order],
            np.concatenate([d.amplitudes / s for d, s in zip(draws, kept, strict=True)])[order],
            np.concatenate([d.phases for d in draws])[order],
        )

    def variance(self, differences: ArrayLike) -> FloatArray:
        """Variance of one draw of :meth:`sample` at differences D = x - y, shape (n, d)."""
        D = np.atleast_2d(np.asarray(differences, dtype=float))
        square = sum((p.second_moment(D) / p.mass for p in self.parts), np.zeros(len(D)))
        return np.asarray(self.mass * square - self.expected_kernel(D) ** 2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file, in one step; :meth:`load` gives the same bits back."""
        arrays: dict[str, NDArray[Any]] = {}
        summands = []
        for i, s in enumerate(self.summands):
            header, more = s.table.members(f"summand{i}.")
            arrays |= more
            arrays[f"summand{i}.axis"] = s.modulation.axis
            arrays[f"summand{i}.weights"] = s.modulation.weights
            summands.append(
                {
                    "table": header,
                    "unit": s.modulation.unit,
                    "steps": s.modulation.steps.tolist(),
                    "gaussian": s.gaussian,
                }
            )
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "dim": self.dim,
            "formula": self.formula,
            "k_zero": self.k_zero,
            "decomposition": self.decomposition,
            "negligible": self.negligible,
            "provenance": self.provenance,
            "summands": summands,
        }
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table that was saved at ``path``.

        Raises
        ------
        TableFileError
            If the file is truncated, edited, foreign or of an unknown version.
        """
        header, arrays = read_arrays(path)
        if header.get("format") != _FORMAT or header.get("version") != _VERSION:
            raise TableFileError(
                f"{os.fspath(path)} is a file of format {header.get('format')!r}, version "
                f"{header.get('version')}, and not a table of an asymmetric kernel ({_FORMAT!r}, "
                f"version {_VERSION})."
            )
        try:
            summands = tuple(
                Modulated(
                    SpectralTable.from_members(entry["table"], arrays, f"summand{i}."),
                    Modulation(
                        arrays.pop(f"summand{i}.axis"),
                        float(entry["unit"]),
                        np.array(entry["steps"], dtype=np.intp),
                        arrays.pop(f"summand{i}.weights"),
                    ),
                    float(entry["gaussian"]),
                )
                for i, entry in enumerate(header["summands"])
            )
            if arrays:
                raise ValueError(f"it holds arrays that belong to no summand: {sorted(arrays)}")
            return cls(
                dim=header["dim"],
                summands=summands,
                formula=str(header["formula"]),
                k_zero=float(header["k_zero"]),
                decomposition=header["decomposition"],
                negligible=float(header["negligible"]),
                provenance=str(header["provenance"]),
            )
        except (KeyError, TypeError, ValueError) as fault:
            raise TableFileError(
                f"{os.fspath(path)} does not hold a valid table of an asymmetric kernel: {fault}. "
                "Make it again."
            ) from fault
