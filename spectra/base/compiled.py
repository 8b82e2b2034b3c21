"""Which implementation of the inner loops runs: numba's (the extra ``fast``), or numpy's.

Numba is loaded when a loop is first asked for, never by an import of ours.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from spectra.errors import ParameterError

__all__ = ["VARIABLE", "compiled", "implementation", "why_no_numba"]

#: Names an implementation for a whole process.
VARIABLE = "SPECTRA_IMPLEMENTATION"

# Seconds in which numba is loaded.
_LOADING = 0.5


@lru_cache(maxsize=1)
def why_no_numba() -> str:
    """Why numba cannot be loaded; empty where it can."""
    try:
        import_module("numba")
    except ImportError as fault:
        return str(fault).splitlines()[0]
    return ""


def implementation(*, work: float = math.inf) -> str:
    """The implementation that runs here: "numba" or "numpy".

    ``work``: seconds that numpy would take; numba is not loaded for less than loading takes.
    """
    name = os.environ.get(VARIABLE, "")
    if name == "numpy" or (not name and work < _LOADING and "numba" not in sys.modules):
        return "numpy"
    why = why_no_numba()
    if name in ("", "numba") and not why:
        return "numba"
    if not name:
        return "numpy"
    raise ParameterError(
        f"The inner loop was to run with {name!r}, and "
        + (f"numba cannot be loaded ({why})" if name == "numba" else "there is no such way")
        + ". Take 'numpy', which always runs, or install the extra: pip install "
        '"kernel-spectra[fast]".'
    )


def compiled(function: Callable[..., Any], *, fused: bool) -> Any:
    """The function compiled by numba at its first call, kept on disk, and run beside other threads.

    With ``fused``, products and sums may be fused, which makes no error larger, and results that
    differ from those of numpy by roundings.  Nothing else is allowed to the compiler: infinities,
    NaN and signs of zero are kept.
    """
    numba = import_module("numba")
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if fused:
        options["fastmath"] = {"contract"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in: it is compiled anew in every process
        return numba.njit(**options)(function)
