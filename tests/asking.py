"""Questions asked of the toolkit in a process of its own, under a limit of processor time.

A question is a function at the top of a module with plain arguments.  Its answer comes back with
the seconds that it took, or what was raised, or the word that it took too long: that process is
then ended and another one serves the next question.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Answer", "Asker"]

# Wall seconds for each second of processor time, on a machine that others use too.
_PATIENCE = 12.0
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Answer:
    """What a question gave: a value, or the refusal and its reason; and its seconds."""

    value: Any
    refusal: str | None
    reason: str
    seconds: float

    @property
    def timed_out(self) -> bool:
        """Whether the process was ended before it answered."""
        return self.refusal == "time"


class Asker:
    """One process that answers questions, each within ``seconds`` of its own processor time.

    Examples
    --------
    >>> with Asker(seconds=5) as ask:
    ...     ask(divmod, 7, 2).value
    (3, 1)
    """

    def __init__(self, *, seconds: int) -> None:
        self.seconds = seconds
        self._context = multiprocessing.get_context("fork")
        self._process: Any = None
        self._end: Connection | None = None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, function: Callable[..., Any], *args: Any) -> Answer:
        """The answer of function(*args)."""
        if self._process is None:
            self._start()
        assert self._end is not None
        try:
            self._end.send((function, args))
            if not self._end.poll(_PATIENCE * self.seconds):
                raise EOFError
            value, refusal, reason, seconds = self._end.recv()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            self._stop()
            said = f"no answer within {self.seconds} s of processor time"
            return Answer(None, "time", said, float(self.seconds))
        return Answer(value, refusal, reason, seconds)

    def _start(self) -> None:
        self._end, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs, self.seconds))
        self._process.start()
        theirs.close()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._end is not None:
            self._end.close()
            self._end = None


def _serve(end: Connection, seconds: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            function, args = end.recv()
        except EOFError:
            return
        start = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(start) + seconds + 1, resource.RLIM_INFINITY))
        try:
            answer = (function(*args), None, "")
        except Exception as error:
            answer = (None, type(error).__name__, str(error)[:_LONGEST_REASON])
        end.send((*answer, time.process_time() - start))
