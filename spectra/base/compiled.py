"""Choose between numba (the extra ``fast``) and numpy for the inner loops.

Numba is imported at the first use of a compiled loop, not when ``spectra`` or ``rf`` is imported.
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

__all__ = ["IMPLEMENTATION_VARIABLE", "compile_with_numba", "implementation", "numba_import_error"]

#: Environment variable that selects "numba" or "numpy"; unset, numba is used if it is installed.
IMPLEMENTATION_VARIABLE = "SPECTRA_IMPLEMENTATION"

_IMPORT_TIME = 0.5  # seconds that the import of numba takes


@lru_cache(maxsize=1)
def numba_import_error() -> str:
    """Why numba cannot be imported; empty if it can."""
    try:
        import_module("numba")
    except ImportError as error:
        return str(error).splitlines()[0]
    return ""


def implementation(*, time_in_numpy: float = math.inf) -> str:
    """The implementation to use: "numba" or "numpy".

    Unless selected, numba is imported only for loops that take ``time_in_numpy`` >= 0.5 seconds.
    """
    name = os.environ.get(IMPLEMENTATION_VARIABLE, "")
    worth_import = time_in_numpy >= _IMPORT_TIME or "numba" in sys.modules
    if name == "numpy" or not (name or worth_import):
        return "numpy"
    error = numba_import_error()
    if name in ("", "numba") and not error:
        return "numba"
    if not name:
        return "numpy"
    raise ParameterError(
        f"{IMPLEMENTATION_VARIABLE}={name}: "
        + (f"numba cannot be imported ({error})" if name == "numba" else "no such implementation")
        + ". Set it to 'numpy', or install the extra and set it to 'numba': pip install "
        '"kernel-spectra[fast]".'
    )


def compile_with_numba(function: Callable[..., Any], *, fused: bool) -> Any:
    """Compile a function at its first call, cached on disk; it runs without the GIL.

    With ``fused``, the compiler may use fused multiply-add instructions, so results differ from
    those of numpy by rounding.  Infinities, NaN and signs of zero are preserved in any case.
    """
    numba = import_module("numba")
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if fused:
        options["fastmath"] = {"contract"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache: compile in every process
        return numba.njit(**options)(function)
