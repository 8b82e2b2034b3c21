"""How a command ends: errors in words, interruptions, and files that could not be written."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from spectra.base.limits import VARIABLE, limit_from, time_limit
from spectra.errors import ParameterError, SpectraError

__all__ = [
    "ENVIRONMENT",
    "PICTURES",
    "add_time_option",
    "add_version",
    "answered",
    "check_writable",
]

#: What both commands take from the environment, for their help.
ENVIRONMENT = (
    "Environment: SPECTRA_CACHE is the folder of derived tables, or 'off'; SPECTRA_PROGRESS is "
    "'on' or 'off' where a line on work of more than two seconds is to be shown on stderr though "
    "it is no terminal, or not to be shown on one; SPECTRA_TIME_LIMIT is the seconds of processor "
    "time that each step may take, or 'none' (10 by default)."
)
#: Before the lines that show a place.
_INDENT = "    "
#: Endings of the files that pictures are drawn to.
PICTURES = (".png", ".pdf", ".svg")


def add_time_option(parser: ArgumentParser) -> None:
    """Give a command that computes the option --time-limit."""
    parser.add_argument(
        "--time-limit",
        default=SUPPRESS,
        metavar="SECONDS",
        help=f"processor time for each step, or none; by default {VARIABLE}, or 10",
    )


def add_version(parser: ArgumentParser) -> None:
    """Give a command the option --version."""
    text = f"%(prog)s of kernel-spectra {version('kernel-spectra')}"
    parser.add_argument("--version", action="version", version=text)


def answered(program: str, work: Callable[[], int], *, left: str, limit: str | None = None) -> int:
    """Status of a command: that of its work, or the one of the error that ended it.

    ``left`` says in words what an interruption leaves behind, ``limit`` is that of --time-limit.

    It is 2 after an error that was explained on stderr, 130 after an interruption, as shells have
    it, and 0 where the reader of a pipe, such as head, has seen enough.

    Examples
    --------
    >>> answered("spectra", lambda: 0, left="nothing half-written was left behind")
    0
    """
    try:
        if limit is None:
            return work()
        with time_limit(limit_from(limit, source="--time-limit")):
            return work()
    except BrokenPipeError:
        # Python would complain again, of output that is left over, when it closes down.
        sys.stderr.close()
        return 0
    except (SpectraError, OSError) as error:
        message = _with_its_place(error) if isinstance(error, SpectraError) else error
        print(f"{program}: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{program}: interrupted; {left}", file=sys.stderr)
        return 130


def _with_its_place(error: SpectraError) -> str:
    """What an error says at a shell, above the characters that it means where it has none yet."""
    said = error.at_shell
    if not error.pointer or any(line.startswith(_INDENT) for line in said.splitlines()):
        return said
    return "\n".join([said, *(_INDENT + line for line in error.pointer.splitlines())])


def check_writable(path: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file that could not be written before the work is done, not after it."""
    if path is None:
        return
    if path.suffix not in endings:
        raise ParameterError(
            f"{path} ends in {path.suffix or 'nothing'}; write it to a file that ends in "
            f"{', '.join(endings)}."
        )
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent}: make it first.")
