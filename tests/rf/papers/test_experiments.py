"""The tables and figures of the papers: what they measure is what it says it is."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rf.cli.parser import main
from rf.papers.datasets import Dataset
from rf.papers.experiments.experiment import Cell, Experiment, run_experiment
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.measures import best_constant, linear_accuracy, sample_rows
from rf.papers.experiments.methods import (
    DELTA_GAUSSIAN,
    GAUSSIAN,
    GORF,
    GORF_BLOCKS,
    LINEAR_POLYNOMIAL,
    NEAR_GAUSSIANS,
    SQUARED_POLYNOMIAL,
    PaperKernel,
    make_features,
    mean_gram,
)
from rf.papers.experiments.report import write_results
from rf.papers.experiments.tally import tally
from rf.papers.published import EXPERIMENTS, ask_accuracy, ask_errors, gorf_variance
from rf.papers.published.gorf_variance import GORF_VARIANCE
from spectra import radial
from spectra.base.bessel import plane_wave_mean
from spectra.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(12, 5))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_the_matrix_of_a_kernel_of_the_papers_is_that_of_its_text(rows):
    z = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
    cubic = PaperKernel.polynomial(2, 3)
    pairs = (GAUSSIAN, DELTA_GAUSSIAN, NEAR_GAUSSIANS)
    for kernel in (*pairs, LINEAR_POLYNOMIAL, SQUARED_POLYNOMIAL, cubic):
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
    for method in ("RM", "TS"):
        with pytest.raises(ParameterError, match=method):
            make_features(DELTA_GAUSSIAN, method, 8, 0)
    with pytest.raises(ParameterError, match="unbiased"):
        mean_gram(DELTA_GAUSSIAN, "GRFF", rows)


def _variances(group):
    """What there is at z = 1, that of GRFF times s too."""
    cells = [c for c in GORF_VARIANCE.cells() if c.column == "z=1"]
    found = {c.method: c.compute(1)[0] for c in cells if c.group == group}
    return found | {c.group: c.compute(1)[0] for c in cells if c.method == group}


def test_the_exact_variances_are_those_of_closed_forms():
    """One frequency of each sign of a Gaussian pair has the variance of two cosines."""
    found = _variances("delta-Gaussian, d=16, exact radii")
    iid = sum((1 + k**4) / 2 - k**2 for k in (math.exp(-1 / 2), math.exp(-1 / 200)))
    assert found["GRFF, times s"] == pytest.approx(iid, rel=1e-7)
    # Monte Carlo of 4e5 draws had 7.81e-3 and 1.86e-3 for s = 16, with errors of a few percent.
    assert found[GORF] == pytest.approx(7.81e-3 * 16 / iid, rel=0.03)
    assert found[GORF_BLOCKS] == pytest.approx(1.86e-3 * 16 / iid, rel=0.08)
    # Truncation costs nearly everything; orthogonality between the signs the rest.
    cut = found["cut Haar matrices, signs independent"]
    assert found[GORF_BLOCKS] + 0.4 < cut < found[GORF] < cut + 0.03


def test_truncated_columns_are_not_orthogonal_and_signs_cost_little():
    """Both causes by Monte Carlo: the variance of cosines for cut Haar matrices, d = s = 4."""
    dim, z, draws = 4, 1.0, 4000
    rng = np.random.default_rng(0)
    matrices = np.linalg.qr(rng.standard_normal((2, draws, 2 * dim, 2 * dim)))[0][..., :dim, :]
    units = matrices / np.linalg.norm(matrices, axis=2, keepdims=True)
    # Columns of one matrix for both signs, or of two matrices.
    wide = np.cos(z * units[0, :, 0, :dim]).mean(axis=1)
    for narrow, independent in ((units[0, :, 0, dim:], False), (units[1, :, 0, dim:], True)):
        found = (wide - np.cos(0.5 * z * narrow).mean(axis=1)).var()
        table = gorf_variance._table_of_atoms(dim, (1.0, 0.5), (1.0, -1.0))
        model = gorf_variance.VarianceModel(table, np.array([z]))
        method = gorf_variance._CUT if independent else GORF
        exact = gorf_variance._variance(model, dim, method)[0]
        assert found == pytest.approx(exact, rel=6.0 * math.sqrt(2.0 / draws))


def test_the_published_figure_shows_blocks_within_each_sign(monkeypatch):
    """What the script plots, with exact means, is the variance that those take away."""
    monkeypatch.setattr(gorf_variance, "_POINTS", 150)
    gorf_variance._model.cache_clear()
    dim, z = 32, 1.0
    found = _variances(f"{LINEAR_POLYNOMIAL.name}, d={dim}, radii without w^(d-1)")
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
    assert 1.0 - found[GORF_BLOCKS] == pytest.approx(dim * reduction / iid, rel=1e-4)
    assert found[GORF] > 1.1 * found[GORF_BLOCKS]
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
    reason = {"without": "nobody has it"}
    experiment = Experiment(
        "A title", "A paper", "Errors", lambda: cells, "What it is.", not_run=reason
    )
    monkeypatch.setattr("rf.cli.commands.EXPERIMENTS", {"gorf-errors": experiment})
    assert main(["reproduce", "gorf-errors", "--folder", str(tmp_path), "--runs", "2"]) == 0
    assert "Not computed: without. The data set 'x'" in capsys.readouterr().out
    page = (tmp_path / "gorf-errors.md").read_text()
    assert "What it is." in page
    assert "without: not run, nobody has it." in page
    assert "s=2" not in page
    cells.append(Cell("with", "GORF", "s=2", lambda runs: (0.7, 0.1)))
    folder = ["--folder", str(tmp_path)]
    asked = ["reproduce", "gorf-errors", "--column", "s=1", "--runs", "2"]
    assert main([*asked, *folder]) == 0
    page = (tmp_path / "gorf-errors.md").read_text()
    assert "computes them): s=2 of with." in page
    assert main(["reproduce", "gorf-errors", "--only", "without", *folder]) == 2
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
    K = ask_errors.published_kernel("shift_gaussian", 5).gram(rows)
    data = Dataset("made", rows, np.ones(12), rows, np.ones(12), "made")
    draws = np.array(
        [
            Z @ Z.T
            for Z in (
                ask_accuracy._columns("shift, symmetrized", data, 60, seed)(rows)
                for seed in range(20)
            )
        ]
    )
    spread = draws.std(axis=0, ddof=1) / math.sqrt(len(draws))
    # The published features leave out the negative real part, of mass 4.92e-5.
    assert np.all(np.abs(draws.mean(axis=0) - (K + K.T) / 2.0) < 6.0 * spread + 2 * 4.93e-5)


def test_phi_has_the_real_part_once_and_the_imaginary_part_twice():
    rows = np.random.default_rng(1).uniform(size=(12, 5))
    kernel, M = ask_errors.published_kernel("cosh_gaussian", 5), 2000
    features = ask_errors.make_ask(kernel, 5, M, 0).fit(rows)
    Z = ask_errors.phi_columns(features)(rows)
    assert Z.shape[1] == 6 * M
    # The diagonal is the sum of the weights: the real mass, and twice both imaginary masses.
    masses = dict(
        zip([p.selection for p in features.measure_.parts], features.masses_, strict=True)
    )
    diagonal = masses["real+"] + 2.0 * masses["imaginary+"]
    np.testing.assert_allclose(np.sum(Z**2, axis=1), diagonal, rtol=1e-12)
    # It is a symmetric kernel, not the asymmetric one.
    assert np.abs(Z @ Z.T - kernel.gram(rows)).max() > 0.5


def test_the_rows_of_runs_differ_and_those_of_one_run_are_the_same():
    first, again, other = (sample_rows("digits", rows=30, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1


def test_the_constant_is_that_of_the_best_cross_validation():
    """Labels that a large weight alone fits, so that a small constant cannot be best."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3)) * [1e-2, 1.0, 1.0]
    y = np.where(Z[:, 0] > 0, 1, -1)
    assert best_constant(Z, y, (1e-4, 1e3)) == 1e3
    data = Dataset("made", Z, y, Z, y, "made")
    assert linear_accuracy(data, (1e-4, 1e3)) == linear_accuracy(data, 1e3) > 95.0


@pytest.mark.parametrize("right", [False, True])
def test_published_numbers_are_counted_by_what_became_of_them(right):
    """Numbers at, a tenth off and far off the published one, with ours on both sides of it."""
    ledger, cells = Ledger(None), []
    for column, again, ours in (("a", 0.52, 0.5), ("b", 0.4, 0.51), ("c", 0.6, None)):
        for method, value in (("GORF", again), ("kernel-spectra", ours)):
            published = (0.5, "kernel-spectra") if method == "GORF" else (None, "")
            compute = None if value is None else lambda runs: (0.0, 0.0)
            shown = [100.0 - v if right and v is not None else v for v in (value, published[0])]
            if compute is not None:
                ledger.add(["letter", method, column, 2], [shown[0], 0.0])
            cells.append(Cell("letter", method, column, compute, shown[1], published[1]))
    experiment = Experiment("t", "s", "m", lambda: cells, percent_right=right)
    counted = tally(experiment, cells, ledger, 2)
    assert counted.row() == "3 | 1 of 3 | 1 of 2 | 1 of 2"
    better, worse = counted.differing
    assert better.startswith("letter, GORF, b: 0.80 times the")
    assert worse.startswith("letter, GORF, c: 1.20 times the")
    assert worse in counted.text()
    assert "at or below the published number in 1 of 2" in counted.text()
    # Another number of runs is another run, of which nothing is there.
    assert tally(experiment, cells, ledger, 3).row() == "3 | none | none | none"


PAGES = Path(__file__).parents[3] / "docs" / "reproduced"
SHOWN = sorted(path.stem for path in PAGES.glob("*.jsonl"))


def _kept(name):
    kept = (PAGES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    runs = max(json.loads(line)["cell"][-1] for line in kept)
    return EXPERIMENTS[name], Ledger(PAGES / f"{name}.jsonl"), runs


def test_the_summary_says_what_became_of_every_published_number():
    summary = (PAGES.parent / "papers.md").read_text(encoding="utf-8")
    assert sorted(EXPERIMENTS) == SHOWN
    for name in SHOWN:
        assert f"(reproduced/{name}.md)" in summary
        experiment, ledger, runs = _kept(name)
        counted = tally(experiment, experiment.cells(), ledger, runs)
        row = f"| [{name}](reproduced/{name}.md) | {counted.row()} | "
        assert (row in summary) == (counted.published > 0), row


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_of_results_says_what_its_numbers_are(name, tmp_path, monkeypatch):
    """The pages that are shown are those that the results of their run make today."""
    monkeypatch.setattr("rf.papers.experiments.plots.draw", lambda path, *rest: path.touch())
    experiment, ledger, runs = _kept(name)
    write_results(name, experiment, experiment.cells(), ledger, runs, tmp_path)
    for ending in ("csv", "md"):
        shown = (PAGES / f"{name}.{ending}").read_text(encoding="utf-8")
        assert (tmp_path / f"{name}.{ending}").read_text(encoding="utf-8") == shown
    assert (PAGES / f"{name}.png").is_file()
