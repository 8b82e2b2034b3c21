"""Finite spectral measures: their masses, where they change sign, and their Jordan parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spectra.charts import RadialSum
from spectra.density import Atom, Component, OscillatingTail, SpectralDensity
from spectra.errors import AccuracyError, InfiniteMassError, ParameterError
from spectra.measure.apart import ApartTail
from spectra.measure.beats import BeatingTail
from spectra.measure.lobes import LobedTailMass
from spectra.measure.stretches import Stretch, overlap, sign_intervals, stretches_of
from spectra.measure.tails import beating_tail, frequency, why_infinite
from spectra.numeric import checked_dim, real_array
from spectra.progress import staged
from spectra.quadrature import EPS, Enclosure

if TYPE_CHECKING:
    from spectra.kernel import Kernel
    from spectra.measure.stretches import Interval

__all__ = ["MeasurePart", "SpectralMeasure", "measure_of", "truncate"]

FloatArray = NDArray[np.float64]

# Lobes listed one by one at most in a truncated measure.
_MOST_LOBES = 20_000
# Sign changes listed at most on request.
_MOST_CHANGES = 1e6
# k(0) computed as M+ - M- may miss the totals of the components by this many error bounds.
_LAW_SLACK = 8.0
ZERO = Enclosure(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class MeasurePart:
    """One sign of a measure: its mass and all that its law of radii is made of.

    Attributes
    ----------
    sign : int
        +1 or -1.
    mass : Enclosure
        Total mass of the part, positive.
    atoms : tuple of Atom
        Its atoms, with positive masses.
    stretches : tuple of Stretch
        Its absolutely continuous part by ranges of radii, ascending.
    lobes : LobedTailMass or None
        What describes its infinitely many further lobes, if it has them.
    first_lobe : int
        Index of the first of those; the others follow in steps of 2.
    apart : ApartTail or None
        What takes its further lobes apart by frequency, if several beat.
    """

    sign: int
    mass: Enclosure
    atoms: tuple[Atom, ...]
    stretches: tuple[Stretch, ...]
    lobes: LobedTailMass | None = None
    first_lobe: int = 0
    apart: ApartTail | None = None

    @property
    def phase(self) -> float:
        """Phase of its plane waves: 0 for the positive part, pi for the negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)


@dataclass(frozen=True, eq=False)
class _Split:
    """The absolutely continuous part, divided by sign."""

    components: tuple[Component, ...]
    intervals: tuple[Interval, ...]
    changes: FloatArray
    stretches: tuple[Stretch, ...]
    lobes: LobedTailMass | None
    first_lobe: int
    unresolved: Enclosure
    lobe_masses: tuple[Enclosure, Enclosure]
    beats: BeatingTail | None
    listed_to: float

    def continuous_mass(self, sign: int) -> Enclosure:
        total = self.lobe_mass(sign)
        for stretch in self.stretches:
            if stretch.sign == sign:
                total = total + stretch.mass
            elif stretch.mass.mid == 0.0:
                total = total + Enclosure(0.0, stretch.mass.rad)
        total = total + self.unresolved
        if total.mid == 0.0 and not self.is_proved_to_have(-sign):
            # No stretch of this sign was seen: there may be one where the other is an error.
            unseen = self.lobe_mass(-sign).rad + sum(s.mass.rad for s in self.stretches)
            total = total + Enclosure(0.0, float(unseen))
        return total

    def is_proved_to_have(self, sign: int) -> bool:
        """Whether formulas prove that the density has this sign wherever it is not zero."""
        return all(c.has_one_sign and np.sign(c.total) == sign for c in self.components)

    def lobe_mass(self, sign: int) -> Enclosure:
        """Mass of the lobes that are not listed."""
        return self.lobe_masses[sign < 0]


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
        Masses on spheres, no two of them on one sphere.
    density : SpectralDensity or None
        The absolutely continuous part.
    radius : float
        Radius beyond which an explicit truncation cut the density; ``inf`` without one.
    lost_mass : float
        |mu| beyond ``radius``: 0 without a truncation, ``inf`` where it is infinite.
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
        cls,
        dim: int,
        radii: ArrayLike,
        masses: ArrayLike,
        *,
        errors: ArrayLike | None = None,
        kernel: Kernel | None = None,
    ) -> SpectralMeasure:
        """Make the measure with signed masses on the spheres |w| = radii.

        Parameters
        ----------
        dim : int
            Dimension of the frequencies.
        radii, masses, errors : array_like of shape (n,)
            Radii >= 0, signed masses, and bounds of the errors of the masses.
        kernel : Kernel, optional
            What the measure stands for.

        Raises
        ------
        ParameterError
            Where shapes differ, a radius is negative, or a number is not finite.

        Examples
        --------
        >>> m = SpectralMeasure.from_atoms(3, [1.0, 2.0], [0.75, -0.25])
        >>> m.positive_mass.mid, m.negative_mass.mid, m.k_zero
        (0.75, 0.25, 0.5)
        """
        dim = checked_dim(dim)
        r = real_array(radii, "radii")
        m = real_array(masses, "masses")
        e = np.zeros_like(m) if errors is None else real_array(errors, "errors")
        if r.ndim != 1 or r.shape != m.shape or r.shape != e.shape:
            raise ParameterError(
                f"Atoms need one radius, one mass and one error each, and the shapes are "
                f"{r.shape}, {m.shape} and {e.shape}."
            )
        if not (np.all(np.isfinite(r) & np.isfinite(m) & (e >= 0)) and np.all(r >= 0)):
            raise ParameterError("Atoms need finite radii >= 0, finite masses and errors >= 0.")
        atoms, cancelled = _merged([Atom(*map(float, x)) for x in zip(r, m, e, strict=True)])
        return cls(dim, kernel, atoms, None, cancelled_atoms=cancelled)

    @property
    def components(self) -> tuple[Component, ...]:
        """Summands of the absolutely continuous part."""
        return () if self.density is None else self.density.components

    @property
    def k_zero(self) -> float:
        """k(0), the total of the signed measure; what a truncation cut off is not in it."""
        if np.isfinite(self.radius):
            return self.positive_mass.mid - self.negative_mass.mid
        return self._nominal_total

    @property
    def bias(self) -> float:
        """Bound of the error that a truncation makes in the kernel, at any distance."""
        return self.lost_mass

    @property
    def bias_at_zero(self) -> Enclosure:
        """k(0) minus the total that is left after a truncation; 0 without one."""
        if not np.isfinite(self.radius):
            return ZERO
        left = self.positive_mass - self.negative_mass
        return Enclosure(self._nominal_total - left.mid, left.rad + 4 * EPS)

    @property
    def _nominal_total(self) -> float:
        return float(sum(a.mass for a in self.atoms) + sum(c.total for c in self.components))

    @cached_property
    def positive_mass(self) -> Enclosure:
        """M+, the mass of the positive part."""
        return self._masses[0]

    @cached_property
    def negative_mass(self) -> Enclosure:
        """M-, the mass of the negative part.

        It is 0 without an error where formulas of all components prove it; where no stretch is
        negative as far as values show, it is 0 with what their errors may hide.
        """
        return self._masses[1]

    @cached_property
    def mass(self) -> Enclosure:
        """The total mass M+ + M-, which is at least |k(0)|; certified_masses proves it."""
        return self.positive_mass + self.negative_mass

    @cached_property
    @staged("finding the mass that cancels")
    def cancelled_mass(self) -> Enclosure:
        r"""Mass lost where positive and negative summands overlap, :math:`\int\min(\rho_1,\rho_2)`.

        :math:`\rho_1` and :math:`\rho_2` sum the positive and the negative values of the
        components.  Where all components decay without oscillating it is a positive integral,
        known to relative accuracy, so that 1 - M+ keeps its digits when it is 1e-300.
        """
        atoms = Enclosure(self.cancelled_atoms, 4 * EPS * self.cancelled_atoms)
        if len(self.components) < 2:
            return atoms
        if not any(isinstance(c.tail, OscillatingTail) for c in self.components):
            return atoms + overlap(self._sum, self._split.intervals)
        alone = ZERO
        for component in self.components:
            split = self._split_of((component,))
            alone = alone + split.continuous_mass(1) + split.continuous_mass(-1)
        both = alone - self._split.continuous_mass(1) - self._split.continuous_mass(-1)
        return atoms + Enclosure(0.5 * both.mid, 0.5 * both.rad)

    def sign_changes(self, *, up_to: float = np.inf) -> FloatArray:
        """Radii at which the density changes sign, ascending, up to a radius.

        Parameters
        ----------
        up_to : float
            Largest radius; needed where there are infinitely many sign changes.

        Raises
        ------
        ParameterError
            Where there are infinitely many and ``up_to`` is infinite or would list too many.
        """
        if real_array(up_to, "up_to").ndim or not up_to >= 0.0:
            raise ParameterError(f"up_to is the largest radius, >= 0, and {up_to!r} was given.")
        if not self.components:
            return np.empty(0)
        split = self._split
        found = split.changes
        if not np.isfinite(self.radius):
            found = np.concatenate([found, self._further_changes(split, up_to)])
        return np.asarray(found[found <= up_to])

    def parts(self, kind: str = "jordan") -> tuple[MeasurePart, ...]:
        """The positive and the negative part; one of zero mass is left out.

        Parameters
        ----------
        kind : str
            "jordan", or "apart": the same but where several frequencies beat.  There the lobes
            have no law, and beyond a thousand of them each frequency has parts by itself.  The
            measure is the same, exactly; the masses of its parts are a little larger.

        Raises
        ------
        ParameterError
            For another kind.
        AccuracyError
            For the Jordan parts where several frequencies beat: beyond the listed lobes no law
            describes them.
        """
        if kind not in ("jordan", "apart"):
            raise ParameterError(
                f"A radial measure was asked for its {kind!r} parts. It is real and has 'jordan' "
                "parts (phases 0 and pi), or 'apart', by frequency where lobes beat."
            )
        split = self._split if self.components else None
        apart = None
        if split is not None and split.beats is not None:
            if kind == "jordan":
                raise AccuracyError(
                    f"The density of {self.kernel} has several oscillating components, whose "
                    "lobes beat without end, so its Jordan parts have no tabulated law. Their "
                    "masses are known; parts('apart') are a decomposition of slightly larger "
                    "mass that has one, and tabulate(measure) a table of it."
                )
            apart = ApartTail(split.beats, max((a.radius for a in self.atoms), default=0.0))
            intervals, _ = sign_intervals(self._sum, cut=apart.start)
            split = replace(split, stretches=stretches_of(self._sum, intervals))
        found = []
        for sign in (1, -1):
            atoms = tuple(
                replace(a, mass=abs(a.mass)) for a in self.atoms if np.sign(a.mass) == sign
            )
            stretches: tuple[Stretch, ...] = ()
            lobes, first = None, 0
            if split is not None:
                stretches = tuple(s for s in split.stretches if s.sign == sign and s.mass.mid > 0)
                if apart is None and split.lobe_mass(sign).mid > 0:
                    lobes, first = split.lobes, split.first_lobe + (sign < 0)
            if apart is None:
                mass = self.positive_mass if sign > 0 else self.negative_mass
            else:
                mass = apart.mass(sign)
                listed = [Enclosure(a.mass, a.error) for a in atoms] + [s.mass for s in stretches]
                mass = sum(listed, mass)
            # Wave by wave, a sign that is not there may leave its rounding.
            if mass.mid > (0.0 if apart is None else mass.rad):
                if apart is not None:
                    apart.require_listed(sign, bool(stretches))
                found.append(MeasurePart(sign, mass, atoms, stretches, lobes, first, apart))
        return tuple(found)

    def __str__(self) -> str:
        name = "designed" if self.kernel is None else str(self.kernel)
        return (
            f"spectral measure of {name} on R^{self.dim}: "
            f"M+ = {self.positive_mass}, M- = {self.negative_mass}"
        )

    @property
    def _sum(self) -> RadialSum:
        return RadialSum(self.components, self.dim)

    @cached_property
    def _split(self) -> _Split:
        return self._split_of(self.components)

    @staged("finding the sign changes and the mass of each sign")
    def _split_of(self, components: tuple[Component, ...]) -> _Split:
        density = RadialSum(components, self.dim)
        oscillating = [c for c in components if isinstance(c.tail, OscillatingTail)]
        cut, unresolved, lobes, first, beats = self.radius, ZERO, None, 0, None
        if np.isfinite(cut):
            waves = sum(cut * frequency(c) / np.pi for c in oscillating)
            if waves > _MOST_LOBES:
                raise ParameterError(
                    f"A truncation at radius {cut:g} leaves about {waves:.3g} lobes, more than the "
                    f"{_MOST_LOBES} that are listed. Truncate at a smaller radius."
                )
        elif len(oscillating) == 1:
            others = tuple(c for c in components if c is not oscillating[0])
            rest = RadialSum(others, self.dim) if others else None
            last_atom = max((a.radius for a in self.atoms), default=0.0)
            lobes = LobedTailMass(oscillating[0], rest, self.dim, last_atom)
            first = lobes.first_index
            cut = lobes.start_of(first, 1)
        elif oscillating:
            beats = BeatingTail(components, self.dim)
            if beats.has_means:
                cut = beats.start
            else:
                cut, unresolved = beating_tail(components, self.dim)
        intervals, changes = sign_intervals(density, cut=cut)
        stretches = stretches_of(density, intervals)
        masses = (ZERO, ZERO)
        if lobes is not None:
            masses = (lobes.mass_from(first, 1), lobes.mass_from(first + 1, -1))
        elif beats is not None and beats.has_means:
            masses = beats.masses()
        return _Split(
            components, intervals, changes, stretches, lobes, first, unresolved, masses, beats, cut
        )

    @cached_property
    @staged("finding the masses")
    def _masses(self) -> tuple[Enclosure, Enclosure]:
        result = []
        for sign in (1, -1):
            total = ZERO
            for atom in self.atoms:
                if np.sign(atom.mass) == sign:
                    total = total + Enclosure(abs(atom.mass), atom.error)
            if self.components:
                total = total + self._split.continuous_mass(sign)
            result.append(total)
        positive, negative = result
        if not np.isfinite(self.radius):
            missed = abs(positive.mid - negative.mid - self._nominal_total)
            allowed = positive.rad + negative.rad + 8 * EPS * (positive.mid + negative.mid)
            if missed > _LAW_SLACK * allowed:
                raise AccuracyError(
                    f"M+ - M- = {positive.mid - negative.mid!r} differs from k(0) = "
                    f"{self._nominal_total!r} by {missed:.1e}, beyond the error {allowed:.1e}: a "
                    "component of the density is wrong. Report the kernel and the dimension."
                )
        return positive, negative

    def _further_changes(self, split: _Split, up_to: float) -> FloatArray:
        """Sign changes among the lobes that are not listed."""
        lobes, beats = split.lobes, split.beats
        if lobes is not None:
            endless = all(split.lobe_mass(s).mid > 0.0 for s in (1, -1))
            highest = lobes.tail.frequency
        elif beats is not None:
            masses = [split.lobe_mass(s) for s in (1, -1)]
            endless = split.unresolved.rad > 0.0 or all(m.mid > m.rad for m in masses)
            highest = beats.fastest
        else:
            return np.empty(0)
        if not endless:
            return np.empty(0)
        count = up_to * highest / np.pi
        if count > _MOST_CHANGES:
            raise ParameterError(
                f"The density changes sign infinitely often, about {count:.3g} times up to radius "
                f"{up_to:g}. Ask with a smaller up_to=..."
            )
        if lobes is not None:
            return lobes.changes(split.first_lobe, count)
        assert beats is not None
        return beats.zeros(split.listed_to, max(up_to, split.listed_to))


def measure_of(density: SpectralDensity) -> SpectralMeasure:
    """The finite measure with this density.

    Raises
    ------
    InfiniteMassError
        Where a component has infinite mass at the origin, at its end or at infinity.
    """
    for component in density.components:
        reason = why_infinite(component)
        if reason:
            raise InfiniteMassError(
                f"The spectral measure of {density.kernel} on R^{density.dim} has infinite mass: "
                f"{reason}. No positive decomposition exists; design a finite measure for your "
                "range of distances, or truncate(density, radius) and accept the recorded bias."
            )
    atoms, cancelled = _merged(density.atoms)
    return SpectralMeasure(density.dim, density.kernel, atoms, density, cancelled_atoms=cancelled)


def truncate(density: SpectralDensity, radius: float) -> SpectralMeasure:
    """The measure with all frequencies beyond a radius cut off, and a record of what that loses.

    Parameters
    ----------
    density : SpectralDensity
        Any density, of infinite mass too.
    radius : float
        Where to cut.

    Returns
    -------
    SpectralMeasure
        With ``radius``, ``lost_mass``, ``bias`` (infinite where the mass is) and ``bias_at_zero``.

    Raises
    ------
    ParameterError
        Where the radius is not positive and finite, or leaves too many lobes.
    """
    if not (np.isfinite(radius) and radius > 0):
        raise ParameterError(f"A truncation needs a finite radius greater than 0, not {radius}.")
    kept, cancelled = _merged([a for a in density.atoms if a.radius <= radius])
    beyond = sum(abs(a.mass) for a in density.atoms if a.radius > radius)
    cut = SpectralMeasure(
        density.dim, density.kernel, kept, density, radius=float(radius), cancelled_atoms=cancelled
    )
    if any(why_infinite(c) for c in density.components):
        return replace(cut, lost_mass=np.inf)
    whole = measure_of(replace(density, atoms=()))
    part = replace(cut, atoms=(), cancelled_atoms=0.0)
    lost = whole.mass - part.mass
    return replace(cut, lost_mass=beyond + max(lost.mid, 0.0) + lost.rad)


def _merged(atoms: Sequence[Atom]) -> tuple[tuple[Atom, ...], float]:
    """One atom for each radius, and the mass that cancelled."""
    by_radius: dict[float, list[Atom]] = {}
    for atom in atoms:
        by_radius.setdefault(atom.radius, []).append(atom)
    merged, cancelled = [], 0.0
    for radius in sorted(by_radius):
        group = by_radius[radius]
        mass = float(np.sum([a.mass for a in group]))
        size = float(np.sum([abs(a.mass) for a in group]))
        cancelled += 0.5 * (size - abs(mass))
        if mass != 0.0:
            rounding = EPS * size if len(group) > 1 else 0.0
            merged.append(Atom(radius, mass, sum(a.error for a in group) + rounding))
    return tuple(merged), cancelled
