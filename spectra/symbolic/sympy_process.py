"""sympy under a time limit: each transform in a process of its own, which is killed at the limit.

sympy may hang, exhaust the stack, or be wrong: in a process it can only cost time, and every answer
is checked before it is believed.  ``python -m spectra.symbolic.sympy_process`` reads a request
from stdin and writes its answer to stdout, both pickled: each end is ours.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import sympy

from spectra.formula.reader import Z

__all__ = ["TASKS", "ask_sympy"]

_WORKER = "spectra.symbolic.sympy_process"
_Z = sympy.Symbol("z", positive=True)
_W = sympy.Symbol("w", positive=True)


def ask_sympy(
    task: str, expr: sympy.Expr, *, dim: int, support: sympy.Expr | None = None, limit: float
) -> tuple[sympy.Expr | None, str]:
    """Ask sympy for one of :data:`TASKS` within ``limit`` seconds: (formula, reason if None).

    ``expr`` is a formula in z (in w for "expand") that ends at ``support``; the limit includes the
    start of the process, about one second.
    """
    root = str(Path(__file__).parents[2])  # where this package is found
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        finished = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", _WORKER],
            input=pickle.dumps((task, expr, dim, support)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None, f"sympy was stopped after {limit:g} seconds"
    except subprocess.CalledProcessError:
        return None, "sympy knows no closed form, or failed"
    return pickle.loads(finished.stdout), ""


def _hankel(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr:
    """mu(w) by the Hankel transform in this dimension."""
    half = sympy.Rational(dim, 2)
    if support is not None:
        expr = expr * sympy.Heaviside(support - _Z)
    found = sympy.hankel_transform(expr * _Z ** (half - 1), _Z, _W, half - 1)
    return sympy.simplify((2 * sympy.pi) ** (-half) * _W ** (1 - half) * found)


def _cosine(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr:
    """mu(w) for odd d: the cosine integral, then d -> d + 2 by -1/(2 pi w) d/dw."""
    top = sympy.oo if support is None else support
    found = sympy.integrate(expr * sympy.cos(_W * _Z), (_Z, 0, top), conds="none") / sympy.pi
    for _ in range(dim // 2):
        found = -sympy.diff(found, _W) / (2 * sympy.pi * _W)
    return sympy.simplify(found)


def _expand(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr:
    """A formula in w with its hypergeometric functions written through better-known ones."""
    expanded = sympy.hyperexpand(expr)
    return min(expanded, sympy.simplify(expanded), key=sympy.count_ops)


#: Each task takes a formula (in z, or in w for "expand"), a dimension, and a support or None.
TASKS: dict[str, Callable[[sympy.Expr, int, sympy.Expr | None], sympy.Expr]] = {
    "cosine": _cosine,
    "expand": _expand,
    "hankel": _hankel,
}
# What is no closed form: an integral that was not done, or a function that nobody knows better.
_OPEN = (sympy.Integral, sympy.HankelTransform)


def _answer() -> None:
    """Do a task in this process; a task without an answer ends it with an error."""
    task, expr, dim, support = pickle.load(sys.stdin.buffer)
    # What sympy prints is no answer.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    # sympy does more where z is positive than where it may be 0.
    found = TASKS[task](expr.xreplace({Z: _Z}), dim, support)
    if found.has(*_OPEN) or (task == "expand" and found.has(sympy.hyper, sympy.meijerg)):
        raise SystemExit(1)
    answers.write(pickle.dumps(found))


if __name__ == "__main__":
    _answer()
