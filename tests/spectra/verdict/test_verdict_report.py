"""Reports of a verdict by the command line: text, JSON and picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spectra.cli.commands import main
from spectra.cli.plot_verdict import plot_verdict
from spectra.errors import ParameterError
from spectra.verdict import existence


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["check", *arguments]) == 0
    return capsys.readouterr().out


def test_the_text_has_answer_reason_and_condition(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _told(capsys, "ntk", "--dim", "3")
    answer, reason, *rest = text.splitlines()
    assert answer == "ntk: its spectral measure has infinite mass in d = 3"
    assert "(2 - z)^(1/2)" in reason
    assert "finite: d < 2" in rest[0]
    assert "Positive definite in d = 3: no" in rest[1]


def test_without_a_dimension_the_condition_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = _told(capsys, "(1 - z**2/4)**2", "--support", "2")
    assert "exactly for d < 5" in text


@pytest.mark.parametrize(
    ("arguments", "status", "max_dim"),
    [
        (("askey", "--set", "power=1", "--dim", "7"), "INFINITE", 1),
        (("gaussian", "--dim", "64"), "FINITE", "infinity"),
        (("delta_gaussian", "--dim", "3"), "FINITE", 0),
    ],
)
def test_the_json_has_the_same_content(
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    status: str,
    max_dim: object,
) -> None:
    data = json.loads(_told(capsys, *arguments, "--json"))
    assert data["status"] == status
    assert data["positive_definite"]["max_dim"] == max_dim


@pytest.mark.parametrize(
    "arguments",
    [
        ("ntk", "--dim", "3"),
        ("thin_plate",),
        ("gaussian", "--dim", "2"),
    ],
    ids=" ".join,
)
def test_the_picture_is_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "verdict.png"
    _told(capsys, *arguments, "--plot", str(path))
    assert path.stat().st_size > 10_000


def test_a_callable_has_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="callable"):
        plot_verdict(existence(lambda z: z, 2), path=tmp_path / "none.png")
