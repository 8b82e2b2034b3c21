r"""Evaluate formulas in ball arithmetic, for complex or real arguments.

Besides the functions of :mod:`spectra.formula.functions`, an expression may contain

.. math:: \tilde H^{\pm}_\nu(u) = H^{(1,2)}_\nu(u)\,e^{\mp iu}
          = \mp\frac{2i}{\pi} e^{\mp i\pi\nu/2}\,e^q K_\nu(q), \qquad q = \mp iu

(DLMF 10.27.8), the amplitude of a Hankel function that oscillates like exp(+-iu).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import flint
import sympy

from spectra.base.bessel_k import bessel_k
from spectra.base.limits import check_time
from spectra.base.precision import Ball, working_precision
from spectra.errors import FormulaError
from spectra.formula.callables import Opaque
from spectra.formula.functions import ARITIES, FUNCTIONS, PIECEWISE
from spectra.formula.program import RELATIONS, Operation, Steps, compile_steps

__all__ = ["BallFunction", "HankelAmplitude", "analytic_continuation", "constant_ball"]

#: HankelAmplitude(nu, u, sign) is H^(1)_nu(u) exp(-iu) for sign 1, H^(2)_nu(u) exp(iu) for -1.
HankelAmplitude = sympy.Function("HankelAmplitude", nargs=3)
# If cancellation costs more bits than this, the precision is doubled: at most 4 times or, if that
# is more, up to 6000 bits, which suffice for cosh(z) - sinh(z) at z = 1500.
_LOST_BITS, _DOUBLINGS, _MAX_BITS = 32, 4, 6000
# If n bits are requested, values below 2^(-12 n), 0 in doubles for n = 90, need no accuracy.
_NEGLIGIBLE = 12
# Larger integer exponents overflow the C integers of Arb.
_MAX_EXPONENT = 2**31
_NAN = flint.acb("nan")


class BallFunction:
    """A formula as a function of a complex ball, with principal branches.

    With ``real=True`` the argument is real, the formula may be piecewise, and ArithmeticError is
    raised where the formula has no real value.
    """

    def __init__(self, expr: sympy.Expr, symbol: sympy.Symbol, *, real: bool = False) -> None:
        self.expr, self.symbol, self._real = expr, symbol, real
        self._programs: dict[int, Steps] = {}
        self._program()

    def __call__(self, z: Ball) -> Ball:
        """The value at the working precision."""
        check_time()
        registers = [z]
        for function, operands in self._program():
            registers.append(function(*[registers[i] for i in operands]))
        return registers[-1]

    def at_precision(self, z: Ball, bits: int) -> Ball:
        """The value at a working precision in bits; cancellation may lose some of them."""
        with working_precision(bits):
            return self(z)

    def to_accuracy(self, z: Ball, bits: int) -> Ball:
        """The value with at least ``bits - 32`` correct bits, if the largest precision suffices."""
        precision, max_precision = bits, max(bits << _DOUBLINGS, _MAX_BITS)
        while True:
            value = self.at_precision(z, precision)
            if value.is_finite() and (
                value.rel_accuracy_bits() >= bits - _LOST_BITS
                or abs(value) < flint.arb(2) ** (-_NEGLIGIBLE * bits)
            ):
                return value
            precision *= 2
            if precision > max_precision:
                return value

    def _program(self) -> Steps:
        """The steps of the formula, with its constants at the working precision."""
        if flint.ctx.prec not in self._programs:
            self._programs[flint.ctx.prec] = compile_steps(
                self.expr, self.symbol, operation_of=self._operation
            )
        return self._programs[flint.ctx.prec]

    def _operation(self, node: sympy.Basic) -> Operation:
        if not node.free_symbols:
            value = constant_ball(node)
            return (lambda: value), ()
        if isinstance(node, Opaque):
            raise FormulaError(
                f"The callable {node.func.__name__} has values in double precision only, and more "
                "digits are needed here. Write the kernel as a formula."
            )
        if not self._real:
            return _ball_operation(node)
        if isinstance(node, sympy.Piecewise):
            make = partial(BallFunction, symbol=self.symbol, real=True)
            branches = [(make(condition), make(expr)) for expr, condition in node.args]
            return partial(_choose, branches), (self.symbol,)
        function, operands = _ball_operation(node)
        return partial(_real_value, function), operands


def analytic_continuation(expr: sympy.Expr, symbol: sympy.Symbol) -> BallFunction:
    """Continue a formula analytically from z > 0 into the complex plane.

    Every function takes its principal branch, so the continuation is valid up to the first cut.
    """
    for node in sympy.preorder_traversal(expr):
        if isinstance(node, PIECEWISE) and node.free_symbols:
            raise FormulaError(f"{node.func.__name__} has no analytic continuation")
    return BallFunction(expr, symbol)


def constant_ball(node: sympy.Basic) -> Ball:
    """A ball that encloses a constant expression, at the working precision."""
    if node.is_Float:
        node = sympy.Rational(node)
    if node.is_Rational:
        return flint.acb(flint.arb(flint.fmpq(int(node.p), int(node.q))))
    if node in _CONSTANTS:
        return _CONSTANTS[node]()
    if isinstance(node, sympy.CRootOf):  # a real root of a polynomial
        size = sympy.Rational(1, 2**flint.ctx.prec)
        error = flint.acb(flint.arb(0, constant_ball(size).real))
        return constant_ball(node.eval_rational(dx=size)) + error
    if not node.args:
        raise FormulaError(f"the constant {node} is not available in ball arithmetic")
    function, arguments = _ball_operation(node)
    return function(*[constant_ball(a) for a in arguments])


def _ball_operation(node: sympy.Basic) -> Operation:
    if node.is_Add or node.is_Mul:
        binary = operator.add if node.is_Add else operator.mul
        return (binary if len(node.args) == 2 else lambda *xs: reduce(binary, xs)), node.args
    if node.is_Pow and (2 * node.exp).is_Integer and abs(node.exp) < _MAX_EXPONENT:
        doubled = int(2 * node.exp)
        if doubled < 0 and doubled % 2 == 0 and node.base.func in _RECIPROCALS:
            reciprocal = _RECIPROCALS[node.base.func]
            return (lambda x: reciprocal(x) ** (-doubled // 2)), node.base.args
        if doubled % 2:
            return flint.acb.sqrt if doubled == 1 else (lambda x: x.sqrt() ** doubled), (node.base,)
        return (lambda x: x ** (doubled // 2)), (node.base,)
    if node.func is sympy.besselk and node.order.is_Integer:
        order = int(node.order)
        return (lambda x: bessel_k(order, x, flint.ctx.prec)), (node.argument,)
    if node.func is sympy.hyper:
        upper, lower = [[constant_ball(a) for a in each] for each in (node.ap, node.bq)]
        return (lambda x: x.hypgeom(upper, lower)), (node.argument,)
    if node.func not in _FUNCTIONS:
        raise FormulaError(f"{node.func.__name__} is not available in ball arithmetic")
    return _FUNCTIONS[node.func], node.args


def _real_value(function: Callable[..., Ball], *arguments: Ball) -> Ball:
    """The real value of a function; ArithmeticError if the value cannot be real."""
    value = function(*arguments)
    if value.is_finite() and value.imag.contains(0):
        return value if value.imag.is_zero() else flint.acb(value.real)
    if value.is_finite() or all(argument.is_exact() for argument in arguments):
        raise ArithmeticError("undefined over the reals")
    return value


def _choose(branches: list[tuple[BallFunction, BallFunction]], x: Ball) -> Ball:
    """The value of the first branch whose condition holds; nan if the precision is too low."""
    for condition, function in branches:
        truth = condition(x)
        if not truth.is_finite():
            return _NAN
        if truth == 1:
            return function(x)
    raise ArithmeticError("no condition holds")


def _relation(name: str) -> Callable[[Ball, Ball], Ball]:
    """A function that is 1 if the relation holds, 0 if not, and nan if the balls do not decide."""
    opposite = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}[name]
    holds, fails = getattr(operator, name), getattr(operator, opposite)

    def truth(a: Ball, b: Ball) -> Ball:
        if holds(a.real, b.real):
            return flint.acb(1)
        return flint.acb(0) if fails(a.real, b.real) else _NAN

    return truth


def _hankel_amplitude(order: Ball, u: Ball, sign: Ball) -> Ball:
    signed_i = flint.acb(0, 1) * sign
    rotation = (-signed_i * flint.acb.pi() * order / 2).exp()
    scaled_k = (-signed_i * u).bessel_k(order, scaled=True)
    return -2 * signed_i / flint.acb.pi() * rotation * scaled_k


def _power(base: Ball, exponent: Ball) -> Ball:
    """base**exponent, which is a bounded ball if the base contains 0 and the exponent is > 0."""
    value = base.pow(exponent)
    if value.is_finite() or not (exponent.imag == 0 and exponent.real > 0):
        return value
    bound = abs(base).upper() ** exponent.real
    interval = flint.arb(0, bound.upper())
    return flint.acb(interval, interval)


_CONSTANTS: dict[sympy.Basic, Callable[[], Ball]] = {
    sympy.pi: flint.acb.pi,
    sympy.E: flint.acb(1).exp,
    sympy.EulerGamma: lambda: flint.acb(flint.arb.const_euler()),
    sympy.I: lambda: flint.acb(0, 1),
    sympy.true: lambda: flint.acb(1),
    sympy.false: lambda: flint.acb(0),
}
# On a wide ball far from their poles these are finite, but 1/cosh(x), for example, may be nan.
_RECIPROCALS = {
    sympy.cosh: flint.acb.sech,
    sympy.sinh: flint.acb.csch,
    sympy.cos: flint.acb.sec,
    sympy.sin: flint.acb.csc,
}
# Analytic functions of one argument (ARITIES has the others); flint.acb has methods of their names.
_UNARY = [f for f in FUNCTIONS.values() if f not in (*ARITIES, *PIECEWISE)]
_FUNCTIONS: dict[Any, Callable[..., Ball]] = {
    **{f: getattr(flint.acb, f.__name__) for f in _UNARY},
    sympy.besselj: lambda order, x: x.bessel_j(order),
    sympy.besseli: lambda order, x: x.bessel_i(order),
    sympy.besselk: lambda order, x: x.bessel_k(order),
    sympy.bessely: lambda order, x: x.bessel_y(order),
    HankelAmplitude: _hankel_amplitude,
    sympy.expint: lambda order, x: x.expint(order),
    sympy.erfinv: lambda x: flint.acb(x.real.erfinv()),
    sympy.polygamma: lambda order, x: x.polygamma(order),
    sympy.Pow: _power,
    sympy.Abs: flint.acb.real_abs,
    sympy.Heaviside: lambda x, *at_zero: x.real_heaviside(),
    **dict.fromkeys((sympy.Max, sympy.Or), lambda *xs: reduce(flint.acb.real_max, xs)),
    **dict.fromkeys((sympy.Min, sympy.And), lambda *xs: reduce(flint.acb.real_min, xs)),
    sympy.Not: lambda truth: 1 - truth,
    **{relation: _relation(name) for relation, (_, name) in RELATIONS.items()},
}
