"""Run tasks on Python threads, with BLAS limited to one thread.

BLAS threads that share the product of a small block wait for one another, and can be slower than
one thread.  Instead, each block is computed by one thread, and each free thread takes the next
block.  There are as many threads as BLAS would use, so OPENBLAS_NUM_THREADS and
``threadpoolctl.threadpool_limits`` set their number.
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
from types import SimpleNamespace
from typing import Any

from threadpoolctl import ThreadpoolController

from spectra.base.compiled import implementation, numba_import_error
from spectra.base.limits import check_time

__all__ = ["on_threads", "serial_blas", "show_config"]


# State of the limit on BLAS, which lasts while at least one caller of serial_blas needs it.
_LIMIT: Any = SimpleNamespace(lock=threading.Lock(), users=0, threads=1, limiter=None)


@lru_cache(maxsize=1)
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def serial_blas() -> Iterator[int]:
    """Limit BLAS to one thread; yields its previous number of threads.

    Several threads of a program may use it at the same time.
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
    """Call ``work`` on each thread with an iterator that yields its next task.

    The tasks are 0, 1, ..., tasks - 1; each is given to one thread.  The caller's thread is one of
    the ``threads``.  After an exception no thread starts another task, and the exception is raised
    in the caller's thread.
    """
    # next() of itertools.count is atomic, so no two threads get the same number.
    numbers, errors = itertools.count(), list[BaseException]()

    def own_tasks() -> Iterator[int]:
        while not errors and (number := next(numbers)) < tasks:
            check_time()
            yield number

    def run() -> None:
        try:
            work(own_tasks())
        except BaseException as error:
            errors.append(error)

    # A copy of the caller's context, because it holds numpy's errstate.
    helpers = [
        threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
        for _ in range(min(threads, tasks) - 1)
    ]
    for helper in helpers:
        helper.start()
    run()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


def show_config() -> None:
    """Print versions, the implementation of inner loops (numba or numpy), the number of threads.

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
