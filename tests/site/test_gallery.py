"""Every script of the gallery runs without a warning, prints numbers, and draws them with names."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason='pip install -e ".[plot]" brings it')

SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("plot_*.py"))
#: Those that take less than a second; the others run with the slow tests.
QUICK = {"parts", "saved_sampler", "two_samples"}


def _param(script: Path):
    name = script.stem[len("plot_00_") :]
    marks = [pytest.mark.slow] if name not in QUICK else []
    return pytest.param(script, id=name, marks=marks)


@pytest.mark.parametrize("script", [_param(script) for script in SCRIPTS])
def test_a_script_of_the_gallery_runs_and_says_what_it_draws(script, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    plt.close("all")
    try:
        runpy.run_path(str(script))
        printed = capsys.readouterr().out
        assert len(re.findall(r"\d+\.\d+|\d+e[+-]\d+", printed)) >= 3
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert len(figures) == 1
        for axes in figures[0].axes:
            is_twin = len(axes.get_shared_x_axes().get_siblings(axes)) > 1
            assert axes.get_xlabel() or is_twin
            assert axes.has_data()
        figures[0].canvas.draw()
    finally:
        plt.close("all")
