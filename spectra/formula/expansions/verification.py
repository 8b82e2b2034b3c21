"""Exact expansions against numbers: a mistake of the algebra must not become a verdict."""

from __future__ import annotations

from functools import lru_cache

import mpmath
import sympy
from mpmath import mp

from spectra.errors import AccuracyError, FormulaError
from spectra.formula.evaluation.evaluate import mpmath_function
from spectra.formula.expansions.exact_numbers import PRECISE, ExpansionError
from spectra.formula.expansions.expand import expand_at
from spectra.formula.expansions.expansion import FLAT, Expansion, Series
from spectra.formula.reader.parsing import Z

__all__ = ["expansion_agrees", "verified_expansion"]

#: Two distances t at which the remainder of an expansion is measured.
_DISTANCES = (("1e-6", "1e-9"), ("1e-14", "1e-20"))
#: The fitted exponent may fall short of the stated one by this much: logarithms bend it.
_SLACK = 0.5
#: Digits that an expanded polynomial may lose to its large coefficients.
_GUARD = 90
#: Beyond this many digits the comparison takes too long and is left out.
_MOST_DIGITS = 1200


def verified_expansion(expr: sympy.Expr, place: sympy.Expr, side: int, window: int) -> Expansion:
    """Expand a formula, and compare with numbers, against a mistake of either."""
    expanded = expand_at(expr, place, side, window)
    if not expansion_agrees(expr, expanded, place, side):
        raise ExpansionError(f"the expansion at z = {place} disagrees with numerical values")
    return expanded


def expansion_agrees(expr: sympy.Expr, expanded: Expansion, place: sympy.Expr, side: int) -> bool:
    """Whether the remainder of an expansion vanishes as fast as the expansion says.

    The remainder is measured at two distances with as many digits as its order needs, and its
    fitted exponent is compared with the stated order.  Where the formula cannot be evaluated in
    mpmath there is nothing to compare, and the answer is True.
    """
    if all(not s.terms and s.order == FLAT for _, s in expanded.parts):
        return True  # flat: the numbers of exp(-exp(1/t)) have too many digits to be computed
    orders = [s.order for p, s in expanded.parts if p.growth >= 0 and s.order is not None]
    finite = [float(o[0]) for o in orders if o != FLAT]
    leads = [abs(float(s.terms[0][0][0])) for _, s in expanded.parts if s.terms]
    exponent = min(finite) if finite else max([*leads, 0.0]) + 8.0
    digits = int(30 + _GUARD + 22 * max(exponent, *leads, 1.0))
    if digits > _MOST_DIGITS:
        return True
    return any(_agrees(expr, expanded, place, side, exponent, digits, pair) for pair in _DISTANCES)


def _agrees(
    expr: sympy.Expr,
    expanded: Expansion,
    place: sympy.Expr,
    side: int,
    exponent: float,
    digits: int,
    distances: tuple[str, str],
) -> bool:
    with mp.workdps(digits):
        try:
            function = mpmath_function(expr, Z)
            point = None if place is sympy.oo else _number(place)
            rests, scales = [], []
            for distance in distances:
                t = mp.mpf(distance) * _natural_distance(expanded)
                value = function(1 / t if point is None else point + side * t)
                if mp.isnan(value):
                    return True
                factors = [mp.exp(_value(phase, t)) for phase, _ in expanded.parts]
                total = mp.fdot(factors, [_value(series, t) for _, series in expanded.parts])
                growing = [
                    abs(factor)
                    for factor, (phase, _) in zip(factors, expanded.parts, strict=True)
                    if phase.growth > 0
                ]
                weight = max([mp.mpf(1), *growing])  # a remainder is relative to what grows
                rests.append(abs(value - total) / weight)
                scales.append((abs(value) + abs(total)) / weight + 1)
        except (AccuracyError, FormulaError, OverflowError):
            return True
        if any(c.has(sympy.Float) for _, s in expanded.parts for _, c in s.terms):
            digits = min(digits, PRECISE)  # those of long coefficients
        if rests[1] <= mp.mpf(10) ** (_GUARD - digits) * scales[1]:
            return True
        step = mp.log(mp.mpf(distances[0]) / mp.mpf(distances[1]))
        fitted = mp.log(rests[0] / rests[1]) / step if rests[0] > 0 else mp.mpf(0)
        return bool(fitted >= exponent - _SLACK)


def _natural_distance(expanded: Expansion) -> mpmath.mpf:
    """A distance at which no term of the expansion has outgrown the first one, at most 1."""
    found = mp.mpf(1)  # a size, for which few digits serve
    for _, series in expanded.parts:
        if not series.terms:
            continue
        (lead, _), first = series.terms[0]
        for (a, _), c in series.terms[1:]:
            if a != lead:
                ratio = abs(_digits_of(first, 15) / _digits_of(c, 15)) ** (
                    1 / _digits_of(a - lead, 15)
                )
                found = min(found, ratio)
    return found


def _number(c: sympy.Expr) -> mpmath.mpf:
    return _digits_of(c, mp.dps + 10)


@lru_cache(maxsize=2000)
def _digits_of(c: sympy.Expr, digits: int) -> mpmath.mpf:
    return mp.mpmathify(c.evalf(digits, maxn=5000))


def _value(series: Series, t: mpmath.mpf) -> mpmath.mpc:
    """The sum of the terms of a series."""
    log = mp.log(1 / t)
    return mp.fsum(
        _number(c) * t ** _number(a) * log ** _number(-mq) for (a, mq), c in series.terms
    )
