"""Reports of a verdict by the command line: text, JSON and picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spectra.cli.commands import main


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["check", *arguments]) == 0
    return capsys.readouterr().out


def test_the_text_has_answer_reason_and_condition(capsys: pytest.CaptureFixture[str]) -> None:
    text = _told(capsys, "ntk", "--dim", "3")
    answer, reason, advice, *rest = text.splitlines()
    assert answer.startswith("ntk: has a decomposition on the unit sphere of R^3; on all of R^d ")
    assert "(2 - z)^(1/2)" in reason
    assert "SpectralFeatures" in advice
    assert "finite: d < 2" in rest[0]
    assert "Positive definite in d = 3: no" in rest[1]


@pytest.mark.parametrize(
    ("arguments", "status", "max_dim"),
    [
        (("askey", "--set", "power=1", "--dim", "7"), "INFINITE", 1),
        (("gaussian", "--dim", "64"), "FINITE", "infinity"),
        (("delta_gaussian", "--dim", "3"), "FINITE", 0),
    ],
)
def test_the_json_has_the_same_content(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: str, max_dim: object
) -> None:
    data = json.loads(_told(capsys, *arguments, "--json"))
    assert data["status"] == status
    assert data["sphere"] is None
    assert data["positive_definite"]["max_dim"] == max_dim


def test_a_kernel_in_u_is_answered_on_the_sphere_first(capsys: pytest.CaptureFixture[str]) -> None:
    text = _told(capsys, "tanh(2*u-1)", "--dim", "5")
    assert text.startswith("tanh(2*u-1): has a decomposition on the unit sphere of R^5; on all of")
    assert json.loads(_told(capsys, "tanh(2*u-1)", "--json"))["sphere"]["condition"] == "True"
    assert "no decomposition on the unit sphere of R^5" in _told(capsys, "Abs(u)", "--dim", "5")


def test_the_picture_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for arguments in (("ntk", "--dim", "3"), ("thin_plate",)):
        path = tmp_path / f"{arguments[0]}.png"
        _told(capsys, *arguments, "--plot", str(path))
        assert path.stat().st_size > 10_000
