"""Which implementation of the inner loop runs: numba's, where it is installed, or numpy's."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

from rf.sincos import LIMIT, waves_with_numpy
from rf.threads import serial_blas
from rf.walsh import walsh_phases_with_numpy
from spectra.errors import ParameterError

__all__ = ["Implementation", "WaveKernel", "implementation", "show_config", "using", "wave_kernel"]

Implementation = Literal["numba", "numpy"]
WalshKernel = Callable[[Any, Any, Any, Any], None]
WaveKernel = Callable[[Any, Any, Any, tuple[int, int], int, int], None]

#: Names an implementation for a whole process.
VARIABLE = "RF_IMPLEMENTATION"

_CHOSEN: ContextVar[Implementation | None] = ContextVar("implementation", default=None)


@lru_cache(maxsize=1)
def _numba() -> tuple[Any, str]:
    """The compiled kernel, and why there is none."""
    try:
        from rf import compiled_sincos
    except ImportError as fault:
        return None, str(fault).splitlines()[0]
    return compiled_sincos, ""


def implementation() -> Implementation:
    """The implementation that runs here: "numba" or "numpy".

    Raises
    ------
    ParameterError
        Where RF_IMPLEMENTATION, or :func:`using`, names another, or numba where it is missing.
    """
    name = _CHOSEN.get() or os.environ.get(VARIABLE, "")
    if name == "numpy":
        return "numpy"
    kernels, why = _numba()
    if name in ("", "numba") and kernels is not None:
        return "numba"
    if not name:
        return "numpy"
    raise ParameterError(
        f"The inner loop was to run with {name!r}, and "
        + (f"numba cannot be loaded ({why})" if name == "numba" else "there is no such way")
        + ". Take 'numpy', which always runs, or install the extra: pip install "
        '"kernel-spectra[fast]".'
    )


@contextmanager
def using(name: Implementation) -> Iterator[None]:
    """Let one implementation run inside of a ``with`` block.

    Examples
    --------
    >>> with using("numpy"):
    ...     implementation()
    'numpy'
    """
    token = _CHOSEN.set(name)
    try:
        implementation()
        yield
    finally:
        _CHOSEN.reset(token)


def wave_kernel(dtype: Any) -> tuple[WaveKernel, float]:
    """The function that writes cosines and sines of a block, and the largest phase it takes."""
    if implementation() == "numpy":
        return waves_with_numpy, LIMIT if np.dtype(dtype) == np.float64 else np.inf
    kernels = _numba()[0]
    constants = kernels.DOUBLE if np.dtype(dtype) == np.float64 else kernels.SINGLE
    return kernels.waves_with_numba, constants.limit


def walsh_kernel(dtype: Any) -> tuple[WalshKernel, int]:
    """The function that projects on a block, and the order from which it beats the product."""
    if implementation() == "numpy":
        return walsh_phases_with_numpy, 1024
    from rf.compiled_walsh import walsh_phases_with_numba

    return walsh_phases_with_numba, 256 if np.dtype(dtype) == np.float64 else 512


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
    reason = _numba()[1]
    print(f"inner loop: {implementation()}" + (f" (no numba: {reason})" if reason else ""))
    with serial_blas() as threads:
        print(f"threads: {threads}, as many as BLAS may use")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
