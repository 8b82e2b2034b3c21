"""A formula as a function of complex balls: the branch that continues it from the half-line.

Principal branches are taken throughout, so that the values are those of the formula on the
half-line and of its continuation up to the first cut.  Where a cut is met on the way to a ray, the
ray and the half-line have different sums, which ``ray`` looks at before it uses one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import flint
import sympy

from spectra.base.caching import kept
from spectra.base.precision import Ball, working
from spectra.density.continuation.amplitudes import HankelAmplitude, hankel_amplitude
from spectra.density.continuation.bessel_k import bessel_k, k_half_way
from spectra.errors import FormulaError
from spectra.formula.evaluation.program import steps_of
from spectra.formula.reader.parsing import Z
from spectra.formula.rules import Step

__all__ = ["Continuation", "number", "planned"]

# Bits that a value may lose to cancellation before it is computed again with twice as many.
_LOST = 40
_MOST_DOUBLINGS = 5
# Bits beside those of a value that its argument has.
_SPARE = 16
# Intervals are wider than that; balls of numbers are not.
_WIDE = 1e-6


def _bessel_j(order: Ball, z: Ball) -> Ball:
    value = z.bessel_j(order)
    real = z.imag.is_zero() and order.imag.is_zero() and order.real >= 0
    # DLMF 10.14.1; of an interval Arb knows less, since its series grow like exp(z).
    if real and not (value.is_finite() and value.real.rad() < 1):
        return flint.acb(flint.arb(0, 1))
    return value


def _of_ends(function: Callable[[Ball, Ball], Ball], order: Ball, z: Ball) -> Ball:
    """I and K of z; on an interval of positive numbers I rises and K falls (DLMF 10.37), so that
    their values at its ends bound them, which series of intervals do not."""
    x = z.real
    real = z.imag.is_zero() and order.imag.is_zero() and order.real >= 0 and x > 0
    if real and x.rad() > _WIDE * x.mid():
        low, high = (function(flint.acb(end), order).real for end in (x.lower(), x.upper()))
        return flint.acb(low.union(high))
    return function(z, order)


_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    sympy.exp: lambda z: z.exp(),
    sympy.log: lambda z: z.log(),
    sympy.sin: lambda z: z.sin(),
    sympy.cos: lambda z: z.cos(),
    sympy.tan: lambda z: z.tan(),
    sympy.asin: lambda z: z.asin(),
    sympy.acos: lambda z: z.acos(),
    sympy.atan: lambda z: z.atan(),
    sympy.sinh: lambda z: z.sinh(),
    sympy.cosh: lambda z: z.cosh(),
    sympy.tanh: lambda z: z.tanh(),
    sympy.gamma: lambda z: z.gamma(),
    sympy.erf: lambda z: z.erf(),
    sympy.erfc: lambda z: z.erfc(),
    sympy.besselj: _bessel_j,
    sympy.bessely: lambda n, z: z.bessel_y(n),
    sympy.besseli: partial(_of_ends, flint.acb.bessel_i),
    sympy.besselk: partial(_of_ends, flint.acb.bessel_k),
    sympy.expint: lambda s, z: z.expint(s),
}


class Continuation:
    """Values of a formula in Z at complex points.

    Parameters
    ----------
    expr : sympy expression
        A formula in Z without functions that change their branch (Abs, Min, Piecewise, ...).

    Raises
    ------
    FormulaError
        For a function that has no continuation here.

    Examples
    --------
    >>> k = Continuation(sympy.sqrt(1 + Z**2) - Z)
    >>> print(k(flint.acb(10) ** 12, 128).real.str(12, radius=False))
    5.00000000000e-13
    """

    def __init__(self, expr: sympy.Expr) -> None:
        self.expr = expr
        for node in sympy.preorder_traversal(expr):
            known = node.is_Symbol or node.is_number or node.is_Add or node.is_Mul or node.is_Pow
            if not (
                known
                or node.func in _FUNCTIONS
                or isinstance(node, sympy.hyper | sympy.Tuple | HankelAmplitude)
            ):
                raise FormulaError(f"{node.func.__name__} is not continued into the plane")

    def __call__(self, z: Ball, bits: int) -> Ball:
        """k(z) in a ball; with more bits than asked for where it cancels."""
        return self.along(lambda: z, bits)

    def along(self, place: Callable[[], Ball], bits: int) -> Ball:
        """k at a place that is known to as many bits as are asked for when it is called: beside a
        removable singularity a kernel cancels by what its argument is rounded, too."""
        work = bits
        for _ in range(_MOST_DOUBLINGS):
            with working(work + _SPARE):
                z = place()
            value = self.once(z, work)
            if value.is_finite() and (
                value.rel_accuracy_bits() > bits - _LOST or abs(value) < flint.arb(2) ** (-8 * bits)
            ):
                break
            work *= 2
        return value

    def once(self, z: Ball, bits: int) -> Ball:
        """k(z) in a ball with so many working bits, whatever it loses."""
        with working(bits):
            return self._registers(z)[-1]

    def parts(self, z: Ball, bits: int) -> list[Ball]:
        """The values of all functions and powers in the formula; sums and products of them, whose
        bounds know nothing of what they have in common, are left out."""
        with working(bits):
            registers = self._registers(z)
        functions = (function for function, _ in self._program(bits))
        return [
            value
            for function, value in zip(functions, registers[1:], strict=True)
            if function not in (_sum, _product)
        ]

    def _registers(self, z: Ball) -> list[Ball]:
        """The values of all parts at z, at the working precision, those of the whole last."""
        registers = [z]
        for function, operands in self._program(flint.ctx.prec):
            registers.append(function(*[registers[i] for i in operands]))
        return registers

    @kept
    def _program(self, bits: int) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
        """The steps of the formula, with its numbers to so many bits."""
        with working(bits):
            return steps_of(self.expr, Z, _planned)


def _planned(node: sympy.Basic) -> Step:
    """The plan of a node; numbers have the working precision."""
    if node.free_symbols:
        return planned(node)
    value = number(node)
    return (lambda: value), ()


def planned(node: sympy.Basic) -> Step:
    if node.is_Add:
        return _sum, node.args
    if node.is_Mul:
        return _product, node.args
    if node.is_Pow:
        base, exponent = node.args
        if exponent.is_Integer and abs(exponent) < 2**31:
            n = int(exponent)
            return (lambda x: x**n), (base,)
        if exponent == sympy.S.Half:
            return (lambda x: x.sqrt()), (base,)
        return (lambda x, a: (a * x.log()).exp()), (base, exponent)
    if node.func is sympy.besselk and node.order.is_Integer:
        order = int(node.order)
        return (lambda x: bessel_k(order, x, flint.ctx.prec)), (node.argument,)
    if node.func is sympy.besselk and (2 * node.order).is_Integer and abs(node.order) < 64:
        half = int(abs(node.order) - sympy.S.Half)
        return (lambda x: k_half_way(half, x)), (node.argument,)
    if node.func is HankelAmplitude:
        nu, argument, sign = node.args
        return (lambda x: hankel_amplitude(number(nu), int(sign), x)), (argument,)
    if node.func is sympy.hyper:
        above = [number(a) for a in node.ap]
        below = [number(b) for b in node.bq]
        return (lambda x: x.hypgeom(above, below)), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not known in ball arithmetic")
    return _FUNCTIONS[node.func], node.args


def _sum(*terms: Ball) -> Ball:
    return sum(terms[1:], terms[0])


def _product(*factors: Ball) -> Ball:
    value = factors[0]
    for factor in factors[1:]:
        value = value * factor
    return value


def number(node: sympy.Basic) -> Ball:
    """A constant, to the working precision."""
    if node.is_Rational:
        return flint.acb(flint.arb(flint.fmpq(int(node.p), int(node.q))))
    if node is sympy.pi:
        return flint.acb.pi()
    if node is sympy.E:
        return flint.acb(1).exp()
    if node is sympy.I:
        return flint.acb(0, 1)
    if node.is_Float:
        exact = sympy.Rational(node)
        return flint.acb(flint.arb(flint.fmpq(int(exact.p), int(exact.q))))
    if not node.args:
        raise FormulaError(f"the number {node} is not known in ball arithmetic")
    function, arguments = planned(node)
    return function(*[number(a) for a in arguments])
