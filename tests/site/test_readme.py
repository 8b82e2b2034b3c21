"""What the README shows is what happens: its Python runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from rf.cli.parser import main as rf
from spectra.cli.commands import main as spectra

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def _blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


NUMBER = re.compile(r"(± |u-error )?(\d+(?:\.\d+)?(?:e[+-]\d+)?)")


def assert_says_the_same(found: str, said: str) -> None:
    """The same words, and the same numbers: to two units of their last digit or within their
    errors; rounding, which machines do in ways of their own, may make errors ten times another."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", said)
    numbers = list(zip(NUMBER.findall(found), NUMBER.findall(said), strict=True))
    for i, ((kind, a), (_, b)) in enumerate(numbers):
        if kind:
            assert 0.1 <= float(a) / float(b) <= 10.0
            continue
        mantissa, _, exponent = b.partition("e")
        unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        error = (
            float(numbers[i + 1][1][1]) if numbers[i + 1 : i + 2] and numbers[i + 1][1][0] else 0
        )
        assert abs(float(a) - float(b)) <= max(2.0 * unit, error)


def test_other_numbers_and_other_words_are_told_from_what_is_said() -> None:
    assert_says_the_same("0.0132 ± 2e-5", "0.0131 ± 1e-5")
    for other in ("0.014 ± 1e-5", "0.0131 ± 1e-3", "0.0131 +- 1e-5", "0.0131"):
        with pytest.raises((AssertionError, ValueError)):
            assert_says_the_same(other, "0.0131 ± 1e-5")


@pytest.mark.slow
def test_its_python_prints_what_it_says(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = re.findall(
        r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL
    )
    assert len(shown) == len(_blocks("python")) >= 3
    names: dict[str, object] = {}
    for code, said in shown:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), names)
        assert_says_the_same(out.getvalue(), said)


@pytest.mark.slow
def test_its_commands_are_answered(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs = {"spectra": spectra, "rf": rf}
    _, _, section = README.partition("## From the shell")
    lines = [shlex.split(line, comments=True) for line in _blocks("sh", section)[0].splitlines()]
    # The tour has tests of its own, and the page is served until it is interrupted.
    elsewhere = (["tour"], ["explore"])
    commands = [(name, arguments) for name, *arguments in lines if arguments not in elsewhere]
    assert len(commands) >= 6
    for name, arguments in commands:
        if arguments[-1] in ("--help", "--version"):
            with pytest.raises(SystemExit) as left:
                programs[name](arguments)
            assert left.value.code == 0
        else:
            assert programs[name](arguments) == 0, arguments


def test_the_command_of_the_tests_stands_between_its_markers() -> None:
    _, marker, after = README.partition("<!-- test command -->")
    assert marker
    assert "pytest" in _blocks("sh", after)[0]
