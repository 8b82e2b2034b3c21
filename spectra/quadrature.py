"""Numbers that know their error, and the integrals that make them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Enclosure"]


@dataclass(frozen=True)
class Enclosure:
    """A number ``mid`` whose true value lies within ``rad`` of it.

    Attributes
    ----------
    mid : float
        The value computed.
    rad : float
        Error bound.  Where ``rigorous`` is False it is an honest estimate, not a proof.
    rigorous : bool
        True where the bound was proved with interval arithmetic.

    Examples
    --------
    >>> x = Enclosure(1.5, 1e-12)
    >>> 1.5 + 5e-13 in x, 1.6 in x
    (True, False)
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
        rounding = 2.0**-53 * abs(mid)
        return Enclosure(mid, self.rad + other.rad + rounding, self.rigorous and other.rigorous)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.rad, self.rigorous)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def __str__(self) -> str:
        proof = "proved" if self.rigorous else "estimated"
        return f"{self.mid:.17g} ± {self.rad:.1e} ({proof})"
