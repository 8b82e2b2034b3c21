r"""The seam: a spectral measure as arrays, to draw frequencies from, to save and to load.

A finite signed measure is a short list of parts, each a mass m, a phase and a law of frequencies:

.. math:: k(D) = \sum_{parts} m\,E\cos(w \cdot D + \mathrm{phase})

with phase 0 for a positive part and pi for a negative one.  The direction of w is uniform on the
sphere and independent of its length, whose law is a
:class:`~spectra.table.radial.radial_law.RadialLaw`. A part of an asymmetric kernel is such a law
under shifts (:mod:`spectra.table.shifts`): its draws have weights and phases of their own.  Numpy
and scipy only: rf and saved tables never need sympy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import FloatArray, IntArray
from spectra.base.numbers import bound_text, real_array
from spectra.errors import ParameterError
from spectra.table.part import Part
from spectra.table.parted_table import FrequencySample, PartedTable
from spectra.table.table_file import Arrays
from spectra.table.table_members import fields_from, fields_of

__all__ = ["SpectralTable"]

# The value at 0 may differ from k(0) by the errors, the bias and this much of the mass.
_CLOSURE = 1e-13
# Shifts of two parts are one up to this, the rounding of their coordinates.
_SAME_SHIFT = 1e-14


@final
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SpectralTable(PartedTable):
    """A tabulated spectral measure on R^dim: what frequencies are drawn from.

    Parameters
    ----------
    dim : int
        Dimension d >= 1 of the data.
    parts : tuple of Part
        Positive and negative parts of the measure.
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
        True where k is a function on the unit sphere, so that data must be unit vectors.
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
    """

    dim: int
    parts: tuple[Part, ...]
    formula: str
    k_zero: float
    u_error: float
    bias: float = 0.0
    domain: float = np.inf
    sphere: bool = False
    provenance: str

    version = 4
    convention = "k(D) = sum over parts of mass * E cos(w.D + phase)"

    def __post_init__(self) -> None:
        if isinstance(self.dim, bool) or not isinstance(self.dim, int) or self.dim < 1:
            raise ParameterError(f"The dimension must be an integer of at least 1; got {self.dim}.")
        if not isinstance(self.parts, tuple) or not all(isinstance(p, Part) for p in self.parts):
            raise ParameterError("The parts of a spectral table must be a tuple of Part.")
        if not (np.isfinite(self.k_zero) and 0.0 <= self.u_error <= 1.0):
            raise ParameterError(
                f"k(0) = {self.k_zero} must be finite and u_error = {self.u_error} in [0, 1]."
            )
        if not (0.0 <= self.bias < np.inf and self.domain > 0.0):
            raise ParameterError(
                f"The bias {self.bias} must be finite and >= 0, the domain {self.domain} positive."
            )
        if any(p.shifts is not None and p.shifts.axis.size != self.dim for p in self.parts):
            raise ParameterError(
                f"A part of a table of dimension {self.dim} has shifts of another number of "
                "coordinates."
            )
        if not self.is_radial and (self.sphere or np.isfinite(self.domain)):
            raise ParameterError(
                "A table on the sphere, or designed on a range of distances, cannot be shifted: "
                "the shift leaves its domain."
            )
        self._check_mass()

    def _check_mass(self) -> None:
        """The signed masses must add up to k(0)."""
        signed, error = self._at_zero()
        slack = self.mass_error + error + self.bias + _CLOSURE * max(self.mass, abs(self.k_zero))
        if abs(signed - self.k_zero) > slack:
            raise ParameterError(
                f"The signed masses add up to {signed}, but k(0) is {self.k_zero}: they differ by "
                f"more than their errors and the bias ({slack:.2g}). A table must have the mass "
                "of its kernel; look at how the parts were computed, or state the bias."
            )

    def _at_zero(self) -> tuple[float, float]:
        """k(0) by the parts, and what the waves at their shifts lack: one of 0 is 1."""
        value = error = 0.0
        for p in self.parts:
            if p.shifts is None:
                value += p.sign * p.mass
            else:
                (wave,), (lack,) = p.kernel(self.dim, np.zeros((1, self.dim)))
                value, error = value + float(wave), error + float(lack)
        return value, error

    @cached_property
    def is_radial(self) -> bool:
        """Whether no part is shifted, so that the table is one of a function of |D|."""
        return all(p.shifts is None for p in self.parts)

    def one_shift(self) -> tuple[SpectralTable, FloatArray] | None:
        """The radial table of k, and r, where the table is that of K(D) = k(D + r); else None.

        Then every coupling of radial kernels serves, with rows x + r in place of x.
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
            phase = p.phase if weight > 0 else float(np.pi) - p.phase
            parts.append(Part(abs(weight) * p.mass, abs(weight) * p.mass_error, phase, p.law))
        at_zero = float(sum(p.sign * p.mass for p in parts))
        return replace(self, parts=tuple(parts), k_zero=at_zero), first

    def __repr__(self) -> str:
        parts = ", ".join(repr(p) for p in self.parts) or "no mass"
        error = bound_text(self.u_error)
        return f"SpectralTable of {self.formula} on R^{self.dim}: {parts}; u-error {error}"

    def _sizes(self) -> list[float]:
        return [p.bound for p in self.parts]

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return float(sum(p.mass_error * p.wave_bound for p in self.parts))

    def _draw(self, chosen: IntArray, drawn: FrequencySample, rng: np.random.Generator) -> None:
        directions = rng.standard_normal(drawn.frequencies.shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = np.empty(chosen.size)
        for i, p in enumerate(self.parts):
            own = chosen == i
            radii[own] = p.law.rvs(int(np.count_nonzero(own)), rng)
        np.multiply(directions, radii[:, None], out=drawn.frequencies)
        for i, p in enumerate(self.parts):
            if p.shifts is not None:
                rows = np.flatnonzero(chosen == i)
                sizes, turns = p.shifts.polar(drawn.frequencies[rows])
                drawn.weights[rows] *= sizes / p.shifts.bound
                drawn.phases[rows] += turns

    def _members(self) -> tuple[dict[str, Any], Arrays]:
        return fields_of(self, self.provenance)

    @classmethod
    def _of(cls, header: dict[str, Any], arrays: Arrays, path: str) -> Self:
        return cls(**fields_from(header, arrays))

    def _expected(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        z = real_array(z, "z") if self.is_radial else self._differences(z)
        distances = z if self.is_radial else np.asarray(np.linalg.norm(z, axis=-1))
        value, error = np.zeros((2, *distances.shape))
        for p in self.parts:
            mean, bound = p.kernel(self.dim, distances if p.shifts is None else z)
            value += mean
            error += bound
        return value, error
