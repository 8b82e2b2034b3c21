"""Our kernels in other libraries, one to a file, each with an extra of its own.

``scikit_learn``, ``gstools``, ``pymc``, ``numpyro``, ``gpjax``; ``jax_functions`` serves those on
JAX.  A plug-in imports its library, or raises a MissingExtraError that names the extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spectra.errors import MissingExtraError

__all__ = ["imported"]


def imported(extra: str, *modules: str) -> list[Any]:
    """The modules; a MissingExtraError names the extra, which has the name of the plug-in."""
    try:
        return [import_module(module) for module in modules]
    except ImportError as error:
        raise MissingExtraError(
            f"spectra.plugins.{extra} needs {error.name or extra}, which is not installed: "
            f'pip install "kernel-spectra[{extra}]".'
        ) from error
