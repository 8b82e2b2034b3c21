"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when the context ends well.

    Until then, and after an error or an interruption for good, what was there before is there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "k.txt") as file:
    ...         written = file.write(b"all of it")
    ...     (Path(folder) / "k.txt").read_bytes()
    b'all of it'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent} to write {target.name} into: make it first."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it, such as k.npz.")
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
