"""Limits on processor time, and a progress line.

A stage is a step of the computation with a label and a limit.  Loops call :func:`check_time`, which
ends the stages that exceed their limits.  After two seconds it also shows the label of the
innermost stage on stderr, on a terminal or if SPECTRA_PROGRESS is "on" ("off" hides it).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from math import inf
from typing import ParamSpec, TypeVar

from spectra.errors import ParameterError, TimeLimitError

__all__ = ["TIME_LIMIT_VARIABLE", "check_time", "limit_from", "limit_in_force", "seconds_left",
           "stage", "staged", "time_limit"]  # fmt: skip

T = TypeVar("T")
P = ParamSpec("P")
TIME_LIMIT_VARIABLE = "SPECTRA_TIME_LIMIT"  # the environment variable with the default limit
DEFAULT = 10.0  # seconds of processor time for a stage; nearly all stages take less than one
PATIENCE, _REFRESH = 2.0, 0.25  # seconds before the progress line appears, and between its updates
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


class _Stages(threading.local):
    """The stages of a thread, outer ones first; when to look at the clocks and show a line again.

    Times are those of ``time.monotonic``; a thread takes no more processor time than they do.
    """

    def __init__(self) -> None:
        self.stack: list[stage] = []
        self.next_look, self.next_line, self.is_shown = inf, inf, False

    def plan_next_look(self, clock: float, now: float) -> None:
        """Set ``next_look``, at the processor time ``now``."""
        self.next_look = min(self.next_line, clock + self.stack[-1].deadline - now)


_here = _Stages()


def seconds_left() -> float | None:
    """Processor time left to the stages of this thread, for compiled solvers; None if unlimited."""
    left = _here.stack[-1].deadline - time.thread_time() if _here.stack else inf
    return None if left == inf else max(left, 0.0)


def check_time() -> None:
    """End the stages of this thread that exceeded their limits; show the progress line.

    Loops that may take seconds call it, about once in a tenth of a second or more often.
    """
    if (clock := time.monotonic()) < _here.next_look:
        return
    stack, now = _here.stack, time.thread_time()
    if now >= stack[-1].deadline:
        late = next(s for s in stack if now >= s.deadline)
        late.expired = late.expired or (now - late.begin, stack[-1].label)
        raise OutOfTime
    if clock >= _here.next_line:
        _here.next_line = clock + _REFRESH
        setting = os.environ.get("SPECTRA_PROGRESS", "")
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if setting != "off" and (setting or terminal):
            _show_line(f"{stack[-1].label} ... {clock - stack[0].start:.0f} s")
    _here.plan_next_look(clock, now)


@dataclass(eq=False)
class stage:
    """A context manager that shows ``label`` and raises a TimeLimitError beyond the limit.

    Stages may be nested; the time of a stage includes that of the stages within it.  A stage that
    ends late without a call of :func:`check_time` keeps its result.
    """

    label: str
    _: KW_ONLY
    of: object = None  # the kernel or formula, for the error message
    dim: object = None  # its dimension, likewise
    advice: str = ""  # another remedy, as the end of the last sentence of the message
    has_limit: bool = True  # False if each step within has its own limit, or if none is wanted

    def __enter__(self) -> stage:
        check_time()
        stack, self.begin, self.start = _here.stack, time.thread_time(), time.monotonic()
        self.limit = (self.has_limit and limit_in_force()) or inf
        self.deadline: float = min([self.begin + self.limit, *(s.deadline for s in stack[-1:])])
        # Seconds spent and the label of the innermost stage, when the limit was exceeded.
        self.expired: tuple[float, str] | None = None
        if not stack:
            _here.next_line = self.start + PATIENCE
        stack.append(self)
        _here.plan_next_look(self.start, self.begin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if self in _here.stack:
            del _here.stack[_here.stack.index(self) :]
        if not _here.stack:
            _here.next_look = inf
            if _here.is_shown:
                _show_line("", "\r")
        if self.expired and (kind is None or issubclass(kind, Exception | OutOfTime)):
            raise self._error(*self.expired) from None  # the code within may catch OutOfTime

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
            with stage(label, of=of, dim=dim, advice=advice):
                return work(*args, **kwargs)

        return limited

    return decorate


def _show_line(text: str, end: str = "") -> None:
    _here.is_shown = bool(text)
    print(f"\r{text:79.79}", end=end, file=sys.stderr, flush=True)
