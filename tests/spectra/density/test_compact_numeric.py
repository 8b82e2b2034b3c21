"""Formulas on a ball that no closed form is known for: their densities, tables and refusals."""

import numpy as np
import pytest
import sympy
from mpmath import mp

import spectra as sp
from spectra.density.ball.numeric import component_of_formula
from spectra.density.numeric import split_at_breaks
from spectra.formula.parsing import Z
from spectra.formula.pieces import Piece

slow = pytest.mark.slow
RADII = np.geomspace(1e-3, 1e4, 43)
DISTANCES = np.array([0.0, 1e-6, 0.03, 0.31, 0.7, 1.0, 1.27, 2.0, 5.3])


def one_minus_z_times_exp(power, w, moment):
    """The integral of (1-z)^power z^moment exp(-z) exp(iwz), by the recursion in the power."""
    a = 1 - 1j * w
    value = (1 - mp.exp(-a)) / a
    values = [value := value if n == 0 else (1 - n * value) / a for n in range(power + 2)]
    # z = 1 - (1 - z)
    return values[power] if moment == 0 else values[power] - values[power + 1]


def askey_times_exp(dim, w):
    """rho of (1-z)^3 exp(-z) on z <= 1 in d = 1 and 3, elementary."""
    if dim == 1:
        return 2 / mp.pi * one_minus_z_times_exp(3, w, 0).real
    return 2 / mp.pi * w * one_minus_z_times_exp(3, w, 1).imag


def cosine_power(dim, w):
    """rho of cos(pi z/2)^4 = 3/8 + cos(pi z)/2 + cos(2 pi z)/8 on z <= 1 in d = 1 and 3."""
    total = mp.mpf(0)
    for a, c in ((0, mp.mpf(3) / 8), (mp.pi, mp.mpf(1) / 4), (-mp.pi, mp.mpf(1) / 4),
                 (2 * mp.pi, mp.mpf(1) / 16), (-2 * mp.pi, mp.mpf(1) / 16)):  # fmt: skip
        v = w + a
        if dim == 1:
            total += c * mp.sin(v) / v
        else:
            total += c * (mp.sin(v) / v**2 - mp.cos(v) / v)
    return 2 / mp.pi * total * (1 if dim == 1 else w)


def check(density, exact, radii, tolerance):
    """The true error is below the stated one, and that below the tolerance times the envelope."""
    (component,) = density.components
    values, stated = density.radial(radii), density.error(radii)
    assert np.all(stated <= tolerance * np.exp(component.log_envelope(radii)))
    with mp.workdps(45):
        for w, value, bound in zip(radii, values, stated, strict=True):
            assert abs(mp.mpf(float(value)) - exact(mp.mpf(float(w)))) <= bound, w


@pytest.mark.parametrize(
    ("formula", "oracle", "dim"),
    [
        ("exp(-z)*(1-z)**3", askey_times_exp, 1),
        pytest.param("cos(pi*z/2)**4", cosine_power, 3, marks=slow),
    ],
)
def test_a_density_is_within_its_error_of_an_elementary_one(formula, oracle, dim):
    density = sp.spectral_density(sp.radial(formula, support=1), dim, route="numeric")
    check(density, lambda w: oracle(dim, w), RADII, 2e-13)


@pytest.mark.parametrize(
    ("formula", "support", "dim"),
    [
        pytest.param("exp(-z)*(pi-z)**3*sin(z)", "pi", 2, marks=slow),
        pytest.param("asin(1-z)**3", "1", 3, marks=slow),
        pytest.param("sqrt(1-z**2)*exp(-z**2)", "1", 1, marks=slow),
    ],
)
def test_the_expectation_of_a_table_is_the_kernel(formula, support, dim):
    k = sp.radial(formula, support=sympy.sympify(support))
    measure = sp.existence(k, dim=dim).measure
    table = sp.tabulate(measure)
    error = np.abs(table.expected_kernel(DISTANCES) - k(DISTANCES))
    # A distance is only known to rounding, which counts at a steep edge.
    rounding = 4 * np.finfo(float).eps
    blur = np.abs(k(DISTANCES * (1 + rounding)) - k(DISTANCES * (1 - rounding)))
    assert np.all(error <= 1e-12 * max(1.0, measure.mass.mid) + blur)
    assert measure.mass.rad <= 1e-11 * measure.mass.mid


def test_a_formula_is_cut_where_it_changes():
    balls, rest = split_at_breaks(Piece(sympy.oo, sympy.exp(-Z) + sympy.Max(0, 2 - Z) ** 2))
    assert [r for r, _ in balls] == [2]
    assert rest == sympy.exp(-Z)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("(1-z)**2*log(1-z)", "logarithm"),
        ("z**2*log(z)*(1-z)**3", "logarithm"),
        ("(1-z)**3/(1+10**7*z**2)", "complex singularity"),
        ("(1-z)**3*exp(-z**(1/7))", "common denominator"),
        ("exp(-z*sqrt(1-z**2))", "differences are no integers"),
    ],
)
def test_what_is_no_power_at_an_end_is_refused_in_words(formula, words):
    expr = sp.radial(formula, support=1).pieces[0].expr
    with pytest.raises((sp.errors.NoRouteError, sp.errors.AccuracyError), match=words):
        component_of_formula(expr, sympy.Integer(1), 1)


def test_the_density_is_zero_at_the_largest_radii():
    density = sp.spectral_density(sp.radial("1-z**2", support=1), 2)
    assert np.all(np.abs(density.radial([1e307, 1.5e308])) < 1e-300)


@pytest.mark.parametrize("text", ["Min(1, 1/z)", "1/Max(1, z)"])
def test_a_branch_without_a_bounded_continuation_is_refused_with_that_reason(text):
    kernel = sp.radial(text)
    for dim in (1, 2):
        assert sp.existence(kernel, dim).status is sp.Status.FINITE
        with pytest.raises(sp.errors.NoRouteError, match="both must be finite at 0"):
            sp.spectral_density(kernel, dim)
    assert sp.existence(kernel, 3).status is sp.Status.INFINITE


@pytest.mark.parametrize("text", ["z**500*exp(-z)", "Abs(z - 1)**(3/2)*exp(-z)"])
def test_a_refusal_advises_a_design(text):
    with pytest.raises(sp.errors.NoRouteError, match="design a finite measure for the range"):
        sp.spectral_density(sp.radial(text), 1)


@pytest.mark.parametrize(
    ("text", "values", "end"),
    [
        ("Max(0, 1 - z - z**5)", lambda z: 1 - z - z**5, 0.75487766624669276),
        ("Max(0, 1/2 - tanh(z))", lambda z: 0.5 - mp.tanh(z), 0.54930614433405485),
        ("Max(0, 1/2 - erf(z))", lambda z: 0.5 - mp.erf(z), 0.47693627620446987),
    ],
)
def test_a_kernel_that_ends_at_any_root_has_its_density(text, values, end):
    density = sp.spectral_density(text, 3)
    for w in (0.3, 4.0, 40.0):
        integral = mp.quad(
            lambda z, w=w: values(z) * z * mp.sin(w * z), np.linspace(0.0, end, 12).tolist()
        )
        assert density.radial(w) == pytest.approx(float(2 / mp.pi * w * integral), abs=1e-13)
    assert density(0.0) == pytest.approx(float(density(1e-5)), rel=1e-9)
    assert sp.derive(text, 1).mass == pytest.approx(sp.spectral_measure(text, 1).mass.mid, rel=0.02)
