"""sympy under a time limit: in a process of its own, which is killed at the limit.

sympy may hang, exhaust the stack, or be wrong: in a process it can only cost time, and every answer
is checked before it is believed.  ``python -m spectra.symbolic.sympy_process`` reads a formula
from stdin and writes its answer to stdout, both pickled: each end is ours.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import sympy

__all__ = ["expand_in_process"]

_WORKER = "spectra.symbolic.sympy_process"


def expand_in_process(formula: sympy.Expr, *, limit: float) -> tuple[sympy.Expr | None, str]:
    """A formula without hypergeometric and Meijer functions, or None and the reason.

    ``limit`` is in seconds, and includes the start of the process, about one second.
    """
    root = str(Path(__file__).parents[2])  # where this package is found
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        finished = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", _WORKER],
            input=pickle.dumps(formula),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None, f"sympy was stopped after {limit:g} seconds"
    except subprocess.CalledProcessError:
        return None, "sympy knows no better-known functions for it, or failed"
    return pickle.loads(finished.stdout), ""


def _answer() -> None:
    """Expand a formula in this process; one without an answer ends it with an error."""
    formula = pickle.load(sys.stdin.buffer)
    # What sympy prints is no answer.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    expanded = sympy.hyperexpand(formula)
    found = min(sympy.simplify(expanded), expanded, key=sympy.count_ops)
    if found.has(sympy.hyper, sympy.meijerg):
        raise SystemExit(1)
    answers.write(pickle.dumps(found))


if __name__ == "__main__":
    _answer()
