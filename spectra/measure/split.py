"""A density divided by its sign: stretches, and lobes without end beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectra.charts import RadialSum
from spectra.density import Atom, Component, OscillatingTail
from spectra.errors import ParameterError
from spectra.measure.apart import ApartTail
from spectra.measure.beats import BeatingTail
from spectra.measure.lobes import LobedTailMass
from spectra.measure.sign_intervals import Intervals, sign_intervals
from spectra.measure.stretches import Stretch, stretches_of
from spectra.numeric import FloatArray
from spectra.progress import staged
from spectra.quadrature import Enclosure

__all__ = ["ZERO", "MeasurePart", "SignSplit", "split_by_sign"]

# Lobes listed one by one at most in a truncated measure.
_MOST_LOBES = 20_000
# Sign changes listed at most on request.
_MOST_CHANGES = 1e6
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
    tail : LobedTailMass, ApartTail or None
        What describes its infinitely many further lobes, if it has them: lobes of one frequency,
        or of several that are taken apart.
    """

    sign: int
    mass: Enclosure
    atoms: tuple[Atom, ...]
    stretches: tuple[Stretch, ...]
    tail: LobedTailMass | ApartTail | None = None

    @property
    def phase(self) -> float:
        """Phase of its plane waves: 0 for the positive part, pi for the negative one."""
        return 0.0 if self.sign > 0 else float(np.pi)

    def __repr__(self) -> str:
        held = [f"{len(self.atoms)} atoms", f"{len(self.stretches)} stretches"]
        held += [] if self.tail is None else ["lobes without end"]
        return f"{'+' if self.sign > 0 else '-'} part of mass {self.mass}: {', '.join(held)}"


@dataclass(frozen=True, eq=False)
class SignSplit:
    """The absolutely continuous part, divided by sign.

    Attributes
    ----------
    density : RadialSum
        What is divided.
    intervals : tuple of Intervals
        Where it is of one sign.
    changes : ndarray
        Radii at which it changes its sign.
    stretches : tuple of Stretch
        What it weighs between them.
    tail : LobedTailMass, BeatingTail or None
        What describes the lobes that are not listed, where they have no end.
    """

    density: RadialSum
    intervals: tuple[Intervals, ...]
    changes: FloatArray
    stretches: tuple[Stretch, ...]
    tail: LobedTailMass | BeatingTail | None

    def continuous_mass(self, sign: int) -> Enclosure:
        """Mass of a sign, with what of the other may be of this one."""
        total = self.tail_mass(sign)
        for stretch in self.stretches:
            if stretch.sign == sign:
                total = total + stretch.mass
            else:
                total = total + Enclosure(0.0, stretch.doubt)
        if total.mid == 0.0 and self.density.proved_sign != -sign:
            # No stretch of this sign was seen: there may be one where the other is an error.
            unseen = self.tail_mass(-sign).rad + sum(s.mass.rad for s in self.stretches)
            total = total + Enclosure(0.0, float(unseen))
        return total

    def tail_mass(self, sign: int) -> Enclosure:
        """Mass of the lobes that are not listed."""
        return ZERO if self.tail is None else self.tail.mass(sign)

    def further_changes(self, up_to: float) -> FloatArray:
        """Sign changes among the lobes that are not listed."""
        tail = self.tail
        if tail is None or not all(m.mid >= m.rad and m.mid > 0.0 for m in map(tail.mass, (1, -1))):
            return np.empty(0)
        count = up_to * tail.fastest / np.pi
        if count > _MOST_CHANGES:
            raise ParameterError(
                f"The density changes sign infinitely often, about {count:.3g} times up to radius "
                f"{up_to:g}. Ask with a smaller up_to=..."
            )
        return tail.changes(up_to)


@staged("finding the sign changes and the mass of each sign")
def split_by_sign(
    components: tuple[Component, ...], dim: int, *, atoms: Sequence[Atom], radius: float
) -> SignSplit:
    """The sum of components, up to a radius, divided by its sign.

    The atoms are no part of it; the lobes that are not listed begin beyond them.
    """
    tails = [c.tail for c in components if isinstance(c.tail, OscillatingTail)]
    cut = radius
    tail: LobedTailMass | BeatingTail | None = None
    if np.isfinite(cut):
        waves = sum(cut * t.frequency / np.pi for t in tails)
        if waves > _MOST_LOBES:
            raise ParameterError(
                f"A truncation at radius {cut:g} leaves about {waves:.3g} lobes, more than the "
                f"{_MOST_LOBES} that are listed. Truncate at a smaller radius."
            )
    elif len(tails) == 1:
        tail = LobedTailMass.of(components, dim, max((a.radius for a in atoms), default=0.0))
    elif tails:
        tail = BeatingTail(components, dim)
    cut = cut if tail is None else tail.listed_to
    density = RadialSum(components, dim)
    intervals, changes = sign_intervals(density, cut=cut)
    return SignSplit(density, intervals, changes, stretches_of(intervals), tail)
