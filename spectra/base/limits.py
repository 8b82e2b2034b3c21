"""Limits on the processor time of long work, and a progress line for it.

Most time is spent in sympy, which cannot be asked to stop.  One thread watches the clock of every
stage of work, raises :class:`OutOfTime` in the thread whose stage has used up its time, and writes
the progress line on stderr.  The end of the stage turns OutOfTime into a TimeLimitError.

The limit counts processor time of the working thread, so that the answer does not depend on how
busy the machine is.  The progress line is shown after two seconds of work if stderr is a terminal,
or if the environment variable SPECTRA_PROGRESS is "on" ("off" hides it).
"""

from __future__ import annotations

import _weakrefset
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from sys import _current_frames, _getframe
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
# that has swallowed OutOfTime is interrupted again.
PATIENCE, _TICK, _LEAST_WAIT, _AGAIN = 2.0, 0.25, 0.01, 1.0
_BAR, _LONGEST_NAME = 28, 120
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
    if value is None or (isinstance(value, str) and value.strip().lower() in ("none", "off")):
        return None
    try:
        seconds = float(value) if isinstance(value, str | float | int) else -1.0
    except ValueError:
        seconds = -1.0
    if isinstance(value, bool) or not 0.0 < seconds < float("inf"):
        raise ParameterError(
            f"{source}={value!r}: a limit is a positive number of seconds for each step, or None "
            "(in text: none) for no limit."
        )
    return seconds


def limit_in_force() -> float | None:
    """Seconds of processor time that a step may take here."""
    if (limit := _limit.get()) != -1.0:
        return limit
    return limit_from(os.environ.get(VARIABLE, "").strip() or DEFAULT, source=VARIABLE)


def seconds_left() -> float | None:
    """Processor time left to the stages of this thread, for compiled solvers; None if unlimited."""
    stages = _stages_of(threading.get_ident())
    left = [s.limit - s.spent() for s in stages if s.limit is not None]
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
        self.thread, self.spent = threading.get_ident(), _stopwatch()
        self.limit = limit_in_force() if self.has_limit else None
        self.told, self.frame = 0.0, _getframe(1)
        _begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        ended = False
        while not ended:
            try:
                ended = _end(self)
            except OutOfTime:
                continue
        if kind is not None and not issubclass(kind, Exception | OutOfTime):
            return
        if any(outer.expired for outer in _stages_of(self.thread)):
            raise OutOfTime
        # Work may have swallowed OutOfTime.
        if self.expired or kind is OutOfTime:
            raise self._refusal() from None

    def _refusal(self) -> TimeLimitError:
        spent, busy_with = self.expired or (self.spent(), self.label)
        text = "" if self.of is None else str(self.of)
        short = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."
        name = (f" of {short}" if short else "") + (f" in d = {self.dim}" if self.dim else "")
        within = "" if busy_with == self.label else f" It was busy with {busy_with}."
        limit = "no more" if self.limit is None else f"{self.limit:g} s"
        advice = f"; or {self.advice}" if self.advice else ""
        end = f"or the environment variable {VARIABLE}{advice}."
        return TimeLimitError(
            f"{self.label}{name}: stopped after {spent:.1f} s of processor time, and {limit} are "
            f"allowed for a step.{within} What can be done: allow more, with",
            in_python=f"spectra.time_limit(seconds) {end}",
            at_shell=f"--time-limit {end}",
        )


def staged(label: str, *, advice: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a stage; a refusal names its first argument, and its dimension if any."""

    def decorate(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def limited(*args: P.args, **kwargs: P.kwargs) -> T:
            first = next(iter((*args, *kwargs.values())), None)
            kernel = getattr(first, "kernel", first)
            dim: Any = kwargs.get("dim", getattr(first, "dim", args[1] if len(args) > 1 else None))
            # A designed measure has no kernel.
            of = "a design" if kernel is None else kernel
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
    count = len(items) if isinstance(items, Sized) else None
    with stage(label, has_limit=False) as line:
        for done, item in enumerate(items):
            filled = _BAR * done // max(count or 1, 1)
            bar = f"[{'#' * filled + '.' * (_BAR - filled)}] {done}/{count}"
            line.label = f"{label}  {done if count is None else bar}"
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


# The stages under way, in the order in which they began, the thread that watches them, and the
# width and the first second of the progress line.
_stages: list[stage] = []
_lock = threading.RLock()
_watcher: threading.Thread | None = None
_width, _first_second = 0, 0.0
# Nothing is raised where a stage begins or ends, nor in finalizers, whose errors Python drops.
_BORDERS = {stage.__enter__.__code__, stage.__exit__.__code__}
_WEAK_REFERENCES = (weakref.__file__, _weakrefset.__file__)


def _stages_of(thread: int) -> list[stage]:
    """The stages of one thread, from the outermost to the innermost."""
    return [s for s in list(_stages) if s.thread == thread]


def _begin(step: stage) -> None:
    global _first_second, _watcher
    with _lock:
        if not _stages:
            _first_second = time.monotonic()
        _stages.append(step)
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, name="spectra time limit", daemon=True)
            _watcher.start()


def _end(step: stage) -> bool:
    """End a stage, wipe the line after the last one, and await what was raised too late."""
    global _width
    with _lock:
        _forget(step)
        if not _stages and _width:
            sys.stderr.write("\r" + " " * _width + "\r")
            sys.stderr.flush()
            _width = 0
    if step.expired and step.thread == threading.get_ident():
        # Raised anew and caught: to withdraw it makes Python 3.11 look for it for ever.
        try:
            _interrupt(step.thread)
            while True:
                pass
        except OutOfTime:
            pass
    return True


def _watch() -> None:
    """Look at every stage, until there is none."""
    global _watcher
    while True:
        with _lock:
            if not _stages:
                _watcher = None
                return
            _show()
            waits = [_look_at(s) for s in list(_stages) if s.limit]
        time.sleep(max(min([_TICK, PATIENCE, *waits]), _LEAST_WAIT))


def _show() -> None:
    """Write the progress line."""
    global _width
    wish, elapsed = os.environ.get("SPECTRA_PROGRESS", ""), time.monotonic() - _first_second
    shown = wish == "on" or (wish != "off" and sys.stderr is not None and sys.stderr.isatty())
    if shown and elapsed >= PATIENCE:
        text = f"{_stages[-1].label} ... {elapsed:.0f} s"
        _width = max(_width, len(text))
        sys.stderr.write("\r" + text.ljust(_width))
        sys.stderr.flush()


def _look_at(step: stage) -> float:
    """Interrupt a stage whose time is over; seconds until the next look."""
    assert step.limit is not None
    frame, quiet = _current_frames().get(step.thread), False
    while frame is not None and frame is not step.frame:
        code = frame.f_code
        quiet = quiet or code in _BORDERS or code.co_name == "__del__"
        quiet = quiet or code.co_filename in _WEAK_REFERENCES
        frame = frame.f_back
    try:
        spent = step.spent()
    except OSError:
        frame = None
    if frame is None:  # its thread or its context is gone
        _forget(step)
        return _TICK
    if spent < step.limit:
        return step.limit - spent
    if step.expired and spent <= step.told + _AGAIN:
        return _TICK
    if not quiet:
        step.expired = step.expired or (spent, _stages_of(step.thread)[-1].label)
        step.told = spent
        _interrupt(step.thread)
    return _LEAST_WAIT if quiet else _TICK


def _forget(step: stage) -> None:
    if step in _stages:
        _stages.remove(step)


def _interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))


def _start_anew() -> None:
    """Forget all stages in a forked process, which has no other thread."""
    global _lock, _watcher, _width
    _stages.clear()
    _lock, _watcher, _width = threading.RLock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
