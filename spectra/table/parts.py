r"""The parts of a spectral measure: products of laws of groups of columns, with signs and shifts.

A :class:`Part` is a mass, a phase, and the distribution of a frequency w: the sum of independent
frequencies of :class:`Group` s, each a law in some columns of the data.  A radial measure has one
group of all columns.  A law has two methods: ``draw(dim, size, rng)``, independent frequencies of
shape (size, dim), and ``characteristic_function(D)``, E cos(w.D) at differences of shape (..., dim)
with a bound of its error.  :class:`~spectra.table.radial_law.RadialLaw` is one of uniform
direction, which a coupling can draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from spectra.base.arrays import FloatArray, from_units, frozen_array, to_units
from spectra.errors import ParameterError
from spectra.table.radial_law import RadialLaw

__all__ = ["PHASES", "Group", "Part", "Points", "Shifts", "WithError", "error_of_product"]

#: Values, and a bound of their errors.
WithError = tuple[FloatArray, FloatArray]

#: From the sign of a part to its phase in cos(w.D + phase).
PHASES = {1: 0.0, -1: float(np.pi)}
# Rounding error of a Gaussian function (absolute), and of a product of two doubles (relative).
_GAUSSIAN_ERROR, _PRODUCT_ERROR = 4e-16, 2.0**-53
# Upper quantiles at small probabilities q grow like q^(-1/a) if P(|w| > R) ~ R^(-a), and E |w|^2 is
# finite if 1/a < 1/2.  The limit leaves a margin for the error of the measured exponent 1/a.
_TAIL_PROBABILITIES = (1e-13, 1e-15)
_LARGEST_TAIL_EXPONENT = 0.49


@dataclass(frozen=True, eq=False)
class Points:
    """Differences D = x - y of shape (..., d), or distances |D| of any shape.

    ``values``: the array; ``axes``: the number of its last axes that belong to one point, 1 for
    differences and 0 for distances.

    Examples
    --------
    >>> points = Points(np.array([[3.0, 4.0], [0.0, 1.0]]), 1)
    >>> points.shape, points.norms.values
    ((2,), array([5., 1.]))
    """

    values: FloatArray
    axes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values of a kernel at the points."""
        return self.values.shape[: self.values.ndim - self.axes]

    @property
    def flat(self) -> Self:
        """The same points along one axis."""
        return self.moved(lambda v: v.reshape(-1, *v.shape[len(self.shape) :]))

    @property
    def norms(self) -> Points:
        """The distances."""
        return Points(np.linalg.norm(self.values, axis=-1), 0) if self.axes else self

    def checked(self) -> Self:
        """The points themselves; a ParameterError if one is not finite, or a distance negative."""
        bad = ~np.isfinite(self.values) | ((self.values < 0.0) & (self.axes == 0))
        if np.any(bad):
            raise ParameterError(
                f"A kernel was asked for at {self.values[bad][0]}: distances must be finite and at "
                "least 0, and differences finite."
            )
        return self

    def moved(self, change: Callable[[FloatArray], FloatArray]) -> Self:
        """Other points of the same sort, by a function of the array."""
        return type(self)(change(self.values), self.axes)

    def shifted(self, offset: FloatArray) -> Self:
        """The points D + offset; distances only for an offset of 0."""
        return self.moved(lambda v: v + offset) if offset.any() else self

    def and_offsets(self, offsets: FloatArray) -> Self:
        """The points D + t_j for offsets of shape (J, d), along a new last axis of points."""
        if not self.axes:  # distances have no shifts
            return self.moved(lambda z: z[..., None])
        return self.moved(lambda D: D[..., None, :] + offsets)


@dataclass(frozen=True, eq=False)
class Shifts:
    r"""A weighted sum of shifts of a kernel, and its multiplier a.

    If k has the measure :math:`\mu`, then :math:`\sum_j c_j\, k(D + t_j)` has the measure
    :math:`a(w)\, \mu(dw)` with :math:`a(w) = \sum_j c_j e^{i t_j \cdot w}`.  ``offsets`` are the
    t_j, shape (J, d), and ``weights`` the c_j.
    """

    offsets: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        offsets = frozen_array(self.offsets, "offsets", 2)
        weights = frozen_array(self.weights, "weights", 1)
        if len(offsets) != weights.size or not weights.size:
            raise ParameterError(f"Shifts need a weight for each; got {offsets} and {weights}.")
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "weights", weights)

    @property
    def bound(self) -> float:
        """A bound of |a|: the sum of the absolute weights."""
        return float(np.abs(self.weights).sum())

    def polar(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Modulus and phase of a at frequencies w, shape (..., d)."""
        angles = frequencies @ self.offsets.T
        if self.weights.size > 1:
            value = np.exp(1j * angles) @ self.weights
            return np.abs(value), np.angle(value)
        phases = angles[..., 0] + (np.pi if self.weights[0] < 0.0 else 0.0)
        return np.full(phases.shape, abs(self.weights[0])), np.asarray(phases)


@dataclass(frozen=True, eq=False)
class Group:
    """A law of frequencies in some columns, each divided by its length.

    ``columns``: None for all columns of the data, with lengths 1; ``lengths``: or a matrix A, for a
    law of the frequencies of A x; ``deviation``: standard deviation
    of a coordinate if the law is known to be Gaussian, whose kernel has a closed form; else 0.

    Examples
    --------
    >>> group = Group(RadialLaw.from_atoms([1.0], [1.0]), (0, 2), [1.0, 2.0])
    >>> group.own(Points(np.array([[3.0, 5.0, 8.0]]), 1)).norms.values
    array([5.])
    """

    law: Any
    columns: tuple[int, ...] | None = None
    lengths: FloatArray = field(default_factory=lambda: np.ones(1))
    deviation: float = 0.0

    def __post_init__(self) -> None:
        rank = 2 if np.ndim(self.lengths) == 2 else 1
        lengths, columns = frozen_array(self.lengths, "lengths", rank), self.columns
        distinct = columns is None or len(columns) == len(set(columns)) == lengths.shape[-1] > 0
        if not distinct or not (rank == 2 or np.all(lengths > 0.0)):
            raise ParameterError(
                "A group needs distinct columns, each with a positive length; got the columns "
                f"{columns} and the lengths {lengths}."
            )
        if not hasattr(self.law, "characteristic_function") or not 0.0 <= self.deviation < np.inf:
            raise ParameterError(
                f"A part needs a RadialLaw and a finite deviation >= 0; got {self.law!r} and "
                f"{self.deviation}."
            )
        object.__setattr__(self, "lengths", lengths)

    @property
    def is_coupled(self) -> bool:
        """Whether a coupling can draw the frequencies: their directions are uniform."""
        return isinstance(self.law, RadialLaw)

    @property
    def mean_square_is_finite(self) -> bool:
        """Whether E|w|^2 is finite, so that the wave is twice differentiable at 0."""
        if not self.is_coupled:
            return False
        # The exponent 1/a of a tail P(|w| > R) ~ R^(-a), from two extreme quantiles.
        near, far = self.law.isf(np.array(_TAIL_PROBABILITIES))
        ratio = _TAIL_PROBABILITIES[0] / _TAIL_PROBABILITIES[1]
        return bool(np.log(far / near) <= _LARGEST_TAIL_EXPONENT * np.log(ratio))

    def size(self, dim: int) -> int:
        """Number of columns of the group, if the data have ``dim``."""
        return dim if self.columns is None else len(self.lengths)

    def own(self, points: Points) -> Points:
        """The columns of the group, divided by the lengths, of points D."""
        if self.columns is None:
            return points
        columns = list(self.columns)
        return points.moved(lambda D: to_units(D[..., columns], self.lengths))

    def wave(self, dim: int, points: Points) -> WithError:
        """E cos(w.D) at points D of R^dim, and a bound of its error."""
        own = self.own(points)
        if not self.is_coupled:
            return self.law.characteristic_function(own.values)
        z = own.norms.values
        if self.deviation > 0.0:
            return np.exp(-0.5 * (self.deviation * z) ** 2), np.full(z.shape, _GAUSSIAN_ERROR)
        return self.law.plane_wave_enclosure(self.size(dim), z)

    def frequencies(self, dim: int, own: FloatArray) -> FloatArray:
        """The frequencies in R^dim of draws of the law, shape (..., size)."""
        if self.columns is None:
            return own
        frequencies = np.zeros((*own.shape[:-1], dim))
        frequencies[..., list(self.columns)] = from_units(own, self.lengths)
        return frequencies


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    r"""A mass, a phase and a distribution of frequencies; with or without shifts.

    Its summand of the kernel is :math:`\pm m \prod_g \chi_g(D)` with the mass m and the waves
    :math:`\chi_g(D) = E \cos(w_g \cdot D)` of its groups; with shifts t_j and weights
    c_j it is :math:`\pm m \sum_j c_j \prod_g \chi_g(D + t_j)`.

    Attributes
    ----------
    mass, mass_error : float
        The mass m > 0 and a bound of its error.
    phase : float
        0 for a positive part, else pi.
    groups : tuple of Group, or RadialLaw
        Independent frequencies that add up to w; none for a constant.  A law stands for one group
        of all columns.
    shifts : Shifts or None
        None for a symmetric part.
    """

    mass: float
    mass_error: float
    phase: float
    groups: Any
    shifts: Shifts | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.groups, tuple):
            object.__setattr__(self, "groups", (Group(self.groups),))
        if not (0.0 < self.mass < np.inf and 0.0 <= self.mass_error < np.inf):
            raise ParameterError(
                f"A part has the mass {self.mass} with the error {self.mass_error}. The mass must "
                "be positive, the error not negative, and both finite; the phase gives the sign."
            )
        if self.phase not in PHASES.values():
            raise ParameterError(
                f"A part has the phase {self.phase}. It must be 0 (positive) or pi (negative)."
            )

    @classmethod
    def product(cls, weight: float, factors: Sequence[Part]) -> Self:
        """The product of a weight and of parts without shifts."""
        mass = abs(weight) * math.prod(p.mass for p in factors)
        error = abs(weight) * error_of_product((p.mass, p.mass_error) for p in factors)
        sign = np.sign(weight) * math.prod(p.sign for p in factors)
        return cls(
            mass,
            error + (1 + len(factors)) * _PRODUCT_ERROR * mass,
            PHASES[int(sign)],
            tuple(group for p in factors for group in p.groups),
        )

    def on(self, columns: tuple[int, ...], lengths: FloatArray) -> Self:
        """The part of all columns as a part of some columns, divided by their lengths."""
        return replace(self, groups=tuple(replace(g, columns=columns, lengths=lengths)
                                          for g in self.groups))  # fmt: skip

    def __repr__(self) -> str:
        sign = "+" if self.sign > 0 else "-"
        shifts = "" if self.shifts is None else f" under {self.shifts.weights.size} shift(s)"
        laws = " and ".join(repr(g.law) for g in self.groups) or "the frequency 0"
        return f"{sign} part of mass {self.mass:.12g} in {laws}{shifts}"

    @property
    def sign(self) -> float:
        """1 for a positive part, -1 for a negative one: the cosine of the phase."""
        return 1.0 if self.phase == 0.0 else -1.0

    @property
    def law(self) -> Any:
        """The law of a part of one group."""
        (group,) = self.groups
        return group.law

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate of a part that is known to be Gaussian; else 0."""
        return self.groups[0].deviation if len(self.groups) == 1 else 0.0

    @property
    def kernel_bound(self) -> float:
        """Bound of the absolute kernel divided by the mass: 1, or the sum of the |c_j|."""
        return 1.0 if self.shifts is None else self.shifts.bound

    def root_mean_square(self, dim: int) -> tuple[float, float]:
        """The mass times the root of E|a(w)|^2, and a bound of the error."""
        if self.shifts is None:
            return self.mass, self.mass_error
        weights, offsets = self.shifts.weights, self.shifts.offsets
        gaps = Points((offsets[:, None] - offsets).reshape(-1, dim), 1)
        wave, error = _product([g.wave(dim, gaps) for g in self.groups])
        products = np.multiply.outer(weights, weights).ravel()
        # The mean square may be negative by less than its error.
        root = math.sqrt(max(float(products @ wave), 0.0))
        square_error = float(np.abs(products) @ error)
        root_error = square_error / max(root, math.sqrt(square_error)) if square_error else 0.0
        return self.mass * root, self.mass_error * root + self.mass * root_error

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies as if the part had no shifts, shape (size, dim)."""
        drawn = (g.frequencies(dim, g.law.draw(g.size(dim), size, rng)) for g in self.groups)
        return sum(drawn, np.zeros((size, dim))) if len(self.groups) != 1 else next(drawn)

    def kernel(self, dim: int, points: Points, shared: dict[Group, WithError]) -> WithError:
        """The summand of the kernel at points, and a bound of its error without that of the mass.

        ``shared``: waves at these points of groups that other parts of the table have, too.
        """
        if self.shifts is not None:
            moved = points.and_offsets(self.shifts.offsets)
            value, error = _product([g.wave(dim, moved) for g in self.groups])
            value, error = value @ self.shifts.weights, error @ np.abs(self.shifts.weights)
        else:
            for g in self.groups:
                if g not in shared:
                    shared[g] = g.wave(dim, points)
            value, error = _product([shared[g] for g in self.groups])
        return self.sign * self.mass * value, self.mass * error


def _product(factors: Sequence[WithError]) -> WithError:
    """A product of values, and a bound of its error."""
    if len(factors) == 1:
        return factors[0]
    value = math.prod((value for value, _ in factors), start=np.ones(()))
    error = error_of_product((np.abs(value), error) for value, error in factors)
    return np.asarray(value), np.asarray(error)


def error_of_product(factors: Iterable[tuple[Any, Any]]) -> Any:
    """Error bound of a product from pairs of the absolute value and the error of each factor."""
    pairs = list(factors)
    return math.prod(s + e for s, e in pairs) - math.prod(s for s, _ in pairs)
