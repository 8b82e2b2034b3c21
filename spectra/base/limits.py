"""Limits on the processor time of long work, and a progress line for it.

Most time is spent in sympy, which cannot be asked to stop.  One thread watches the clock of every
stage of work, raises :class:`OutOfTime` in the thread whose stage has used up its time, and writes
the progress line on stderr.  The end of the stage turns OutOfTime into a TimeLimitError.

The limit counts processor time of the working thread, so that the answer does not depend on how
busy the machine is.  The progress line is shown after two seconds of work if stderr is a terminal,
or if the environment variable SPECTRA_PROGRESS is "on" ("off" hides it).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from spectra.errors import ParameterError, TimeLimitError

__all__ = [
    "DEFAULT",
    "VARIABLE",
    "OutOfTime",
    "limit_from",
    "limit_in_force",
    "progress",
    "seconds_left",
    "stage",
    "staged",
    "time_limit",
]

T = TypeVar("T")
P = ParamSpec("P")

VARIABLE = "SPECTRA_TIME_LIMIT"
#: Seconds of processor time for a stage if nothing else is set; nearly all take less than one.
DEFAULT = 10.0
# Seconds before a line appears, between looks at the clocks (most and least), and before a stage
# is interrupted again, whose code (or a finalizer, whose errors Python drops) swallowed OutOfTime.
PATIENCE, _TICK, _LEAST_WAIT, _AGAIN = 2.0, 0.25, 0.01, 1.0
_LONGEST_NAME, _LINE_WIDTH = 120, 79
# The limit of this context; -1 leaves it to the environment.
_limit: ContextVar[float | None] = ContextVar("spectra_time_limit", default=-1.0)


class OutOfTime(BaseException):
    """The time of a stage is over; not an Exception, so that no handler on the way holds it."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the processor time of each step in this context and thread.

    A step is what one call does: reading a formula, a verdict, a density, the masses, a table, a
    design, a fit.  Outside this context the environment variable SPECTRA_TIME_LIMIT decides ("none"
    for no limit), and the default is 10 seconds.

    Parameters
    ----------
    seconds : float or None
        Seconds of processor time for each step; None for no limit.

    Raises
    ------
    ParameterError
        If it is not a positive number.

    Examples
    --------
    >>> import spectra as sp
    >>> with sp.time_limit(60):
    ...     sp.existence(sp.radial("exp(-z)"), dim=3).status
    <Status.FINITE: 'finite'>
    """
    token = _limit.set(limit_from(seconds, source="seconds"))
    try:
        yield
    finally:
        _limit.reset(token)


def limit_from(value: object, *, source: str) -> float | None:
    """Read a limit: seconds, or None, which is "none" in text.

    Examples
    --------
    >>> limit_from("2.5", source="--time-limit"), limit_from("none", source="--time-limit")
    (2.5, None)
    """
    text = str(value).strip().lower()
    if text in ("none", "off"):
        return None
    with suppress(ValueError):
        if 0.0 < (seconds := float(text)) < float("inf"):
            return seconds
    raise ParameterError(
        f"{source}={value!r}: a limit is a positive number of seconds for each step, or None (in "
        "text: none) for no limit."
    )


def limit_in_force() -> float | None:
    """Seconds of processor time that a step may take here."""
    if (limit := _limit.get()) != -1.0:
        return limit
    return limit_from(os.environ.get(VARIABLE, "").strip() or DEFAULT, source=VARIABLE)


def seconds_left() -> float | None:
    """Processor time left to the stages of this thread, for compiled solvers; None if unlimited."""
    stages = _stages.get(threading.get_ident(), ())
    left = [s.limit - s.spent() for s in stages if s.limit]
    return max(min(left), 0.0) if left else None


@dataclass(eq=False)
class stage:
    """Show what is being done in this context, and refuse to go on beyond the limit.

    Stages may be nested: the innermost is shown, and the time of a stage includes those within it.
    Work that took longer than the limit ends in a TimeLimitError.
    """

    label: str
    _: KW_ONLY
    of: object = None  # the kernel or text that a refusal names, with its dimension
    dim: int | None = None
    advice: str = ""  # what else to do if it takes too long, as the end of a sentence
    has_limit: bool = True  # not for work made of stages with limits of their own, nor for proofs
    # Seconds and the label of the innermost stage when the time was over.
    expired: tuple[float, str] | None = field(default=None, init=False)

    def __enter__(self) -> stage:
        global _watcher
        self.thread, self.spent, self.begun = threading.get_ident(), _stopwatch(), time.monotonic()
        self.limit, self.runs = limit_in_force() if self.has_limit else None, False
        self.due = self.limit or float("inf")
        with _lock:
            _stages.setdefault(self.thread, []).append(self)
            if _watcher is None:
                _watcher = threading.Thread(target=_watch, name="spectra time limit", daemon=True)
                _watcher.start()
        self.runs = True  # from here on it may be interrupted
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.runs = False
        while True:
            try:
                _end(self)
                break
            except OutOfTime:
                continue
        if kind is not None and not issubclass(kind, Exception | OutOfTime):
            return
        if any(outer.expired for outer in _stages.get(self.thread, ())):
            raise OutOfTime
        if self.expired:  # work may have swallowed OutOfTime
            raise self._refusal(*self.expired) from None

    def _refusal(self, spent: float, busy_with: str) -> TimeLimitError:
        name = f" of {self.of!s:.{_LONGEST_NAME}}" if self.of is not None else ""
        name += f" in d = {self.dim}" if self.dim else ""
        within = "" if busy_with == self.label else f" It was busy with {busy_with}."
        advice = f"; or {self.advice}" if self.advice else ""
        end = f"or the environment variable {VARIABLE}{advice}."
        return TimeLimitError(
            f"{self.label}{name}: stopped after {spent:.1f} s of processor time, and {self.limit:g}"
            f" s are allowed for a step.{within} What can be done: allow more, with",
            in_python=f"spectra.time_limit(seconds) {end}",
            at_shell=f"--time-limit {end}",
        )


def staged(label: str, *, advice: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a stage; a refusal names its first argument, and its dimension if any."""

    def decorate(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            first = next(iter((*args, *kwargs.values())), None)
            of = getattr(first, "kernel", first)  # a designed measure has none
            dim: Any = kwargs.get("dim", getattr(first, "dim", args[1] if len(args) > 1 else None))
            with stage(label, of=of, dim=dim if isinstance(dim, int) else None, advice=advice):
                return work(*args, **kwargs)

        return limited

    return decorate


def progress(items: Iterable[T], *, label: str) -> Iterator[T]:
    """Yield the items, and show how many are done, and of how many if that is known.

    Examples
    --------
    >>> [x * x for x in progress([1, 2, 3], label="squares")]
    [1, 4, 9]
    """
    count = f"/{len(items)}" if isinstance(items, Sized) else ""
    with stage(label, has_limit=False) as line:
        for done, item in enumerate(items):
            line.label = f"{label}  {done}{count}"
            yield item


def _stopwatch() -> Callable[[], float]:
    """Processor time of this thread from now on, read from any thread."""
    if hasattr(time, "pthread_getcpuclockid"):
        clock = time.pthread_getcpuclockid(threading.get_ident())
        begin = time.clock_gettime(clock)
        return lambda: time.clock_gettime(clock) - begin
    # Elsewhere no thread can read another's: both of these bound it.
    process, wall = time.process_time(), time.monotonic()
    return lambda: min(time.process_time() - process, time.monotonic() - wall)


# The stages under way in each thread, from the outermost to the innermost, the thread that watches
# them, and whether there is a progress line.
_stages: dict[int, list[stage]] = {}
_lock = threading.RLock()
_watcher: threading.Thread | None = None
_shown = False


def _end(step: stage) -> None:
    """End a stage and those within it, wipe the line after the last, await a late OutOfTime."""
    global _shown
    with _lock:
        under_way = _stages.get(step.thread, [])
        if step in under_way:
            del under_way[under_way.index(step) :]
        if not under_way:
            _stages.pop(step.thread, None)
        if not _stages and _shown:
            _write_line("", "\r")
            _shown = False
    if step.expired and step.thread == threading.get_ident():
        # Raised anew and caught: to withdraw it makes Python 3.11 look for it for ever.
        try:
            _interrupt(step.thread)
            while True:
                pass
        except OutOfTime:
            pass


def _watch() -> None:
    """Show what is being done and interrupt stages whose time is over, until there is none."""
    global _watcher, _shown
    while True:
        with _lock:
            if not _stages:
                _watcher = None
                return
            wish, newest = os.environ.get("SPECTRA_PROGRESS", ""), list(_stages.values())[-1]
            elapsed = time.monotonic() - newest[0].begun
            terminal = sys.stderr is not None and sys.stderr.isatty()
            if elapsed >= PATIENCE and (wish == "on" or (wish != "off" and terminal)):
                _write_line(f"{newest[-1].label} ... {elapsed:.0f} s")
                _shown = True
            wait = min(_TICK, PATIENCE)
            for step in (s for steps in _stages.values() for s in steps if s.limit):
                if (spent := step.spent()) >= step.due and step.runs:
                    step.expired = step.expired or (spent, _stages[step.thread][-1].label)
                    step.due = spent + _AGAIN
                    _interrupt(step.thread)
                wait = min(wait, step.due - spent)
        time.sleep(max(wait, _LEAST_WAIT))


def _write_line(text: str, end: str = "") -> None:
    sys.stderr.write("\r" + text[:_LINE_WIDTH].ljust(_LINE_WIDTH) + end)
    sys.stderr.flush()


def _interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))


def _start_anew() -> None:
    """Forget all stages in a forked process, which has no other thread."""
    global _lock, _watcher, _shown
    _stages.clear()
    _lock, _watcher, _shown = threading.RLock(), None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
