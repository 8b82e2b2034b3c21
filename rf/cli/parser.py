"""The ``rf`` command: which part of it was asked for, and that alone is loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from spectra.base.console import ENVIRONMENT_HELP, add_time_option, add_version, run_command

__all__ = ["main"]

_COMMANDS = {
    "approximate": "errors of each coupling on a data set",
    "reproduce": "re-run a published table",
    "datasets": "which data sets can be had, and from where",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after an error that was explained on stderr."""
    arguments = _parser().parse_args(argv)
    return run_command(
        "rf",
        lambda: int(arguments.run(arguments)),
        files_left="finished results in the file of --out are kept",
        limit=getattr(arguments, "time_limit", None),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rf",
        description="Random features of kernels: errors on data, and published tables.",
        epilog=ENVIRONMENT_HELP,
    )
    add_version(parser)
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", dest="command", parser_class=_Command
    )
    for name, text in _COMMANDS.items():
        add_time_option(commands.add_parser(name, help=text))
    return parser


class _Command(argparse.ArgumentParser):
    """A command that learns its arguments when it is asked for: scikit-learn loads in seconds."""

    def parse_known_args(self, *arguments: Any, **options: Any) -> Any:
        name = self.prog.split()[-1]
        getattr(import_module("rf.cli.commands"), f"add_{name}")(self)
        return super().parse_known_args(*arguments, **options)
