"""One line on the terminal for work that takes more than two seconds.

The rule is the same everywhere: a line is shown on stderr where that is a terminal, and nowhere
else; the environment variable SPECTRA_PROGRESS, "on" or "off", decides otherwise.  Nothing is
shown of work that is over within two seconds, and the line is wiped when it ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["progress", "stage"]

T = TypeVar("T")

_VARIABLE = "SPECTRA_PROGRESS"
# Seconds of silence before a line appears, and between two of its states.
PATIENCE = 2.0
_TICK = 0.5
_WIDTH = 28


@contextmanager
def stage(label: str) -> Iterator[None]:
    """Show what is being done for as long as this context lasts, if it lasts.

    Stages may lie in one another: the innermost is named, with the seconds of the outermost.

    Examples
    --------
    >>> with stage("adding"):
    ...     print(1 + 1)
    2
    """
    if not _is_shown():
        yield
        return
    line = _LINE.enter(label)
    try:
        yield
    finally:
        _LINE.leave(line)


def progress(items: Sequence[T], *, label: str) -> Iterator[T]:
    """Yield the items, and show how many are done.

    Examples
    --------
    >>> [x * x for x in progress([1, 2, 3], label="squares")]
    [1, 4, 9]
    """
    if not _is_shown():
        yield from items
        return
    line = _LINE.enter(_bar(0, len(items), label))
    try:
        for done, item in enumerate(items):
            line[0] = _bar(done, len(items), label)
            yield item
    finally:
        _LINE.leave(line)


def _bar(done: int, count: int, label: str) -> str:
    filled = _WIDTH * done // max(count, 1)
    return f"{label}  [{'#' * filled + '.' * (_WIDTH - filled)}] {done}/{count}"


def _is_shown() -> bool:
    wish = os.environ.get(_VARIABLE, "")
    return wish == "on" or (wish != "off" and sys.stderr is not None and sys.stderr.isatty())


class _Line:
    """What is shown: the stages under way in this process, and the thread that writes of them."""

    def __init__(self) -> None:
        self._stages: list[list[str]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._writer: threading.Thread | None = None

    def enter(self, label: str) -> list[str]:
        """Begin a stage; what is returned holds its label, and ends it."""
        held = [label]
        with self._lock:
            self._stages.append(held)
            if self._writer is None:
                self._over = threading.Event()
                arguments = (self._over, time.monotonic())
                self._writer = threading.Thread(target=self._write, args=arguments, daemon=True)
                self._writer.start()
        return held

    def leave(self, held: list[str]) -> None:
        """End a stage; with the last one, wipe the line."""
        with self._lock:
            self._stages = [other for other in self._stages if other is not held]
            writer = None if self._stages else self._writer
            if writer is not None:
                self._over.set()
                self._writer = None
        if writer is not None:
            writer.join()

    def _write(self, over: threading.Event, begin: float) -> None:
        width, patience = 0, PATIENCE
        while not over.wait(patience):
            with self._lock:
                label = self._stages[-1][0] if self._stages else ""
            text = f"{label} ... {time.monotonic() - begin:.0f} s"
            width = max(width, len(text))
            sys.stderr.write("\r" + text.ljust(width))
            sys.stderr.flush()
            patience = _TICK
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()


_LINE = _Line()
