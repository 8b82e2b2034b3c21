"""Finite spectral measures: their masses, where they change sign, and their Jordan parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spectra.base.enclosures import EPS, Enclosure
from spectra.base.limits import staged
from spectra.base.numbers import FloatArray, checked_dim, real_array
from spectra.density.charts import proved_sign
from spectra.density.components import Atom, Component, SpectralDensity
from spectra.errors import AccuracyError, ParameterError
from spectra.measure.oscillating.wave_masses import masses_by_window, window_radius
from spectra.measure.oscillating.wave_split import sign_of, split_beyond, waves_of
from spectra.measure.panels import (
    ZERO,
    SignedPanels,
    mass_of_sign,
    panels_of_sign,
    radial_panels,
    sign_changes,
)
from spectra.table.parts import PHASES, Part
from spectra.table.radial.panels import Panels
from spectra.table.radial.radial_law import RadialLaw
from spectra.table.tails.wave_sum import WaveSum
from spectra.table.tails.wave_tail import WaveTail

if TYPE_CHECKING:
    from spectra.certified import CertifiedMasses
    from spectra.kernels.kernel import Kernel

__all__ = ["SpectralMeasure", "merged_atoms"]

# k(0) computed as M+ - M- may miss the totals of the components by this many error bounds.
_LAW_SLACK = 8.0
# Sign changes listed at most, in a truncated measure and on request.
_MOST_CHANGES = 20_000
# A generator draws multiples of 2^-53: a tail of less than this is never drawn from.
_NEVER_DRAWN = 2.0**-64


@dataclass(frozen=True, eq=False)
class SpectralMeasure:
    r"""A finite signed measure of frequencies, rotation invariant, on R^dim.

    .. math:: k(z) = \int_0^\infty \Omega_d(w z)\,\rho(w)\,dw + \sum_{atoms} m\,\Omega_d(r z),
              \qquad M_+ - M_- = k(0), \quad \|\mu\| = M_+ + M_-

    Finite by construction: :func:`measure_of` refuses a density of infinite mass, and
    :func:`truncate` says what it cuts off.

    Attributes
    ----------
    dim : int
        Dimension of the frequencies.
    kernel : Kernel or None
        The kernel that it represents (None for a designed measure).
    atoms : tuple of Atom
        Masses on spheres, one for each radius.
    density : SpectralDensity or None
        The absolutely continuous part.
    radius : float
        Radius at which the density was truncated; ``inf`` without a truncation.
    lost_mass : float
        |mu| beyond ``radius``; it may be ``inf``.
    bias : float
        Bound of sup_z |k(z) - transform of this measure|, which is ``lost_mass``.
    """

    dim: int
    kernel: Kernel | None
    atoms: tuple[Atom, ...]
    density: SpectralDensity | None
    radius: float = np.inf
    lost_mass: float = 0.0
    cancelled_atoms: float = 0.0

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
            What the measure stands for.

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
                f"Atoms need one radius and one mass each, and the shapes are {r.shape} and "
                f"{m.shape}."
            )
        if not (np.all(np.isfinite(r) & np.isfinite(m)) and np.all(r >= 0)):
            raise ParameterError("Atoms need finite radii >= 0 and finite masses.")
        pairs = zip(r.tolist(), m.tolist(), strict=True)
        atoms, cancelled = merged_atoms([Atom(radius, mass, 0.0) for radius, mass in pairs])
        return cls(dim, kernel, atoms, None, cancelled_atoms=cancelled)

    @property
    def components(self) -> tuple[Component, ...]:
        """Summands of the absolutely continuous part."""
        return () if self.density is None else self.density.components

    @property
    def k_zero(self) -> float:
        """k(0), the total of the signed measure, after a truncation."""
        if np.isfinite(self.radius):
            return self.positive_mass.mid - self.negative_mass.mid
        return self._nominal_total

    @property
    def bias(self) -> float:
        """Bound of the error that a truncation makes in the kernel, at any distance."""
        return self.lost_mass

    @property
    def _nominal_total(self) -> float:
        return float(sum(a.mass for a in self.atoms) + sum(c.total for c in self.components))

    @cached_property
    def positive_mass(self) -> Enclosure:
        """M+, the mass of the positive part."""
        return self._masses[0]

    @cached_property
    def negative_mass(self) -> Enclosure:
        """M-, the mass of the negative part; 0 without an error if the formulas prove it."""
        return self._masses[1]

    @cached_property
    def mass(self) -> Enclosure:
        """The total mass M+ + M-, which is at least |k(0)|; :meth:`certified` proves it.

        It is the mass of the Jordan parts.  If the density oscillates without end, frequencies are
        drawn from parts of slightly larger mass, see :meth:`parts`.
        """
        return self.positive_mass + self.negative_mass

    @cached_property
    @staged("finding the mass that cancels")
    def cancelled_mass(self) -> Enclosure:
        r"""Mass lost where positive and negative summands overlap, :math:`\int\min(\rho_1,\rho_2)`.

        :math:`\rho_1` and :math:`\rho_2` sum the positive and the negative values of the
        components: half of what their masses exceed the mass of the measure by.
        """
        both = -replace(self, atoms=()).mass if self.density else ZERO
        for component in self.components:
            assert self.density is not None
            alone = replace(self.density, components=(component,))
            both = both + replace(self, atoms=(), density=alone).mass
        atoms = Enclosure(self.cancelled_atoms, 4 * EPS * self.cancelled_atoms)
        return atoms + Enclosure(max(0.5 * both.mid, 0.0), 0.5 * both.rad)

    def sign_changes(self, *, up_to: float = np.inf) -> FloatArray:
        """Radii at which the density changes sign, ascending, up to a radius.

        Parameters
        ----------
        up_to : float
            Largest radius; needed if there are infinitely many sign changes, and not too large.
        """
        if real_array(up_to, "up_to").ndim or not up_to >= 0.0:
            raise ParameterError(f"up_to is the largest radius, >= 0, and {up_to!r} was given.")
        if not self.components:
            return np.empty(0)
        panels, listed_to = self._listed, self._listed_to
        further = self._oscillates and up_to > listed_to
        if further and not sign_of(waves_of(self.components, listed_to)):
            self._require_few_changes(up_to)
            panels = radial_panels(self.components, self.dim, cut=up_to)
        found = sign_changes(panels)
        return np.asarray(found[found <= up_to])

    @cached_property
    @staged("splitting the measure by sign")
    def _parts(self) -> tuple[Part, ...]:
        panels = self._listed if self.components else None
        waves: dict[int, WaveSum] = {}
        if self._oscillates:
            atom = max((a.radius for a in self.atoms), default=0.0)
            waves, error = split_beyond(self.components, atom, self.mass.mid)
            radius = max(part.start for part in waves.values())
            if radius != self._listed_to:
                panels = self._fit_to(radius)
        found = []
        for sign, phase in PHASES.items():
            own = None if panels is None else panels_of_sign(panels, sign)
            beyond = waves.get(sign)
            mass = self.positive_mass if sign > 0 else self.negative_mass
            if self._oscillates and panels is not None:
                mass = self._mass_of_atoms(sign) + mass_of_sign(panels, sign)
                mass = mass if beyond is None else mass + Enclosure(beyond.mass, error)
            if mass.mid > 0.0:
                if beyond is not None and own is None:
                    raise AccuracyError(
                        f"The density has no {'positive' if sign > 0 else 'negative'} values up to "
                        f"the radius {beyond.start:.3g}, and its waves may have some beyond. Its "
                        "masses are known; truncate it for a table."
                    )
                atoms = [(a.radius, abs(a.mass)) for a in self.atoms if np.sign(a.mass) == sign]
                points = Panels.points(*np.reshape(atoms, (-1, 2)).T)
                law = _find_law(points if own is None else Panels.joined([own, points]), beyond)
                found.append(Part(mass.mid, mass.rad, phase, law))
        return tuple(found)

    def parts(self, kind: str = "jordan") -> tuple[Part, ...]:
        """The positive and the negative part that frequencies are drawn from, if they have mass.

        They are the Jordan parts, of masses :attr:`positive_mass` and :attr:`negative_mass`, unless
        the density changes its sign infinitely often.  Then they are the Jordan parts up to a
        radius W, and (rho + k)^2/(4k) and (rho - k)^2/(4k) beyond it, with a power k of the radius.
        Their difference is exactly the measure, and their mass exceeds the mass of the Jordan
        parts by up to .4 % for one frequency of oscillation, and 1 % for several.

        ``kind`` is "jordan", the only kind of a real measure.
        """
        if kind != "jordan":
            raise ParameterError(
                f"A radial measure was asked for its {kind!r} parts. It is real, and its parts are "
                "'jordan', the positive and the negative one."
            )
        return self._parts

    def certified(self) -> CertifiedMasses:
        """The masses with a proof in ball arithmetic, as enclosures: docs/proofs.md.

        Proofs cover signed sums of Gaussian (times polynomials in z^2) and Matern kernels and
        constants, and closed forms whose densities all have one sign.

        Raises
        ------
        NoRouteError
            For every other measure; :attr:`mass` is an estimate with a stated error.

        Examples
        --------
        >>> from spectra import radial, spectral_measure
        >>> print(spectral_measure(radial("exp(-z**2/2)"), 3).certified().mass)
        1 ± 0.0e+00 (proved)
        """
        from spectra.certified import proved_masses

        return proved_masses(self)

    def __repr__(self) -> str:
        name = "a design" if self.kernel is None else str(self.kernel)
        cut = f" up to |w| = {self.radius:g}" if np.isfinite(self.radius) else ""
        return f"SpectralMeasure of {name} on R^{self.dim}{cut}"

    def __str__(self) -> str:
        name = "designed" if self.kernel is None else str(self.kernel)
        return (
            f"spectral measure of {name} on R^{self.dim}: "
            f"M+ = {self.positive_mass}, M- = {self.negative_mass}"
        )

    @property
    def _oscillates(self) -> bool:
        """Whether the density oscillates without end."""
        return not np.isfinite(self.radius) and any(c.tail is not None for c in self.components)

    @cached_property
    def _listed_to(self) -> float:
        """Radius up to which the density is fitted; infinite for all of it."""
        if self._oscillates:
            return window_radius(self.components)
        if np.isfinite(self.radius):
            self._require_few_changes(self.radius)
        return self.radius

    def _require_few_changes(self, radius: float) -> None:
        frequencies = [c.tail.frequency for c in self.components if c.tail is not None]
        count = radius * max(frequencies, default=0.0) / np.pi
        if count > _MOST_CHANGES:
            raise ParameterError(
                f"The density changes its sign infinitely often, about {count:.3g} times up to the "
                f"radius {radius:g}: more than the {_MOST_CHANGES} that are listed. Take a smaller "
                "radius."
            )

    @cached_property
    @staged("finding the sign changes and the mass of each sign")
    def _listed(self) -> SignedPanels:
        """The density on panels of one sign; oscillations up to :attr:`_listed_to`."""
        return self._fit_to(self._listed_to)

    def _fit_to(self, radius: float) -> SignedPanels:
        """The density up to a radius; panels end at the atoms."""
        ends = [a.radius for a in self.atoms]
        return radial_panels(self.components, self.dim, cut=radius, ends=ends)

    def _mass_of_atoms(self, sign: int) -> Enclosure:
        own = (a for a in self.atoms if np.sign(a.mass) == sign)
        return sum((Enclosure(abs(a.mass), a.error) for a in own), ZERO)

    def _continuous_mass(self, sign: int, windowed: dict[int, Enclosure]) -> Enclosure:
        """Mass of a sign without atoms."""
        if proved_sign(self.components) == -sign:
            return ZERO
        panels = self._listed
        total = mass_of_sign(panels, sign)
        if windowed:
            total = windowed[sign]
            if not np.any(panels["sign"] == sign) and total.mid <= total.rad:
                total = ZERO
            doubt = panels["doubts"][panels["sign"] != sign].sum()
            total = total + Enclosure(0.0, float(doubt))
        if total.mid == 0.0:
            # Panels of this sign may be hidden by the errors of the other sign.
            total = total + Enclosure(0.0, mass_of_sign(panels, -sign).rad)
        return total

    @cached_property
    @staged("finding the masses")
    def _masses(self) -> tuple[Enclosure, Enclosure]:
        windowed: dict[int, Enclosure] = {}
        if self._oscillates:
            windowed = masses_by_window(self.components, self._listed, self._listed_to)
        positive, negative = map(self._mass_of_atoms, (1, -1))
        if self.components:
            positive += self._continuous_mass(1, windowed)
            negative += self._continuous_mass(-1, windowed)
        if not np.isfinite(self.radius):
            missed = abs(positive.mid - negative.mid - self._nominal_total)
            allowed = positive.rad + negative.rad + 8 * EPS * (positive.mid + negative.mid)
            if not missed <= _LAW_SLACK * allowed:
                raise AccuracyError(
                    f"M+ - M- = {positive.mid - negative.mid!r} differs from k(0) = "
                    f"{self._nominal_total!r} by {missed:.1e}, beyond the error {allowed:.1e}: a "
                    "component of the density is wrong. Report the kernel and the dimension."
                )
        return positive, negative


def _find_law(panels: Panels, waves: WaveSum | None) -> RadialLaw:
    """The law of the radii of a part: panels, and a sum of waves beyond them."""
    near, far = float(panels.masses.sum()), 0.0 if waves is None else waves.mass
    if waves is None or far <= _NEVER_DRAWN * (near + far):
        return RadialLaw(panels.scaled(1.0 / near))
    total = near + far
    return RadialLaw(panels.scaled(1.0 / total), WaveTail(waves.scaled(1.0 / total)))


def merged_atoms(atoms: Sequence[Atom]) -> tuple[tuple[Atom, ...], float]:
    """One atom for each radius, and the mass that cancelled."""
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
