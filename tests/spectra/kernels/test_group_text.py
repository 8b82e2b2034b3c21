"""Kernels of groups of columns from text, and those of the l1 distance at a shell."""

import json

import numpy as np
import pytest

import spectra as sp
from spectra.cli.commands import main
from spectra.errors import FormulaError, ParameterError
from spectra.kernels.catalogue import kernel_from_text
from spectra.kernels.catalogue.reading import any_kernel_from_text
from spectra.table import SpectralTable

SPACE, TIME = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)")
TEXT = "(exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2])"


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        (TEXT, SPACE.on([0, 1]) * TIME.on([2])),
        (f"{TEXT} - 0.5*(exp(-z)).on(2)", SPACE.on([0, 1]) * TIME.on([2]) - 0.5 * TIME.on([2])),
        ("2 * 3*(exp(-z)).on([1])+.5", 6 * TIME.on([1]) + 0.5),
        ("(exp(-(z))).on( [ 3 ] , length = 2)", TIME.on([3]).rescale(2.0)),
        (
            "(exp(-z)).on([2, 0], length=[3, 0.5])",
            sp.CompositeKernel(TIME.on([0, 2]).rescale([0.5, 1.0, 3.0]).terms),
        ),
        ("(matern(nu=5/2)).on([0])", sp.catalogue["matern"](nu=2.5).on([0])),
        ("(exp(-z)).shift(0.5) - 2", TIME.shift(0.5) - 2),
        (f"({TEXT}).shift([0, 1, 2])", (SPACE.on([0, 1]) * TIME.on([2])).shift([0, 1, 2])),
        (
            "-2*(exp(-z**2/2)).on([0]).shift([1, 3]).tilt([0.1, 0])",
            -2 * SPACE.on([0]).shift([1, 3]).tilt([0.1, 0]),
        ),
        (
            "l1(Max(2 - z, 0)).on([1, 2]) * (exp(-z)).on([0], length=3)",
            sp.l1("Max(2 - z, 0)").on([1, 2]) * TIME.on([0], length=3),
        ),
        ("(exp(-z)).on([1, 0], length=[[1, 2], [0, 1]])", TIME.on([0, 1], length=[[2, 1], [1, 0]])),
        ("exp(-z)", TIME),
        ("(exp(-z))*(1 + z)", sp.radial("exp(-z)*(1 + z)")),
    ],
)
def test_a_text_is_the_kernel_and_what_it_prints_is_it_again(text, kernel):
    found = any_kernel_from_text(text)
    assert found == kernel
    assert any_kernel_from_text(str(found)) == kernel


def test_printed_text_has_all_digits_and_lengths():
    for kernel in (
        sp.CompositeKernel(SPACE.rescale([1 / 3, 2 / 7, 0.1]).terms),
        1 / 3 * SPACE.on([0]) * TIME.on([1]) + 0.1234567890123 * TIME.on([1]),
        (sp.radial("Max(1/4 - z, 0)**2") + TIME).on([0, 1]) * TIME.on([2]) - 1.0,
    ):
        assert any_kernel_from_text(str(kernel)) == kernel
        for factor in kernel.factors:
            assert kernel_from_text(str(factor.profile)) == factor.profile


def test_parameters_go_to_the_groups_that_have_them():
    found = any_kernel_from_text(
        "(exp(-a*z)).on([0])*(exp(-b*z)).on([1])", parameters={"a": 2, "b": "1/2"}
    )
    assert found([1.0, 1.0]) == pytest.approx(np.exp(-2.5))
    with pytest.raises(ParameterError, match="'c'"):
        any_kernel_from_text("(exp(-a*z)).on([0])", parameters={"a": 2, "c": 1})


def test_malformed_text_is_refused():
    for text, offender in (
        ("(exp(-z)).on([0]) + exp(-z)", "on which columns"),
        ("(exp(-z)).on([0]) + (exp(-z)", "never closed"),
        ("(exp(-z)).on([a])", "takes columns and length"),
        ("(exp(-z)).on([])", "columns"),
        ("(exp(-z)).on([0 1])", "takes columns and length"),
        ("(exp(-z)).on([0,,1])", "takes columns and length"),
        ("(exp(-z)).on([0, 0])", "different columns"),
        ("(exp(-z)).on([0, 1], length=[1, 2, 3])", "3 lengths"),
        ("(exp(-z)).on([0], length=-1)", "positive"),
        ("(exp(-z)).on([0], length=__import__)", "takes columns and length"),
        ("(exp(u)).on([0])", "sphere"),
    ):
        with pytest.raises(ParameterError, match=offender):
            any_kernel_from_text(text)
    with pytest.raises(FormulaError, match="a product needs its"):
        any_kernel_from_text("(exp(-z)).on([0]) (exp(-z)).on([1])")
    with pytest.raises(FormulaError):
        any_kernel_from_text("(__import__('os').system('true')).on([0])")
    with pytest.raises(ParameterError, match="support"):
        any_kernel_from_text(TEXT, support=2)


def test_groups_and_the_l1_distance_at_a_shell(tmp_path, capsys):
    assert main(["check", TEXT, "--dim", "3"]) == 0
    printed = capsys.readouterr().out
    assert "columns [0, 1], d = 2" in printed
    assert "Positive definite in d = 3: yes" in printed
    assert main(["derive", TEXT, "--dim", "3", "--out", str(tmp_path / "g.npz")]) == 0
    assert SpectralTable.load(tmp_path / "g.npz").mass == pytest.approx(1.0)
    tl1 = ["Max(tau - z, 0)", "--set", "tau=2", "--metric", "l1", "--dim", "2"]
    capsys.readouterr()
    assert main(["check", *tl1, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], data["positive_definite"]["answer"]) == ("FINITE", False)
    laplace = ["exp(-z)", "--metric", "l1", "--dim", "2"]
    assert main(["derive", *laplace, "--out", str(tmp_path / "l.npz")]) == 0
    assert SpectralTable.load(tmp_path / "l.npz").k_zero == 1.0


def test_a_refusal_at_a_shell_is_one_explained_line(capsys):
    for arguments, offender in (
        (["check", TEXT, "--metric", "l1"], "--metric l1"),
        (["check", TEXT, "--plot", "x.png"], "--plot"),
        (["derive", "exp(-z)", "--metric", "l1", "--dim", "2", "--route", "lookup"], "--route"),
        (["check", "exp(u)", "--metric", "l1"], "formula in z"),
        (["derive", "Max(1 - z, 0)", "--metric", "l1", "--dim", "9"], "truncated"),
        (["derive", "z", "--metric", "l1", "--dim", "2"], "infinite"),
        (["design", TEXT, "--dim", "3", "--z-max", "2", "--tol", "0.1"], "radial"),
    ):
        assert main(arguments) == 2
        assert offender in capsys.readouterr().err


def test_text_is_taken_wherever_a_kernel_is() -> None:
    for text in ("exp(-z**2/2)", "1 - acos(u)/pi"):
        kernel = kernel_from_text(text)
        assert sp.existence(text, 3).reasons == sp.existence(kernel, 3).reasons
    for text in ("matern(nu=5/2)", "spherical"):
        kernel = kernel_from_text(text)
        found, expected = (sp.spectral_density(k, 3).radial([1.0]) for k in (text, kernel))
        assert found == expected
        assert sp.spectral_measure(text, 3).mass == sp.spectral_measure(kernel, 3).mass
        assert sp.variogram(text)(0.3) == sp.variogram(kernel)(0.3)
    np.testing.assert_allclose(
        sp.sphere_coefficients("u**2", 3, 2).values, [1 / 3, 0.0, 2 / 15], atol=1e-15
    )
    groups = "(exp(-z)).on([0])*(exp(-z**2)).on([1, 2])"
    assert sp.existence(groups, 3).status is sp.Status.FINITE
    assert sp.derive(groups, 3).dim == 3
    for ask in (sp.existence, sp.spectral_density, sp.spectral_measure, sp.sphere_coefficients):
        with pytest.raises(ParameterError, match=r"no kernel named 'matrn'. Did you mean 'matern'"):
            ask("matrn", 3)
