"""Lengths: rows are divided, the table is that of the kernel, and a wrong unit is named."""

import warnings

import numpy as np
import pytest
import scipy.sparse

import spectra as sp
from rf import (
    GORF,
    GRFF,
    ORF,
    RFF,
    GaussianField,
    LengthScaleWarning,
    SpectralFeatures,
    two_sample_test,
)
from rf.inputs.rows import lengths_for
from rf.inputs.unit_warning import _where_it_varies, warn_if_constant, warn_if_wrong_unit
from spectra.errors import DataError, ParameterError

GAUSS, EXPONENTIAL = "exp(-z**2/2)", "exp(-z)"


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(
    ("system", "d"), [(SpectralFeatures, 3), (RFF, 1), (ORF, 2), (GRFF, 7), (GORF, 1)]
)
def test_lengths_divide_the_rows_and_nothing_else(system, d):
    X, lengths = rows(20, d), np.geomspace(0.1, 30.0, d)
    scaled = system(EXPONENTIAL, n_components=16, length_scale=lengths, random_state=0).fit(
        X * lengths
    )
    plain = system(EXPONENTIAL, n_components=16, random_state=0).fit(X)
    assert scaled.counts_ == plain.counts_
    np.testing.assert_allclose(scaled.transform(X * lengths), plain.transform(X), atol=1e-12)
    np.testing.assert_allclose(scaled.gram(X * lengths), plain.gram(X), atol=1e-12)
    np.testing.assert_array_equal(scaled.length_scale_, lengths)
    np.testing.assert_array_equal(scaled.variance([0.5, 2.0]), plain.variance([0.5, 2.0]))


@pytest.mark.parametrize("d", [1, 7])
def test_a_kernel_with_lengths_is_the_radial_one_of_divided_rows(d):
    X, lengths = rows(30, d), np.geomspace(0.1, 30.0, d)
    kernel = sp.radial(EXPONENTIAL).rescale(lengths)
    exact = sp.radial(EXPONENTIAL).gram(X / lengths)
    np.testing.assert_allclose(kernel.gram(X), exact, atol=1e-15)
    features = SpectralFeatures(kernel, n_components=16, random_state=0).fit(X)
    assert features.kernel_ == kernel
    assert features.table_.formula == EXPONENTIAL
    np.testing.assert_array_equal(features.kernel_.gram(X), kernel.gram(X))
    other = SpectralFeatures(EXPONENTIAL, n_components=16, length_scale=lengths, random_state=0)
    np.testing.assert_array_equal(features.transform(X), other.fit(X).transform(X))
    both = SpectralFeatures(kernel, n_components=16, length_scale=2.0, random_state=0).fit(2.0 * X)
    np.testing.assert_allclose(both.transform(2.0 * X), other.transform(X), atol=1e-12)


def test_the_median_is_that_of_the_distances():
    X = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_array_equal(lengths_for("median", X), [2.0])
    fitted = RFF(length_scale="median", random_state=0).fit(1000.0 * X)
    np.testing.assert_array_equal(fitted.length_scale_, [2000.0])
    with pytest.raises(DataError, match="half of the rows coincide"):
        RFF(length_scale="median").fit(np.ones((4, 2)))
    with pytest.raises(DataError, match="1 sample"):
        RFF(length_scale="median").fit(np.ones((1, 2)))


def test_lengths_are_positive_and_as_many_as_the_columns():
    for bad in (0.0, -1.0, [1.0, 2.0], [1.0, -1.0, 1.0], "mean", [np.inf] * 3):
        with pytest.raises((ParameterError, ValueError), match="length_scale"):
            SpectralFeatures(length_scale=bad).fit(rows(5, 3))
    with pytest.raises((ParameterError, DataError), match="length"):
        SpectralFeatures(sp.radial(GAUSS).rescale([1.0, 2.0])).fit(rows(5, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_and_single_precision_are_divided_in_their_type(dtype):
    X, lengths = rows(6, 3).astype(dtype), np.array([1.0, 20.0, 0.3])
    X[X < 0] = 0.0
    made = RFF(length_scale=lengths, random_state=0).fit(X)
    assert made.transform(X).dtype == dtype
    np.testing.assert_allclose(
        made.transform(scipy.sparse.csr_array(X)), made.transform(X), atol=1e-5
    )


def test_rows_on_a_sphere_are_not_divided():
    X = rows(5, 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for kernel in ("exp(u)", sp.zonal("(1 + u)/2")):
        with pytest.raises(ParameterError, match="lives on the unit sphere"):
            SpectralFeatures(kernel, length_scale=2.0).fit(X)
    with pytest.raises(ParameterError, match="sphere"):
        sp.zonal("exp(u)").rescale([1.0, 2.0, 3.0])


def test_fields_and_two_samples_have_the_same_lengths():
    X, lengths = rows(40, 2), np.array([2.0, 50.0])
    kernel = sp.radial(EXPONENTIAL)
    field = GaussianField(kernel.rescale(lengths), n_components=64, random_state=0)
    same = GaussianField(kernel, n_components=64, length_scale=lengths, random_state=0)
    np.testing.assert_array_equal(field(X), same(X))
    again = GaussianField(
        kernel.rescale(lengths), n_components=64, length_scale=3.0, random_state=0
    )
    np.testing.assert_allclose(again(3.0 * X), field(X), atol=1e-12)
    scaled = two_sample_test(
        X * lengths, (X + 0.3) * lengths, length_scale=lengths, n_permutations=20, random_state=0
    )
    plain = two_sample_test(X, X + 0.3, length_scale=1.0, n_permutations=20, random_state=0)
    assert scaled.mmd2 == pytest.approx(plain.mmd2, abs=1e-12)


@pytest.mark.parametrize(("unit", "said"), [(1e4, "a larger unit"), (1e-6, "a smaller unit")])
def test_a_wrong_unit_is_named_with_its_numbers(unit, said):
    system, X = RFF, rows(50, 3)
    with pytest.warns(LengthScaleWarning, match=said) as caught:
        system(EXPONENTIAL, n_components=8, random_state=0).fit(unit * X)
    assert "the kernel varies between the distances 0.00117 and 7.36" in str(caught[0].message)
    assert caught[0].filename == __file__
    for length in (unit, "median"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            system(EXPONENTIAL, n_components=128, length_scale=length, random_state=0).fit(unit * X)


@pytest.mark.parametrize("text", ["cos(3*z)", "1"])
def test_a_table_without_a_limit_is_flat_nowhere(text):
    near, far = _where_it_varies(sp.derive(sp.radial(text), 1))
    assert far == np.inf or not near < far
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_wrong_unit(sp.derive(sp.radial(text), 1), 1e5 * rows(20, 1))


PLACE, DAY = sp.radial(GAUSS).on([0, 1]), sp.radial(EXPONENTIAL).rescale(30.0).on([2])


def test_the_group_of_a_wrong_unit_is_named():
    X = rows(50, 3)  # a day is no thirtieth of a month here
    for given in (PLACE * DAY, sp.derive(PLACE * DAY, 3)):
        with pytest.warns(LengthScaleWarning, match=r"X\[:, \[2\]\]") as caught:
            SpectralFeatures(given, n_components=8, coupling="iid").fit(X * [1.0, 1.0, 1e-3])
        assert [w.category for w in caught].count(LengthScaleWarning) == 1


def test_near_neighbours_are_enough():
    # A long record in one dimension: only neighbours are within a length of one another.
    X = np.arange(8_000.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_constant(sp.radial(EXPONENTIAL), X)
        warn_if_constant(sp.radial(GAUSS), X)
    with pytest.warns(LengthScaleWarning, match="between 40 and"):
        warn_if_constant(sp.radial(GAUSS), 40.0 * X)
