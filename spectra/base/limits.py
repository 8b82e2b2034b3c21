"""Limits on processor time, and a progress line.

A stage is a step of the computation with a label and a limit.  Code such as sympy's cannot check a
limit itself, so a watcher thread reads the processor time of all stages and raises OutOfTime in
the thread of a stage that exceeds its limit.  After two seconds the watcher shows the label of the
innermost stage on stderr, on a terminal or if SPECTRA_PROGRESS is "on" ("off" hides it).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from spectra.errors import ParameterError, TimeLimitError

__all__ = ["TIME_LIMIT_VARIABLE", "limit_from", "limit_in_force", "seconds_left", "stage",
           "staged", "time_limit"]  # fmt: skip

T = TypeVar("T")
P = ParamSpec("P")
TIME_LIMIT_VARIABLE = "SPECTRA_TIME_LIMIT"  # the environment variable with the default limit
DEFAULT = 10.0  # seconds of processor time for a stage; nearly all stages take less than one
# Seconds before the progress line appears, and between two looks at the clocks.
PATIENCE, _LONGEST_WAIT, _LEAST_WAIT = 2.0, 0.25, 0.01
# The limit of the context in seconds, None for no limit; without a value the default applies.
_limit: ContextVar[float | None] = ContextVar("spectra_time_limit")


class OutOfTime(BaseException):
    """A stage exceeded its limit; not an Exception, so that ``except Exception`` lets it pass."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the processor time of each step in this context and thread.

    Steps are reading a formula, a verdict, a density, the masses, a table, a design, a fit.
    Outside, the limit is the environment variable SPECTRA_TIME_LIMIT, or 10 seconds if it is unset.

    Parameters
    ----------
    seconds : float or None
        Seconds of processor time for each step, a positive number; None for no limit.

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
    """Check a limit: seconds, or None, "none" or "off"; ``source`` names it in the error."""
    text = str(value).strip().lower()
    if text in ("none", "off"):
        return None
    with suppress(ValueError):
        if 0.0 < (seconds := float(text)) < float("inf"):
            return seconds
    wanted = "a positive number of seconds for each step, or None ('none' in text) for no limit."
    raise ParameterError(f"{source}={value!r}: give {wanted}")


def limit_in_force() -> float | None:
    """Seconds of processor time that a stage may take in this context; None for no limit."""
    with suppress(LookupError):
        return _limit.get()
    name = TIME_LIMIT_VARIABLE
    return limit_from(os.environ.get(name, "").strip() or DEFAULT, source=name)


def seconds_left() -> float | None:
    """Processor time left to the stages of this thread, for compiled solvers; None if unlimited."""
    thread = threading.get_ident()
    left = min((s.limit - s.spent() for s in _stages if s.thread == thread), default=float("inf"))
    return None if left == float("inf") else max(left, 0.0)


@dataclass(eq=False)
class stage:
    """A context manager that shows ``label`` and raises a TimeLimitError beyond the limit.

    Stages may be nested; the time of a stage includes that of the stages within it.
    """

    label: str
    _: KW_ONLY
    of: object = None  # the kernel or formula, for the error message
    dim: object = None  # its dimension, likewise
    advice: str = ""  # another remedy, as the end of the last sentence of the message
    has_limit: bool = True  # False if each step within has its own limit, or if none is wanted

    def __enter__(self) -> stage:
        global _watcher
        self.thread, self.spent, self.start = threading.get_ident(), _stopwatch(), time.monotonic()
        self.limit, self.active = (self.has_limit and limit_in_force()) or float("inf"), False
        # Seconds spent and the label of the innermost stage, when the limit was exceeded.
        self.expired: tuple[float, str] | None = None
        with _lock:
            _stages.append(self)
            if _watcher is None:
                _watcher = threading.Thread(target=_watch, name="spectra time limit", daemon=True)
                _watcher.start()
        self.active = True  # from here on the watcher may interrupt it
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.active = False
        while True:
            try:
                _end(self)
                break
            except OutOfTime:
                continue
        if kind is not None and not issubclass(kind, Exception | OutOfTime):
            return
        if any(s.expired for s in _stages if s.thread == self.thread):  # an outer stage
            raise OutOfTime
        if self.expired:  # the code within may have caught OutOfTime
            raise self._error(*self.expired) from None

    def _error(self, spent: float, innermost: str) -> TimeLimitError:
        name = "" if self.of is None else f" of {self.of!s:.120}"
        name += f" in d = {self.dim}" if isinstance(self.dim, int) else ""
        within = "" if innermost == self.label else f" It was busy with {innermost}."
        advice = self.advice and f"; or {self.advice}"
        end = f"or the environment variable {TIME_LIMIT_VARIABLE}{advice}."
        return TimeLimitError(
            f"{self.label}{name}: stopped after {spent:.1f} s of processor time; the limit for a "
            f"step is {self.limit:g} s.{within} Allow more with",
            in_python=f"spectra.time_limit(seconds) {end}",
            at_shell=f"--time-limit {end}",
        )


def staged(label: str, *, advice: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator: run a function as a stage; errors name its first argument and its dimension."""

    def decorate(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            first = next(iter((*args, *kwargs.values())), None)
            of = getattr(first, "kernel", first)
            dim = kwargs.get("dim", getattr(first, "dim", args[1] if len(args) > 1 else None))
            step = stage(label, of=of, dim=dim, advice=advice)
            try:
                with step:
                    return work(*args, **kwargs)
            except OutOfTime:  # raised as __exit__ was called, before its first line
                step.__exit__(OutOfTime, None, None)
                raise

        return limited

    return decorate


def _stopwatch() -> Callable[[], float]:
    """A function that any thread may call: processor time of this thread since this call."""
    read = time.process_time  # of all threads, if the clock of one cannot be read
    if hasattr(time, "pthread_getcpuclockid"):
        read = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    begin = read()
    return lambda: read() - begin


# Stages of all threads, outer ones first; the thread that watches them; whether a line is shown.
_stages: list[stage] = []
_lock = threading.RLock()
_watcher: threading.Thread | None = None
_shown = False


def _end(step: stage) -> None:
    """End a stage and inner ones; clear the progress line after the last; catch late OutOfTimes."""
    with _lock:
        at = _stages.index(step) if step in _stages else len(_stages)
        _stages[at:] = [s for s in _stages[at:] if s.thread != step.thread]
        if not _stages and _shown:
            _show_line("", "\r")
    if step.expired and step.thread == threading.get_ident():
        # Replace an OutOfTime that may be pending; cancelling hangs profiled code in Python 3.11.
        try:
            _interrupt(step.thread)
            while True:
                pass
        except OutOfTime:
            pass


def _watch() -> None:
    """Show the current stage and interrupt stages that exceed their limits, until none is left."""
    global _watcher
    while True:
        with _lock:
            if not _stages:
                _watcher = None
                return
            setting, newest = os.environ.get("SPECTRA_PROGRESS", ""), _stages[-1]
            elapsed = time.monotonic() - min(s.start for s in _stages if s.thread == newest.thread)
            terminal = sys.stderr is not None and sys.stderr.isatty()
            if elapsed >= PATIENCE and setting != "off" and (setting or terminal):
                _show_line(f"{newest.label} ... {elapsed:.0f} s")
            wait = min(_LONGEST_WAIT, PATIENCE)
            for step in (s for s in _stages if s.active):
                spent = step.spent()
                if spent < step.limit:
                    wait = min(wait, step.limit - spent)
                else:  # again in each round: a handler or finalizer may have caught the last one
                    labels = [s.label for s in _stages if s.thread == step.thread]
                    step.expired = step.expired or (spent, labels[-1])
                    _interrupt(step.thread)
        time.sleep(max(wait, _LEAST_WAIT))


def _show_line(text: str, end: str = "") -> None:
    global _shown
    _shown = bool(text)
    print(f"\r{text:79.79}", end=end, file=sys.stderr, flush=True)


def _interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))


def _reset_after_fork() -> None:
    """Forget all stages: a forked process has only one thread."""
    global _lock, _watcher, _shown
    _stages.clear()
    _lock, _watcher, _shown = threading.RLock(), None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
