"""A formula as a function of complex balls: the branch that continues it from the half-line.

Principal branches are taken throughout, so that the values are those of the formula on the
half-line and of its continuation up to the first cut.  Where a cut is met on the way to a ray, the
ray and the half-line have different sums, which ``ray`` looks at before it uses one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import sympy

from spectra.errors import FormulaError
from spectra.formula.parsing import Z
from spectra.transform.rays.bessel_k import bessel_k, k_half_way
from spectra.transform.rays.precision import Ball, working

__all__ = ["Continuation"]

# Bits that a value may lose to cancellation before it is computed again with twice as many.
_LOST = 40
_MOST_DOUBLINGS = 5


def _bessel_j(order: Ball, z: Ball) -> Ball:
    value = z.bessel_j(order)
    real = z.imag.is_zero() and order.imag.is_zero() and order.real >= 0
    # DLMF 10.14.1; of an interval Arb knows less, since its series grow like exp(z).
    if real and not (value.is_finite() and value.real.rad() < 1):
        return flint.acb(flint.arb(0, 1))
    return value


def _bessel_k(order: Ball, z: Ball) -> Ball:
    value = z.bessel_k(order)
    real = z.imag.is_zero() and order.imag.is_zero() and z.real > 0
    if real and not (value.is_finite() and value.real.rad() < abs(value).mid() / 2):
        # DLMF 10.37: K falls, so that its values at the ends bound it on an interval.
        ends = (flint.acb(x).bessel_k(order).real for x in (z.real.lower(), z.real.upper()))
        return flint.acb(next(ends).union(next(ends)))
    return value


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
    sympy.besseli: lambda n, z: z.bessel_i(n),
    sympy.besselk: _bessel_k,
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
        self._programs: dict[int, list[tuple[Callable[..., Ball], tuple[int, ...]]]] = {}
        for node in sympy.preorder_traversal(expr):
            known = node.is_Symbol or node.is_number or node.is_Add or node.is_Mul or node.is_Pow
            if not (
                known or node.func in _FUNCTIONS or isinstance(node, sympy.hyper | sympy.Tuple)
            ):
                raise FormulaError(f"{node.func.__name__} is not continued into the plane")

    def __call__(self, z: Ball, bits: int) -> Ball:
        """k(z) in a ball; with more bits than asked for where it cancels."""
        work = bits
        for _ in range(_MOST_DOUBLINGS):
            with working(work):
                value = self._evaluated(z)
            if value.is_finite() and (
                value.rel_accuracy_bits() > bits - _LOST or _below(value, -8 * bits)
            ):
                break
            work *= 2
        return value

    def steps(self, z: Ball, bits: int) -> list[Ball]:
        """The values of z and of all parts of the formula, its own last."""
        if bits not in self._programs:
            with working(bits):
                self._programs[bits] = _compiled(self.expr)
        registers = [z]
        with working(bits):
            for function, operands in self._programs[bits]:
                registers.append(function(*[registers[i] for i in operands]))
        return registers

    def _evaluated(self, z: Ball) -> Ball:
        return self.steps(z, flint.ctx.prec)[-1]


def _below(value: Ball, exponent: int) -> bool:
    return bool(abs(value) < flint.arb(2) ** exponent)


def _compiled(expr: sympy.Expr) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
    """Steps in an order in which each finds its operands; numbers have the working precision."""
    steps: list[tuple[Callable[..., Ball], tuple[int, ...]]] = []
    place: dict[sympy.Basic, int] = {Z: 0}

    def visit(node: sympy.Basic) -> int:
        if node in place:
            return place[node]
        if not node.free_symbols:
            value = _number(node)
            steps.append((lambda: value, ()))
        else:
            function, arguments = _plan(node)
            operands = tuple(visit(a) for a in arguments)
            steps.append((function, operands))
        place[node] = len(steps)
        return place[node]

    last = visit(expr)
    if last != len(steps):
        steps.append((lambda x: x, (last,)))
    return steps


def _plan(node: sympy.Basic) -> tuple[Callable[..., Ball], tuple[sympy.Basic, ...]]:
    if node.is_Add:
        return (lambda *terms: sum(terms[1:], terms[0])), node.args
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
    if node.func is sympy.hyper:
        above = [_number(a) for a in node.ap]
        below = [_number(b) for b in node.bq]
        return (lambda x: x.hypgeom(above, below)), (node.argument,)
    return _FUNCTIONS[node.func], node.args


def _product(*factors: Ball) -> Ball:
    value = factors[0]
    for factor in factors[1:]:
        value = value * factor
    return value


def _number(node: sympy.Basic) -> Ball:
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
    function, arguments = _plan(node)
    return function(*[_number(a) for a in arguments])
