r"""Radial densities by panels on the real axis in ball arithmetic: truth that shares no code.

.. math:: \rho(w) = \frac{2^{1-d/2}}{\Gamma(d/2)} w^{d/2} \int_0^R k(z) z^{d/2} J_{d/2-1}(wz) dz

Gauss-Legendre panels, smaller and smaller towards every point where k may be singular, in
200 + 12 d bits or more, because in d = 64 all but the last digits cancel.  Nothing is continued
into the plane, so that nothing can be missed there; a formula is read by Python itself.  The
error is what two orders on the same panels differ by, and the ball of the sum: rounding is
enclosed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from math import acosh, ceil, isqrt, log2
from typing import Any

from flint import arb, arb_mat, ctx

__all__ = ["OutOfReach", "RealKernel", "formula", "radial_densities", "value"]

Real = Callable[[Any], Any]


class OutOfReach(Exception):
    """The rule would need more nodes than it is worth."""


# --- formulas ---------------------------------------------------------------------------------


def _larger(x: Any, y: Any) -> Any:
    return x if x > y else y


def _smaller(x: Any, y: Any) -> Any:
    return x if x < y else y


def _bessel_k(order: Any, x: Any) -> Any:
    """K by the trapezoidal rule of exp(-x cosh t) cosh(n t) where x is large.

    The step leaves exp(x - x cos 1 - 2 pi / step), less than the working precision.
    """
    if x < 20:
        return x.bessel_k(order)
    bits = 0.6932 * ctx.prec
    per_unit = int((bits + 0.46 * float(x)) / 6.28) + 1
    last = int(per_unit * acosh(1 + bits / float(x))) + 2
    step = arb(1) / per_unit
    terms = ((-x * (step * i).cosh()).exp() * (order * step * i).cosh() for i in range(1, last))
    return ((-x).exp() / 2 + sum(terms, arb(0))) * step


def _function(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(arb(x), name)()


_METHODS = "exp log sqrt sin cos tan tanh sinh cosh atan asin acos erf erfc gamma"
_NAMES: dict[str, Any] = {
    **{name: _function(name) for name in re.findall(r"\w+", _METHODS)},
    "Abs": abs,
    "abs": abs,
    "Max": _larger,
    "Min": _smaller,
    "besselj": lambda n, x: arb(x).bessel_j(n),
    "besseli": lambda n, x: arb(x).bessel_i(n),
    "besselk": _bessel_k,
}


@lru_cache(maxsize=64)
def _compiled(text: str, variable: str, bits: int) -> Real:
    # Every number becomes a ball, so that no double is ever made of it.
    body = re.sub(r"(?<![\w.])[\d.]+", r"arb('\g<0>')", text.replace("^", "**"))
    with ctx.workprec(bits):
        names = {**_NAMES, "arb": arb, "pi": arb.pi(), "E": arb.const_e()}
    function: Real = eval(f"lambda {variable}: {body}", names)
    return function


def formula(text: str, variable: str = "z") -> Real:
    """The function of a formula on balls, at the working precision.

    Examples
    --------
    >>> third = formula("exp(-z)/3")(arb(0))
    >>> (third * 3).contains(1), third == 1 / 3
    (True, False)
    """
    return _compiled(text, variable, ctx.prec)


def _exact(x: Fraction) -> Any:
    return arb(x.numerator) / x.denominator


@dataclass(frozen=True)
class RealKernel:
    """A kernel as the rule needs it: a formula in z, or in u = 1 - z^2/2.

    It is 0 beyond ``support``, and without one it must fall fast.  ``kinks`` are radii inside at
    which it is not analytic; it is ``rough`` if it has powers or logarithms at 0 and at the support
    that are no whole powers of z.
    """

    text: str
    variable: str = "z"
    support: Fraction | None = None
    kinks: tuple[Fraction, ...] = ()
    rough: bool = False

    @property
    def end(self) -> Fraction | None:
        """Where it ends: a formula in u ends at the antipodes."""
        return Fraction(2) if self.variable == "u" else self.support


def value(kernel: RealKernel, z: Any) -> Any:
    """k(z) as a ball, for z inside the support."""
    f = formula(kernel.text, kernel.variable)
    return f(1 - z * z / 2 if kernel.variable == "u" else z)


# --- panels -----------------------------------------------------------------------------------

_ORDERS = (36, 48)
# Of the half-line, analytic kernels are resolved down to this share of their reach.
_LEVELS = 6
# And rough ones until what is left is this share: their densities fall slowly.
_ROUGH_DIGITS = 28
# The lower order holds half a panel of this phase to more digits than are asked for.
_TURNS = Fraction(32)
_LONGEST_SUM = 24_000
_FINEST = 5
# Digits of rho after which no finer rule is asked.
_GOOD = 20


@cache
def _legendre(order: int, bits: int) -> list[tuple[Any, Any]]:
    with ctx.workprec(bits):
        return [arb.legendre_p_root(order, i, weight=True) for i in range(order)]


@dataclass(frozen=True)
class _Rule:
    """Panels between points, quartered ``levels`` times towards each, halved ``split`` times."""

    points: tuple[Fraction, ...]
    levels: tuple[int, ...]
    split: int
    wave: int  # panels hold waves of radii up to 2^wave
    bits: int

    def panels(self) -> list[tuple[Fraction, Fraction]]:
        widest = _TURNS / Fraction(2) ** self.wave
        found: list[tuple[Fraction, Fraction]] = []
        for i, (a, b) in enumerate(pairwise(self.points)):
            m = (a + b) / 2
            left = [a + (m - a) / 4**j for j in range(self.levels[i], 0, -1)]
            right = [b - (b - m) / 4**j for j in range(1, self.levels[i + 1] + 1)]
            edges = [a, *left, m, *right, b]
            for low, high in pairwise(edges):
                parts = max(2**self.split, ceil((high - low) / widest))
                step = (high - low) / parts
                found += [(low + step * j, low + step * (j + 1)) for j in range(parts)]
        return found


@lru_cache(maxsize=64)
def _nodes(rule: _Rule, order: int) -> tuple[list[Any], list[Any]]:
    z, weights = [], []
    for low, high in rule.panels():
        a, half = _exact((low + high) / 2), _exact((high - low) / 2)
        for x, c in _legendre(order, rule.bits):
            z.append(a + half * x)
            weights.append(half * c)
    return z, weights


@lru_cache(maxsize=400)
def _column(rule: _Rule, order: int, dim: int, w: float) -> Any:
    """The weights of the values of the kernel in rho(w)."""
    z, weights = _nodes(rule, order)
    half = arb(dim) / 2
    front = _front(dim, w)
    return arb_mat(
        len(z),
        1,
        [front * c * x**half * _bessel(dim, w * x) for x, c in zip(z, weights, strict=True)],
    )


def _front(dim: int, w: float) -> Any:
    half = arb(dim) / 2
    return arb(2) ** (1 - half) / half.gamma() * arb(w) ** half


def _bessel(dim: int, x: Any) -> Any:
    """J of order d/2 - 1: by sines where that loses nothing and saves time."""
    if dim == 1:
        return x.cos() / (x * arb.pi() / 2).sqrt()
    if dim in (3, 5) and x > 1:
        wave = x.sin() if dim == 3 else x.sin() / x - x.cos()
        return wave / (x * arb.pi() / 2).sqrt()
    return x.bessel_j(arb(dim) / 2 - 1)


@lru_cache(maxsize=20_000)
def _on_panel(kernel: RealKernel, ends: tuple[Fraction, Fraction], order: int, bits: int) -> Any:
    a, half = _exact((ends[0] + ends[1]) / 2), _exact((ends[1] - ends[0]) / 2)
    return [value(kernel, a + half * x) for x, _ in _legendre(order, bits)]


@lru_cache(maxsize=16)
def _values(kernel: RealKernel, rule: _Rule, order: int) -> Any:
    values = [v for ends in rule.panels() for v in _on_panel(kernel, ends, order, rule.bits)]
    return arb_mat(1, len(values), values)


def _size(kernel: RealKernel, dim: int, z: Fraction) -> Any:
    """|k(z)| z^(d/2 + 1), the larger of two neighbours: a wave may vanish at one."""
    sizes = []
    for x in (_exact(z), _exact(z * Fraction(33, 32))):
        size = abs(value(kernel, x)) * x ** (arb(dim) / 2 + 1)
        sizes.append(size.mid() + size.rad())
    return max(sizes)


@lru_cache(maxsize=256)
def _reach(kernel: RealKernel, dim: int, digits: int) -> tuple[Fraction, Any]:
    """A power of sqrt(2), nearly, where the kernel has fallen, and what is left there.

    Kernels without end fall so fast that beyond z there is less than |k(z)| z^(d/2 + 1).
    """
    largest = arb(10) ** -digits
    for j in range(-12, 22):
        z = Fraction(isqrt(2**j << 40), 2**20) if j >= 0 else Fraction(2**20, isqrt(2**-j << 40))
        size = _size(kernel, dim, z)
        if size < largest * arb(10) ** -digits:
            return z, size
        largest = max(largest, size)
    raise OutOfReach(f"{kernel.text} does not fall fast enough.")


def _rule(kernel: RealKernel, dim: int, w: float, split: int, digits: int) -> _Rule:
    end = kernel.end
    top = _reach(kernel, dim, digits)[0] if end is None else end
    kinks = tuple(r for r in kernel.kinks if r < top)
    levels = [_LEVELS, *(1 for _ in kinks), 1]
    if kernel.rough:
        quarters = _ROUGH_DIGITS * log2(10) / 2
        levels[0] = max(_LEVELS, ceil(quarters / dim))
        levels[-1] = ceil(quarters) if end is not None else 0
    return _Rule((Fraction(0), *kinks, top), tuple(levels), split, ceil(log2(w)), ctx.prec)


# --- densities --------------------------------------------------------------------------------


def radial_densities(
    kernel: RealKernel,
    dim: int,
    radii: Sequence[float],
    *,
    within: Sequence[float] | None = None,
    digits: int = 40,
) -> list[Any]:
    """rho at each radius as a ball that holds it, as far as two orders of the rule can tell.

    Panels are split until rho is known to 1e-20 of itself, or to the error in ``within``.
    ``digits`` is the size of what is left out, beside the largest value of k(z) z^(d/2 + 1).
    Where the rule is out of reach the answer is None.
    """
    errors = within or [0.0] * len(radii)
    # A formula in u, or an edge, is asked at distances of 10^-digits, and at their squares.
    close = 7 * digits if kernel.rough and kernel.end is not None else 0
    with ctx.workprec(80 + int(3.4 * digits) + 12 * dim + close):
        return [_radial(kernel, dim, w, e, digits) for w, e in zip(radii, errors, strict=True)]


def _radial(kernel: RealKernel, dim: int, w: float, within: float, digits: int) -> Any:
    best = None
    for split in range(1, _FINEST):
        try:
            rule = _rule(kernel, dim, w, split, digits)
        except OutOfReach:
            return None
        if len(rule.panels()) * _ORDERS[1] > _LONGEST_SUM:
            return best
        coarse, fine = (
            (_values(kernel, rule, n) * _column(rule, n, dim, w))[0, 0] for n in _ORDERS
        )
        if not fine.is_finite():
            return best
        error = abs(fine - coarse).upper() + fine.rad()
        beyond = arb(0)
        if kernel.end is None:
            beyond = _front(dim, w) * _reach(kernel, dim, digits)[1]
        error += beyond
        if best is None or error < best.rad():
            best = arb(fine.mid(), error.upper())
        if error < abs(fine) * arb(10) ** -_GOOD or error < arb(within):
            break
        if error < 2 * beyond:
            break
    return best
