"""sympy under a time limit: a process of its own, which is killed when the time is over."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sympy

from spectra.errors import FormulaError
from spectra.transform.formulas.expression_tree import from_tree, to_tree

__all__ = ["WORKER", "Answer", "ask_sympy"]

#: The module that runs in the process.
WORKER = "spectra.transform.formulas.sympy_worker"


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
) -> Iterator[Answer]:
    """Answers of sympy to tasks in turn, as they come within ``limit`` seconds.

    The process is killed at the limit, and where no further answer is asked for.

    Parameters
    ----------
    tasks : sequence of str
        Names in :data:`spectra.transform.formulas.sympy_worker.TASKS`.
    expr, support : sympy expressions
        The formula in z (in w for "expand"), and where it ends.
    dim : int
    symbols : dict
        The symbols that answers may hold, by name.
    limit : float
        Seconds for all tasks together; the start of the process (about one second) is within them.

    Yields
    ------
    Answer
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
    late = list(tasks)
    for line in _lines(json.dumps(request), limit):
        answer = _answer(line, symbols)
        if answer is None:
            break
        late.remove(answer.task)
        yield answer
    for task in late:
        yield Answer(task, None, f"sympy was stopped after {limit:g} seconds, or failed")


def _lines(request: str, limit: float) -> Iterator[str]:
    """The lines that the process writes before it ends; it never outlives this generator."""
    environment = dict(os.environ)
    home = str(Path(__file__).parents[3])
    paths = [home, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    stop = time.monotonic() + limit
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        written: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_copy, args=(process.stdout, written), daemon=True)
        reader.start()
        try:
            _send(process, request)
            while True:
                try:
                    line = written.get(timeout=max(stop - time.monotonic(), 0.0))
                except queue.Empty:
                    return
                if line is None:
                    return
                yield line
        finally:
            process.kill()
            reader.join()


def _send(process: subprocess.Popen[str], request: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(request)
        process.stdin.close()
    except BrokenPipeError:
        # The process ended before it read: it has no answers, and is reported so.
        return


def _copy(source: Iterable[str], target: queue.SimpleQueue[str | None]) -> None:
    for line in source:
        target.put(line)
    target.put(None)


def _answer(line: str, symbols: dict[str, sympy.Symbol]) -> Answer | None:
    """What one line says; None where the process was killed while it wrote it."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    if record["expr"] is None:
        return Answer(record["task"], None, record["reason"])
    try:
        return Answer(record["task"], from_tree(record["expr"], symbols), "")
    except FormulaError as error:
        return Answer(record["task"], None, str(error))
