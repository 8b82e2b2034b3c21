"""The page of errata says what its commands print."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest

from spectra.cli.commands import main

PAGE = Path(__file__).parents[3] / "docs" / "errata.md"


def _commands() -> list[tuple[str, str]]:
    """Each command of the page with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    $ "):
            found.append((line.removeprefix("    $ "), []))
            inside = True
        elif inside and line.startswith("    "):
            found[-1][1].append(line.removeprefix("    "))
        else:
            inside = False
    return [(command, "\n".join(lines)) for command, lines in found]


def test_there_are_ten() -> None:
    assert len(_commands()) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), _commands(), ids=range(1, 1 + len(_commands())))
def test_a_command_prints_what_the_page_says(command: str, said: str) -> None:
    program, *arguments = shlex.split(command)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if program == "spectra":
            assert main(arguments) == 0
        else:
            assert program == "python"
            assert arguments[0] == "-c"
            exec(arguments[1], {})
    assert out.getvalue().rstrip() == said
