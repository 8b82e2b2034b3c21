"""Coefficients of power series, one after another; those that end, end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count, cycle

import sympy

__all__ = [
    "binomial_series",
    "hypergeometric_series",
    "log_series",
    "trigonometric_series",
]

_ONE = sympy.Integer(1)
_NIL = sympy.Integer(0)


def hypergeometric_series(
    a: Iterable[sympy.Expr], b: Iterable[sympy.Expr], scale: sympy.Expr = _ONE
) -> Iterator[sympy.Expr]:
    """pFq(a; b; scale x): (a)_k scale^k / ((b)_k k!); it ends where an upper parameter is -n."""
    a, b = tuple(a), tuple(b)
    c, k = _ONE, 0
    while c != 0:
        yield c
        for x in a:
            c = sympy.expand(c * (x + k))
        for y in b:
            c = c / (y + k)
        k += 1
        c = sympy.expand(c * scale) / k


def binomial_series(s: sympy.Expr) -> Iterator[sympy.Expr]:
    """(1 + x)^s."""
    return hypergeometric_series((-s,), (), -_ONE)


def log_series() -> Iterator[sympy.Expr]:
    """log(1 + x)."""
    return chain([_NIL], (sympy.Rational((-1) ** (k + 1), k) for k in count(1)))


def trigonometric_series(value: sympy.Expr, slope: sympy.Expr) -> Iterator[sympy.Expr]:
    """Taylor coefficients of a solution of y'' = -y."""
    slopes = cycle((value, slope, -value, -slope))
    return (c / sympy.factorial(k) for k, c in enumerate(slopes))
