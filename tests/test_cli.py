"""The command line: what it prints, what it writes, and what it refuses before it works."""

import json

import pytest

import spectra as sp
from spectra.cli import main


def test_a_kernel_is_derived_to_a_table_and_a_picture(tmp_path, capsys):
    table, picture = tmp_path / "k.npz", tmp_path / "k.png"
    formula = "exp(-z**2/2) - exp(-z**2/8)/2"
    options = ["--dim", "3", "--out", str(table), "--plot", str(picture)]
    assert main(["derive", formula, *options]) == 0
    assert "finite mass in d = 3" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    k = sp.radial(formula)
    assert sp.SpectralTable.load(table).expected_kernel([1.0]) == pytest.approx(k([1.0]), abs=1e-10)


def test_a_verdict_is_printed_for_a_person_and_for_a_program(capsys):
    assert main(["check", "(1 - z**2/4)**2", "--support", "2"]) == 0
    assert "finite mass exactly for d < 5" in capsys.readouterr().out
    assert main(["check", "ntk", "--dim", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "INFINITE"


def test_parameters_are_numbers_in_the_language_of_formulas(capsys):
    assert main(["check", "matern", "--set", "nu=3/2", "--set", "length=sqrt(2)"]) == 0
    assert "matern(nu=3/2" in capsys.readouterr().out


def test_the_catalogue_lists_every_entry(capsys):
    assert main(["catalogue"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in sp.catalogue)


@pytest.mark.parametrize(
    ("arguments", "offender"),
    [
        (["check", "expp(-z)"], "expp"),
        (["check", "mattern"], "mattern"),
        (["check", "exp(-z"], "("),
        (["check", "exp(-a*z)", "--set", "a"], "NAME=NUMBER"),
        (["check", "exp(-a*z)", "--set", "a=1", "--set", "a=2"], "twice"),
        (["check", "exp(-z)", "--dim", "0"], "0"),
        (["check", "exp(-z)", "--support", "-1"], "-1"),
        (["derive", "ntk", "--dim", "16"], "ntk"),
        (["derive", "exp(-z)", "--dim", "2", "--out", "k.txt"], "k.txt"),
        (["derive", "exp(-z)", "--dim", "2", "--out", "missing/k.npz"], "missing"),
        (["derive", "exp(-z)", "--dim", "2", "--plot", "k.xyz"], "k.xyz"),
        (["tour", "--out", "missing/tour.png"], "missing"),
    ],
)
def test_a_refusal_is_one_explained_line(arguments, offender, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("spectra: ")
    assert offender in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.slow
def test_the_tour_ends_in_a_table_and_a_picture(tmp_path, capsys):
    assert main(["tour", "--out", str(tmp_path / "tour.png")]) == 0
    printed = capsys.readouterr().out
    assert "infinite mass in d = 64" in printed
    assert "ORF accuracy" in printed
    assert (tmp_path / "tour.png").read_bytes().startswith(b"\x89PNG")
