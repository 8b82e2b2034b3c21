"""Panels of an inverse CDF, split until the probability of every radius is right.

A piece of a panel of the density starts as one panel of the kind that suits its ends.  If the fit
misses, it is cut and both parts are tried again, all pieces of one generation together.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from spectra.base.arrays import IntArray
from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.errors import AccuracyError
from spectra.measure import MeasurePart
from spectra.measure.tabulation.pieces import Pieces
from spectra.table.radial.panels import PanelKind, Panels, local_share

__all__ = ["fit_side"]

# Degree of every panel.
_DEGREE = 17
# The tails are right to this fraction of the probability left in them; a panel may descend by the
# second fraction of the radius.
_RELATIVE, _DESCENT = 1e-7, 2e-10
# A panel is refined until its error is this share of the one allowed, but not below the second
# number: one unit of rounding in the probability.
_AHEAD, _FLOOR = 2.5e-4, 2.5e-16
# A bound of an error is several times what is seen of it: no panel is refined below this share.
_SEEN = 1.0 / 16.0
_MOST_GENERATIONS, _MOST_PANELS = 70, 12_000
# A tail is a power if the one seen at the outermost panel is that of the far end.
_SETTLED, _LEAST_SHARE = 1e-6, 0.1
# Pieces that span more than this ratio of probabilities are cut at the geometric mean; towards a
# power or probability 0 the cuts go down by the share.
_RATIO, _SHARE = 8.0, 0.25
# Places of a panel at which the finished table is measured, closer to the ends.
_MEASURED_AT = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 50) / 50)
# If so much around a radius, the rounding of the series of a panel, holds more probability than
# the second number, no radius comes much closer.
_NEIGHBORS, _COARSE = 16.0 * EPS, 1e-13

_NODES = chebyshev.chebpts1(_DEGREE + 1)
_ANALYSIS = np.linalg.inv(chebyshev.chebvander(_NODES, _DEGREE)).T
# Where fits are checked, in the variable of the fit: values, ends, and whether they ascend.
_CHECKS = np.cos(np.linspace(0.06, np.pi - 0.06, 15))
_ENDS, _DENSE = np.array([-1.0, 1.0]), np.linspace(-1.0, 1.0, 97)
#: Pieces that are fitted: with the fits, their kinds, and their exponents.
_Rows = tuple[Pieces, FloatArray, NDArray[np.int8], FloatArray]


def fit_side(
    part: MeasurePart, pieces: Pieces, *, from_above: bool, u_error: float
) -> tuple[Panels, float]:
    """Fit panels to one side, each within ``u_error`` and relative to min(u, q).

    With them comes the largest error in probability that was measured, where the fit does not look.
    """
    if not pieces.low.size:
        return Panels.empty(), 0.0
    fixed = pieces.take(pieces.panel < 0)
    found: list[_Rows] = [(fixed, *_fixed_rows(part, fixed))]
    trial = pieces.take(pieces.panel >= 0)
    for _ in range(_MOST_GENERATIONS):
        kinds, exponents = _kinds(trial.powers)
        fits, good = _try(part, trial, kinds, exponents, (from_above, u_error))
        found.append((trial.take(good), fits[good], kinds[good], exponents[good]))
        trial = trial.take(~good)
        if not trial.low.size or trial.low.size > _MOST_PANELS:
            break
        trial = trial.cut(_shares(trial))
    if trial.low.size:
        raise AccuracyError(
            f"An inverse CDF did not come within {u_error:.1e} in probability near the probability "
            f"{trial.low[0]:.6g}: the density nearly vanishes inside a range of one sign there. "
            "Ask for a larger u_error."
        )
    done = Pieces.joined([held for held, *_ in found])
    order = np.argsort(done.low)
    fits, kinds, exponents = (np.concatenate([row[k] for row in found])[order] for k in (1, 2, 3))
    done = done.take(order)
    panels = Panels.from_chebyshev(np.append(done.low, done.high[-1]), fits, kinds, exponents)
    return panels, _measured(part, done, panels, from_above=from_above)


def _goal(c: FloatArray, u_error: float) -> FloatArray:
    """The error in probability that panels are refined to."""
    goal = np.minimum(0.25 * u_error, _RELATIVE * np.minimum(c, 1.0 - c))
    return np.minimum(goal, max(_AHEAD * u_error, _FLOOR))


def _kinds(powers: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """The kind of panel that suits the ends of each piece, -1 if no single one does, and its e."""
    low, high = (powers != 1.0).T
    kinds = np.where(low, PanelKind.POWER_LOW, np.where(high, PanelKind.POWER_HIGH, 0))
    both = np.where(np.all(powers == 2.0, axis=1), PanelKind.SINE, -1)
    exponents = np.where(low, powers[:, 0], powers[:, 1])
    return np.where(low & high, both, kinds).astype(np.int8), exponents


def _shares(pieces: Pieces) -> FloatArray:
    """Where pieces are cut, as shares of c."""
    low, high = pieces.low, pieces.high
    geometric = np.sqrt(low) / (np.sqrt(high) + np.sqrt(low))
    share = np.where(high > _RATIO * low, geometric, 0.5)
    share = np.where(pieces.powers[:, 1] != 1.0, 1.0 - _SHARE, share)
    return np.where((low == 0.0) | (pieces.powers[:, 0] != 1.0), _SHARE, share)


def _fixed_rows(
    part: MeasurePart, pieces: Pieces
) -> tuple[FloatArray, NDArray[np.int8], FloatArray]:
    """Atoms, and the ends from which no draw comes: a power of the probability, or a line."""
    n = pieces.low.size
    fits, kinds, exponents = np.zeros((n, _DEGREE + 1)), np.zeros(n, np.int8), np.ones(n)
    for k, (outer, inner) in enumerate(pieces.radii):
        if np.isinf(outer):
            kinds[k], fits[k, 0] = PanelKind.TAIL_POWER, inner
            exponents[k] = _last_rate(part, inner, pieces.high[k])
        else:
            fits[k, :2] = 0.5 * (outer + inner), 0.5 * (inner - outer)
            if outer == 0.0 < inner:
                kinds[k], exponents[k] = PanelKind.POWER_LOW, max(part.resolved.rates[0], 1.0)
    return fits, kinds, exponents


def _last_rate(part: MeasurePart, w: float, q: float) -> float:
    """The power of the radius with which the probability falls at w, where it is q."""
    p = part.resolved
    i = max(int(np.searchsorted(part.low, w * (1.0 - 4.0 * EPS))) - 1, 0)
    rate, far = float(p.coefficients[i].sum()) / (q * part.total), p.rates[1]
    # The density may be next to zero at w, and fall faster farther out.
    return far if abs(rate - far) <= _SETTLED * rate else max(rate, _LEAST_SHARE * far)


def _try(
    part: MeasurePart,
    trial: Pieces,
    kinds: NDArray[np.int8],
    exponents: FloatArray,
    wish: tuple[bool, float],
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Fits to pieces, and whether each is good enough for (from_above, u_error)."""
    from_above, u_error = wish
    nodes, share, ends = (
        local_share(kinds, exponents, np.tile(0.5 * (1.0 + t), (kinds.size, 1)))
        for t in (_NODES, _CHECKS, _ENDS)
    )
    fits = part.radius(trial.panel, *trial.masses(nodes)) @ _ANALYSIS
    # Neighbors meet exactly, except beside a gap or at an end.
    gap = part.radius(trial.panel, *trial.masses(ends)) - fits @ _basis(_ENDS)
    gap = np.where(trial.powers == 1.0, gap, 0.0)
    fits[:, 0] += 0.5 * (gap[:, 0] + gap[:, 1])
    fits[:, 1] += 0.5 * (gap[:, 1] - gap[:, 0])
    w, masses = np.maximum(fits @ _basis(_CHECKS), 0.0), trial.masses(share)
    radii = part.radius(trial.panel, *masses)
    # Little is asked beyond what the density itself is known to.
    known = _SEEN * part.resolved.errors[trial.panel][:, None] / part.total
    c = trial.low[:, None] + (trial.high - trial.low)[:, None] * share
    allowed = np.maximum(np.maximum(_goal(c, u_error), 4.0 * EPS * c), known)
    # A radius that cannot be told from the exact one in floating point is right.
    wrong = _missed(part, trial.panel, masses, w) > allowed
    wrong &= np.abs(w - radii) > 8.0 * EPS * radii
    along = fits @ _basis(_DENSE)
    turns = np.diff(along, axis=1) * (-1.0 if from_above else 1.0) < -_DESCENT * along[:, 1:]
    return fits, ~np.any(wrong, axis=1) & ~np.any(turns, axis=1) & (kinds >= 0)


def _basis(t: FloatArray) -> FloatArray:
    return np.asarray(chebyshev.chebvander(t, _DEGREE).T)


def _missed(
    part: MeasurePart, panel: IntArray, masses: tuple[FloatArray, FloatArray], w: FloatArray
) -> FloatArray:
    """How far the masses below and above radii are from others, in probability."""
    lower, higher = (np.abs(a - b) for a, b in zip(part.masses(panel, w), masses, strict=True))
    return np.where(masses[0] < masses[1], lower, higher) / part.total


def _measured(part: MeasurePart, pieces: Pieces, panels: Panels, *, from_above: bool) -> float:
    """Largest error in probability of finished panels at many places."""
    held = pieces.take(pieces.panel >= 0)
    share = np.tile(_MEASURED_AT, (held.low.size, 1))
    c = held.low[:, None] + (held.high - held.low)[:, None] * share
    w = panels.radii(c.ravel(), from_above=from_above).reshape(c.shape)
    missed = _missed(part, held.panel, held.masses(share), w)
    beside = (part.masses(held.panel, w * (1.0 + shift)) for shift in (-_NEIGHBORS, _NEIGHBORS))
    step = np.maximum(*(_missed(part, held.panel, masses, w) for masses in beside))
    # At a pole the step between doubles is large.
    return float(np.where(step > _COARSE, np.maximum(missed - step, 0.0), missed).max(initial=0.0))
