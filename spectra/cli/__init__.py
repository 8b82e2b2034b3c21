"""The command ``spectra``, and plots of measures, verdicts and designs."""

from spectra.cli.commands import main

__all__ = ["main"]
