"""Numbers with error bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from spectra.base.accuracy import EPS
from spectra.base.numbers import format_bound

__all__ = ["Enclosure"]


@dataclass(frozen=True)
class Enclosure:
    """A number ``mid`` whose true value lies within ``rad`` of it.

    Attributes
    ----------
    mid : float
        The value computed.
    rad : float
        Bound of the error; an estimate if ``rigorous`` is False.
    rigorous : bool
        Whether the bound is proved, in ball arithmetic.

    Examples
    --------
    >>> x = Enclosure(1.5, 1e-12)
    >>> 1.5 + 5e-13 in x, 1.6 in x
    (True, False)
    >>> f"{x:.3f}, {Enclosure(1.5, 0.0155):.3f}"        # the bound is printed if it matters
    '1.500, 1.500 ± 1.6e-02'
    """

    mid: float
    rad: float
    rigorous: bool = False

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mid) <= self.rad

    def __float__(self) -> float:
        return self.mid

    def __add__(self, other: Enclosure) -> Enclosure:
        mid = self.mid + other.mid
        rounding = 0.5 * EPS * abs(mid)
        return Enclosure(mid, self.rad + other.rad + rounding, self.rigorous and other.rigorous)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.rad, self.rigorous)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def __str__(self) -> str:
        proof = "proved" if self.rigorous else "estimated"
        return f"{self.mid:.17g} ± {format_bound(self.rad)} ({proof})"

    def __format__(self, spec: str) -> str:
        """Format ``mid`` as a float; append the bound if above half a unit of the last digit."""
        if re.search(r"[.eEfFgG%]", spec) is None:
            return format(str(self), spec)
        text = format(self.mid, spec)
        unit = "%" if text.endswith("%") else ""
        bound = 100.0 * self.rad if unit else self.rad
        if np.isfinite(self.mid):
            printed = Decimal(text.strip(" %").replace(",", ""))
            if 2.0 * bound <= 10.0 ** int(printed.as_tuple().exponent):
                return text
        return f"{text} ± {format_bound(bound)}{unit}"
