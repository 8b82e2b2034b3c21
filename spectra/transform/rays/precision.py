"""The working precision of Arb, for as long as it is wanted."""

from __future__ import annotations

from typing import Any

import flint

__all__ = ["Ball", "working"]

#: An Arb ball, real or complex; the package has no types.
Ball = Any


class working:
    """Work with so many bits; then as before.

    Examples
    --------
    >>> with working(128):
    ...     flint.ctx.prec
    128
    """

    __slots__ = ("_bits", "_saved")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        self._saved = flint.ctx.prec
        flint.ctx.prec = self._bits

    def __exit__(self, *_: object) -> None:
        flint.ctx.prec = self._saved
