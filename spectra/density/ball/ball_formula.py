r"""The density of a formula on a ball as a sympy formula: Bessel functions, or one hypergeometric.

.. math:: \mu(w) = \frac{R^d}{2^{d-1} \pi^{d/2} \Gamma(d/2)}
          \sum_n \frac{(-R^2w^2/4)^n}{n!\,(d/2)_n} M(d+2n), \quad
          M(a) = \int_0^1 k(Rx)\,x^{a-1} dx .

Where M is a product of linear factors and Gamma functions, the sum is one pFq.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from spectra.density.ball.ball_form import BallForm, Factor, Monomials
from spectra.density.closed_pairs.pair import W

__all__ = ["compact_formula"]

_HALF = sympy.Rational(1, 2)
# The moment of a longer polynomial is not factored.
_MOST_FACTORED = 24


def compact_formula(form: BallForm, dim: int | sympy.Expr) -> sympy.Expr:
    """The density mu(w) of a formula on a ball, as a sympy formula in ``w``.

    Polynomials in z^2 give Bessel functions, the others hypergeometric functions; the formula is
    exact, and it is not meant for evaluation in doubles: use the component.

    Examples
    --------
    >>> from spectra.formula.reader.parsing import Z
    >>> from spectra.density.ball.read_ball_form import ball_form
    >>> compact_formula(ball_form(1 - Z**2 / 4, sympy.Integer(2)), 2)
    besselj(2, 2*w)/(pi*w**2)
    >>> compact_formula(ball_form(1 - 2 * sympy.asin(Z / 2) / sympy.pi, sympy.Integer(2)), 2)
    hyper((3/2,), (2, 2), -w**2)/(2*pi)
    """
    dim = sympy.sympify(dim, strict=True)
    if form.is_even and not any(factor.is_integral for factor, _ in form.parts):
        return _bessel_formula(form, dim)
    x, total = -((form.radius * W) ** 2) / 4, sympy.Integer(0)
    polynomial: dict[int, sympy.Expr] = {}
    for factor, monomials in form.parts:
        for m, c in monomials:
            if factor.is_one or factor.is_integral:
                # The whole of an integral (pi/2 of arcsin) joins the polynomial, and may cancel.
                whole = factor.whole if factor.is_integral else 1
                polynomial[m] = polynomial.get(m, sympy.Integer(0)) + c * whole
            if factor.is_integral:
                a = dim + m
                more = _root_sum(factor, a + 1, dim, x, upper=(a / 2,), lower=(a / 2 + 1,))
                total -= c * more / a
            elif not factor.is_one:
                total += c * _root_sum(factor, dim + m + factor.shift, dim, x)
    kept = tuple((m, v) for m, c in sorted(polynomial.items()) if (v := sympy.expand(c)) != 0)
    constant = form.radius**dim / (2 ** (dim - 1) * sympy.pi ** (dim / 2) * sympy.gamma(dim / 2))
    return sympy.expand_mul(constant) * (_polynomial_sum(kept, dim, x) + total)


def _root_sum(
    factor: Factor,
    first: sympy.Expr,
    dim: sympy.Expr,
    x: sympy.Expr,
    upper: tuple[sympy.Expr, ...] = (),
    lower: tuple[sympy.Expr, ...] = (),
) -> sympy.Expr:
    """The series of a root, whose moments M(first + 2n) are Beta functions."""
    y, order = factor.power + 1, factor.order
    start, end = first / order, first / order + y
    moment = sympy.gamma(start) * sympy.gamma(y) / sympy.gamma(end) / order
    if order == 2:
        above, below = [start], [end]
    else:
        above, below = ([v / 2, (v + 1) / 2] for v in (start, end))
    return moment * _hyper((*above, *upper), (dim / 2, *below, *lower), x)


def _bessel_formula(form: BallForm, dim: sympy.Expr) -> sympy.Expr:
    """Sonine's integral for each power of 1 - x^2."""
    s = form.radius * W
    total = sympy.Integer(0)
    for factor, monomials in form.parts:
        degree = max(m for m, _ in monomials) // 2
        series = form.edge_series(factor.power, degree + 1, lambda c: c)
        for j, coefficient in enumerate(series):
            c = sympy.expand(coefficient)
            if c != 0:
                p = factor.power + j
                total += (
                    c
                    * 2**p
                    * sympy.gamma(p + 1)
                    * s ** (-p - dim / 2)
                    * sympy.besselj(dim / 2 + p, s)
                )
    return form.radius**dim * (2 * sympy.pi) ** (-dim / 2) * total


def _polynomial_sum(monomials: Monomials, dim: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    """The series of a polynomial: one pFq where its moment factors over the rationals."""
    a = sympy.Dummy("a")
    terms = [
        (c / (a + m), _hyper(((dim + m) / 2,), (dim / 2, (dim + m) / 2 + 1), x))
        for m, c in monomials
    ]
    moment = sympy.Add(*(term for term, _ in terms))
    if len(monomials) <= _MOST_FACTORED and all(c.is_Rational for _, c in monomials):
        top, bottom = (sympy.Poly(part, a) for part in sympy.fraction(sympy.together(moment)))
        zeros, poles = (
            [r for r, k in p.ground_roots().items() for _ in range(k)] for p in (top, bottom)
        )
        upper = [(dim - r) / 2 for r in poles] + [(dim - r) / 2 + 1 for r in zeros]
        lower = [dim / 2] + [(dim - r) / 2 + 1 for r in poles] + [(dim - r) / 2 for r in zeros]
        if len(zeros) == top.degree() and not any(
            b.is_number and b.is_integer and b <= 0 for b in lower
        ):
            return sympy.factor(moment.subs(a, dim)) * _hyper(upper, lower, x)
    return sympy.Add(*(term.subs(a, dim) * series for term, series in terms))


def _hyper(upper: Iterable[sympy.Expr], lower: Iterable[sympy.Expr], x: sympy.Expr) -> sympy.Expr:
    """Hypergeometric function with its common parameters cancelled."""
    above = [sympy.expand(a) for a in upper]
    below = [sympy.expand(b) for b in lower]
    for a in list(above):
        if a in below:
            above.remove(a)
            below.remove(a)
    return sympy.hyper(sorted(above, key=str), sorted(below, key=str), x)
