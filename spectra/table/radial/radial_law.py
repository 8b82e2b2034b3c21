"""The law of a radius as an inverse CDF that keeps its precision at both ends.

A law is two lists of panels (see :mod:`spectra.table.radial.panels`).  The left list is a function
of the probability u = F(w) on [0, split], the right list a function of q = 1 - u on [0, 1 -
split], so that neither end loses digits.  Points, continuous laws and mixtures are one class.
Numpy and scipy only: a saved table is used without sympy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.arrays import FloatArray, frozen_array, made_again
from spectra.base.numbers import checked_dim, random_source, real_array, whole_number
from spectra.errors import ParameterError
from spectra.table.radial.cells import Fill, fit_cells
from spectra.table.radial.panel_integrals import (
    CutPanels,
    cut_panels,
    integrate_waves,
    integration_nodes,
)
from spectra.table.radial.panels import PanelKind, Panels
from spectra.table.radial.radial_cdf import JOIN_TOLERANCE, place_of
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["RadialLaw", "Seed"]

BoolArray = NDArray[np.bool_]
Seed = np.random.Generator | np.random.SeedSequence | int | None

# Panels are evaluated in blocks whose buffers stay in the second-level cache.
_BLOCK = 1 << 13
# Phases are beyond every digit long before they are that large.
_FARTHEST = 1e100


@final
@dataclass(frozen=True, eq=False, repr=False)
class RadialLaw:
    r"""A probability law of a radius w >= 0, stored as its inverse CDF.

    Parameters
    ----------
    left, right : Panels
        Radius as a function of u on [0, split] and of q = 1 - u on [0, 1 - split]; a side that is
        left out is empty.
    tail : WaveTail, optional
        A sum of waves without end in place of the right panels below ``right.edges[0] ==
        tail.mass``.

    Examples
    --------
    >>> uniform = RadialLaw(Panels([0.0, 1.0], [[1.0, 1.0]]))   # on [0, 2]
    >>> uniform.ppf([0.0, 0.25, 1.0])
    array([0. , 0.5, 2. ])
    """

    left: Panels = field(default_factory=Panels.empty)
    right: Panels = field(default_factory=Panels.empty)
    tail: WaveTail | None = None

    def __repr__(self) -> str:
        waves = "" if self.tail is None else " and waves without end"
        return f"{self.left.size + self.right.size} panels{waves}"

    def __post_init__(self) -> None:
        left, right, tail = self.left, self.right, self.tail
        start = 0.0 if tail is None else tail.mass
        if left.edges[0] != 0.0 or right.edges[0] != start or (tail is not None and not right.size):
            raise ParameterError(
                "The left panels of a radial law must start at 0 and the right ones at 0 or, with "
                f"a tail of waves, at its mass {start}; they start at {left.edges[0]} and "
                f"{right.edges[0]}."
            )
        total = self.split + float(right.edges[-1])
        if abs(total - 1.0) > 2.0**-52 or (total != 1.0 and not (left.size and right.size)):
            raise ParameterError(
                f"The panels of a radial law end at u = {self.split} and q = {right.edges[-1]}, "
                "which do not add up to 1: some probability is missing or counted twice."
            )
        if np.any(left.kinds == PanelKind.TAIL_POWER):
            raise ParameterError("A TAIL_POWER panel belongs to the right side, at q = 0.")
        ends = np.concatenate([left.end_radii.ravel(), right.end_radii.ravel()[::-1]])
        slack = JOIN_TOLERANCE * np.repeat(np.abs(ends).reshape(-1, 2).max(axis=1), 2)
        falls = np.diff(ends) < -np.maximum(slack[1:], slack[:-1])
        if np.any(ends < -slack) or np.any(falls):
            raise ParameterError(
                "The radii at the panel ends of a radial law are negative or fall as the "
                f"probability grows: {ends[:6].tolist()}... An inverse CDF must ascend; check the "
                "order of the rows (right rows run with q, so their radii fall)."
            )

    __reduce__ = made_again

    @classmethod
    def from_atoms(cls, radii: ArrayLike, probabilities: ArrayLike) -> Self:
        """Law of the points ``radii`` with ``probabilities`` (each > 0, adding up to 1)."""
        w = frozen_array(radii, "atom radii", 1)
        p = frozen_array(probabilities, "atom probabilities", 1)
        if w.shape != p.shape or not w.size or np.any(p <= 0.0) or abs(p.sum() - 1.0) > 1e-12:
            raise ParameterError(
                f"Atoms need as many radii as positive probabilities that add up to 1; got "
                f"{w.size} radii and {p.size} probabilities of sum {p.sum()}."
            )
        order = np.argsort(w, kind="stable")
        w, p = w[order], p[order] / math.fsum(p)
        below = np.concatenate([[0.0], np.cumsum(p)])
        above = np.concatenate([[0.0], np.cumsum(p[::-1])])
        # The heaviest atom closes the left side and takes up the rounding of the sums.
        middle = int(np.argmax(p))
        n_right = w.size - 1 - middle
        left, right = np.append(below[: middle + 1], 1.0 - above[n_right]), above[: n_right + 1]
        if np.any(np.diff(left) <= 0.0) or np.any(np.diff(right) <= 0.0):
            raise ParameterError(
                f"An atom of probability {p.min():.3g} vanishes in the rounding of the sum with "
                "the others, so it could never be drawn. Leave it out."
            )
        return cls(Panels(left, w[: middle + 1, None]), Panels(right, w[:middle:-1, None]))

    @property
    def split(self) -> float:
        """Probability u at which the left panels end and the right ones begin."""
        return float(self.left.edges[-1]) if self.left.size else 0.0

    @cached_property
    def upper(self) -> float:
        """Largest radius: the end of the support, infinite with a tail."""
        if self.tail is not None or PanelKind.TAIL_POWER in self.right.kinds:
            return float("inf")
        right = self.right.size
        return float(self.right.end_radii[0, 0] if right else self.left.end_radii[-1, 1])

    def ppf(self, u: ArrayLike) -> FloatArray:
        """Radius below which the probability is u: the inverse CDF.

        Near u = 1 use :meth:`isf`, which keeps the digits.
        """
        return self._radii(_probabilities(u), lambda u: (u - (u >= self.split), u == 1.0))

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the probability is q: the inverse of the survival function.

        In tables made by ``tabulate`` the probability beyond an unbounded tail is right to 1e-7
        of q down to q = 2^-64 = 5.4e-20, below which no generator draws.  Below that the radius is
        a power of q: exact for power tails, such as that of exp(-z), and too large for tails that
        fall faster.
        """

        def key(q: FloatArray) -> tuple[FloatArray, BoolArray]:
            u = 1.0 - q
            # Without a right side there are no keys beyond 1 - q, which may round to 1.
            last = q == 0.0 if self.split < 1.0 else u == 1.0
            return np.where(u >= self.split, -q, u), last

        return self._radii(_probabilities(q), key)

    def cdf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii up to w, the inverse of :meth:`ppf`."""
        return self._placed(w, 0, 0.0)

    def sf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii above w, to its own digits where it is small."""
        return self._placed(w, 1, 1.0)

    def pdf(self, w: ArrayLike) -> FloatArray:
        """Density of the radius at w, the reciprocal slope of :meth:`ppf`; infinite at an atom."""
        return self._placed(w, 2, 0.0)

    def _placed(self, w: ArrayLike, what: int, below_zero: float) -> FloatArray:
        w = real_array(w, "radii")
        if np.any(np.isnan(w)):
            raise ParameterError("A probability was asked for at a radius that is not a number.")
        places = place_of(self.left, self.right, self.tail, np.maximum(w.ravel(), 0.0))
        values = places[what].reshape(w.shape)
        # Radii are not negative: below 0 lies nothing.
        return np.where(w < 0.0, below_zero, values)

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Seed = None) -> FloatArray:
        """Independent radii, one double of ``random_state`` (a Generator or a seed) for each."""
        shape = size if isinstance(size, tuple) else (size,)
        counts = [whole_number(n, "size", least=0, why=", or a tuple of them") for n in shape]
        whole_number(math.prod(counts), "The product of the sizes", least=0)
        return self.ppf(random_source(random_state, "random_state").random(counts))

    def expected_plane_wave(self, dim: int, z: ArrayLike) -> FloatArray:
        r"""Mean of the plane wave, :math:`E\,\Omega_d(w z)`, at distances z in dimension d >= 1.

        The absolute error is about 1e-13 (see :meth:`plane_wave_enclosure`).
        """
        return self.plane_wave_enclosure(dim, z)[0]

    def plane_wave_enclosure(self, dim: int, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Values of :meth:`expected_plane_wave` and an estimate of their absolute errors."""
        z = np.asarray(z, dtype=float)
        dim = checked_dim(dim)
        if not np.all((z >= 0.0) & np.isfinite(z)):
            raise ParameterError("Distances must be finite and not negative.")
        if np.any(z * min(self._median, 1.0) > _FARTHEST / max(self._median, 1.0)):
            raise ParameterError(
                f"The distance {float(z.max()):.3g} is more than 1e100 times that of the law, "
                f"1/{self._median:.3g}: no digit of a wave is known there. Measure distances in "
                "the unit of the table."
            )
        flat = z.ravel()
        found = [integrate_waves(*side, dim, flat) for side in self._sides]
        if self.tail is not None:
            found.append(self.tail.expected_wave(dim, flat))
        value, error = np.sum(found, axis=0)
        return value.reshape(z.shape), error.reshape(z.shape)

    def nodes(self, z_max: float = 0.0) -> tuple[FloatArray, FloatArray, float]:
        """Radii and weights, whose ``sum(weights * f(radii))`` is E f(w) for f of bandwidth z_max.

        The third number is the probability that has no nodes: that of the far tail, whose waves at
        ``z_max`` are too many to resolve, and of a tail of waves.
        """
        if not (z_max >= 0.0 and np.isfinite(z_max)):
            raise ParameterError(f"The largest distance must be finite and >= 0; got {z_max}.")
        found = [integration_nodes(*side, z_max) for side in self._sides]
        radii, weights = (np.concatenate([side[k] for side in found]) for k in (0, 1))
        leftover = sum(side[2] for side in found)
        return radii, weights, leftover + (0.0 if self.tail is None else self.tail.mass)

    @cached_property
    def _median(self) -> float:
        return float(self.ppf(0.5))

    @cached_property
    def _sides(self) -> list[tuple[Panels, CutPanels]]:
        """The sides that have panels, cut into cells for integrals."""
        return [(side, cut_panels(side)) for side in (self.left, self.right) if side.size]

    @cached_property
    def _edges(self) -> FloatArray:
        """Ascending keys, -q on the right and u on the left, between which the radius is smooth."""
        # The tail lies between the two sides.
        between = [] if self.tail is None else [np.zeros(1)]
        return np.concatenate([-self.right.edges[::-1], *between, self.left.edges[1:]])

    @cached_property
    def _fill(self) -> Fill:
        """What radii are drawn through, made of the panels when it is first asked for."""
        rough = None if self.tail is None else (-self.tail.mass, 0.0)
        return fit_cells(self.panel_radii, self._edges, rough=rough)

    def _radii(
        self, values: FloatArray, keys: Callable[[FloatArray], tuple[FloatArray, BoolArray]]
    ) -> FloatArray:
        """Radii at probabilities, from a function that makes keys and tells where q is 0.

        A key is u on the left and -q on the right, so that one sorted list serves both sides.
        """
        # The first edge may be -0, and the radius at it would be that too.
        flat, first = np.ravel(values), self._edges[0] + 0.0
        out, fill = np.empty(flat.size), self._fill
        open_at, open_keys = [np.zeros(0, np.intp)], [np.zeros(0)]
        for start in range(0, flat.size, _BLOCK):
            key, last = keys(flat[start : start + _BLOCK])
            key[last] = first
            # The split and its complement are rounded, so a key can miss the first edge by that.
            np.maximum(key, first, out=key)
            radii = out[start : start + _BLOCK]
            places = fill(key, radii, flat.size)
            radii[last] = self.upper
            places = places[~last[places]]
            open_at.append(start + places)
            open_keys.append(key[places])
        out[np.concatenate(open_at)] = self.panel_radii(np.concatenate(open_keys))
        return out.reshape(np.shape(values))

    def panel_radii(self, key: FloatArray) -> FloatArray:
        """Radii at keys (u on the left, -q on the right) by the panels and the tail themselves."""
        flat, mass = key.ravel(), 0.0 if self.tail is None else self.tail.mass
        out = np.full(flat.size, self.upper)
        for start in range(0, flat.size, _BLOCK):
            block, radii = flat[start : start + _BLOCK], out[start : start + _BLOCK]
            if self.left.size:
                below = block >= 0.0
                radii[below] = self.left.radii(block[below])
            above = block < -mass
            radii[above] = self.right.radii(-block[above], from_above=True)
        if self.tail is not None:
            beyond = np.flatnonzero((flat < 0.0) & (flat >= -mass))
            out[beyond] = self.tail.isf(-flat[beyond])
        return out.reshape(key.shape)


def _probabilities(values: ArrayLike) -> FloatArray:
    p = real_array(values, "probabilities")
    # Neither holds where one of them is not a number.
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):
        bad = p[~((p >= 0.0) & (p <= 1.0))].ravel()[0]
        raise ParameterError(
            f"An inverse CDF was asked for at the probability {bad}. Give probabilities in [0, 1]."
        )
    return p
