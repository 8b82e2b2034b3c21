"""What every kernel of the algebra has: the table is the kernel, draws are unbiased, and their
variance is the stated one."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import spectra as sp
from rf.sampling.frequencies import draw_repeatedly
from rf.schemes.table_scheme import model_at
from spectra.errors import ParameterError
from spectra.kernels.catalogue.reading import any_kernel_from_text
from tests.oracles.pooling import mean_score, variance_score

G, E = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)")
MATERN, L1 = sp.catalogue["matern"](nu=1.5), sp.l1("exp(-z) + exp(-3*z)/2")
A = [[1.0, 1.0, 0.0], [0.2, -1.0, 2.0]]
SIX = 6.0
IID, COUPLED = ("iid", "iid"), ("orthogonal", "stratified")
KERNELS = {
    "groups": (G.on([0, 1]) * E.on([2]) - 0.5 * E.on([2]) + 0.25, 3),
    "matrix": (G.rescale(A) * E.on([2]) - 0.3 * E.rescale(A[:1]), 3),
    "l1 and a group": (L1.on([0, 1]) * G.on([2]), 3),
    "l1 with lengths": (L1.rescale([1.0, 2.0]) - 0.2 * sp.l1("exp(-z)"), 2),
    "one axis": (G.shift(0.25) - 0.7 * G.shift(-0.5) + 0.1, 2),
    "two axes": (MATERN.shift([1.2, 0, 0, 0]) + 0.5 * G.shift(0.3), 4),
    "a shifted product": ((G.on([0]) * E.on([1])).shift([0.5, 0.0]), 2),
    "a shifted group": (G.on([0, 1]).shift([0.3, 0, 0]) + E.on([2]), 3),
    "a tilted product": ((G.on([0, 1]) * G.on([1, 2])).tilt([0.2, -0.1, 0.3]), 3),
    "an additive kernel": (sp.additive(E, 4, order=2), 4),
}
TWO_SHIFTS = (G.on([0]) * E.on([1])).shift([0.5, 0]) - 0.4 * (G.on([0]) * E.on([1])).shift(-0.5)


def check(kernel, dim, how, draws):
    table = sp.derive(kernel, dim, cache=False)
    D = np.random.default_rng(1).uniform(-1, 1, (4, dim))
    D[0, 1:] = 0.0
    np.testing.assert_allclose(table.expected_kernel(D), kernel(D), rtol=0, atol=1e-9 * table.mass)
    counts = [3 + p % 3 for p in range(len(table.parts))]
    options = {"coupling": how[0], "radii": how[1]}
    variance, error = model_at(table, D).variance(counts, **options)
    drawn = draw_repeatedly(table, counts, draws, random_state=0, **options)
    values = np.array([each.estimate(D) for each in drawn])
    assert mean_score(values, kernel(D), variance + error) < SIX
    assert variance_score(values, kernel(D), variance, error) < SIX
    assert np.all(error <= 1e-4 * table.mass**2)
    rough = model_at(table, D, approximate=True).variance(counts, **options)[0]
    np.testing.assert_allclose(rough, variance, rtol=0.03, atol=1e-6)


@pytest.mark.parametrize("how", [IID, COUPLED], ids=lambda how: how[0])
@pytest.mark.parametrize("name", KERNELS)
def test_draws_are_unbiased_and_have_the_stated_variance(name, how):
    check(*KERNELS[name], how, 200)


@pytest.mark.slow
@pytest.mark.parametrize("how", [IID, COUPLED, ("iid", "stratified"), ("designed", "iid")])
@pytest.mark.parametrize("name", KERNELS)
def test_many_draws_have_the_stated_variance(name, how):
    check(*KERNELS[name], how, 6000)


def test_several_shifts_of_a_product_are_drawn_independently():
    check(TWO_SHIFTS, 2, IID, 250)
    with pytest.raises(ParameterError, match="independent frequencies"):
        check(TWO_SHIFTS, 2, COUPLED, 1)


# Factors: the law of each is a closed form, so that an example takes milliseconds.
lengths = st.floats(0.5, 2.0).map(lambda x: round(x, 3))


@st.composite
def factors(draw):
    columns = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    if len(columns) == 2 and draw(st.booleans()):
        return L1.on(columns)
    n, profile = len(columns), draw(st.sampled_from([G, E, MATERN]))
    rows = st.lists(lengths, min_size=n, max_size=n)
    return profile.on(
        columns, length=draw(st.one_of(lengths, rows, st.lists(rows, min_size=2, max_size=2)))
    )


@st.composite
def kernels(draw):
    total = draw(st.floats(-1, 1).map(lambda x: round(x, 2)))
    for _ in range(draw(st.integers(1, 2))):
        term = draw(factors())
        term = term * draw(factors()) if draw(st.booleans()) else term
        if draw(st.booleans()):
            term = term.shift(draw(st.lists(lengths, min_size=3, max_size=3)))
        total = total + draw(lengths) * term
    return total


@seed(11)
@settings(max_examples=8, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(kernels())
def test_a_kernel_its_text_and_its_table_agree(kernel):
    X, Y = np.random.default_rng(0).normal(size=(2, 4, 3))
    D = X[:, None] - Y
    np.testing.assert_allclose(kernel.gram(X, Y), kernel(D), rtol=0, atol=1e-14)
    for again in (any_kernel_from_text(str(kernel)), pickle.loads(pickle.dumps(kernel))):
        assert again.terms == kernel.terms
        assert hash(again.terms) == hash(kernel.terms)
    table = sp.derive(kernel, 3)
    np.testing.assert_allclose(
        table.expected_kernel(D), kernel(D), rtol=0, atol=1e-9 * (1 + table.mass)
    )
    assert table.k_zero == pytest.approx(float(kernel(np.zeros(3))), abs=1e-14)
