"""Beating lobes far out: each frequency by itself, where the lobes of the sum have no law.

Up to a radius the positive and the negative part of a density are those of the sum.  Beyond it the
lobes of every frequency are parts by themselves: they represent the same measure, exactly, with a
little more mass, since what is positive in one wave and negative in another is kept twice.  What
does not oscillate is shared out in proportion to the amplitudes, so that a sum whose background
outweighs all its waves, as that of a positive definite kernel may, stays of one sign wave by wave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from spectra.charts import RadialSum
from spectra.density import OscillatingTail
from spectra.errors import AccuracyError
from spectra.measure.beats import BeatingTail
from spectra.measure.lobes import LobedTailMass
from spectra.numeric import FloatArray
from spectra.quadrature import Enclosure

__all__ = ["ApartTail"]

# Half waves of the highest frequency that are listed before the waves are taken apart: each more
# costs as much, and the mass that is kept twice falls like a power of their number.
_LISTED = 1_000
# The same where the sum touches zero: a double zero costs dozens of panels.
_LISTED_TOUCHING = 40
# A radius at which the sum changes sign is sought over this many half waves of the lowest one.
_SOUGHT = 8
# What is left of backgrounds below this fraction of them is rounding.
_CANCELLED = 1e-13


@dataclass(frozen=True, eq=False)
class ApartTail:
    """The tail of a sum of waves, wave by wave.

    Attributes
    ----------
    beats : BeatingTail
        The sum.
    passing : float
        A radius (of the last atom) that the waves must begin beyond.
    """

    beats: BeatingTail
    passing: float = 0.0

    @cached_property
    def waves(self) -> tuple[LobedTailMass, ...]:
        """The waves, each with its share of all that does not oscillate."""
        beats = self.beats
        smooth = tuple(c for c in beats.components if not isinstance(c.tail, OscillatingTail))
        rest = RadialSum(smooth, beats.dim) if smooth else None
        found = []
        for i, wave in enumerate(beats.waves):
            share, tail = partial(self._share, i), self._tail(i)
            found.append(LobedTailMass(wave.oscillating, rest, share=share, apart=tail))
        return tuple(found)

    def _backgrounds(self, w: FloatArray) -> FloatArray:
        """The backgrounds of the waves themselves, one row for each."""
        tails = [wave.tail for wave in self.beats.waves]
        mine = [t.background(w) for t in tails if np.isfinite(t.background_exponent)]
        return np.stack(mine) if mine else np.zeros((1, *w.shape))

    @property
    def _no_background(self) -> bool:
        """Whether the waves have none, or all of it cancels but for rounding."""
        each = self._backgrounds(self.beats.start * np.geomspace(1.0, 1e3, 7))
        return bool(np.all(np.abs(each.sum(axis=0)) <= _CANCELLED * np.abs(each).sum(axis=0)))

    def _share(self, i: int, w: FloatArray) -> FloatArray:
        """Amplitude of one wave over the sum of all amplitudes."""
        amplitudes, _ = self.beats.sizes(w.ravel())
        share = amplitudes[i] / np.sum(amplitudes, axis=0)
        return np.asarray(share.reshape(w.shape), dtype=float)

    def _tail(self, i: int) -> OscillatingTail:
        tails = [wave.tail for wave in self.beats.waves]
        own = tails[i]
        # The share falls where the amplitude falls faster than the slowest one.
        lag = own.exponent - min(t.exponent for t in tails)

        if self._no_background:
            return replace(
                own,
                start=self.beats.start,
                background=lambda w: np.zeros_like(w),
                background_exponent=np.inf,
            )

        def background(w: FloatArray) -> FloatArray:
            total: FloatArray = np.sum(self._backgrounds(w), axis=0)
            return total * self._share(i, w)

        power = min(t.background_exponent for t in tails) + lag
        return replace(
            own, start=self.beats.start, background=background, background_exponent=power
        )

    @cached_property
    def _begins(self) -> tuple[float, bool]:
        beats = self.beats
        settled = [wave.start_of(wave.first_index + 2, 1) for wave in self.waves]
        slowest = min(wave.tail.frequency for wave in beats.waves)
        first = max(*settled, beats.start, self.passing * (1.0 + 1e-9))
        waves = _SOUGHT * np.pi / slowest
        listed = _LISTED_TOUCHING if beats.touches(first, first + waves) else _LISTED
        radius = max(first, listed * np.pi / beats.fastest)
        zeros = beats.zeros(radius, radius + waves)
        return (float(zeros[0]), True) if zeros.size else (radius, False)

    @property
    def listed_to(self) -> float:
        """Radius up to which lobes of the sum are listed, and from which on the waves are apart."""
        return self._begins[0]

    @property
    def starts_at_zero(self) -> bool:
        """Whether the sum changes sign there."""
        return self._begins[1]

    def members(self, sign: int) -> tuple[tuple[LobedTailMass, int], ...]:
        """The waves that have mass of a sign, with the lobe that begins last before the start."""
        found = []
        for wave in self.waves:
            first = self._lobe_before(wave, sign)
            if wave.mass_from(first, sign).mid > 0.0:
                found.append((wave, first))
        return tuple(found)

    def _phase(self, wave: LobedTailMass) -> float:
        at = np.array([self.listed_to])
        return float(wave.tail.frequency * self.listed_to + wave.shift(at)[0])

    def _lobe_before(self, wave: LobedTailMass, sign: int) -> int:
        index = 2 * int(np.ceil(0.5 * self._phase(wave) / np.pi)) + 2 + (sign < 0)
        while wave.start_of(index, sign) > self.listed_to:
            index -= 2
        return index

    def require_listed(self, sign: int, listed: bool) -> None:
        """Refuse to make mass of a sign that the listed lobes of the sum do not have.

        Raises
        ------
        AccuracyError
            Where there is none: waves that never reach their lowest values together have a sum of
            one sign, which none of them is.
        """
        if not listed:
            raise AccuracyError(
                f"The sum of several oscillating components is of one sign up to the radius "
                f"{self.listed_to:.3g}, and its waves taken apart beyond it are not: a table of "
                f"them would have a {'positive' if sign > 0 else 'negative'} part that the measure "
                "may not have. Its masses are known; truncate it explicitly for a table."
            )

    def mass(self, sign: int) -> Enclosure:
        """Mass of all waves of one sign beyond the start."""
        total = Enclosure(0.0, 0.0)
        for wave, first in self.members(sign):
            s = np.array([float(first)])
            low = -wave.half_widths(s, sign, -1)
            high = np.minimum(self._phase(wave) - np.pi * s, wave.half_widths(s, sign, 1))
            part, error = wave.pieces(s, sign, low, high)
            before = Enclosure(float(part[0]), float(error[0]))
            total = total + wave.mass_from(first, sign) - before
        return total
