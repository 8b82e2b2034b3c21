"""Resolve a kernel to its table; warn if the kernel is nearly constant over the data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from scipy.spatial.distance import cdist, pdist

from rf.inputs.arrays import on_host, user_stacklevel
from rf.inputs.rows import check_overflow, dense, divide_by_lengths, sample_of_rows
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable, table_of_group
from spectra.table.kept_tables import default_cache, load_by_alias

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.composite import CompositeKernel
    from spectra.kernels.kernel import Kernel

__all__ = [
    "Layout",
    "LengthScaleWarning",
    "Spectrum",
    "cached_spectrum",
    "layout_of",
    "resolve_kernel",
    "resolve_spectrum",
    "split_off_lengths",
    "warn_if_constant",
    "warn_if_wrong_unit",
]

Metric = Literal["euclidean", "cityblock"]

# Size of the in-memory caches: a grid search fits the same kernel many times.
_CACHE_SIZE = 64

# A kernel counts as constant where it varies by less than this fraction of its size (a judgement):
# to three digits its matrix is then a I + b J, with numbers a and b and the matrix J of ones.
_FLAT = 1e-3
# Distances at which a kernel is evaluated; each is 1.17 times the one before.
_DISTANCES = np.geomspace(1e-6, 1e6, 181)
# A kernel counts as unbounded if |k| at the largest distance is more than _GROWTH times the largest
# |k| up to the distance _GROWTH_FROM (a judgement; for log(1 + z) the ratio is 2).
_GROWTH, _GROWTH_FROM = 1.25, 1e3
# Distances for a table, in units of 1 / (median size of the coordinates of its frequencies).
_TABLE_DISTANCES = np.geomspace(1e-4, 1e2, 49)
_TABLE_FREQUENCIES = 1024
# Rows for all pairwise distances; rows searched for the nearest neighbours of _QUERY_ROWS rows.
_PAIR_ROWS, _SEARCHED_ROWS, _QUERY_ROWS = 128, 20_000, 64
# A fixed seed, so that the warning depends on the rows alone.
_SEED = 15


@final
@dataclass(frozen=True)
class Layout:
    """The numbers of frequencies for which a design optimized the masses of its table.

    ``counts``: number of frequencies of each part; ``columns``: number of features.
    """

    coupling: str
    counts: tuple[int, ...]
    columns: int


@final
@dataclass(frozen=True)
class Spectrum:
    """A table, its exact kernel or the text of it (if known), and the layout of a design."""

    table: SpectralTable
    source: Kernel | CompositeKernel | str | None
    layout: Layout | None = None

    @property
    def kernel(self) -> Any:
        """The exact kernel, or None; a text is parsed here, which imports sympy."""
        return resolve_kernel(self.source)


@lru_cache(maxsize=_CACHE_SIZE)
def cached_spectrum(text: str, dim: int) -> Spectrum | None:
    """The table in the cache for the text of a radial kernel, or None; does not need sympy."""
    folder = default_cache()
    table = None if folder is None else load_by_alias(folder, text, dim)
    return None if table is None else Spectrum(table, text)


def resolve_spectrum(source: Any, dim: int) -> Spectrum:
    """Find the table of a kernel in a dimension; sympy is not imported for a given or cached table.

    ``source``: a kernel, catalogue entry, table, measure or design; or text: a name in
    ``spectra.catalogue`` (with default parameters), or a formula in z = |x - y| or u = <x, y>;
    ``dim``: number of columns of the data.
    """
    if isinstance(source, SpectralTable):
        _check_dimension("table", source.dim, dim)
        return Spectrum(source, None)
    text = source if isinstance(source, str) else ""
    cached = cached_spectrum(text, dim) if text else None
    if cached is not None:
        return cached
    from spectra.kernels.composite import CompositeKernel
    from spectra.kernels.kernel import Kernel

    source = resolve_kernel(source)
    if isinstance(source, Kernel | CompositeKernel):
        radial_text = text and isinstance(source, Kernel)
        return Spectrum(_derive(text if radial_text else source, dim), source)
    from spectra.designs import Design
    from spectra.measure import SpectralMeasure
    from spectra.measure.tabulation import tabulate

    if isinstance(source, SpectralMeasure):
        _check_dimension("measure", source.dim, dim)
        return Spectrum(tabulate(source), source.kernel)
    if isinstance(source, Design):
        _check_dimension("design", source.dim, dim)
        layout = None if source.n_components is None else layout_of(source)
        return Spectrum(source.table, source.kernel, layout)
    raise ParameterError(
        f"kernel is {source!r}, of type {type(source).__name__}. It must be a Kernel, a name "
        "of spectra.catalogue, a formula in z or u, a SpectralMeasure, a design or a SpectralTable."
        + _CALLABLE_ADVICE
        * callable(source)
    )


_CALLABLE_ADVICE = (
    " Convert a function k(z) to a kernel with spectra.radial(k, support=...), or with decay=... "
    "if its support is unbounded."
)


def split_off_lengths(kernel: Any, dim: int) -> tuple[Any, FloatArray | None]:
    """Split ``kernel.rescale([...])`` into a radial kernel and lengths (None for other kernels)."""
    split = kernel.as_radial(dim) if hasattr(kernel, "as_radial") else None
    return (kernel, None) if split is None else split


def layout_of(design: Design) -> Layout:
    """The layout of a design; its table has no part for a mass of 0."""
    counts = tuple(n for n, mass in zip(design.counts, design.masses, strict=True) if mass != 0.0)
    return Layout(design.coupling, counts, design.columns)


def resolve_kernel(source: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """The kernel of a catalogue name, a catalogue entry or a formula; other objects unchanged.

    ``parameters``: values of the parameters of the entry or the formula.
    """
    given = dict(parameters or {})
    if isinstance(source, SpectralTable | None) and not given:
        return source
    if isinstance(source, str):
        return _parse(source, given) if given else _parse_cached(source)
    from spectra.kernels.catalogue import Family

    if isinstance(source, Family):
        return source(**given)
    if given:
        raise ParameterError(
            f"kernel_params sets {', '.join(given)}, but {source!r} has no free parameters. "
            "Pass a catalogue entry, its name, or a formula with these parameters."
        )
    return source


@lru_cache(maxsize=_CACHE_SIZE)
def _parse_cached(text: str) -> Any:
    return _parse(text, {})


def _parse(text: str, given: dict[str, Any]) -> Any:
    from spectra.kernels.catalogue import any_kernel_from_text, catalogue, parse_name

    name, values = parse_name(text, given)
    if name in catalogue.asymmetric:
        return catalogue[name](**values)
    return any_kernel_from_text(text, parameters=given)


@lru_cache(maxsize=_CACHE_SIZE)
def _derive(kernel: Kernel | CompositeKernel | str, dim: int) -> SpectralTable:
    from spectra.derivation.kernel_to_table import derive

    return derive(kernel, dim)


def _check_dimension(what: str, own_dim: int, dim: int) -> None:
    if own_dim != dim:
        raise DataError(
            f"The {what} was made for dimension {own_dim}, and X has {dim} column(s). The table "
            f"depends on the dimension: tabulate the kernel for dim={dim}."
        )


# --- whether the kernel varies over the distances of the rows -------------------------------------


class LengthScaleWarning(UserWarning):
    """The kernel is nearly constant over the distances of the rows; check units and lengths."""


def warn_if_wrong_unit(kernel: Any, X: Any) -> None:
    """Warn if a kernel (of any class) or a table is nearly constant over the distances of the rows.

    Groups of columns are checked separately.  Kernels on the sphere, shifted kernels and tables of
    the l1 distance are not checked.
    """
    if isinstance(kernel, SpectralTable):
        groups = dict.fromkeys(g for part in kernel.parts for g in part.groups)
        for group in groups:
            if group.columns is not None and group.is_coupled and group.lengths.ndim == 1:
                table = table_of_group(group, len(group.columns))
                _check_group(table, group.columns, group.lengths, X)
        if kernel.is_radial and not kernel.sphere:
            warn_if_constant(kernel, X)
    elif hasattr(kernel, "pieces"):  # a Kernel
        if not kernel.is_zonal:
            warn_if_constant(kernel, X)
    elif getattr(kernel, "is_symmetric", False):  # a CompositeKernel
        for f in (f for f in kernel.factors if np.ndim(f.lengths) == 1):
            columns = f.columns or tuple(range(X.shape[1]))
            _check_group(f.profile, columns, np.array(f.lengths), X, f.metric.name)


def _check_group(
    kernel: Kernel | SpectralTable,
    columns: tuple[int, ...],
    lengths: FloatArray,
    X: Any,
    metric: Metric = "euclidean",
) -> None:
    with np.errstate(over="ignore"):
        rows = divide_by_lengths(X[:, list(columns)], np.broadcast_to(lengths, len(columns)))
    check_overflow(rows)
    name = "X" if columns == tuple(range(X.shape[1])) else f"X[:, {list(columns)}]"
    warn_if_constant(kernel, rows, name=name, metric=metric)


def warn_if_constant(
    kernel: Kernel | SpectralTable, X: Any, *, name: str = "X", metric: Metric = "euclidean"
) -> None:
    """Warn if a radial kernel is nearly constant over the distances of the rows.

    ``X`` (n, d): rows divided by their lengths; ``name``: name of the rows in the message;
    ``metric``: the distance that the kernel depends on, as scipy names it.
    """
    near, far = _where_it_varies(kernel)
    sample = dense(sample_of_rows(on_host(X), np.random.default_rng(_SEED), _PAIR_ROWS))
    distances = pdist(sample, metric)
    distances = distances[distances > 0.0]
    if not distances.size or not near < far:
        return
    least, largest = float(distances.min()), float(distances.max())
    formula = kernel.formula if isinstance(kernel, SpectralTable) else kernel
    if largest < near:
        problem = (
            f"where {formula} equals k(0) to within {100 * _FLAT:g} %: all entries of the kernel "
            "matrix are nearly equal. Measure the rows in a smaller unit"
        )
    elif least > far and (least := _least_distance(X, least, metric)) > far:
        problem = (
            f"where {formula} varies by less than {100 * _FLAT:g} % of its size: all off-diagonal "
            "entries of the kernel matrix are nearly equal. Measure the rows in a larger unit"
        )
    else:
        return
    warnings.warn(
        f"The distances of the rows of {name} lie between {least:.3g} and {largest:.3g}, "
        f"{problem}: the kernel varies {_describe_range(near, far)}. "
        f"length_scale='median' would divide the rows by {float(np.median(distances)):.3g}.",
        LengthScaleWarning,
        stacklevel=user_stacklevel(),
    )


def _describe_range(near: float, far: float) -> str:
    if far == np.inf:
        return f"from the distance {near:.3g} on"
    return f"between the distances {near:.3g} and {far:.3g}"


def _least_distance(X: Any, least: float, metric: Metric) -> float:
    """The smaller of ``least`` and the least positive distance found in a search of many rows."""
    rng = np.random.default_rng(_SEED)
    rows = dense(sample_of_rows(on_host(X), rng, _SEARCHED_ROWS))
    distances = cdist(rows[rng.permutation(len(rows))[:_QUERY_ROWS]], rows, metric)
    positive = distances[distances > 0.0]
    return min(least, float(positive.min())) if positive.size else least


@lru_cache(maxsize=_CACHE_SIZE)
def _where_it_varies(kernel: Kernel | SpectralTable) -> tuple[float, float]:
    """Distances (near, far): k is nearly k(0) below ``near`` and nearly constant beyond ``far``.

    The result is (inf, 0) if no such distances are known: for a kernel that is constant, has no
    finite values or grows without bound.
    """
    if isinstance(kernel, SpectralTable):
        return _where_a_table_varies(kernel)
    with np.errstate(all="ignore"):
        values = kernel(_DISTANCES)
    known = np.isfinite(values)
    if not known.any():
        return np.inf, 0.0
    z, values = _DISTANCES[known], values[known]
    if abs(values[-1]) > _GROWTH * float(np.abs(values[z <= _GROWTH_FROM]).max(initial=0.0)):
        return np.inf, 0.0
    return _find_range(z, values, values[0], values[-1])


def _where_a_table_varies(table: SpectralTable) -> tuple[float, float]:
    """As _where_it_varies; the kernel of a table tends to the mass at the frequency 0."""
    if not table.parts:
        return np.inf, 0.0
    coordinates = np.abs(table.sample(_TABLE_FREQUENCIES, _SEED).frequencies[:, 0])
    if not np.any(coordinates > 0.0):
        return np.inf, 0.0
    z = _TABLE_DISTANCES / float(np.median(coordinates[coordinates > 0.0]))
    z = z[z <= table.domain]
    limit = sum(p.sign * p.mass * float(p.law.cdf(0.0)) for p in table.parts)
    return _find_range(z, table.expected_kernel(z), table.k_zero, limit)


def _find_range(z: FloatArray, values: FloatArray, k0: float, limit: float) -> tuple[float, float]:
    """The least z where values differ from k(0), and the z from which they equal their limit."""
    size = np.maximum(abs(k0), np.maximum.accumulate(np.abs(values)))
    from_zero = np.flatnonzero(np.abs(values - k0) > _FLAT * size)
    if not from_zero.size:
        return np.inf, 0.0
    from_limit = np.flatnonzero(np.abs(values - limit) > _FLAT * max(abs(k0), abs(limit)))
    end = int(from_limit[-1]) + 1 if from_limit.size else 0
    return float(z[from_zero[0]]), float(z[end]) if end < z.size else np.inf
