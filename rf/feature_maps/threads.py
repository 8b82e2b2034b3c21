"""Blocks of work on threads of our own, with the threads of BLAS held to one.

Many threads inside one product of a small block wait for one another: on a busy machine they took
16 to 52 ns for an element that one thread makes in 0.8.  So BLAS works alone inside a block, and
the blocks are shared out, each to whichever thread is free; a thread that is starved holds up one
block.  As many threads run as BLAS might have used, so that OPENBLAS_NUM_THREADS and
``threadpoolctl.threadpool_limits`` say how many.
"""

from __future__ import annotations

import contextvars
import itertools
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from threadpoolctl import ThreadpoolController

from spectra.base.compiled import implementation, numba_import_error

__all__ = ["on_threads", "serial_blas", "show_config"]


class _Limit:
    """BLAS is limited from the first that asks for it until the last has done."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.threads = 1
        self.limiter: Any = None


_LIMIT = _Limit()


@lru_cache(maxsize=1)
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def serial_blas() -> Iterator[int]:
    """Hold BLAS to one thread, and give the number that it had.

    Safe where several threads of a program are inside at once.
    """
    with _LIMIT.lock:
        if _LIMIT.users == 0:
            controller = _controller()
            _LIMIT.threads = max([1, *(lib.num_threads for lib in controller.lib_controllers)])
            _LIMIT.limiter = controller.limit(limits=1) if _LIMIT.threads > 1 else None
        _LIMIT.users += 1
        threads = _LIMIT.threads
    try:
        yield threads
    finally:
        with _LIMIT.lock:
            _LIMIT.users -= 1
            if _LIMIT.users == 0 and _LIMIT.limiter is not None:
                _LIMIT.limiter.restore_original_limits()
                _LIMIT.limiter = None


def on_threads(work: Callable[[Iterator[int]], None], tasks: int, threads: int) -> None:
    """Call ``work`` on each thread with an iterator from which it takes its next task.

    The caller's thread works too.  Whatever one of them raises ends the others after their task,
    and is raised.

    ``tasks``: they are 0, 1, ..., tasks - 1, and each is taken once.
    """
    # next() of a count is one step of the interpreter: no two threads get the same number.
    numbers, faults = itertools.count(), list[BaseException]()

    def taken() -> Iterator[int]:
        while not faults and (number := next(numbers)) < tasks:
            yield number

    def run() -> None:
        try:
            work(taken())
        except BaseException as fault:
            faults.append(fault)

    # Helpers see the caller's context, where numpy keeps what np.errstate asks for.
    helpers = [
        threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
        for _ in range(min(threads, tasks) - 1)
    ]
    for helper in helpers:
        helper.start()
    run()
    for helper in helpers:
        helper.join()
    if faults:
        raise faults[0]


def show_config() -> None:
    """Print what runs: versions, the implementation of the inner loop, the number of threads.

    Examples
    --------
    >>> show_config()  # doctest: +ELLIPSIS
    kernel-spectra ...
    """
    for name in ("kernel-spectra", "numpy", "scipy", "scikit-learn", "numba"):
        print(f"{name} {_version(name)}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    reason = numba_import_error()
    print(f"inner loop: {implementation()}" + (f" (no numba: {reason})" if reason else ""))
    with serial_blas() as threads:
        print(f"threads: {threads}, as many as BLAS may use")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
