"""Limits on the processor time of long work, and a progress line for it.

Sympy cannot be asked to stop.  One thread watches the processor time of every stage of work, raises
:class:`OutOfTime` in the thread whose time is over, and shows a line of progress after two seconds:
on a terminal, or if the environment variable SPECTRA_PROGRESS is "on" ("off" hides it).
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

__all__ = [
    "VARIABLE",
    "limit_from",
    "limit_in_force",
    "seconds_left",
    "stage",
    "staged",
    "time_limit",
]

T = TypeVar("T")
P = ParamSpec("P")
VARIABLE = "SPECTRA_TIME_LIMIT"
DEFAULT = 10.0  # seconds of processor time for a stage; nearly all take less than one
# Seconds before a line appears, and between looks at the clocks (most and least).
PATIENCE, _TICK, _LEAST_WAIT = 2.0, 0.25, 0.01
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
    """Read a limit: seconds, or None, which is "none" in text."""
    text = str(value).strip().lower()
    if text in ("none", "off"):
        return None
    with suppress(ValueError):
        if 0.0 < (seconds := float(text)) < float("inf"):
            return seconds
    wanted = "a positive number of seconds for each step, or None (in text: none) for no limit"
    raise ParameterError(f"{source}={value!r}: a limit is {wanted}.")


def limit_in_force() -> float | None:
    """Seconds of processor time that a step may take here."""
    if (limit := _limit.get()) != -1.0:
        return limit
    return limit_from(os.environ.get(VARIABLE, "").strip() or DEFAULT, source=VARIABLE)


def seconds_left() -> float | None:
    """Processor time left to the stages of this thread, for compiled solvers; None if unlimited."""
    here = threading.get_ident()
    left = min((s.limit - s.spent() for s in _stages if s.thread == here), default=float("inf"))
    return None if left == float("inf") else max(left, 0.0)


@dataclass(eq=False)
class stage:
    """Show what is being done in this context, and refuse to go on beyond the limit.

    Stages may be nested: the innermost is shown, and the time of a stage includes those within it.
    """

    label: str
    _: KW_ONLY
    of: object = None  # the kernel or text that a refusal names, with its dimension
    dim: object = None
    advice: str = ""  # what else to do if it takes too long, as the end of a sentence
    has_limit: bool = True  # not for work made of stages with limits of their own, nor for proofs

    def __enter__(self) -> stage:
        global _watcher
        self.thread, self.spent, self.begun = threading.get_ident(), _stopwatch(), time.monotonic()
        self.limit, self.runs = (self.has_limit and limit_in_force()) or float("inf"), False
        # Seconds and the label of the innermost stage when the time was over.
        self.expired: tuple[float, str] | None = None
        with _lock:
            _stages.append(self)
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
        if any(s.expired for s in _stages if s.thread == self.thread):
            raise OutOfTime
        if self.expired:  # work may have swallowed OutOfTime
            raise self._refusal(*self.expired) from None

    def _refusal(self, spent: float, busy_with: str) -> TimeLimitError:
        name = "" if self.of is None else f" of {self.of!s:.120}"
        name += f" in d = {self.dim}" if isinstance(self.dim, int) else ""
        within = "" if busy_with == self.label else f" It was busy with {busy_with}."
        end = f"or the environment variable {VARIABLE}{self.advice and '; or '}{self.advice}."
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
            of = getattr(first, "kernel", first)
            dim = kwargs.get("dim", getattr(first, "dim", args[1] if len(args) > 1 else None))
            with stage(label, of=of, dim=dim, advice=advice):
                return work(*args, **kwargs)

        return limited

    return decorate


def _stopwatch() -> Callable[[], float]:
    """Processor time of this thread from now on, read from any thread."""
    read = time.process_time  # where no thread can read another's
    if hasattr(time, "pthread_getcpuclockid"):
        read = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    begin = read()
    return lambda: read() - begin


# The stages of all threads, outer ones first; the thread that watches them; is a line shown?
_stages: list[stage] = []
_lock = threading.RLock()
_watcher: threading.Thread | None = None
_shown = False


def _end(step: stage) -> None:
    """End a stage and those within it, wipe the line after the last, await a late OutOfTime."""
    with _lock:
        at = _stages.index(step) if step in _stages else len(_stages)
        _stages[at:] = [s for s in _stages[at:] if s.thread != step.thread]
        if not _stages and _shown:
            _show_line("", "\r")
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
    global _watcher
    while True:
        with _lock:
            if not _stages:
                _watcher = None
                return
            wish, newest = os.environ.get("SPECTRA_PROGRESS", ""), _stages[-1]
            elapsed = time.monotonic() - min(s.begun for s in _stages if s.thread == newest.thread)
            terminal = sys.stderr is not None and sys.stderr.isatty()
            if elapsed >= PATIENCE and wish != "off" and (wish or terminal):
                _show_line(f"{newest.label} ... {elapsed:.0f} s")
            wait = min(_TICK, PATIENCE)
            for step in (s for s in _stages if s.runs):
                spent = step.spent()
                if spent < step.limit:
                    wait = min(wait, step.limit - spent)
                else:  # at every look: code, or a finalizer, may have swallowed the last one
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


def _start_anew() -> None:
    """Forget all stages in a forked process, which has no other thread."""
    global _lock, _watcher, _shown
    _stages.clear()
    _lock, _watcher, _shown = threading.RLock(), None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
