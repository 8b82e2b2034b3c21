"""One .npz file that holds a header and arrays, and notices every change to them.

The file is an ordinary uncompressed ``.npz`` which ``numpy.load(..., allow_pickle=False)`` reads.
Its member ``header`` is JSON text as bytes, the other members are little-endian doubles and small
integers, and ``sha256`` is the digest of the header and of the name, type, shape and bytes of every
array.  Reading never runs code from the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.base.files import whole_file
from spectra.errors import TableFileError

__all__ = ["Arrays", "read_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]

# What reading a damaged archive raises: also for an unknown method of compression, a member that is
# marked as encrypted, an offset outside the file, and a size that no memory holds.
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError),
    *(ValueError, OverflowError, KeyError, MemoryError),
)
_REMEDY = "Make the table again with spectra.tabulate, or fetch a fresh copy of the file."


def write_arrays(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to ``path`` in one step: a reader sees the old file or the new one.

    The header holds finite JSON numbers, texts, lists and dicts; arrays are doubles and 8-bit
    integers.
    """
    text = json.dumps(header, allow_nan=False, sort_keys=True).encode()
    stored: Arrays = {"header": np.frombuffer(text, np.uint8)}
    for name, array in arrays.items():
        stored[name] = np.asarray(array, "<f8" if array.dtype.kind == "f" else "|i1", order="C")
    stored["sha256"] = np.frombuffer(_digest(stored), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **stored)
    with whole_file(path) as file:
        file.write(buffer.getvalue())


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a file written by :func:`write_arrays`.

    A TableFileError if the file is not such a file, is truncated, or was changed.
    """
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the .npz file in it.")
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                if not info.filename.endswith(".npy") or info.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"the member {info.filename!r} is not a stored .npy array")
            if (bad := archive.testzip()) is not None:
                raise ValueError(f"the checksum of the member {bad!r} is wrong")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            members: Arrays = {name: file[name] for name in file.files}
    except _DAMAGES as fault:
        raise TableFileError(
            f"{os.fspath(path)} is not a spectral table, or it is damaged: {fault}. {_REMEDY}"
        ) from fault
    missing = {"header", "sha256"} - members.keys()
    if missing:
        raise TableFileError(
            f"{os.fspath(path)} has no member {' or '.join(sorted(missing))}, so it is not a "
            f"spectral table. {_REMEDY}"
        )
    digest = members.pop("sha256")
    if digest.tobytes() != _digest(members):
        raise TableFileError(
            f"{os.fspath(path)} was changed after it was saved: its SHA-256 does not fit, so its "
            f"numbers cannot be trusted. {_REMEDY}"
        )
    text = members.pop("header").tobytes()
    try:
        header = json.loads(text)
    except ValueError as fault:
        raise TableFileError(
            f"The header of {os.fspath(path)} is not JSON: {fault}. {_REMEDY}"
        ) from fault
    if not isinstance(header, dict):
        raise TableFileError(f"The header of {os.fspath(path)} is not a JSON object. {_REMEDY}")
    return header, members


def _digest(arrays: Arrays) -> bytes:
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(json.dumps([name, array.dtype.str, array.shape]).encode() + b"\n")
        sha.update(array.tobytes())
    return sha.digest()
