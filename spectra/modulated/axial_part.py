r"""One positive part of a modulated spectral measure: its mass, its draws, its exact moments.

A radial part (mass m, sign s, an isotropic law of w) times a modulation a(e.w) = A + iB is the
complex measure s m a(e.w) law(dw).  A part selects f >= 0 of the modulation and adds to the kernel

.. math:: m\,E\bigl[f(e \cdot w) \cos(w \cdot D + \theta(w))\bigr].

With the Fourier series of f every moment of a part is a sum of values of the radial kernel of the
law at the distances |D + n t e|: no integral over R^d is needed.  Numpy and scipy only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Literal, final

import numpy as np

from spectra.errors import AccuracyError, ParameterError
from spectra.modulated.axial_rejection import AxialProposal
from spectra.modulated.axis_law import AxisLaw
from spectra.modulated.modulation import Modulation, Selection
from spectra.modulated.radial_interpolant import RadialInterpolant
from spectra.special import plane_wave_mean
from spectra.table import Part, RadialLaw
from spectra.table.arrays import ComplexArray, FloatArray, IntArray

__all__ = ["AxialPart", "Draws", "PartKind"]

#: What :class:`AxialPart` samples; "weighted" leaves the law isotropic and weighs draws by |a|.
PartKind = Literal["real+", "real-", "imaginary+", "modulus", "weighted"]

_PHASES = {"real+": 0.0, "real-": np.pi, "imaginary+": 0.5 * np.pi}
# Harmonics are added until what is left is below these shares of the mass: moments need only be
# right to what an experiment can see.
_MASS_ERROR = 1e-12
MOMENT_ERROR = 1e-8
# Up to this many values of a radial kernel are integrated one by one.
_FEW = 256
_FIRST_HARMONICS = 16
_LAST_HARMONICS = 1 << 10
# Pairs of (difference, harmonic) of one block.
_BLOCK = 1 << 18
# Rejection needs 1 / acceptance proposals for a draw; below this acceptance it is refused.
LEAST_ACCEPTANCE = 1e-4
_PROPOSALS = 1 << 16
# Rejection that needs this many times its expected number of proposals is not what it says it is.
_PATIENCE = 100.0


@final
@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of one part: X = amplitude * cos(w.D + phase) has the mean of the part.

    Attributes
    ----------
    frequencies : ndarray of shape (n, d)
    amplitudes, phases : ndarray of shape (n,)
    """

    frequencies: FloatArray
    amplitudes: FloatArray
    phases: FloatArray


@final
@dataclass(frozen=True, eq=False)
class AxialPart:
    """One part of a modulated measure.

    Parameters
    ----------
    base : Part
        The radial part that is modulated: its mass, sign and law of radii.
    modulation : Modulation
    kind : str
        What is sampled; see :data:`PartKind`.
    gaussian : float
        Standard deviation of a coordinate of the base law where that is Gaussian, else 0.
    """

    base: Part
    modulation: Modulation
    kind: PartKind
    gaussian: float = 0.0

    @property
    def dim(self) -> int:
        """Dimension of the frequencies."""
        return int(self.modulation.axis.size)

    @property
    def is_isotropic(self) -> bool:
        """Whether the law of w is that of the base, so that every coupling of radii applies."""
        return self.kind == "weighted" or self.modulation.is_constant(self.kind)

    @property
    def mass(self) -> float:
        """Mass of the part, E|X|'s bound: m E f; for "weighted", m times the root of E|a|^2."""
        return self._mass[0]

    @property
    def mass_error(self) -> float:
        """Bound of the error of :attr:`mass`."""
        return self._mass[1]

    @property
    def can_be_drawn(self) -> bool:
        """Whether there is an exact sampler: always for a Gaussian, else where enough is kept."""
        return self.has_layers or self._acceptance >= LEAST_ACCEPTANCE

    def draw(self, n: int, rng: np.random.Generator, *, u: FloatArray | None = None) -> Draws:
        """Draw n frequencies, independent or with given probabilities of :meth:`coordinate`.

        Parameters
        ----------
        n : int
        rng : numpy.random.Generator
        u : ndarray of shape (n,), optional
            Each uniform on [0, 1), as one in each of n layers of equal probability; independent
            ones by default.  A part without layers leaves them unread.

        Raises
        ------
        AccuracyError
            Where rejection would keep less than one proposal in ten thousand.
        """
        if not self.has_layers:
            return self.draws_of(self._rejected(n, rng))
        coordinate = self.coordinate(rng.random(n) if u is None else u)
        w = rng.standard_normal((n, self.dim))
        if self.is_isotropic:
            w *= (coordinate / np.linalg.norm(w, axis=1))[:, None]
            return self.draws_of(w)
        x = np.where(rng.random(n) < 0.5, -coordinate, coordinate)
        if self.kind == "imaginary+":
            x = np.where(self.modulation(x).imag < 0.0, -x, x)
        w *= self.gaussian
        w += np.multiply.outer(x - w @ self.modulation.axis, self.modulation.axis)
        return self.draws_of(w)

    @property
    def has_layers(self) -> bool:
        """Whether draws can be laid over layers of :meth:`coordinate`: not those by rejection."""
        return self.is_isotropic or self.gaussian > 0.0

    @property
    def breaks(self) -> FloatArray:
        """Probabilities in (0, 1) at which :meth:`coordinate` has kinks that its law does not show.

        Those of a radius are jumps of its law, which knows them; these are zeros of a modulation.
        """
        return np.zeros(0) if self.is_isotropic else self._axis_law.breaks

    def coordinate(self, u: FloatArray) -> FloatArray:
        """Quantiles of what layers are of: the radius, or |e.w| where a Gaussian is modulated."""
        if self.is_isotropic:
            return self.base.law.ppf(u)
        return self.gaussian * self._axis_law.ppf(u)

    def mean_given(self, coordinate: FloatArray, differences: FloatArray) -> FloatArray:
        r"""Mean of X at differences D, shape (m, d), given the coordinate of the draw.

        For a radius R and the multiplier :math:`a(x) = \sum_j c_j e^{i t_j x}` it is
        :math:`\pm m \sum_j c_j \Omega_d(R |D + t_j e|)`.  For a coordinate x along the axis the
        others are Gaussian, and leave :math:`e^{-\sigma^2 |D_\perp|^2 / 2}` times a cosine of
        x e.D, or a sine.

        Returns
        -------
        ndarray of shape (len(coordinate), m)
        """
        D = np.asarray(differences, dtype=float)
        if self.is_isotropic:
            out = np.zeros((coordinate.size, len(D)))
            for offset, weight in zip(
                self.modulation.offsets, self.modulation.weights, strict=True
            ):
                z = np.linalg.norm(D + offset, axis=1)
                out += weight * plane_wave_mean(self.dim, np.multiply.outer(coordinate, z))
            return np.asarray(self.base.mass * self.base.sign * out)
        along = D @ self.modulation.axis
        across = D - np.multiply.outer(along, self.modulation.axis)
        left = (
            self.mass
            * self.base.sign
            * np.exp(-0.5 * self.gaussian**2 * np.sum(across * across, axis=1))
        )
        value = self.modulation(coordinate)
        if self.kind == "imaginary+":
            # A draw at x or -x, wherever the imaginary part is positive.
            turn = np.where(value.imag < 0.0, -0.5 * np.pi, 0.5 * np.pi)
        else:
            turn = (
                np.angle(value)
                if self.kind == "modulus"
                else np.full(value.shape, _PHASES[self.kind])
            )
        return np.asarray(left * np.cos(np.multiply.outer(coordinate, along) + turn[:, None]))

    def draws_of(self, w: FloatArray) -> Draws:
        """Amplitudes and phases of frequencies that have the law of the part."""
        turn = 0.0 if self.base.sign > 0 else np.pi
        amplitudes = np.full(len(w), self.mass)
        if self.kind in ("modulus", "weighted"):
            value = self.modulation(w @ self.modulation.axis)
            if self.kind == "weighted":
                amplitudes = self.base.mass * np.abs(value)
            return Draws(w, amplitudes, np.angle(value) + turn)
        return Draws(w, amplitudes, np.full(len(w), _PHASES[self.kind] + turn))

    def mean(self, differences: FloatArray) -> FloatArray:
        """E X at differences D, shape (n, d): what the part adds to the kernel."""
        scale = self.base.mass * self.base.sign
        if self.kind in ("modulus", "weighted"):
            steps, weights = self.modulation.steps, self.modulation.weights
            value = self._sum(differences, steps, weights.astype(complex)).real
            return np.asarray(scale * value)
        series = self._series(self._selection, differences)
        turned = np.exp(1j * _PHASES[self.kind]) * self._sum(differences, *series)
        return np.asarray(scale * turned.real)

    def second_moment(self, differences: FloatArray) -> FloatArray:
        """E X^2 at differences D, shape (n, d)."""
        double = 2.0 * np.asarray(differences, dtype=float)
        m = self.base.mass
        if self.kind == "weighted":
            steps, weights = self.modulation.steps, self.modulation.weights
            products = np.multiply.outer(weights, weights).ravel()
            sums = np.add.outer(steps, steps).ravel()
            waves = self._sum(double, sums, products.astype(complex)).real
            return np.asarray(0.5 * (self.mass**2 + m**2 * waves))
        if self.kind == "modulus":
            count = self._count(double)
            series = self.modulation.squared_phase(count)
            waves = self._sum(double, np.arange(-count, count + 1), series).real
        else:
            sign = np.cos(2.0 * _PHASES[self.kind])
            waves = sign * self._sum(double, *self._series(self._selection, double)).real
        return np.asarray(0.5 * self.mass * (self.mass + m * waves))

    def variance(self, differences: FloatArray) -> FloatArray:
        """Variance of one draw X at differences D, shape (n, d)."""
        return self.second_moment(differences) - self.mean(differences) ** 2

    # --- masses and sums over harmonics ------------------------------------------------------

    @cached_property
    def _mass(self) -> tuple[float, float]:
        m, error = self.base.mass, self.base.mass_error
        modulation = self.modulation
        if self.kind == "weighted":
            weights, steps = modulation.weights, modulation.steps
            gaps = np.abs(np.subtract.outer(steps, steps)) * modulation.unit
            wave, bound = self._kernel(np.asarray(gaps.ravel(), dtype=float))
            products = np.multiply.outer(weights, weights).ravel()
            root = float(np.sqrt(products @ wave))
            return m * root, error * root + m * float(np.abs(products) @ bound) / root
        if modulation.vanishes(self.kind):
            return 0.0, 0.0
        if modulation.is_constant(self.kind):
            value = float(modulation.selected(self.kind, 0.0))
            return m * value, error * value
        if self.gaussian > 0.0:
            law = self._axis_law
            return m * law.mass, error * law.mass + m * law.mass_error
        count = self._harmonics(_MASS_ERROR)
        orders = np.arange(-count, count + 1)
        series = modulation.fourier(self.kind, count)
        wave, bound = (
            np.concatenate([half[:0:-1], half])
            for half in self._kernel(
                np.asarray(np.arange(count + 1) * modulation.unit, dtype=float)
            )
        )
        value = float(series.real @ wave)
        size = np.abs(series)
        # Harmonics fall like n^-2, and what is left out is bounded by that and the last waves.
        fall = float(np.max(size * orders.astype(float) ** 2))
        left_out = 2.0 * fall / count * float(np.abs(wave[: count // 2]).max())
        rounding = 1e-15 * float(size.sum())
        return m * value, error * abs(value) + m * (float(size @ bound) + left_out + rounding)

    @cached_property
    def _axis_law(self) -> AxisLaw:
        kind = self._selection
        return AxisLaw(
            # Not a function made here: the law is kept with the part, and parts are pickled.
            partial(self.modulation.selected, kind),
            self.modulation.turns(kind),
            self.gaussian * self.modulation.unit,
            int(np.abs(self.modulation.steps).max()),
        )

    @property
    def _selection(self) -> Selection:
        if self.kind == "weighted":
            raise ParameterError("A weighted part selects nothing of its modulation.")
        return self.kind

    @property
    def _acceptance(self) -> float:
        return self.mass / (self.base.mass * self._proposal.total)

    def _harmonics(self, tolerance: float) -> int:
        """Harmonics after which the series of a selection is below the tolerance."""
        count = _FIRST_HARMONICS
        while count < _LAST_HARMONICS:
            orders = np.arange(count // 2, count + 1, max(1, count // 32))
            wave, bound = self._kernel(np.asarray(orders * self.modulation.unit))
            # Harmonics of a function with kinks fall like n^-2, so their tail is near 1 / count.
            if np.all(np.abs(wave) <= np.maximum(tolerance * count, bound)):
                break
            count *= 2
        return count

    @cached_property
    def _moment_harmonics(self) -> int:
        return self._harmonics(MOMENT_ERROR)

    def _count(self, differences: FloatArray) -> int:
        """Harmonics that reach the same distances from D."""
        reach = float(np.abs(differences @ self.modulation.axis).max(initial=0.0))
        return self._moment_harmonics + int(np.ceil(reach / self.modulation.unit))

    def _series(
        self, selection: Selection, differences: FloatArray
    ) -> tuple[IntArray, ComplexArray]:
        count = self._count(differences)
        return np.arange(-count, count + 1), self.modulation.fourier(selection, count)

    def _sum(
        self, differences: FloatArray, steps: IntArray, coefficients: ComplexArray
    ) -> ComplexArray:
        """Sum over steps of coefficient * k~(|D + step unit e|), k~ the kernel of the law."""
        D = np.asarray(differences, dtype=float)
        along = D @ self.modulation.axis
        across = D - np.multiply.outer(along, self.modulation.axis)
        square = np.sum(across * across, axis=1)
        out = np.empty(len(D), dtype=complex)
        rows = max(1, _BLOCK // len(steps))
        for start in range(0, len(D), rows):
            block = slice(start, start + rows)
            x = np.add.outer(along[block], steps * self.modulation.unit)
            z = np.sqrt(x * x + square[block, None])
            out[block] = self._many(z.ravel()).reshape(z.shape) @ coefficients
        return out

    def _many(self, z: FloatArray) -> FloatArray:
        """Values of the radial kernel; many of them through a table in the distance."""
        if self.gaussian > 0.0 or z.size <= _FEW:
            return self._kernel(z)[0]
        # A power of two, so that a few tables serve all calls.
        reach = 2.0 ** np.ceil(np.log2(z.max()))
        return _tabulated(self.base.law, self.dim, float(reach))(z)

    def _kernel(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean plane wave of the base law and its error bound."""
        if self.gaussian > 0.0:
            return np.exp(-0.5 * (self.gaussian * z) ** 2), np.full(z.shape, 4e-16)
        return self.base.law.plane_wave_enclosure(self.dim, z)

    # --- samplers ----------------------------------------------------------------------------

    @cached_property
    def _proposal(self) -> AxialProposal:
        modulation, kind = self.modulation, self._selection
        turns = modulation.turns(kind)
        starts_at_zero = kind == "imaginary+"
        start = 0.0
        if not starts_at_zero and modulation.selected(kind, 0.0) == 0.0 and turns.size:
            start, starts_at_zero = float(turns[0]) / modulation.unit, True
        slope = float(np.abs(modulation.steps * modulation.weights).sum()) * modulation.unit
        return AxialProposal(
            self.base.law,
            self.dim,
            # Rounding of the zero must not cut the support.
            start * (1.0 - 1e-12),
            modulation.bound,
            slope * (1.0 + 1e-9) if starts_at_zero else np.inf,
        )

    def _rejected(self, n: int, rng: np.random.Generator) -> FloatArray:
        acceptance, proposal, axis = self._acceptance, self._proposal, self.modulation.axis
        if acceptance < LEAST_ACCEPTANCE:
            raise AccuracyError(
                f"A part of mass {self.mass:.3g} is drawn by rejection, which would need "
                f"{1 / acceptance:.1g} proposals for a draw. Raise `negligible` so that the part "
                "is left out, or take the polar decomposition."
            )
        kept: list[FloatArray] = []
        missing, budget = n, _PATIENCE * (n + 10.0) / acceptance
        while missing > 0:
            size = int(min(_PROPOSALS, 1.1 * missing / acceptance + 16))
            budget -= size
            if budget < 0.0:
                raise AccuracyError(
                    f"Rejection kept far fewer than the predicted share {acceptance:.3g} of its "
                    "proposals, so the mass of the part is wrong. Report this kernel."
                )
            radii, cosines, levels = proposal.propose(size, rng)
            x = radii * cosines
            chosen = levels < self.modulation.selected(self._selection, self.modulation.unit * x)
            radii, x = radii[chosen][:missing], x[chosen][:missing]
            if self.kind == "imaginary+":
                x = np.where(self.modulation(x).imag < 0.0, -x, x)
            w = rng.standard_normal((x.size, self.dim))
            w -= np.multiply.outer(w @ axis, axis)
            if self.dim > 1:
                across = np.sqrt((radii - np.abs(x)) * (radii + np.abs(x)))
                w *= (across / np.linalg.norm(w, axis=1))[:, None]
            w += np.multiply.outer(x, axis)
            kept.append(w)
            missing -= x.size
        return np.concatenate(kept)


@lru_cache(maxsize=32)
def _tabulated(law: RadialLaw, dim: int, z_max: float) -> RadialInterpolant:
    def function(z: FloatArray) -> FloatArray:
        return law.expected_plane_wave(dim, z)

    return RadialInterpolant.of(function, z_max, MOMENT_ERROR)
