r"""One-sided expansions of formulas: at a radius, at zero and at infinity.

The formula is walked from its leaves, and each function of the formula language has one rule
on :class:`~spectra.singularity.germs.Germ`.  No rule guesses: what has no such expansion raises
:class:`~spectra.singularity.germs.ExpansionError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy

from spectra.formula.opaque import Opaque
from spectra.formula.parsing import Z
from spectra.singularity.exact_numbers import (
    ExpansionError,
    MoreTermsNeeded,
    exponential,
    is_zero,
    sign,
)
from spectra.singularity.germs import FLAT, ONE, ZERO, Germ, Phase, Series, Size, compare
from spectra.singularity.hyperexpansion import expand_hyper
from spectra.singularity.taylor_series import (
    binomial_series,
    exp_series,
    log_series,
    rising_series,
    trigonometric_series,
)

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
                log = self._log(self.visit(base))
                return self._exp(self.visit(exponent).times(log, self.window))
            return self._power(self.visit(base), exponent)
        if isinstance(node, Opaque):
            raise ExpansionError(f"the callable {node.func.__name__} shows no formula")
        rule = _RULES.get(node.func)
        if rule is None:
            return self._analytic(node)
        return rule(self, node)

    # --- elementary functions ---------------------------------------------------------------

    def _power(self, g: Germ, s: sympy.Expr) -> Germ:
        if s.is_Integer and s >= 0:
            result = Germ.constant(_ONE)
            square, n = g, int(s)
            while n:
                if n % 2:
                    result = result.times(square, self.window)
                n //= 2
                if n:
                    square = square.times(square, self.window)
            return result
        phase, (a, mq), c, delta = g.split_lead()
        if not s.is_Integer and (sign(c) <= 0 or not is_zero(sympy.im(c))):
            raise ExpansionError("a fractional power of a number that is not positive")
        head = Germ.of([(phase.times(s), Series.of([((a * s, mq * s), c**s)]))])
        return head.times(delta.compose(binomial_series(s), self.window), self.window)

    def _log(self, g: Germ) -> Germ:
        phase, (a, mq), c, delta = g.split_lead()
        if mq != 0:
            raise ExpansionError("the logarithm of a logarithm")
        if sign(c) <= 0 or not is_zero(sympy.im(c)):
            raise ExpansionError("the logarithm of a number that is not positive")
        head = [(ONE, sympy.log(c)), ((_NIL, -_ONE), -a), *phase.terms]
        return Germ.of([(ZERO, Series.of(head))]) + delta.compose(log_series(), self.window)

    def _exp(self, g: Germ) -> Germ:
        base = g.part()
        if base.order is not None and compare(base.order, ONE) <= 0:
            raise MoreTermsNeeded("more terms are needed in an exponential")
        phase: list[tuple[Size, sympy.Expr]] = []
        small: list[tuple[Size, sympy.Expr]] = []
        a, c = _NIL, _ONE
        for size, x in base.terms:
            if size == ONE:
                c = exponential(x)
            elif size == (_NIL, -_ONE):
                if not is_zero(sympy.im(x)):
                    raise ExpansionError("an oscillation in the logarithm of z")
                a = -x
            elif size[0] == 0 and -1 < size[1] < 0:
                raise ExpansionError("the exponential of a fractional power of a logarithm")
            elif compare(size, ONE) < 0:
                phase.append((size, x))
            else:
                small.append((size, x))
        others = [(p, s) for p, s in g.parts if p != ZERO]
        if any(p.growth > 0 for p, _ in others):
            return self._doubly_exponential(g)
        delta = Germ.of([(ZERO, Series.of(small, base.order)), *others])
        if not delta.small:
            raise ExpansionError("the exponential of an oscillating or exponential argument")
        head = Germ.of([(Phase(tuple(phase)), Series.of([((a, _NIL), c)]))])
        return head.times(delta.compose(exp_series(), self.window), self.window)

    def _doubly_exponential(self, g: Germ) -> Germ:
        """exp(g) of a g that falls like -exp(phi), which is flat."""
        lead, _, c, _ = g.split_lead()
        if not (sign(c) < 0 and all(is_zero(sympy.im(x)) for _, x in lead.terms)):
            raise ExpansionError("the exponential of an exponential argument")
        return Germ(((ZERO, Series((), FLAT)),))

    def exp(self, node: sympy.Expr) -> Germ:
        return self._exp(self.visit(node.args[0]))

    def log(self, node: sympy.Expr) -> Germ:
        return self._log(self.visit(node.args[0]))

    def _limit(self, g: Germ) -> sympy.Expr | None:
        """The finite limit of g, or None where it is unbounded."""
        series = g.plain
        if series.terms and compare(series.terms[0][0], ONE) < 0:
            return None
        if series.order is not None and compare(series.order, ONE) <= 0:
            raise MoreTermsNeeded("more terms are needed to see a limit")
        if series.terms and series.terms[0][0] == ONE:
            return series.terms[0][1]
        return _NIL

    def _circular(self, node: sympy.Expr) -> tuple[Germ, Germ]:
        """Sine and cosine of the argument of a node."""
        g = self.visit(node.args[0])
        if has_oscillation(g):
            if not g.small:
                raise ExpansionError("the sine or cosine of an oscillating argument")
            value: sympy.Expr | None = _NIL
        else:
            value = self._limit(g)
        if value is None:
            plus = self._exp(g.scaled(sympy.I))
            minus = self._exp(g.scaled(-sympy.I))
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
        return s.times(self._power(c, -_ONE), self.window)

    def _hyperbolic(self, node: sympy.Expr) -> tuple[Germ, Germ]:
        g = self.visit(node.args[0])
        plus, minus = self._exp(g), self._exp(g.scaled(-_ONE))
        return (plus + minus.scaled(-_ONE)).scaled(_HALF), (plus + minus).scaled(_HALF)

    def sinh(self, node: sympy.Expr) -> Germ:
        return self._hyperbolic(node)[0]

    def cosh(self, node: sympy.Expr) -> Germ:
        return self._hyperbolic(node)[1]

    def tanh(self, node: sympy.Expr) -> Germ:
        s, c = self._hyperbolic(node)
        return s.times(self._power(c, -_ONE), self.window)

    def _primitive(
        self, node: sympy.Expr, slope: Callable[[Germ], Germ], ends: tuple[sympy.Expr, ...]
    ) -> Germ:
        """A function by integrating its derivative f'(g) g' in t; ``ends`` are f(-oo), f(oo)."""
        series = self.visit(node.args[0]).plain
        g = Germ(((ZERO, series),))
        value = self._limit(g)
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
        return self._power(Germ.constant(_ONE) + square, -_HALF)

    def atan(self, node: sympy.Expr) -> Germ:
        def slope(g: Germ) -> Germ:
            return self._power(Germ.constant(_ONE) + g.times(g, self.window), -_ONE)

        return self._primitive(node, slope, (-sympy.pi / 2, sympy.pi / 2))

    # --- special functions ------------------------------------------------------------------

    def erf(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.args[0])
        if self._limit(g) is not None:
            slope_scale = 2 / sympy.sqrt(sympy.pi)

            def slope(h: Germ) -> Germ:
                return self._exp(h.times(h, self.window).scaled(-_ONE)).scaled(slope_scale)

            return self._primitive(sympy.erf(node.args[0]), slope, ())
        s = sign(g.plain.terms[0][1])
        tail = self._erfc_tail(g.scaled(sympy.Integer(s)))
        return (Germ.constant(_ONE) + tail.scaled(-_ONE)).scaled(sympy.Integer(s))

    def erfc(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.args[0])
        if self._limit(g) is None and sign(g.plain.terms[0][1]) > 0:
            return self._erfc_tail(g)
        return Germ.constant(_ONE) + self.erf(node).scaled(-_ONE)

    def _erfc_tail(self, g: Germ) -> Germ:
        """erfc(g) ~ exp(-g^2)/(g sqrt(pi)) sum (-1)^k (1/2)_k g^(-2k), DLMF 7.12.1."""
        square = g.times(g, self.window)
        head = self._exp(square.scaled(-_ONE)).times(self._power(g, -_ONE), self.window)

        def coefficients() -> Iterator[sympy.Expr]:
            c, k = _ONE, 0
            while True:
                yield c
                c *= -(_HALF + k)
                k += 1

        series = self._power(square, -_ONE).compose(coefficients(), self.window)
        return head.times(series, self.window).scaled(1 / sympy.sqrt(sympy.pi))

    def bessel(self, node: sympy.Expr) -> Germ:
        order, g = node.args[0], self.visit(node.args[1])
        value = self._limit(g)
        if value is None:
            if sign(g.plain.terms[0][1]) < 0:
                raise ExpansionError(f"{node.func.__name__} at -infinity")
            return self._bessel_tail(node.func, order, g)
        if not is_zero(value):
            return self._analytic(node)
        if node.func == sympy.besselk:
            return self._bessel_k_origin(order, g)
        alternate = -1 if node.func == sympy.besselj else 1
        return self._bessel_origin(order, g, alternate)

    def _bessel_origin(self, order: sympy.Expr, g: Germ, alternate: int) -> Germ:
        if order.is_Integer and order < 0:
            return self._bessel_origin(-order, g, alternate).scaled(
                sympy.Integer(alternate) ** order
            )
        half = g.scaled(_HALF)

        def coefficients() -> Iterator[sympy.Expr]:
            c, k = 1 / sympy.gamma(order + 1), 0
            while True:
                yield c
                k += 1
                c = c * alternate / (k * (k + order))

        body = half.times(half, self.window).compose(coefficients(), self.window)
        return self._power(half, order).times(body, self.window)

    def _bessel_k_origin(self, order: sympy.Expr, g: Germ) -> Germ:
        if not order.is_Integer:
            factor = sympy.pi / (2 * sympy.sin(sympy.pi * order))
            down, up = self._bessel_origin(-order, g, 1), self._bessel_origin(order, g, 1)
            return (down + up.scaled(-_ONE)).scaled(factor)
        n = abs(int(order))
        half = g.scaled(_HALF)
        square = half.times(half, self.window)
        total = Germ(())
        for k in range(n):  # DLMF 10.31.1
            c = (-_ONE) ** k * sympy.factorial(n - k - 1) / (2 * sympy.factorial(k))
            total = total + self._power(half, sympy.Integer(2 * k - n)).scaled(c)
        log_term = self._log(half).times(self._bessel_origin(sympy.Integer(n), g, 1), self.window)

        def coefficients() -> Iterator[sympy.Expr]:
            k = 0
            while True:
                psi = sympy.harmonic(k) + sympy.harmonic(n + k) - 2 * sympy.EulerGamma
                yield psi / (2 * sympy.factorial(k) * sympy.factorial(n + k))
                k += 1

        body = square.compose(coefficients(), self.window)
        body = body.times(self._power(half, sympy.Integer(n)), self.window)
        s = (-_ONE) ** n
        return total + log_term.scaled(-s) + body.scaled(s)

    def _bessel_tail(self, head: object, order: sympy.Expr, g: Germ) -> Germ:
        """Hankel's expansions, DLMF 10.17.3, 10.40.1 and 10.40.2."""

        def hankel(unit: sympy.Expr) -> Germ:
            def coefficients() -> Iterator[sympy.Expr]:
                c, k = _ONE, 0
                while c != 0:
                    yield c
                    k += 1
                    c = sympy.expand(c * unit * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))

            return self._power(g, -_ONE).compose(coefficients(), self.window)

        root = self._power(g, -_HALF)
        if head == sympy.besselj:
            angle = sympy.pi * (order / 2 + sympy.Rational(1, 4))
            turn = sympy.cos(angle) - sympy.I * sympy.sin(angle)
            up = self._exp(g.scaled(sympy.I)).times(hankel(sympy.I), self.window).scaled(turn)
            down = self._exp(g.scaled(-sympy.I)).times(hankel(-sympy.I), self.window)
            wave = up + down.scaled(sympy.conjugate(turn))
            return wave.times(root, self.window).scaled(1 / sympy.sqrt(2 * sympy.pi))
        if head == sympy.besselk:
            wave = self._exp(g.scaled(-_ONE)).times(hankel(_ONE), self.window)
            return wave.times(root, self.window).scaled(sympy.sqrt(sympy.pi / 2))
        body = hankel(-_ONE) + Germ(((ZERO, Series((), FLAT)),))
        wave = self._exp(g).times(body, self.window)
        return wave.times(root, self.window).scaled(1 / sympy.sqrt(2 * sympy.pi))

    def expint(self, node: sympy.Expr) -> Germ:
        """E_s(g) by DLMF 8.19.8, 8.19.10 and 8.20.2."""
        s, g = node.args[0], self.visit(node.args[1])
        value = self._limit(g)
        if value is None:
            if sign(g.plain.terms[0][1]) < 0:
                raise ExpansionError("an exponential integral at -infinity")
            tail = self._power(g, -_ONE).compose(rising_series(s), self.window)
            head = self._exp(g.scaled(-_ONE)).times(self._power(g, -_ONE), self.window)
            return head.times(tail, self.window)
        if not is_zero(value):
            return self._analytic(node)
        # The order of a pole joins the logarithm where s is whole.
        order = s - 1 if s.is_Integer and s > 0 else None
        power = self._power(g, s - 1)
        if order is None:
            rough = power.scaled(sympy.gamma(1 - s))
        else:
            constant = Germ.constant(sympy.harmonic(order) - sympy.EulerGamma)
            rough = (constant + self._log(g).scaled(-_ONE)).times(power, self.window)
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
        g = self.visit(node.args[0])
        if self._limit(g) is not None:
            return self._analytic(node)
        if sign(g.plain.terms[0][1]) < 0:
            raise ExpansionError("gamma at -infinity")

        def coefficients() -> Iterator[sympy.Expr]:
            k = 1
            while True:
                yield sympy.bernoulli(2 * k) / (2 * k * (2 * k - 1))
                k += 1

        head = (g + Germ.constant(-_HALF)).times(self._log(g), self.window)
        inverse = self._power(g, -_ONE)
        square = inverse.times(inverse, self.window)
        tail = square.compose(coefficients(), self.window).times(inverse, self.window)
        constant = Germ.constant(sympy.log(2 * sympy.pi) / 2)
        return self._exp(head + g.scaled(-_ONE) + constant + tail)

    def hyper(self, node: sympy.Expr) -> Germ:
        g = self.visit(node.argument)
        limit = self._limit(g)
        found = expand_hyper(node, g, limit, self._power, self._bessel_tail, self.window)
        return self._analytic(node) if found is None else found

    def _analytic(self, node: sympy.Expr) -> Germ:
        """A function at a finite argument where it is analytic, by its derivatives."""
        g = self.visit(node.args[-1])
        value = self._limit(g)
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
