"""The tables and figures of the papers: what they measure is what it says it is."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rf.cli.parser import main
from rf.papers.experiments import EXPERIMENTS
from rf.papers.experiments.he import ask_accuracy, ask_errors
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.luo import gorf_variance
from rf.papers.experiments.luo.gorf_variance import GORF_VARIANCE
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    GAUSSIAN,
    LINEAR_POLYNOMIAL,
    NEAR_GAUSSIANS,
    SQUARED_POLYNOMIAL,
    make_features,
    mean_gram,
)
from rf.papers.experiments.pages import write_results
from rf.papers.experiments.tables import Cell, Experiment, run_experiment
from rf.papers.experiments.tally import tally
from spectra import radial
from spectra.base.bessel import plane_wave_mean
from spectra.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(12, 5))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_the_matrix_of_a_kernel_of_the_papers_is_that_of_its_text(rows):
    z = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    for kernel in (GAUSSIAN, DELTA_GAUSSIAN, NEAR_GAUSSIANS, LINEAR_POLYNOMIAL, SQUARED_POLYNOMIAL):
        text = kernel.text.replace("u", "(1 - z**2/2)") if kernel.power else kernel.text
        np.testing.assert_allclose(kernel.gram(rows, rows), radial(text)(z), atol=1e-12)


@pytest.mark.parametrize("method", ["GRFF", "SRF"])
def test_the_mean_of_a_biased_method_is_where_it_ends(method, rows):
    kernel = SQUARED_POLYNOMIAL
    draws = np.array(
        [make_features(kernel, method, 256, seed).fit(rows).gram(rows) for seed in range(30)]
    )
    mean = mean_gram(kernel, method, rows)
    away = ~np.eye(len(rows), dtype=bool)
    error = np.abs(draws.mean(axis=0) - mean)[away]
    spread = draws.std(axis=0, ddof=1)[away] / math.sqrt(len(draws))
    assert np.all(error < 6.0 * spread)
    assert np.linalg.norm((mean - kernel.gram(rows, rows))[away]) > 4.0 * np.linalg.norm(error)


def test_a_method_is_refused_where_it_makes_nothing_of_a_kernel(rows):
    with pytest.raises(ParameterError, match="SRF"):
        make_features(DELTA_GAUSSIAN, "SRF", 8, 0)
    with pytest.raises(ParameterError, match="unbiased"):
        mean_gram(DELTA_GAUSSIAN, "GRFF", rows)


def _variances(group):
    """What there is at z = 1, that of GRFF times s too."""
    cells = [c for c in GORF_VARIANCE.cells() if c.column == "z=1"]
    found = {c.method: c.compute(1)[0] for c in cells if c.group == group}
    return found | {c.group: c.compute(1)[0] for c in cells if c.method == group}


def test_the_exact_variances_are_those_of_closed_forms():
    """One frequency of each sign of a Gaussian pair has the variance of two cosines."""
    found = _variances("delta-Gaussian, d=16, exact law")
    iid = sum((1 + k**4) / 2 - k**2 for k in (math.exp(-1 / 2), math.exp(-1 / 200)))
    assert found["GRFF, times s"] == pytest.approx(iid, rel=1e-7)
    # Monte Carlo of 4e5 draws had 7.81e-3 and 1.86e-3 for s = 16, with errors of a few percent.
    assert found["GORF, Algorithm 1"] == pytest.approx(7.81e-3 * 16 / iid, rel=0.03)
    assert found["blocks within each sign"] == pytest.approx(1.86e-3 * 16 / iid, rel=0.08)


def test_the_published_figure_shows_blocks_within_each_sign(monkeypatch):
    """What the script plots, with exact means, is the variance that those take away."""
    monkeypatch.setattr(gorf_variance, "_POINTS", 150)
    gorf_variance._model.cache_clear()
    dim, z = 32, 1.0
    found = _variances(f"polynomial, d={dim}, published law")
    radii, masses = gorf_variance._published_radii(LINEAR_POLYNOMIAL, dim)
    reduction = iid = 0.0
    for part in (np.maximum(masses, 0.0), np.maximum(-masses, 0.0)):
        kept, p = radii[part > 0.0], part[part > 0.0]
        first = plane_wave_mean(dim, z * np.hypot.outer(kept, kept))
        mean = plane_wave_mean(dim, z * kept) @ p
        reduction -= (dim - 1) / dim * (p @ first @ p - mean**2)
        square = (p.sum() + plane_wave_mean(dim, 2.0 * z * kept) @ p) / 2.0
        iid += p.sum() * square - mean**2
    assert found["GRFF, times s"] == pytest.approx(iid, rel=1e-5)
    assert 1.0 - found["blocks within each sign"] == pytest.approx(dim * reduction / iid, rel=1e-4)
    assert found["GORF, Algorithm 1"] > 1.1 * found["blocks within each sign"]
    gorf_variance._model.cache_clear()


def test_a_group_without_data_is_left_out_and_the_others_are_computed(
    monkeypatch, tmp_path, capsys
):
    def absent(runs):
        raise DataError("The data set 'x' was not found.")

    cells = [
        Cell("with", "GORF", "s=1", lambda runs: (0.5, 0.1)),
        Cell("without", "GORF", "s=1", absent),
        Cell("without", "GORF", "s=2", absent),
    ]
    found = [values for _, _, values in run_experiment(cells, Ledger(None), runs=2)]
    assert found[0] == [0.5, 0.1]
    assert all(isinstance(values, DataError) for values in found[1:])
    experiment = Experiment("A title", "A paper", "Errors", lambda: cells, notes="What it is.")
    monkeypatch.setattr("rf.cli.commands.EXPERIMENTS", {"gorf-errors": experiment})
    assert main(["reproduce", "gorf-errors", "--folder", str(tmp_path), "--runs", "2"]) == 0
    assert "Not computed: without. The data set 'x'" in capsys.readouterr().out
    page = (tmp_path / "gorf-errors.md").read_text()
    assert "What it is." in page
    assert "Not in this run (`rf reproduce gorf-errors` has them): without." in page
    assert "s=2" not in page
    cells.append(Cell("with", "GORF", "s=2", lambda runs: (0.7, 0.1)))
    asked = ["reproduce", "gorf-errors", "--column", "s=1", "--runs", "2"]
    assert main([*asked, "--folder", str(tmp_path)]) == 0
    page = (tmp_path / "gorf-errors.md").read_text()
    assert "has them): without; s=2 of with." in page
    assert main(["reproduce", "gorf-errors", "--only", "without"]) == 2
    assert "was not found" in capsys.readouterr().err


def test_turned_kernels_have_the_transposed_matrix():
    X = np.random.default_rng(1).uniform(size=(12, 5))
    for name in ask_errors.KERNELS:
        K, transposed = (
            ask_errors.published_kernel(name, 5, transposed=t).gram(X) for t in (False, True)
        )
        np.testing.assert_allclose(transposed, K.T, atol=1e-14)


@pytest.mark.slow
def test_symmetrized_features_are_those_of_the_symmetric_part():
    rows = np.random.default_rng(1).uniform(size=(12, 5))
    name = list(ask_errors.KERNELS)[-1]
    K = ask_errors.published_kernel(name, 5).gram(rows)
    way = ask_accuracy._METHODS[ask_accuracy._SYMMETRIZED]
    draws = np.array(
        [ask_accuracy._features(name, way, 5, seed).fit(rows).gram(rows) for seed in range(20)]
    )
    spread = draws.std(axis=0, ddof=1) / math.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - (K + K.T) / 2.0) < 6.0 * spread + 1e-12)


@pytest.mark.parametrize("right", [False, True])
def test_published_numbers_are_counted_by_what_became_of_them(right):
    """Numbers at, a tenth off and far off the published one, with ours on both sides of it."""
    ledger, cells = Ledger(None), []
    for column, again, ours in (("a", 0.52, 0.5), ("b", 0.4, 0.51), ("c", 0.6, None)):
        for method, value in (("GORF", again), ("ours", ours)):
            published = (0.5, "ours") if method == "GORF" else (None, "")
            compute = None if value is None else lambda runs: (0.0, 0.0)
            shown = [100.0 - v if right and v is not None else v for v in (value, published[0])]
            if compute is not None:
                ledger.add(["letter", method, column, 2], [shown[0], 0.0])
            cells.append(Cell("letter", method, column, compute, shown[1], published[1]))
    experiment = Experiment("t", "s", "m", lambda: cells, percent_right=right)
    counted = tally(experiment, cells, ledger, 2)
    assert counted.row() == "3 | 1, 1, 1 | 1 of 2 | 1 of 2"
    (worse,), (above,), (above_again,) = (
        counted.worse,
        counted.ours_above,
        counted.ours_above_rerun,
    )
    assert worse.startswith("letter, GORF, c: 1.20 times the")
    assert above.startswith("letter, ours for GORF, b: 1.02 times the")
    assert worse in counted.text()
    assert above in counted.text()
    assert above_again.startswith("letter, ours for GORF, b: 1.27 times the")
    assert above_again.endswith("re-run")
    assert f"Ours above the re-run:\n\n* {above_again}" in counted.text()
    # Another number of runs is another run, of which nothing is there.
    assert tally(experiment, cells, ledger, 3).row() == "3 | 0, 0, 0 | none | none"


PAGES = Path(__file__).parents[3] / "docs" / "reproduced"


def _kept(name):
    kept = (PAGES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    runs = max(json.loads(line)["cell"][-1] for line in kept)
    return EXPERIMENTS[name], Ledger(PAGES / f"{name}.jsonl"), runs


def test_the_summary_says_what_became_of_every_published_number():
    summary = (PAGES.parent / "papers.md").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f"[{name}](reproduced/{name}.md)" in summary
        experiment, ledger, runs = _kept(name)
        counted = tally(experiment, experiment.cells(), ledger, runs)
        row = f"| [{name}](reproduced/{name}.md) | {counted.row()} | "
        assert (row in summary) == (counted.published > 0), row


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_a_page_of_results_says_what_its_numbers_are(name, tmp_path, monkeypatch):
    """The pages that are shown are those that the results of their run make today."""
    monkeypatch.setattr("rf.papers.experiments.pages._draw", lambda path, *rest: path.touch())
    experiment, ledger, runs = _kept(name)
    write_results(name, experiment, experiment.cells(), ledger, runs, tmp_path)
    for ending in ("csv", "md"):
        shown = (PAGES / f"{name}.{ending}").read_text(encoding="utf-8")
        assert (tmp_path / f"{name}.{ending}").read_text(encoding="utf-8") == shown
    assert (PAGES / f"{name}.png").is_file()
