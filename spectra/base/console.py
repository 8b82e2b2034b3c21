"""Common to the commands ``spectra`` and ``rf``: options, exit status, messages for errors."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from spectra.base.limits import TIME_LIMIT_VARIABLE, limit_from, time_limit
from spectra.errors import ParameterError, SpectraError

__all__ = [
    "ENVIRONMENT_HELP",
    "PICTURE_SUFFIXES",
    "add_time_option",
    "add_version",
    "check_writable",
    "run_command",
]

#: Help on the environment variables of both commands.
ENVIRONMENT_HELP = (
    "Environment: SPECTRA_CACHE is the folder of derived tables, or 'off'; SPECTRA_PROGRESS is "
    "'on' to show a progress line on stderr after two seconds, 'off' to hide it (by default it is "
    "shown on terminals); SPECTRA_TIME_LIMIT is the processor time in seconds that each step may "
    "take, or 'none' (10 by default)."
)
#: Indent of the lines that mark characters of a formula.
_INDENT = "    "
#: File suffixes of the formats in which pictures are written.
PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


def add_time_option(parser: ArgumentParser) -> None:
    """Add the option --time-limit to the parser of a command."""
    parser.add_argument(
        "--time-limit",
        default=SUPPRESS,
        metavar="SECONDS",
        help=f"processor time for each step, or none (default: {TIME_LIMIT_VARIABLE}, else 10)",
    )


def add_version(parser: ArgumentParser) -> None:
    """Add the option --version to the parser of a command."""
    text = f"%(prog)s of kernel-spectra {version('kernel-spectra')}"
    parser.add_argument("--version", action="version", version=text)


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
