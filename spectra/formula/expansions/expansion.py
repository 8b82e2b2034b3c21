r"""One-sided expansions of formulas: at a radius, at zero and at infinity.

The formula is walked from its leaves, and each function of the formula language has one rule on
:class:`~spectra.formula.expansions.germs.Germ`.  No rule guesses: what has no such expansion raises
:class:`~spectra.formula.expansions.exact_numbers.ExpansionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy

from spectra.formula.expansions.bessel_expansions import (
    bessel_at_infinity,
    bessel_at_zero,
    bessel_k_at_zero,
)
from spectra.formula.expansions.elementary import exp, limit, log, power
from spectra.formula.expansions.exact_numbers import (
    ExpansionError,
    is_zero,
    sign,
)
from spectra.formula.expansions.germs import ZERO, Germ
from spectra.formula.expansions.hyperexpansion import expand_hyper
from spectra.formula.expansions.taylor_series import hypergeometric_series, trigonometric_series
from spectra.formula.opaque import Opaque
from spectra.formula.parsing import Z

__all__ = ["expand_at", "has_oscillation"]

_HALF = sympy.Rational(1, 2)
_ONE = sympy.Integer(1)
_NIL = sympy.Integer(0)
_X = sympy.Symbol("x")
#: Derivatives of a special function at a finite point grow in length: no more are taken.
_MOST_DERIVATIVES = 12


def expand_at(expr: sympy.Expr, point: sympy.Expr, side: int, window: int) -> Germ:
    """Expand a formula in z at ``point``, from one side, as a germ in t -> 0+.

    Parameters
    ----------
    expr
        A formula in z without Abs, Min, Max, Heaviside and Piecewise.
    point
        A radius >= 0, or ``oo``.
    side
        1 for z = point + t, -1 for z = point - t; at infinity z = 1/t.
    window
        How many powers of t are kept, relative to the largest.

    Raises
    ------
    ExpansionError
        Where no rule applies, or more terms are needed (a wider window may then help).

    Examples
    --------
    >>> germ = expand_at(sympy.acos(1 - Z), sympy.Integer(0), 1, 2)
    >>> germ.part().terms[0]
    ((1/2, 0), sqrt(2))
    """
    return _Expander(point, side, window).visit(expr)


def has_oscillation(germ: Germ) -> bool:
    """Whether a part of the germ has modulus one and an oscillating phase."""
    return any(p != ZERO and p.growth == 0 for p, _ in germ.parts)


class _Expander:
    def __init__(self, point: sympy.Expr, side: int, window: int) -> None:
        self.window = window
        if point is sympy.oo:
            variable = Germ.power(_ONE, -_ONE)
        else:
            variable = Germ.constant(point) + Germ.power(sympy.Integer(side), _ONE)
        self._memo: dict[sympy.Expr, Germ] = {Z: variable}

    def visit(self, node: sympy.Expr) -> Germ:
        if node not in self._memo:
            self._memo[node] = self._expand(node)
        return self._memo[node]

    def _expand(self, node: sympy.Expr) -> Germ:
        if not node.free_symbols:
            return Germ.constant(node)
        if node.is_Add:
            total = Germ(())
            for term in node.args:
                total = total + self.visit(term)
            return total
        if node.is_Mul:
            product = self.visit(node.args[0])
            for factor in node.args[1:]:
                product = product.times(self.visit(factor), self.window)
            return product
        if node.is_Pow:
            base, exponent = node.args
            if exponent.free_symbols:
                log_base = log(self.visit(base), self.window)
                return exp(self.visit(exponent).times(log_base, self.window), self.window)
            return power(self.visit(base), exponent, self.window)
        if isinstance(node, Opaque):
            raise ExpansionError(f"the callable {node.func.__name__} shows no formula")
        rule = _RULES.get(node.func)
        if rule is None:
            return self._analytic(node)
        return rule(self, node)

    # --- elementary functions ---------------------------------------------------------------

    def exp(self, node: sympy.Expr) -> Germ:
        return exp(self.visit(node.args[0]), self.window)

    def log(self, node: sympy.Expr) -> Germ:
        return log(self.visit(node.args[0]), self.window)

    def _circular(self, node: sympy.Expr) -> tuple[Germ, Germ]:
        """Sine and cosine of the argument of a node."""
        g = self.visit(node.args[0])
        if has_oscillation(g):
            if not g.small:
                raise ExpansionError("the sine or cosine of an oscillating argument")
            value: sympy.Expr | None = _NIL
        else:
            value = limit(g)
        if value is None:
            plus = exp(g.scaled(sympy.I), self.window)
            minus = exp(g.scaled(-sympy.I), self.window)
            sine = (plus + minus.scaled(-_ONE)).scaled(-sympy.I / 2)
            return sine, (plus + minus).scaled(_HALF)
        delta = g + Germ.constant(-value)
        s, c = sympy.sin(value), sympy.cos(value)
        sine = delta.compose(trigonometric_series(s, c), self.window)
        return sine, delta.compose(trigonometric_series(c, -s), self.window)

    def sin(self, node: sympy.Expr) -> Germ:
        return self._circular(node)[0]

    def cos(self, node: sympy.Expr) -> Germ:
        return self._circular(node)[1]

    def tan(self, node: sympy.Expr) -> Germ:
        s, c = self._circular(node)
        return s.times(power(c, -_ONE, self.window), self.window)

    def _hyperbolic(self, node: sympy.Expr) -> tuple[Germ, Germ]:
        g = self.visit(node.args[0])
        plus, minus = exp(g, self.window), exp(g.scaled(-_ONE), self.window)
        return (plus + minus.scaled(-_ONE)).scaled(_HALF), (plus + minus).scaled(_HALF)

    def sinh(self, node: sympy.Expr) -> Germ:
        return self._hyperbolic(node)[0]

    def cosh(self, node: sympy.Expr) -> Germ:
        return self._hyperbolic(node)[1]

    def tanh(self, node: sympy.Expr) -> Germ:
        s, c = self._hyperbolic(node)
        return s.times(power(c, -_ONE, self.window), self.window)

    def _primitive(
        self, node: sympy.Expr, slope: Callable[[Germ], Germ], ends: tuple[sympy.Expr, ...]
    ) -> Germ:
        """A function by integrating its derivative f'(g) g' in t; ``ends`` are f(-oo), f(oo)."""
        series = self.visit(node.args[0]).plain
        g = Germ(((ZERO, series),))
        value = limit(g)
        if value is not None:
            constant = node.func(value)
        elif ends:
            constant = ends[sign(series.terms[0][1]) > 0]
        else:
            raise ExpansionError(f"{node.func.__name__} of an unbounded argument")
        prime = Germ.of([(ZERO, series.derivative())])
        if not prime.parts:
            return Germ.constant(constant)
        rate = prime.times(slope(g), self.window).plain
        return Germ.constant(constant) + Germ.of([(ZERO, rate.integral())])

    def asin(self, node: sympy.Expr) -> Germ:
        return self._primitive(node, self._arc_slope, ())

    def acos(self, node: sympy.Expr) -> Germ:
        return self._primitive(node, lambda g: self._arc_slope(g).scaled(-_ONE), ())

    def _arc_slope(self, g: Germ) -> Germ:
        square = g.times(g, self.window).scaled(-_ONE)
        return power(Germ.constant(_ONE) + square, -_HALF, self.window)

    def atan(self, node: sympy.Expr) -> Germ:
        def slope(g: Germ) -> Germ:
            return power(Germ.constant(_ONE) + g.times(g, self.window), -_ONE, self.window)

        return self._primitive(node, slope, (-sympy.pi / 2, sympy.pi / 2))

    # --- special functions ------------------------------------------------------------------

    def erf(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.args[0])
        if limit(g) is not None:
            slope_scale = 2 / sympy.sqrt(sympy.pi)

            def slope(h: Germ) -> Germ:
                return exp(h.times(h, self.window).scaled(-_ONE), self.window).scaled(slope_scale)

            return self._primitive(sympy.erf(node.args[0]), slope, ())
        s = sign(g.plain.terms[0][1])
        tail = self._erfc_tail(g.scaled(sympy.Integer(s)))
        return (Germ.constant(_ONE) + tail.scaled(-_ONE)).scaled(sympy.Integer(s))

    def erfc(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.args[0])
        if limit(g) is None and sign(g.plain.terms[0][1]) > 0:
            return self._erfc_tail(g)
        return Germ.constant(_ONE) + self.erf(node).scaled(-_ONE)

    def _erfc_tail(self, g: Germ) -> Germ:
        """erfc(g) ~ exp(-g^2)/(g sqrt(pi)) sum (-1)^k (1/2)_k g^(-2k), DLMF 7.12.1."""
        square = g.times(g, self.window)
        head = exp(square.scaled(-_ONE), self.window).times(
            power(g, -_ONE, self.window), self.window
        )
        falling = hypergeometric_series((_HALF, _ONE), (), -_ONE)
        series = power(square, -_ONE, self.window).compose(falling, self.window)
        return head.times(series, self.window).scaled(1 / sympy.sqrt(sympy.pi))

    def bessel(self, node: sympy.Expr) -> Germ:
        order, g = node.args[0], self.visit(node.args[1])
        value = limit(g)
        if value is None:
            if sign(g.plain.terms[0][1]) < 0:
                raise ExpansionError(f"{node.func.__name__} at -infinity")
            return bessel_at_infinity(node.func, order, g, self.window)
        if not is_zero(value):
            return self._analytic(node)
        if node.func == sympy.besselk:
            return bessel_k_at_zero(order, g, self.window)
        alternate = -1 if node.func == sympy.besselj else 1
        return bessel_at_zero(order, g, alternate, self.window)

    def expint(self, node: sympy.Expr) -> Germ:
        """E_s(g) by DLMF 8.19.8, 8.19.10 and 8.20.2."""
        s, g = node.args[0], self.visit(node.args[1])
        value = limit(g)
        if value is None:
            if sign(g.plain.terms[0][1]) < 0:
                raise ExpansionError("an exponential integral at -infinity")
            falling = hypergeometric_series((s, _ONE), (), -_ONE)
            tail = power(g, -_ONE, self.window).compose(falling, self.window)
            head = exp(g.scaled(-_ONE), self.window).times(
                power(g, -_ONE, self.window), self.window
            )
            return head.times(tail, self.window)
        if not is_zero(value):
            return self._analytic(node)
        # The order of a pole joins the logarithm where s is whole.
        order = s - 1 if s.is_Integer and s > 0 else None
        front = power(g, s - 1, self.window)
        if order is None:
            rough = front.scaled(sympy.gamma(1 - s))
        else:
            constant = Germ.constant(sympy.harmonic(order) - sympy.EulerGamma)
            rough = (constant + log(g, self.window).scaled(-_ONE)).times(front, self.window)
            rough = rough.scaled((-_ONE) ** order / sympy.factorial(order))

        def coefficients() -> Iterator[sympy.Expr]:
            c, k = _ONE, 0
            while True:
                yield _NIL if k == order else c / (s - 1 - k)
                k += 1
                c = -c / k

        return rough + g.compose(coefficients(), self.window)

    def gamma(self, node: sympy.Expr) -> Germ:
        """Stirling's series at infinity, DLMF 5.11.1; derivatives elsewhere."""
        argument = node.args[0]
        g = self.visit(argument)
        value = limit(g)
        if value is not None and value.is_Integer and value <= 0:  # a pole
            n = 1 - int(value)
            return self.visit(
                sympy.gamma(argument + n) / sympy.Mul(*(argument + k for k in range(n)))
            )
        if value is not None:
            return self._analytic(node)
        if sign(g.plain.terms[0][1]) < 0:
            raise ExpansionError("gamma at -infinity")

        def coefficients() -> Iterator[sympy.Expr]:
            k = 1
            while True:
                yield sympy.bernoulli(2 * k) / (2 * k * (2 * k - 1))
                k += 1

        head = (g + Germ.constant(-_HALF)).times(log(g, self.window), self.window)
        inverse = power(g, -_ONE, self.window)
        square = inverse.times(inverse, self.window)
        tail = square.compose(coefficients(), self.window).times(inverse, self.window)
        constant = Germ.constant(sympy.log(2 * sympy.pi) / 2)
        return exp(head + g.scaled(-_ONE) + constant + tail, self.window)

    def hyper(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.argument)
        found = expand_hyper(node, g, limit(g), self.window)
        return self._analytic(node) if found is None else found

    def _analytic(self, node: sympy.Expr) -> Germ:
        """A function at a finite argument where it is analytic, by its derivatives."""
        g = self.visit(node.args[-1])
        value = limit(g)
        if value is None:
            raise ExpansionError(f"{node.func.__name__} of an unbounded argument")
        head = node.func(*node.args[:-1], _X)  # the last argument is the variable one

        def coefficients() -> Iterator[sympy.Expr]:
            slope = head
            for k in range(_MOST_DERIVATIVES):
                c = slope.subs(_X, value) / sympy.factorial(k)
                if c.has(sympy.oo, sympy.zoo, sympy.nan):
                    raise ExpansionError(f"{node.func.__name__} at {value}")
                yield c
                slope = sympy.diff(slope, _X)
            raise ExpansionError(f"more than {_MOST_DERIVATIVES} derivatives of {node.func}")

        return (g + Germ.constant(-value)).compose(coefficients(), self.window)


_RULES: dict[object, Callable[[_Expander, sympy.Expr], Germ]] = {
    sympy.exp: _Expander.exp,
    sympy.log: _Expander.log,
    sympy.sin: _Expander.sin,
    sympy.cos: _Expander.cos,
    sympy.tan: _Expander.tan,
    sympy.sinh: _Expander.sinh,
    sympy.cosh: _Expander.cosh,
    sympy.tanh: _Expander.tanh,
    sympy.asin: _Expander.asin,
    sympy.acos: _Expander.acos,
    sympy.atan: _Expander.atan,
    sympy.erf: _Expander.erf,
    sympy.erfc: _Expander.erfc,
    sympy.besselj: _Expander.bessel,
    sympy.besseli: _Expander.bessel,
    sympy.besselk: _Expander.bessel,
    sympy.gamma: _Expander.gamma,
    sympy.expint: _Expander.expint,
    sympy.hyper: _Expander.hyper,
}
