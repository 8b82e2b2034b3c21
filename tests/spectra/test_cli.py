"""The command line: output, files and error messages."""

import argparse
import json
import re
import shlex

import pytest

import spectra as sp
from rf.cli.parser import _COMMANDS as _RF_COMMANDS
from rf.cli.parser import main as rf_main
from spectra.base.limits import check_time
from spectra.cli.commands import _COMMANDS, main


def test_a_kernel_is_derived_to_a_table_and_a_picture(tmp_path, capsys):
    table, picture = tmp_path / "k.npz", tmp_path / "k.png"
    formula = "exp(-z**2/2) - exp(-z**2/8)/2"
    options = ["--dim", "3", "--out", str(table), "--plot", str(picture)]
    assert main(["derive", formula, *options]) == 0
    assert "finite mass in d = 3" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    k = sp.radial(formula)
    assert sp.SpectralTable.load(table).expected_kernel([1.0]) == pytest.approx(k([1.0]), abs=1e-10)


def test_a_verdict_is_printed_as_text_and_as_json(capsys):
    assert main(["check", "(1 - z**2/4)**2", "--support", "2"]) == 0
    assert "finite mass exactly for d < 5" in capsys.readouterr().out
    assert main(["check", "ntk", "--dim", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "INFINITE"


def test_a_sequence_of_numbers_is_a_parameter_too(capsys):
    sets = ("weights=[1, 2]", "frequencies=(1, (3 + 1)/2)", "lengths=[1, max(1/2, 1)]")
    assert main(["check", "matern", "--set", "nu=3/2", "--set", "length=sqrt(2)"]) == 0
    assert "matern(nu=3/2" in capsys.readouterr().out
    assert main(["check", "spectral_mixture", *(a for s in sets for a in ("--set", s))]) == 0
    assert "weights=(1, 2), frequencies=(1, 2), lengths=(1, 1)" in capsys.readouterr().out


def test_the_catalogue_lists_every_entry_and_conditions_in_words(capsys):
    assert main(["catalogue"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in sp.catalogue)
    assert "finite mass for a = 2 and d < 2*p + 1\n" in printed


def test_the_usage_of_design_says_that_a_goal_is_required(capsys):
    for goal in ([], ["--tol", "1e-3", "--budget", "9"]):
        with pytest.raises(SystemExit) as left:
            main(["design", "ntk", "--dim", "16", *goal])
        assert left.value.code == 2
        assert "(--tol TOL | --n-components N)" in " ".join(capsys.readouterr().err.split())


def test_a_verdict_is_printed_when_the_masses_take_too_long(monkeypatch, capsys):
    def forever(_):
        while True:
            check_time()

    monkeypatch.setattr("spectra.verdict.positive_definite._decide_by_masses", forever)
    asked = ["check", "exp(-z)*cos(3*z**2)/(1+z**4)", "--dim", "5", "--time-limit", "0.2"]
    sp.existence(asked[1], 5)  # what is known without masses is not to be ended
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "finite mass in d = 5" in printed
    assert "masses: not computed within 0.2 s" in printed


def test_the_verdict_is_printed_before_a_table_that_fails(capsys):
    asked = ["derive", "1/(1+z)", "--dim", "3", "--u-error", "1e-16"]
    assert main(asked) == 2
    assert "finite mass in d = 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("formula", "marked"),
    [
        ("1 + exq(z)", "    1 + exq(z)\n        ^^^\n"),
        ("exp(-z", "    exp(-z\n       ^\n"),
        ("z+" * 100 + "exq(z)", "    " + "z+" * 12 + "exq(z)\n" + " " * 28 + "^^^\n"),
        ("2*exp(\t-q*z)", "    2*exp( -q*z)\n            ^\n"),
    ],
)
def test_syntax_errors_are_marked_once(formula, marked, capsys):
    assert main(["check", formula]) == 2
    printed = capsys.readouterr().err
    assert printed.count(marked) == 1
    assert printed.count("^^^" if "^^^" in marked else "^\n") == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["derive", "ntk", "--dim", "16"], "'spectra design'"),
        (["derive", "Abs(sin(z) + sin(sqrt(2)*z))/(1 + z)**3", "--dim", "2"], "--assume"),
        (["derive", "1/(1+z)", "--dim", "1", "--route", "lookup"], "another --route"),
        (["design", "ntk", "--dim", "16", "--tol", "1e-3"], "--z-max"),
        (["derive", "1/(1+z)", "--dim", "3", "--u-error", "1e-16"], "error"),
        (["derive", "exp(-z**3)/(5 + z)", "--dim", "5", "--time-limit", "1e-9"], "--time-limit"),
        (["check", "exp(-lam*z)"], "--set"),
        (["check", "mattern"], "mattern"),
        (["tour", "--out", "missing/tour.png"], "missing"),
        (["check", "exp(-a*z)", "--set", "a=1", "--set", "a=2"], "twice"),
        (["derive", "exp(-z)", "--dim", "2", "--out", "missing/k.npz"], "missing"),
        (["derive", "exp(-z)", "--dim", "2", "--plot", "k.xyz"], "k.xyz"),
    ],
)
def test_errors_are_one_line_and_name_options(arguments, advice, capsys):
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith("spectra: ")
    assert "Traceback" not in message
    assert advice in message
    call = r"(design|existence|on_domain|truncate|time_limit|tabulate)\(|\w+=[\w.\"]"
    assert re.search(call, message) is None, message


def test_assumptions_are_options_of_the_command_line(capsys):
    rectified = "Abs(sin(z) + sin(sqrt(2)*z))/(1 + z)**3"
    assert main(["check", rectified, "--dim", "2"]) == 0
    assert "undecided" in capsys.readouterr().out
    assert main(["check", rectified, "--dim", "2", "--assume", "smoothness=9/10"]) == 0
    assert "finite mass in d = 2" in capsys.readouterr().out
    assert main(["check", rectified, "--dim", "2", "--assume", "finite=1"]) == 2
    assert "smoothness, decay, origin" in capsys.readouterr().err
    assert main(["check", "exp(-a*z)", "--set", "a"]) == 2
    assert "NAME=NUMBER" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "table"), [(main, _COMMANDS), (rf_main, _RF_COMMANDS)])
def test_every_option_has_a_help_and_every_command_an_example_that_parses(command, table, capsys):
    for name, subcommand in table.items():
        with pytest.raises(SystemExit):
            command([name, "--help"])
        printed = capsys.readouterr().out
        assert all(f"{name} {example}".rstrip() in printed for example in subcommand.examples)
        parser = argparse.ArgumentParser()
        subcommand.add_arguments(parser)
        assert all(action.help for action in parser._actions)
        for example in subcommand.examples:
            assert callable(parser.parse_args(shlex.split(example)).run)


@pytest.mark.parametrize("command", [main, rf_main])
def test_a_command_prints_its_version(command, capsys):
    with pytest.raises(SystemExit) as left:
        command(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.endswith(f"of kernel-spectra {sp.__version__}\n")


@pytest.mark.slow
def test_the_tour_ends_in_a_table_and_a_picture(tmp_path, capsys):
    assert main(["tour", "--out", str(tmp_path / "tour.png")]) == 0
    printed = capsys.readouterr().out
    assert "infinite mass in d = 64" in printed
    # At equal columns, the same kernel: ours errs by less at every number of them.
    rows = [line.split() for line in printed.splitlines()]
    theirs, ours = (
        next([float(x) for x in row[1:]] for row in rows if row[:1] == [name])
        for name in ("RBFSampler", "SpectralFeatures")
    )
    assert len(ours) == len(theirs) == 5
    assert all(0.0 < a < b / 3 for a, b in zip(ours, theirs, strict=True))
    order = float(printed.partition("these rows have the error ")[2].split()[0].rstrip("."))
    assert 0.0 < order < 0.05
    assert (tmp_path / "tour.png").read_bytes().startswith(b"\x89PNG")


def test_the_variogram_command_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variogram", "1 - exp(-z)*cos(z)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert ["a variogram, proved" in line for line in lines] == [True, True, False]
    assert "no variogram" in lines[2]
    assert main(["variogram", "s*(3*z/2 - z**3/2)", "--reach", "1", "--set", "s=2", "--dim=4"]) == 0
    assert "on R^4: no variogram" in capsys.readouterr().out
    assert main(["check", "1 - exp(-z)", "--dim", "3"]) == 0
    assert "ask 'spectra variogram'" in capsys.readouterr().out
