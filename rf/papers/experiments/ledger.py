"""Results on disk, one finished cell per line, so that an interrupted run can continue."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import final

from spectra.errors import DataError

__all__ = ["Ledger"]


@final
class Ledger:
    """Finished cells of an experiment in a file of JSON lines, or in memory only (None).

    Each cell is on disk before the next one begins.  An incomplete last line, left by an
    interruption, is dropped when the file is opened again.  A file with anything but results
    raises a DataError.

    Examples
    --------
    >>> ledger = Ledger(None)
    >>> ledger.add(["letter", "GORF", 8], [0.3, 0.01])
    >>> ["letter", "GORF", 8] in ledger, ledger[["letter", "GORF", 8]]
    (True, [0.3, 0.01])
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self._cells: dict[str, list[float]] = {}
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def __contains__(self, key: list[str | int]) -> bool:
        return json.dumps(key) in self._cells

    def __getitem__(self, key: list[str | int]) -> list[float]:
        return self._cells[json.dumps(key)]

    def add(self, key: list[str | int], values: list[float]) -> None:
        """Store the numbers of a finished cell."""
        if self._path is not None:
            line = json.dumps({"cell": key, "values": values}) + "\n"
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        self._cells[json.dumps(key)] = values

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        end_of_last_line = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:end_of_last_line].splitlines(), start=1):
            try:
                entry = json.loads(line)
                key, values = entry["cell"], entry["values"]
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"Line {number} of {path} is not a result of an experiment, so nothing is "
                    "added to this file. Choose another file."
                ) from error
            self._cells[json.dumps(key)] = [float(v) for v in values]
        if end_of_last_line < len(content):
            os.truncate(path, end_of_last_line)
