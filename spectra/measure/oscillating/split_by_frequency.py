"""Beating lobes far out: each frequency by itself, where the lobes of the sum have no law.

Up to a radius the positive and the negative part of a density are those of the sum.  Beyond it the
lobes of every frequency are parts by themselves: they represent the same measure, exactly, with a
little more mass, since what is positive in one wave and negative in another is kept twice.  What
does not oscillate is shared out in proportion to the amplitudes, so that a sum whose background
outweighs all its waves, as that of a positive definite kernel may, stays of one sign wave by wave.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from spectra.base.numbers import FloatArray
from spectra.density.components import OscillatingTail
from spectra.measure.oscillating.one_frequency import LobedTailMass
from spectra.measure.oscillating.several_frequencies import BeatingTail

__all__ = ["taken_apart"]

# Half waves of the highest frequency that are listed before the waves are taken apart: each more
# costs as much, and the mass that is kept twice falls like a power of their number.
_LISTED = 1_000
# The same where the sum touches zero: a double zero costs dozens of panels.
_LISTED_TOUCHING = 40
# A radius at which the sum changes sign is sought over this many half waves of the lowest one.
_SOUGHT = 8
# What is left of backgrounds below this fraction of them is rounding.
_CANCELLED = 1e-13


def taken_apart(beats: BeatingTail, passing: float) -> tuple[LobedTailMass, ...]:
    """The waves of a sum, which begin at one radius, each with its share of all else.

    Parameters
    ----------
    beats : BeatingTail
        The sum.
    passing : float
        A radius (of the last atom) that the waves must begin beyond.
    """
    rest = beats.waves[0].rest
    waves = [
        replace(wave, rest=rest, share=partial(_share, beats, i), tail=_tail(beats, i))
        for i, wave in enumerate(beats.waves)
    ]
    settled = [wave.start_of(wave.first_index + 2, 1) for wave in waves]
    slowest = min(wave.fastest for wave in waves)
    first = max(*settled, beats.start, passing * (1.0 + 1e-9))
    sought = _SOUGHT * np.pi / slowest
    listed = _LISTED_TOUCHING if beats.touches(first, first + sought) else _LISTED
    radius = max(first, listed * np.pi / beats.fastest)
    zeros = beats.zeros(radius, radius + sought)
    begins = float(zeros[0]) if zeros.size else radius
    return tuple(replace(w, begins=begins, begins_at_zero=bool(zeros.size)) for w in waves)


def _backgrounds(beats: BeatingTail, w: FloatArray) -> FloatArray:
    """The backgrounds of the waves themselves, one row for each."""
    tails = [wave.tail for wave in beats.waves]
    mine = [t.background(w) for t in tails if np.isfinite(t.background_exponent)]
    return np.stack(mine) if mine else np.zeros((1, *w.shape))


def _share(beats: BeatingTail, i: int, w: FloatArray) -> FloatArray:
    """Amplitude of one wave over the sum of all amplitudes."""
    amplitudes, _ = beats.sizes(w.ravel())
    share = amplitudes[i] / np.sum(amplitudes, axis=0)
    return np.asarray(share.reshape(w.shape), dtype=float)


def _tail(beats: BeatingTail, i: int) -> OscillatingTail:
    """The tail of one wave with its share of all backgrounds."""
    tails = [wave.tail for wave in beats.waves]
    own = replace(tails[i], start=beats.start)
    each = _backgrounds(beats, beats.start * np.geomspace(1.0, 1e3, 7))
    if np.all(np.abs(each.sum(axis=0)) <= _CANCELLED * np.abs(each).sum(axis=0)):
        # They have none, or all of it cancels but for rounding.
        return replace(own, background=np.zeros_like, background_exponent=np.inf)

    def background(w: FloatArray) -> FloatArray:
        total: FloatArray = np.sum(_backgrounds(beats, w), axis=0)
        return total * _share(beats, i, w)

    # The share falls where the amplitude falls faster than the slowest one.
    lag = own.exponent - min(t.exponent for t in tails)
    power = min(t.background_exponent for t in tails) + lag
    return replace(own, background=background, background_exponent=power)
