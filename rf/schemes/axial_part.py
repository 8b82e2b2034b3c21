r"""One positive part of a modulated Gaussian measure: its mass, draws and exact moments.

A part of the table (mass m, sign s, a Gaussian w) times a modulation a(e.w) = A + iB is a complex
measure.  With a nonnegative function f of the modulation, such as max(0, A), and the phase psi
that belongs to it, an axial part adds to the kernel

.. math:: s\,m\,E\bigl[f(e \cdot w) \cos(w \cdot D + \psi(w))\bigr].

Every moment of a part is an integral over the coordinate e.w alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from rf.sampling.coupling import Radii
from rf.schemes.axis_law import AxisLaw, stratum_ends
from rf.schemes.complex_table import Modulation, Selection
from spectra.base.arrays import FloatArray, IntArray
from spectra.base.limits import check_time
from spectra.table import FrequencySample, Part

__all__ = ["AxialPart"]

_PHASES = {"real+": 0.0, "real-": np.pi, "imaginary+": 0.5 * np.pi}
# The mean of a cosine is taken as 0 below this Gaussian factor of the other coordinates, or above
# this frequency in e.w / deviation (if f has kinks, the mean falls like frequency^-2).
_NEGLIGIBLE_FACTOR = 1e-13
_HIGHEST_FREQUENCY = 2e4
# Values held in memory at one time (32 MB).
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class AxialPart:
    """One part of a modulated measure.

    ``base``: the part of the table: a mass, a sign, a distribution of the radius; ``selection``:
    name of the nonnegative function f of the modulation; ``modulation``: shifts along one axis.
    """

    base: Part
    selection: Selection
    modulation: Modulation

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate of the Gaussian w."""
        return self.base.deviation

    @property
    def is_isotropic(self) -> bool:
        """Whether f is constant: w has the distribution of the base, and |e.w| no strata."""
        return self.modulation.is_constant(self.selection)

    @property
    def mass(self) -> float:
        """Mass m E f of the part, which is the weight of each draw."""
        return self._mass[0]

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return self._mass[1]

    def draw(
        self, n: int, rng: np.random.Generator, *, u: FloatArray | None = None
    ) -> FrequencySample:
        """Draw n frequencies: X = weight * cos(w.D + phase) is an unbiased estimate of the part.

        ``u`` (n,): probabilities of |e.w|, or of |w| if the part is isotropic, each uniform on
        [0, 1); independent by default.
        """
        u = rng.random(n) if u is None else u
        w = rng.standard_normal((n, self.modulation.axis.size))
        if self.is_isotropic:
            w *= (self.base.law.ppf(u) / np.linalg.norm(w, axis=1))[:, None]
            return self._with_phases(w)
        length = self.deviation * self._axis_law.ppf(u)
        x = np.where(rng.random(n) < 0.5, -length, length)
        if self.selection == "imaginary+":
            x = np.where(self.modulation(x).imag < 0.0, -x, x)
        w *= self.deviation
        w += np.multiply.outer(x - w @ self.modulation.axis, self.modulation.axis)
        return self._with_phases(w)

    def _with_phases(self, w: FloatArray) -> FrequencySample:
        """Add weights and phases to frequencies drawn from the part."""
        phases = np.full(len(w), _PHASES.get(self.selection, 0.0))
        if self.selection == "modulus":
            phases = np.angle(self.modulation(w @ self.modulation.axis))
        sign_phase = 0.0 if self.base.sign > 0 else np.pi
        return FrequencySample(w, np.full(len(w), self.mass), phases + sign_phase)

    def mean(self, differences: FloatArray) -> FloatArray:
        """E X at differences D, shape (n, d): what the part adds to the kernel."""
        D = np.asarray(differences, dtype=float)
        if self.is_isotropic or self.selection == "modulus":
            kernel = self._sum_shifted(D, self.modulation.steps, self.modulation.weights)
            return np.asarray(self.base.mass * self.base.sign * kernel)
        return self.mass * self.base.sign * self._mean_cosine(D, 1)

    def second_moment(self, differences: FloatArray) -> FloatArray:
        """E X^2 at differences D, shape (n, d)."""
        D = np.asarray(differences, dtype=float)
        if not self.is_isotropic:
            return np.asarray(0.5 * self.mass**2 * (1.0 + self._mean_cosine(D, 2)))
        steps, weights = self.modulation.steps, self.modulation.weights
        products = np.multiply.outer(weights, weights).ravel()
        kernel = self._sum_shifted(2.0 * D, np.add.outer(steps, steps).ravel(), products)
        return np.asarray(0.5 * (self.mass**2 + self.base.mass**2 * kernel))

    def _sum_shifted(self, D: FloatArray, steps: IntArray, weights: FloatArray) -> FloatArray:
        """Sum of weight * k(D + step unit e) over the shifts, with the Gaussian k, k(0) = 1."""
        along, decay = self._split_along_axis(D)
        x = np.add.outer(along, steps * self.modulation.unit)
        return np.asarray(decay * (np.exp(-0.5 * (self.deviation * x) ** 2) @ weights))

    def variance(
        self, differences: FloatArray, n: int = 1, radii: Radii = "iid", *, most: int | None = None
    ) -> FloatArray:
        r"""Variance of the mean of n draws at differences D, shape (n, d).

        With one |e.w| in each of n strata of equal probability, and else independent draws, it is

        .. math:: \frac1n \Bigl[E X^2 - \frac1n \sum_\ell \mu_\ell^2\Bigr], \qquad
                  \mu_\ell = E[X \mid \text{stratum } \ell] .

        ``radii``: "stratified" draws of isotropic parts are independent too; ``most``: the largest
        number of strata that is computed; for larger n the result is an upper bound.
        """
        D = np.asarray(differences, dtype=float)
        second_moment, mean = self.second_moment(D), self.mean(D)
        strata = n if most is None else min(n, most)
        if radii == "iid" or strata == 1 or self.is_isotropic:
            return np.asarray((second_moment - mean**2) / n)
        square_means, (along, decay) = np.empty(len(D)), self._split_along_axis(D)
        cuts = stratum_ends(self._axis_law, strata)
        frequency = self.deviation * float(np.abs(along).max(initial=0.0))
        g, weights = self._axis_law.rule(min(frequency, _HIGHEST_FREQUENCY), cuts)
        not_last = g < cuts[-1]
        starts = np.searchsorted(g, np.append(0.0, cuts[:-1]))
        x, weights = self.deviation * g[not_last], strata * weights[not_last, None]
        phase, scale = self._phase_at(x)[:, None], self.mass * self.base.sign * decay
        step = max(1, _CHUNK // max(x.size, 1))
        for start in range(0, len(D), step):
            check_time()
            rows = slice(start, start + step)
            values = scale[rows] * np.cos(np.multiply.outer(x, along[rows]) + phase)
            means = np.add.reduceat(values * weights, starts, axis=0)
            # The mean over all strata is known, and gives that of the last.
            last = strata * mean[rows] - means.sum(axis=0)
            square_means[rows] = (np.sum(means**2, axis=0) + last**2) / strata
        return np.asarray((second_moment - square_means) / n)

    @cached_property
    def _mass(self) -> tuple[float, float]:
        m, error = self.base.mass, self.base.mass_error
        modulation = self.modulation
        if modulation.vanishes(self.selection):
            return 0.0, 0.0
        if modulation.is_constant(self.selection):
            value = float(modulation.selected(self.selection, 0.0))
            return m * value, error * value
        law = self._axis_law
        return m * law.mass, error * law.mass + m * law.mass_error

    def _mean_cosine(self, D: FloatArray, order: int) -> FloatArray:
        """E cos(order (w.D + phase)) over the part, by quadrature along the axis."""
        along, decay = self._split_along_axis(order * D)
        kept = (decay > _NEGLIGIBLE_FACTOR) & (self.deviation * np.abs(along) < _HIGHEST_FREQUENCY)
        out = np.zeros(len(D))
        index = np.flatnonzero(kept)
        if not index.size:
            return out
        g, weights = self._axis_law.rule(self.deviation * float(np.abs(along[index]).max()))
        x = self.deviation * g
        phase = order * self._phase_at(x)
        step = max(1, _CHUNK // x.size)
        for start in range(0, index.size, step):
            check_time()
            rows = index[start : start + step]
            out[rows] = weights @ np.cos(np.multiply.outer(x, along[rows]) + phase[:, None])
        return out * decay

    def _split_along_axis(self, D: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components e.D along the axis, and the Gaussian factor of the other components."""
        along = D @ self.modulation.axis
        across = D - np.multiply.outer(along, self.modulation.axis)
        return along, np.exp(-0.5 * self.deviation**2 * np.sum(across * across, axis=1))

    def _phase_at(self, x: FloatArray) -> FloatArray:
        """Phase psi with which a draw with |e.w| = x contributes cos(x e.D + psi)."""
        if self.selection == "modulus":
            return np.angle(self.modulation(x))
        if self.selection == "imaginary+":
            # If B(x) < 0, the draw has e.w = -x and the phase pi/2: cos(-t + pi/2) = cos(t - pi/2).
            return np.where(self.modulation(x).imag < 0.0, -0.5 * np.pi, 0.5 * np.pi)
        return np.full(x.shape, _PHASES[self.selection])

    @cached_property
    def _axis_law(self) -> AxisLaw:
        return AxisLaw(
            # A partial, since parts are pickled with their cached properties.
            partial(self.modulation.selected, self.selection),
            self.modulation.kinks(self.selection),
            self.deviation * self.modulation.unit,
            int(np.abs(self.modulation.steps).max()),
        )
