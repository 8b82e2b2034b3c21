r"""Completely monotone functions of z^2: positive definite in every dimension.

They are mixtures of Gaussians, :math:`k(z) = \int e^{-s z^2}\,d\nu(s)` with :math:`\nu \ge 0`, and
the only kernels that are positive definite in every dimension (I. J. Schoenberg, Metric spaces and
completely monotone functions, Ann. Math. 39, 1938).  A *Bernstein function* g of z^2 has a
completely monotone derivative in z^2.  If f is completely monotone and g >= 0 a Bernstein function,
f(g) is completely monotone (R. L. Schilling, R. Song and Z. Vondracek, Bernstein Functions, De
Gruyter 2012, theorem 3.7).  In this module, "monotone" is short for completely monotone in z^2.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, pairwise

import sympy
from mpmath import mp

from spectra.base.limits import check_time
from spectra.errors import AccuracyError, FormulaError
from spectra.formula.evaluate import mpmath_function
from spectra.formula.expansions.elementary import limit
from spectra.formula.expansions.exact_numbers import ExpansionError, is_zero, sign
from spectra.formula.expansions.expand import expand_at
from spectra.formula.one_sided_limits import value_at_zero
from spectra.formula.parsing import Z
from spectra.formula.pieces import LONGEST_SUM, damped_terms, expanded_length, factorize

__all__ = ["is_bernstein", "is_complete_bernstein", "is_completely_monotone"]

#: Limits of a proof by derivatives: their number (more have never helped), and the operations in
#: one.  The argument ``derivatives`` is the number that may still be taken.
_MOST_DERIVATIVES, _LONGEST_DERIVATIVE = 2, 60
#: Powers kept in an expansion that shows a limit at infinity.
_WINDOW = 2
#: ``_may_be_monotone`` tests signs of differences: steps in z^2, number of values, and digits.
_STEPS, _VALUES, _DIGITS = (mp.mpf("0.03"), mp.mpf(1), mp.mpf(30)), 7, 40
_ZERO, _ONE, _HALF = sympy.Integer(0), sympy.Integer(1), sympy.Rational(1, 2)

#: Lower and upper bound of arg f / arg s for a function f of s = z^2 in the upper half-plane.
Sector = tuple[sympy.Expr, sympy.Expr]


def is_completely_monotone(expr: sympy.Expr) -> bool:
    """Whether a formula in z is proved to be completely monotone in z^2, for z > 0.

    Such kernels are positive definite in every dimension if they are bounded.  Rules: sums and
    products; f(g) for a monotone f (exp(-x), x^-b, K_nu(x), the exponential integral E_s(x),
    exp(x^2) erfc(x), exp(-x) I_nu(x) / x^nu, 1F1 and 2F1 of -x) and a Bernstein function g >= 0;
    the Matern kernels and exp(-a z) times polynomials; sums of exponentials; means of dilates; and
    functions with a limit >= 0 at infinity and a derivative whose negative is monotone.
    """
    return _is_monotone(_without_tanh_squared(expr), _MOST_DERIVATIVES)


@lru_cache(maxsize=2000)
def _is_monotone(expr: sympy.Expr, derivatives: int) -> bool:
    check_time()
    if not expr.has(Z) or expr == Z:
        return bool(expr != Z and expr.is_nonnegative)
    if _is_monotone_composition(expr, derivatives):
        return True
    if expanded_length(expr) > LONGEST_SUM:  # the other rules multiply out
        return bool(expr.is_Mul) and all(_is_monotone(a, derivatives) for a in expr.args)
    if _is_damped_sum(expr):
        return True
    if expr.is_Add and all(_is_monotone(a, derivatives) for a in expr.args):
        return True
    if not _may_be_monotone(expr):
        return False
    if expr.is_Mul and _is_monotone_product(expr, derivatives):
        return True
    return _is_monotone_by_derivative(expr, derivatives)


def _may_be_monotone(expr: sympy.Expr) -> bool:
    """Whether computed differences in z^2 have the signs of those of a monotone function."""
    with mp.workdps(_DIGITS):
        for step in _STEPS:
            try:
                function = mpmath_function(expr, Z)
                values = [function(mp.sqrt(step * (n + 1))) for n in range(_VALUES)]
            except (AccuracyError, FormulaError, OverflowError):
                return False
            if any(mp.isnan(v) for v in values):
                return False
            largest = max(abs(v) for v in values)
            while values:
                if any(v < -largest * mp.mpf(10) ** (6 - _DIGITS) for v in values):
                    return False
                values = [a - b for a, b in pairwise(values)]
    return True


def _is_monotone_composition(expr: sympy.Expr, derivatives: int) -> bool:
    """Whether a rule for f(g) proves it, f being an exponential, a power or a special function."""
    head, inner = expr.func, expr.args[-1]
    if head == sympy.exp:
        return _is_bernstein(-inner, derivatives) or _is_monotone(inner, derivatives)
    if expr.is_Pow and not expr.base.has(Z) and expr.base.is_positive:
        return _is_bernstein(-sympy.log(expr.base) * expr.exp, derivatives)
    if expr.is_Pow:
        if expr.exp.is_Integer and expr.exp > 0:
            return _is_monotone(expr.base, derivatives)
        if expr.exp.is_negative:
            return _has_imaginary_zeros(expr.base) or _is_positive_bernstein(expr.base, derivatives)
        return False
    if head in (sympy.besselk, sympy.expint):
        return _is_positive_bernstein(inner, derivatives)
    if head == sympy.erfc:  # erfc is a mixture of Gaussians: monotone in the square of x
        return _is_positive_bernstein(sympy.expand(inner**2), derivatives)
    if head == sympy.hyper:
        if (len(expr.ap), len(expr.bq)) not in ((1, 1), (2, 1)):
            return False
        # Euler's integral for b > a > 0 is a mixture of exp(-t x) or (1 + t x)^-c.
        has_integral = all(x.is_positive for x in (*expr.ap, *expr.bq, expr.bq[0] - expr.ap[-1]))
        return has_integral and _is_positive_bernstein(-expr.argument, derivatives)
    return False


def _is_monotone_product(expr: sympy.Expr, derivatives: int) -> bool:
    """Whether a product is monotone.

    It is if all factors are, or the product of two of them and that of the rest are, or if it is a
    mean of dilates.
    """
    for factor in expr.args:
        other = _find_partner(factor)
        if other is not None and _is_monotone(sympy.powsimp(expr / factor / other), derivatives):
            return True
    if all(_is_monotone(a, derivatives) for a in expr.args):
        return True
    return _is_mean_of_dilates(expr, derivatives)


def _find_partner(factor: sympy.Expr) -> sympy.Expr | None:
    """A second factor such that the product of both is monotone; None if none is known."""
    inner = factor.args[-1] if factor.args else factor
    if factor.func == sympy.erfc and _is_positive_bernstein(inner, 0):
        return sympy.exp(sympy.expand(inner**2))
    if factor.func == sympy.besseli and _is_positive_bernstein(inner, 0):
        order = factor.args[0]
        return sympy.exp(-inner) * inner**-order if order > -_HALF else None
    if factor.func == sympy.besselk:
        order, scale = factor.args[0], inner / Z
        if not scale.has(Z) and scale.is_positive and order.is_positive:
            return Z**order
        # x^nu K_nu(x), nu <= 1/2, is exp(-x) U(1/2 - nu, 1 - 2 nu, 2x), monotone in x = c z^2, too.
        if not (inner / Z**2).has(Z) and order.is_positive and order <= _HALF:
            return Z ** (2 * order)
    if factor.is_Pow and factor.exp.is_negative and factor.base.func in (sympy.sinh, sympy.besseli):
        order = _ONE if factor.base.func == sympy.sinh else factor.base.args[0]
        if _has_imaginary_zeros(factor.base / Z**order):
            return Z ** (-order * factor.exp)
    return None


def _is_mean_of_dilates(expr: sympy.Expr, derivatives: int) -> bool:
    """Whether the formula is B(z)/z, B(0) = 0, with B' monotone: the mean of B'(sz), 0 < s < 1."""
    integral = expr * Z
    if not derivatives or integral.has(1 / Z) or sympy.count_ops(integral) > _LONGEST_DERIVATIVE:
        return False
    start = value_at_zero(integral)
    if start is None or not is_zero(start):
        return False
    return _is_monotone(_simplify(integral.diff(Z)), derivatives - 1)


def _is_monotone_by_derivative(expr: sympy.Expr, derivatives: int) -> bool:
    """Whether the limit at infinity is >= 0, and the negative of the derivative is monotone."""
    if not (_is_bernstein(-expr, 0) or _has_monotone_derivative(-expr, derivatives)):
        return False
    try:
        value = limit(expand_at(expr, sympy.oo, 1, _WINDOW))
    except ExpansionError:
        return False
    return value is not None and sign(value) >= 0


def _has_monotone_derivative(expr: sympy.Expr, derivatives: int) -> bool:
    if not derivatives or sympy.count_ops(expr) > _LONGEST_DERIVATIVE:
        return False
    derivative = sympy.expand(expr.diff(Z) / Z)  # twice the derivative in z^2
    return any(
        sympy.count_ops(form) <= _LONGEST_DERIVATIVE and _is_monotone(form, derivatives - 1)
        for form in dict.fromkeys((derivative, _simplify(derivative)))
    )


def _simplify(expr: sympy.Expr) -> sympy.Expr:
    expanded = sympy.expand(_without_tanh_squared(sympy.expand(expr)))
    return factorize(sympy.powsimp(sympy.together(expanded)))


def _without_tanh_squared(expr: sympy.Expr) -> sympy.Expr:
    return expr.replace(
        lambda e: e.is_Pow and e.base.func == sympy.tanh and e.exp.is_Integer and e.exp > 1,
        lambda e: e.base ** (e.exp - 2) * (1 - sympy.cosh(e.base.args[0]) ** -2),
    )


def _is_positive_bernstein(expr: sympy.Expr, derivatives: int) -> bool:
    if not _is_bernstein(expr, derivatives):
        return False
    start = value_at_zero(expr)
    return start is not None and sign(start) >= 0


def is_bernstein(expr: sympy.Expr) -> bool:
    """Whether a formula in z is proved to have a derivative in z^2 that is completely monotone."""
    return _is_bernstein(expr, _MOST_DERIVATIVES + 1)


@lru_cache(maxsize=2000)
def _is_bernstein(expr: sympy.Expr, derivatives: int) -> bool:
    """Whether the derivative in z^2 is proved monotone; the formula itself may be negative."""
    if not expr.has(Z) or is_complete_bernstein(expr):
        return True
    if expr.is_Add:
        return all(_is_bernstein(a, derivatives) for a in expr.args)
    if expr.is_Mul:
        c, rest = expr.as_independent(Z, as_Add=False)
        if c != 1:
            return bool(c.is_positive) and _is_bernstein(rest, derivatives)
    if expr.is_Pow and expr.base == Z:
        return bool(expr.exp.is_positive and expr.exp <= 2)
    return _has_monotone_derivative(expr, derivatives)


def is_complete_bernstein(expr: sympy.Expr) -> bool:
    r"""Whether a formula in z is proved to be a complete Bernstein function of z^2.

    A function f of :math:`s = z^2` that is positive for s > 0 and analytic off the negative axis
    is one if :math:`0 \le \arg f \le \arg s` in the upper half-plane (Schilling, Song and
    Vondracek, theorem 6.2).  Bounds of arg f are computed from the formula: products add them,
    powers multiply them, and a sum lies in the sector of its terms.
    """
    sector = _sector(expr)
    return sector is not None and bool(sector[0] >= 0 and sector[1] <= 1)


def _sector(expr: sympy.Expr) -> Sector | None:
    """Bounds of arg f / arg s; None if not known, outside [-1, 1], or more than 1 apart."""
    if expr == Z:
        return _HALF, _HALF
    if expr.is_number:
        return (_ZERO, _ZERO) if expr.is_positive else None
    sector = None
    if expr.is_Pow and expr.exp.is_Rational:
        base = _sector(expr.base)
        if base is not None:
            ends = base[0] * expr.exp, base[1] * expr.exp
            sector = min(ends), max(ends)
    elif expr.is_Mul:
        factors = [_sector(a) for a in expr.args]
        if None not in factors:
            sector = tuple(sum(ends) for ends in zip(*factors, strict=True))
    elif expr.is_Add:
        terms = [_sector(a) for a in expr.args]
        if None not in terms:
            lows, highs = zip(*terms, strict=True)
            sector = min(lows), max(highs)
    elif expr.func == sympy.log:
        # log(1 + h)/h is a Stieltjes function of h, and so its argument lies between -arg h and 0.
        inner = _sector(expr.args[0] - 1)
        if inner is not None and inner[0] >= 0:
            sector = _ZERO, inner[1]
    # A sector wider than half a turn is not convex; outside [-1, 1], powers are not principal.
    if sector is None or not (sector[0] >= -1 and sector[1] <= 1 and sector[1] - sector[0] <= 1):
        return None
    return sector


def _has_imaginary_zeros(expr: sympy.Expr) -> bool:
    """Whether the formula is a multiple c > 0 of cosh(az), sinh(az)/z or I_nu(az)/z^nu.

    These are products over their imaginary zeros, c prod_j (1 + z^2/a_j^2).  The logarithm is a
    constant plus Bernstein functions log(1 + z^2/a_j^2), and the reciprocal is monotone.
    """
    c, rest = expr.as_independent(Z, as_Add=False)
    if not c.is_positive:
        return False
    for f in sympy.Mul.make_args(rest):
        if f.func not in (sympy.cosh, sympy.sinh, sympy.besseli):
            continue
        scale = f.args[-1] / Z
        if scale.has(Z) or not scale.is_positive:
            return False
        order = {sympy.cosh: _ZERO, sympy.sinh: _ONE}.get(f.func, f.args[0])
        # The zeros of I_nu are imaginary for nu > -1 (DLMF 10.21(i)).
        return bool(order > -1) and sympy.powsimp(rest / f * Z**order) == 1
    return False


def _is_damped_sum(expr: sympy.Expr) -> bool:
    r"""Whether it is a sum of p_j(z) exp(-a_j z), p_j polynomials, proved by derivatives in z^2.

    The operation -k'/z maps exp(-a z) p(z) to exp(-a z) (q + r/z) with z q + r = a p - p', and 1/z
    is monotone.  exp(-a z) is the mixture of exp(-s z^2) with the density proportional to
    :math:`a s^{-3/2} e^{-a^2/(4s)}`.  For ascending a_j, a sum of :math:`c_j a_j e^{-a_j^2 x}` is
    nonnegative for x >= 0 if its partial sums at x = 0 are (summation by parts).
    """
    terms = damped_terms(expr)
    if terms is None or not all(rate.is_nonnegative for _, _, rate in terms):
        return False
    if any(n > 0 or c.is_negative for c, n, rate in terms if rate == 0):
        return False
    polys: dict[sympy.Expr, sympy.Poly] = {}
    for c, n, rate in sorted(terms, key=lambda term: float(term[2])):
        polys[rate] = polys.get(rate, 0) + sympy.Poly(c * Z**n, Z)

    def is_mixture(values: Iterable[sympy.Expr]) -> bool:
        partial = accumulate(c * rate for c, rate in zip(values, polys, strict=True))
        return all(sign(total) >= 0 for total in partial)

    while any(p.degree() > 0 for p in polys.values()):
        pairs = {a: sympy.div(a * p - p.diff(Z), sympy.Poly(Z, Z)) for a, p in polys.items()}
        if not is_mixture(remainder.nth(0) for _, remainder in pairs.values()):
            return False
        polys = {a: quotient for a, (quotient, _) in pairs.items()}
    return is_mixture(p.nth(0) for p in polys.values())
