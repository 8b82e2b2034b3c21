"""Coefficients of power series, one after another; those that end, end."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

__all__ = [
    "binomial_series",
    "exp_series",
    "log_series",
    "rising_series",
    "trigonometric_series",
]

_ONE = sympy.Integer(1)
_NIL = sympy.Integer(0)


def binomial_series(s: sympy.Expr) -> Iterator[sympy.Expr]:
    """(1 + x)^s."""
    c, k = _ONE, 0
    while c != 0:
        yield c
        c = sympy.expand(c * (s - k) / (k + 1))
        k += 1


def rising_series(s: sympy.Expr) -> Iterator[sympy.Expr]:
    """(-1)^k (s)_k."""
    c, k = _ONE, 0
    while c != 0:
        yield c
        c = sympy.expand(-c * (s + k))
        k += 1


def log_series() -> Iterator[sympy.Expr]:
    """log(1 + x)."""
    yield _NIL
    k = 1
    while True:
        yield sympy.Rational((-1) ** (k + 1), k)
        k += 1


def exp_series() -> Iterator[sympy.Expr]:
    """exp(x)."""
    c, k = _ONE, 0
    while True:
        yield c
        k += 1
        c /= k


def trigonometric_series(value: sympy.Expr, slope: sympy.Expr) -> Iterator[sympy.Expr]:
    """Taylor coefficients of a solution of y'' = -y."""
    k, pair = 0, (value, slope)
    factorial = _ONE
    while True:
        yield pair[0] / factorial
        k += 1
        factorial *= k
        pair = (pair[1], -pair[0])
