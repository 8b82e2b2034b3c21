r"""The seam: a spectral measure as arrays, to draw frequencies from, to save and to load.

A finite signed measure is a short list of parts, each a mass m, a phase and a law of frequencies:

.. math:: k(D) = \sum_{parts} m\,E\cos(w \cdot D + \mathrm{phase})

with phase 0 for a positive part and pi for a negative one.  The direction of w is uniform on the
sphere and independent of its length, whose law is a :class:`~spectra.table.radial_law.RadialLaw`.
Numpy and scipy only: rf and saved tables never need sympy.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.errors import ParameterError, TableFileError
from spectra.numeric import real_array
from spectra.table.arrays import FloatArray
from spectra.table.law_file import law_members, law_of
from spectra.table.radial_law import RadialLaw, Seed
from spectra.table.table_file import read_arrays, write_arrays

if TYPE_CHECKING:
    from spectra.certify import TableCertificate
    from spectra.measure import SpectralMeasure

__all__ = [
    "FrequencySample",
    "Part",
    "SpectralTable",
]

_FORMAT = "spectra.SpectralTable"
_VERSION = 2
_CONVENTION = "k(D) = sum over parts of mass * E cos(w.D + phase)"


@final
@dataclass(frozen=True, repr=False)
class Part:
    """One positive mass of a measure: its phase and the law of its radii.

    Attributes
    ----------
    mass : float
        Total mass, > 0.
    mass_error : float
        Bound of the error of ``mass``.
    phase : float
        0 for a positive part, pi for a negative one.
    law : RadialLaw
        Law of the length of a frequency; its direction is uniform.
    """

    mass: float
    mass_error: float
    phase: float
    law: RadialLaw

    def __post_init__(self) -> None:
        if not (0.0 < self.mass < np.inf and 0.0 <= self.mass_error < np.inf):
            raise ParameterError(
                f"A part has mass {self.mass} with error {self.mass_error}. A mass must be finite "
                "and positive (the sign is in the phase), and its error finite; leave out a part "
                "without mass."
            )
        if self.phase not in (0.0, np.pi):
            raise ParameterError(
                f"A part with isotropic directions has the phase {self.phase}. It must be 0 "
                "(positive part) or pi (negative part), because its kernel is real and even."
            )
        if not isinstance(self.law, RadialLaw):
            raise ParameterError(f"A part needs a RadialLaw; got {type(self.law).__name__}.")

    def __repr__(self) -> str:
        sign = "+" if self.sign > 0 else "-"
        return f"{sign} part of mass {self.mass:.12g} in {self.law!r}"

    @property
    def sign(self) -> float:
        """1 for a positive part, -1 for a negative one: the cosine of the phase."""
        return 1.0 if self.phase == 0.0 else -1.0


@final
@dataclass(frozen=True, eq=False)
class FrequencySample:
    """Frequencies whose weighted mean of cosines estimates the kernel without bias.

    Attributes
    ----------
    frequencies : ndarray, shape (n, dim)
        Independent draws from the measure |mu| / ||mu||.
    weights : ndarray, shape (n,)
        The total mass ||mu||, for each draw.
    phases : ndarray, shape (n,)
        0 where the draw came from a positive part, pi from a negative one.
    """

    frequencies: FloatArray
    weights: FloatArray
    phases: FloatArray

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

    Raises
    ------
    ParameterError
        If a number is outside its meaning, or the masses do not add up to k(0).

    Examples
    --------
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
        signed = float(sum(p.sign * p.mass for p in self.parts))
        slack = self.mass_error + self.bias + 1e-13 * max(self.mass, abs(self.k_zero))
        if abs(signed - self.k_zero) > slack:
            raise ParameterError(
                f"The signed masses add up to {signed}, but k(0) is {self.k_zero}: they differ by "
                f"more than their errors and the bias ({slack:.2g}). A table must have the mass "
                "of its kernel; look at how the parts were computed, or state the bias."
            )

    def __repr__(self) -> str:
        parts = ", ".join(repr(p) for p in self.parts) or "no mass"
        return (
            f"SpectralTable of {self.formula} on R^{self.dim}: {parts}; u-error {self.u_error:.1e}"
        )

    @property
    def mass(self) -> float:
        """Total mass ||mu||, the sum of the masses of the parts."""
        return float(sum(p.mass for p in self.parts))

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return float(sum(p.mass_error for p in self.parts))

    def expected_kernel(self, z: ArrayLike) -> FloatArray:
        """Exact expectation of the estimator at distances z: the kernel that the table stands for.

        It is computed from the stored laws, not from the formula, so that its difference from k
        is the bias of every feature that is drawn from the table.

        Raises
        ------
        AccuracyError
            Where a law ends in lobes and z is thousands of the lengths on which k varies, so that
            the sum over the lobes would take minutes to hours.
        """
        return self._expected(z)[0]

    def expected_kernel_error(self, z: ArrayLike) -> FloatArray:
        """Error bound of :meth:`expected_kernel` as the expectation of the estimator.

        It counts the integration only: the masses of the table are those that are sampled.
        """
        return self._expected(z)[1]

    def sample(self, size: int, rng: Seed = None) -> FrequencySample:
        """Independent isotropic frequencies from |mu|/||mu||, with weights and phases.

        Parameters
        ----------
        size : int
            Number of frequencies.
        rng : Generator, SeedSequence, int or None
            Source of randomness.

        Raises
        ------
        ParameterError
            If the measure is zero, so that there is nothing to draw, or if ``size`` is no count
            or ``rng`` no source of randomness.
        """
        if not self.parts:
            raise ParameterError("The measure is zero: there are no frequencies to draw.")
        count = _checked_size(size)
        generator = _generator(rng)
        part = np.searchsorted(self._part_ends, generator.random(count), side="right")
        directions = generator.standard_normal((count, self.dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = np.empty(count)
        for i, p in enumerate(self.parts):
            chosen = part == i
            radii[chosen] = p.law.rvs(int(np.count_nonzero(chosen)), generator)
        phases = np.array([p.phase for p in self.parts])[part]
        directions *= radii[:, None]
        return FrequencySample(directions, np.full(count, self.mass), phases)

    def certified(self, measure: SpectralMeasure | None = None) -> TableCertificate:
        """What ball arithmetic proves of the errors in probability, part by part: docs/proofs.md.

        Parameters
        ----------
        measure : SpectralMeasure, optional
            What the table was made of; by default the measure of its formula, found anew.

        Raises
        ------
        ParameterError
            Where the measure is that of another dimension.

        Examples
        --------
        >>> from spectra import derive
        >>> derive("exp(-z**2/2)", 3, cache=False).certified().rigorous
        True
        """
        from spectra.certify import proved_table

        return proved_table(self, measure)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one .npz file, in one step; :meth:`load` gives the same bits back.

        Parameters
        ----------
        path : path-like
            Where to write, taken as it is: no suffix is added.
        """
        header, arrays = self.members()
        write_arrays(path, {"format": _FORMAT, "version": _VERSION, **header}, arrays)

    def members(self, prefix: str = "") -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header and arrays of the table in a file, the names of the arrays after ``prefix``."""
        arrays: dict[str, NDArray[Any]] = {}
        parts = []
        for i, p in enumerate(self.parts):
            phase = "0" if p.phase == 0.0 else "pi"
            tail = law_members(p.law, arrays, f"{prefix}part{i}")
            numbers = {"mass": p.mass, "mass_error": p.mass_error}
            parts.append({**numbers, "phase": phase, "tail": tail})
        header = {
            "convention": _CONVENTION,
            "dim": self.dim,
            "formula": self.formula,
            "k_zero": float(self.k_zero),
            "u_error": float(self.u_error),
            "bias": float(self.bias),
            "domain": None if np.isinf(self.domain) else float(self.domain),
            "sphere": bool(self.sphere),
            "provenance": self.provenance,
            "parts": parts,
        }
        return header, arrays

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
        if header.get("format") != _FORMAT:
            raise TableFileError(
                f"{os.fspath(path)} is a file of format {header.get('format')!r}, not a spectral "
                f"table ({_FORMAT!r})."
            )
        if header.get("version") != _VERSION:
            raise TableFileError(
                f"{os.fspath(path)} is a spectral table of version {header.get('version')}, and "
                f"this release reads version {_VERSION}. Use the release that saved it, or make "
                "the table again with spectra.tabulate."
            )
        try:
            table = cls.from_members(header, arrays)
        except (KeyError, TypeError, ValueError) as fault:
            raise TableFileError(
                f"{os.fspath(path)} does not hold a valid spectral table: {fault}. Make it again "
                "with spectra.tabulate."
            ) from fault
        if arrays:
            raise TableFileError(
                f"{os.fspath(path)} holds arrays that belong to no part: {sorted(arrays)}. It was "
                "not written by SpectralTable.save."
            )
        return table

    @classmethod
    def from_members(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], prefix: str = ""
    ) -> Self:
        """The table of :meth:`members`; the arrays that it uses are taken out of the dict."""
        if header["convention"] != _CONVENTION:
            raise ValueError(f"its convention is {header['convention']!r}")
        parts = []
        for i, entry in enumerate(header["parts"]):
            phase = {"0": 0.0, "pi": float(np.pi)}[entry["phase"]]
            law = law_of(entry["tail"], arrays, f"{prefix}part{i}")
            parts.append(Part(float(entry["mass"]), float(entry["mass_error"]), phase, law))
        domain = header["domain"]
        return cls(
            dim=header["dim"],
            parts=tuple(parts),
            formula=str(header["formula"]),
            k_zero=float(header["k_zero"]),
            u_error=float(header["u_error"]),
            bias=float(header["bias"]),
            domain=np.inf if domain is None else float(domain),
            sphere=bool(header["sphere"]),
            provenance=str(header["provenance"]),
        )

    @cached_property
    def _part_ends(self) -> FloatArray:
        """Cumulative probabilities at which one part ends and the next begins."""
        masses = np.array([p.mass for p in self.parts])
        return np.asarray(np.cumsum(masses)[:-1] / masses.sum())

    def _expected(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        z = real_array(z, "z")
        value, error = np.zeros(z.shape), np.zeros(z.shape)
        for p in self.parts:
            mean, bound = p.law.plane_wave_enclosure(self.dim, z)
            value += p.sign * p.mass * mean
            error += p.mass * bound
        return value, error


def _checked_size(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ParameterError(f"The number of draws is a whole number >= 0, and {size!r} was given.")
    return int(size)


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as cause:
        raise ParameterError(
            f"rng must be a numpy Generator, a seed >= 0 or None, and {rng!r} was given."
        ) from cause
