r"""A formula with sines, cosines and Bessel functions as a sum of waves.

.. math:: k(z) = f_0(z) + 2\Re\sum_b e^{ibz} f_b(z)

for z > 0, with functions :math:`f_b` that do not oscillate: cosines and sines are exponentials,
and :math:`J_\nu = (H^{(1)}_\nu + H^{(2)}_\nu)/2`.  Each wave has a direction of its own in which
it decays, which their sum has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy

from spectra.base.precision import Ball
from spectra.density.half_line.ends.power_terms import (
    PowerTerms,
    Term,
    expansion_from,
    expansion_of,
    one_sided_expansion,
)
from spectra.errors import NoRouteError
from spectra.formula.evaluation.ball_function import (
    BallFunction,
    HankelAmplitude,
    continued,
)
from spectra.formula.reader.parsing import Z

__all__ = ["Wave", "oscillation", "read_waves"]

_WAVES = (sympy.sin, sympy.cos, sympy.besselj)
# A product of more waves than this is not multiplied out.
_MOST_PRODUCTS = 200
_LARGEST_POWER = 12


@dataclass(frozen=True)
class Wave:
    """exp(i b z) f(z), and its conjugate where b > 0."""

    frequency: sympy.Expr
    amplitude: sympy.Expr

    @cached_property
    def rate(self) -> float:
        """b as a double."""
        return float(self.frequency.evalf(30))

    @cached_property
    def _continued(self) -> BallFunction:
        return continued(self.amplitude, Z)

    def at(self, z: Ball, bits: int) -> Ball:
        """f(z)."""
        return self._continued.resolved(z, bits)


def oscillation(expr: sympy.Expr) -> tuple[PowerTerms, dict[sympy.Expr, Term]]:
    """What does not oscillate of a formula at infinity, and the leading terms of its waves.

    Returns
    -------
    plain : Expansion
    turning : dict
        The term (a, q, c) of each frequency b > 0, by ascending b: the formula has the wave
        c z^-a log^q(z) exp(ibz) and its conjugate.
    """
    expansion = one_sided_expansion(expr, sympy.oo)
    turning: dict[sympy.Expr, Term] = {}
    for phase, series in expansion.parts:
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
            if any(not (q.is_Integer and q <= 0) for (_, q), _ in series.terms):
                raise NoRouteError(
                    f"The waves of {expr} decay with powers of logarithms that are not whole: the "
                    "numeric route does not cover them. Design a finite measure for your range of "
                    "distances (design)."
                )
            (a, minus_q), c = series.terms[0]
            turning[b] = a, -int(minus_q), c
    plain = expansion.of((p, s) for p, s in expansion.parts if p.growth < 0 or not p.terms)
    return expansion_from(plain, expr, sympy.oo), dict(sorted(turning.items()))


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


def read_waves(expr: sympy.Expr) -> tuple[Wave, ...]:
    """The waves of a formula in Z, by ascending frequency; none where it has no such function.

    Examples
    --------
    >>> [w.rate for w in read_waves(sympy.sin(Z) ** 2 / Z**2)]
    [0.0, 2.0]
    """
    if not expr.has(*_WAVES):
        return ()
    try:
        products = _products(expr)
    except sympy.PolynomialError as error:
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
    waves = [Wave(b, _amplitude(found[b])) for b in found]
    return tuple(sorted(waves, key=lambda wave: wave.rate))


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
    raise sympy.PolynomialError(f"it has {expr}")


def _times(first: _Sum, second: _Sum) -> _Sum:
    if len(first) * len(second) > _MOST_PRODUCTS:
        raise sympy.PolynomialError("it is too long to be multiplied out")
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
        raise sympy.PolynomialError(f"it has {node}")
    terms = {a: c for a, q, c in _far(u) if q == 0}
    c = terms.get(sympy.Integer(-1), sympy.S.Zero)
    if c == 0 or any(a.is_negative and a != -1 for a in terms):
        return {_PLAIN: node}
    half = sympy.Rational(1, 2)
    if isinstance(node, sympy.besselj):
        if not (c.is_positive and node.args[0].is_real):
            raise sympy.PolynomialError(f"it has {node}")
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
    return expansion_of(expr, sympy.oo)


# --- amplitudes -------------------------------------------------------------------------------


def _amplitude(products: list[tuple[_Product, sympy.Expr]]) -> sympy.Expr:
    """The sum of products without their common wave."""
    total = sympy.S.Zero
    for (carriers, turns), factor in products:
        total += sympy.I**turns * factor * sympy.Mul(*(_left_of(*c) for c in carriers))
    return total


def _left_of(c: _Carrier, up: int, down: int) -> sympy.Expr:
    """What is left of the waves of a carrier once their exponentials are taken out."""
    left = sympy.exp(sympy.I * (up - down) * c.rest)
    if c.order is None:
        return left
    u = c.frequency * Z + c.rest
    return left * HankelAmplitude(c.order, u, 1) ** up * HankelAmplitude(c.order, u, -1) ** down
