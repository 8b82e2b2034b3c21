r"""A formula with sines, cosines and Bessel functions as a sum of waves.

.. math:: k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)

for z > 0, with functions :math:`f_b` that do not oscillate: cosines and sines are exponentials,
and :math:`J_\nu = (H^{(1)}_\nu + H^{(2)}_\nu)/2`.  Each wave has a direction of its own in which
it decays, which their sum has not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import hankel1e

from spectra.errors import NoRouteError
from spectra.formula.parsing import Z
from spectra.transform.half_lines.ends import (
    Expansion,
    expansion_from,
    expansion_of,
    germ_of,
    serves_up_to,
    stable_value,
)

__all__ = ["Turning", "Wave", "oscillation", "read_waves", "scaled_hankel"]

ComplexArray = NDArray[Any]
Values = Callable[[ComplexArray], ComplexArray]

_WAVES = (sympy.sin, sympy.cos, sympy.besselj)
# A product of more waves than this is not multiplied out.
_MOST_PRODUCTS = 200
_LARGEST_POWER = 12
# From here on the asymptotic series of a Hankel function has all its digits (DLMF 10.17.5).
_FAR, _FAR_SHARE, _FAR_TERMS = 1e3, 8.0, 12
_FREQUENCY_DIGITS = 30
# Doubles serve where they lose no more than this: the paths count on it.
_LOST = 3e-15


@dataclass(frozen=True, eq=False)
class Wave:
    """exp(i b z) f(z), and its conjugate where b > 0.

    Attributes
    ----------
    frequency : float
        b >= 0.
    value : callable
        f at an array of complex points of the quarter plane.
    """

    frequency: float
    value: Values

    def with_end(self, terms: tuple[tuple[sympy.Expr, int, sympy.Expr], ...]) -> Wave:
        """The same with its expansion at infinity in the place of sums that cancel there."""
        near = serves_up_to(terms)
        if near == 0.0:
            return self
        series = [(float(a), q, complex(c.evalf(20))) for a, q, c in terms]

        def value(z: ComplexArray) -> ComplexArray:
            far = np.abs(z) * near > 1.0
            out = np.empty(z.shape, dtype=complex)
            out[~far] = self.value(z[~far])
            log = np.log(z[far])
            out[far] = sum(c * np.exp(-a * log) * log**q for a, q, c in series)
            return out

        return Wave(self.frequency, value)

    def conjugate(self, z: ComplexArray) -> ComplexArray:
        """The function that is the conjugate of f on the real axis."""
        return np.conj(self.value(np.conj(z)))


@dataclass(frozen=True)
class Turning:
    """A wave at infinity: sums of c z^-a log^q(z) exp(ibz), and its conjugate.

    Attributes
    ----------
    frequency : sympy number
        b > 0.
    terms : tuple
        (a, q, c), the largest first.
    """

    frequency: sympy.Expr
    terms: tuple[tuple[sympy.Expr, int, sympy.Expr], ...]

    @property
    def exponent(self) -> sympy.Expr:
        """a of the leading term."""
        return self.terms[0][0]

    @property
    def log_power(self) -> int:
        """q of the leading term."""
        return self.terms[0][1]

    @property
    def factor(self) -> sympy.Expr:
        """c of the leading term."""
        return self.terms[0][2]


def oscillation(expr: sympy.Expr) -> tuple[Expansion, tuple[Turning, ...]]:
    """What does not oscillate of a formula at infinity, and the leading terms of its waves.

    Raises
    ------
    NoRouteError
        Where it oscillates in another way than exp(ibz), or grows.
    """
    germ = germ_of(expr, sympy.oo)
    turning: list[Turning] = []
    for phase, series in germ.parts:
        if not phase.terms or phase.growth < 0 or not series.terms:
            continue
        (size, rate), *others = phase.terms
        b = rate / sympy.I
        if phase.growth > 0 or others or size != (-1, 0) or not b.is_real:
            raise NoRouteError(
                f"The formula {expr} oscillates at infinity in another way than exp(ibz), without "
                "decaying faster than every power: the numeric route follows waves of constant "
                "frequency. Design a finite measure for your range of distances (design)."
            )
        if b.is_positive:
            terms = tuple((a, -minus_q, c) for (a, minus_q), c in series.terms)
            if any(not (q.is_Integer and q >= 0) for _, q, _ in terms):
                raise NoRouteError(
                    f"The waves of {expr} decay with powers of logarithms that are not whole: the "
                    "numeric route does not cover them. Design a finite measure for your range of "
                    "distances (design)."
                )
            turning.append(Turning(b, tuple((a, int(q), c) for a, q, c in terms)))
    plain = germ.of((p, s) for p, s in germ.parts if p.growth < 0 or not p.terms)
    return expansion_from(plain, expr, sympy.oo), tuple(sorted(turning, key=lambda t: t.frequency))


def scaled_hankel(order: float, y: Any) -> Any:
    """H^(1)_order(y) exp(-iy) at complex points, of any size, to rounding."""
    far = np.abs(y) > max(_FAR, _FAR_SHARE * order * order)
    if not np.any(far):
        return hankel1e(order, y)
    out = hankel1e(order, np.where(far, 1.0, y))
    at = y[far]
    term = np.sqrt(2.0 / (np.pi * at)) * np.exp(-0.5j * np.pi * (order + 0.5))
    total = term.copy()
    for k in range(1, _FAR_TERMS):
        term = term * (4.0 * order * order - (2 * k - 1) ** 2) * 1j / (8.0 * k * at)
        total += term
    out[far] = total
    return out


@dataclass(frozen=True)
class _Carrier:
    """The argument u = c z + rest of a sine, a cosine, or a Bessel function of some order."""

    frequency: sympy.Expr
    rest: sympy.Expr
    order: sympy.Expr | None


# A product of waves: how often exp(iu) (or H1) and exp(-iu) (or H2) of each carrier occur, and
# how often i, mod 4.
_Product = tuple[tuple[tuple[_Carrier, int, int], ...], int]
_Sum = dict[_Product, sympy.Expr]
_PLAIN: _Product = ((), 0)


class _NotWaves(Exception):
    """The formula is no polynomial in its waves."""


def read_waves(expr: sympy.Expr) -> tuple[Wave, ...]:
    """The waves of a formula in Z, by ascending frequency; none where it has no such function.

    Raises
    ------
    NoRouteError
        Where waves stand in a denominator or inside another function.

    Examples
    --------
    >>> [w.frequency for w in read_waves(sympy.sin(Z) ** 2 / Z**2)]
    [0.0, 2.0]
    """
    if not expr.has(*_WAVES):
        return ()
    try:
        products = _products(expr)
    except _NotWaves as error:
        raise NoRouteError(
            f"The formula {expr} oscillates, and not as a polynomial in sines, cosines and Bessel "
            f"functions ({error}): its waves cannot be told apart, so the numeric route cannot "
            "integrate them. Design a finite measure for your range of distances."
        ) from error
    found: dict[sympy.Expr, list[tuple[_Product, sympy.Expr]]] = {}
    for product, factor in products.items():
        b = sympy.Add(*((p - m) * c.frequency for c, p, m in product[0]))
        b = sympy.simplify(b) if b.has(sympy.Add) else b
        if not b.is_negative:
            found.setdefault(b, []).append((product, factor))
    if set(found) == {sympy.S.Zero}:
        return ()
    waves = [Wave(float(b.evalf(_FREQUENCY_DIGITS)), _value(found[b])) for b in found]
    return tuple(sorted(waves, key=lambda wave: wave.frequency))


# --- multiplying out --------------------------------------------------------------------------


def _products(expr: sympy.Expr) -> _Sum:
    if not expr.has(*_WAVES):
        return {_PLAIN: expr}
    if expr.is_Add:
        total: _Sum = {}
        for part in expr.args:
            for product, factor in _products(part).items():
                total[product] = total.get(product, sympy.S.Zero) + factor
        return total
    if expr.is_Mul:
        total = {_PLAIN: sympy.S.One}
        for part in expr.args:
            total = _times(total, _products(part))
        return total
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_POWER:
        base = _products(expr.base)
        total = base
        for _ in range(int(expr.exp) - 1):
            total = _times(total, base)
        return total
    if isinstance(expr, _WAVES):
        return _wave(expr)
    raise _NotWaves(f"it has {expr}")


def _times(first: _Sum, second: _Sum) -> _Sum:
    if len(first) * len(second) > _MOST_PRODUCTS:
        raise _NotWaves("it is too long to be multiplied out")
    total: _Sum = {}
    for (one, i), a in first.items():
        for (two, j), b in second.items():
            powers: dict[_Carrier, tuple[int, int]] = {c: (p, m) for c, p, m in one}
            for c, p, m in two:
                before = powers.get(c, (0, 0))
                powers[c] = (before[0] + p, before[1] + m)
            kept = []
            for c, (p, m) in powers.items():
                if c.order is None:
                    p, m = p - min(p, m), m - min(p, m)
                if p or m:
                    kept.append((c, p, m))
            product = (tuple(sorted(kept, key=str)), (i + j) % 4)
            total[product] = total.get(product, sympy.S.Zero) + a * b
    return total


def _wave(node: sympy.Expr) -> _Sum:
    """A sine, a cosine or a Bessel function by its two waves."""
    u = node.args[-1]
    if u.has(*_WAVES):
        raise _NotWaves(f"it has {node}")
    terms = {a: c for a, q, c in _far(u) if q == 0}
    c = terms.get(sympy.Integer(-1), sympy.S.Zero)
    if c == 0 or any(a.is_negative and a != -1 for a in terms):
        return {_PLAIN: node}
    half = sympy.Rational(1, 2)
    if isinstance(node, sympy.besselj):
        if not (c.is_positive and node.args[0].is_real):
            raise _NotWaves(f"it has {node}")
        carrier = _Carrier(c, u - c * Z, node.args[0])
        return {(((carrier, 1, 0),), 0): half, (((carrier, 0, 1),), 0): half}
    flip = -1 if c.is_negative else 1
    carrier = _Carrier(flip * c, flip * (u - c * Z), None)
    up: tuple[tuple[_Carrier, int, int], ...] = ((carrier, 1, 0),)
    down: tuple[tuple[_Carrier, int, int], ...] = ((carrier, 0, 1),)
    if isinstance(node, sympy.cos):
        return {(up, 0): half, (down, 0): half}
    # sin u = (-i e^(iu) + i e^(-iu))/2
    return {(up, 3): flip * half, (down, 1): flip * half}


def _far(expr: sympy.Expr) -> tuple[tuple[sympy.Expr, int, sympy.Expr], ...]:
    return expansion_of(expr, sympy.oo).terms


# --- values -----------------------------------------------------------------------------------


def _stable(expr: sympy.Expr) -> Values:
    if not expr.has(Z):
        number = complex(expr.evalf(20))
        return lambda z: np.full(z.shape, number)
    try:
        infinity = expansion_of(expr, sympy.oo)
    except NoRouteError:
        infinity = Expansion((), 0.0)
    short = sympy.factor(sympy.together(expr)) if expr.is_rational_function(Z) else expr
    return stable_value(short, Expansion((), 0.0), infinity, lost=_LOST)


def _value(products: list[tuple[_Product, sympy.Expr]]) -> Values:
    parts: list[tuple[Values, complex, list[Values]]] = []
    for (carriers, turns), factor in products:
        functions: list[Values] = []
        for c, p, m in carriers:
            functions += _carried(c, p, m)
        parts.append((_stable(factor), (1, 1j, -1, -1j)[turns], functions))

    def value(z: ComplexArray) -> ComplexArray:
        total = np.zeros(z.shape, dtype=complex)
        for factor, turn, functions in parts:
            term = turn * factor(z)
            for function in functions:
                term = term * function(z)
            total = total + term
        return total

    return value


def _carried(c: _Carrier, up: int, down: int) -> list[Values]:
    """What is left of the waves of a carrier once their exponentials are taken out."""
    functions: list[Values] = []
    if c.rest != 0 and up != down:
        rest = _stable(c.rest)
        functions.append(lambda z: np.exp(1j * (up - down) * rest(z)))
    if c.order is not None:
        order, rate, rest = float(c.order), float(c.frequency), _stable(c.rest)
        if up:
            functions.append(lambda z: scaled_hankel(order, rate * z + rest(z)) ** up)
        if down:
            functions.append(
                lambda z: np.conj(scaled_hankel(order, np.conj(rate * z + rest(z)))) ** down
            )
    return functions
