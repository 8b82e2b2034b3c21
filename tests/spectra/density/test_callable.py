"""Python callables as kernels: verdicts from assumptions, densities with stated errors."""

import copy
import math
import pickle
import re

import numpy as np
import pytest

import spectra as sp
from spectra.derivation.kernel_to_table import address_of
from spectra.errors import AccuracyError, FormulaError, NoRouteError, ParameterError

RADII = np.geomspace(1e-2, 1e4, 61)
DISTANCES = np.array([0.0, 1e-6, 0.03, 0.31, 0.7, 1.0, 1.27, 2.0, 5.3])
STATED = {"edge": 3, "breaks": (), "origin": 1}


def cubic(z):
    return (1 - z) ** 3 * np.exp(-z)


def even(z):
    return (1 - z**2) ** 10 * np.cos(4 * z)


def one_number_only(z):
    return max(1 - z / 2, 0) ** 2.5 * math.exp(-z)


def gaussian(z):
    return np.exp(-(z**2) / 2)


def laplace(z):
    return np.exp(-z)


# --- verdicts ---------------------------------------------------------------------------------


def test_the_verdict_follows_from_statements_and_records_them():
    verdict = sp.existence(sp.radial(cubic, support=1, **STATED))
    assert str(verdict.condition) == "d < 7"
    assert verdict.assumed == {"cubic.edge": "3", "cubic.breaks": "none", "cubic.origin": "1"}
    assert any(r.startswith("Stated, not shown: cubic.edge") for r in verdict.reasons)


@pytest.mark.parametrize("missing", ["edge", "breaks", "origin"])
def test_missing_assumptions_are_named_and_decide_nothing(missing):
    stated = {name: value for name, value in STATED.items() if name != missing}
    verdict = sp.existence(sp.radial(cubic, support=1, **stated), dim=1)
    assert verdict.status is sp.Status.UNDECIDED
    assert f"state {missing}=" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("function", "options", "names"),
    [
        (lambda z: np.exp(-(z**2) / 2) * (1 + z**2), {}, "decay, breaks, origin"),
        (lambda z: (1 - z**2) ** 3 * np.exp(-(z**2)), {"support": 1}, "edge, breaks, origin"),
    ],
)
def test_one_message_names_all_that_is_missing_and_a_call_that_works(function, options, names):
    bare = sp.radial(function, **options)
    with pytest.raises(NoRouteError) as caught:
        sp.spectral_density(bare, 2)
    (reason,) = sp.existence(bare, dim=2).reasons
    for message in (reason, str(caught.value)):
        assert ", ".join(re.findall(r"(\w+)= \(", message)) == names
        call = re.search(r"radial\(callable, .*?origin='smooth'\)", message).group()
        k = eval(call, {"radial": sp.radial, "callable": function})
        assert sp.existence(k, dim=2).status is sp.Status.FINITE
        sp.spectral_density(k, 2)


def test_a_stated_break_bounds_the_dimension():
    k = sp.radial(lambda z: np.exp(-z) * (z < 0.5), breaks={0.5: 1}, origin=1, decay="exponential")
    assert str(sp.existence(k).condition) == "d < 3"
    within = sp.radial(cubic, support=1, edge=3, breaks={0.5: 1}, origin=1)
    for kernel in (k, within):
        with pytest.raises(NoRouteError, match=r"not smooth at z = 1/2.*with a support"):
            sp.spectral_density(kernel, 1)


def test_questions_about_a_part_of_the_range_are_refused():
    verdict = sp.existence(sp.radial(cubic, support=1, **STATED), dim=3)
    with pytest.raises(ParameterError, match="callable"):
        verdict.on_domain(0.5)


# --- densities and tables -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "stated", "density"),
    [
        (gaussian, {"origin": "smooth", "decay": "gaussian"},
         {1: lambda w: math.sqrt(2 / math.pi) * np.exp(-(w**2) / 2),
          2: lambda w: w * np.exp(-(w**2) / 2),
          3: lambda w: math.sqrt(2 / math.pi) * w**2 * np.exp(-(w**2) / 2)}),
        (laplace, {"origin": 1, "decay": "exponential"},
         {1: lambda w: 2 / math.pi / (1 + w**2),
          3: lambda w: 4 / math.pi * w**2 / (1 + w**2) ** 2}),
    ],
)  # fmt: skip
def test_a_callable_without_support_has_the_known_density(function, stated, density):
    for dim, exact in density.items():
        k = sp.radial(function, breaks=(), **stated)
        found = sp.spectral_density(k, dim)
        truth = exact(RADII)
        assert np.all(np.abs(found.radial(RADII) - truth) <= found.error(RADII) + 4e-16 * truth)
        # At most 1.5e-11 was measured, without vector instructions.
        assert np.all(RADII * found.error(RADII) <= 5e-11 * np.max(RADII * truth))


def test_an_error_above_1e_12_in_probability_is_refused_unless_asked_for():
    k = sp.radial(laplace, breaks=(), origin=1, decay="exponential")
    measure = sp.existence(k, dim=5).measure
    with pytest.raises(AccuracyError, match=r"the 1.00e-12 accepted\. Ask for u_error="):
        sp.tabulate(measure)
    table = sp.tabulate(measure, u_error=1e-11)
    assert 1e-12 < table.u_error <= 1e-11
    assert np.abs(table.expected_kernel(DISTANCES) - k(DISTANCES)).max() <= 5e-11


@pytest.mark.slow
def test_a_table_of_a_callable_with_a_support_has_the_kernel_for_expectation():
    k = sp.radial(cubic, support=1, **STATED)
    measure = sp.existence(k, dim=3).measure
    error = np.abs(sp.tabulate(measure).expected_kernel(DISTANCES) - k(DISTANCES))
    assert np.all(error <= 1e-11)
    assert abs(measure.positive_mass.mid - measure.negative_mass.mid - 1) <= measure.mass.rad


@pytest.mark.slow
def test_a_smooth_callable_is_refused_where_its_integral_cancels():
    k = sp.radial(gaussian, breaks=(), origin="smooth", decay="gaussian")
    with pytest.raises(AccuracyError, match="formula"):
        sp.spectral_density(k, 64)
    sech = sp.radial(lambda z: 1 / np.cosh(z), breaks=(), origin="smooth", decay="exponential")
    with pytest.raises(AccuracyError, match="cancels in dimension 16"):
        sp.spectral_density(sech, 16)


def test_a_callable_that_is_zero_at_every_distance_is_refused():
    k = sp.radial(lambda z: np.exp(-1e9 * z), origin=1)
    with pytest.raises(NoRouteError, match="is 0 at every distance"):
        sp.spectral_density(k, 3)


def test_a_slow_decay_is_refused():
    k = sp.radial(lambda z: 1 / (1 + z), breaks=(), origin=1, decay=1)
    with pytest.raises(NoRouteError, match="decays like"):
        sp.spectral_density(k, 1)
    with pytest.raises(NoRouteError, match="has not decayed"):
        sp.spectral_density(sp.radial(lambda z: 1 / (1 + z), origin=1), 1)


def test_values_that_no_series_follows_are_refused():
    k = sp.radial(lambda z: np.abs(z - 0.4) * (1 - z) ** 2, support=1, edge=2, origin=1)
    with pytest.raises(AccuracyError, match="as smooth"):
        sp.spectral_density(k, 1)


# --- kernels ------------------------------------------------------------------------------------


def test_kernels_of_callables_add_scale_and_compare():
    k = sp.radial(cubic, support=1, **STATED)
    z = np.array([0.0, 0.5, 1.5, 3.0])
    total = 2 * k.rescale(2) + sp.radial("exp(-z)") - 0.5
    expected = 2 * np.where(z <= 2, cubic(z / 2), 0) + np.exp(-z) - 0.5
    np.testing.assert_allclose(total(z), expected, rtol=1e-15, atol=1e-16)
    assert k == sp.radial(cubic, support=1, **STATED)
    assert k != sp.radial(cubic, support=1)
    assert k != sp.radial(even, support=1, **STATED)
    assert hash(k) == hash(sp.radial(cubic, support=1, **STATED))
    assert (k - k).pieces == ()
    assert k.gram(np.eye(2))[0, 0] == 1.0
    assert str(sp.existence(total).condition) == "d < 7"


def test_callables_of_equal_name_are_different_kernels():
    first, second = (sp.radial(f, support=1) for f in (lambda z: 1 - z, lambda z: (1 - z) ** 2))
    assert str(first) == str(second)
    assert first != second
    np.testing.assert_allclose((first + second)([0.5]), [0.75], rtol=1e-15)
    np.testing.assert_allclose((first * second)([0.5]), [0.125], rtol=1e-15)
    # A table on disk is found by its formula, which says nothing of a callable.
    assert address_of(first, 1, u_error=1e-12) is None


def test_callables_of_one_number_are_asked_one_by_one():
    k = sp.radial(one_number_only, support=2)
    z = np.array([[0.0, 0.5], [1.0, 2.0]])
    expected = [[one_number_only(x) for x in row] for row in z]
    np.testing.assert_array_equal(k(z), expected)


def test_kernels_are_pickled_by_reference_and_lambdas_refused():
    k = sp.radial(cubic, support=1, **STATED)
    again = pickle.loads(pickle.dumps(k))
    assert again == k
    assert again([0.5])[0] == k([0.5])[0]
    anonymous = sp.radial(lambda z: 1 - z, support=1)
    with pytest.raises(ParameterError, match="top level of a module"):
        pickle.dumps(anonymous)
    assert copy.deepcopy(anonymous) == anonymous


@pytest.mark.parametrize(
    ("function", "options", "error", "words"),
    [
        (cubic, {"support": 1, "length": 2}, ParameterError, "names are edge"),
        (cubic, {"edge": 2}, ParameterError, "give support="),
        (cubic, {"support": 1, "decay": 2}, ParameterError, "with a support"),
        (cubic, {"decay": "fast"}, ParameterError, "unknown"),
        (cubic, {"support": 1, "origin": 2}, ParameterError, "even power"),
        (cubic, {"support": 1, "edge": -1}, ParameterError, "exponent"),
        (cubic, {"support": 1, "breaks": [2]}, ParameterError, "between 0 and the support"),
        (lambda z: "text", {"support": 1}, FormulaError, "no real number"),
        (lambda z: np.sqrt(z - 0.5), {"support": 1}, FormulaError, "not finite at z"),
    ],
)
def test_wrong_assumptions_and_values_are_refused(function, options, error, words):
    with pytest.raises(error, match=words):
        sp.radial(function, **options)


@pytest.mark.parametrize(
    ("function", "z", "words", "cause"),
    [
        (
            lambda z: (z - z**2) / z if z < 2 else 0,
            0.0,
            "ZeroDivisionError .* z = 0",
            ArithmeticError,
        ),
        (lambda z: [3.0, 2.0, 1.0][int(4 * z / 1.2)], 0.91, "IndexError", IndexError),
    ],
)
def test_errors_of_a_callable_name_the_distance(function, z, words, cause):
    with pytest.raises(FormulaError, match=words) as caught:
        sp.radial(function, support=1)([0.3, z])
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.slow
def test_a_power_that_is_absent_at_zero_is_in_the_error():
    by_values = sp.spectral_density(
        sp.radial(lambda z: (1 - z) ** 4 * (1 + 4 * z), support=1, edge=4, origin=3), 1
    )
    true = sp.spectral_density(sp.radial("max(1 - z, 0)**4*(1 + 4*z)"), 1)
    w = np.geomspace(1.0, 1e20, 200)
    off = np.abs(by_values.radial(w) - true.radial(w))
    assert np.all(off <= by_values.error(w) + true.error(w))


def test_noise_in_values_is_within_the_error():
    def noisy(z):
        values = np.exp(-(z**2))
        return values * (1 + 1e-10 * np.sin(1e15 * np.asarray(z)))

    by_values = sp.spectral_density(sp.radial(noisy, origin="smooth", decay="gaussian"), 3)
    true = sp.spectral_density(sp.radial("exp(-z**2)"), 3)
    w = np.geomspace(0.01, 8.0, 300)
    off = np.abs(by_values.radial(w) - true.radial(w))
    assert np.all(off <= by_values.error(w) + true.error(w))
