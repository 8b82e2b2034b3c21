"""The law of a radius: quantiles that keep their precision at both ends, draws and expectations.

A law is a list of panels of its density (see :mod:`spectra.table.radial.panels`), and perhaps a
tail of waves.  Probabilities are u = F(w) up to a split near 1/2, and q = 1 - u beyond it, so that
neither end loses digits.  Discrete, continuous and mixed laws are all of this class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.base.arrays import FloatArray, IntArray, frozen_array, reduce_to_fields
from spectra.base.numbers import checked_dim, random_source, real_array, whole_number
from spectra.errors import ParameterError
from spectra.table.radial.cells import Fill, Refine, fit_cells
from spectra.table.radial.panel_integrals import (
    CutPanels,
    cut_panels,
    integrate_waves,
    integration_nodes,
)
from spectra.table.radial.panels import Panels
from spectra.table.tails.wave_tail import WaveTail

__all__ = ["RadialLaw", "Seed"]

BoolArray = NDArray[np.bool_]
Seed = np.random.Generator | np.random.SeedSequence | int | None

# Panels are evaluated in blocks whose buffers stay in the second-level cache.
_BLOCK = 1 << 13
# Largest accepted phase w z: the cosine of a far smaller one already has no correct digit.
_FARTHEST = 1e100
# Tolerance for masses that must add up to 1, and for a tail that starts where panels end.
_TOTAL_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, eq=False, repr=False)
class RadialLaw:
    r"""A probability law of a radius w >= 0, stored as its density on panels.

    Parameters
    ----------
    panels : Panels
        The density of the radius on consecutive intervals.
    tail : WaveTail, optional
        The oscillating density beyond the panels, up to infinity.

    Examples
    --------
    >>> uniform = RadialLaw(Panels([[0.0, 1.0, 0.0, 0.0, 1.0]], [[1.0]]))   # on [0, 1]
    >>> uniform.ppf([0.0, 0.25, 1.0])
    array([0.  , 0.25, 1.  ])
    """

    panels: Panels
    tail: WaveTail | None = None

    def __repr__(self) -> str:
        waves = "" if self.tail is None else " and an oscillating tail"
        return f"{self.panels.size} panels{waves}"

    def __post_init__(self) -> None:
        mass = 0.0 if self.tail is None else self.tail.mass
        total = math.fsum(self.panels.masses) + mass
        if abs(total - 1.0) > _TOTAL_TOLERANCE or not self.panels.size:
            raise ParameterError(
                f"The masses of a radial law add up to {total}, not to 1: some probability is "
                "missing or counted twice."
            )
        last = float(self.panels.high[-1])
        if self.tail is not None and last > self.tail.start * (1.0 + _TOTAL_TOLERANCE):
            raise ParameterError(
                f"The panels of a radial law end at the radius {last}, beyond the start of its "
                f"tail, {self.tail.start}."
            )

    __reduce__ = reduce_to_fields

    @classmethod
    def from_atoms(cls, radii: ArrayLike, probabilities: ArrayLike) -> Self:
        """Discrete law of ``radii`` with ``probabilities`` (each > 0, adding up to 1)."""
        w = frozen_array(radii, "atom radii", 1)
        p = frozen_array(probabilities, "atom probabilities", 1)
        if w.shape != p.shape or not w.size or np.any(p <= 0.0) or abs(p.sum() - 1.0) > 1e-12:
            raise ParameterError(
                f"Atoms need as many radii as positive probabilities that add up to 1; got "
                f"{w.size} radii and {p.size} probabilities of sum {p.sum()}."
            )
        order = np.argsort(w, kind="stable")
        law = cls(Panels.points(w[order], p[order] / math.fsum(p)))
        if np.any(np.diff(law.edges) <= 0.0):
            raise ParameterError(
                f"An atom of probability {p.min():.3g} vanishes in the rounding of the sum with "
                "the others, so it could never be drawn. Leave it out."
            )
        return law

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray, int]:
        """Probabilities below and above each panel end, and the index of the end nearest to 1/2."""
        masses = self.panels.masses
        beyond = 0.0 if self.tail is None else self.tail.mass
        u = np.append(0.0, np.cumsum(masses))
        q = np.append(beyond + np.cumsum(masses[::-1])[::-1], beyond)
        # A tail belongs to the right side.
        k = int(np.argmin(np.abs(u[: u.size - (beyond > 0.0)] - 0.5)))
        u[k] = 1.0 if k == masses.size else u[k]
        q[k] = 1.0 - u[k]
        return u, q, k

    @property
    def split(self) -> float:
        """Probability u at which the left side ends and the right one begins."""
        u, _, k = self._sums
        return float(u[k])

    @cached_property
    def edges(self) -> FloatArray:
        """Ascending keys, -q on the right and u on the left, between which the radius is smooth."""
        u, q, k = self._sums
        # The tail lies between the two sides.
        between = [] if self.tail is None else [np.zeros(1)]
        return np.concatenate([-q[k:], *between, u[1 : k + 1]])

    @property
    def upper(self) -> float:
        """Largest radius: the end of the support, infinite with a tail."""
        return float("inf") if self.tail is not None else float(self.panels.high[-1])

    def ppf(self, u: ArrayLike) -> FloatArray:
        """Radius below which the probability is u: the inverse CDF.

        Near u = 1 use :meth:`isf`, which keeps the digits.
        """
        return self._radii(_probabilities(u), lambda u: (u - (u >= self.split), u == 1.0))

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the probability is q: the inverse of the survival function.

        Far out the radius is a power of q.
        """

        def key(q: FloatArray) -> tuple[FloatArray, BoolArray]:
            u = 1.0 - q
            # Without a right side there are no keys beyond 1 - q, which may round to 1.
            last = q == 0.0 if self.split < 1.0 else u == 1.0
            return np.where(u >= self.split, -q, u), last

        return self._radii(_probabilities(q), key)

    def cdf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii up to w, the inverse of :meth:`ppf`."""
        return self._evaluate(w, 0, 0.0)

    def sf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii above w, accurate relative to itself."""
        return self._evaluate(w, 1, 1.0)

    def pdf(self, w: ArrayLike) -> FloatArray:
        """Density of the radius at w, the reciprocal slope of :meth:`ppf`; infinite at an atom."""
        return self._evaluate(w, 2, 0.0)

    def _evaluate(self, w: ArrayLike, what: int, below_zero: float) -> FloatArray:
        """Probability below (0) or above (1) radii, or the density (2)."""
        w = real_array(w, "radii")
        if np.any(np.isnan(w)):
            raise ParameterError("A probability was asked for at a radius that is not a number.")
        flat = np.maximum(w.ravel(), 0.0)
        u, q, k = self._sums
        i = np.maximum(np.searchsorted(self.panels.low, flat, side="right") - 1, 0)
        below, above, density = self.panels.parts(i, flat)
        below, above = u[i] + below, q[i + 1] + above
        if self.tail is not None:
            far = np.flatnonzero(flat >= self.tail.start)
            above[far], i[far] = np.minimum(self.tail.sf(flat[far]), self.tail.mass), k
            far = far[np.isfinite(flat[far])]
            density[far] = self.tail.pdf(flat[far])
        # The smaller of the two is accurate, the other one is its complement.
        left = i < k
        below, above = np.where(left, below, 1.0 - above), np.where(left, 1.0 - below, above)
        values = (below, above, np.where(np.isinf(flat), 0.0, density))[what].reshape(w.shape)
        # Radii are not negative, so the probability below 0 is 0.
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
        found = [integrate_waves(self.panels, self._cells, dim, flat)]
        if self.tail is not None:
            found.append(self.tail.expected_wave(dim, flat))
        value, error = np.sum(found, axis=0)
        return value.reshape(z.shape), error.reshape(z.shape)

    def nodes(self, z_max: float = 0.0) -> tuple[FloatArray, FloatArray, float]:
        """Radii and weights, whose ``sum(weights * f(radii))`` is E f(w) for f of bandwidth z_max.

        The third number is the probability without nodes: that of a tail of waves, and of large
        radii, at which cos(w z_max) oscillates too fast to be resolved.
        """
        if not (z_max >= 0.0 and np.isfinite(z_max)):
            raise ParameterError(f"The largest distance must be finite and >= 0; got {z_max}.")
        radii, weights, leftover = integration_nodes(self.panels, self._cells, z_max)
        return radii, weights, leftover + (0.0 if self.tail is None else self.tail.mass)

    @cached_property
    def _median(self) -> float:
        return float(self.ppf(0.5))

    @cached_property
    def _cells(self) -> CutPanels:
        """The series cut into cells for integrals."""
        return cut_panels(self.panels)

    @cached_property
    def _fill(self) -> tuple[Fill, Refine]:
        """Functions for fast draws, fitted to the panels at the first draw."""
        mass = 0.0 if self.tail is None else self.tail.mass
        return fit_cells(self.panel_radii, self._radii_between, self.edges, tail_mass=mass)

    def _radii(
        self, values: FloatArray, keys: Callable[[FloatArray], tuple[FloatArray, BoolArray]]
    ) -> FloatArray:
        """Radii at probabilities, from a function that returns keys and where q is 0.

        A key is u on the left and -q on the right, so that both sides are in one sorted list.
        """
        # The first edge may be -0, and the radius at it would be that too.
        flat, first = np.ravel(values), self.edges[0] + 0.0
        out, (fill, refine) = np.empty(flat.size), self._fill
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
        places, key = np.concatenate(open_at), np.concatenate(open_keys)
        w = refine(key)
        left = np.isnan(w)
        w[left] = self.panel_radii(key[left])
        out[places] = w
        return out.reshape(np.shape(values))

    def panel_radii(self, key: FloatArray) -> FloatArray:
        """Radii at keys (u on the left, -q on the right) by the panels and the tail themselves."""
        flat = key.ravel()
        at = np.clip(np.searchsorted(self.edges, flat, side="right") - 1, 0, self.edges.size - 2)
        w = self._radii_between(at, flat - self.edges[at], self.edges[at + 1] - flat)
        return w.reshape(key.shape)

    def _radii_between(self, at: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radii between the edges ``at`` and ``at + 1``, at distances of keys from both."""
        right = self.panels.size - self._sums[2]
        i = np.where(at < right, at + self._sums[2], at - right - (self.tail is not None))
        width = self.edges[at + 1] - self.edges[at]
        share = self.panels.masses[i] / np.where(width > 0.0, width, 1.0)
        w = np.empty(at.size)
        near = np.arange(at.size)
        if self.tail is not None:
            near, far = np.flatnonzero(at != right), np.flatnonzero(at == right)
            w[far] = self.tail.isf(np.maximum(above[far], 0.0))
        for start in range(0, near.size, _BLOCK):
            j = near[start : start + _BLOCK]
            w[j] = self.panels.radii(i[j], share[j] * below[j], share[j] * above[j])
        return w


def _probabilities(values: ArrayLike) -> FloatArray:
    p = real_array(values, "probabilities")
    # Neither holds where one of them is not a number.
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):
        bad = p[~((p >= 0.0) & (p <= 1.0))].ravel()[0]
        raise ParameterError(
            f"An inverse CDF was asked for at the probability {bad}. Give probabilities in [0, 1]."
        )
    return p
