r"""A spectral measure as arrays: draw frequencies from it, save it and load it.

A finite signed measure is a short list of parts, each a mass m, a phase and a law of frequencies:

.. math:: k(D) = \sum_{parts} m\,E\cos(w \cdot D + \mathrm{phase})

with phase 0 for a positive part and pi for a negative one (:mod:`spectra.table.parts`).  Numpy and
scipy only: rf and saved tables never need sympy.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray
from spectra.base.numbers import format_bound, random_source, real_array, whole_number
from spectra.errors import DataError, ParameterError
from spectra.table.l1_part import L1Part
from spectra.table.parts import PHASES, Group, Part, ProductPart, SignedMass
from spectra.table.radial.radial_law import Seed
from spectra.table.table_file import decode_table, encode_table, read_arrays, write_arrays

__all__ = ["FrequencySample", "SpectralTable", "table_of_group"]

# The value at 0 may differ from k(0) by the errors, the bias and this much of the mass.
_MASS_SLACK = 1e-13
# Shifts of two parts that differ by this much, relatively, count as equal (rounding).
_SAME_SHIFT = 1e-14


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrequencySample:
    """Frequencies whose weighted mean of cosines estimates the kernel without bias.

    Attributes
    ----------
    frequencies : ndarray, shape (n, dim)
        Independent draws from the measure |mu| / ||mu||.
    weights : ndarray, shape (n,)
        The total mass ||mu||, times |a| / bound for a draw of a part with :class:`Shifts` a.
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


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpectralTable:
    """A tabulated spectral measure on R^dim: what frequencies are drawn from.

    Parameters
    ----------
    dim : int
        Dimension d >= 1 of the data.
    parts : tuple of Part, of ProductPart, or of L1Part
        Positive and negative parts of the measure; they may overlap.
    formula : str
        The kernel as text.
    k_zero : float
        k(0), which is the sum of the signed masses up to their errors and the bias.
    u_error : float
        Measured error of the inverse CDFs, in probability.
    bias : float
        Largest difference between k and the kernel of this measure that was accepted on purpose
        (a truncated or designed measure); 0 where the measure is that of k.
    domain : float
        Largest distance at which the table claims to represent k; infinite unless designed.
    sphere : bool
        True if k is a kernel on the unit sphere, so that rows must be unit vectors.
    provenance : str
        How the measure was found.

    Examples
    --------
    >>> from spectra.table import Part, RadialLaw
    >>> law = RadialLaw.from_atoms([1.0], [1.0])
    >>> table = SpectralTable(
    ...     dim=1, parts=(Part(2.0, 0.0, 0.0, law),), formula="2*cos(z)", k_zero=2.0, u_error=0.0,
    ...     provenance="by hand",
    ... )
    >>> table.expected_kernel([0.0, np.pi])
    array([ 2., -2.])
    >>> table.sample(3, rng=0).frequencies.shape
    (3, 1)

    The parts of a kernel of groups of columns are products:

    >>> from spectra import derive, radial
    >>> space, time = radial("exp(-z**2/2)"), radial("exp(-z)")
    >>> table = derive(space.on([0, 1]) * time.on([2]) - 0.5 * time.on([2]), 3, cache=False)
    >>> table.kind, [(p.sign, round(p.mass, 12)) for p in table.parts]
    ('grouped', [(1.0, 1.0), (-1.0, 0.5)])
    >>> table.expected_kernel([[0.0, 0.0, 1.0]]).round(6)
    array([0.18394])
    """

    dim: int
    parts: tuple[Any, ...]
    formula: str
    k_zero: float
    u_error: float
    bias: float = 0.0
    domain: float = np.inf
    sphere: bool = False
    provenance: str

    def __post_init__(self) -> None:
        if isinstance(self.dim, bool) or not isinstance(self.dim, int) or self.dim < 1:
            raise ParameterError(f"The dimension must be an integer of at least 1; got {self.dim}.")
        known = isinstance(self.parts, tuple) and all(isinstance(p, SignedMass) for p in self.parts)
        if not known or len({type(p) for p in self.parts}) > 1:
            raise ParameterError("The parts of a spectral table must be a tuple of one kind.")
        if not (np.isfinite(self.k_zero) and 0.0 <= self.u_error <= 1.0):
            raise ParameterError(
                f"k(0) = {self.k_zero} must be finite and u_error = {self.u_error} in [0, 1]."
            )
        if not (0.0 <= self.bias < np.inf and self.domain > 0.0):
            raise ParameterError(
                f"The bias {self.bias} must be finite and >= 0, the domain {self.domain} positive."
            )
        if not self.is_radial and (self.sphere or np.isfinite(self.domain)):
            raise ParameterError(
                "A table on the sphere, or designed on a range of distances, has radial parts "
                "only: a shift leaves its domain."
            )
        self._check_columns()
        self._check_mass()

    def _check_columns(self) -> None:
        """Shifts and groups must match the dimension of the table."""
        for p in self.parts:
            groups = p.groups if isinstance(p, ProductPart) else ()
            fits = all(set(g.columns) <= set(range(self.dim)) for g in groups)
            shifts = p.shifts if isinstance(p, Part) else None
            if not fits or (shifts is not None and shifts.axis.size != self.dim):
                raise ParameterError(
                    f"A part of a table of dimension {self.dim} has shifts or columns of another "
                    "number of coordinates."
                )

    def _check_mass(self) -> None:
        """The signed masses must add up to k(0)."""
        signed = error = 0.0
        for p in self.parts:
            if isinstance(p, Part) and p.shifts is not None:
                (value,), (bound,) = p.kernel(self.dim, np.zeros((1, self.dim)))
                signed, error = signed + float(value), error + float(bound)
            else:
                signed += p.sign * p.mass
        slack = self.mass_error + error + self.bias + _MASS_SLACK * max(self.mass, abs(self.k_zero))
        if abs(signed - self.k_zero) > slack:
            raise ParameterError(
                f"The signed masses add up to {signed}, but k(0) is {self.k_zero}: they differ by "
                f"more than their errors and the bias ({slack:.2g}). A table must have the mass "
                "of its kernel; look at how the parts were computed, or state the bias."
            )

    def __repr__(self) -> str:
        parts = f"{len(self.parts)} parts of mass {self.mass:.12g}"
        if self.kind in ("radial", "shifted"):
            parts = ", ".join(repr(p) for p in self.parts) or "no mass"
        error = format_bound(self.u_error)
        return f"SpectralTable of {self.formula} on R^{self.dim}: {parts}; u-error {error}"

    @cached_property
    def kind(self) -> Literal["radial", "shifted", "grouped", "l1"]:
        """What the kernel depends on, by the kind of its parts.

        "radial" (|D|), "shifted" (|D + t| for some shifts t), "grouped" (lengths of groups of
        columns of D) or "l1" (|D|_1).
        """
        first = next(iter(self.parts), None)
        if isinstance(first, ProductPart):
            return "grouped"
        if isinstance(first, L1Part):
            return "l1"
        return "radial" if all(p.shifts is None for p in self.parts) else "shifted"

    @property
    def is_radial(self) -> bool:
        """Whether the kernel is a function of |D|."""
        return self.kind == "radial"

    @property
    def mass(self) -> float:
        """Sum of the parts' masses, used to draw: the total mass, or a bound if parts overlap."""
        return float(sum(self._sizes()))

    def _sizes(self) -> list[float]:
        """The mass by which each part is drawn."""
        return [p.mass * p.wave_bound for p in self.parts]

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
        return float(sum(p.mass_error * p.wave_bound for p in self.parts))

    def one_shift(self) -> tuple[SpectralTable, FloatArray] | None:
        """The radial table of k and the shift r if the kernel is K(D) = k(D + r); else None.

        Then every coupling of radial kernels can be used, with rows x + r in place of x.
        """
        if self.is_radial:
            return self, np.zeros(self.dim)
        found = [p.shifts for p in self.parts]
        first = next((s.offsets[0] for s in found if s is not None), np.zeros(self.dim))
        parts = []
        for p in self.parts:
            own = p.shifts
            offset = np.zeros(self.dim) if own is None else own.offsets[0]
            same = np.allclose(offset, first, rtol=_SAME_SHIFT, atol=0.0)
            if not same or (own is not None and own.steps.size != 1):
                return None
            weight = 1.0 if own is None else float(own.weights[0])
            phase, size = PHASES[int(p.sign * np.sign(weight))], abs(weight)
            parts.append(Part(size * p.mass, size * p.mass_error, phase, p.law))
        at_zero = float(sum(p.sign * p.mass for p in parts))
        return replace(self, parts=tuple(parts), k_zero=at_zero), first

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent frequencies from the parts, each drawn by its mass, with weights and phases.

        Frequencies of a part with shifts are drawn from its radial law and weighted by |a|.
        """
        if not self.parts:
            raise ParameterError("The measure is zero: there are no frequencies to draw.")
        size, generator = whole_number(size, "size", least=0), random_source(rng, "rng")
        sizes = np.array(self._sizes())
        ends = np.cumsum(sizes)[:-1] / sizes.sum()
        chosen = np.searchsorted(ends, generator.random(size), side="right")
        phases = np.array([p.phase for p in self.parts])[chosen]
        frequencies, weights = np.zeros((size, self.dim)), np.full(size, self.mass)
        for number, p in enumerate(self.parts):
            rows = np.flatnonzero(chosen == number)
            frequencies[rows] = p.draw(self.dim, rows.size, generator)
            if isinstance(p, Part) and p.shifts is not None:
                modulus, angles = p.shifts.polar(frequencies[rows])
                weights[rows] *= modulus / p.shifts.bound
                phases[rows] += angles
        return FrequencySample(frequencies, weights, phases)

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

        It bounds the error of the integration only: features are sampled with these very masses.
        """
        return self._expected(differences)[1]

    def _expected(self, differences: ArrayLike) -> tuple[FloatArray, FloatArray]:
        points = real_array(differences, "z") if self.is_radial else self._checked(differences)
        value, error = np.zeros((2, *(points.shape if self.is_radial else points.shape[:-1])))
        known: dict[Any, Any] = {}
        for p in self.parts:
            if isinstance(p, ProductPart):
                mean, bound = p.kernel(self.dim, points, known)
            elif self.kind == "shifted" and p.shifts is None:
                mean, bound = p.kernel(self.dim, np.asarray(np.linalg.norm(points, axis=-1)))
            else:
                mean, bound = p.kernel(self.dim, points)
            value += mean
            error += bound
        return value, error

    def _checked(self, differences: ArrayLike) -> FloatArray:
        """Differences D = x - y as an array of shape (..., d)."""
        D = real_array(differences, "D = x - y", error=DataError)
        if D.shape[-1:] != (self.dim,):
            raise DataError(
                f"The kernel of this table depends on the difference D = x - y of {self.dim} "
                f"columns, and not on its length alone: give an array of shape (..., {self.dim}). "
                f"Its shape is {D.shape}."
            )
        return D

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file at ``path``; :meth:`load` gives the same bits back."""
        write_arrays(path, *encode_table(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table that was saved at ``path``.

        A TableFileError if the file is truncated, edited, foreign or of an unknown version.
        """
        header, arrays = read_arrays(path)
        return decode_table(cls, header, arrays, os.fspath(path))


@lru_cache(maxsize=64)
def table_of_group(group: Group) -> SpectralTable:
    """The radial table of the law of a group alone, of mass 1."""
    return SpectralTable(
        dim=len(group.columns),
        parts=(Part(1.0, 0.0, 0.0, group.law),),
        formula=f"the kernel of the columns {list(group.columns)}",
        k_zero=1.0,
        u_error=0.0,
        provenance="one group",
    )
