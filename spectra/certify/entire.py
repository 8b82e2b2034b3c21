"""Even entire functions whose derivatives are all bounded by one number, enclosed over balls."""

from __future__ import annotations

from collections.abc import Callable

from spectra.certify.balls import Ball, flint, precision

__all__ = ["EntireFunction"]

_ORDER = 18
_BITS = 192
# The terms of a series in x^2 shrink from about x/2 on; three times x of them leave nothing.
_LEAST_TERMS = 140
_TERMS_BY_RANGE = 3.0


class EntireFunction:
    r"""f(x) = sum_n c_n x^(2n) on [0, up_to], with |f^(k)| <= bound on the real axis for all k.

    The coefficients must obey :math:`|c_n| \le \mathrm{bound}/(4^n n!^2)`.

    Transforms of kernels on a ball are such functions of x = R w: their derivatives are transforms
    of the kernel times powers of z/R.

    Parameters
    ----------
    coefficients : callable
        ``coefficients(n)`` gives c_0, ..., c_n, at the working precision.
    bound : arb
    up_to : float

    Examples
    --------
    >>> from spectra.certify.balls import as_ball
    >>> def cosine(n):
    ...     found = [flint.arb(1)]
    ...     for k in range(n):
    ...         found.append(-found[-1] / ((2 * k + 1) * (2 * k + 2)))
    ...     return found
    >>> with precision(128):
    ...     value, slope = EntireFunction(cosine, as_ball(1), 40.0).jet(flint.arb(3, 0.01))
    >>> value.contains(flint.arb(3).cos()) and slope.contains(-flint.arb(3).sin())
    True
    >>> float(value.rad()) < 0.01
    True
    """

    def __init__(
        self, coefficients: Callable[[int], list[Ball]], bound: Ball, up_to: float
    ) -> None:
        self.terms = max(_LEAST_TERMS, int(_TERMS_BY_RANGE * up_to))
        self.bound = bound
        with precision(_BITS * 3 + int(3.0 * up_to)):
            self.coefficients = coefficients(self.terms)

    def jet(self, x: Ball) -> tuple[Ball, Ball]:
        """Balls of f and f' over a ball of x, by Taylor's formula at its midpoint."""
        middle, radius = x.mid(), flint.arb(x.rad())
        with precision(_BITS + int(1.5 * float(middle)), cap=_ORDER):
            square = flint.arb_series([middle, 1]) ** 2
            total = flint.arb_series([0])
            for c in reversed(self.coefficients):
                total = total * square + c
            # The terms left out shrink by more than a half each, also in the disc of radius 1
            # around the midpoint, so that this bounds their Taylor coefficients.
            n = self.terms + 1
            beyond = 2 * self.bound * ((middle + 1) / 2) ** (2 * n) / flint.arb(n).fac() ** 2
            beyond = beyond * _ORDER**2 * (1 + radius) ** _ORDER
            around = x - middle
            value, slope = flint.arb(0), flint.arb(0)
            for j in range(_ORDER - 1, -1, -1):
                value = value * around + total[j]
                if j:
                    slope = slope * around + j * total[j]
            rest = self.bound * radius**_ORDER / flint.arb(_ORDER).fac() + beyond
            steep = self.bound * radius ** (_ORDER - 1) / flint.arb(_ORDER - 1).fac() + beyond
            return (
                value + flint.arb(0, rest.abs_upper()),
                slope + flint.arb(0, steep.abs_upper()),
            )
