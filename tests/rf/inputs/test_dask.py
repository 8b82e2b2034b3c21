"""Rows beyond memory: chunks of an iterator, memory maps, and collections of dask on workers."""

import tracemalloc

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from rf import KreinRidge, SpectralFeatures
from spectra.errors import DataError, ParameterError
from spectra.kernels.kernel import radial

da = pytest.importorskip("dask.array", reason='pip install "kernel-spectra[dask]"')

SIGNED = "exp(-z**2/2) - exp(-z**2/8)/2"


def features(n=40, kernel=SIGNED):
    return SpectralFeatures(kernel, n_components=n, mixed_signature="ignore", random_state=0)


def data(dim, n=230):
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(n, dim))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def counted(X, chunks):
    """X as an array of dask, and the list of the chunks that were asked for."""
    seen = []

    def note(rows, block_info=None):
        if block_info:  # dask calls it once with none, to see what it gives
            seen.append(block_info[0]["chunk-location"])
        return rows

    return da.from_array(X, chunks=chunks).map_blocks(note, dtype=X.dtype), seen


@pytest.mark.parametrize(("dim", "dtype"), [(1, np.float32), (3, np.float64)])
def test_columns_are_made_chunk_by_chunk_when_they_are_asked_for(dim, dtype):
    X = data(dim)[0].astype(dtype)
    D, seen = counted(X, (90, 2))
    fitted = features().fit(D)
    assert {row for row, _ in seen} == {0}  # a fit looks at the first rows only
    seen.clear()
    Z, K = fitted.transform(D), fitted.gram(D)
    assert Z.shape == (230, 40)
    assert Z.chunks == ((90, 90, 50), (40,))
    assert K.shape == (230, 230)
    assert Z.dtype == K.dtype == dtype
    assert not seen
    assert np.array_equal(Z.compute(), fitted.transform(X))
    assert {row for row, _ in seen} == {0, 1, 2}
    reference, bound = fitted.gram(X), 1e3 * np.finfo(dtype).eps
    assert np.abs(K.compute() - reference).max() <= bound
    assert np.abs(fitted.gram(D, X[:9]).compute() - reference[:, :9]).max() <= bound
    assert np.abs(fitted.gram(X[:9], Y=D).compute() - reference[:9]).max() <= bound


def test_both_sides_of_an_asymmetric_kernel_are_lazy():
    X, _ = data(2)
    shifted = features(64, radial("exp(-z**2/2)").shift([0.5, -0.2])).fit(X)
    D = da.from_array(X, chunks=100)
    assert np.array_equal(shifted.transform_right(D).compute(), shifted.transform_right(X))
    assert np.allclose(shifted.gram(D).compute(), shifted.gram(X), rtol=0, atol=1e-13)


def test_rows_of_a_chunk_are_checked_and_out_is_refused():
    X, _ = data(2)
    designed = features(20, "exp(-z**2/2)").set_params(domain=9.0).fit(X)
    far = np.concatenate([X, X + 40.0])
    lazy = designed.transform(da.from_array(far, chunks=100))
    with pytest.raises(DataError, match="from the mean of the fitted rows"):
        lazy.compute()
    with pytest.raises(ParameterError, match="asked for"):
        designed.transform(da.from_array(X, chunks=100), out=np.empty((230, 20)))


class TestSums:
    @pytest.mark.parametrize(("dim", "solver"), [(1, "stationary"), (7, "flip")])
    def test_chunks_a_memory_map_and_dask_give_the_model_of_all_rows(self, dim, solver, tmp_path):
        X, y = data(dim)
        w = np.random.default_rng(0).uniform(0, 2, len(X))
        model = KreinRidge(FrozenEstimator(features().fit(X)), alpha=0.3, solver=solver)
        reference = model.fit(X, y, w).predict(X)
        cuts = [slice(0, 10), slice(10, 200), slice(200, 230)]
        by_chunks = model.fit_chunks((X[c], y[c], w[c]) for c in cuts).predict(X)
        D, Y, W = (da.from_array(v, chunks=c) for v, c in ((X, 90), (y, 70), (w, 230)))
        of_dask = model.fit(D, Y, W).predict(X)
        np.save(tmp_path / "rows.npy", X)
        mapped = model.fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), y, w).predict(X)
        assert model.sums_.rows == 230
        for found in (by_chunks, of_dask, mapped):
            assert np.abs(found - reference).max() <= 1e-9
        assert np.abs(model.fit(X, y).predict(X) - reference).max() > 1e-3  # weights were heard

    def test_the_order_of_the_additions_is_that_of_the_graph(self):
        import dask

        X, y = data(2, 900)
        model, found = KreinRidge(FrozenEstimator(features().fit(X))), []
        for scheduler in ("synchronous", "threads"):
            with dask.config.set(scheduler=scheduler):
                found.append(model.fit(da.from_array(X, chunks=70), y).coef_)
        assert np.array_equal(*found)

    def test_what_is_no_data_is_refused(self):
        X, y = data(2)
        model = KreinRidge(FrozenEstimator(features().fit(X)))
        with pytest.raises(ParameterError, match="no chunk of rows"):
            model.fit_chunks([])
        y[150] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.fit_chunks([(X[:100], y[:100]), (X[100:], y[100:])])
        with pytest.raises(ValueError, match="NaN"):
            model.fit(da.from_array(X, chunks=100), da.from_array(y, chunks=100))
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.fit_chunks([(X[:100], y[:100]), (X[100:], y[:9])])

    def test_the_memory_of_a_pass_does_not_grow_with_the_rows(self):
        columns, chunk = 64, np.random.default_rng(0).normal(size=(2000, 2))
        model = KreinRidge(FrozenEstimator(features(columns, "gaussian").fit(chunk[:50])))
        peaks = []
        for count in (3, 15):
            tracemalloc.start()
            model.fit_chunks((chunk, chunk[:, 0]) for _ in range(count))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert model.sums_.rows == 30_000
        assert peaks[1] < 1.1 * peaks[0] < 15 * 2000 * columns * 8
