r"""The positive and negative parts of a measure: their frequencies and their kernels.

A part is a :class:`SignedMass` with two methods: ``draw(dim, size, rng)`` returns independent
frequencies of shape (size, dim), and ``kernel(dim, D)`` the summand of the kernel at differences
D = x - y, with a bound of its error.  There are three kinds: :class:`Part`, of a radial kernel and
of sums of its shifts; :class:`ProductPart`, of a product of radial kernels of groups of columns;
and :class:`~spectra.table.l1_part.L1Part`, of a kernel of the l1 distance.
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

#: From the sign of a part to its phase in cos(w.D + phase).
PHASES = {1: 0.0, -1: float(np.pi)}
# Largest difference between the length of an axis and 1 (rounding of its coordinates).
_LENGTH_TOLERANCE = 1e-12
# Rounding error of a Gaussian function (absolute), and of a product of two doubles (relative).
_GAUSSIAN_ERROR, _PRODUCT_ERROR = 4e-16, 2.0**-53


@dataclass(frozen=True, eq=False)
class Shifts:
    r"""A weighted sum of shifts of a radial kernel along one axis, and its multiplier a.

    If k has the measure :math:`\mu`, then :math:`\sum_j c_j\, k(D + t_j e)` has the measure
    :math:`a(e \cdot w)\, \mu(dw)` with :math:`a(x) = \sum_j c_j e^{i t_j x}`.  ``axis`` is the unit
    vector e, and ``weights`` are the c_j.  The shifts t_j are ``steps[j] * unit``, with distinct
    integers ``steps``.

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
        is_unit_vector = abs(np.linalg.norm(axis) - 1.0) <= _LENGTH_TOLERANCE
        are_steps = 0.0 < self.unit < np.inf and len(set(steps.tolist())) == steps.size > 0
        if not is_unit_vector or steps.shape != weights.shape or not are_steps:
            raise ParameterError(
                "Shifts need an axis of length 1, a positive unit, and distinct steps, each with "
                f"a weight; got {axis}, {self.unit}, {steps} and {weights}."
            )
        for name, value in (("axis", axis), ("weights", weights), ("steps", steps)):
            object.__setattr__(self, name, value)

    @property
    def offsets(self) -> FloatArray:
        """The vectors t_j e, shape (number of shifts, d)."""
        return np.asarray(np.outer(self.steps * self.unit, self.axis))

    @property
    def bound(self) -> float:
        """A bound of |a|: the sum of the absolute weights."""
        return float(np.abs(self.weights).sum())

    def __call__(self, x: ArrayLike) -> ComplexArray:
        """Values a(x)."""
        return self.at_angle(self.unit * np.asarray(x, dtype=float))

    def at_angle(self, theta: ArrayLike) -> ComplexArray:
        """Values a(theta / unit): a function of period 2 pi."""
        exponentials = np.exp(1j * np.multiply.outer(np.asarray(theta, dtype=float), self.steps))
        return np.asarray(exponentials @ self.weights)

    def polar(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Modulus and phase of a(e.w) at frequencies w, shape (..., d)."""
        if self.steps.size > 1:
            value = self(frequencies @ self.axis)
            return np.abs(value), np.angle(value)
        sign_phase = np.pi if self.weights[0] < 0.0 else 0.0
        phases = sign_phase + frequencies @ self.offsets[0]
        return np.full(phases.shape, abs(self.weights[0])), np.asarray(phases)


@dataclass(frozen=True, eq=False)
class SignedMass:
    """The mass m > 0 of a part, its error bound, and its phase: 0 for a positive part, else pi."""

    mass: float
    mass_error: float
    phase: float

    def __post_init__(self) -> None:
        if not (0.0 < self.mass < np.inf and 0.0 <= self.mass_error < np.inf):
            raise ParameterError(
                f"A part has the mass {self.mass} with the error {self.mass_error}. The mass must "
                "be positive, the error not negative, and both finite; the phase gives the sign."
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
    def kernel_bound(self) -> float:
        """Bound of the absolute kernel of the part, divided by its mass."""
        return 1.0


@final
@dataclass(frozen=True, repr=False)
class Part(SignedMass):
    r"""A part with frequencies of uniform direction and random radius R, with or without shifts.

    Its summand of the kernel is :math:`\pm m\,\tilde k(|D|)` with the mass m and the expected plane
    wave :math:`\tilde k(|D|) = E \cos(w \cdot D)` of its frequencies w.  With shifts t_j along an
    axis e and weights c_j it is :math:`\pm m \sum_j c_j \tilde k(|D + t_j e|)`.

    Attributes
    ----------
    mass, mass_error, phase : float
        See :class:`SignedMass`.
    law : RadialLaw
        The distribution of R.
    shifts : Shifts or None
        None for a radial part.
    deviation : float
        Standard deviation of a coordinate of the frequency if it is known to be Gaussian, so that
        the expected plane wave has a closed form; else 0.
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
    def kernel_bound(self) -> float:
        """Bound of the absolute kernel divided by the mass: 1, or the sum of the |c_j|."""
        return 1.0 if self.shifts is None else self.shifts.bound

    def plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The expected plane wave at distances z, and a bound of its error."""
        if self.deviation > 0.0:
            wave = np.exp(-0.5 * (self.deviation * z) ** 2)
            return wave, np.full(z.shape, _GAUSSIAN_ERROR)
        return self.law.plane_wave_enclosure(dim, z)

    def root_mean_square(self, dim: int) -> tuple[float, float]:
        """The mass times the root of E|a(e.w)|^2, and a bound of the error."""
        if self.shifts is None:
            return self.mass, self.mass_error
        weights, steps = self.shifts.weights, self.shifts.steps
        gaps = np.abs(np.subtract.outer(steps, steps)) * self.shifts.unit
        wave, error = self.plane_wave(dim, np.asarray(gaps.ravel(), dtype=float))
        products = np.multiply.outer(weights, weights).ravel()
        # The mean square may be negative by less than its error.
        root = math.sqrt(max(float(products @ wave), 0.0))
        square_error = float(np.abs(products) @ error)
        root_error = square_error / max(root, math.sqrt(square_error)) if square_error else 0.0
        return self.mass * root, self.mass_error * root + self.mass * root_error

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies as if the part had no shifts, shape (size, dim)."""
        return _draw_radial(self.law, dim, size, rng)

    def kernel(self, dim: int, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The summand of the kernel, and a bound of its error without that of the mass.

        ``points`` are distances of any shape for a radial part, and differences of shape (..., d)
        for a part with shifts.
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
    """A radial kernel of the vector (D_j / length_j), j in some columns of D, with k(0) = 1.

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

    def plane_wave(self, differences: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The kernel of the group at differences of shape (..., d), and a bound of its error."""
        return self.law.plane_wave_enclosure(len(self.columns), self.distances(differences))

    def add_frequencies(self, frequencies: FloatArray, own: FloatArray) -> None:
        """Divide ``own``, draws of the law, by the lengths; add them to ``frequencies``, (n, d)."""
        frequencies[:, list(self.columns)] += own / self.lengths


@final
@dataclass(frozen=True, eq=False)
class ProductPart(SignedMass):
    """A product of kernels of groups of columns; without groups it is a constant.

    Its frequency is the sum of independent frequencies of the groups.
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, weight: float, factors: Sequence[tuple[Part, Group]]) -> Self:
        """The product of a weight and of radial parts; each is paired with its group."""
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
            g.add_frequencies(frequencies, _draw_radial(g.law, len(g.columns), size, rng))
        return frequencies

    def kernel(
        self,
        dim: int,
        points: FloatArray,
        cache: dict[Group, tuple[FloatArray, FloatArray]] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """The summand of the kernel, and a bound of its error without that of the mass.

        ``cache`` keeps the kernels of groups, which several parts may share, at these points.
        """
        cache = {} if cache is None else cache
        for g in set(self.groups) - cache.keys():
            cache[g] = g.plane_wave(points)
        waves, ones = [cache[g] for g in self.groups], np.ones(points.shape[:-1])
        value = math.prod((wave for wave, _ in waves), start=ones)
        error = error_of_product((np.abs(wave), error) for wave, error in waves)
        return self.sign * self.mass * value, self.mass * error * ones


def error_of_product(factors: Iterable[tuple[Any, Any]]) -> Any:
    """Error bound of a product from pairs of the absolute value and the error of each factor."""
    pairs = list(factors)
    return math.prod(s + e for s, e in pairs) - math.prod(s for s, _ in pairs)


def _draw_radial(law: RadialLaw, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Frequencies of uniform direction."""
    directions = rng.standard_normal((size, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * law.rvs(size, rng)[:, None])
