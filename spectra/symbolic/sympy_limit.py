"""sympy under a time limit: a process of its own, which is killed when the time is over."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import sympy

__all__ = ["WORKER", "ask_sympy"]

#: The module that runs in the process.
WORKER = "spectra.symbolic.sympy_worker"
# What reading and writing raise where the process has ended, or was killed while it wrote.
_ENDED = (BrokenPipeError, EOFError, pickle.UnpicklingError)


def ask_sympy(
    tasks: Sequence[str],
    expr: sympy.Expr,
    *,
    dim: int,
    support: sympy.Expr | None = None,
    limit: float,
) -> Iterator[tuple[str, sympy.Expr | None, str]]:
    """Answers of sympy to tasks in turn, as they come within ``limit`` seconds.

    The process is killed at the limit, and if no further answer is asked for.  ``tasks`` are names
    in :data:`spectra.symbolic.sympy_worker.TASKS`, ``expr`` is a formula in z (in w for "expand")
    that ends at ``support``, and ``limit`` includes the start of the process, about one second.
    Yields (task, formula, reason) for each task: without a formula it is None, with the reason.
    """
    request = pickle.dumps((tuple(tasks), expr, dim, support))
    answered = 0
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        end = threading.Timer(limit, process.kill)
        end.daemon = True
        end.start()
        try:
            process.stdin.write(request)
            process.stdin.close()
            for task in tasks:
                found, reason = pickle.load(process.stdout)
                answered += 1
                yield task, found, reason
        except _ENDED:
            pass
        finally:
            end.cancel()
            process.kill()
    for task in tasks[answered:]:
        yield task, None, f"sympy was stopped after {limit:g} seconds, or failed"


def _environment() -> dict[str, str]:
    """Ours, in which this package is found."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}
