"""sympy under a time limit: a process of its own, which is killed when the time is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sympy

from spectra.errors import FormulaError
from spectra.transform.expression_tree import from_tree, to_tree

__all__ = ["WORKER", "Answer", "ask_sympy"]

#: The module that runs in the process.
WORKER = "spectra.transform.sympy_worker"


@dataclass(frozen=True)
class Answer:
    """What came back for one task: a formula, or None and the reason in words."""

    task: str
    expr: sympy.Expr | None
    reason: str


def ask_sympy(
    tasks: Sequence[str],
    expr: sympy.Expr,
    *,
    dim: int,
    support: sympy.Expr | None = None,
    symbols: dict[str, sympy.Symbol],
    limit: float,
) -> list[Answer]:
    """Answers of sympy to tasks in turn, as far as it gets within ``limit`` seconds.

    Parameters
    ----------
    tasks : sequence of str
        Names in :data:`spectra.transform.sympy_worker.TASKS`.
    expr, support : sympy expressions
        The formula in z (in w for "expand"), and where it ends.
    dim : int
    symbols : dict
        The symbols that answers may hold, by name.
    limit : float
        Seconds for all tasks together; the start of the process (about one second) is within them.

    Returns
    -------
    list of Answer
        One for each task; those that were not reached in time say so.

    Examples
    --------
    >>> w = sympy.Symbol("w", positive=True)
    >>> formula = sympy.hyper((1, sympy.Rational(1, 2)), (sympy.Rational(3, 2),), -w**2)
    >>> (found,) = ask_sympy(["expand"], formula, dim=1, symbols={"w": w}, limit=60)
    >>> found.expr
    atan(w)/w
    """
    request = {
        "tasks": list(tasks),
        "expr": to_tree(expr),
        "dim": dim,
        "support": None if support is None else to_tree(support),
    }
    output = _run(json.dumps(request), limit)
    found = {a.task: a for a in _answers(output, symbols)}
    late = f"sympy was stopped after {limit:g} seconds"
    return [found.get(task, Answer(task, None, late)) for task in tasks]


def _run(request: str, limit: float) -> str:
    """What the process wrote before it ended or was killed."""
    environment = dict(os.environ)
    home = str(Path(__file__).parents[2])
    paths = [home, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        try:
            return process.communicate(request, timeout=limit)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0]
        except BaseException:
            process.kill()
            raise


def _answers(output: str, symbols: dict[str, sympy.Symbol]) -> Iterator[Answer]:
    for line in output.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            # The process was killed while it wrote its last line.
            return
        if record["expr"] is None:
            yield Answer(record["task"], None, record["reason"])
            continue
        try:
            yield Answer(record["task"], from_tree(record["expr"], symbols), "")
        except FormulaError as error:
            yield Answer(record["task"], None, str(error))
