"""The working precision of Arb, for as long as it is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flint

__all__ = ["Ball", "working"]

#: An Arb ball, real or complex; the package has no types.
Ball = Any


@contextmanager
def working(bits: int) -> Iterator[None]:
    """Work with so many bits; then as before."""
    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = saved
