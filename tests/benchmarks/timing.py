"""Times and tables of results.  Absolute times say little about another machine: read ratios."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Table", "best_time", "number", "patiently", "say", "seconds"]

_REPEATS = 5


def say(text: str) -> None:
    """One line of progress."""
    print(f"  {text}", flush=True)


def best_time(function: Callable[[], Any], *, repeats: int = _REPEATS) -> float:
    """Processor time of the shortest of several runs, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of one run, and what it gave."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def _into(queue: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        queue.put((True, function(*arguments)))
    except Exception as fault:  # what a rival says is part of the result
        queue.put((False, f"{type(fault).__name__}: {fault}"))


def patiently(function: Callable[..., Any], *arguments: Any, limit: float) -> tuple[bool, Any]:
    """Run a rival in a process of its own; (False, reason) where it fails or takes too long."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    worker = context.Process(target=_into, args=(queue, function, arguments))
    worker.start()
    worker.join(limit)
    if worker.is_alive():
        worker.terminate()
        worker.join()
        return False, f"no answer in {limit:g} s"
    return queue.get(timeout=10.0)


def number(value: float) -> str:
    """Two digits, in the shortest form."""
    return f"{value:.2g}"


@dataclass
class Table:
    """A table of results in Markdown: a heading, a note on how to read it, and cells as text."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[Sequence[str]]

    def add(self, *cells: str) -> None:
        """Add a row, and show it."""
        self.rows.append(cells)
        say(" | ".join(cells))

    def __str__(self) -> str:
        lines = [f"## {self.title}", "", self.note, ""]
        lines += [_row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row(row) for row in self.rows]
        return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
