"""The inner loops of ``transform``, with numba or with numpy: see :mod:`spectra.base.compiled`."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from rf.feature_maps.compiled_sincos import DOUBLE, SINGLE, waves_with_numba
from rf.feature_maps.sincos import LIMIT, waves_with_numpy
from rf.feature_maps.threads import serial_blas
from spectra.base.compiled import implementation, why_no_numba

__all__ = ["WaveKernel", "show_config", "wave_kernel"]

WaveKernel = Callable[[Any, Any, Any, tuple[int, int], int, int], None]


def wave_kernel(dtype: Any) -> tuple[WaveKernel, float]:
    """The function that writes cosines and sines of a block, and the largest phase it takes."""
    if implementation() == "numpy":
        return waves_with_numpy, LIMIT if np.dtype(dtype) == np.float64 else np.inf
    return waves_with_numba, (DOUBLE if np.dtype(dtype) == np.float64 else SINGLE).limit


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
    reason = why_no_numba()
    print(f"inner loop: {implementation()}" + (f" (no numba: {reason})" if reason else ""))
    with serial_blas() as threads:
        print(f"threads: {threads}, as many as BLAS may use")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
