"""The exact limit of a formula as its variable decreases to 0."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from mpmath import mp

from spectra.errors import AccuracyError
from spectra.formula.evaluate import mpmath_function

__all__ = ["value_at_zero"]

# Two points 10**-n and the digits to work with.  At the near one all cancellations up to z**20
# are resolved; at the far one z**0.3 is below 1e-36 in the first round, z**0.1 in the second,
# which is much slower.
_ROUNDS = (((20, 120), 400), ((40, 400), 1300))
_SYMPY_FAILURES = (
    ArithmeticError,
    AttributeError,
    KeyError,
    IndexError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


def value_at_zero(expr: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """Return the exact limit of an expression as its variable decreases to 0, if it is finite.

    Substitution is tried first, then recognition of the value at 1e-120 (for Bessel functions,
    whose limits sympy often does not know), then ``sympy.limit``.  Each candidate has to agree with
    mpmath close to the origin; if none does the answer is None.

    Parameters
    ----------
    expr, symbol
        As for :func:`numpy_function`.

    Returns
    -------
    sympy.Expr or None
        None means infinite, oscillating, undefined, or not found.

    Examples
    --------
    >>> import sympy
    >>> z = sympy.Symbol("z", nonnegative=True)
    >>> value_at_zero(sympy.sin(z) / z, z), value_at_zero(sympy.exp(-z), z)
    (1, 1)
    >>> print(value_at_zero(1 / z, z))
    None
    """
    for exponents, digits in _ROUNDS:
        with mp.workdps(digits):
            value = _limit_in_round(expr, symbol, exponents)
        if value is not None:
            return sympy.expand_func(value)
    return None


def _limit_in_round(
    expr: sympy.Expr, symbol: sympy.Symbol, exponents: tuple[int, ...]
) -> sympy.Expr | None:
    near = _values_near_zero(expr, symbol, exponents)
    if near is None:
        return None
    for route in (_by_substitution, _by_recognition, _by_limit):
        try:
            value = route(expr, symbol, near)
            if value is not None and _agrees(value, near):
                return value
        except _SYMPY_FAILURES:
            # sympy's limits and substitutions fail in these ways; the next route may not.
            continue
    return None


def _values_near_zero(
    expr: sympy.Expr, symbol: sympy.Symbol, exponents: tuple[int, ...]
) -> tuple[Any, ...] | None:
    function = mpmath_function(expr, symbol)
    try:
        values = tuple(function(mp.mpf(10) ** -n) for n in exponents)
    except (AccuracyError, ArithmeticError, ValueError, mp.NoConvergence):
        return None
    return values if all(mp.isfinite(value) for value in values) else None


def _agrees(value: sympy.Expr, near: tuple[Any, ...]) -> bool:
    if value.free_symbols or not value.is_finite or value.is_real is False:
        return False
    limit = mpmath_function(value, sympy.Dummy())(mp.mpf(0))
    errors = [abs(v - limit) for v in near]
    scale = 1 + abs(limit)
    # 1e-20 is below the distance of any two limits that a formula confuses; 1e-2 at the nearer
    # point unmasks a cancellation that the digits at the far point did not resolve.
    return bool(errors[1] <= errors[0] <= scale / 100 and errors[1] <= mp.mpf("1e-20") * scale)


def _by_substitution(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    value = expr.subs(symbol, 0)
    return value if value.is_finite else None


def _by_limit(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    if any(not (2 * bessel.order).is_integer for bessel in expr.atoms(sympy.besselk)):
        return None  # sympy's limit of these is wrong or endless
    return sympy.limit(sympy.expand_func(expr), symbol, 0, "+")


def _by_recognition(expr: sympy.Expr, symbol: sympy.Symbol, near: Any) -> sympy.Expr | None:
    """Recognise rational multiples of 1 and of (2**nu gamma(nu))**+-1, the Bessel constants."""
    bessels = expr.atoms(sympy.besselj, sympy.besseli, sympy.besselk)
    if not bessels:
        return None
    orders = sorted({abs(bessel.order) for bessel in bessels} - {sympy.S.Zero}, key=str)
    scales = [2**nu * sympy.gamma(nu) for nu in orders]
    for unit in (sympy.S.One, *scales, *(1 / scale for scale in scales)):
        ratio = near[1] / mpmath_function(unit, sympy.Dummy())(mp.mpf(0))
        found = Fraction(int(mp.nint(ratio * mp.mpf(10) ** 60)), 10**60)
        simple = found.limit_denominator(10**9)
        # Two such fractions differ by 1e-18 at least: 36 digits are no coincidence.
        if abs(ratio - mp.mpf(simple.numerator) / simple.denominator) <= mp.mpf(10) ** -36:
            return unit * sympy.Rational(simple.numerator, simple.denominator)
    return None
