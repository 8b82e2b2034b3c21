"""Laws of radii in closed form, by mpmath: the oracle for tables, knowing nothing of the toolkit.

A signed density of the radius is held by its integral from 0 to w.  The mass below a radius of one
part is the sum of that integral over the ranges of its sign, whose ends are zeros of the density.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mpmath import mp

__all__ = ["EXACT", "ExactLaw"]

DIGITS = 50


@dataclass
class ExactLaw:
    """A signed law of a radius: its integral from 0 to w, and the masses of its parts by sign.

    ``changes`` are its sign changes; where they are without end, ``change`` gives the n-th one.
    ``first`` is the sign of the density next to 0.
    """

    below: Callable[[Any], Any]
    masses: dict[int, Any]
    changes: list[Any] = field(default_factory=list)
    change: Callable[[int], Any] | None = None
    first: int = 1
    _at: list[Any] = field(default_factory=list)

    def part_below(self, sign: int, w: float) -> Any:
        """Mass below w of one part, as a share of the part."""
        with mp.workdps(DIGITS):
            x = mp.mpf(w)
            while self.change is not None and (not self.changes or self.changes[-1] <= x):
                self.changes.append(self.change(len(self.changes) + 1))
            while len(self._at) < len(self.changes):
                self._at.append(self.below(self.changes[len(self._at)]))
            passed = bisect_right(self.changes, x)
            ends = [mp.mpf(0), *self._at[:passed], self.below(x)]
            start = 0 if sign == self.first else 1
            steps = [b - a for a, b in pairwise(ends)]
            return sign * mp.fsum(steps[start::2]) / self.masses[sign]

    def miss(self, sign: int, w: float, c: float, *, from_above: bool) -> float:
        """|F(w) - c|, or |1 - F(w) - c| where c is counted from above."""
        with mp.workdps(DIGITS):
            below = self.part_below(sign, w)
            return float(abs((1 - below if from_above else below) - mp.mpf(c)))


def _half(d: int) -> Any:
    return mp.mpf(d) / 2


def chi_below(length: str | int, d: int) -> Callable[[Any], Any]:
    """Radius of exp(-z^2 / (2 length^2))."""
    return lambda w: mp.gammainc(_half(d), 0, (w * mp.mpf(length)) ** 2 / 2, regularized=True)


def student_below(nu: str, length: str, d: int) -> Callable[[Any], Any]:
    """Radius of a Matern kernel: w^2 l^2 / (2 nu + w^2 l^2) is beta distributed."""

    def below(w: Any) -> Any:
        n, x = mp.mpf(nu), (w * mp.mpf(length)) ** 2
        if x < 2 * n:
            return mp.betainc(_half(d), n, 0, x / (2 * n + x), regularized=True)
        return 1 - mp.betainc(n, _half(d), 0, 2 * n / (2 * n + x), regularized=True)

    return below


def laplace_below(rate: str, d: int) -> Callable[[Any], Any]:
    """Radius of exp(-rate z)."""
    return student_below("0.5", str(1 / mp.mpf(rate)), d)


def cauchy_below(d: int) -> Callable[[Any], Any]:
    """Radius of 1/(1 + z^2), whose density is a power times K of order d/2 - 1."""

    def below(w: Any) -> Any:
        x, h = w, _half(d)
        return 1 - 2 * (x / 2) ** h * mp.besselk(h, x) / mp.gamma(h)

    return below


def beta_below(radius: str, m: str, d: int) -> Callable[[Any], Any]:
    """Radius of the plane wave of R^m seen in R^d: w^2 / radius^2 is beta distributed."""
    return lambda w: mp.betainc(
        _half(d), (mp.mpf(m) - d) / 2, 0, min((w / mp.mpf(radius)) ** 2, 1), regularized=True
    )


def laguerre_below(d: int) -> Callable[[Any], Any]:
    """(1 - z^2) exp(-z^2/2): the chi density times 1 - d + w^2."""

    def below(w: Any) -> Any:
        h, x = _half(d), w * w / 2
        return chi_below(1, d)(w) - d * mp.exp(h * mp.log(x) - x - mp.loggamma(h + 1))

    return below


def bochner_riesz_below(p: str, radius: str, d: int) -> Callable[[Any], Any]:
    """(1 - z^2/R^2)^p on a ball: the integral of w^(d/2-p-1) J_(d/2+p)(R w) as a 1F2."""

    def below(w: Any) -> Any:
        h, q = _half(d), mp.mpf(p)
        m = h + q
        x = mp.mpf(radius) * w
        front = mp.gamma(q + 1) * 2 ** (q + 1 - h) / mp.gamma(h)
        first = (x / 2) ** m * x ** (h - q) / (mp.gamma(m + 1) * d)
        return front * first * mp.hyp1f2(h, h + 1, m + 1, -x * x / 4)

    return below


def _positive(below: Callable[[Any], Any]) -> ExactLaw:
    return ExactLaw(below, {1: mp.mpf(1)})


def _difference(
    plus: Callable[[Any], Any], minus: Callable[[Any], Any], total: Any, crossing: Any, first: int
) -> ExactLaw:
    """plus - minus with one sign change."""

    def below(w: Any) -> Any:
        return plus(w) - minus(w)

    with mp.workdps(DIGITS):
        before = below(crossing)
        masses = {first: first * before, -first: -first * (total - before)}
    return ExactLaw(below, masses, [crossing], first=first)


def delta_gaussian(d: int) -> ExactLaw:
    """exp(-z^2/2) - exp(-z^2/200)."""
    with mp.workdps(DIGITS):
        crossing = mp.sqrt(2 * d * mp.log(10) / mp.mpf(99))
        return _difference(chi_below(1, d), chi_below(10, d), 0, crossing, -1)


def laplace_difference(d: int) -> ExactLaw:
    """exp(-z) - exp(-2 z): the densities a / (a^2 + w^2)^((d+1)/2) cross once."""
    with mp.workdps(DIGITS):
        ratio = mp.mpf(2) ** (mp.mpf(2) / (d + 1))
        crossing = mp.sqrt((4 - ratio) / (ratio - 1))
        return _difference(laplace_below("1", d), laplace_below("2", d), 0, crossing, 1)


def laguerre(d: int) -> ExactLaw:
    """(1 - z^2) exp(-z^2/2), which changes sign at w = sqrt(d - 1)."""
    with mp.workdps(DIGITS):
        if d == 1:
            return _positive(laguerre_below(1))
        return _difference(laguerre_below(d), lambda _: 0, 1, mp.sqrt(d - 1), -1)


def bochner_riesz(p: str, radius: str, norm: str, d: int) -> ExactLaw:
    """Lobes between the zeros of J_(d/2+p)."""

    def change(n: int) -> Any:
        return mp.besseljzero(_half(d) + mp.mpf(p), n) / mp.mpf(radius)

    with mp.workdps(DIGITS):
        half = (mp.mpf(norm) + 1) / 2
        return ExactLaw(bochner_riesz_below(p, radius, d), {1: half, -1: half - 1}, change=change)


#: (problem, d) -> its law of radii.
EXACT: dict[tuple[str, int], Callable[[], ExactLaw]] = {}


def _add(name: str, dims: tuple[int, ...], law: Callable[[int], ExactLaw]) -> None:
    for d in dims:
        EXACT[name, d] = lambda d=d: law(d)


_EVERY = (1, 2, 3, 7, 16, 64)
_add("gaussian", _EVERY, lambda d: _positive(chi_below(1, d)))
_add("gaussian_long", _EVERY, lambda d: _positive(chi_below("12.5", d)))
_add("laplace", _EVERY, lambda d: _positive(laplace_below("1", d)))
_add("matern_0.1", (1, 3, 16), lambda d: _positive(student_below("0.1", "1", d)))
_add("matern_1", (1, 2, 7), lambda d: _positive(student_below("1", "2", d)))
_add("matern_3/2", _EVERY, lambda d: _positive(student_below("1.5", "1", d)))
_add("matern_50", (1, 3, 64), lambda d: _positive(student_below("50", "1", d)))
_add("cauchy", _EVERY, lambda d: _positive(cauchy_below(d)))
_add("j_bessel_16", (1, 2, 3, 7), lambda d: _positive(beta_below("5", "16", d)))
_add("delta_gaussian", _EVERY, delta_gaussian)
_add("laplace_difference", _EVERY, laplace_difference)
_add("laguerre", _EVERY, laguerre)
for _name, _p, _radius, _norms in (
    ("spherical_polynomial_2_1", "1", "2",
     {1: "1.2325411052580975742", 2: "2.0297939364875008782"}),
    ("spherical_polynomial_2_2", "2", "2",
     {1: "1.0705193731719585082", 2: "1.2272080001638874052",
      3: "1.577287259103741308659104678569209", 4: "2.6619752057696677747"}),
    ("spherical_polynomial_2_3", "3", "2",
     {3: "1.2044304422240326377", 5: "1.8469494569178636719"}),
):  # fmt: skip
    for _d, _norm in _norms.items():
        EXACT[_name, _d] = lambda p=_p, r=_radius, n=_norm, d=_d: bochner_riesz(p, r, n, d)
