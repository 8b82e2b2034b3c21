"""Hadamard blocks are projected by fast transforms, which give what a product gives."""

from functools import cache

import numpy as np
import pytest

from rf import SpectralFeatures
from rf.feature_maps.backend import walsh_kernel
from rf.feature_maps.fourier_features import wave_columns
from rf.feature_maps.walsh import walsh_transform
from rf.sampling.frequencies import draw_frequencies, draw_repeatedly
from spectra.base.compiled import using
from tests.oracles.laws import gaussian_law, gaussian_mixture, table_of

SLOW = pytest.mark.slow


@pytest.fixture(params=["numpy", "numba"])
def implementation(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    with using(request.param):
        yield request.param


def sylvester(order):
    rows = np.arange(order)
    bits = np.array([bin(i).count("1") for i in (rows[:, None] & rows).ravel()])
    return 1.0 - 2.0 * (bits % 2).reshape(order, order)


def test_the_transform_is_the_product_with_the_matrix_of_sylvester():
    for order in (1, 2, 64):
        a = np.random.default_rng(0).integers(-9, 9, size=(order, 3)).astype(float)
        np.testing.assert_array_equal(walsh_transform(a), sylvester(order) @ a)


@pytest.mark.parametrize(("dim", "draws"), [(1, 3), (7, 1), (16, 3)])
def test_blocks_are_the_frequencies_that_were_drawn(dim, draws):
    """w_j = factor_j (H D2 H D1 H D0)_j, every part in blocks of its own."""
    table = gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])
    drawn = draw_repeatedly(table, (150, 37), draws, coupling="hadamard", rng=0)
    for one in drawn:
        rows = []
        for block in one.blocks:
            H, (first, second, third) = sylvester(block.order), block.signs
            matrix = H @ np.diag(third) @ H @ np.diag(second) @ H @ np.diag(first)
            rows.append(block.factor[:, None] * matrix[: block.factor.size, :dim])
        assert sum(len(r) for r in rows) == 187
        np.testing.assert_allclose(np.concatenate(rows), one.frequencies, rtol=1e-13, atol=1e-13)


def test_other_couplings_have_no_blocks():
    table = table_of(4, [(1.0, gaussian_law(4))])
    for coupling in ("iid", "orthogonal", "shared"):
        assert draw_frequencies(table, (9,), coupling=coupling, rng=0).blocks == ()


@cache
def projected(dim, dtype):
    """Rows, frequencies of Hadamard blocks, and their products in long doubles."""
    X = (np.random.default_rng(dim).normal(size=(70, dim)) / dim**0.5).astype(dtype)
    table = table_of(dim, [(1.0, gaussian_law(dim))])
    draw = draw_frequencies(table, (2 * dim + 5,), coupling="hadamard", rng=0)
    return X, draw, X.astype(np.longdouble) @ draw.frequencies.T


@pytest.mark.parametrize(
    ("dim", "dtype", "order"),
    [(3, np.float64, "C"), (300, np.float32, "F"), pytest.param(1024, np.float64, "C", marks=SLOW)],
)
def test_a_projection_errs_by_few_roundings_of_the_lengths(dim, dtype, order, implementation):
    """By at most 3 (p_1 + p_2) u |w| |x|, p_1 p_2 = p being the factors of the numpy transform."""
    X, draw, exact = projected(dim, dtype)
    X = np.asarray(X, order=order)
    kernel, _ = walsh_kernel(dtype)
    start = 0
    for block in draw.blocks:
        w = draw.frequencies[start : start + block.factor.size]
        out = np.empty((70, len(w)), dtype)
        kernel(X, block.signs.astype(dtype), block.factor.astype(dtype), out)
        lengths = np.linalg.norm(X.astype(float), axis=1)[:, None] * np.linalg.norm(w, axis=1)
        error = np.abs(out - exact[:, start : start + len(w)]) / (lengths * np.finfo(dtype).eps / 2)
        assert 0.02 < error.max() <= 3 * 3 * 2 ** (block.order.bit_length() // 2)
        start += block.factor.size
    assert start == 2 * dim + 5


@pytest.mark.parametrize(("dtype", "columns"), [(np.float64, 2501), (np.float32, 2048)])
def test_features_of_blocks_are_those_of_the_product(dtype, columns, implementation):
    """Also with a cosine alone, phases, cut blocks and an order above the dimension."""
    dim = 1000
    X = (np.random.default_rng(0).normal(size=(30, dim)) / dim**0.5).astype(dtype)
    table = gaussian_mixture(dim, [(1.5, 1.0), (-0.5, 2.0)])
    options = {"coupling": "hadamard", "allocation": "mass", "mixed_signature": "ignore"}
    features = SpectralFeatures(table, n_components=columns, random_state=0, **options).fit(X)
    draw, layout = features.frequencies_, features.feature_map_
    assert draw.blocks[0].order == 1024 >= walsh_kernel(dtype)[1]
    dense = wave_columns(
        X.astype(float),
        draw.frequencies,
        layout.scale,
        layout.left_phases,
        without_sine=layout.lone,
    )
    found = features.transform(X)
    assert found.shape == (30, columns)
    error = np.abs(found - dense).max() / layout.scale.max()
    assert 0.0 < error <= 40 * np.finfo(dtype).eps
