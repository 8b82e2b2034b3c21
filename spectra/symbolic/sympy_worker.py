"""The process in which sympy integrates; it reads one request and writes its answers in turn.

Both are pickled: each end is ours.  sympy may hang, exhaust the stack, or be wrong: here it can
only cost time, which the parent limits (:mod:`.sympy_limit`), and every answer is checked there
before it is believed.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable

import sympy

from spectra.formula.reader import Z

__all__ = ["TASKS", "main"]

_Z = sympy.Symbol("z", positive=True)
_W = sympy.Symbol("w", positive=True)
_S = sympy.Symbol("s")
# What sympy raises on integrals that it does not know, or trips over.
_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    pickle.PicklingError,
)


def _mellin(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr | None:
    """The integral of k(z) z^(s-1), of which a strip is known."""
    if support is not None:
        expr = expr * sympy.Heaviside(support - _Z)
    found = sympy.mellin_transform(expr, _Z, _S)
    return found[0] if isinstance(found, tuple) else None


def _hankel(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr | None:
    """mu(w) by the Hankel transform in this dimension."""
    half = sympy.Rational(dim, 2)
    if support is not None:
        expr = expr * sympy.Heaviside(support - _Z)
    found = sympy.hankel_transform(expr * _Z ** (half - 1), _Z, _W, half - 1)
    if found.has(sympy.Integral, sympy.HankelTransform):
        return None
    return sympy.simplify((2 * sympy.pi) ** (-half) * _W ** (1 - half) * found)


def _cosine(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr | None:
    """mu(w) for odd d: the cosine integral, then d -> d + 2 by -1/(2 pi w) d/dw."""
    if dim % 2 == 0:
        return None
    top = sympy.oo if support is None else support
    found = sympy.integrate(expr * sympy.cos(_W * _Z), (_Z, 0, top), conds="none") / sympy.pi
    if found.has(sympy.Integral):
        return None
    for _ in range(dim // 2):
        found = -sympy.diff(found, _W) / (2 * sympy.pi * _W)
    return sympy.simplify(found)


def _expand(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr | None:
    """A formula in w with its hypergeometric functions written through better-known ones."""
    expanded = sympy.hyperexpand(expr)
    if expanded.has(sympy.hyper, sympy.meijerg):
        return None
    short = sympy.simplify(expanded)
    return short if sympy.count_ops(short) < sympy.count_ops(expanded) else expanded


#: Each task takes a formula (in z, or in w for "expand"), a dimension, and a support or None.
TASKS: dict[str, Callable[[sympy.Expr, int, sympy.Expr | None], sympy.Expr | None]] = {
    "cosine": _cosine,
    "expand": _expand,
    "hankel": _hankel,
    "mellin": _mellin,
}


def main() -> None:
    """Read a request from stdin; write (formula, "") or (None, reason) for each task on stdout."""
    tasks, expr, dim, support = pickle.load(sys.stdin.buffer)
    # What sympy prints is no answer.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    for task in tasks:
        try:
            # sympy does more where z is positive than where it may be 0.
            found = TASKS[task](expr.xreplace({Z: _Z}), dim, support)
            reason = "sympy knows no closed form" if found is None else ""
            told = pickle.dumps((found, reason))
        except _FAILURES as error:
            told = pickle.dumps((None, f"sympy fails with {type(error).__name__}"))
        answers.write(told)
        answers.flush()


if __name__ == "__main__":
    main()
