r"""Kernels with waves that decay like powers: densities singular at the frequencies of the waves.

A wave :math:`2\Re[c z^{-a} e^{ibz}]` has the density of a finite measure at b if
:math:`a > (d-1)/2`; and where :math:`a = (d-1)/2` and c has the phase of the mean
:math:`\Omega_d(bz)` of a plane wave, it is an atom on the sphere of radius b.

The density behaves like :math:`|w - b|^{a - (d+1)/2}` on both sides of b, next to functions that
are smooth there.  It is known on stretches from each frequency to the middle of two, as a function
of the distance to the frequency: so it keeps its digits however close the two are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from spectra.base.enclosures import EPS
from spectra.base.numbers import FloatArray
from spectra.density.components import Atom, Component
from spectra.density.half_line.ends import Term
from spectra.density.half_line.outwards import Builder
from spectra.density.half_line.prepared import Expanded, expanded, plane, wave_sums
from spectra.density.half_line.sums.sampled import Sampler
from spectra.density.half_line.waves.wave_sums import Beside
from spectra.density.panels.panelled_density import Panelled
from spectra.errors import NoRouteError
from spectra.formula.reader.parsing import Z

__all__ = ["BetweenWaves", "Side", "beside_frequencies", "by_waves", "without_spheres"]

# More atoms than this have one frequency after another.
_MOST_ATOMS = 8
# Densities are looked at so far beside a frequency, relative to it, at log w of so many parts.
_NEAR, _DYADIC = 0.05, 1024.0
# What is as small at this place may be zero, written in other words: sin(z) cos(z) is sin(2z)/2.
_PLACE, _NOTHING = sympy.Rational(17, 13), 1e-25
_ENTIRE = (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh, sympy.besselj, sympy.besseli)
# A share of a wave below this is rounding.
_NO_SHARE = 1e-9
# A rounded frequency rounds the distance: densities are taken to change by so many e-folds of it.
_STEEPNESS = 2.0


@dataclass(frozen=True, eq=False)
class Side:
    """The density from ``low`` to ``high``, as a function of the distance to a pivot.

    Attributes
    ----------
    low, high : float
        Radii.
    side : float
        1 where the pivot is ``low``, and -1 where it is ``high``: w = pivot + side * distance.
    density : Panelled
        The density at a distance.
    is_exact : bool
        Whether the pivot is the frequency itself, and not a double next to it.
    """

    low: float
    high: float
    side: float
    density: Panelled
    is_exact: bool = True

    @property
    def pivot(self) -> float:
        """The frequency that distances are from, or 0."""
        return self.low if self.side > 0.0 else self.high

    def distance(self, w: FloatArray) -> FloatArray:
        """The distance to the pivot; at the pivot itself the least there is in doubles, or its
        rounding."""
        least = np.finfo(float).tiny if self.is_exact else EPS * self.pivot
        return np.maximum(self.side * (w - self.pivot), least)

    def relative_error(self, distance: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the frequency: as far
        as the density changes on the way to twice the distance, and as far as a power of it does
        where that has no bound."""
        bound = self.density.relative_error(distance)
        if self.is_exact:
            return bound
        moved = EPS * self.pivot / distance
        if self.density.origin_exponent < 0.0:
            return bound + _STEEPNESS * moved
        (sign, log), (other, beyond) = map(self.density.signed_log, (distance, 2.0 * distance))
        envelope = self.density.log_envelope(distance)
        change = np.abs(sign * np.exp(log - envelope) - other * np.exp(beyond - envelope))
        return bound + 2.0 * _STEEPNESS * moved * change


@dataclass(frozen=True, eq=False)
class BetweenWaves(Component):
    """A component made of sides that follow one another; it is 0 beyond the last one.

    Attributes
    ----------
    sides : tuple of Side
        From radius 0 to infinity, or to the end of the spectrum.
    """

    sides: tuple[Side, ...]
    total: float
    origin_exponent: float
    bulk: tuple[float, float]
    decay: float
    breaks: tuple[tuple[float, float], ...]
    end: float

    def _by_sides(
        self, w: FloatArray, known: Callable[[Side, FloatArray], Any], *beyond: float
    ) -> list[FloatArray]:
        """Rows of what the side of each radius knows at its distance; numbers beyond the last."""
        w = np.asarray(w, dtype=float)
        found = np.multiply.outer(beyond, np.ones_like(w))
        which = np.searchsorted([s.low for s in self.sides[1:]], w, side="right")
        for i, side in enumerate(self.sides):
            mine = (which == i) & (w < side.high)
            if np.any(mine):
                found[:, mine] = known(side, side.distance(w[mine]))
        return list(found)

    def signed_log(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sign and log|rho| at radii w > 0."""
        sign, log = self._by_sides(w, lambda s, x: s.density.signed_log(x), 1.0, -np.inf)
        return sign, log

    def beside(self, radius: float, side: float) -> Component | None:
        """The side of a frequency, from the distance itself."""
        mine = (s.density for s in self.sides if s.pivot == radius and s.side == side)
        return next(mine, None)

    def telling_radii(self) -> FloatArray:
        """Those of its sides."""
        return np.concatenate([s.pivot + s.side * s.density.telling_radii() for s in self.sides])

    def log_envelope(self, w: FloatArray) -> FloatArray:
        """log|rho|, or the largest value nearby where the density passes through zero."""
        return self._by_sides(w, lambda s, x: s.density.log_envelope(x), -np.inf)[0]

    def relative_error(self, w: FloatArray) -> FloatArray:
        """Bound of the error relative to the envelope, with the rounding of the frequency."""
        return self._by_sides(w, Side.relative_error, 0.0)[0]


def by_waves(found: Expanded, dim: int) -> Builder:
    """Panels of a density from the sums of its waves."""
    beyond, rates = plane(found.expr).beyond(dim), tuple(wave.rate for wave in found.waves)
    known = beyond if beyond.is_known else None
    builder = Builder.at_origin(found, Beside(wave_sums(found, dim)), dim, rates)
    return replace(builder, beyond=known)


def without_spheres(found: Expanded, dim: int) -> tuple[list[Atom], Expanded | None]:
    """The atoms of a kernel with waves that decay like the mean of a plane wave, and the rest.

    Raises
    ------
    NoRouteError
        Where a wave decays too slowly to have a density.
    """
    atoms: list[Atom] = []
    while (b := _slowest(found, dim)) is not None:
        atom, rest = _without(found, b, dim)
        atoms.append(atom)
        if rest == 0:
            return atoms, None
        if len(atoms) > _MOST_ATOMS:
            raise NoRouteError(
                f"The formula {found.expr} has more than {_MOST_ATOMS} waves of the decay "
                f"z^-({dim - 1}/2), each of them an atom. Give them as summands of their own."
            )
        found = expanded(rest)
    return atoms, found


def _slowest(found: Expanded, dim: int) -> sympy.Expr | None:
    """The frequency of a wave of the decay of a plane wave's mean."""
    least = sympy.Rational(dim - 1, 2)
    for b, (a, q, _) in found.turning.items():
        if (a - least).is_negative or (a == least and q != 0):
            raise NoRouteError(
                f"The wave of frequency {b} in {found.expr} decays like z^(-{a}), and in d = {dim} "
                f"only waves that decay faster than z^(-{least}) have a finite measure. Use a "
                "smaller dimension, or design a finite measure for your range of distances."
            )
    return next((b for b, (a, *_) in found.turning.items() if a == least), None)


def _without(found: Expanded, b: sympy.Expr, dim: int) -> tuple[Atom, sympy.Expr]:
    """The atom of the wave of a frequency, and the formula without it."""
    (a, _, c), half = found.turning[b], sympy.Rational(dim, 2)
    order = half - 1
    # DLMF 10.17.3: the wave of Omega_d(bz) = Gamma(d/2) (2/(bz))^n J_n(bz).
    front = sympy.gamma(half) * (2 / b) ** order
    turn = -sympy.I * sympy.pi * (order / 2 + sympy.Rational(1, 4))
    leading = front * sympy.sqrt(2 / (sympy.pi * b)) / 2 * sympy.exp(turn)
    mass = sympy.simplify(c / leading)
    share = complex(mass.evalf(30))
    if abs(share.imag) > 1e-25 * abs(share):
        raise NoRouteError(
            f"The wave of frequency {b} in {found.expr} decays like z^(-{a}) without "
            f"the phase of a plane wave in d = {dim}: its measure is infinite. Design a finite "
            "measure for your range of distances."
        )
    mean = front * sympy.expand_func(sympy.besselj(order, b * Z)) / Z**order
    if dim % 2:
        mean = sympy.expand(mean.replace(sympy.besselj, _elementary))
    rest = sympy.powsimp(found.expr - sympy.re(mass) * mean)
    if abs(rest.subs(Z, _PLACE).evalf(30)) < _NOTHING:
        rest = sympy.simplify(rest.rewrite(sympy.exp))
    return Atom(float(b), share.real, error=abs(share.real) * 4.0 * EPS), rest


def _elementary(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """J of order 1/2 or -1/2 (DLMF 10.16.1); sums with other sines and cosines cancel exactly."""
    wave = sympy.sin(x) if order.is_positive else sympy.cos(x)
    return sympy.sqrt(2 / (sympy.pi * x)) * wave


def _begins_like(wave: Term, dim: int, side: float) -> tuple[float, bool]:
    """The power of the distance with which the density begins beside the frequency of a wave, on
    the side above it (1) or below it (-1), and whether a logarithm is with it.

    The singular part is Gamma(-beta) |w - b|^beta Re[exp(-i pi beta/2) c exp(+-i psi)], with the
    phase psi of a Hankel function at infinity, next to what is smooth at b.
    """
    beta, c = _kink(wave, dim), complex(wave[2].evalf(20))
    phase = np.exp(0.25j * np.pi * (dim - 1)) * c
    size = (np.exp(-0.5j * np.pi * beta) * (np.conj(phase) if side > 0.0 else phase)).real
    if beta > 0.0 or abs(size) < _NO_SHARE * abs(c):
        return 0.0, False
    return beta, beta == 0.0


def _kink(wave: Term, dim: int) -> float:
    """The power beta of the distance in what is singular at the frequency of a wave."""
    return float(wave[0]) - 0.5 * (dim + 1)


def _is_double(number: sympy.Expr) -> bool:
    return bool(number.is_Rational and sympy.Rational(float(number)) == number)


def _peak(sample: Sampler, bounds: list[float], middles: list[float]) -> float:
    """log(w |rho|) where it may be large: a density may vanish between two frequencies."""
    places = [*middles, *(b * (1.0 + shift) for b in bounds for shift in (-_NEAR, _NEAR))]
    heights = []
    for w in sorted(places):
        seen, x = sample.look(float(np.round(np.log(w) * _DYADIC) / _DYADIC))
        known = np.maximum(np.abs(seen.value) - seen.wrong, 0.0) * np.exp(seen.log + x)
        heights.append(float(known.max()))
    return float(np.log(max(max(heights), np.finfo(float).tiny)))


def is_band_limited(found: Expanded) -> bool:
    """Whether the density vanishes beyond the largest frequency (Paley and Wiener): the kernel is
    even, and analytic in the whole plane but for what may be removed at zero."""
    return (
        not found.decays_fast
        and all(_is_entire(node) for node in sympy.preorder_traversal(found.expr))
        and plane(found.expr).is_even
    )


def _is_entire(node: sympy.Expr) -> bool:
    """Whether a part of a formula is analytic in the plane cut along the negative half-line."""
    if not node.has(Z) or node == Z or node.is_Add or node.is_Mul:
        return True
    if node.is_Pow:
        return node.base == Z or bool(node.exp.is_Integer and node.exp >= 0)
    return isinstance(node, _ENTIRE) and node.args[-1].is_polynomial(Z)


def beside_frequencies(found: Expanded, dim: int) -> Component:
    """The density of slow waves, on both sides of each frequency and next to the origin."""
    band_limited = is_band_limited(found)
    waves = {float(b): term for b, term in found.turning.items()}
    exact = {float(b): _is_double(b) for b in found.turning}
    bounds = sorted(waves)
    middles = [0.5 * bounds[0], *(0.5 * (a + b) for a, b in pairwise(bounds))]
    sides: list[Side] = []
    breaks: list[tuple[float, float]] = []
    origin = by_waves(found, dim)
    origin.peak = _peak(origin.sample, bounds, middles)
    decay = np.inf

    def beside(b: float, side: float, start: tuple[float, bool]) -> Builder:
        sample = Beside(wave_sums(found, dim), b, side)
        power, with_log = start
        return replace(origin, sample=sample, exponent=power, with_log=with_log, pivot=b, side=side)

    for i, b in enumerate(bounds):
        ends = band_limited and b == bounds[-1]
        under = (_kink(waves[b], dim), False) if ends else _begins_like(waves[b], dim, -1.0)
        below = beside(b, -1.0, under)
        sides.append(Side(middles[i], b, -1.0, below.up_to(b - middles[i]), exact[b]))
        origin.peak = below.peak
        if ends:
            breaks.append((b, under[0]))
            break
        over = _begins_like(waves[b], dim, 1.0)
        breaks.append((b, min(under[0], over[0])))
        above = beside(b, 1.0, over)
        if b == bounds[-1]:
            last = above.component()
            sides.append(Side(b, np.inf, 1.0, last, exact[b]))
            decay = last.decay
        else:
            high = middles[i + 1]
            sides.append(Side(b, high, 1.0, above.up_to(high - b), exact[b]))
        origin.peak = above.peak
    first = Side(0.0, middles[0], 1.0, origin.up_to(middles[0]))
    return BetweenWaves(
        sides=(first, *sides),
        total=found.total,
        origin_exponent=origin.exponent,
        bulk=(0.5 * middles[0], bounds[-1] if band_limited else 2.0 * bounds[-1]),
        decay=decay,
        breaks=tuple(breaks),
        end=bounds[-1] if band_limited else np.inf,
    )
