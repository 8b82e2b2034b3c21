"""The stages of long work: each has a line on the terminal, and a limit on its processor time.

The rule is the same everywhere: a line is shown on stderr where that is a terminal, and nowhere
else; the environment variable SPECTRA_PROGRESS, "on" or "off", decides otherwise.  Nothing is
shown of work that is over within two seconds, and the line is wiped when it ends.  The limit is
that of :mod:`spectra.base.limits.time_limit`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from spectra.base.limits.time_limit import OutOfTime, Step, border, undisturbed

__all__ = ["progress", "stage", "staged"]

T = TypeVar("T")
P = ParamSpec("P")

_VARIABLE = "SPECTRA_PROGRESS"
# Seconds of silence before a line appears, and between two of its states.
PATIENCE = 2.0
_TICK = 0.5
_WIDTH = 28


class stage(Step):
    """Show what is being done for as long as this context lasts, and refuse to go on for ever.

    Stages may lie in one another.  The innermost is shown, with the seconds of the outermost; the
    time of a stage is its own and that of all within it.  It takes what a
    :class:`~spectra.base.limits.time_limit.Step` does.

    Raises
    ------
    TimeLimitError
        At the end of the context, where the work took longer than :func:`spectra.time_limit`
        allows.

    Examples
    --------
    >>> with stage("adding"):
    ...     print(1 + 1)
    2
    """

    _line: list[str] | None = None

    @border
    def __enter__(self) -> None:
        if _is_shown():
            self._line = _LINE.enter(self.label)
        self.enter()

    @border
    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if self._line is not None:
            undisturbed(partial(_LINE.leave, self._line))
        is_over = kind is None or issubclass(kind, Exception | OutOfTime)
        try:
            self.leave()
        except OutOfTime:
            # A stage around this one is out of time, and says so; an interruption goes before.
            if is_over:
                raise
            return
        # Work that came to an end with the signal under way may have swallowed it.
        if is_over and (self.expired or kind is OutOfTime):
            raise self.refusal() from None


def staged(label: str, *, advice: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a stage; a refusal names its first argument, and its dimension if it has one.

    Parameters
    ----------
    label, advice : str
        As for :class:`stage`.

    Examples
    --------
    >>> @staged("doubling")
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """

    def decorate(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            kernel, dim = _asked(args, kwargs)
            with stage(label, of=kernel, dim=dim, advice=advice):
                return work(*args, **kwargs)

        return limited

    return decorate


def _asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[object, int | None]:
    """The kernel and the dimension that a function was called with."""
    first = next(iter((*args, *kwargs.values())), None)
    kernel = getattr(first, "kernel", first)
    dim = kwargs.get("dim", getattr(first, "dim", args[1] if len(args) > 1 else None))
    # A designed measure has no kernel.
    return "a design" if kernel is None else kernel, dim if isinstance(dim, int) else None


def progress(items: Iterable[T], *, label: str) -> Iterator[T]:
    """Yield the items, and show how many are done, and of how many where that is known.

    Examples
    --------
    >>> [x * x for x in progress([1, 2, 3], label="squares")]
    [1, 4, 9]
    """
    if not _is_shown():
        yield from items
        return
    count = len(items) if isinstance(items, Sized) else None
    line = _LINE.enter(_bar(0, count, label))
    try:
        for done, item in enumerate(items):
            line[0] = _bar(done, count, label)
            yield item
    finally:
        _LINE.leave(line)


def _bar(done: int, count: int | None, label: str) -> str:
    if count is None:
        return f"{label}  {done}"
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
