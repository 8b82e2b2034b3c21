"""Kernels of the l1 distance: values, verdicts, densities, tables and draws."""

import mpmath
import numpy as np
import pytest
import sympy

import spectra as sp
from spectra.errors import DataError, NoRouteError, UndecidedError
from spectra.formula.parsing import Z
from spectra.kernels.profile_terms import l1_components
from spectra.verdict import Status

TL1 = sp.l1("Max(tau - z, 0)", tau=2)


def test_the_kernel_is_a_function_of_the_sum_of_distances():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 7)), rng.normal(size=(4, 7))
    differences = X[:, None] - Y[None]
    exact = np.maximum(2.0 - np.abs(differences).sum(-1), 0.0)
    assert np.allclose(TL1.gram(X, Y), exact, atol=1e-15)
    assert np.array_equal(TL1(differences), TL1.gram(X, Y))
    both = 3 * TL1 - sp.l1("exp(-z)") * TL1 + 1
    assert np.allclose(
        both(differences), 3 * exact - np.exp(-np.abs(differences).sum(-1)) * exact + 1
    )
    assert np.array_equal(TL1.rescale(2.0).gram(X, Y), TL1.gram(X / 2.0, Y / 2.0))
    lengths = np.arange(1.0, 8.0)
    assert np.allclose(TL1.rescale(lengths).gram(X, Y), TL1.gram(X / lengths, Y / lengths))


@pytest.mark.parametrize(
    ("text", "truncated", "exponentials"),
    [
        ("3*Max(2 - 2*z, 0) + Max(1 - z, 0)", ((7, 1),), ()),
        ("2*(Max(1 - z, 0) + exp(-z/3)) - 1", ((2, 1),), ((-1, 0), (2, 1 / 3))),
        ("Max(1 - z, 0) - Max(2 - 2*z, 0)/2 + cosh(z)*exp(-2*z)", (), ((0.5, 1), (0.5, 3))),
    ],
)
def test_sums_of_truncated_distances_and_exponentials_are_read(text, truncated, exponentials):
    found = l1_components(sp.radial(text))
    assert tuple(tuple((float(c), float(x)) for c, x in pairs) for pairs in found) == (
        truncated,
        exponentials,
    )


@pytest.mark.parametrize(
    "text",
    ["1/(1 + z)", "Max(1 - z, 0)**2", "Max(1 - z, 2 - 2*z, 0)", "Max(2 - z, 1)", "exp(-z**2)"],
)
def test_other_formulas_are_refused_with_advice(text):
    kernel = sp.l1(text)
    verdict = sp.existence(kernel, 2)
    assert verdict.status is Status.UNDECIDED
    for asked, error in ((sp.derive, UndecidedError), (sp.spectral_density, NoRouteError)):
        with pytest.raises(error, match=r"not a sum of multiples of .* \(design\)"):
            asked(kernel, 2)
    assert sp.derive(sp.l1("1/(1 + z)"), 1).k_zero == 1.0


def test_what_is_infinite_on_the_line_is_infinite():
    for text in ("z", "Heaviside(1 - z)"):
        assert sp.existence(sp.l1(text), 3).status is Status.INFINITE


@pytest.mark.parametrize(
    ("text", "dim", "answer"),
    [
        ("exp(-z) + 2*exp(-3*z) + 1", 7, True),
        ("exp(-z) + 2*exp(-3*z) + 1", None, True),
        ("Max(1 - z, 0)", 1, True),
        ("Max(1 - z, 0)", 2, False),
        ("9*exp(-z) + Max(1 - z, 0) - Max(2 - z, 0)", 2, False),
    ],
)
def test_a_kink_at_a_positive_distance_is_definite_in_one_column_alone(text, dim, answer):
    assert sp.existence(sp.l1(text), dim).positive_definite.answer is answer
    if answer is False:  # a matrix of its values has a negative eigenvalue
        X = np.stack(np.meshgrid(*[np.arange(-3, 4) / 4] * dim), axis=-1).reshape(-1, dim)
        values = np.linalg.eigvalsh(sp.l1(text).gram(X))
        assert values[0] < -1e-3 * values[-1]


@pytest.mark.parametrize(
    ("terms", "largest"),  # c, n and t of c z^n exp(-t z); the largest d with a density >= 0
    [
        ([(2, 0, 1), (-1, 0, 2)], 1),
        ([(1, 0, 3**0.5), (3**0.5, 1, 3**0.5)], 1),
        ([(1, 0, 1), (1 / 9, 1, 1)], 9),
        ([(1, 0, 1), (-1 / 9, 0, 2)], 3),
        ([(1, 0, 2), (1 / 64, 2, 3), (-1 / 16, 0, 4)], 4),
    ],
)
def test_sums_of_exponentials_are_decided_by_their_densities(terms, largest):
    exact = [tuple(sympy.nsimplify(v, [sympy.sqrt(3)]) for v in term) for term in terms]
    kernel = sp.l1(sympy.Add(*(c * Z**n * sympy.exp(-t * Z) for c, n, t in exact)))
    answers = [sp.existence(kernel, d).positive_definite.answer for d in (largest, largest + 1, 20)]
    assert answers == [True, False, False]

    def density(w):
        """The density without pi: each factor z is a numerical derivative by -t."""

        def wave(t):
            return mpmath.fprod(t / (t**2 + v**2) for v in w)

        return sum(c * (-1) ** n * mpmath.diff(wave, t, n) for c, n, t in terms)

    rows = np.random.default_rng(0).uniform(0.0, 8.0, (20, largest))
    assert min(density(w) for w in rows) > 0.0
    assert min(density([w] * (largest + 1)) for w in (4.0, 16.0, 1e3)) < 0.0


@pytest.mark.parametrize("text", ["exp(-z)*cos(z)", "exp(-z**2)", "(1 + z)*exp(-pi*z)"])
def test_l1_kernels_without_a_rule_are_not_settled(text):
    assert sp.existence(sp.l1(text), 2).positive_definite.answer is None


# --- densities --------------------------------------------------------------------------------


def test_the_density_of_exponentials_is_a_product_in_any_dimension():
    w = np.random.default_rng(0).normal(size=(5, 16))
    t = 2.0**0.5
    exact = np.prod(t / np.pi / (t**2 + w**2), axis=1)
    assert np.allclose(sp.spectral_density(sp.l1("exp(-sqrt(2)*z) + 3"), 16)(w), exact, rtol=1e-14)
    for asked in (sp.derive, sp.spectral_density):
        with pytest.raises(NoRouteError, match="domain='data'"):
            asked(TL1, 4)
    with pytest.raises(DataError, match="finite"):
        sp.spectral_density(sp.l1("exp(-z)"), 16)([1.0, np.inf])


# --- tables -----------------------------------------------------------------------------------


def test_on_the_line_a_table_is_that_of_the_radial_kernel():
    kernel = sp.l1("2*exp(-z/2) - exp(-3*z) + 1/4")
    z = np.array([0.0, 0.3, 2.0])
    assert np.allclose(sp.derive(kernel, 1).expected_kernel(z), kernel.profile(z), atol=1e-12)
