"""A probability distribution of the radius: accurate quantiles in both tails, draws, expectations.

The density is given on panels (see :mod:`spectra.base.piecewise`), which may be points, and
optionally by an oscillating tail beyond them.  The class computes with u = F(w) to the left of a
split near u = 1/2, and with q = 1 - u to the right of it, so that both tails keep their relative
precision.  A *key* is u on the left and -q on the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from spectra.base.accuracy import NOISE, PROBABILITY, SAME
from spectra.base.arrays import FloatArray, IntArray, frozen_array, reduce_to_fields
from spectra.base.bessel import plane_wave_mean
from spectra.base.fitting import fit
from spectra.base.numbers import checked_dim, random_source, real_array, whole_number
from spectra.base.piecewise import Piecewise
from spectra.errors import AccuracyError, ParameterError
from spectra.table.fast_quantiles import EvaluateBins, EvaluatePieces, fit_quantiles
from spectra.table.panel_integrals import (
    CellNodes,
    integrate_plane_wave,
    integration_nodes,
    prepare_cells,
)
from spectra.table.wave_tail import WaveTail

__all__ = ["RadialLaw", "Seed"]

BoolArray = NDArray[np.bool_]
Seed = np.random.Generator | np.random.SeedSequence | int | None

# Numbers of draws computed at a time, so that all arrays stay in the second-level cache.
_BLOCK = 1 << 13
# Largest accepted phase w z at the median radius w; cosines lose all digits well below it.
_MOST_PHASE = 1e100
# From this number of distances between two powers of 2, waves are interpolated, with this error.
_MANY, _INTERPOLATION_ERROR = 128, 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class RadialLaw:
    r"""A probability distribution of a radius w >= 0: discrete, continuous or mixed.

    Parameters
    ----------
    panels : Piecewise
        The density of the radius.
    tail : WaveTail, optional
        The density beyond the panels if it oscillates up to infinity.

    Examples
    --------
    >>> uniform = RadialLaw(Piecewise([[0.0, 1.0, 0.0, 0.0, 1.0]], [[1.0]]))   # on [0, 1]
    >>> uniform.ppf([0.0, 0.25, 1.0])
    array([0.  , 0.25, 1.  ])
    """

    panels: Piecewise
    tail: WaveTail | None = None

    def __repr__(self) -> str:
        waves = "" if self.tail is None else " and an oscillating tail"
        return f"{self.panels.size} panels{waves}"

    def __post_init__(self) -> None:
        mass = 0.0 if self.tail is None else self.tail.mass
        total = math.fsum(self.panels.masses) + mass
        if np.any(self.panels.masses < 0.0):
            raise ParameterError("A panel of a radial law has a mass below 0.")
        if abs(total - 1.0) > SAME or not self.panels.size:
            raise ParameterError(
                f"The masses of a radial law add up to {total}, not to 1: some probability is "
                "missing or counted twice."
            )
        last = float(self.panels.high[-1])
        if self.tail is not None and last > self.tail.start * (1.0 + SAME):
            raise ParameterError(
                f"The panels of a radial law end at the radius {last}, beyond the start of its "
                f"tail, {self.tail.start}."
            )

    __reduce__ = reduce_to_fields

    @classmethod
    def from_atoms(cls, radii: ArrayLike, probabilities: ArrayLike) -> Self:
        """Discrete distribution of ``radii`` with ``probabilities`` (each > 0, with the sum 1)."""
        w = frozen_array(radii, "atom radii", 1)
        p = frozen_array(probabilities, "atom probabilities", 1)
        if w.shape != p.shape or not w.size or np.any(p <= 0.0) or abs(p.sum() - 1.0) > PROBABILITY:
            raise ParameterError(
                f"Atoms need as many radii as positive probabilities that add up to 1; got "
                f"{w.size} radii and {p.size} probabilities of sum {p.sum()}."
            )
        order = np.argsort(w, kind="stable")
        law = cls(Piecewise.points(w[order], p[order] / math.fsum(p)))
        if np.any(np.diff(law.edges) <= 0.0):
            raise ParameterError(
                f"An atom of probability {p.min():.3g} vanishes in the rounding error of the sum, "
                "so it could never be drawn. Leave it out."
            )
        return law

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray, int]:
        """Probabilities below and above each edge of panels, and the index of the split."""
        masses = self.panels.masses
        tail_mass = 0.0 if self.tail is None else self.tail.mass
        u = np.append(0.0, np.cumsum(masses))
        q = np.append(tail_mass + np.cumsum(masses[::-1])[::-1], tail_mass)
        # A tail belongs to the right side.
        k = int(np.argmin(np.abs(u[: u.size - (tail_mass > 0.0)] - 0.5)))
        u[k] = 1.0 if k == masses.size else u[k]
        # A mass above the split may be below its rounding.
        q[k] = max(1.0 - u[k], *q[k + 1 : k + 2])
        return u, q, k

    @property
    def split(self) -> float:
        """Probability u of the split: the edge of a panel that is nearest to 1/2."""
        u, _, k = self._sums
        return float(u[k])

    @cached_property
    def edges(self) -> FloatArray:
        """Keys of the edges of panels, ascending: -q of the right side, then u of the left side."""
        u, q, k = self._sums
        # Keys in the tail ascend from -tail.mass to 0, the key of an infinite radius.
        infinity = [] if self.tail is None else [np.zeros(1)]
        return np.concatenate([-q[k:], *infinity, u[1 : k + 1]])

    @property
    def upper(self) -> float:
        """Largest radius of the support; may be infinite."""
        return float("inf") if self.tail is not None else float(self.panels.high[-1])

    def ppf(self, u: ArrayLike) -> FloatArray:
        """Radius below which the probability is u: the inverse CDF.

        Near u = 1, :meth:`isf` is more accurate.
        """
        return self._quantiles(_probabilities(u), lambda u: (u - (u >= self.split), u == 1.0))

    def isf(self, q: ArrayLike) -> FloatArray:
        """Radius above which the probability is q: the inverse of the survival function."""

        def find_keys(q: FloatArray) -> tuple[FloatArray, BoolArray]:
            u = 1.0 - q
            # If all panels are on the left, the largest radius has the key 1, not 0.
            is_last = q == 0.0 if self.split < 1.0 else u == 1.0
            return np.where(u >= self.split, -q, u), is_last

        return self._quantiles(_probabilities(q), find_keys)

    def cdf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii up to w, the inverse of :meth:`ppf`."""
        return self._evaluate(w, "cdf")

    def sf(self, w: ArrayLike) -> FloatArray:
        """Probability of radii above w, with a small relative error."""
        return self._evaluate(w, "sf")

    def pdf(self, w: ArrayLike) -> FloatArray:
        """Density of the radius at w; infinite at an atom."""
        return self._evaluate(w, "pdf")

    def _evaluate(self, w: ArrayLike, name: str) -> FloatArray:
        """Values of the method with this name."""
        w = real_array(w, "radii")
        if np.any(np.isnan(w)):
            raise ParameterError("A radius is not a number (nan).")
        flat = np.maximum(w.ravel(), 0.0)
        u, q, k = self._sums
        i = self.panels.panel_at(flat)
        below, above, density = self.panels.cumulative(i, flat)
        below, above = u[i] + below, q[i + 1] + above
        if self.tail is not None:
            far = np.flatnonzero(flat >= self.tail.start)
            above[far], i[far] = np.minimum(self.tail.sf(flat[far]), self.tail.mass), k
            far = far[np.isfinite(flat[far])]
            density[far] = self.tail.pdf(flat[far])
        # The smaller of the two is accurate, the other one is its complement.
        left = i < k
        below, above = np.where(left, below, 1.0 - above), np.where(left, 1.0 - below, above)
        values = {"cdf": below, "sf": above, "pdf": np.where(np.isinf(flat), 0.0, density)}[name]
        # At w < 0 the probability above is 1; the probability below and the density are 0.
        return np.where(w < 0.0, float(name == "sf"), values.reshape(w.shape))

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Seed = None) -> FloatArray:
        """Independent radii: quantiles of uniform doubles drawn from ``random_state``."""
        shape = size if isinstance(size, tuple) else (size,)
        counts = [whole_number(n, "size", least=0, why=", or a tuple of them") for n in shape]
        whole_number(math.prod(counts), "The product of the sizes", least=0)
        return self.ppf(random_source(random_state, "random_state").random(counts))

    def draw(self, dim: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent frequencies of uniform direction, shape (size, dim)."""
        directions = rng.standard_normal((size, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.asarray(directions * self.rvs(size, rng)[:, None])

    def characteristic_function(self, differences: FloatArray) -> tuple[FloatArray, FloatArray]:
        """E cos(w.D) at differences D of shape (..., dim), and an estimate of the error."""
        return self.plane_wave_enclosure(
            differences.shape[-1], np.asarray(np.linalg.norm(differences, axis=-1))
        )

    def expected_plane_wave(self, dim: int, z: ArrayLike) -> FloatArray:
        r"""Expected plane wave :math:`E\,\Omega_d(w z)` at distances z in dimension d = dim >= 1.

        :func:`~spectra.base.bessel.plane_wave_mean` is Omega_d.  Errors are about 1e-13.
        """
        return self.plane_wave_enclosure(dim, z)[0]

    def plane_wave_enclosure(self, dim: int, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Values of :meth:`expected_plane_wave` and an estimate of their absolute errors."""
        z = np.asarray(z, dtype=float)
        dim = checked_dim(dim)
        if not np.all((z >= 0.0) & np.isfinite(z)):
            raise ParameterError("Distances must be finite and not negative.")
        if np.any(z * min(self._median, 1.0) > _MOST_PHASE / max(self._median, 1.0)):
            raise ParameterError(
                f"The distance {float(z.max()):.3g} is more than 1e100 times the inverse of the "
                f"median radius {self._median:.3g}. Rescale the distances or the kernel."
            )
        flat = z.ravel()
        value, error, octaves = np.empty(flat.size), np.empty(flat.size), np.frexp(flat)[1]
        missing = np.ones(flat.size, dtype=bool)
        for octave, count in zip(*np.unique(octaves[flat > 0.0], return_counts=True), strict=True):
            if count < _MANY:
                continue
            with suppress(AccuracyError):  # more panels are needed than pay
                wave = _wave_in_octave(self, dim, int(octave), int(np.log2(count / _MANY)))
                rows = (octaves == octave) & (flat > 0.0)
                value[rows], missing[rows] = wave(flat[rows]), False
                error[rows] = NOISE * wave.errors.max() + _INTERPOLATION_ERROR
        value[missing], error[missing] = self._plane_wave(dim, flat[missing])
        return value.reshape(z.shape), error.reshape(z.shape)

    def _plane_wave(self, dim: int, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The plane wave and its error at distances of shape (n,), without interpolation."""
        value, error = integrate_plane_wave(self.panels, self._cells, dim, z)
        if self.tail is not None:
            tail, tail_error = self.tail.plane_wave_enclosure(dim, z)
            return value + tail, error + tail_error
        return value, error

    def plane_wave_slope(self, dim: int, z: FloatArray) -> FloatArray:
        r"""k'(z)/z for the expected plane wave k in dimension d = dim, and 0 at z = 0.

        It is :math:`-E[w^2 \Omega_{d+2}(w z)]/d` if nodes have all radii; else the derivative of
        polynomials in log z, with an error of about 1e-11/z^2.
        """
        slope = np.zeros(z.shape)
        radii, weights, left_out = self.nodes(float(z.max(initial=0.0)))
        if left_out == 0.0:
            for w, weight in zip(radii, weights, strict=True):
                slope -= weight * w**2 / dim * plane_wave_mean(dim + 2, w * z)
            return np.where(z > 0.0, slope, 0.0)
        octaves = np.frexp(z)[1]
        for octave in np.unique(octaves[z > 0.0]):
            rows, wave = (octaves == octave) & (z > 0.0), _wave_in_octave(self, dim, int(octave))
            series = legendre.legder(wave.series, axis=1) / wave.half_widths[:, None]
            slope[rows] = Piecewise(wave.charts, series)(z[rows]) / z[rows] ** 2
        return slope

    def nodes(self, z_max: float = 0.0) -> tuple[FloatArray, FloatArray, float]:
        """Radii and weights such that ``sum(weights * f(radii))`` is E f(w), for f = cos(w z).

        They are accurate for 0 <= z <= z_max.  Also returns the probability that has no nodes: that
        of an oscillating tail, and of radii so large that cos(w z_max) is not resolved.
        """
        if not (z_max >= 0.0 and np.isfinite(z_max)):
            raise ParameterError(f"The largest distance must be finite and >= 0; got {z_max}.")
        radii, weights, left_out = integration_nodes(self.panels, self._cells, z_max)
        return radii, weights, left_out + (0.0 if self.tail is None else self.tail.mass)

    @cached_property
    def _median(self) -> float:
        return float(self.ppf(0.5))

    @cached_property
    def _cells(self) -> CellNodes:
        """The cells of :mod:`spectra.table.panel_integrals`, with nodes."""
        return prepare_cells(self.panels)

    @cached_property
    def _fast_quantiles(self) -> tuple[EvaluateBins, EvaluatePieces]:
        """Two functions for fast draws, fitted to the panels at the first draw."""
        mass = 0.0 if self.tail is None else self.tail.mass
        return fit_quantiles(self.radii_by_panels, self._radii_between, self.edges, tail_mass=mass)

    def _quantiles(
        self, values: FloatArray, find_keys: Callable[[FloatArray], tuple[FloatArray, BoolArray]]
    ) -> FloatArray:
        """Radii at probabilities; ``find_keys`` returns their keys, and where q = 0."""
        # Adding 0 turns a first edge of -0 into 0: a radius of 0 there must not become -0.
        flat, first = np.ravel(values), self.edges[0] + 0.0
        out, (evaluate_bins, evaluate_pieces) = np.empty(flat.size), self._fast_quantiles
        missing_indices, missing_keys = [np.zeros(0, np.intp)], [np.zeros(0)]
        for start in range(0, flat.size, _BLOCK):
            key, is_last = find_keys(flat[start : start + _BLOCK])
            key[is_last] = first
            # A key may be smaller than the first edge by a rounding error.
            np.maximum(key, first, out=key)
            radii = out[start : start + _BLOCK]
            missing = evaluate_bins(key, radii, flat.size)
            radii[is_last] = self.upper
            missing = missing[~is_last[missing]]
            missing_indices.append(start + missing)
            missing_keys.append(key[missing])
        missing, key = np.concatenate(missing_indices), np.concatenate(missing_keys)
        w = evaluate_pieces(key)
        no_piece = np.isnan(w)
        w[no_piece] = self.radii_by_panels(key[no_piece])
        out[missing] = w
        return out.reshape(np.shape(values))

    def radii_by_panels(self, key: FloatArray) -> FloatArray:
        """Radii at keys from the panels and the tail, without the polynomials for fast draws."""
        flat = key.ravel()
        i = np.clip(np.searchsorted(self.edges, flat, side="right") - 1, 0, self.edges.size - 2)
        w = self._radii_between(i, flat - self.edges[i], self.edges[i + 1] - flat)
        return w.reshape(key.shape)

    def _radii_between(self, i: IntArray, below: FloatArray, above: FloatArray) -> FloatArray:
        """Radii at the keys ``edges[i] + below``, which are also ``edges[i + 1] - above``."""
        _, _, k = self._sums
        right = self.panels.size - k
        panel = np.where(i < right, i + k, i - right - (self.tail is not None))
        width = self.edges[i + 1] - self.edges[i]
        scale = self.panels.masses[panel] / np.where(width > 0.0, width, 1.0)
        w = np.empty(i.size)
        near = np.arange(i.size)
        if self.tail is not None:
            near, far = np.flatnonzero(i != right), np.flatnonzero(i == right)
            w[far] = self.tail.isf(np.maximum(above[far], 0.0))
        for start in range(0, near.size, _BLOCK):
            j = near[start : start + _BLOCK]
            w[j] = self.panels.inverse(panel[j], scale[j] * below[j], scale[j] * above[j])
        return w


@lru_cache(maxsize=1024)
def _wave_in_octave(law: RadialLaw, dim: int, octave: int, halvings: int = 12) -> Piecewise:
    """The plane wave as polynomials in log z, for z from 2^(octave - 1) to 2^octave."""

    def sample(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        value, error = law._plane_wave(dim, np.exp(t.ravel()))
        return value.reshape(t.shape), error.reshape(t.shape), np.zeros(len(t))

    edges = np.log(2.0) * np.array([octave - 1.0, octave])
    options: Any = {"tolerance": 0.0, "absolute": _INTERPOLATION_ERROR, "bisections": halvings}
    return fit(sample, edges, **options)


def _probabilities(values: ArrayLike) -> FloatArray:
    """Check that values are probabilities."""
    p = real_array(values, "probabilities")
    # Both comparisons are false for nan.
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):
        bad = p[~((p >= 0.0) & (p <= 1.0))].ravel()[0]
        raise ParameterError(f"A probability must be in [0, 1]; got {bad}.")
    return p
