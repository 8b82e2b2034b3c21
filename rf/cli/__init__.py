"""The command ``rf``."""

from rf.cli.parser import main

__all__ = ["main"]
