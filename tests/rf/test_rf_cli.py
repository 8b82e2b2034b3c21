"""The command rf: what it prints, how results survive an interruption, what it refuses."""

import csv
import json

import numpy as np
import pytest

from rf.cli.parser import main
from rf.papers.datasets import DATA_VARIABLE
from rf.papers.experiments.experiment import Cell, Experiment
from rf.papers.experiments.ledger import Ledger
from rf.papers.experiments.measures import relative_error
from rf.papers.experiments.report import table_lines
from rf.papers.published import EXPERIMENTS
from spectra.errors import DataError, TimeLimitError

DELTA = "exp(-z**2/2) - exp(-z**2/200)"
ASYMMETRIC = ["digits", "--kernel", "shift_gaussian(r=1/50, sigma=1)"]


@pytest.fixture
def two_cells(monkeypatch):
    """An experiment of two cells that counts its work, and can be stopped before the second."""
    state = {"calls": 0, "stop": False}

    def compute(runs):
        if state["stop"] and state["calls"] == 1:
            raise KeyboardInterrupt
        state["calls"] += 1
        return float(state["calls"]), 0.5

    def cells():
        return [
            Cell("group", "GORF", "s=1", compute, 0.25),
            Cell("group", "GORF", "s=2", compute),
            Cell("group", "DIGMM", "s=1", None, 4.0),
        ]

    experiment = Experiment("A title", "A paper", "Errors", cells)
    monkeypatch.setattr("rf.cli.commands.EXPERIMENTS", {"gorf-errors": experiment})
    return state


def test_errors_of_couplings_on_bundled_data(capsys, tmp_path):
    picture = tmp_path / "errors.png"
    options = ["--columns", "16", "64", "--runs", "2", "--rows", "30", "--plot", str(picture)]
    couplings = ["--coupling", "auto", "iid"]
    assert main(["approximate", "digits", "--kernel", DELTA, *options, *couplings]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if "+-" in line}
    assert list(rows) == ["auto", "iid"]
    errors = {name: [float(cell.partition("+-")[0]) for cell in row] for name, row in rows.items()}
    assert all(few > 0.0 and 0.0 < many < 1.0 for few, many in errors.values())
    assert errors["auto"][1] < errors["iid"][1]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::rf.features.ask.DroppedPartWarning")
def test_errors_of_an_asymmetric_kernel_are_those_of_the_published_features_too(capsys):
    options = ["--columns", "16", "256", "--runs", "2", "--rows", "30"]
    assert main(["approximate", *ASYMMETRIC, *options]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "+-" in line]
    rows = {line[:23].strip(): line[23:].split() for line in lines}
    assert list(rows) == ["auto", "AsKRFF", "AsKRFF, fitted masses"]
    for cells in rows.values():
        few, many = (float(cell.partition("+-")[0]) for cell in cells)
        assert 0.0 < many < few < 2.0


def test_a_refused_cell_says_why_and_the_others_stay(monkeypatch, capsys):
    def measured(features, X, exact):
        if features.coupling == "shared" and features.n_components == 16:
            raise TimeLimitError("gave up after 10 s")
        return relative_error(features, X, exact)

    monkeypatch.setattr("rf.cli.commands.relative_error", measured)
    options = ["--columns", "16", "32", "--runs", "1", "--rows", "20", "--coupling"]
    arguments = ["approximate", "digits", "--kernel", DELTA, *options]
    assert main([*arguments, "shared", "iid"]) == 0
    printed = capsys.readouterr().out
    shared, iid = (line.split() for line in printed.splitlines() if "+-" in line)
    assert shared[:2] == ["shared", "refused"]
    assert len(iid) == 3
    assert "\nshared, 16 columns: gave up after 10 s" in printed


def test_a_saved_table_stands_for_its_kernel(capsys, tmp_path):
    from spectra import radial, spectral_measure, tabulate

    path = tmp_path / "k.npz"
    tabulate(spectral_measure(radial("exp(-z**2)"), 64)).save(path)
    options = ["--columns", "32", "--runs", "1", "--rows", "40", "--coupling", "orthogonal"]
    printed = []
    for kernel in (str(path), "exp(-z**2)"):
        assert main(["approximate", "digits", "--kernel", kernel, *options]) == 0
        printed.append(capsys.readouterr().out.splitlines()[-1])
    assert printed[0] == printed[1]


def test_an_interrupted_experiment_goes_on_where_it_was(two_cells, tmp_path, capsys):
    path, folder = tmp_path / "gorf-errors.jsonl", ["--folder", str(tmp_path)]
    two_cells["stop"] = True
    assert main(["reproduce", "gorf-errors", *folder, "--runs", "3"]) == 130
    assert len(path.read_text().splitlines()) == 1
    # An interruption in the middle of a line loses this line alone.
    with path.open("a") as file:
        file.write('{"cell": ["group", "GO')
    two_cells["stop"] = False
    assert main(["reproduce", "gorf-errors", *folder, "--runs", "3"]) == 0
    assert two_cells["calls"] == 2
    assert [json.loads(line)["values"] for line in path.read_text().splitlines()] == [
        [1.0, 0.5],
        [2.0, 0.5],
    ]
    printed = capsys.readouterr()
    assert "[2/2] group | GORF | s=2: 2.0000" in printed.err
    assert "1.0000 (0.2500)" in printed.out
    assert "(4.0000)" in printed.out
    # Other numbers of runs are other results.
    assert main(["reproduce", "gorf-errors", *folder, "--runs", "4"]) == 0
    assert two_cells["calls"] == 4


def test_all_tables_go_to_a_folder_with_their_numbers_and_go_on_from_it(
    two_cells, tmp_path, capsys
):
    folder = tmp_path / "results"
    assert main(["reproduce", "all", "--folder", str(folder), "--runs", "3"]) == 0
    rows = list(csv.DictReader((folder / "gorf-errors.csv").read_text().splitlines()))
    assert [(r["method"], r["mean"], r["published"]) for r in rows] == [
        ("GORF", "1.0", "0.25"),
        ("GORF", "2.0", ""),
        ("DIGMM", "", "4.0"),
    ]
    page = (folder / "gorf-errors.md").read_text()
    assert page.startswith("# A title")
    assert "GORF, s=1: 4.00 times the published" in page
    assert (folder / "gorf-errors.png").read_bytes().startswith(b"\x89PNG")
    assert main(["reproduce", "all", "--folder", str(folder), "--runs", "3"]) == 0
    assert two_cells["calls"] == 2
    # A quick look is one run of the first column.
    capsys.readouterr()
    quick = ["--folder", str(tmp_path / "quick")]
    assert main(["reproduce", "all", "--quick", *quick]) == 0
    assert two_cells["calls"] == 3
    printed = capsys.readouterr()
    assert "s=2" not in printed.out
    assert "[1/1]" in printed.err
    capsys.readouterr()
    saved = ["--folder", str(folder)]
    assert main(["reproduce", "gorf-errors", "--column", "s=2", "--runs", "3", *saved]) == 0
    assert "s=1" not in capsys.readouterr().out
    assert main(["reproduce", "gorf-errors", "--only", "title", "--column", "s=9"]) != 0
    assert "has a column 's=9'" in capsys.readouterr().err


def test_a_file_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(DataError, match="Line 1"):
        Ledger(path)
    assert path.read_text() == "my notes\n"


def test_every_table_names_each_cell_once_and_its_columns():
    for experiment in EXPERIMENTS.values():
        cells = experiment.cells()
        keys = [json.dumps(cell.key(1)) for cell in cells]
        assert len(set(keys)) == len(keys) > 10
        text = "\n".join(table_lines(cells, Ledger(None), runs=1))
        assert all(cell.method in text and cell.column in text for cell in cells)


def test_the_data_sets_are_listed_with_what_is_missing(capsys, monkeypatch, tmp_path):
    rows = np.eye(3)
    np.savez(tmp_path / "usps.npz", X_train=rows, y_train=rows[0], X_test=rows, y_test=rows[0])
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert main(["datasets"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "3 + 3 rows in R^3" in lines["usps"]
    assert "1200 + 597 rows in R^64" in lines["digits"]
    assert "OpenML was not searched" in lines["letter"]
    assert "ijcnn1.npz" in lines["ijcnn1"]


def test_a_refusal_is_one_explained_line(capsys):
    for arguments, offender in (
        (["digits", "--kernel", "gausian", "--columns", "8"], "gausian"),
        (["iris", "--kernel", "gaussian", "--columns", "8"], "iris"),
        (["digits", "--kernel", "gaussian", "--columns", "0"], "--columns"),
        (["digits", "--kernel", "gaussian", "--columns", "8", "--runs", "0"], "--runs"),
        (["digits", "--kernel", "gaussian", "--columns", "8", "--plot", "a.xyz"], "a.xyz"),
        (["digits", "--kernel", "missing.npz", "--columns", "8"], "missing.npz"),
        ([*ASYMMETRIC, "--columns", "8", "--coupling", "iid"], "--coupling"),
        (["digits", "--kernel", "(gaussian).on([0])", "--columns", "8"], "not radial"),
    ):
        assert main(["approximate", *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.err.startswith("rf: ")
        assert offender in printed.err
        assert "Traceback" not in printed.err


def test_a_table_is_fitted_compared_and_predicted(capsys, tmp_path):
    X = np.random.default_rng(0).uniform(0, 5, (40, 2))
    table, out, picture = (tmp_path / name for name in ("data.csv", "out.csv", "map.png"))
    rows = np.column_stack([X, np.exp(np.sin(X[:, 0]))])
    np.savetxt(table, rows, delimiter=",", header="east,north,zinc", comments="")
    call = ["fit", str(table), "--x", "east", "north", "--y", "zinc", "--log"]
    families = ["--family", "gaussian", "exp(-z/l)", "circular(length=q)"]
    assert main([*call, *families, "--plot", str(picture), "--grid", "3", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "best: gaussian (AIC" in text
    assert "95 % interval" in text
    assert "'q'" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = list(csv.reader(out.read_text(encoding="utf-8").splitlines()))
    assert found[0] == ["east", "north", "log zinc", "std of log zinc"]
    assert len(found) == 10
    assert float(found[5][2]) == pytest.approx(np.sin(float(found[5][0])), abs=0.01)
    assert main(["fit", str(table), "--x", "east", "nord", "--y", "zinc"]) == 2
    assert "has no column 'nord'; it has east, north, zinc" in capsys.readouterr().err
    table.write_text("east,zinc\n1,2\n2,NA\n", encoding="utf-8")
    assert main(["fit", str(table), "--x", "east", "--y", "zinc"]) == 2
    assert "zinc in row 1" in capsys.readouterr().err
