"""Answers of an object that are computed once, and kept as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["kept"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def kept(method: _Method) -> _Method:
    """A method that keeps its answers, by its arguments.

    Examples
    --------
    >>> class Squares:
    ...     @kept
    ...     def of(self, n):
    ...         print("once")
    ...         return n * n
    >>> squares = Squares()
    >>> squares.of(3) + squares.of(3)
    once
    18
    """
    name = f"_kept_{method.__name__}"

    @wraps(method)
    def asked(self: Any, *arguments: Any) -> Any:
        known = self.__dict__.setdefault(name, {})
        if arguments not in known:
            known[arguments] = method(self, *arguments)
        return known[arguments]

    return asked  # type: ignore[return-value]
