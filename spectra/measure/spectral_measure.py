"""Finite signed spectral measures: masses, sign changes, and Jordan parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.accuracy import EPS, NEGLIGIBLE, NOISE, VALUE
from spectra.base.enclosures import Enclosure
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, checked_dim, real_array
from spectra.base.piecewise import Piecewise
from spectra.density.components import Atom, Component, SpectralDensity, proved_sign
from spectra.errors import AccuracyError, ParameterError
from spectra.measure.certified import CertifiedMasses, proved_masses
from spectra.measure.panels import ZERO, SignedDensity, fit_signed
from spectra.measure.waves import (
    constant_sign,
    oscillating_masses,
    radius_for_masses,
    split_tail,
    tail_waves,
)
from spectra.table.parts import PHASES, Part
from spectra.table.radial_law import RadialLaw
from spectra.table.wave_tail import WaveSum, WaveTail

if TYPE_CHECKING:
    from spectra.kernels.kernel import Kernel
from spectra.errors import InfiniteMassError

__all__ = ["SpectralMeasure", "measure_of", "merge_atoms", "truncate"]

# A finite range of radii may contain at most this many sign changes.
_MOST_CHANGES = 20_000


@dataclass(frozen=True, eq=False)
class SpectralMeasure:
    r"""A finite signed measure :math:`\mu` of frequencies on R^dim, invariant under rotations.

    .. math:: k(z) = \int_0^\infty \Omega_d(w z)\,\rho(w)\,dw + \sum_{atoms} m\,\Omega_d(r z),
              \qquad M_+ - M_- = k(0), \quad \|\mu\| = M_+ + M_-

    Here :math:`\Omega_d(w z)` is the mean of the plane wave over all directions of a frequency of
    length w.  Use :func:`measure_of` or :func:`truncate` to make the measure of a density.

    Attributes
    ----------
    dim : int
        Dimension of the frequencies.
    kernel : Kernel or None
        The kernel that the measure represents; None if it was made from atoms without a kernel.
    atoms : tuple of Atom
        Masses on spheres |w| = r; their radii r are distinct.
    density : SpectralDensity or None
        The absolutely continuous part.
    radius : float
        Radius at which the density was truncated; ``inf`` without a truncation.
    lost_mass : float
        Total mass that a truncation removed, which may be ``inf``; or an estimate of the mass by
        which an interpolant of samples differs from their spectrum.
    cancelled_atoms : float
        Mass that cancelled between atoms of one radius and opposite signs.
    missing : float
        Mass beyond the samples of a spectrum, which is no part of the measure.
    """

    dim: int
    kernel: Kernel | None
    atoms: tuple[Atom, ...]
    density: SpectralDensity | None
    radius: float = np.inf
    lost_mass: float = 0.0
    cancelled_atoms: float = 0.0
    missing: float = 0.0

    @classmethod
    def from_atoms(
        cls, dim: int, radii: ArrayLike, masses: ArrayLike, *, kernel: Kernel | None = None
    ) -> SpectralMeasure:
        """Make the measure with signed masses on the spheres |w| = radii.

        Parameters
        ----------
        dim : int
            Dimension of the frequencies.
        radii, masses : array_like of shape (n,)
            Finite radii >= 0 and finite signed masses.
        kernel : Kernel, optional
            The kernel whose spectral measure this is.

        Examples
        --------
        >>> m = SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25])
        >>> m.positive_mass.mid, m.negative_mass.mid, m.k_zero
        (0.75, 0.25, 0.5)
        """
        dim = checked_dim(dim)
        r = real_array(radii, "radii")
        m = real_array(masses, "masses")
        if r.ndim != 1 or r.shape != m.shape:
            raise ParameterError(
                f"radii and masses must be one-dimensional and equally long; their shapes are "
                f"{r.shape} and {m.shape}."
            )
        if not (np.all(np.isfinite(r) & np.isfinite(m)) and np.all(r >= 0)):
            raise ParameterError("Atoms need finite radii >= 0 and finite masses.")
        pairs = zip(r.tolist(), m.tolist(), strict=True)
        atoms, cancelled = merge_atoms([Atom(radius, mass, 0.0) for radius, mass in pairs])
        return cls(dim, kernel, atoms, None, cancelled_atoms=cancelled)

    @property
    def components(self) -> tuple[Component, ...]:
        """Summands of the absolutely continuous part."""
        return () if self.density is None else self.density.components

    @property
    def k_zero(self) -> float:
        """The signed total M+ - M-, which is k(0) unless the measure was truncated."""
        if np.isfinite(self.radius):
            return self.positive_mass.mid - self.negative_mass.mid
        return self._sum_of_totals

    @property
    def bias(self) -> float:
        """Bound of sup_z |k(z) - transform of this measure|: the lost mass."""
        return self.lost_mass

    @property
    def name(self) -> str:
        """The kernel or the given spectrum as text; "designed" for a measure made from atoms."""
        return str(self.kernel or (self.density and self.density.name) or "designed")

    @property
    def _sum_of_totals(self) -> float:
        return float(sum(a.mass for a in self.atoms) + sum(c.total for c in self.components))

    @cached_property
    def positive_mass(self) -> Enclosure:
        """M+, the mass of the positive part."""
        return self._masses[0]

    @cached_property
    def negative_mass(self) -> Enclosure:
        """M-, the mass of the negative part; exactly 0 if the formulas prove that."""
        return self._masses[1]

    @cached_property
    def mass(self) -> Enclosure:
        """The total mass M+ + M- of the Jordan parts, which is at least |k(0)|.

        If the density has an oscillating tail, frequencies are drawn from parts of slightly larger
        mass, see :meth:`parts`.
        """
        return self.positive_mass + self.negative_mass

    @cached_property
    @staged("finding the mass that cancels")
    def cancelled_mass(self) -> Enclosure:
        r"""Mass that cancels between summands of the density: :math:`\int\min(\rho_1,\rho_2)`.

        :math:`\rho_1` is the sum of their positive parts, :math:`\rho_2` of their negative parts.
        The total masses of the summands exceed that of the measure by twice this mass.
        """
        excess = -replace(self, atoms=()).mass if self.density else ZERO
        for component in self.components:
            assert self.density is not None
            summand = replace(self.density, components=(component,))
            excess = excess + replace(self, atoms=(), density=summand).mass
        atoms = Enclosure(self.cancelled_atoms, 4 * EPS * self.cancelled_atoms)
        return atoms + Enclosure(max(0.5 * excess.mid, 0.0), 0.5 * excess.rad)

    def sign_changes(self, *, up_to: float = np.inf) -> FloatArray:
        """Radii at which the density changes sign, ascending, up to a radius.

        Parameters
        ----------
        up_to : float
            Largest radius.  Required if the density changes its sign infinitely often.
        """
        if real_array(up_to, "up_to").ndim or not up_to >= 0.0:
            raise ParameterError(f"up_to must be a radius >= 0; got {up_to!r}.")
        if not self.components:
            return np.empty(0)
        signed, fitted_to = self._signed, self._fit_radius
        is_beyond_fit = self._oscillates and up_to > fitted_to
        if is_beyond_fit and not constant_sign(tail_waves(self.components, fitted_to)):
            self._require_few_changes(up_to)
            signed = fit_signed(self.components, self.dim, cut=up_to)
        radii = signed.sign_changes()
        return radii[radii <= up_to]

    def parts(self) -> tuple[Part, ...]:
        """The positive and the negative part that frequencies are drawn from, if they have mass.

        They are the Jordan parts, of masses :attr:`positive_mass` and :attr:`negative_mass`, unless
        the density rho changes its sign infinitely often.  Then they are the Jordan parts up to a
        radius W, and (rho + g)^2/(4g) and (rho - g)^2/(4g) beyond it, with a power g of the radius.
        The difference of the parts is still the measure.  Their mass exceeds that of the Jordan
        parts by at most 0.4 % for one frequency of oscillation, and 1 % for several.
        """
        return self._parts

    @cached_property
    @staged("splitting the measure by sign")
    def _parts(self) -> tuple[Part, ...]:
        signed = self._signed if self.components else None
        tails: dict[int, WaveSum] = {}
        if self._oscillates:
            last_atom = max((a.radius for a in self.atoms), default=0.0)
            tails, tail_error = split_tail(self.components, last_atom, self.mass.mid)
            radius = max(tail.start for tail in tails.values())
            if radius != self._fit_radius:
                signed = self._fit_to(radius)
        parts = []
        for sign, phase in PHASES.items():
            series = None if signed is None else signed.part(sign)
            tail = tails.get(sign)
            mass = self.positive_mass if sign > 0 else self.negative_mass
            if self._oscillates and signed is not None:
                mass = self._mass_of_atoms(sign) + signed.mass(sign)
                mass = mass if tail is None else mass + Enclosure(tail.mass, tail_error)
            if mass.mid > 0.0:
                if tail is not None and series is None:
                    raise AccuracyError(
                        f"The density has no {'positive' if sign > 0 else 'negative'} values up to "
                        f"the radius {tail.start:.3g}, but its oscillating tail may have some. "
                        "The masses of the measure are known; to make a table, truncate it."
                    )
                atoms = [(a.radius, abs(a.mass)) for a in self.atoms if np.sign(a.mass) == sign]
                points = Piecewise.points(*np.reshape(atoms, (-1, 2)).T)
                panels_of_part = points if series is None else Piecewise.join([series, points])
                parts.append(Part(mass.mid, mass.rad, phase, _normalize(panels_of_part, tail)))
        return tuple(parts)

    def covariance(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The kernel of this measure at distances z, and bounds of its errors.

        Errors include the lost mass, but not what is ``missing`` beyond samples.

        Examples
        --------
        >>> from spectra import radial, spectral_measure
        >>> measure = spectral_measure(radial("exp(-z**2/2)"), 3)
        >>> values, errors = measure.covariance([0.0, 1.0])
        >>> values.round(12), bool(errors.max() < 1e-12)
        (array([1.        , 0.60653066]), True)
        """
        z = real_array(z, "The distances")
        values, errors = np.zeros_like(z), np.full_like(z, self.bias)
        for part in self.parts():
            wave, error = part.law.plane_wave_enclosure(self.dim, z)
            values += part.sign * part.mass * wave
            errors += part.mass * error + part.mass_error
        return values, errors

    def variogram(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """k(0) - k(z) at distances z, and bounds of its errors; see :meth:`covariance`."""
        z = real_array(z, "The distances")
        at_zero, error_at_zero = self.covariance(np.zeros(()))
        values, errors = self.covariance(z)
        return at_zero - values, np.where(z == 0.0, 0.0, errors + error_at_zero)

    def certified(self) -> CertifiedMasses:
        """Masses with rigorous error bounds from ball arithmetic, see docs/proofs.md.

        Available for signed sums of constants, Matern kernels, and Gaussian kernels times
        polynomials in z^2, and for closed forms whose densities all have the same sign.

        Raises
        ------
        NoRouteError
            For every other measure; :attr:`mass` has an estimate of its error.

        Examples
        --------
        >>> from spectra import radial, spectral_measure
        >>> print(spectral_measure(radial("exp(-z**2/2)"), 3).certified().mass)
        1 ± 0.0e+00 (proved)
        """
        return proved_masses(repr(self), self.density, self.radius)

    def __repr__(self) -> str:
        cut = f" up to |w| = {self.radius:g}" if np.isfinite(self.radius) else ""
        return f"SpectralMeasure of {self.name} on R^{self.dim}{cut}"

    def __str__(self) -> str:
        return (
            f"spectral measure of {self.name} on R^{self.dim}: "
            f"M+ = {self.positive_mass}, M- = {self.negative_mass}"
        )

    @property
    def _oscillates(self) -> bool:
        """Whether the density has an oscillating tail up to infinity."""
        return not np.isfinite(self.radius) and any(c.tail is not None for c in self.components)

    @cached_property
    def _fit_radius(self) -> float:
        """Where panels end: at the truncation, or where :func:`oscillating_masses` goes on."""
        if self._oscillates:
            return radius_for_masses(self.components)
        if np.isfinite(self.radius):
            self._require_few_changes(self.radius)
        return self.radius

    def _require_few_changes(self, radius: float) -> None:
        frequencies = [c.tail.frequency for c in self.components if c.tail is not None]
        count = radius * max(frequencies, default=0.0) / np.pi
        if count > _MOST_CHANGES:
            raise ParameterError(
                f"The density changes its sign infinitely often, about {count:.3g} times up to the "
                f"radius {radius:g}, and the limit is {_MOST_CHANGES}. Choose a smaller radius."
            )

    @cached_property
    @staged("finding the sign changes and the mass of each sign")
    def _signed(self) -> SignedDensity:
        """The density up to :attr:`_fit_radius`, on panels of constant sign."""
        return self._fit_to(self._fit_radius)

    def _fit_to(self, radius: float) -> SignedDensity:
        """The density up to a radius; the radii of atoms are edges of panels."""
        edges = [a.radius for a in self.atoms]
        return fit_signed(self.components, self.dim, cut=radius, extra_edges=edges)

    def _mass_of_atoms(self, sign: int) -> Enclosure:
        same_sign = (a for a in self.atoms if np.sign(a.mass) == sign)
        return sum((Enclosure(abs(a.mass), a.error) for a in same_sign), ZERO)

    def _continuous_mass(self, sign: int, masses: dict[int, Enclosure]) -> Enclosure:
        """Mass of a sign without atoms; ``masses`` is empty unless the density oscillates."""
        if proved_sign(self.components) == -sign:
            return ZERO
        signed = self._signed
        total = signed.mass(sign)
        if masses:
            total = masses[sign]
            if not np.any(signed.sign == sign) and total.mid <= total.rad:
                total = ZERO
            sign_error = signed.sign_error[signed.sign != sign].sum()
            total = total + Enclosure(0.0, float(sign_error))
        if total.mid == 0.0:
            # Rounding errors of panels of the other sign may hide values of this sign.
            total = total + Enclosure(0.0, signed.mass(-sign).rad)
        return total

    @cached_property
    @staged("finding the masses")
    def _masses(self) -> tuple[Enclosure, Enclosure]:
        masses: dict[int, Enclosure] = {}
        if self._oscillates:
            masses = oscillating_masses(self.components, self._signed, self._fit_radius)
        positive, negative = map(self._mass_of_atoms, (1, -1))
        if self.components:
            positive += self._continuous_mass(1, masses)
            negative += self._continuous_mass(-1, masses)
        if not np.isfinite(self.radius):
            difference = abs(positive.mid - negative.mid - self._sum_of_totals)
            allowed = positive.rad + negative.rad + VALUE * (positive.mid + negative.mid)
            if not difference <= 2.0 * NOISE * allowed:
                raise AccuracyError(
                    f"M+ - M- = {positive.mid - negative.mid!r} differs from k(0) = "
                    f"{self._sum_of_totals!r} by {difference:.1e}, more than the error bound "
                    f"{allowed:.1e}. The density is wrong: report the kernel and the dimension."
                )
        return positive, negative


def _normalize(panels: Piecewise, tail: WaveSum | None) -> RadialLaw:
    """The distribution of radii proportional to a density on panels and in a tail beyond them."""
    near, far = float(panels.masses.sum()), 0.0 if tail is None else tail.mass
    if tail is None or far <= NEGLIGIBLE * (near + far):
        return RadialLaw(panels.scaled(1.0 / near))
    total = near + far
    return RadialLaw(panels.scaled(1.0 / total), WaveTail(tail.scaled(1.0 / total)))


def merge_atoms(atoms: Sequence[Atom]) -> tuple[tuple[Atom, ...], float]:
    """Merge atoms of equal radius; also returns the mass that cancels between them."""
    merged, cancelled = [], 0.0
    key = attrgetter("radius")
    for radius, same in groupby(sorted(atoms, key=key), key=key):
        group = list(same)
        mass = float(np.sum([a.mass for a in group]))
        size = float(np.sum([abs(a.mass) for a in group]))
        cancelled += 0.5 * (size - abs(mass))
        if mass != 0.0:
            rounding = EPS * size if len(group) > 1 else 0.0
            merged.append(Atom(radius, mass, sum(a.error for a in group) + rounding))
    return tuple(merged), cancelled


def measure_of(density: SpectralDensity) -> SpectralMeasure:
    """The measure with this density; raises an InfiniteMassError if its mass is infinite."""
    for component in density.components:
        reason = _why_infinite(component)
        if reason:
            raise InfiniteMassError(
                f"The spectral measure of {density.name} on R^{density.dim} has infinite mass: "
                f"{reason}. No positive decomposition exists. Design a finite measure for your "
                "distances (design)."
            )
    atoms, cancelled = merge_atoms(density.atoms)
    return SpectralMeasure(density.dim, density.kernel, atoms, density, cancelled_atoms=cancelled)


def truncate(density: SpectralDensity, radius: float) -> SpectralMeasure:
    """The measure restricted to frequencies up to a radius; it stores the mass that this removes.

    The mass of the density may be infinite; ``lost_mass`` and ``bias`` are then infinite.  Raises a
    ParameterError if the radius is not positive and finite, or if there are too many sign changes.
    """
    if real_array(radius, "the radius").ndim or not (np.isfinite(radius) and radius > 0):
        raise ParameterError(f"A truncation needs a finite radius greater than 0; got {radius}.")
    kept, cancelled = merge_atoms([a for a in density.atoms if a.radius <= radius])
    beyond = sum(abs(a.mass) for a in density.atoms if a.radius > radius)
    cut = SpectralMeasure(
        density.dim, density.kernel, kept, density, radius=float(radius), cancelled_atoms=cancelled
    )
    if any(_why_infinite(c) for c in density.components):
        return replace(cut, lost_mass=np.inf)
    whole = measure_of(replace(density, atoms=()))
    lost = whole.mass - replace(cut, atoms=()).mass
    return replace(cut, lost_mass=beyond + max(lost.mid, 0.0) + lost.rad)


def _why_infinite(component: Component) -> str:
    """Explain why the mass of a component is infinite; an empty text if it is finite."""
    if component.origin_exponent <= -1:
        return f"it behaves like w^({component.origin_exponent:g}) at w = 0"
    for radius, exponent in component.breaks:
        if exponent <= -1:
            return f"it grows like |w - R|^({exponent:g}) at w = R = {radius:g}"
    if component.decay <= 1:
        tail = component.tail
        waves = "" if tail is None else f"oscillates with frequency {tail.frequency:g} and "
        return f"it {waves}behaves like w^({-component.decay:g}) at infinity"
    return ""
