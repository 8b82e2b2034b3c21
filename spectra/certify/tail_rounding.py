"""What doubles add when the lobed tail of a table is evaluated."""

from __future__ import annotations

import flint
import numpy as np

from spectra.certify.balls import Ball
from spectra.table import LobedTail
from spectra.table.panels import powers_of_chebyshev

__all__ = ["tail_rounding"]

_UNIT = 2.0**-53
# Roundings of the share of a lobe and of its place: differences, a quotient, a root, an arc sine
# that numpy gives to four units, the factor 2/pi and 2 v - 1.
_SHARE_STEPS, _PLACE_STEPS = 4, 12
# Roundings of the radius: the period times the index, and the last terms of Horner's rule.
_RADIUS_STEPS = 4


def tail_rounding(tail: LobedTail, density: Ball) -> Ball:
    """Upper bound of what doubles add in probability in the tail.

    Parameters
    ----------
    tail : LobedTail
    density : arb
        Largest density of the radius in the tail; w times it falls with w.
    """
    unit = flint.arb(_UNIT)
    front = flint.arb(tail.kappa) ** -flint.arb(tail.sigma)
    masses = np.abs(tail.mass_series)
    held = flint.arb(tail.mass)
    # The power and the product, the place 2 x - 1 in the series of the mass, and Clenshaw's rule.
    slope = float(np.sum(np.arange(masses.size) ** 2 * masses))
    survival = 4 * unit * held + front * unit * (4 * slope + _clenshaw(masses))
    # A lobe holds at most the density times its length, which is half of a period.
    lobe = density * flint.arb(tail.period)
    place = unit * (_SHARE_STEPS + 2 * _PLACE_STEPS) * lobe
    first = flint.arb(float(tail.radius(np.array([tail.kappa]), np.array([1.0]))[0, 0]))
    radius = unit * (_RADIUS_STEPS * first + _series(tail))
    return (survival + place + density * radius).abs_upper()


def _clenshaw(sizes: np.ndarray) -> float:
    """Rounding of Clenshaw's rule in units: an error made at a term counts as one in it."""
    n = sizes.size
    later = np.zeros(n + 2)
    for k in range(n - 1, -1, -1):
        later[k] = float(np.sum(np.arange(1, n - k + 1) * sizes[k:]))
    return float(np.sum(4.0 * (sizes + 2.0 * later[1 : n + 1] + later[2 : n + 2])))


def _series(tail: LobedTail) -> float:
    """Rounding of the series of the radius beside its period, in units."""
    sizes = np.abs(tail.radius_series)
    rows, columns = sizes.shape
    powers = np.abs(powers_of_chebyshev(columns)).sum(axis=1)
    # Chebyshev polynomials from their recurrence, two sums of products, and the power form.
    steps = 2.0 * np.arange(rows)[:, None] ** 2 + 2.0 * (rows + columns) + 8.0
    return float(np.sum(sizes * steps * powers))
