r"""A tabulated spectral measure, to draw frequencies, to evaluate its kernel, to save and load.

The measure is a short list of parts, each a mass m, a phase and a distribution of frequencies w:

.. math:: k(D) = \sum_{parts} m\,E\cos(w \cdot D + \mathrm{phase})

with phase 0 for a positive part and pi for a negative one (:mod:`spectra.table.parts`).  Needs
numpy and scipy only, so that saved tables can be used without sympy.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray
from spectra.base.numbers import format_bound, random_source, real_array, whole_number
from spectra.errors import DataError, ParameterError
from spectra.table.parts import PHASES, Group, Part, Points, WithError
from spectra.table.radial_law import Seed
from spectra.table.table_file import decode_table, encode_table, read_arrays, write_arrays

__all__ = ["FrequencySample", "SpectralTable"]

# Rounding error of the sum of the signed masses, relative to the mass.
_SUM_ROUNDING = 1e-13
# Relative rounding error of shifts that are equal.
_SAME_SHIFT = 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class FrequencySample:
    """Random frequencies whose weighted mean of cosines is an unbiased estimate of the kernel.

    Attributes
    ----------
    frequencies : ndarray, shape (n, dim)
        Independent draws from parts chosen with probabilities proportional to mass * kernel_bound.
    weights : ndarray, shape (n,)
        The mass of the table; for a part with :class:`Shifts` a, times |a(w)| / a.bound.
    phases : ndarray, shape (n,)
        0 for a positive part, pi for a negative part; plus the phase of a(w).
    """

    frequencies: FloatArray
    weights: FloatArray
    phases: FloatArray

    def __repr__(self) -> str:
        n, dim = self.frequencies.shape
        return f"FrequencySample: {n} frequencies in R^{dim}, with weights and phases"

    def kernel(self, differences: ArrayLike) -> FloatArray:
        """The mean of weights * cos(w.D + phase) at differences D of shape (..., dim)."""
        angles = np.asarray(differences, dtype=float) @ self.frequencies.T + self.phases
        return np.asarray(np.mean(self.weights * np.cos(angles), axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpectralTable:
    """A tabulated spectral measure on R^dim, from which frequencies are drawn.

    Parameters
    ----------
    dim : int
        Dimension d >= 1 of the data.
    parts : tuple of Part
        Positive and negative parts of the measure; they may overlap.
    formula : str
        The kernel as text.
    k_zero : float
        k(0), which equals the sum of the signed masses up to their errors and the bias.
    u_error : float
        Measured error of the quantiles of the radius, in probability.
    bias : float
        Bound of the difference between k and the kernel of the table if the measure was truncated
        or designed; 0 if it is the measure of k.
    domain : float
        Largest distance at which the table represents k; infinite unless it was designed.
    sphere : bool
        True if k is a kernel on the unit sphere: rows of data must be unit vectors.
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
        if not (isinstance(self.parts, tuple) and all(isinstance(p, Part) for p in self.parts)):
            raise ParameterError("The parts of a spectral table must be a tuple of Parts.")
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
                "A table for the sphere or for a range of distances must have radial parts only: "
                "a shift changes distances."
            )
        self._check_columns()
        self._check_mass()

    def _check_columns(self) -> None:
        """Check that shifts and groups match the dimension of the table."""
        for p in self.parts:
            columns = {c for g in p.groups for c in g.columns or ()}
            size = self.dim if p.shifts is None else p.shifts.offsets.shape[1]
            if not columns <= set(range(self.dim)) or size != self.dim:
                raise ParameterError(
                    f"A part of a table of dimension {self.dim} has shifts or columns of another "
                    "dimension."
                )

    def _check_mass(self) -> None:
        """Check that the signed masses add up to k(0)."""
        signed = error = 0.0
        if self.is_symmetric:
            signed = float(sum(p.sign * p.mass for p in self.parts))
        else:
            (signed,), (error,) = self._expected(Points(np.zeros((1, self.dim)), 1))
        error += self.mass_error + _SUM_ROUNDING * max(self.mass, abs(self.k_zero))
        if abs(signed - self.k_zero) > error + self.bias:
            raise ParameterError(
                f"The signed masses add up to {signed}, but k(0) is {self.k_zero}: they differ by "
                f"more than the error {error:.2g} and the bias. Check how the parts were "
                "computed, or set the bias."
            )

    def __repr__(self) -> str:
        parts = f"{len(self.parts)} parts of mass {self.mass:.12g}"
        if self.joint_columns is not None:
            parts = ", ".join(repr(p) for p in self.parts) or "no mass"
        error = format_bound(self.u_error)
        return f"SpectralTable of {self.formula} on R^{self.dim}: {parts}; u-error {error}"

    @cached_property
    def kind(self) -> Literal["radial", "shifted", "grouped", "l1"]:
        """What the kernel is a function of.

        "radial": |D|; "shifted": |D + t| for shifts t; "grouped": norms of groups of columns of D;
        "l1": |D|_1.
        """
        if not self.is_symmetric:
            return "shifted"
        if self.joint_columns == (None,):
            return "radial"
        coupled = all(g.is_coupled for p in self.parts for g in p.groups)
        return "grouped" if coupled else "l1"

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether no part is shifted, so that the kernel is even."""
        return all(p.shifts is None for p in self.parts)

    @cached_property
    def joint_columns(self) -> tuple[Any, ...] | None:
        """The columns and lengths that all parts share; None unless each part is one radial group.

        Couplings can then make frequencies of different parts dependent.
        """
        if not all(len(p.groups) == 1 and p.groups[0].is_coupled for p in self.parts):
            return None
        groups = [p.groups[0] for p in self.parts]
        found = {g.columns and (g.columns, g.lengths.tobytes()) for g in groups} or {None}
        return tuple(found) if len(found) == 1 else None

    @property
    def is_radial(self) -> bool:
        """Whether the kernel is a function of |D|."""
        return self.kind == "radial"

    @property
    def has_groups(self) -> bool:
        """Whether a part depends on separate columns: on groups of them, or the l1 distance."""
        groups = (g for p in self.parts for g in p.groups)
        return any(g.columns is not None or not g.is_coupled for g in groups)

    @property
    def mass(self) -> float:
        """The total mass ||mu|| of the measure, or a bound if parts overlap or are shifted."""
        return float(sum(self._part_masses()))

    def _part_masses(self) -> list[float]:
        """Masses with which the parts are drawn."""
        return [p.mass * p.kernel_bound for p in self.parts]

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
        return float(sum(p.mass_error * p.kernel_bound for p in self.parts))

    def one_shift(self) -> tuple[SpectralTable, FloatArray] | None:
        """The table of k and the shift r if the kernel is K(D) = k(D + r), k even; else None.

        Features of K at x are features of k at x + r.
        """
        if self.is_symmetric:
            return self, np.zeros(self.dim)
        all_shifts = [p.shifts for p in self.parts]
        first = next(s.offsets[0] for s in all_shifts if s is not None)
        parts = []
        for p in self.parts:
            shifts = p.shifts
            offset = np.zeros(self.dim) if shifts is None else shifts.offsets[0]
            is_same = np.allclose(offset, first, rtol=_SAME_SHIFT, atol=0.0)
            if not is_same or (shifts is not None and shifts.weights.size != 1):
                return None
            weight = 1.0 if shifts is None else float(shifts.weights[0])
            phase, size = PHASES[int(p.sign * np.sign(weight))], abs(weight)
            groups = tuple(replace(g, deviation=0.0) for g in p.groups)
            parts.append(Part(size * p.mass, size * p.mass_error, phase, groups))
        k_zero = float(sum(p.sign * p.mass for p in parts))
        return replace(self, parts=tuple(parts), k_zero=k_zero), first

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent frequencies with weights and phases, from parts chosen by their masses."""
        if not self.parts:
            raise ParameterError("The measure is zero: there are no frequencies to draw.")
        size, generator = whole_number(size, "size", least=0), random_source(rng, "rng")
        masses = np.array(self._part_masses())
        ends = np.cumsum(masses)[:-1] / masses.sum()
        chosen = np.searchsorted(ends, generator.random(size), side="right")
        phases = np.array([p.phase for p in self.parts])[chosen]
        frequencies, weights = np.zeros((size, self.dim)), np.full(size, self.mass)
        for i, p in enumerate(self.parts):
            rows = np.flatnonzero(chosen == i)
            frequencies[rows] = p.draw(self.dim, rows.size, generator)
            if p.shifts is not None:
                modulus, angles = p.shifts.polar(frequencies[rows])
                weights[rows] *= modulus / p.shifts.bound
                phases[rows] += angles
        return FrequencySample(frequencies, weights, phases)

    def expected_kernel(self, differences: ArrayLike | Points) -> FloatArray:
        """The kernel of the table: the expectation of every estimate drawn from it.

        Its difference from k is the bias of these estimates.

        Parameters
        ----------
        differences : array_like or Points
            Distances of any shape if the table is radial, else differences of shape (..., dim).
        """
        return self._expected(differences)[0]

    def slope(self, z: FloatArray) -> FloatArray:
        """k'(z)/z of the kernel k of a radial table at distances z, and 0 at z = 0."""
        slopes = (p.sign * p.mass * p.law.plane_wave_slope(self.dim, z) for p in self.parts)
        return np.asarray(sum(slopes, np.zeros(z.shape)))

    def expected_kernel_error(self, differences: ArrayLike | Points) -> FloatArray:
        """Bound of the numerical error of :meth:`expected_kernel`.

        The masses are taken as exact.
        """
        return self._expected(differences)[1]

    def _expected(self, differences: ArrayLike | Points) -> WithError:
        """The kernel of the table and its error bound."""
        points = self.points(differences)
        value, error = np.zeros((2, *points.shape))
        shared: dict[Group, WithError] = {}
        for p in self.parts:
            summand, bound = p.kernel(self.dim, points, shared)
            value += summand
            error += bound
        return value, error

    def points(self, points: ArrayLike | Points) -> Points:
        """What the kernel of the table is a function of: distances if it is radial.

        Other tables take differences D = x - y of shape (..., dim).  Differences that are given as
        :class:`Points` become distances for a radial table.
        """
        if isinstance(points, Points):
            return points.norms if self.is_radial else points
        if self.is_radial:
            return Points(real_array(points, "z"), 0)
        D = real_array(points, "D = x - y", error=DataError)
        if D.shape[-1:] != (self.dim,):
            raise DataError(
                f"The kernel {self.formula} of this table is not a function of |D|: give "
                f"differences D = x - y of shape (..., {self.dim}). The shape of this array is "
                f"{D.shape}."
            )
        return Points(D, 1)

    @cached_property
    def unbounded_factors(self) -> list[tuple[Group, SpectralTable, str]]:
        """Groups of columns with radial laws, the tables of their kernels, and their metric.

        None for a kernel that is shifted or on the sphere.  A radial table is its own single
        factor; of other tables every group has k(0) = 1.
        """
        if self.sphere or not self.is_symmetric:
            return []
        if self.is_radial:
            return [(p.groups[0], self, "euclidean") for p in self.parts[:1]]
        made: Any = {"k_zero": 1.0, "u_error": 0.0, "provenance": "one group"}
        groups = dict.fromkeys(g for p in self.parts for g in p.groups if g.is_coupled)
        return [
            (
                g,
                SpectralTable(
                    dim=g.size(self.dim),
                    parts=(Part(1.0, 0.0, 0.0, g.law),),
                    formula=f"the kernel of the columns {g.columns}",
                    **made,
                ),
                "euclidean",
            )
            for g in groups
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file at ``path``; :meth:`load` restores it exactly."""
        write_arrays(path, *encode_table(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table that was saved at ``path``.

        Raises a TableFileError if the file is damaged, edited, or of another format or version.
        """
        header, arrays = read_arrays(path)
        return decode_table(cls, header, arrays, os.fspath(path))
