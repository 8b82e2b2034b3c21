"""Common to the commands ``spectra`` and ``rf``: options, exit status, messages for errors."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spectra.base.limits import TIME_LIMIT_VARIABLE, limit_from, time_limit
from spectra.errors import ParameterError, SpectraError

__all__ = ["PICTURE_SUFFIXES", "Command", "check_writable", "run_command", "run_commands"]

# Help on the environment variables of both commands.
_ENVIRONMENT_HELP = (
    "environment:\n"
    "  SPECTRA_CACHE       folder of derived tables, or 'off'\n"
    "  SPECTRA_PROGRESS    'on' shows a progress line on stderr after two seconds, 'off' hides it\n"
    "                      (by default it is shown on terminals)\n"
    "  SPECTRA_TIME_LIMIT  processor time in seconds for each step, or 'none' (default: 10)"
)
#: Indent of the lines that mark characters of a formula.
_INDENT = "    "
#: File suffixes of the formats in which pictures are written.
PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Command:
    """A subcommand: its help, examples of its arguments, and a function that adds its arguments.

    The function is called when the subcommand is used, and sets ``run`` to the function that runs
    it, which returns the exit status or None.
    """

    help: str
    examples: tuple[str, ...]
    add_arguments: Callable[[ArgumentParser], None]


class _Subparser(ArgumentParser):
    """The parser of a command, which adds its arguments on use."""

    command: Command

    def parse_known_args(self, *arguments: Any, **options: Any) -> Any:
        text = f"processor time for each step, or none (default: {TIME_LIMIT_VARIABLE}, else 10)"
        self.add_argument("--time-limit", default=SUPPRESS, metavar="SECONDS", help=text)
        self.command.add_arguments(self)
        return super().parse_known_args(*arguments, **options)


def run_commands(
    name: str,
    description: str,
    commands: Mapping[str, Command],
    argv: Sequence[str] | None,
    *,
    if_interrupted: str,
) -> int:
    """Parse the arguments of a command line and run its subcommand, see :func:`run_command`."""
    raw = RawDescriptionHelpFormatter
    parser = ArgumentParser(name, None, description, _ENVIRONMENT_HELP, formatter_class=raw)
    text = f"%(prog)s of kernel-spectra {version('kernel-spectra')}"
    parser.add_argument("--version", action="version", version=text)
    subparsers = parser.add_subparsers(
        required=True, metavar="COMMAND", dest="command", parser_class=_Subparser
    )
    for word, command in commands.items():
        lines = "\n".join(f"  {name} {word} {example}".rstrip() for example in command.examples)
        subparser = subparsers.add_parser(
            word, help=command.help, epilog=f"examples:\n{lines}", formatter_class=raw
        )
        subparser.command = command
    arguments = parser.parse_args(argv)
    return run_command(
        name,
        lambda: int(arguments.run(arguments) or 0),
        if_interrupted=if_interrupted,
        limit=getattr(arguments, "time_limit", None),
    )


def run_command(
    name: str, work: Callable[[], int], *, if_interrupted: str, limit: str | None = None
) -> int:
    """Run the work of a command and return its exit status.

    The status is that of ``work``; 2 after an error, printed on stderr; 130 after an interruption,
    when ``if_interrupted`` is printed; 0 if the output is a pipe and its reader closes it.
    ``limit`` is the value of --time-limit.

    Examples
    --------
    >>> run_command("spectra", lambda: 0, if_interrupted="no partial file remains")
    0
    """
    try:
        if limit is None:
            return work()
        with time_limit(limit_from(limit, source="--time-limit")):
            return work()
    except BrokenPipeError:
        # At exit, Python would report the output that it could not write.
        sys.stderr.close()
        return 0
    except (SpectraError, OSError) as error:
        message = _shell_message(error) if isinstance(error, SpectraError) else error
        print(f"{name}: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted; {if_interrupted}", file=sys.stderr)
        return 130


def _shell_message(error: SpectraError) -> str:
    """The message for a shell, with the marked formula below unless the message contains it."""
    message = error.at_shell
    if not error.pointer or any(line.startswith(_INDENT) for line in message.splitlines()):
        return message
    return "\n".join([message, *(_INDENT + line for line in error.pointer.splitlines())])


def check_writable(path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Raise an error if the suffix of an output file is wrong or its folder is missing."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise ParameterError(
            f"{path} ends in {path.suffix or 'nothing'}; choose a file name that ends in "
            f"{', '.join(suffixes)}."
        )
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent}: create it first.")
