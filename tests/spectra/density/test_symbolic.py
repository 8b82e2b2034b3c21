"""The symbolic route: formulas in w, each checked before it is returned."""

import sys

import numpy as np
import pytest
import sympy

import spectra as sp
from spectra.cli.commands import main
from spectra.density import gamma_formula, gamma_products
from spectra.density.closed_pairs.pair import W
from spectra.density.lookup import lookup
from spectra.density.sympy_process import TASKS, ask_sympy
from spectra.errors import FormulaError, NoRouteError

symbolic_module = sys.modules["spectra.density.symbolic"]
RADII = (0.11, 1.3, 8.0)


def values(formula):
    return [float(sympy.re(sympy.N(formula.subs(W, sympy.Rational(w)), 20))) for w in RADII]


# --- formulas from known transforms -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("(1 + z)*exp(-z) - z*besselk(1, 2*z)", None),
        ("(1 - z)**4*(4*z + 1)", 1),
        ("1 - 2*asin(z/2)/pi", 2),
    ],
)
def test_the_known_formula_is_the_closed_form(text, support):
    kernel = sp.radial(text, support=support)
    for dim in (1, 2, 16):
        closed = lookup(kernel, dim)
        formula = (
            closed.expr if support else gamma_formula(gamma_products(kernel.pieces[0].expr), dim)
        )
        found, exact = values(formula), closed.density(RADII)
        size = np.abs(exact)
        if support:
            size += closed.error(RADII) / closed.error(RADII).max() * closed.density([0.01])[0]
        assert np.all(np.abs(found - exact) <= 1e-11 * size)


# --- sympy, and what is believed of it ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dims"), [("exp(-z**(3/2))", (1, 7)), ("sqrt(z)*exp(-z**2)", (3, 64))]
)
def test_a_formula_is_the_density(text, dims):
    kernel = sp.radial(text)
    for dim in dims:
        exact = sp.spectral_density(kernel, dim).density(RADII)
        assert values(sp.spectral_density(kernel, dim, route="symbolic").expr) == pytest.approx(
            exact, rel=1e-10
        )


@pytest.mark.slow
@pytest.mark.parametrize(("task", "dim"), [("hankel", 2), ("cosine", 3)])
def test_each_transform_of_sympy_agrees_with_look_up(task, dim):
    z = sympy.Symbol("z", positive=True)
    formula = TASKS[task](sympy.exp(-z) * (1 + z), dim, None)
    closed = lookup(sp.radial("exp(-z)*(1 + z)"), dim)
    assert values(formula) == pytest.approx(closed.density(RADII), rel=1e-12)


@pytest.mark.slow
def test_products_of_bessel_functions_are_found_for_the_arc_cosine_kernel():
    density = sp.spectral_density(sp.catalogue["arc_cosine_1"], 2, route="symbolic")
    j0, j1 = sympy.besselj(0, W), sympy.besselj(1, W)
    expected = (W * (j1**2 - j0**2) + 2 * j0 * j1) / (sympy.pi * W**3)
    assert sympy.simplify(density.expr - expected) == 0


KERNEL = sp.radial("exp(-z**2)*cosh(z)")
RIGHT = sympy.exp(-(W**2 - 1) / 4) * sympy.cos(W / 2) / (2 * sympy.sqrt(sympy.pi))


def answer(monkeypatch, formula, reason=""):
    """Let sympy say what it is told."""
    monkeypatch.setattr(symbolic_module, "ask_sympy", lambda *_, **__: (formula, reason))


def test_wrong_answers_of_sympy_are_rejected_and_right_ones_taken(monkeypatch):
    answer(monkeypatch, RIGHT)
    assert sp.spectral_density(KERNEL, 1, route="symbolic").expr == RIGHT
    answer(monkeypatch, RIGHT * (1 + W / 10**9))
    with pytest.raises(NoRouteError, match="was rejected"):
        symbolic_module.symbolic(sp.spectral_density(KERNEL, 1))


def test_a_transform_without_an_answer_is_named(monkeypatch):
    answer(monkeypatch, None, "sympy knows no closed form")
    with pytest.raises(NoRouteError, match="hankel: sympy knows no closed form"):
        sp.spectral_density(KERNEL, 2, route="symbolic")


def test_what_has_no_numbers_or_no_formula_is_refused_before_sympy_is_asked(monkeypatch):
    monkeypatch.setattr(symbolic_module, "ask_sympy", None)
    with pytest.raises(NoRouteError):
        sp.spectral_density(sp.radial("z**2*log(z)"), 2, route="symbolic")
    kernel = sp.radial(lambda z: (1 - z) ** 2, support=1, edge=2, breaks=(), origin=1)
    with pytest.raises(NoRouteError, match="sympy is not asked"):
        sp.spectral_density(kernel, 2, route="symbolic")


def test_sympy_is_stopped_at_the_limit():
    found, reason = ask_sympy("cosine", sympy.exp(-sympy.Symbol("z")), dim=1, limit=0.05)
    assert found is None
    assert "stopped after 0.05 seconds" in reason


# --- the numbers that decide --------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 1000])
def test_formulas_are_compared_beyond_the_range_of_doubles(dim):
    numbers = lookup(sp.radial("exp(-z**2/2)"), dim)
    symbolic_module.compare_formula(numbers.expr, numbers)
    with pytest.raises(FormulaError, match=f"in dimension {dim} it gives"):
        symbolic_module.compare_formula(numbers.expr * (1 + W / 10**9), numbers)


def test_a_bounded_spectrum_has_a_formula_and_atoms():
    density = sp.spectral_density(sp.radial("sin(z)/z - cos(3*z)/2"), 1, route="symbolic")
    assert density.expr == sympy.Piecewise((sympy.Rational(1, 2), W < 1), (0, True))
    assert [(a.radius, a.mass) for a in density.atoms] == [(3.0, -0.5)]
    with pytest.raises(FormulaError, match="it gives"):
        symbolic_module.compare_formula(density.expr * 2, density)


# --- the shell ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_the_formula_as_text_and_latex(capsys):
    assert main(["derive", "exp(-z**2)", "--dim", "3", "--route", "symbolic"]) == 0
    out = capsys.readouterr().out
    assert "mu(w) = exp(-w**2/4)/(8*pi**(3/2))" in out
    assert "LaTeX: \\frac{e^{- \\frac{w^{2}}{4}}}{8 \\pi^{\\frac{3}{2}}}" in out
    assert main(["derive", "exp(-z**2)", "--dim", "3", "--route", "magic"]) == 2
    assert "'symbolic'" in capsys.readouterr().err
