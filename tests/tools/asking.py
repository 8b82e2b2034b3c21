"""Questions asked of the toolkit in a process of its own, under a limit of processor time.

A question is a function at the top of a module with plain arguments.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Answer", "Asker"]

# Wall seconds for each second of processor time, on a machine that others use too.
_PATIENCE = 12.0
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Answer:
    """The value that a question gave, or the refusal with its reason; and the seconds it took."""

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
        self._process: Any = None
        self._end: Any = None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._end.close()
            self._process = None

    def __call__(self, function: Callable[..., Any], *args: Any) -> Answer:
        """The answer of function(*args)."""
        if self._process is None:
            context = multiprocessing.get_context("fork")
            self._end, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self.seconds))
            self._process.start()
            theirs.close()
        try:
            self._end.send((function, args))
            if not self._end.poll(_PATIENCE * self.seconds):
                raise EOFError
            return Answer(*self._end.recv())
        except (EOFError, ConnectionResetError, BrokenPipeError):
            self.__exit__()
            said = f"no answer within {self.seconds} s of processor time"
            return Answer(None, "time", said, float(self.seconds))


def _serve(end: Any, seconds: int) -> None:
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
