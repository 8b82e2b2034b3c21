"""A limit on the processor time of a step, and a refusal that names the step.

Deciding, integrating and optimising may take for ever on some kernel, and most of that time is
spent in sympy, which asks nobody whether to go on.  So a thread of ours looks at the clock of every
step under way and, when its time is over, raises :class:`OutOfTime` in the thread that takes it;
the border of the step turns that into a :class:`~spectra.errors.TimeLimitError`.

Time is the processor time of the thread that works, not the time of the clock on the wall: a loaded
machine refuses nothing that an idle one answers.  The limit never changes an answer; it can only
put a refusal in its place.
"""

from __future__ import annotations

import _weakrefset
import ctypes
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeVar

from spectra.errors import ParameterError, TimeLimitError

__all__ = [
    "DEFAULT",
    "OutOfTime",
    "Step",
    "border",
    "limit_from",
    "seconds_left",
    "time_limit",
    "undisturbed",
]

VARIABLE = "SPECTRA_TIME_LIMIT"
#: Seconds for a step where nothing else is said (chosen): all but a few questions take under one.
DEFAULT = 10.0
_NONE = ("none", "off")
# The thread that watches looks up this often at most, and ends when it sees no step.
_TICK = 0.5
_LEAST_WAIT = 0.01
# Code that swallows the signal is told again after this many seconds of work; what cleans up after
# the signal is done long before.
_AGAIN = 1.0
_LONGEST_NAME = 120

F = TypeVar("F", bound=Callable[..., Any])


class OutOfTime(BaseException):
    """The time of a step is over; no ``except Exception`` on the way to its border may hold it."""


# What a step begins and ends in: nothing is raised there, where no handler is, or none any more.
_BORDERS: set[CodeType] = set()


def border(function: F) -> F:
    """Declare a method that begins or ends a step."""
    _BORDERS.add(function.__code__)
    return function


_OF_WEAK_REFERENCES = (weakref.__file__, _weakrefset.__file__)


def _is_unheard(code: CodeType) -> bool:
    """Whether Python calls it by itself, and drops what is raised in it: callbacks of the collector
    and of weak references, and finalizers."""
    return (
        code.co_name == "__del__"
        or code.co_filename in _OF_WEAK_REFERENCES
        or any(getattr(callback, "__code__", None) is code for callback in gc.callbacks)
    )


# What stands for the environment, which decides where no ``time_limit`` is around.
_OUTSIDE = -1.0
_limit: ContextVar[float | None] = ContextVar("spectra_time_limit", default=_OUTSIDE)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Set how much processor time each step may take while this context lasts, in this thread.

    A step is what one call asks: reading a formula, a verdict, a density, the masses, a table, a
    design, a fit.  Without this context the environment variable SPECTRA_TIME_LIMIT decides ("none"
    for no limit), and without that the limit is 10 seconds.

    Parameters
    ----------
    seconds : float or None
        Seconds of processor time for each step that begins in this context; None for no limit.

    Raises
    ------
    ParameterError
        Where this is no positive number.

    Examples
    --------
    >>> import spectra as sp
    >>> with sp.time_limit(60):
    ...     sp.existence(sp.radial("exp(-z)"), dim=3).status
    <Status.FINITE: 'finite'>
    """
    token = _limit.set(_checked(seconds, "time_limit"))
    try:
        yield
    finally:
        _limit.reset(token)


def limit_from(text: str, *, source: str) -> float | None:
    """The limit that a text states: seconds, or "none".

    Examples
    --------
    >>> limit_from("2.5", source="--time-limit"), limit_from("none", source="--time-limit")
    (2.5, None)
    """
    if text.strip().lower() in _NONE:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    return _checked(seconds, f"{source}={text!r}")


def _checked(seconds: object, source: str) -> float | None:
    if seconds is None:
        return None
    number = float(seconds) if isinstance(seconds, int | float) else float("nan")
    if isinstance(seconds, bool) or not 0.0 < number < float("inf"):
        raise ParameterError(
            f"{source} is {seconds!r}: a limit is a positive number of seconds for each step, or "
            "None (in text: none) for no limit."
        )
    return number


def _limit_in_force() -> float | None:
    set_here = _limit.get()
    if set_here != _OUTSIDE:
        return set_here
    text = os.environ.get(VARIABLE, "")
    return limit_from(text, source=VARIABLE) if text.strip() else DEFAULT


def seconds_left() -> float | None:
    """Processor time that is left to the steps under way in this thread; None without a limit.

    For solvers that return nothing to Python before they end, and take a limit of their own.
    """
    step = _innermost()
    left = [s.limit - s.spent() for s in _outwards(step) if s.limit is not None]
    return max(min(left), 0.0) if left else None


class Step:
    """One thing that is being done in one thread, and since when.

    Parameters
    ----------
    label : str
        What is done, and in which dimension.
    of : object, optional
        With what: a kernel, or a text.  It is written out in a refusal only.
    dim : int, optional
        In which dimension, where the label does not say it.
    advice : str, optional
        What else could be done where this takes too long, as the end of a sentence.
    has_limit : bool
        False for work that is made of steps with limits of their own, and for proofs, which take
        the time that they take.
    """

    def __init__(
        self,
        label: str,
        *,
        of: object = None,
        dim: int | None = None,
        advice: str = "",
        has_limit: bool = True,
    ) -> None:
        self.label = label
        self.busy_with = label
        self.limit = _limit_in_force() if has_limit else None
        self.thread = threading.get_ident()
        self.spent = _stopwatch()
        #: Seconds and the label of the innermost step, when the time was over.
        self.expired: tuple[float, str] | None = None
        self.told = 0.0
        self._of, self._dim = of, dim
        self._advice = advice
        self._outer = _innermost()

    def enter(self) -> None:
        """Begin, for the caller of the caller: with its frame the step ends, if not before."""
        self._frame: FrameType | None = sys._getframe(2)
        for step in _outwards(self._outer):
            step.busy_with = self.label
        _here.step = weakref.ref(self)
        if self.limit is not None:
            _WATCH.add(self)

    def leave(self) -> None:
        """End; nothing more is raised in this thread on behalf of this step.

        Raises
        ------
        OutOfTime
            Where the time of a step around this one is over.
        """
        undisturbed(self._end)
        if any(step.expired for step in _outwards(self._outer)):
            raise OutOfTime

    def _end(self) -> None:
        if self.limit is not None:
            _WATCH.remove(self)
        self._frame = None
        _here.step = None if self._outer is None else weakref.ref(self._outer)
        for step in _outwards(self._outer):
            step.busy_with = self._outer.label if self._outer is not None else ""

    def stands_at(self) -> str:
        """Where its thread is: "within" the step, at a "border" where nothing may be raised, or
        "beyond" it."""
        frame = sys._current_frames().get(self.thread)
        place = "within"
        while frame is not None:
            if frame is self._frame:
                return place
            if frame.f_code in _BORDERS or _is_unheard(frame.f_code):
                place = "border"
            frame = frame.f_back
        return "beyond"

    def refusal(self) -> TimeLimitError:
        """Why there is no answer, and what could be done."""
        spent, busy_with = self.expired or (self.spent(), self.busy_with)
        name = "" if self._of is None else " of " + _short(str(self._of))
        name += "" if self._dim is None else f" in d = {self._dim}"
        within = "" if busy_with == self.label else f" It was busy with {busy_with}."
        limit = "no more" if self.limit is None else f"{self.limit:g} s"
        advice = f"; or {self._advice}" if self._advice else ""
        everywhere = f"or the environment variable {VARIABLE}{advice}."
        return TimeLimitError(
            f"{self.label}{name}: stopped after {spent:.1f} s of processor time, and {limit} are "
            f"allowed for a step.{within} What can be done: allow more, with",
            in_python=f"spectra.time_limit(seconds) {everywhere}",
            at_shell=f"--time-limit {everywhere}",
        )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."


_here = threading.local()


def _innermost() -> Step | None:
    found: Callable[[], Step | None] | None = getattr(_here, "step", None)
    return None if found is None else found()


def _outwards(step: Step | None) -> Iterator[Step]:
    while step is not None:
        yield step
        step = step._outer


def undisturbed(work: Callable[[], None]) -> None:
    """Do what must be done however often the time is over meanwhile; ``work`` may be repeated."""
    while True:
        try:
            return work()
        except OutOfTime:
            continue


def _stopwatch() -> Callable[[], float]:
    """Processor time of this thread from now on, read from any thread."""
    if hasattr(time, "pthread_getcpuclockid"):
        clock = time.pthread_getcpuclockid(threading.get_ident())
        begin = time.clock_gettime(clock)
        return lambda: time.clock_gettime(clock) - begin
    # Elsewhere no thread can read another's: it has taken no more than each of these two.
    process, wall = time.process_time(), time.monotonic()
    return lambda: min(time.process_time() - process, time.monotonic() - wall)


class _Watch:
    """The steps under way that have a limit, and the thread that looks at their clocks.

    One whose frame is gone, or which is about to end by itself, is not told of its time.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew, as a process does that was forked: it has no other thread."""
        self._steps: weakref.WeakSet[Step] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, step: Step) -> None:
        with self._lock:
            self._steps.add(step)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="spectra time limit", daemon=True
                )
                self._thread.start()
            elif step.limit is not None and step.limit < _TICK:
                self._hurry.set()

    def remove(self, step: Step) -> None:
        with self._lock:
            self._steps.discard(step)
            if step.expired and step.thread == threading.get_ident():
                _let_arrive()

    def _run(self) -> None:
        while True:
            with self._lock:
                wait = self._look()
                if wait is None:
                    self._thread = None
                    return
                self._hurry.clear()
            self._hurry.wait(wait)

    def _look(self) -> float | None:
        """Tell the steps whose time is over; seconds until the next look, None without steps."""
        wait = None
        for step in list(self._steps):
            try:
                spent = step.spent()
            except OSError:  # its thread is gone
                continue
            assert step.limit is not None
            left = step.limit - spent
            # A thread takes no more processor time than passes on the wall.
            soon = min(max(left, _LEAST_WAIT), _TICK)
            if left <= 0.0 and (step.expired is None or spent > step.told + _AGAIN):
                place = step.stands_at()
                if place == "beyond":
                    self._steps.discard(step)
                    continue
                if place == "within":
                    step.expired = step.expired or (spent, step.busy_with)
                    step.told = spent
                    _raise_in(step.thread, OutOfTime)
                    soon = _TICK
            wait = soon if wait is None else min(wait, soon)
        return wait


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _let_arrive() -> None:
    """Take what was raised in this thread and has not arrived: it would arrive after the step.

    Raised anew and caught, for to call it back leaves Python 3.11 looking for it for ever, and one
    that profiles, traces or debugs then does nothing else.
    """
    try:
        _raise_in(threading.get_ident(), OutOfTime)
        while True:
            pass
    except OutOfTime:
        pass


_WATCH = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WATCH.reset)
