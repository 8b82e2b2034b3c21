"""The parser of the ``rf`` command, which loads only the subcommand that is run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from spectra.base.console import ENVIRONMENT_HELP, add_time_option, add_version, run_command

__all__ = ["main"]

_COMMANDS = {
    "approximate": "errors of each coupling on a data set",
    "fit": "fit kernels to a table of points and values, and predict (kriging)",
    "reproduce": "recompute a published table",
    "datasets": "list the data sets and where they come from",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    arguments = _parser().parse_args(argv)
    return run_command(
        "rf",
        lambda: int(arguments.run(arguments)),
        if_interrupted="finished results in files are kept",
        limit=getattr(arguments, "time_limit", None),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rf",
        description="Random features of kernels, kriging, and published tables.",
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
    """A subcommand that adds its arguments when it is run, since scikit-learn loads slowly."""

    def parse_known_args(self, *arguments: Any, **options: Any) -> Any:
        name = self.prog.split()[-1]
        module = "rf.cli.fit" if name == "fit" else "rf.cli.commands"
        getattr(import_module(module), f"add_{name}")(self)
        return super().parse_known_args(*arguments, **options)
