"""From whatever names a kernel to its table, and whether the kernel varies over the rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from scipy.spatial.distance import cdist, pdist

from rf.inputs.arrays import on_host, user_stacklevel
from rf.inputs.rows import check_size, dense, divided, sample_of_rows
from spectra.base.arrays import FloatArray
from spectra.errors import DataError, ParameterError
from spectra.table import SpectralTable, table_of_group
from spectra.table.kept_tables import default_cache, load_by_alias

if TYPE_CHECKING:
    from spectra.designs import Design
    from spectra.kernels.asymmetric import AsymmetricKernel
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel
    from spectra.kernels.l1_kernel import L1Kernel

__all__ = [
    "Layout",
    "LengthScaleWarning",
    "Spectrum",
    "kept_spectrum",
    "layout_of",
    "named_kernel",
    "resolve_spectrum",
    "warn_of_lengths",
    "warn_of_units",
    "without_lengths",
]

Metric = Literal["euclidean", "cityblock"]

# Tables of recent kernels: a grid search fits the same kernel in the same dimension many times.
_RECENT_TABLES = 64

# A kernel is constant where it varies by less than this part of its size (chosen): a matrix of
# such values is, to three digits, a multiple of ones, or of ones and the identity.
_FLAT = 1e-3
# Distances at which the values of a kernel are compared, at steps of a sixth.
_DISTANCES = np.geomspace(1e-6, 1e6, 181)
# A kernel grows without bound if it is larger at the last distance than up to the middle by this
# factor (chosen; log(1 + z) grows by 2).
_GROWING, _MIDDLE = 1.25, 1e3
# The same distances for a table, over the median of a coordinate of its frequencies.
_OF_A_LENGTH = np.geomspace(1e-4, 1e2, 49)
_DRAWS = 1024
# Rows whose pairs are compared first; rows among which 64 of them get their nearest neighbour.
_SEEN, _NEIGHBOURS, _ASKED = 128, 20_000, 64
# Any seed will do: the warning depends on the rows alone.
_SEED = 15


@final
@dataclass(frozen=True)
class Layout:
    """Frequencies that the masses of a table were made for: others would not cancel as they do.

    ``counts``: frequencies of each part; ``columns``: columns that they fill.
    """

    coupling: str
    counts: tuple[int, ...]
    columns: int


@final
@dataclass(frozen=True)
class Spectrum:
    """A table, and where it is known the exact kernel, or the text that it is read from."""

    table: SpectralTable
    source: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str | None
    layout: Layout | None = None

    @property
    def kernel(self) -> Any:
        """The exact kernel, or None; a text is read when it is asked for."""
        return named_kernel(self.source)


@lru_cache(maxsize=_RECENT_TABLES)
def kept_spectrum(text: str, dim: int) -> Spectrum | None:
    """The table that the cache has for the text of a radial kernel; found without sympy."""
    folder = default_cache()
    table = None if folder is None else load_by_alias(folder, text, dim)
    return None if table is None else Spectrum(table, text)


def resolve_spectrum(spectrum: Any, dim: int) -> Spectrum:
    """Find the table of a kernel in a dimension; a bare or kept table does without sympy.

    ``spectrum``: a kernel, family, table, measure or design of any kind; or text: a name of
    ``spectra.catalogue`` (a family takes its default parameters) or else a formula in z = |x - y|
    or in u = <x, y>; ``dim``: number of columns of the data.
    """
    if isinstance(spectrum, SpectralTable):
        _check_dimension("table", spectrum.dim, dim)
        return Spectrum(spectrum, None)
    text = spectrum if isinstance(spectrum, str) else ""
    kept = kept_spectrum(text, dim) if text else None
    if kept is not None:
        return kept
    from spectra.kernels.asymmetric import AsymmetricKernel
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.kernel import Kernel
    from spectra.kernels.l1_kernel import L1Kernel

    spectrum = named_kernel(spectrum)
    if isinstance(spectrum, Kernel | AsymmetricKernel | GroupedKernel | L1Kernel):
        of_text = text and isinstance(spectrum, Kernel)
        return Spectrum(_table_of(text if of_text else spectrum, dim), spectrum)
    from spectra.designs import Design
    from spectra.measure import SpectralMeasure
    from spectra.measure.tabulation import tabulate

    if isinstance(spectrum, SpectralMeasure):
        _check_dimension("measure", spectrum.dim, dim)
        return Spectrum(tabulate(spectrum), spectrum.kernel)
    if isinstance(spectrum, Design):
        _check_dimension("design", spectrum.dim, dim)
        layout = None if spectrum.n_components is None else layout_of(spectrum)
        return Spectrum(spectrum.table, spectrum.kernel, layout)
    raise ParameterError(
        f"kernel is {spectrum!r}, of type {type(spectrum).__name__}. It must be a Kernel, a name "
        "of spectra.catalogue, a formula in z or u, a SpectralMeasure, a design or a SpectralTable."
        + _MAKE_IT_A_KERNEL
        * callable(spectrum)
    )


_MAKE_IT_A_KERNEL = (
    " Make a function k(z) a kernel with spectra.radial(k, support=...), or with decay=... if it "
    "does not end."
)


def without_lengths(kernel: Any, dim: int) -> tuple[Any, FloatArray | None]:
    """The radial kernel and the lengths of a ``rescale([...])``; anything else as it is, and None.

    A kernel of the l1 distance becomes the radial one, or the one of groups, that it is.
    """
    if isinstance(kernel, str | SpectralTable):
        return kernel, None
    from spectra.kernels.grouped import GroupedKernel
    from spectra.kernels.l1_kernel import L1Kernel

    if isinstance(kernel, L1Kernel):
        equivalent = kernel.equivalent(dim)
        return (kernel if equivalent is None else equivalent), None

    found = kernel.as_radial(dim) if isinstance(kernel, GroupedKernel) else None
    return (kernel, None) if found is None else found


def layout_of(made: Design) -> Layout:
    """The frequencies of a design for a number of columns; a mass of 0 has no part."""
    used = tuple(n for n, c in zip(made.counts, made.masses, strict=True) if c != 0.0)
    return Layout(made.coupling, used, made.columns)


def named_kernel(spectrum: Any, parameters: Mapping[str, Any] | None = None) -> Any:
    """The kernel that a name, a formula or a family stands for; anything else as it is.

    ``parameters`` are those of a family, of a name of the catalogue, or of a formula.
    """
    given = dict(parameters or {})
    if isinstance(spectrum, SpectralTable | None) and not given:
        return spectrum
    if isinstance(spectrum, str):
        return _from_text(spectrum, given) if given else _from_text_alone(spectrum)
    from spectra.kernels.catalogue import Entry

    if isinstance(spectrum, Entry):
        return spectrum(**given)
    if given:
        raise ParameterError(
            f"kernel_params gives {', '.join(given)}, and {spectrum!r} has no open parameters. "
            "Pass a family of the catalogue, its name, or a formula with these parameters."
        )
    return spectrum


@lru_cache(maxsize=_RECENT_TABLES)
def _from_text_alone(text: str) -> Any:
    return _from_text(text, {})


def _from_text(text: str, given: dict[str, Any]) -> Any:
    from spectra.kernels.catalogue import any_kernel_from_text, catalogue, parse_name

    name, values = parse_name(text, given)
    if name in catalogue.asymmetric:
        return catalogue[name](**values)
    return any_kernel_from_text(text, parameters=given)


@lru_cache(maxsize=_RECENT_TABLES)
def _table_of(
    kernel: Kernel | AsymmetricKernel | GroupedKernel | L1Kernel | str, dim: int
) -> SpectralTable:
    from spectra.derivation.kernel_to_table import derive

    return derive(kernel, dim)


def _check_dimension(what: str, made_for: int, dim: int) -> None:
    if made_for != dim:
        raise DataError(
            f"The {what} was made for dimension {made_for}, and X has {dim} column(s). The law of "
            f"the radius depends on the dimension: tabulate the kernel for dim={dim}."
        )


# --- whether the kernel varies over the distances of the rows -------------------------------------


class LengthScaleWarning(UserWarning):
    """No two rows are at a distance at which the kernel varies: a wrong unit, or length."""


def warn_of_units(kernel: Any, X: Any) -> None:
    """Warn if the rows are in another unit than a kernel of any kind, or than its table.

    Groups of columns are checked one by one.  Kernels on the sphere, shifted kernels and tables of
    the l1 distance are not checked.
    """
    if isinstance(kernel, SpectralTable):
        groups = dict.fromkeys(g for part in kernel.parts for g in getattr(part, "groups", ()))
        for group in groups:
            _warn_of_group(table_of_group(group), group.columns, group.lengths, X)
        if kernel.is_radial and not kernel.sphere:
            warn_of_lengths(kernel, X)
    elif hasattr(kernel, "pieces"):
        if not kernel.is_zonal:
            warn_of_lengths(kernel, X)
    elif hasattr(kernel, "profile"):
        warn_of_lengths(kernel.profile, X, metric="cityblock")
    for factor in getattr(kernel, "factors", ()):
        _warn_of_group(factor.kernel, factor.columns, np.array(factor.lengths), X)


def _warn_of_group(
    kernel: Kernel | SpectralTable, columns: tuple[int, ...], lengths: FloatArray, X: Any
) -> None:
    with np.errstate(over="ignore"):
        rows = divided(X[:, list(columns)], lengths)
    check_size(rows)
    warn_of_lengths(kernel, rows, of=f"X[:, {list(columns)}]")


def warn_of_lengths(
    kernel: Kernel | SpectralTable, X: Any, *, of: str = "X", metric: Metric = "euclidean"
) -> None:
    """Warn where a kernel does not vary over the distances of the rows, in numbers.

    ``X`` (n, d): rows in units of the lengths; ``of``: what the rows are, for the message;
    ``metric``: of which distance the kernel is, by the name that scipy gives it.
    """
    near, far = _where_it_varies(kernel)
    seen = dense(sample_of_rows(on_host(X), np.random.default_rng(_SEED), _SEEN))
    distances = pdist(seen, metric)
    distances = distances[distances > 0.0]
    if not distances.size or not near < far:
        return
    least, largest = float(distances.min()), float(distances.max())
    name = kernel.formula if isinstance(kernel, SpectralTable) else kernel
    if largest < near:
        what = (
            f"and {name} is k(0) up to {100 * _FLAT:g} % of its size there: its matrix is a "
            "multiple of ones, so that every row looks alike. Measure the rows in a smaller unit"
        )
    elif least > far and (least := _least_distance(X, least, metric)) > far:
        what = (
            f"and {name} varies by no more than {100 * _FLAT:g} % of its size there: its matrix "
            "is a multiple of ones plus one of the identity, so that no row tells of another. "
            "Measure the rows in a larger unit"
        )
    else:
        return
    warnings.warn(
        f"The distances of the rows of {of} lie between {least:.3g} and {largest:.3g}, {what}: the "
        f"kernel varies {_between(near, far)}. "
        f"length_scale='median' would divide by {float(np.median(distances)):.3g} more.",
        LengthScaleWarning,
        stacklevel=user_stacklevel(),
    )


def _between(near: float, far: float) -> str:
    if far == np.inf:
        return f"from the distance {near:.3g} on"
    return f"between the distances {near:.3g} and {far:.3g}"


def _least_distance(X: Any, least: float, metric: Metric) -> float:
    """The least positive distance of some rows to any of many, which finds near neighbours."""
    rng = np.random.default_rng(_SEED)
    rows = dense(sample_of_rows(on_host(X), rng, _NEIGHBOURS))
    distances = cdist(rows[rng.permutation(len(rows))[:_ASKED]], rows, metric)
    positive = distances[distances > 0.0]
    return min(least, float(positive.min())) if positive.size else least


@lru_cache(maxsize=64)
def _where_it_varies(kernel: Kernel | SpectralTable) -> tuple[float, float]:
    """Distances below which k is k(0), and beyond which it is constant, up to _FLAT of its size.

    The first exceeds the second if nothing is known: for a constant kernel, one without values, or
    one that grows without bound, whose size is not known.
    """
    if isinstance(kernel, SpectralTable):
        return _where_a_table_varies(kernel)
    with np.errstate(all="ignore"):
        values = kernel(_DISTANCES)
    known = np.isfinite(values)
    if not known.any():
        return np.inf, 0.0
    z, values = _DISTANCES[known], values[known]
    if abs(values[-1]) > _GROWING * float(np.abs(values[z <= _MIDDLE]).max(initial=0.0)):
        return np.inf, 0.0
    return _range(z, values, values[0], values[-1])


def _where_a_table_varies(table: SpectralTable) -> tuple[float, float]:
    """The same from the expected kernel, which tends to the mass at the frequency 0."""
    rates = np.abs(table.sample(_DRAWS, _SEED).frequencies[:, 0]) if table.parts else np.zeros(1)
    if not np.any(rates > 0.0):
        return np.inf, 0.0
    z = _OF_A_LENGTH / float(np.median(rates[rates > 0.0]))
    z = z[z <= table.domain]
    limit = sum(p.sign * p.mass * float(p.law.cdf(0.0)) for p in table.parts)
    return _range(z, table.expected_kernel(z), table.k_zero, limit)


def _range(z: FloatArray, values: FloatArray, first: float, last: float) -> tuple[float, float]:
    """The first distance at which values leave ``first``, and the one after they reach ``last``."""
    size = np.maximum(abs(first), np.maximum.accumulate(np.abs(values)))
    left = np.flatnonzero(np.abs(values - first) > _FLAT * size)
    if not left.size:
        return np.inf, 0.0
    other = np.flatnonzero(np.abs(values - last) > _FLAT * max(abs(first), abs(last)))
    end = int(other[-1]) + 1 if other.size else 0
    return float(z[left[0]]), float(z[end]) if end < z.size else np.inf
