"""The exact limit of a formula as its variable decreases to 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from mpmath import mp

from spectra.errors import AccuracyError
from spectra.formula.evaluate import mpmath_function, numpy_function
from spectra.formula.opaque import Opaque
from spectra.formula.resolved import resolving_function

__all__ = ["value_at_zero"]

# Two points 10**-n, and the digits beyond which values that cancellations still blur are taken as
# they are if the digits are three for each order of the point: those of the first two rounds
# resolve z**20 at the near point and z**3 at the far one.  At the far point z**0.3 is below
# 1e-36 in the first round, z**0.1 in the second, z**0.01 in the third.  The last resolves z**20 at
# its far point too, as sums of sines and cosines over high powers need.
_ROUNDS = ((20, 120, 400), (40, 400, 1300), (400, 4000, 1300), (20, 60, 1300))
_DIGITS_PER_ORDER = 3
# Digits of the values near the origin, beyond those that recognition asks of them.
_WANTED = 45
_RECOGNISED = mp.mpf("1e-36")
_LARGEST_RECOGNISED = 10**9
# Far below the distance of any two limits that a formula confuses.
_AGREEMENT = mp.mpf("1e-20")
_UNKNOWN_TO_BE_FINITE = (sympy.besselj, sympy.besseli, sympy.besselk, sympy.hyper, sympy.expint)
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

    Candidates are the value by substitution, a simple multiple of the Bessel constants recognised
    from the digits close to the origin, the value of the leading terms of Bessel functions
    (DLMF 10.7.3 and 10.30.1 to 10.30.3), ``sympy.limit``, and the sum or product of the limits of
    the parts.  Each has to agree with mpmath close to the origin; if none does the answer is None.

    Parameters
    ----------
    expr, symbol
        As for :func:`spectra.formula.evaluate.numpy_function`.

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
    if expr.has(Opaque):
        # A callable has its value at 0 in doubles, and no digits to see a limit from.
        at_zero = float(numpy_function(expr, symbol)(0.0))
        return sympy.Float(at_zero, 17) if np.isfinite(at_zero) else None
    for route in _ROUTES:
        try:
            for value in route(expr, symbol):
                # Values near the origin, of up to 1300 digits, are computed for a number only.
                if value is None or not _is_real_number(value):
                    continue
                if any(near.has_limit(value) for near in _approach(expr, symbol)):
                    return sympy.unpolarify(sympy.expand_func(value))
        except _SYMPY_FAILURES:
            # sympy's limits and substitutions fail in these ways; the next route may not.
            continue
    return None


# --- the values near the origin ---------------------------------------------------------------


@dataclass(frozen=True)
class _Near:
    """The values at two points, and the size of the noise in them."""

    near: Any
    far: Any
    noise: Any

    def has_limit(self, value: sympy.Expr) -> bool:
        """Say whether the values go to this number, at the far point to 20 digits."""
        with mp.workdps(_WANTED + 35):
            limit = mpmath_function(value, sympy.Dummy())(mp.mpf(0))
            if not (mp.isfinite(limit) and mp.im(limit) == 0):
                return False
            if limit == 0:
                return bool(self.vanishes() and abs(self.near) <= mp.mpf("0.01"))
            near, far = abs(self.near - limit), abs(self.far - limit)
            # 1e-2 at the near point unmasks a cancellation that the digits at the far one hid.
            return bool(far <= near <= (1 + abs(limit)) / 100 and far <= _AGREEMENT * abs(limit))

    def vanishes(self) -> bool:
        """Say whether the values fall to 0, and are not just small."""
        return bool(abs(self.far) <= max(_AGREEMENT * min(1, abs(self.near)), self.noise))


def _approach(expr: sympy.Expr, symbol: sympy.Symbol) -> Iterator[_Near]:
    """The rounds of values near the origin, each computed when it is first asked for."""
    rounds = (_round(expr, symbol, *each) for each in _ROUNDS)
    return (found for found in rounds if found is not None)


@lru_cache(maxsize=64)
def _round(expr: sympy.Expr, symbol: sympy.Symbol, near: int, far: int, most: int) -> _Near | None:
    function = resolving_function(expr, symbol)
    values = []
    for order in (near, far):
        # A power of two is the same number at every precision.
        point = mp.ldexp(1, -int(order * 3.3219280948873626))
        try:
            found = function(point, _WANTED, most)
        except (AccuracyError, ArithmeticError, ValueError, mp.NoConvergence):
            return None
        is_settled = found.is_resolved or most >= _DIGITS_PER_ORDER * order
        if not (is_settled and mp.isfinite(found.value)):
            return None
        values.append(found.value)
    return _Near(values[0], values[1], noise=mp.mpf(10) ** (50 - most))


def _is_real_number(value: sympy.Expr) -> bool:
    return not value.free_symbols and _is_finite(value) and value.is_real is not False


def _is_finite(value: sympy.Expr) -> bool:
    """Say whether a number is finite; sympy does not know it of J_1(1) or of 1F1(1, 2, -1)."""
    special = {f: sympy.Dummy(finite=True) for f in value.atoms(*_UNKNOWN_TO_BE_FINITE)}
    arguments = [argument for f in special for argument in f.args]
    undefined = (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan, sympy.AccumBounds)
    return bool(
        value.is_finite
        or (
            special
            and not any(argument.has(*undefined) for argument in arguments)
            and value.xreplace(special).is_finite is not False
            and not value.xreplace(special).has(*undefined)
        )
    )


# --- candidates -------------------------------------------------------------------------------

_Candidates = Iterator[sympy.Expr | None]


def _by_substitution(expr: sympy.Expr, symbol: sympy.Symbol) -> _Candidates:
    yield expr.subs(symbol, 0).replace(
        lambda e: isinstance(e, sympy.expint) and e.args[1] == 0,
        lambda e: 1 / (e.args[0] - 1) if e.args[0] > 1 else sympy.oo,  # DLMF 8.19.6
    )


def _by_recognition(expr: sympy.Expr, symbol: sympy.Symbol) -> _Candidates:
    """Recognise rational multiples of 1 and of (2**nu gamma(nu))**+-1, the Bessel constants."""
    bessels = _bessels(expr)
    if not bessels:
        return
    orders = sorted({abs(bessel.order) for bessel in bessels} - {sympy.S.Zero}, key=str)
    scales = [2**nu * sympy.gamma(nu) for nu in orders]
    units = (sympy.S.One, *scales, *(1 / scale for scale in scales))
    for near in _approach(expr, symbol):
        if near.vanishes():
            yield sympy.S.Zero
        for unit in units:
            yield _recognised(near.far, unit)


def _recognised(value: Any, unit: sympy.Expr) -> sympy.Expr | None:
    with mp.workdps(_WANTED + 35):
        ratio = value / mpmath_function(unit, sympy.Dummy())(mp.mpf(0))
        if not 1 <= abs(ratio) * _LARGEST_RECOGNISED <= _LARGEST_RECOGNISED**2:
            return None
        found = Fraction(int(mp.nint(ratio * mp.mpf(10) ** 60)), 10**60)
        simple = found.limit_denominator(_LARGEST_RECOGNISED)
        # Two such fractions differ by 1e-18 at least: 36 digits are no coincidence.
        if abs(ratio - mp.mpf(simple.numerator) / simple.denominator) > _RECOGNISED * abs(ratio):
            return None
        return unit * sympy.Rational(simple.numerator, simple.denominator)


def _by_leading_terms(expr: sympy.Expr, symbol: sympy.Symbol) -> _Candidates:
    """Put the leading term of each Bessel function whose argument goes to 0."""
    leading = {
        bessel: _leading_term(bessel)
        for bessel in _bessels(expr)
        if bessel.argument.subs(symbol, 0) == 0
    }
    if leading:
        simpler = sympy.expand_power_base(expr.xreplace(leading))
        yield simpler.subs(symbol, 0)
        yield sympy.limit(simpler, symbol, 0, "+")


def _leading_term(bessel: sympy.Expr) -> sympy.Expr:
    order, half = bessel.order, bessel.argument / 2
    if isinstance(bessel, sympy.besselk):
        if order == 0:
            return -sympy.log(half)
        return sympy.gamma(abs(order)) / 2 * half ** (-abs(order))
    return half**order / sympy.gamma(order + 1)


def _by_limit(expr: sympy.Expr, symbol: sympy.Symbol) -> _Candidates:
    if all((2 * bessel.order).is_integer for bessel in expr.atoms(sympy.besselk)):
        # Of other orders sympy's limit is wrong or endless.
        yield sympy.limit(sympy.expand_func(expr), symbol, 0, "+")


def _by_parts(expr: sympy.Expr, symbol: sympy.Symbol) -> _Candidates:
    """Split off a numeric factor, or take a sum term by term."""
    factor, part = expr.as_independent(symbol, as_Add=False)
    parts = [part] if expr.is_Mul and factor != 1 else expr.args if expr.is_Add else []
    values = [value_at_zero(each, symbol) for each in parts]
    if values and None not in values:
        yield sympy.Add(*values) * (factor if expr.is_Mul else 1)


def _bessels(expr: sympy.Expr) -> set[sympy.Expr]:
    found: set[sympy.Expr] = expr.atoms(sympy.besselj, sympy.besseli, sympy.besselk)
    return found


_ROUTES: tuple[Callable[[sympy.Expr, sympy.Symbol], _Candidates], ...] = (
    _by_substitution,
    _by_recognition,
    _by_leading_terms,
    _by_limit,
    _by_parts,
)
