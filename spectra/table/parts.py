r"""The parts of a measure: what they draw, and what they add to the kernel.

A part is a :class:`SignedMass` with two methods: ``draw(dim, size, rng)`` makes independent
frequencies of shape (size, dim), and ``kernel(dim, D)`` is what it adds to the kernel at
differences D, with a bound of the error.  There are three kinds: :class:`Part`, whose direction is
uniform, also under shifts; :class:`ProductPart`, of groups of columns; and
:class:`~spectra.table.l1_part.L1Part`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.arrays import ComplexArray, FloatArray, IntArray, frozen_array
from spectra.errors import ParameterError
from spectra.table.radial.radial_law import RadialLaw

__all__ = ["PHASES", "Group", "Part", "ProductPart", "Shifts", "SignedMass", "error_of_product"]

#: The phase of a part of each sign.
PHASES = {1: 0.0, -1: float(np.pi)}
# Allowed deviation of the length of an axis from 1 (rounding of its coordinates).
_UNIT_LENGTH = 1e-12
# Rounding of an exponential of a few operations, and of a product of two doubles.
_GAUSSIAN_ERROR, _PRODUCT_ERROR = 4e-16, 2.0**-53


@dataclass(frozen=True, eq=False)
class Shifts:
    r"""The shifts of a sum of one radial kernel along an axis, with their weights.

    A sum :math:`\sum_j c_j\, k(D + t_j e)` has the measure :math:`a(e \cdot w)\, \mu(dw)` with the
    multiplier :math:`a(x) = \sum_j c_j e^{i t_j x}`.  ``axis`` is the unit vector e, ``unit`` > 0 a
    length of which every shift t_j is a multiple, ``steps`` are the multiples, which are distinct,
    and ``weights`` are the c_j.

    Examples
    --------
    >>> Shifts([1.0, 0.0], 0.5, [1], [2.0]).offsets
    array([[0.5, 0. ]])
    """

    axis: FloatArray
    unit: float
    steps: IntArray
    weights: FloatArray

    def __post_init__(self) -> None:
        axis, weights = frozen_array(self.axis, "axis", 1), frozen_array(self.weights, "weights", 1)
        steps = np.array(self.steps, dtype=np.intp)
        steps.setflags(write=False)
        is_unit = abs(np.linalg.norm(axis) - 1.0) <= _UNIT_LENGTH and 0.0 < self.unit < np.inf
        distinct = len(set(steps.tolist())) == steps.size > 0
        if not is_unit or steps.shape != weights.shape or not distinct:
            raise ParameterError(
                "Shifts need an axis of length 1, a positive unit, and distinct steps, each with "
                f"a weight; got {axis}, {self.unit}, {steps} and {weights}."
            )
        for name, value in (("axis", axis), ("weights", weights), ("steps", steps)):
            object.__setattr__(self, name, value)

    @property
    def offsets(self) -> FloatArray:
        """The shifts as vectors, shape (j, d)."""
        return np.asarray(np.outer(self.steps * self.unit, self.axis))

    @property
    def bound(self) -> float:
        """A bound of |a|: the sum of the absolute weights."""
        return float(np.abs(self.weights).sum())

    def __call__(self, x: ArrayLike) -> ComplexArray:
        """Values a(x)."""
        return self.at_angle(self.unit * np.asarray(x, dtype=float))

    def at_angle(self, theta: ArrayLike) -> ComplexArray:
        """Values of a as a function of theta = unit x, of period 2 pi."""
        waves = np.exp(1j * np.multiply.outer(np.asarray(theta, dtype=float), self.steps))
        return np.asarray(waves @ self.weights)

    def polar(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """|a| and its phase at frequencies, shape (..., d); exact if there is one shift."""
        if self.steps.size > 1:
            value = self(frequencies @ self.axis)
            return np.abs(value), np.angle(value)
        sign_phase = np.pi if self.weights[0] < 0.0 else 0.0
        phases = sign_phase + frequencies @ self.offsets[0]
        return np.full(phases.shape, abs(self.weights[0])), np.asarray(phases)


@dataclass(frozen=True, eq=False)
class SignedMass:
    """A positive mass with its error, and its phase: 0 for a positive part, pi for a negative."""

    mass: float
    mass_error: float
    phase: float

    def __post_init__(self) -> None:
        if not (0.0 < self.mass < np.inf and 0.0 <= self.mass_error < np.inf):
            raise ParameterError(
                f"A part has the mass {self.mass} with the error {self.mass_error}. Both must be "
                "finite and >= 0, and the mass positive: the sign is in the phase."
            )
        if self.phase not in PHASES.values():
            raise ParameterError(
                f"A part has the phase {self.phase}. It must be 0 (positive) or pi (negative)."
            )

    @property
    def sign(self) -> float:
        """1 for a positive part, -1 for a negative one: the cosine of the phase."""
        return 1.0 if self.phase == 0.0 else -1.0

    @property
    def wave_bound(self) -> float:
        """Bound of the wave of a part of mass 1."""
        return 1.0


@final
@dataclass(frozen=True, repr=False)
class Part(SignedMass):
    r"""One positive mass of a measure: its phase, the law of its radii, and its shifts.

    It adds :math:`\pm m\,\tilde k(|D|)` to the kernel, with the mean plane wave
    :math:`\tilde k(z) = E\,\Omega_d(R z)`, or :math:`\pm m \sum_j c_j \tilde k(|D + t_j|)` where it
    has shifts.  Its direction is uniform.

    Attributes
    ----------
    mass, mass_error, phase : float
        Mass of the radial law, > 0, with a bound of its error; 0 for a positive part, else pi.
    law : RadialLaw
    shifts : Shifts or None
        The offsets t_j and weights c_j; None for a radial part.
    deviation : float
        Standard deviation of a coordinate of the frequency if it is known to be Gaussian, so that
        the plane wave has a closed form; else 0.
    """

    law: RadialLaw
    shifts: Shifts | None = None
    deviation: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.law, RadialLaw) and 0.0 <= self.deviation < np.inf):
            raise ParameterError(
                f"A part needs a RadialLaw and a finite deviation >= 0; got {self.law!r} and "
                f"{self.deviation}."
            )

    def __repr__(self) -> str:
        sign = "+" if self.sign > 0 else "-"
        shifts = "" if self.shifts is None else f" under {self.shifts.steps.size} shift(s)"
        return f"{sign} part of mass {self.mass:.12g} in {self.law!r}{shifts}"

    @property
    def wave_bound(self) -> float:
        """Bound of |kernel| of the part per unit of mass: 1, or the sum of the |c_j|."""
        return 1.0 if self.shifts is None else self.shifts.bound

    def plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean plane wave of the law at distances z, and a bound of its error."""
        if self.deviation > 0.0:
            wave = np.exp(-0.5 * (self.deviation * z) ** 2)
            return wave, np.full(z.shape, _GAUSSIAN_ERROR)
        return self.law.plane_wave_enclosure(dim, z)

    def root_mean_square(self, dim: int) -> tuple[float, float]:
        """Root mean square of a draw, m times the root of E|a(e.w)|^2, and a bound of its error."""
        if self.shifts is None:
            return self.mass, self.mass_error
        weights, steps = self.shifts.weights, self.shifts.steps
        gaps = np.abs(np.subtract.outer(steps, steps)) * self.shifts.unit
        wave, error = self.plane_wave(dim, np.asarray(gaps.ravel(), dtype=float))
        products = np.multiply.outer(weights, weights).ravel()
        # A mean square is not negative; rounding may leave it below zero by less than its error.
        root = math.sqrt(max(float(products @ wave), 0.0))
        square_error = float(np.abs(products) @ error)
        slack = square_error / max(root, math.sqrt(square_error)) if square_error > 0.0 else 0.0
        return self.mass * root, self.mass_error * root + self.mass * slack

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies of the radial law, shape (size, dim)."""
        return _draw_radial(self.law, dim, size, rng)

    def kernel(self, dim: int, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the part adds to the kernel, and a bound of the error of its integrals.

        ``points`` are distances, of any shape, of a radial part, and differences, shape (..., d),
        of one with shifts.
        """
        scale = self.sign * self.mass
        if self.shifts is None:
            wave, error = self.law.plane_wave_enclosure(dim, points)
            return scale * wave, self.mass * error
        distances = np.linalg.norm(points[..., None, :] + self.shifts.offsets, axis=-1)
        wave, error = self.plane_wave(dim, distances)
        weights = self.shifts.weights
        return scale * (wave @ weights), self.mass * (error @ np.abs(weights))


@final
@dataclass(frozen=True, eq=False)
class Group:
    """A radial law for some columns, each with a length scale: a function of (D_j / length_j).

    Examples
    --------
    >>> group = Group(RadialLaw.from_atoms([1.0], [1.0]), (0, 2), [1.0, 2.0])
    >>> group.distances([[3.0, 5.0, 8.0]])
    array([5.])
    """

    law: RadialLaw
    columns: tuple[int, ...]
    lengths: FloatArray

    def __post_init__(self) -> None:
        lengths, columns = frozen_array(self.lengths, "lengths", 1), self.columns
        if not len(columns) == len(set(columns)) == lengths.size > 0 or not np.all(lengths > 0.0):
            raise ParameterError(
                "A group needs distinct columns, each with a positive length; got the columns "
                f"{columns} and the lengths {lengths}."
            )
        object.__setattr__(self, "lengths", lengths)

    def distances(self, differences: ArrayLike) -> FloatArray:
        """Norms of (D_j / length_j) over the columns of the group, at D of shape (..., d)."""
        own = np.asarray(differences)[..., list(self.columns)]
        return np.asarray(np.linalg.norm(own / self.lengths, axis=-1))

    def wave(self, differences: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean plane wave of the law, and a bound of its error."""
        return self.law.plane_wave_enclosure(len(self.columns), self.distances(differences))

    def place(self, frequencies: FloatArray, own: FloatArray) -> None:
        """Add frequencies of the law, shape (n, columns), to rows of frequencies of the data."""
        frequencies[:, list(self.columns)] += own / self.lengths


@final
@dataclass(frozen=True, eq=False)
class ProductPart(SignedMass):
    """A product of independent laws of groups of columns; a constant has no groups.

    Its frequency is the sum of those of the groups, and its kernel their product.
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, weight: float, factors: Sequence[tuple[Part, Group]]) -> Self:
        """The product of a weight and of radial parts, each with its group."""
        parts = [part for part, _ in factors]
        mass = abs(weight) * math.prod(p.mass for p in parts)
        error = abs(weight) * error_of_product((p.mass, p.mass_error) for p in parts)
        sign = np.sign(weight) * math.prod(p.sign for p in parts)
        return cls(
            mass,
            error + (1 + len(parts)) * _PRODUCT_ERROR * mass,
            PHASES[int(sign)],
            tuple(group for _, group in factors),
        )

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies, shape (size, dim)."""
        frequencies = np.zeros((size, dim))
        for g in self.groups:
            g.place(frequencies, _draw_radial(g.law, len(g.columns), size, rng))
        return frequencies

    def kernel(
        self,
        dim: int,
        points: FloatArray,
        known: dict[Group, tuple[FloatArray, FloatArray]] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """What the part adds to the kernel at differences, shape (..., d), and its error.

        ``known`` caches the waves of groups that several parts share.
        """
        known = {} if known is None else known
        for g in set(self.groups) - known.keys():
            known[g] = g.wave(points)
        waves, ones = [known[g] for g in self.groups], np.ones(points.shape[:-1])
        value = math.prod((wave for wave, _ in waves), start=ones)
        error = error_of_product((np.abs(wave), error) for wave, error in waves)
        return self.sign * self.mass * value, self.mass * error * ones


def error_of_product(factors: Iterable[tuple[Any, Any]]) -> Any:
    """Error of a product, from the sizes of its factors and their errors."""
    pairs = list(factors)
    return math.prod(s + e for s, e in pairs) - math.prod(s for s, _ in pairs)


def _draw_radial(law: RadialLaw, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Frequencies of uniform direction."""
    directions = rng.standard_normal((size, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * law.rvs(size, rng)[:, None])
