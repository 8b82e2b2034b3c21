"""A progress line for work that takes more than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["progress"]

T = TypeVar("T")
_WIDTH = 28


def progress(items: Sequence[T], *, label: str) -> Iterator[T]:
    """Yield the items and keep a bar on the terminal (nothing where stderr is not one).

    Examples
    --------
    >>> [x * x for x in progress([1, 2, 3], label="squares")]
    [1, 4, 9]
    """
    if not sys.stderr.isatty():
        yield from items
        return
    yield from _with_bar(items, len(items), label)


def _with_bar(items: Iterable[T], count: int, label: str) -> Iterator[T]:
    begin = time.perf_counter()
    for done, item in enumerate(items):
        _draw(done, count, label, begin)
        yield item
    _draw(count, count, label, begin)
    sys.stderr.write("\n")


def _draw(done: int, count: int, label: str, begin: float) -> None:
    filled = _WIDTH * done // max(count, 1)
    bar = "#" * filled + "." * (_WIDTH - filled)
    elapsed = time.perf_counter() - begin
    sys.stderr.write(f"\r{label}  [{bar}] {done}/{count}  {elapsed:4.1f} s")
    sys.stderr.flush()
