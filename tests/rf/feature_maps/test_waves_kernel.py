"""The hot loop: sine and cosine to 1 ulp of 1 for every argument, in both implementations."""

import threading
import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from mpmath import mp, mpf
from threadpoolctl import threadpool_info, threadpool_limits

import rf
from rf.feature_maps.fourier_features import Rays, fourier_columns
from rf.feature_maps.sincos import LIMIT
from rf.feature_maps.threads import on_threads, serial_blas
from spectra.base.compiled import IMPLEMENTATION_VARIABLE, implementation
from spectra.errors import ParameterError

IMPLEMENTATIONS = ["numpy", "numba"]
TYPES = [np.float64, np.float32]


@pytest.fixture(params=IMPLEMENTATIONS, autouse=True)
def implementation_in_turn(request, monkeypatch):
    if request.param == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv(IMPLEMENTATION_VARIABLE, request.param)
    return request.param


def waves(x):
    """Cosines and sines of x, through all of the hot loop."""
    x = np.asarray(x)
    columns = fourier_columns(x[:, None], np.ones((1, 1)), np.ones(1))
    assert columns.dtype == x.dtype
    return columns[:, 0], columns[:, 1]


def worst_error(x):
    """Largest error of both functions, against mpmath, which reduces every size."""
    errors = []
    with mp.workprec(120):
        for t, c, s in zip(x.tolist(), *waves(x), strict=True):
            errors += [abs(mp.cos(mpf(t)) - float(c)), abs(mp.sin(mpf(t)) - float(s))]
    return float(max(errors))


def arguments(dtype, rng):
    """Every size that the type has, and the neighbours of multiples of pi/4."""
    info = np.finfo(dtype)
    sizes = np.exp(rng.uniform(np.log(info.tiny), np.log(info.max), 150))
    near = np.pi / 4 * np.concatenate([np.arange(1, 80), 2.0 ** np.arange(3, 24) + 1])
    edges = (
        LIMIT * np.array([0.5, 1 - 1e-7, 1.0, 1 + 1e-7, 2.0]) / (128 if dtype is np.float32 else 1)
    )
    given = [1e5, 1e15, 1e30, info.smallest_subnormal, info.tiny, info.max]
    each = np.concatenate([sizes, near, edges, given]).astype(dtype)
    each = np.concatenate([each, np.nextafter(each, dtype(0)), rng.normal(size=100).astype(dtype)])
    return np.concatenate([each, -each])


class TestSineAndCosine:
    @pytest.mark.parametrize("dtype", TYPES)
    def test_the_error_is_at_most_one_ulp_of_one(self, dtype):
        rng = np.random.default_rng(0)
        phases = np.concatenate([rng.normal(scale=s, size=300) for s in (1.0, 30.0, 3000.0)])
        for x in (arguments(dtype, rng), phases.astype(dtype)):
            # Rounding alone makes a quarter of it: less would mean that nothing was looked at.
            assert 0.25 * np.finfo(dtype).eps < worst_error(x) <= np.finfo(dtype).eps

    def test_the_hardest_arguments_of_all(self):
        """Those nearest to a multiple of pi/2 (Muller, Elementary Functions, table 11.2)."""
        x = 6381956970095103.0 * 2.0**797
        cosine, sine = waves([x, 1e300])
        assert cosine[0] == pytest.approx(-4.68716592425462761e-19, rel=1e-15)
        assert sine[0] == 1.0
        assert worst_error(np.array([x, 1e300])) <= 2.2e-16
        assert worst_error(np.array([16367173.0 * 2.0**72], np.float32)) <= 1.2e-7

    @pytest.mark.parametrize("dtype", TYPES)
    def test_what_is_not_a_number_stays_so_and_its_neighbours_do_not_mind(self, dtype):
        x = np.array([1.0, np.nan, 2.0, np.inf, -np.inf, 3.0], dtype)
        with np.errstate(invalid="warn"), pytest.warns(RuntimeWarning, match="invalid value"):
            cosine, sine = waves(x)
        finite = np.isfinite(x)
        assert np.all(np.isnan(cosine) == ~finite)
        assert np.all(np.isnan(sine) == ~finite)
        np.testing.assert_allclose(sine[finite], np.sin(x[finite]), rtol=3e-7)


@cache
def rays_and_phases(dtype):
    """Radii on common directions, sparse rows, and the waves of their phases in long doubles."""
    rng = np.random.default_rng(0)
    rays = Rays(rng.normal(size=(600, 16)), np.array([0.3, 1.0, 1e6, 2.5]))
    X = np.where(rng.random((300, 16)) < 0.5, rng.normal(size=(300, 16)), 0.0).astype(dtype)
    phases = rng.uniform(-3, 3, 2400)
    exact = X.astype(np.longdouble) @ rays.frequencies.T.astype(np.longdouble) + phases
    return rays, X, phases, exact, np.cos(exact), np.sin(exact)


class TestColumns:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize(
        ("dim", "n", "lone"), [(1, 3, 0), (7, 1, None), (7, 1, 0), (300, 513, -1)]
    )
    def test_columns_are_right_to_the_stated_error(self, dtype, dim, n, lone):
        """The phase to (d + 3) u (sum |w x| + |phase|), the waves and their scale to 5 u."""
        rng = np.random.default_rng(dim)
        X = (3.0 * rng.normal(size=(133, dim))).astype(dtype)
        w, phases = rng.normal(size=(n, dim)), rng.uniform(-5, 5, n)
        scale = rng.uniform(0.5, 2.0, n)
        lone = lone if lone is None else lone % n
        out = fourier_columns(X, w, scale, phases, without_sine=lone)
        exact = X.astype(np.longdouble) @ w.T.astype(np.longdouble) + phases
        size = np.abs(X).astype(float) @ np.abs(w).T + np.abs(phases)
        allowed = scale * np.finfo(dtype).eps / 2 * ((dim + 3) * (size + np.abs(exact)) + 5.0)
        kept = np.arange(n) if lone is None else np.delete(np.arange(n), lone)
        assert out.shape == (133, n + kept.size)
        error = np.abs(out[:, :n] - scale * np.cos(exact)) / allowed
        assert 1e-3 < error.max() < 1.0
        error = np.abs(out[:, n:] - (scale * np.sin(exact))[:, kept]) / allowed[:, kept]
        assert not kept.size or 1e-3 < error.max() < 1.0

    @pytest.mark.parametrize(("dtype", "lone"), [(np.float64, None), (np.float32, 1300)])
    def test_radii_on_common_directions_are_projected_once(self, dtype, lone):
        """To the stated error, where a radius is 1e6 too, for dense rows and sparse ones."""
        rays, X, phases, exact, cosine, sine = rays_and_phases(dtype)
        w = rays.frequencies
        size = np.abs(X).astype(float) @ np.abs(w).T + np.abs(phases)
        allowed = np.finfo(dtype).eps / 2 * (19.0 * (size + np.abs(exact)) + 5.0)
        kept = np.arange(2400) if lone is None else np.delete(np.arange(2400), lone)
        for rows in (X, scipy.sparse.csr_array(X)):
            out = fourier_columns(rows, w, np.ones(2400), phases, without_sine=lone, rays=rays)
            assert 1e-3 < (np.abs(out[:, :2400] - cosine) / allowed).max() < 1.0
            error = np.abs(out[:, 2400:] - sine[:, kept]) / allowed[:, kept]
            assert 1e-3 < error.max() < 1.0

    def test_the_output_array_is_used_or_refused(self):
        X, w = np.ones((4, 2)), np.ones((3, 2))
        whole = np.full((6, 6), 7.0)
        assert fourier_columns(X, w, np.ones(3), out=whole[:4]).base is whole
        np.testing.assert_allclose(whole[:4], fourier_columns(X, w, np.ones(3)))
        assert np.all(whole[4:] == 7.0)
        for out, found in (
            (np.empty((4, 5)), "shape \\(4, 5\\)"),
            (np.empty((4, 6), np.float32), "float32"),
            (np.empty((4, 12))[:, ::2], "not contiguous"),
            ([1.0], "out is a list"),
            (np.frombuffer(bytes(192)).reshape(4, 6), "cannot be written"),
        ):
            with pytest.raises(ParameterError, match=found):
                fourier_columns(X, w, np.ones(3), out=out)

    def test_no_more_than_blocks_are_held_beside_the_output(self):
        rng = np.random.default_rng(0)
        X, w = rng.normal(size=(3000, 4)), rng.normal(size=(1024, 4))
        out = np.empty((3000, 2048))
        fourier_columns(X[:9], w, np.ones(1024), out=out[:9])
        tracemalloc.start()
        fourier_columns(X, w, np.ones(1024), out=out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4e6 < out.nbytes / 10


class TestThreads:
    def test_any_number_of_threads_gives_the_same_columns(self):
        rng = np.random.default_rng(0)
        X, w = rng.normal(size=(2000, 3)), rng.normal(size=(1000, 3))
        with threadpool_limits(1):
            one = fourier_columns(X, w, np.ones(1000))
        with threadpool_limits(3):
            three = fourier_columns(X, w, np.ones(1000))
        np.testing.assert_array_equal(one, three)

    def test_what_a_thread_raises_is_raised(self):
        def work(tasks):
            for task in tasks:
                if task == 40:
                    raise ZeroDivisionError("task 40")

        before = threading.active_count()
        with pytest.raises(ZeroDivisionError, match="task 40"):
            on_threads(work, 100, 3)
        assert threading.active_count() == before

    def test_a_warning_of_a_thread_heeds_the_caller(self):
        with np.errstate(invalid="ignore"):
            on_threads(lambda tasks: [np.sin(np.inf) for _ in tasks], 50, 3)

    def test_blas_has_its_threads_again_after_the_last_user(self):
        def threads():
            return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

        with threadpool_limits(3, user_api="blas"):
            before = threads()
            one, two = serial_blas(), serial_blas()
            assert one.__enter__() == two.__enter__() == max(before)
            assert set(threads()) == {1}
            # The first to come leaves first.
            one.__exit__(None, None, None)
            assert set(threads()) == {1}
            two.__exit__(None, None, None)
            assert threads() == before


class TestConfiguration:
    def test_what_runs_is_said(self, capsys, implementation_in_turn):
        rf.show_config()
        text = capsys.readouterr().out
        assert f"inner loop: {implementation_in_turn}" in text
        assert f"numpy {np.__version__}" in text
        assert "threads: " in text

    def test_the_environment_decides_for_a_process(self, monkeypatch):
        monkeypatch.setenv(IMPLEMENTATION_VARIABLE, "numpy")
        assert implementation() == "numpy"
        monkeypatch.setenv(IMPLEMENTATION_VARIABLE, "fortran")
        with pytest.raises(ParameterError, match="no such implementation"):
            implementation()
        monkeypatch.delenv(IMPLEMENTATION_VARIABLE)
        assert implementation() in IMPLEMENTATIONS
