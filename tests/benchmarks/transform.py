"""Rows to features: transform beside RBFSampler, plain numpy, and gpytorch where it is there."""

from __future__ import annotations

import ctypes
import os
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from threadpoolctl import threadpool_limits

from rf import SpectralFeatures
from spectra.base.compiled import IMPLEMENTATION_VARIABLE

from .pictures import PICTURE, draw_times
from .timing import Table, number, say

__all__ = ["run"]

_ROWS, _COLUMNS = 20_000, 4096
_DIMS = (16, 64, 256, 1024)
_REPEATS = 3
# Processor seconds after which a rival is not run again.
_PATIENCE = 4.0
# Rows whose columns are compared with long doubles.
_CHECKED = 20
_RIVALS = ("torch", "gpytorch")

Arms = dict[str, Callable[[], Any]]


# Options of glibc's mallopt: never mmap, never give memory back.
_KEPT_MEMORY = ((-4, 0), (-1, -1))


def run() -> list[Table]:
    """Times on one thread, their growth, on two, and the memory that is held beside the output."""
    memory = _memory()
    _keep_memory()
    times = _times()
    draw_times(times, PICTURE)
    return [times, _growth(), _threads(), memory]


def _keep_memory() -> None:
    """Let results reuse memory: first touches of its pages would hide the rest, in every arm."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for option, value in _KEPT_MEMORY:
            library.mallopt(option, value)


def _features(dim: int, *, columns: int = _COLUMNS) -> Any:
    X = np.random.default_rng(0).normal(size=(2, dim))
    options: Any = {"coupling": "iid", "allocation": "mass", "random_state": 0}
    return SpectralFeatures("gaussian", n_components=columns, **options).fit(X)


def _rows(dim: int, dtype: Any) -> Any:
    return np.random.default_rng(1).normal(size=(_ROWS, dim)).astype(dtype)


def _plain(X: Any, features: Any) -> Any:
    phase = X @ features.frequencies_.frequencies.T.astype(X.dtype)
    scale = np.sqrt(features.frequencies_.weights).astype(X.dtype)
    return np.concatenate([np.cos(phase) * scale, np.sin(phase) * scale], axis=1)


def _by(name: Any, work: Callable[[], Any]) -> Callable[[], Any]:
    def made() -> Any:
        with patch.dict(os.environ, {IMPLEMENTATION_VARIABLE: name}):
            return work()

    return made


def _arms(dim: int, dtype: Any, out: Any) -> Arms:
    X, features = _rows(dim, dtype), _features(dim)
    sampler = RBFSampler(gamma=0.5, n_components=_COLUMNS, random_state=0).fit(X)
    weights = np.ascontiguousarray(features.frequencies_.frequencies.T.astype(dtype))
    half = out.reshape(-1)[: _ROWS * weights.shape[1]].reshape(_ROWS, -1)
    return {
        "RBFSampler": lambda: sampler.transform(X),
        "plain numpy, cos and sin": lambda: _plain(X, features),
        **_with_torch(X, weights, np.sqrt(features.frequencies_.weights)),
        "rf, numpy alone": _by("numpy", lambda: features.transform(X, out=out)),
        "rf, fast": _by("numba", lambda: features.transform(X)),
        "rf, fast, out=": _by("numba", lambda: features.transform(X, out=out)),
        "product alone": lambda: np.matmul(X, weights, out=half),
        "writing alone": lambda: out.fill(1.0),
    }


def _with_torch(X: Any, weights: Any, scale: Any) -> Arms:
    """The same columns by torch's own functions, where it is installed."""
    try:
        torch = import_module("torch")
    except ImportError:
        return {}
    rows, W, a = (torch.asarray(np.asarray(v, X.dtype)) for v in (X, weights, scale))

    def columns() -> Any:
        torch.set_num_threads(1)
        phase = rows @ W
        return torch.cat([torch.cos(phase) * a, torch.sin(phase) * a], dim=1)

    return {"plain torch, cos and sin": columns, **_with_gpytorch(rows, W)}


def _with_gpytorch(rows: Any, weights: Any) -> Arms:
    """Columns of gpytorch's RFFKernel, which are those of its own Gaussian kernel."""
    try:
        gpytorch = import_module("gpytorch")
    except ImportError:
        return {}
    torch = import_module("torch")
    dim, frequencies = weights.shape
    kernel = gpytorch.kernels.RFFKernel(num_samples=frequencies, num_dims=dim).to(rows.dtype)
    kernel.randn_weights, kernel.lengthscale = weights, 1.0

    def columns() -> Any:
        torch.set_num_threads(1)
        with torch.no_grad():
            return kernel._featurize(rows, normalize=True)

    return {"gpytorch, RFFKernel": columns}


def _error(dim: int, dtype: Any) -> str:
    X, features = _rows(dim, dtype)[:_CHECKED], _features(dim)
    draw = features.frequencies_
    phase = X.astype(np.longdouble) @ draw.frequencies.T
    exact = np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
    scale = np.sqrt(np.concatenate([draw.weights, draw.weights]))
    return number(float(np.abs(features.transform(X) / scale - exact).max()))


def _interleaved(arms: Arms) -> dict[str, float]:
    """Least processor time of each arm; all take turns, so that one load is shared by all."""
    best = dict.fromkeys(arms, float("inf"))
    for _ in range(_REPEATS):  # the first run warms up: it is never the least
        for name, work in arms.items():
            if _PATIENCE < best[name] < float("inf"):
                continue
            start = time.process_time()
            result = work()
            spent = time.process_time() - start
            del result
            best[name] = min(best[name], spent)
    return best


def _missing() -> str:
    absent = []
    for name in _RIVALS:
        try:
            import_module(name)
        except ImportError:
            absent.append(name)
    return f" Not installed, and so not compared: {', '.join(absent)}." if absent else ""


def _times() -> Table:
    table = Table(
        "Transform: one thread",
        f"{_ROWS} rows, {_COLUMNS} columns, Gaussian kernel, by `SpectralFeatures.transform`. "
        "Processor nanoseconds an element of the output, the least of "
        f"{_REPEATS} interleaved runs (one, where it took more than {_PATIENCE:g} s); the ratio is "
        "RBFSampler's time over that of the row. The allocator was told to keep what is freed: on "
        "this machine the first touch of new memory takes 2 to 40 ns an element more, in every row "
        "but those with out=. The error is the largest one of a column before scaling, against "
        "long doubles." + _missing(),
        ("d", "type", "method", "ns an element", "ratio", "error"),
        [],
    )
    say(table.title)
    for dtype in (np.float64, np.float32):
        out = np.zeros((_ROWS, _COLUMNS), dtype)
        for dim in _DIMS:
            with threadpool_limits(1):
                best = _interleaved(_arms(dim, dtype, out))
            for name, spent in best.items():
                table.add(
                    str(dim),
                    np.dtype(dtype).name,
                    name,
                    number(spent * 1e9 / out.size),
                    number(best["RBFSampler"] / spent),
                    _error(dim, dtype) if name == "rf, fast, out=" else "-",
                )
    return table


def _growth() -> Table:
    table = Table(
        "Transform: growth",
        f"d = {_DIMS[0]}, float64, one thread, `fast`, out=: processor nanoseconds an element, the "
        f"least of {_REPEATS} runs, where one of rows and columns grows and the other stays.",
        ("rows", "columns", "ns an element"),
        [],
    )
    say(table.title)
    sizes = [(n, 1024) for n in (100, 1000, 10_000, 100_000)]
    sizes += [(5000, m) for m in (64, 512, 4096, 16_384)]
    for rows, columns in sizes:
        X = np.random.default_rng(1).normal(size=(rows, _DIMS[0]))
        features, out = _features(_DIMS[0], columns=columns), np.zeros((rows, columns))
        calls = max(1, 10_000_000 // out.size)  # so that the clock is not what is read

        def work(features: Any = features, X: Any = X, out: Any = out, calls: int = calls) -> None:
            for _ in range(calls):
                features.transform(X, out=out)

        with threadpool_limits(1):
            spent = _interleaved({"rf": work})["rf"]
        table.add(f"{rows}", f"{columns}", number(spent * 1e9 / (out.size * calls)))
    return table


def _threads() -> Table:
    table = Table(
        "Transform: two threads",
        "Wall-clock time of one thread over that of two, `fast`, out=, the median of "
        f"{_REPEATS} interleaved pairs.",
        ("d", "type", "one over two"),
        [],
    )
    say(table.title)
    for dtype in (np.float64, np.float32):
        out = np.zeros((_ROWS, _COLUMNS), dtype)
        for dim in (16, 256):
            X, features, ratios = _rows(dim, dtype), _features(dim), []
            for _ in range(_REPEATS):
                spent = []
                for threads in (1, 2):
                    with threadpool_limits(threads):
                        start = time.perf_counter()
                        features.transform(X, out=out)
                        spent.append(time.perf_counter() - start)
                ratios.append(spent[0] / spent[1])
            table.add(str(dim), np.dtype(dtype).name, number(float(np.median(ratios))))
    return table


def _memory() -> Table:
    table = Table(
        "Transform: memory",
        f"Peak of what was allocated, {_ROWS} rows, less the output, in MB.",
        ("d", "type", "rf", "RBFSampler", "plain numpy"),
        [],
    )
    say(table.title)
    for dtype in (np.float64, np.float32):
        for dim in (16, 1024):
            X, features = _rows(dim, dtype), _features(dim)
            sampler = RBFSampler(gamma=0.5, n_components=_COLUMNS, random_state=0).fit(X)
            works = (
                lambda f=features, X=X: f.transform(X),
                lambda s=sampler, X=X: s.transform(X),
                lambda f=features, X=X: _plain(X, f),
            )
            table.add(str(dim), np.dtype(dtype).name, *(number(_beside(work)) for work in works))
    return table


def _beside(work: Callable[[], Any]) -> float:
    work()
    tracemalloc.start()
    made = work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float((peak - made.nbytes) / 1e6)
