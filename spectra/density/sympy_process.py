"""Transforms by sympy, each in a process that is killed at a time limit.

Sympy may hang or exhaust the stack.  ``python -m spectra.density.sympy_process`` reads a pickled
task from stdin and writes the pickled formula to stdout; only this module uses it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import sympy

from spectra.formula.parsing import Z

__all__ = ["TASKS", "ask_sympy"]

_MODULE = "spectra.density.sympy_process"
_Z = sympy.Symbol("z", positive=True)
_W = sympy.Symbol("w", positive=True)


def ask_sympy(
    task: str, expr: sympy.Expr, *, dim: int, support: sympy.Expr | None = None, limit: float | None
) -> tuple[sympy.Expr | None, str]:
    """Run one of :data:`TASKS`; return (formula, "") or (None, the reason for the failure).

    ``expr`` is a formula in z (in w for "expand"), 0 beyond ``support``.  The ``limit`` in seconds
    includes the start of the process, about one second; None means no limit.
    """
    root = str(Path(__file__).parents[2])  # the folder that contains the package spectra
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        finished = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", _MODULE],
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
    """mu(w) by the Hankel transform of order d/2 - 1."""
    half = sympy.Rational(dim, 2)
    if support is not None:
        expr = expr * sympy.Heaviside(support - _Z)
    transform = sympy.hankel_transform(expr * _Z ** (half - 1), _Z, _W, half - 1)
    return sympy.simplify((2 * sympy.pi) ** (-half) * _W ** (1 - half) * transform)


def _cosine(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr:
    """mu(w) for odd d: the cosine transform for d = 1, then d -> d + 2 by -1/(2 pi w) d/dw."""
    top = sympy.oo if support is None else support
    density = sympy.integrate(expr * sympy.cos(_W * _Z), (_Z, 0, top), conds="none") / sympy.pi
    for _ in range(dim // 2):
        density = -sympy.diff(density, _W) / (2 * sympy.pi * _W)
    return sympy.simplify(density)


def _expand(expr: sympy.Expr, dim: int, support: sympy.Expr | None) -> sympy.Expr:
    """A formula in w with its hypergeometric functions written as more elementary ones."""
    expanded = sympy.hyperexpand(expr)
    return min(expanded, sympy.simplify(expanded), key=sympy.count_ops)


#: Functions of a formula (in z, or in w for "expand"), a dimension, and a support or None.
TASKS: dict[str, Callable[[sympy.Expr, int, sympy.Expr | None], sympy.Expr]] = {
    "cosine": _cosine,
    "expand": _expand,
    "hankel": _hankel,
}
# Parts of formulas that sympy could not evaluate.
_UNEVALUATED = (sympy.Integral, sympy.HankelTransform)


def _run_task() -> None:
    """Run the task from stdin in this process; exit with an error if there is no formula."""
    task, expr, dim, support = pickle.load(sys.stdin.buffer)
    # Sympy may print; keep its messages out of the output.
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    # Sympy simplifies more if z is positive than if it is nonnegative.
    formula = TASKS[task](expr.xreplace({Z: _Z}), dim, support)
    if formula.has(*_UNEVALUATED) or (task == "expand" and formula.has(sympy.hyper, sympy.meijerg)):
        raise SystemExit(1)
    output.write(pickle.dumps(formula))


if __name__ == "__main__":
    _run_task()
