"""What a formula is a sum of: summands, and the families with a known transform that they are in.

Each piece of a kernel is multiplied out; each summand is matched against the families below, and
like ones are added exactly before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import sympy

from spectra.formula.parsing import Z

__all__ = ["Recognised", "claimed", "recognised", "summands"]

# Larger powers of sums are left as they are: a kernel with that many summands is no known pair.
_LARGEST_EXPANDED_POWER = 64
_LARGEST_PRODUCT = 400

_Key = TypeVar("_Key")

_ONE = sympy.Integer(1)
_HALF = sympy.Rational(1, 2)


def summands(expr: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Multiply out a formula into summands, each with its exponentials and powers combined.

    Denominators stay as they are: sympy's ``expand`` would turn (1 + z^2)^-2 into
    1/(z^4 + 2 z^2 + 1), which hides the family.

    Examples
    --------
    >>> summands(sympy.exp(-Z**2) * (1 - 2 * Z**2) ** 2)
    (exp(-z**2), -4*z**2*exp(-z**2), 4*z**4*exp(-z**2))
    """
    waves = expr.has(sympy.cosh, sympy.sinh)
    plain = expr.rewrite(sympy.exp) if waves and not expr.has(sympy.sin, sympy.cos) else expr
    collected: dict[sympy.Expr, sympy.Expr] = {}
    for term in _multiplied_out(plain):
        coefficient, rest = sympy.powsimp(term, combine="exp").as_independent(Z, as_Add=False)
        collected[rest] = collected.get(rest, sympy.Integer(0)) + coefficient
    return tuple(c * rest for rest, c in collected.items() if _tidy(c) != 0)


def _tidy(number: sympy.Expr) -> sympy.Expr:
    """One form for equal numbers, so that like summands meet and cancellations are exact."""
    return sympy.simplify(number) if number.has(sympy.Add) else number


def _multiplied_out(expr: sympy.Expr) -> list[sympy.Expr]:
    if expr.is_Add:
        return [t for argument in expr.args for t in _multiplied_out(argument)]
    if expr.is_Mul:
        terms = [_ONE]
        for factor in expr.args:
            parts = _multiplied_out(factor)
            if len(terms) * len(parts) > _LARGEST_PRODUCT:
                return [expr]
            terms = [a * b for a in terms for b in parts]
        return terms
    if expr.is_Pow and expr.exp.is_Integer and 0 < expr.exp <= _LARGEST_EXPANDED_POWER:
        base = _multiplied_out(expr.base)
        if len(base) > 1:
            expanded = sympy.expand_multinomial(sympy.Add(*base) ** expr.exp)
            terms = list(sympy.Add.make_args(expanded))
            return terms if len(terms) <= _LARGEST_PRODUCT else [expr]
    return [expr]


@dataclass(frozen=True)
class _Summand:
    """coefficient * z^power * exp(-linear z - quadratic z^2) * the product of ``factors``."""

    coefficient: sympy.Expr
    power: sympy.Expr
    linear: sympy.Expr
    quadratic: sympy.Expr
    factors: tuple[sympy.Expr, ...]


def _read(term: sympy.Expr) -> _Summand | None:
    coefficient, rest = term.as_independent(Z, as_Add=False)
    power = linear = quadratic = sympy.Integer(0)
    factors = []
    for factor in sympy.Mul.make_args(rest):
        base, exponent = factor.as_base_exp()
        if factor == 1:
            continue
        if base == Z and exponent.is_number:
            power += exponent
        elif base.is_number and base.is_positive:  # E**(...) and 2**(-z) alike
            poly = _polynomial(exponent)
            if poly is None or poly.degree() > 2:
                return None
            coefficient *= base ** poly.coeff_monomial(1)
            linear -= sympy.log(base) * poly.coeff_monomial(Z)
            quadratic -= sympy.log(base) * poly.coeff_monomial(Z**2)
        else:
            factors.append(factor)
    return _Summand(coefficient, power, linear, quadratic, tuple(factors))


def _polynomial(expr: sympy.Expr) -> sympy.Poly | None:
    if not expr.is_polynomial(Z):
        return None
    return sympy.Poly(expr, Z, extension=None)


@dataclass
class Recognised:
    """The exact sum of what was recognised, family by family."""

    constant: sympy.Expr = _ONE * 0
    gaussians: dict[sympy.Expr, dict[int, sympy.Expr]] = field(default_factory=dict)
    materns: dict[tuple[sympy.Expr, sympy.Expr], sympy.Expr] = field(default_factory=dict)
    quadratics: dict[tuple[sympy.Expr, sympy.Expr], sympy.Expr] = field(default_factory=dict)
    waves: dict[tuple[sympy.Expr, sympy.Expr], sympy.Expr] = field(default_factory=dict)
    damped: dict[tuple[sympy.Expr, sympy.Expr], sympy.Expr] = field(default_factory=dict)

    def add_matern(self, nu: sympy.Expr, rate: sympy.Expr, value: sympy.Expr) -> None:
        _accumulate(self.materns, (nu, rate), value)


def _accumulate(table: dict[_Key, sympy.Expr], key: _Key, value: sympy.Expr) -> None:
    table[key] = _tidy(table.get(key, sympy.Integer(0)) + value)


Family = Callable[[_Summand, Recognised], bool]


def _constant(s: _Summand, out: Recognised) -> bool:
    if s.power != 0 or s.linear != 0 or s.quadratic != 0 or s.factors:
        return False
    out.constant += s.coefficient
    return True


def _gaussian(s: _Summand, out: Recognised) -> bool:
    """z^(2j) exp(-a z^2)."""
    if s.factors or s.linear != 0 or not s.quadratic.is_positive:
        return False
    if not (s.power.is_Integer and s.power >= 0 and s.power % 2 == 0):
        return False
    _accumulate(out.gaussians.setdefault(s.quadratic, {}), int(s.power) // 2, s.coefficient)
    return True


def _exponential(s: _Summand, out: Recognised) -> bool:
    """z^n exp(-a z) as a sum of Matern kernels of orders 1/2, 3/2, ..., n + 1/2.

    The reverse Bessel polynomials theta_n(x) = sum_k (n+k)! / (2^k k! (n-k)!) x^(n-k) are a
    basis, and theta_n(x) exp(-x) / theta_n(0) is the Matern kernel of order n + 1/2.
    """
    if s.factors or s.quadratic != 0 or not s.linear.is_positive:
        return False
    if not (s.power.is_Integer and 0 <= s.power <= _LARGEST_EXPANDED_POWER):
        return False
    rate = _tidy(s.linear)
    for nu, value in _in_matern(int(s.power), s.coefficient / rate**s.power):
        out.add_matern(nu, rate, value)
    return True


def _in_matern(power: int, value: sympy.Expr) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Orders and coefficients of the Matern kernels whose sum is value * x^power exp(-x)."""
    rest = [sympy.Integer(0)] * power + [value]
    for n in range(power, -1, -1):
        theta = _reverse_bessel(n)
        share = rest[n]  # theta_n is monic
        if share != 0:
            rest = [r - share * t for r, t in zip(rest, theta, strict=False)]
            yield n + _HALF, share * theta[0]


def _damped_wave(s: _Summand, out: Recognised) -> bool:
    """z^n exp(-a z) cos(b z), or sin: the real part of an exponential of the rate a - ib."""
    if len(s.factors) != 1 or s.quadratic != 0 or not s.linear.is_positive:
        return False
    if not (s.power.is_Integer and 0 <= s.power <= _LARGEST_EXPANDED_POWER):
        return False
    (wave,) = s.factors
    if not isinstance(wave, sympy.cos | sympy.sin):
        return False
    frequency = sympy.cancel(wave.args[0] / Z)
    if frequency.has(Z) or not frequency.is_positive:
        return False
    rate = _tidy(s.linear) - sympy.I * _tidy(frequency)
    value = s.coefficient * (1 if isinstance(wave, sympy.cos) else -sympy.I)
    for nu, share in _in_matern(int(s.power), value / rate**s.power):
        known = out.damped.get((nu, rate), sympy.Integer(0))
        out.damped[nu, rate] = sympy.expand(sympy.radsimp(known + share))
    return True


def _reverse_bessel(n: int) -> list[sympy.Expr]:
    """Coefficients of theta_n, the constant one first."""
    return [
        sympy.Rational(
            sympy.factorial(2 * n - j),
            2 ** (n - j) * sympy.factorial(n - j) * sympy.factorial(j),
        )
        for j in range(n + 1)
    ]


def _bessel_k(s: _Summand, out: Recognised) -> bool:
    """z^(nu + 2j) K_nu(a z): Matern kernels, by K_nu = K_(nu+2) - (2(nu+1)/x) K_(nu+1)."""
    if len(s.factors) != 1 or s.linear != 0 or s.quadratic != 0:
        return False
    match = _bessel_argument(s.factors[0], sympy.besselk)
    if match is None:
        return False
    order, rate = abs(match[0]), match[1]
    # z^p K_nu(a z) = a^-p x^p K_nu(x)
    pending = [(s.power, order, s.coefficient / rate**s.power)]
    found: list[tuple[sympy.Expr, sympy.Expr]] = []
    while pending:
        power, nu, value = pending.pop()
        if power == nu and nu.is_positive:
            found.append((nu, value * sympy.gamma(nu) * 2 ** (nu - 1)))
        elif (power - nu).is_Integer and power > nu and (power - nu) % 2 == 0:
            pending.append((power, nu + 2, value))
            pending.append((power - 1, nu + 1, -2 * (nu + 1) * value))
        else:
            return False
    for nu, value in found:
        out.add_matern(nu, rate, value)
    return True


def _bessel_argument(
    factor: sympy.Expr, head: type[sympy.Expr]
) -> tuple[sympy.Expr, sympy.Expr] | None:
    """Order nu and positive rate a of ``head(nu, a z)``."""
    if not isinstance(factor, head):
        return None
    order, argument = factor.args
    rate = sympy.cancel(argument / Z)
    if rate.has(Z) or not rate.is_positive or not order.is_real:
        return None
    return order, rate


def _rational_quadratic(s: _Summand, out: Recognised) -> bool:
    """z^(2j) (A + B z^2)^(-alpha), A, B > 0, j <= alpha."""
    if len(s.factors) != 1 or s.linear != 0 or s.quadratic != 0:
        return False
    if not (s.power.is_Integer and s.power >= 0 and s.power % 2 == 0):
        return False
    base, exponent = s.factors[0].as_base_exp()
    poly = _polynomial(base)
    if poly is None or not exponent.is_number or not exponent.is_negative:
        return False
    if poly.degree() > 2:
        (scale, roots) = sympy.factor_list(base)
        if len(roots) != 1:
            return False
        poly = sympy.Poly(roots[0][0], Z)
        exponent_of_root = roots[0][1]
    else:
        scale, exponent_of_root = _ONE, 1
    a, b, c = (poly.coeff_monomial(Z**i) for i in (0, 1, 2))
    if poly.degree() != 2 or b != 0 or not a.is_positive or not c.is_positive:
        return False
    alpha = -exponent * exponent_of_root
    j = int(s.power) // 2
    if not (alpha - j).is_nonnegative:
        return False
    front = s.coefficient * scale**exponent * a ** (-alpha)
    length2 = _tidy(a / c)
    # z^2 = b^2 [(1 + z^2/b^2) - 1]
    for i in range(j + 1):
        value = front * length2**j * sympy.binomial(j, i) * (-1) ** (j - i)
        if alpha == i:
            out.constant += value
        else:
            _accumulate(out.quadratics, (alpha - i, length2), value)
    return True


def _plane_wave_mean(s: _Summand, out: Recognised) -> bool:
    """z^(1 - m/2) J_(m/2-1)(R z); cos(R z) is m = 1 and sin(R z)/z is m = 3."""
    if len(s.factors) != 1 or s.linear != 0 or s.quadratic != 0:
        return False
    factor = s.factors[0]
    if isinstance(factor, sympy.cos | sympy.sin):
        rate = sympy.cancel(factor.args[0] / Z)
        wanted = 0 if isinstance(factor, sympy.cos) else -1
        if rate.has(Z) or not rate.is_positive or s.power != wanted:
            return False
        m = sympy.Integer(1 - 2 * wanted)
        value = s.coefficient * rate**-wanted
    else:
        match = _bessel_argument(factor, sympy.besselj)
        if match is None or s.power != -match[0] or not (match[0] + 1).is_positive:
            return False
        order, rate = match
        m = 2 * order + 2
        value = s.coefficient * (rate / 2) ** order / sympy.gamma(m / 2)
    _accumulate(out.waves, (m, _tidy(rate)), value)
    return True


#: A family is one function that claims a summand and adds it to the sum, or says False.
FAMILIES: tuple[Family, ...] = (
    _constant,
    _gaussian,
    _exponential,
    _damped_wave,
    _bessel_k,
    _rational_quadratic,
    _plane_wave_mean,
)


def claimed(term: sympy.Expr, out: Recognised) -> bool:
    """Whether a family has a summand, which is then added to it."""
    summand = _read(term)
    return summand is not None and any(family(summand, out) for family in FAMILIES)


def recognised(expr: sympy.Expr) -> Recognised | None:
    """A formula as a sum of families; None where a summand is in none of them."""
    out = Recognised()
    if all(claimed(term, out) for term in summands(expr)):
        return out
    return None
