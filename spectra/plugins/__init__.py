"""Kernels of ``spectra`` as kernels of other libraries, one module and one extra for each library.

The modules are ``scikit_learn``, ``gstools``, ``pymc``, ``numpyro`` and ``gpjax``;
``covariance`` is used by all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spectra.errors import MissingExtraError

__all__ = ["import_modules"]


def import_modules(extra: str, *modules: str) -> list[Any]:
    """Import modules, or raise a MissingExtraError; the extra has the name of the plug-in."""
    try:
        return [import_module(module) for module in modules]
    except ImportError as error:
        raise MissingExtraError(
            f"spectra.plugins.{extra} needs {error.name or extra}, which is not installed: "
            f'pip install "kernel-spectra[{extra}]".'
        ) from error
