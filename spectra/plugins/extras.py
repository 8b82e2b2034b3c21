"""Import the libraries that a plug-in is for."""

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
