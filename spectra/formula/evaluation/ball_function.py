r"""Formulas as functions of balls: complex ones on the principal branch, or real points.

.. math:: \tilde H^{\pm}_\nu(u) = H^{(1,2)}_\nu(u)\,e^{\mp iu}
          = \mp\frac{2i}{\pi} e^{\mp i\pi\nu/2}\,e^q K_\nu(q), \qquad q = \mp iu

(DLMF 10.27.8) is the amplitude of a Hankel function without its wave, a function of formulas.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import flint
import sympy

from spectra.base.precision import Ball, working_precision
from spectra.base.special.bessel_k import bessel_k
from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.evaluation.program import RELATIONS, Step, steps_of
from spectra.formula.functions import ARITIES, BY_NAME, KINKS

__all__ = ["BallFunction", "HankelAmplitude", "continued", "number"]

#: H^(1)_nu(u) exp(-iu) where the sign is 1, H^(2)_nu(u) exp(iu) where it is -1; of nu, u, sign.
HankelAmplitude = sympy.Function("HankelAmplitude", nargs=3)
# Bits that a value may lose to cancellation before it is computed again with twice as many; the
# last precision is 16 times the first, or resolves cosh(z) - sinh(z) up to z = 1500.
_LOST_BITS, _DOUBLINGS, _MOST_BITS = 32, 4, 6000
# A value below 2^(-12 bits) is small enough whatever its digits.
_NEGLIGIBLE = 12
# Larger whole exponents overflow the C integers of Arb.
_LARGEST_EXPONENT = 2**31
_NAN = flint.acb("nan")


class BallFunction:
    """A formula as a function of a complex ball, on the principal branch.

    With ``real`` it is a function of real points, which may have conditions: where it is undefined
    over the reals it raises ArithmeticError.

    Examples
    --------
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> root = BallFunction(sympy.sqrt(1 - z), z)
    >>> root(flint.acb(0.75)).overlaps(flint.acb(0.5))
    True
    >>> f = BallFunction((1 - sympy.cos(z)) / z**2, z, real=True)
    >>> float(f.resolved(flint.acb(2.0**-200), 128).real.mid())
    0.5
    """

    def __init__(self, expr: sympy.Expr, symbol: sympy.Symbol, *, real: bool = False) -> None:
        self.expr, self.symbol, self._real = expr, symbol, real
        self._programs: dict[int, list[tuple[Callable[..., Ball], tuple[int, ...]]]] = {}
        self._program()

    def __call__(self, z: Ball) -> Ball:
        """The value at the working precision."""
        registers = [z]
        for function, operands in self._program():
            registers.append(function(*[registers[i] for i in operands]))
        return registers[-1]

    def once(self, z: Ball, bits: int) -> Ball:
        """The value with this many working bits, of which cancellation may lose some."""
        with working_precision(bits):
            return self(z)

    def resolved(self, z: Ball, bits: int) -> Ball:
        """The value with about this many bits: computed again with more where terms cancel."""
        work, most = bits, max(bits << _DOUBLINGS, _MOST_BITS)
        while True:
            value = self.once(z, work)
            if value.is_finite() and (
                value.rel_accuracy_bits() >= bits - _LOST_BITS
                or abs(value) < flint.arb(2) ** (-_NEGLIGIBLE * bits)
            ):
                return value
            work *= 2
            if work > most:
                return value

    def _program(self) -> list[tuple[Callable[..., Ball], tuple[int, ...]]]:
        """The steps of the formula, with its numbers at the working precision."""
        if flint.ctx.prec not in self._programs:
            self._programs[flint.ctx.prec] = steps_of(self.expr, self.symbol, self._plan)
        return self._programs[flint.ctx.prec]

    def _plan(self, node: sympy.Basic) -> Step:
        """A function and its operands; a constant has none."""
        if not node.free_symbols:
            value = number(node)
            return (lambda: value), ()
        if isinstance(node, Opaque):
            raise FormulaError(
                f"The callable {node.func.__name__} has values in double precision only, and more "
                "digits are asked for here. Write the kernel as a formula."
            )
        if not self._real:
            return _planned(node)
        if isinstance(node, sympy.Piecewise):
            branches = [
                (
                    BallFunction(condition, self.symbol, real=True),
                    BallFunction(expr, self.symbol, real=True),
                )
                for expr, condition in node.args
            ]
            return partial(_choose, branches), (self.symbol,)
        function, operands = _planned(node)
        return partial(_within_reals, function), operands


def continued(expr: sympy.Expr, symbol: sympy.Symbol) -> BallFunction:
    """The function of a formula that is continued from z > 0 into the complex plane.

    Principal branches are taken, so that the values are those of the formula for z > 0 and of its
    continuation up to the first cut.

    Examples
    --------
    >>> z = sympy.Symbol("z")
    >>> k = continued(sympy.sqrt(1 + z**2) - z, z)
    >>> print(k.resolved(flint.acb(10) ** 12, 128).real.str(12, radius=False))
    5.00000000000e-13
    """
    for node in sympy.preorder_traversal(expr):
        if isinstance(node, KINKS) and node.free_symbols:
            raise FormulaError(f"{node.func.__name__} is not continued into the plane")
    return BallFunction(expr, symbol)


def number(node: sympy.Basic) -> Ball:
    """The ball of a constant, at the working precision."""
    if node.is_Float:
        node = sympy.Rational(node)
    if node.is_Rational:
        return flint.acb(flint.arb(flint.fmpq(int(node.p), int(node.q))))
    if node in _CONSTANTS:
        return _CONSTANTS[node]()
    if not node.args:
        raise FormulaError(f"the number {node} is not known in ball arithmetic")
    function, arguments = _planned(node)
    return function(*[number(a) for a in arguments])


def _planned(node: sympy.Basic) -> Step:
    """A function and its operands."""
    if node.is_Add or node.is_Mul:
        join = operator.add if node.is_Add else operator.mul
        return (join if len(node.args) == 2 else lambda *xs: reduce(join, xs)), node.args
    if node.is_Pow and (2 * node.exp).is_Integer and abs(node.exp) < _LARGEST_EXPONENT:
        whole = int(2 * node.exp)
        if whole % 2:
            return flint.acb.sqrt if whole == 1 else (lambda x: x.sqrt() ** whole), (node.base,)
        return (lambda x: x ** (whole // 2)), (node.base,)
    if node.func is sympy.besselk and node.order.is_Integer:
        order = int(node.order)
        return (lambda x: bessel_k(order, x, flint.ctx.prec)), (node.argument,)
    if node.func is sympy.hyper:
        above, below = [[number(a) for a in each] for each in (node.ap, node.bq)]
        return (lambda x: x.hypgeom(above, below)), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not known in ball arithmetic")
    return _FUNCTIONS[node.func], node.args


def _within_reals(function: Callable[..., Ball], *arguments: Ball) -> Ball:
    value = function(*arguments)
    if value.is_finite() and value.imag.contains(0):
        return value if value.imag.is_zero() else flint.acb(value.real)
    if value.is_finite() or all(argument.is_exact() for argument in arguments):
        raise ArithmeticError("undefined over the reals")
    return value


def _choose(branches: list[tuple[BallFunction, BallFunction]], x: Ball) -> Ball:
    """The value of the first branch whose condition holds; nan where more digits decide."""
    for condition, function in branches:
        truth = condition(x)
        if not truth.is_finite():
            return _NAN
        if truth == 1:
            return function(x)
    raise ArithmeticError("no condition holds")


def _relation(name: str) -> Callable[[Ball, Ball], Ball]:
    """Truth is 1 or 0, and nan where more digits decide: least and greatest are "and" and "or"."""
    opposite = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}[name]
    holds, fails = getattr(operator, name), getattr(operator, opposite)

    def truth(a: Ball, b: Ball) -> Ball:
        if holds(a.real, b.real):
            return flint.acb(1)
        return flint.acb(0) if fails(a.real, b.real) else _NAN

    return truth


def _hankel_amplitude(order: Ball, u: Ball, sign: Ball) -> Ball:
    i = flint.acb(0, 1) * sign
    turn = (-i * flint.acb.pi() * order / 2).exp()
    return -2 * i / flint.acb.pi() * turn * (-i * u).bessel_k(order, scaled=True)


def _power(base: Ball, exponent: Ball) -> Ball:
    """base**exponent; bounded, and not infinite, next to 0 for a positive exponent."""
    value = base.pow(exponent)
    if value.is_finite() or not (exponent.imag == 0 and exponent.real > 0):
        return value
    bound = abs(base).upper() ** exponent.real
    disc = flint.arb(0, bound.upper())
    return flint.acb(disc, disc)


_CONSTANTS: dict[sympy.Basic, Callable[[], Ball]] = {
    sympy.pi: flint.acb.pi,
    sympy.E: flint.acb(1).exp,
    sympy.EulerGamma: lambda: flint.acb(flint.arb.const_euler()),
    sympy.I: lambda: flint.acb(0, 1),
    sympy.true: lambda: flint.acb(1),
    sympy.false: lambda: flint.acb(0),
}
_ANALYTIC = [f for f in BY_NAME.values() if f not in (*ARITIES, *KINKS)]
_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    **{f: getattr(flint.acb, f.__name__) for f in _ANALYTIC},
    sympy.besselj: lambda order, x: x.bessel_j(order),
    sympy.besseli: lambda order, x: x.bessel_i(order),
    sympy.besselk: lambda order, x: x.bessel_k(order),
    sympy.bessely: lambda order, x: x.bessel_y(order),
    HankelAmplitude: _hankel_amplitude,
    sympy.expint: lambda order, x: x.expint(order),
    sympy.polygamma: lambda order, x: x.polygamma(order),
    sympy.Pow: _power,
    sympy.Abs: flint.acb.real_abs,
    sympy.Heaviside: lambda x, *at_zero: x.real_heaviside(),
    **dict.fromkeys((sympy.Max, sympy.Or), lambda *xs: reduce(flint.acb.real_max, xs)),
    **dict.fromkeys((sympy.Min, sympy.And), lambda *xs: reduce(flint.acb.real_min, xs)),
    sympy.Not: lambda truth: 1 - truth,
    **{head: _relation(name) for head, (_, name) in RELATIONS.items()},
}
