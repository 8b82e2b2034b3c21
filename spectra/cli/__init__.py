"""The command ``spectra``, and the pictures that it draws."""

from spectra.cli.commands import main

__all__ = ["main"]
