"""Commands end in words: one line for an error, 130 for an interruption, silence for a pipe."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import rf.cli.commands
import rf.cli.parser
import spectra.cli.commands
from spectra.base.console import PICTURE_SUFFIXES, check_writable, run_command
from spectra.errors import ParameterError


def ending(error):
    def work():
        raise error

    return work


def test_a_command_that_works_has_its_own_status():
    assert run_command("spectra", lambda: 7, if_interrupted="") == 7


def test_an_explained_error_is_one_line(capsys):
    for error in (ParameterError("no"), PermissionError(13, "no"), OSError("no")):
        assert run_command("spectra", ending(error), if_interrupted="") == 2
        assert capsys.readouterr().err == f"spectra: {error}\n"


def test_a_mistake_in_the_code_is_not_explained_away():
    with pytest.raises(ZeroDivisionError):
        run_command("spectra", ending(ZeroDivisionError()), if_interrupted="")


@pytest.mark.parametrize(
    ("command", "place", "action"),
    [
        (spectra.cli.commands, spectra.cli.commands, "_catalogue"),
        (rf.cli.parser, rf.cli.commands, "_datasets"),
    ],
)
def test_an_interruption_says_what_is_left_and_the_help_names_the_environment(
    command, place, action, monkeypatch, capsys
):
    name = command.__name__.partition(".")[0]
    monkeypatch.setattr(place, action, lambda _: ending(KeyboardInterrupt())())
    assert command.main([action[1:]]) == 130
    assert capsys.readouterr().err.startswith(f"{name}: interrupted; ")
    with pytest.raises(SystemExit, match="0"):
        command.main(["--help"])
    said = capsys.readouterr().out
    assert "SPECTRA_CACHE" in said
    assert "SPECTRA_PROGRESS" in said


def test_the_reader_of_a_pipe_may_leave(monkeypatch):
    closed = io.StringIO()
    monkeypatch.setattr(sys, "stderr", closed)
    assert run_command("rf", ending(BrokenPipeError()), if_interrupted="") == 0
    assert closed.closed


def test_a_file_that_could_not_be_written_is_refused_before(tmp_path):
    check_writable(None, PICTURE_SUFFIXES)
    check_writable(tmp_path / "k.png", PICTURE_SUFFIXES)
    check_writable(Path("k.npz"), (".npz",))
    with pytest.raises(ParameterError, match=r"ends in \.txt"):
        check_writable(tmp_path / "k.txt", PICTURE_SUFFIXES)
    with pytest.raises(ParameterError, match="no folder"):
        check_writable(tmp_path / "none" / "k.png", PICTURE_SUFFIXES)
