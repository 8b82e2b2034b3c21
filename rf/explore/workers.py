"""A process for each tab: what one tab asks never waits for another, and what is stale is ended.

Processes, not threads: mpmath and Arb have one working precision for a whole process.  The time of
every step is limited there as everywhere (:mod:`spectra.base.limits.time_limit`).
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import final

from threadpoolctl import threadpool_limits

from rf.explore.panel import Panel
from rf.explore.question import Question
from spectra.base.limits.time_limit import limit_from, time_limit

__all__ = ["Superseded", "Workers"]

#: Tabs that have a process at one time (chosen: each takes some 200 MB).
MOST = 6
_KEPT = 8
# What a process needs is loaded once, and each is a copy of the one that has it.
_NEEDED = ["rf.explore.answers.answer", "sympy", "flint", "matplotlib.backends.backend_svg"]


class Superseded(Exception):
    """The tab asks something else by now, or has made room for others."""


@final
@dataclass(eq=False)
class _Worker:
    """A process, and the wire to it."""

    process: BaseProcess
    wire: Connection
    busy: threading.Lock = field(default_factory=threading.Lock)
    asked: Question | None = None

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()


@final
class Workers:
    """The processes of all tabs.

    Parameters
    ----------
    limit : str, optional
        What --time-limit says.
    """

    def __init__(self, limit: str | None = None) -> None:
        if limit is not None:
            limit_from(limit, source="--time-limit")
        self._context: ForkServerContext | SpawnContext
        if "forkserver" in multiprocessing.get_all_start_methods():
            self._context = multiprocessing.get_context("forkserver")
            self._context.set_forkserver_preload(_NEEDED)
            forkserver.ensure_running()
        else:
            self._context = multiprocessing.get_context("spawn")
        self._limit = limit
        self._lock = threading.Lock()
        self._workers: OrderedDict[str, _Worker] = OrderedDict()

    def ask(self, tab: str, question: Question, name: str) -> Panel:
        """One panel.  What the same tab asked about another question before is ended.

        Raises
        ------
        Superseded
            Where this question is ended so, or its process ended by itself.
        """
        worker = self._worker(tab, question)
        with worker.busy:
            try:
                worker.wire.send((question, name))
                panel = worker.wire.recv()
            except (EOFError, OSError) as error:
                raise Superseded from error
        assert isinstance(panel, Panel)
        return panel

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for worker in self._workers.values():
                worker.end()
            self._workers.clear()

    def _worker(self, tab: str, question: Question) -> _Worker:
        with self._lock:
            worker = self._workers.get(tab)
            stale = worker is not None and worker.asked != question and worker.busy.locked()
            if worker is not None and (stale or not worker.process.is_alive()):
                worker.end()
                worker = None
            if worker is None:
                worker = self._workers[tab] = self._begun()
            worker.asked = question
            self._workers.move_to_end(tab)
            while len(self._workers) > MOST:
                self._workers.popitem(last=False)[1].end()
            return worker

    def _begun(self) -> _Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_work, args=(there, self._limit), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)


def _work(wire: Connection, limit: str | None) -> None:
    """Answer until the other end is closed."""
    from rf.explore.answers.answer import Answers

    os.environ["SPECTRA_PROGRESS"] = "off"
    known: OrderedDict[Question, Answers] = OrderedDict()
    given = nullcontext() if limit is None else time_limit(limit_from(limit, source="--time-limit"))
    # Two threads for each of several processes stand in one another's way.
    with given, threadpool_limits(1):
        while True:
            try:
                question, name = wire.recv()
            except (EOFError, KeyboardInterrupt):
                return
            answers = known.setdefault(question, Answers(question))
            known.move_to_end(question)
            while len(known) > _KEPT:
                known.popitem(last=False)
            wire.send(answers(name))
